"""How commands find their project, what reaches which stream, and what a process costs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgeemu import __version__
from edgeemu.cli import main as main_module
from edgeemu.cli import render
from tests.cli.conftest import CONFIG, Run, Server, run_process


def test_version(run: Run) -> None:
    for args in (["--version"], ["-V"], ["--project", ".", "--version"]):
        assert run(*args) == (0, f"edgeemu {__version__}\n", "")


@pytest.mark.slow
def test_whole_process(project: Path) -> None:
    """The installed command itself, once for each kind of end."""
    assert run_process("--version", cwd=project).status == 0
    assert run_process("call", "alice", "touch", "--json", cwd=project).out == "null\n"
    assert run_process("call", "alice", "boom", cwd=project).status == 1
    bad = run_process("bogus", cwd=project)
    assert bad.shown() == (
        "exit 2\n"
        "--- stderr\n"
        "error[E_USAGE]: no such command 'bogus'\n"
        "why: the commands of `edgeemu` are new, dev, call, fetch, connect, actors, alarms, "
        "storage, kv, clock, evict, log, check, types, explain\n"
        "fix: see `edgeemu --help`\n"
    )


def test_help_goes_to_stdout(run: Run) -> None:
    ended = run("alarms", "--help")
    assert ended.status == 0
    assert ended.err == ""
    assert "why" in ended.out


# --- project and state -------------------------------------------------------------------------


def test_the_project_is_found_from_a_folder_in_it(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("call", "alice", "touch")
    monkeypatch.chdir(project / "src")
    assert len(json.loads(run("alarms", "list", "--json").out)) == 1


@pytest.mark.parametrize("before", [True, False])
def test_project_and_state_may_be_named_before_the_command_or_behind_it(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    monkeypatch.chdir(project.parent)
    options = ["--project", "shop", "--state-dir", "elsewhere"]
    for command in (["call", "alice", "touch"], ["clock"], ["clock", "freeze"]):
        args = [*options, *command] if before else [*command, *options]
        assert run(*args).status == 0
    assert (project.parent / "elsewhere/state.sqlite").exists()
    assert not (project / ".edgeemu").exists()


def test_project_and_state_may_come_from_the_environment(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.parent)
    monkeypatch.setenv("EDGEEMU_PROJECT", "shop")
    monkeypatch.setenv("EDGEEMU_STATE_DIR", "elsewhere")
    assert run("clock").status == 0
    assert (project.parent / "elsewhere/state.sqlite").exists()


def test_json_of_a_bare_group_and_of_its_commands(project: Path, run: Run) -> None:
    read = run("clock", "--json")
    assert json.loads(read.out)["mode"] == "frozen"
    assert run("clock", "--json", "read") == read
    assert run("clock", "read", "--json") == read


# --- what runs without a server ----------------------------------------------------------------


def test_only_what_runs_or_moves_something_fires_what_is_overdue(project: Path, run: Run) -> None:
    (project / "edgeemu.toml").write_text(f"{CONFIG}alarm_lateness_ms = 0\n")
    run("alarms", "set", "alice", "2029-12-31T00:00:00Z")
    for command in (["alarms", "list"], ["storage", "list", "alice"], ["clock"], ["log"]):
        run(*command)
    overdue = run("alarms", "list", "--json")
    assert json.loads(overdue.out)[0]["due_in_ms"] < 0
    run("call", "bob", "echo", "1")
    assert json.loads(run("alarms", "list", "--json").out) == []


def test_prints_of_actors_stay_out_of_the_data(project: Path, run: Run) -> None:
    ended = run("call", "alice", "shout", "--json")
    assert (ended.out, ended.err) == ('"quiet"\n', "heard by all\n")


@pytest.mark.slow
def test_follow_tells_what_happens_as_one_object_a_line(server: Server, project: Path) -> None:
    command = [sys.executable, "-m", "edgeemu", "log", "--follow", "--json", "--actor", "alice"]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        run_process("call", "bob", "touch", cwd=project)
        run_process("call", "alice", "touch", cwd=project)
        kinds = [json.loads(follower.stdout.readline())["kind"] for _ in range(3)]
        server.stop()
        assert follower.stdout.read() == ""
    assert kinds == ["init", "call", "alarm_set"]
    assert follower.returncode in (0, 2)


# --- streams -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_reader_that_closes_the_pipe_is_no_error(project: Path) -> None:
    for _ in range(2):
        run_process("call", "alice", "touch", cwd=project)
    pipe = f"{sys.executable} -m edgeemu log | head -n 0; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", pipe], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout in ("0\n",)


def test_a_closed_pipe_swallows_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        for _ in range(3):
            render.lines(["nobody reads this"])
        render.raw(b"nor this")
        render.data({"nor": "this"})


@pytest.mark.slow
def test_an_ascii_terminal_gets_escapes(project: Path) -> None:
    env = {"PYTHONIOENCODING": "ascii"}
    ended = run_process("call", "alice", "echo", "ü", "--json", cwd=project, **env)
    assert json.loads(ended.out) == "ü"
    assert ended.out.isascii()
    assert run_process("call", "alice", "echo", "ü", cwd=project, **env).out == "\\xfc\n"


def test_colour_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        encoding = "utf-8"
        content = ""

        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> None:
            self.content += text

        def flush(self) -> None: ...

    line: render.Line = [("GAVE UP", "bad"), "  after 4 attempts\x1b[2J"]
    monkeypatch.setattr(sys, "stderr", plain := Terminal())
    render.talk(line)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr(sys, "stderr", coloured := Terminal())
    render.talk(line)
    assert plain.content == "GAVE UP  after 4 attempts\\x1b[2J\n"
    assert coloured.content == "\x1b[1;31mGAVE UP\x1b[0m  after 4 attempts\\x1b[2J\n"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_body_ends_its_line_on_a_terminal_only(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    # `run` prints into a file; only what it says of itself is changed.
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: is_terminal)
    assert run("fetch", "/boom").out == "Internal Server Error" + "\n" * is_terminal
    assert run("fetch", "/bytes", "--json").out.endswith("}\n")


# --- bugs, Ctrl-C ------------------------------------------------------------------------------


def break_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_it(*_: object) -> None:
        raise error

    monkeypatch.setattr("edgeemu.api.client.open_target", raise_it)


def test_a_bug_says_that_it_is_one(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_with(ZeroDivisionError("oh"), monkeypatch)
    assert run("clock").shown() == (
        "exit 3\n"
        "--- stderr\n"
        "error[E_INTERNAL]: edgeemu has a bug: ZeroDivisionError: oh\n"
        "why: something happened that no part of edgeemu expects\n"
        "fix: report it with what the same command prints with EDGEEMU_DEBUG=1 in the environment\n"
    )
    monkeypatch.setenv("EDGEEMU_DEBUG", "1")
    assert "Traceback (most recent call last)" in run("clock").err
    assert json.loads(run("clock", "--json").out)["error"]["code"] == "E_INTERNAL"


def test_ctrl_c_is_quiet(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    break_with(KeyboardInterrupt(), monkeypatch)
    assert run("clock") == (main_module.INTERRUPTED, "", "")


# --- what a process costs ----------------------------------------------------------------------

HEAVY = {"asyncio", "rich", "starlette", "uvicorn", "edgeemu.emulator", "edgeemu.config", "apsw"}
"""What takes long to import; `--help` and a command against a server do without."""


def loaded_by(args: list[str], cwd: Path) -> set[str]:
    code = (
        "import sys, json; from edgeemu.cli.main import main; status = main(sys.argv[1:]);"
        "print(json.dumps([status, sorted(sys.modules)]), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args], cwd=cwd, capture_output=True, text=True, check=True
    )
    status, modules = json.loads(done.stderr.splitlines()[-1])
    assert status == 0
    return set(modules)


@pytest.mark.slow
def test_help_and_commands_against_a_server_import_nothing_heavy(
    server: Server, project: Path
) -> None:
    for args in (
        ["--help"],
        ["--version"],
        ["alarms", "list"],
        ["call", "alice", "touch"],
        ["clock", "advance", "1m"],
        ["log"],
        ["storage", "list", "alice"],
    ):
        assert not loaded_by(args, project) & HEAVY, args
