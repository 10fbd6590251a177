"""Where TypeScript code stands: the lines that the journal, `alarms list` and errors name."""

from pathlib import Path
from typing import Any

import pytest

from edgeemu.emulator import Emulator
from edgeemu.errors import EdgeemuError
from tests.support.emulators import inst, run_with
from tests.support.script_modules import write_modules

SOURCE = """\
import { StatefulActor, type AlarmInfo } from "@telnyx/edge-runtime";

interface Nothing {}

export class A extends StatefulActor {
  private arm(when: number) {
    return this.ctx.storage.setAlarm(when);
  }

  async plain() {
    await this.arm(Date.now() + 60_000);
  }

  async alias() {
    await Promise.resolve();
    await this.ctx.setAlarm(Date.now() + 60_000);
  }

  async loose() {
    const { setAlarm } = this.ctx.storage;
    await setAlarm(Date.now() + 60_000);
  }

  async packaged() {
    const { arm } = await import("p");
    await arm(this.ctx.storage);
  }

  async caused() {
    try {
      JSON.parse("{");
    } catch (error) {
      throw new Error("cannot read the plan", { cause: error });
    }
  }

  async several() {
    await Promise.any([Promise.reject(new TypeError("one")), Promise.reject(new Error("two"))]);
  }
}
"""
PACKAGE = "exports.arm = (storage) => storage.setAlarm(Date.now() + 60000);"


def with_emulator(root: Path, body: Any) -> Any:
    files = {"src/index.ts": SOURCE, "node_modules/p/index.js": PACKAGE}
    return run_with(write_modules(root, files), body)


@pytest.mark.parametrize(
    ("method", "line"), [("plain", 7), ("alias", 16), ("loose", 21), ("packaged", 26)]
)
def test_an_alarm_is_set_by_the_line_of_the_project(tmp_path: Path, method: str, line: int) -> None:
    async def body(emulator: Emulator) -> Any:
        await emulator.call(inst("A/x"), method)
        (alarm,) = emulator.alarms.list()
        return alarm["set_by"]

    assert with_emulator(tmp_path, body).startswith(f"src/index.ts:{line} ")


def test_an_error_tells_what_caused_it(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> EdgeemuError:
        with pytest.raises(EdgeemuError) as raised:
            await emulator.call(inst("A/x"), "caused")
        return raised.value

    error = with_emulator(tmp_path, body)
    assert "Error was raised at src/index.ts:33" in error.why
    assert "caused by SyntaxError" in (error.detail or "")
    assert "src/index.ts:31" in (error.detail or "")


def test_an_error_of_several_tells_each(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> EdgeemuError:
        with pytest.raises(EdgeemuError) as raised:
            await emulator.call(inst("A/x"), "several")
        return raised.value

    error = with_emulator(tmp_path, body)
    assert "one of: TypeError: one" in (error.detail or "")
    assert "one of: Error: two" in (error.detail or "")
