"""What a command says on stderr beside its data: warnings, failures, what it waits for."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import CONFIG, MAIN, Run, Server, run_process

SECONDS = (
    MAIN
    + """

class Hasty(StatefulActor):
    async def soon(self) -> None:
        await self.ctx.storage.set_alarm(300)
        await self.ctx.storage.delete_alarm()

    async def later(self) -> None:
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1_000)

    async def alarm(self, info: AlarmInfo) -> None:
        raise ValueError("not today")
"""
)


@pytest.fixture
def hasty(project: Path) -> Path:
    """A project with an actor that makes mistakes, too."""
    actor = '[[actors]]\nbinding = "HASTY"\ntype = "Hasty"\n\n[clock]'
    (project / "edgeemu.toml").write_text(CONFIG.replace("[clock]", actor))
    (project / "src/main.py").write_text(SECONDS)
    return project


@pytest.fixture(params=["local", pytest.param("server", marks=pytest.mark.slow)])
def world(request: pytest.FixtureRequest, hasty: Path) -> Iterator[str]:
    """With a running server, and without."""
    if request.param == "local":
        yield "local"
        return
    server = Server(hasty)
    yield "server"
    server.stop()


def test_a_warning_reaches_whoever_caused_it(world: str, run: Run) -> None:
    ended = run("call", "Hasty/a", "soon", "--json")
    assert (ended.status, ended.out) == (0, "null\n")
    [line] = ended.err.splitlines()
    assert line.startswith("warning: W_ALARM_SECONDS: set_alarm(300) looks like seconds")
    assert line.endswith("(src/main.py:56)")
    assert run("call", "Session/a", "touch").err == ""


def test_a_failed_front_shows_its_error_and_the_answer_stays(world: str, run: Run) -> None:
    told = (
        "error[E_ACTOR_FAILED]: the function in front failed: RuntimeError: front\n"
        "why: RuntimeError was raised at src/main.py:49\n"
        "fix: mend the function in front at src/main.py:49; whoever asked got status 500\n"
        "\n"
        "  src/main.py:49 in fetch\n"
        '    raise RuntimeError("front")\n'
    )
    ended = run("fetch", "/boom")
    assert (ended.status, ended.out) == (0, "Internal Server Error")
    assert ended.err == f"{told}HTTP 500 Internal Server Error\n"
    ended = run("fetch", "/boom", "--json")
    assert (ended.status, ended.err) == (0, told)
    assert json.loads(ended.out) == {
        "status": 500,
        "headers": {"content-type": "text/plain;charset=UTF-8"},
        "body": "Internal Server Error",
    }


def test_a_move_names_three_instances_that_failed_in_it(world: str, run: Run) -> None:
    for name in "dcbae":
        run("call", f"Hasty/{name}", "later")
    ended = run("clock", "advance", "2s")
    assert ended.out.endswith("5 deliveries, 0 succeeded, 5 failed\n")
    where = "ValueError: not today at src/main.py:63; see `edgeemu alarms why"
    assert ended.err == (
        f"failed: Hasty/a: {where} Hasty/a`\n"
        f"failed: Hasty/b: {where} Hasty/b`\n"
        f"failed: Hasty/c: {where} Hasty/c`\n"
        "failed: 2 more instances: see `edgeemu log`\n"
    )
    assert run("clock", "next", "--json").err == ""
    run("storage", "put", "Session/s", "last_seen", "0")
    run("alarms", "set", "Session/s", "+1d")
    for name in "abcde":
        run("alarms", "clear", f"Hasty/{name}")
    assert run("clock", "idle").err == ""  # What failed in another move is not told again.


def test_an_instance_that_does_not_exist_is_named_in_full(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in (
        ["storage", "list", "bob"],
        ["storage", "list", "bob", "--prefix", "x"],
        ["alarms", "why", "bob"],
        ["alarms", "history", "bob"],
        ["log", "--actor", "bob"],
    ):
        ended = run(*command)
        assert (ended.status, ended.err) == (0, "(there is no instance Session/bob yet)\n")
        assert run(*command, "--json").err == ""
    run("call", "bob", "echo", "1")
    assert run("storage", "list", "bob").err == "Session/bob has no keys\n"
    assert run("alarms", "history", "bob").err == "Session/bob never had an alarm\n"
    assert run("alarms", "why", "bob").err == ""
    assert run("log", "--actor", "bob").err == ""


def test_evict_without_a_server_says_why_nothing_was_in_memory(project: Path, run: Run) -> None:
    run("call", "bob", "echo", "1")
    why = "no server runs, so every command makes its instances anew from storage"
    for args, first in ((["bob"], "Session/bob was not in memory"), (["--all"], "nothing was in")):
        ended = run("evict", *args)
        assert ended.out == ""
        assert ended.err.startswith(first)
        assert why in ended.err
    assert json.loads(run("evict", "bob", "--json").out) == {"evicted": []}


@pytest.mark.slow
def test_evict_with_a_server_does_not(server: Server, run: Run) -> None:
    assert run("evict", "bob").err == "Session/bob was not in memory\n"


@pytest.mark.slow
def test_old_code_that_serves_is_no_secret(server: Server, project: Path, run: Run) -> None:
    (project / "src/main.py").write_text("y = = 2\n")
    server.wait_said("RELOAD FAILED")
    ended = run("call", "alice", "echo", "1", "--json")
    assert (ended.status, ended.out) == (0, "1\n")
    assert ended.err.startswith("note: old code is serving: src/main.py has a syntax error at line")
    assert ended.err.endswith("; see what `edgeemu dev` says\n")
    assert run("call", "alice", "boom").err.startswith("note: old code is serving")
    assert run("alarms", "list").err == "no alarms are pending\n"  # It runs no code.


@contextmanager
def started(*args: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """A command that runs meanwhile; it is killed where a test fails before it has ended."""
    command = [sys.executable, "-m", "edgeemu", *args]
    process = subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_a_call_that_waits_for_frozen_time_says_so_while_it_waits(
    server: Server, project: Path, run: Run
) -> None:
    with started("call", "alice", "nap", cwd=project) as call:
        assert call.stderr is not None
        assert call.stderr.readline() == (
            "note: Session/alice waits at src/main.py:35 for time to pass, and the clock is "
            "frozen: move it from another terminal, such as `edgeemu clock next`\n"
        )
        shown = run("actors", "show", "alice").out
        assert "  state       running, waits at src/main.py:35\n" in shown
        error = run("evict", "alice").err
        assert error.startswith("error[E_FROZEN_WAIT]")
        assert "fix: advance the clock, or drop it" in error
        assert "`edgeemu dev`" not in error
        run("clock", "advance", "10s")
        run("evict", "alice", "--crash")
        assert call.wait(20) == 1
        assert call.stderr.read().startswith("error[E_ACTOR_FAILED]")  # The note came once.


EVER = """\
        if await self.ctx.storage.get("ever"):
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + 60_000)
            return
"""


@pytest.mark.slow
def test_a_move_ends_with_the_command_that_asked_for_it(project: Path, run: Run) -> None:
    head = "    async def alarm(self, info: AlarmInfo) -> None:\n"
    (project / "src/main.py").write_text(MAIN.replace(head, head + EVER))
    run("storage", "put", "alice", "ever", "true")
    run("alarms", "set", "alice", "+1m")
    server = Server(project)
    with started("clock", "advance", "36500d", cwd=project):
        server.wait_said("2030-01-01T01:")
    # Were the move still under way, this one would wait for it, for minutes.
    ended = run_process("clock", "advance", "1ms", "--json", cwd=project)
    now = json.loads(ended.out)
    assert now["now"] < "2035"
    left = {key: now[key] for key in ("now_ms", "now", "mode", "rate")}
    assert json.loads(run("clock", "--json").out) == left
    server.stop()
