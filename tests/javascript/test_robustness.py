"""What TypeScript code does to its own process costs its turn, and never the emulator."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from edgeemu.emulator import Emulator
from edgeemu.engines.javascript import child as engine_child
from edgeemu.engines.javascript.engine import JavaScriptEngine
from edgeemu.errors import Code, EdgeemuError
from tests.support.emulators import inst, run_with
from tests.support.scripts import write_script

SOURCE = """
export class A extends StatefulActor {
  async save(value: string) { await this.ctx.storage.put("k", value); return value; }
  async load() { return (await this.ctx.storage.get("k")) ?? null; }

  async hang() {
    await this.ctx.storage.put("k", "lost");
    while (true) {}
  }

  async busy() {
    const again = () => setImmediate(again);
    again();
    await new Promise(() => {});
  }

  async microtasks() {
    for (;;) await null;
  }

  async leaves_hang() { setTimeout(() => { while (true) {} }, 1_000); }

  async allocate() {
    const kept = [];
    for (;;) kept.push(new Array(10_000).fill(kept.length));
  }

  async allocate_bytes() {
    const kept = [];
    for (;;) kept.push(new Uint8Array(1 << 24).fill(1));
  }

  async nap(ms: number) {
    await this.ctx.storage.put("k", "half");
    await new Promise((resolve) => setTimeout(resolve, ms));
    return "rested";
  }

  async alarm(info: { retryCount: number }) {
    await this.ctx.storage.put("attempt", info.retryCount);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
  }
  async arm() { await this.ctx.storage.setAlarm(Date.now() + 1_000); }
  async attempt() { return (await this.ctx.storage.get("attempt")) ?? null; }

  async recurse(): Promise<number> { return 1 + await this.recurse(); }
  async recurse_storage() {
    const deeper = () => { this.ctx.storage.get("k"); deeper(); };
    try { deeper(); } catch (error) { return (error as Error).name; }
  }
  async large(chars: number) { return "x".repeat(chars); }
  async too_large() { return Array(20).fill("x".repeat(2 ** 26)); }
  async lies(how: string) { throw LIES[how](); }
  async swears() { return "ok"; }
}

const LIES: Record<string, () => any> = {
  name: () => Object.defineProperty(new Error("x"), "name", { get() { throw 1; } }),
  message: () => Object.defineProperty(new Error("x"), "message", { get() { throw 1; } }),
  stack: () => Object.defineProperty(new Error("x"), "stack", { get() { throw 1; } }),
  text: () => ({ toString() { throw new Error("no words"); } }),
  symbol: () => Symbol("s"),
  number_name: () => Object.assign(new Error("x"), { name: 7 }),
  object_name: () => Object.assign(new Error("x"), { name: Object.create(null) }),
  huge: () => Object.assign(new Error("m".repeat(10_000_000)), { stack: "s".repeat(10_000_000) }),
  revoked: () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; },
  surrogate: () => new Error("\\ud800"),
  nothing: () => undefined,
  function: () => () => 1,
};
"""


async def failing(emulator: Emulator, method: str, *args: Any) -> EdgeemuError:
    """The error of a call."""
    with pytest.raises(EdgeemuError) as caught:
        await emulator.call(inst("A/x"), method, args)
    assert caught.value.code is Code.ACTOR_FAILED
    return caught.value


@pytest.fixture
def project(tmp_path: Path) -> Any:
    toml = "[limits]\nwatchdog_ms = 400\n"
    return lambda body, toml=toml: run_with(write_script(tmp_path, SOURCE, toml=toml), body)


@pytest.mark.parametrize("method", ["hang", "busy", "microtasks"])
def test_code_that_runs_on_costs_its_turn_and_the_memory_of_others(
    project: Any, method: str
) -> None:
    async def story(emulator: Emulator) -> None:
        await emulator.call(inst("A/y"), "save", ["kept"])
        waiting = emulator.start_call(inst("A/z"), "nap", [60_000])
        await emulator.run_present()
        error = await failing(emulator, method)
        assert "ActorHangError" in error.what
        line = next(n for n, text in enumerate(SOURCE.splitlines(), 2) if f" {method}()" in text)
        assert f"main.ts:{line}" in error.what
        assert await emulator.call(inst("A/x"), "load") is None
        assert await emulator.call(inst("A/y"), "load") == "kept"
        with pytest.raises(EdgeemuError, match="ActorCrashedError"):
            await waiting.wait_result()
        assert await emulator.call(inst("A/z"), "load") is None
        evicted = [entry for entry in emulator.journal() if entry["kind"] == "evicted"]
        assert {entry["actor"] for entry in evicted} == {"A/x", "A/y", "A/z"}
        assert all("ran on without waiting" in entry["cause"] for entry in evicted)

    project(story)


def test_hang_of_left_behind_code_is_told(project: Any) -> None:
    async def story(emulator: Emulator) -> None:
        await emulator.call(inst("A/x"), "leaves_hang")
        await emulator.clock.advance(2_000)
        told = [entry for entry in emulator.journal() if entry.get("code") == "W_TASK_FAILED"]
        assert "ActorHangError" in told[0]["message"]
        assert await emulator.call(inst("A/x"), "swears") == "ok"

    project(story)


@pytest.mark.parametrize("method", ["allocate", "allocate_bytes"])
def test_memory_is_bounded(project: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_child, "SCRIPT_HEAP_BYTES_MAX", 64 << 20)
    monkeypatch.setattr(engine_child, "SCRIPT_MEMORY_BYTES_MAX", 400 << 20)

    async def story(emulator: Emulator) -> None:
        await emulator.call(inst("A/y"), "save", ["kept"])
        error = await failing(emulator, method)
        assert "used more memory than it may" in error.what
        assert await emulator.call(inst("A/y"), "load") == "kept"

    project(story, "")


def children(emulator: Emulator) -> int:
    """The process of TypeScript."""
    scripts = emulator._parts.engine._scripts
    assert isinstance(scripts, JavaScriptEngine)
    assert scripts._realm is not None
    return scripts._realm.child._process.pid


def test_process_killed_in_the_middle_of_an_alarm_costs_no_attempt(project: Any) -> None:
    async def story(emulator: Emulator) -> None:
        await emulator.call(inst("A/x"), "arm")
        await emulator.clock.advance(2_000)
        os.kill(children(emulator), signal.SIGKILL)
        await emulator.clock.advance(20_000)
        assert await emulator.call(inst("A/x"), "attempt") == 0
        alarms = [entry for entry in emulator.journal() if entry["kind"] == "alarm"]
        assert [entry["outcome"] for entry in alarms] == ["crashed", "succeeded"]

    project(story)


def test_process_that_is_dead_before_a_turn_is_replaced(project: Any) -> None:
    async def story(emulator: Emulator) -> None:
        await emulator.call(inst("A/x"), "save", ["kept"])
        os.kill(children(emulator), signal.SIGKILL)
        os.waitid(os.P_PID, children(emulator), os.WEXITED | os.WNOWAIT)
        assert await emulator.call(inst("A/new"), "load") is None
        assert await emulator.call(inst("A/x"), "load") == "kept"
        os.kill(children(emulator), signal.SIGKILL)
        os.waitid(os.P_PID, children(emulator), os.WEXITED | os.WNOWAIT)
        error = await failing(emulator, "load")
        assert "ActorCrashedError" in error.what
        assert await emulator.call(inst("A/x"), "load") == "kept"

    project(story)


@pytest.mark.parametrize(
    "lie",
    [
        "name",
        "message",
        "stack",
        "text",
        "symbol",
        "number_name",
        "object_name",
        "huge",
        "revoked",
        "surrogate",
        "nothing",
        "function",
    ],
)
def test_errors_that_lie_end_their_turn_only(project: Any, lie: str) -> None:
    async def story(emulator: Emulator) -> None:
        error = await failing(emulator, "lies", lie)
        assert len(error.what) < 100_000
        assert await emulator.call(inst("A/x"), "swears") == "ok"

    project(story)


def test_recursion_and_results_without_end_fail_their_turn(project: Any) -> None:
    async def story(emulator: Emulator) -> None:
        assert "call stack size" in (await failing(emulator, "recurse")).what
        assert await emulator.call(inst("A/x"), "recurse_storage") == "RangeError"
        assert await emulator.call(inst("A/x"), "save", ["after"]) == "after"
        assert len(await emulator.call(inst("A/x"), "large", [30_000_000])) == 30_000_000
        assert "too_large" in (await failing(emulator, "too_large")).what
        assert await emulator.call(inst("A/x"), "load") == "after"

    project(story, "")


def test_a_turn_tells_how_long_it_took(tmp_path: Path) -> None:
    async def story(emulator: Emulator) -> None:
        await emulator.call(inst("A/x"), "save", ["v"])
        took = [entry["real_took_us"] for entry in emulator.journal() if "real_took_us" in entry]
        assert len(took) == 2
        assert all(each > 0 for each in took)

    run_with(write_script(tmp_path, SOURCE), story)


def test_an_engine_that_is_slow_to_start_is_no_missing_one(tmp_path: Path) -> None:
    """The watchdog bounds steps of code; on a busy machine a process takes longer to come."""
    toml = "[limits]\nwatchdog_ms = 1\n"
    source = "export class A extends StatefulActor { async go() { return 1; } }"

    async def story(emulator: Emulator) -> None:
        await emulator.call(inst("A/x"), "go")

    try:
        run_with(write_script(tmp_path, source, toml=toml), story)
    except EdgeemuError as error:
        assert error.code is not Code.ENGINE_MISSING, "a step may take too long, the start may not"


def test_a_hang_names_the_file_of_the_class(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "spin.ts").write_text(
        'import { StatefulActor } from "@telnyx/edge-runtime";\n'
        "export class A extends StatefulActor {\n  async go() { for (;;) {} }\n}\n"
    )
    source = 'export { A } from "./lib/spin";\nPromise.reject(new Error("at the top"));\n'

    async def story(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError) as raised:
            await emulator.call(inst("A/x"), "go")
        assert "lib/spin.ts:3" in str(raised.value)
        printed = [each["text"] for each in emulator.journal() if each["kind"] == "printed"]
        assert set(printed) == {"nobody caught Error: at the top"}

    toml = "[limits]\nwatchdog_ms = 400\n"
    run_with(write_script(tmp_path, source, toml=toml), story)
