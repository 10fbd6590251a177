"""The pytest fixture on TypeScript actors: calls, errors, and assertions that fail in an actor."""

from pathlib import Path

import pytest

# Imported out here, since what an inner run imports is forgotten, and imported anew, after it.
import edgeemu.engines.javascript.engine
import edgeemu.testing

IMPORTED = (edgeemu.engines.javascript.engine, edgeemu.testing)

pytest_plugins = ["pytester"]

SCRIPT = """
import assert from "node:assert";
import { StatefulActor } from "@telnyx/edge-runtime";

export class Box extends StatefulActor<any> {
  echo(...values: unknown[]) {
    return values;
  }

  break_down() {
    throw new TypeError("no luck");
  }

  async check(n: number) {
    await this.ctx.storage.put("n", n);
    assert.strictEqual(n, 1, "n is not one");
  }

  async asks(n: number) {
    try {
      await this.env.BOX.idFromName("other").check(n);
    } catch {
      return "caught";
    }
  }

  async arm() {
    await this.ctx.storage.setAlarm(Date.now() + 1_000);
  }

  async alarm() {
    if (this.ctx.id === "strict") assert.ok(false, "not in an alarm");
    throw new Error("in an alarm");
  }
}
"""

CONFIG = """
name = "fixture-tests"
main = "main.ts"

[[actors]]
binding = "BOX"
type = "Box"
"""


class Project:
    """A project in TypeScript with tests in Python."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        Path(pytester.path / "edgeemu.toml").write_text(CONFIG)
        Path(pytester.path / "main.ts").write_text(SCRIPT)

    def run(self, test: str) -> pytest.RunResult:
        Path(self._pytester.path / "test_it.py").write_text(test)
        fixed = ("-p", "no:randomly", "-p", "no:cacheprovider", "-W", "error")
        return self._pytester.runpytest_inprocess(*fixed)


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    return Project(pytester)


def test_calls_storage_clock_and_memory(project: Project) -> None:
    test = """
import pytest
from edgeemu import ActorMethodError

def test_it(edgeemu):
    box = edgeemu.actor("Box/a")
    assert box.echo(1, [b"x", None]) == [1, [b"x", None]]
    with pytest.raises(ActorMethodError, match="no luck") as raised:
        box.break_down()
    assert "main.ts:11" in raised.value.__notes__[0]
    box.check(1)
    assert box.storage == {"n": 1}
    assert box.evict()
    assert box.storage == {"n": 1}
"""
    project.run(test).assert_outcomes(passed=1)


@pytest.mark.parametrize("act", ["check(2)", "asks(2)"])
def test_assertion_in_an_actor_fails_the_test_at_once(project: Project, act: str) -> None:
    result = project.run(f"""
def test_it(edgeemu):
    edgeemu.actor("Box/a").{act}
    raise SystemExit("it went on")
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f">*{act}*", "E*n is not one", "E*main.ts:16 in Box.check"])
    result.stdout.no_fnmatch_line("*edgeemu/emulator/*")
    result.stdout.no_fnmatch_line("*edgeemu/testing/*")


def test_assertion_in_an_alarm_is_not_tried_again(project: Project) -> None:
    test = """
import pytest

def test_it(edgeemu):
    edgeemu.actor("Box/strict").arm()
    with pytest.raises(AssertionError, match="not in an alarm"):
        edgeemu.clock.idle()
    assert len(edgeemu.journal.of("alarm")) == 1
"""
    project.run(test).assert_outcomes(passed=1)


def test_alarm_that_is_given_up_fails_the_test_at_its_end(project: Project) -> None:
    test = """
def test_it(edgeemu):
    edgeemu.actor("Box/a").arm()
    assert edgeemu.clock.idle().gave_up == 1
"""
    result = project.run(test)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*in an alarm*"])
