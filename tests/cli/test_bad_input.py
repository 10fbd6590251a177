"""Whatever is wrong ends in three lines, a code and an exit status, and changes nothing."""

import json
import socket
import sqlite3
from pathlib import Path

import pytest

from edgeemu.errors import Code
from tests.cli.conftest import CONFIG, MAIN, Ended, Run, Server


def check(ended: Ended, code: Code, what: str, *, fix: str = "") -> None:
    """The one shape of an error in the terminal: nothing on stdout, three lines on stderr."""
    assert ended.out == "", ended.shown()
    lines = [line for line in ended.err.splitlines() if not line.startswith("starting over")]
    assert lines[0].startswith(f"error[{code.text}]: "), ended.shown()
    assert what in lines[0]
    assert lines[1].startswith("why: ") and len(lines[1]) > 10
    assert lines[2].startswith("fix: ") and fix in lines[2] and len(lines[2]) > 10
    assert lines[3:4] in ([], [""])  # A detail stands apart.
    assert ended.status == code.exit_status


# --- new ---------------------------------------------------------------------------------------


def test_unknown_template(project: Path, run: Run) -> None:
    ended = run("new", "other", "--template", "session-timeou")
    check(ended, Code.TEMPLATE_UNKNOWN, "`session-timeou`", fix="--template session-timeout")
    assert not (project / "other").exists()


def test_template_in_a_language_that_it_does_not_have(project: Path, run: Run) -> None:
    check(run("new", "other", "--language", "ruby"), Code.TEMPLATE_LANGUAGE, "`ruby`")


def test_unknown_platform(project: Path, run: Run) -> None:
    check(run("new", "other", "--platform", "moon"), Code.CONFIG_UNSUPPORTED, "`moon`")


def test_existing_folder(project: Path, run: Run) -> None:
    check(run("new", "src"), Code.FOLDER_EXISTS, "`src`")
    assert (project / "src/main.py").read_text() == MAIN


def test_new_where_nothing_can_be_made(project: Path, run: Run) -> None:
    check(run("new", "missing/shop"), Code.FOLDER_UNWRITABLE, "`missing/shop`")


@pytest.mark.parametrize("name", ["a b", ".", "..", "", "-x", "ü", "x" * 65])
def test_bad_project_name(project: Path, run: Run, name: str) -> None:
    ended = run("new", "--", name)
    check(ended, Code.PROJECT_NAME, f"`{name}`")


def test_new_without_a_name(project: Path, run: Run) -> None:
    check(run("new"), Code.USAGE, "needs the name")


# --- configuration and project -----------------------------------------------------------------


def test_no_project(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(run("alarms", "list"), Code.CONFIG_MISSING, "there is no project")


def test_project_option_that_names_no_project(project: Path, run: Run) -> None:
    """The project around the folder is not what was asked for."""
    check(run("--project", "src", "clock"), Code.CONFIG_MISSING, "src")
    check(run("clock", "--project", "nowhere"), Code.CONFIG_MISSING, "nowhere")


COMMANDS = [["check"], ["call", "Session/a", "touch"], ["dev", "--port", "0"]]


@pytest.mark.parametrize("command", [*COMMANDS, ["alarms", "list"]], ids=" ".join)
def test_bad_config_key(project: Path, run: Run, command: list[str]) -> None:
    (project / "edgeemu.toml").write_text(CONFIG.replace("[clock]", "[clok]"))
    check(run(*command), Code.CONFIG_UNKNOWN_KEY, "`clok`", fix="`clock`")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_missing_main(project: Path, run: Run, command: list[str]) -> None:
    (project / "src/main.py").unlink()
    check(run(*command), Code.MAIN_MISSING, "src/main.py")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_config_that_is_no_toml(project: Path, run: Run, command: list[str]) -> None:
    (project / "edgeemu.toml").write_text("name = ")
    check(run(*command), Code.CONFIG_SYNTAX, "edgeemu.toml")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_class_not_found(project: Path, run: Run, command: list[str]) -> None:
    (project / "src/main.py").write_text(MAIN.replace("class Session", "class Sessions"))
    check(run(*command), Code.CLASS_MISSING, "`Session`")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_syntax_error(project: Path, run: Run, command: list[str]) -> None:
    (project / "src/main.py").write_text("x = 1\ny = = 2\n")
    ended = run(*command)
    check(ended, Code.PROJECT_SYNTAX, "src/main.py", fix="src/main.py:2")
    assert ">    2 | y = = 2\n       |     ^" in ended.err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_import_error(project: Path, run: Run, command: list[str]) -> None:
    (project / "src/main.py").write_text("import no_such_package\n")
    ended = run(*command)
    check(ended, Code.PROJECT_IMPORT, "src/main.py line 1", fix="no_such_package")
    assert ">    1 | import no_such_package" in ended.err


def test_a_broken_project_can_still_be_looked_at(project: Path, run: Run) -> None:
    run("call", "Session/a", "touch")
    (project / "src/main.py").write_text("y = = 2\n")
    assert run("alarms", "list", "--json").status == 0
    assert json.loads(run("storage", "list", "Session/a", "--json").out) == {
        "last_seen": 1_893_456_000_000
    }
    check(run("clock", "advance", "5m"), Code.PROJECT_SYNTAX, "src/main.py")
    assert json.loads(run("clock", "--json").out)["now"] == "2030-01-01T00:00:00Z"


# --- state, port -------------------------------------------------------------------------------


def test_port_taken(project: Path, run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = run("dev", "--port", str(port))
    check(ended, Code.PORT_TAKEN, str(port), fix="--port")
    assert not (project / ".edgeemu/dev.json").exists()


def test_host_that_is_none_of_ours(project: Path, run: Run) -> None:
    check(run("dev", "--port", "0", "--host", "192.0.2.1"), Code.HOST_INVALID, "192.0.2.1")


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_port_out_of_range(project: Path, run: Run, port: str) -> None:
    check(run("dev", "--port", port), Code.CONFIG_VALUE, f"`{port}`")


@pytest.mark.slow
def test_state_folder_in_use(server: Server, run: Run) -> None:
    check(run("dev", "--port", "0"), Code.STATE_IN_USE, ".edgeemu", fix="--state-dir")
    check(run("dev", "--port", "0", "--fresh"), Code.STATE_IN_USE, ".edgeemu")
    assert run("clock").status == 0  # The server is none the worse for it.


@pytest.mark.slow
def test_state_folder_in_use_by_another_command(project: Path, run: Run) -> None:
    from edgeemu.stores.lock import StateLock

    run("clock")
    lock = StateLock(project / ".edgeemu")
    try:
        check(run("alarms", "list"), Code.STATE_IN_USE, ".edgeemu")
    finally:
        lock.close()


def test_damaged_state_file(project: Path, run: Run) -> None:
    run("call", "Session/a", "touch")
    state = project / ".edgeemu/state.sqlite"
    damaged = b"no database at all, and long enough to be looked at" * 40
    state.write_bytes(damaged)
    for command in (["alarms", "list"], ["dev", "--port", "0"], ["call", "Session/a", "touch"]):
        check(run(*command), Code.STATE_DAMAGED, "state.sqlite", fix="--fresh")
    assert state.read_bytes() == damaged


def test_state_of_a_newer_version(project: Path, run: Run) -> None:
    run("clock")
    state = sqlite3.connect(project / ".edgeemu/state.sqlite")
    state.execute("PRAGMA user_version = 99")
    state.commit()
    state.close()
    for command in (["alarms", "list"], ["dev", "--port", "0"]):
        check(run(*command), Code.STATE_NEWER, "newer edgeemu", fix="--state-dir")


def test_state_folder_that_is_a_file(project: Path, run: Run) -> None:
    (project / "state").touch()
    check(run("clock", "--state-dir", "state"), Code.STATE_UNWRITABLE, "state")


# --- commands ----------------------------------------------------------------------------------


BAD_COMMANDS: list[tuple[list[str], Code, str]] = [
    (["bogus"], Code.USAGE, "no such command 'bogus'"),
    ([], Code.USAGE, "`edgeemu` needs to be told what to do"),
    (["alarms"], Code.USAGE, "`edgeemu alarms` needs to be told what to do"),
    (["alarms", "lst"], Code.USAGE, "no such command 'lst'"),
    (["call"], Code.USAGE, "missing argument 'ACTOR'"),
    (["call", "Session/a"], Code.USAGE, "missing argument 'METHOD'"),
    (["call", "Session/a", "touch", "--jsn"], Code.USAGE, "has no option `--jsn`"),
    (["clock", "freeze", "now"], Code.USAGE, "unexpected extra argument"),
    (["evict"], Code.USAGE, "`evict` takes an ACTOR or --all"),
    (["evict", "Session/a", "--all"], Code.USAGE, "not both"),
    (["alarms", "fail", "Session/a", "--how", "gently"], Code.USAGE, "gently"),
    (["alarms", "fail", "Session/a", "--times", "x"], Code.USAGE, "--times"),
    (["alarms", "fail", "Session/a", "--times", "-1"], Code.NUMBER_INVALID, "`-1`"),
    (["fetch", "/", "-H", "no header"], Code.USAGE, "`no header`"),
    (["fetch", "ftp://localhost/x"], Code.REQUEST_INVALID, "`ftp://localhost/x`"),
    (["fetch", "http://"], Code.REQUEST_INVALID, "`http://`"),
    (["call", "Sesion/a", "touch"], Code.ACTOR_UNKNOWN, "`Sesion`; did you mean Session?"),
    (["call", "session/a", "touch"], Code.ACTOR_UNKNOWN, "did you mean Session?"),
    (["call", "Session/", "touch"], Code.ADDRESS_INVALID, "no name behind the slash"),
    (["call", "Session/\udcff", "touch"], Code.ADDRESS_INVALID, "\\udcff"),
    (["call", "", "touch"], Code.ADDRESS_INVALID, "empty"),
    (["alarms", "list", "--type", "Nope"], Code.ACTOR_UNKNOWN, "`Nope`"),
    (["actors", "show", "nobody"], Code.INSTANCE_UNKNOWN, "Session/nobody"),
    (["storage", "get", "nobody", "k"], Code.KEY_UNKNOWN, "`k`"),
    (["storage", "put", "a", "", "1"], Code.KEY_INVALID, "``"),
    (["storage", "put", "a", "k", '{"$date": "x"}'], Code.VALUE_INVALID, "`k`"),
    (["storage", "import", "a", "missing.json"], Code.FILE_UNREADABLE, "`missing.json`"),
    (["storage", "import", "a", "src/main.py"], Code.JSON_INVALID, "`src/main.py`"),
    (["storage", "import", "a", "document.json"], Code.VALUE_INVALID, "the document"),
    (["alarms", "fire", "nobody"], Code.ALARM_NONE, "Session/nobody"),
    (["alarms", "fail", "nobody", "--now"], Code.ALARM_NONE, "Session/nobody"),
    (["alarms", "set", "a", "soon"], Code.INSTANT_INVALID, "`soon`"),
    (["alarms", "set", "a", "+soon"], Code.DURATION_INVALID, "`soon`"),
    (["clock", "advance", "5 minutes"], Code.DURATION_INVALID, "`5 minutes`"),
    (["clock", "advance", "5"], Code.DURATION_INVALID, "`5`"),
    (["clock", "advance", "-5m"], Code.ADVANCE_NEGATIVE, "by -5m"),
    (["clock", "advance", "--", "-5m"], Code.ADVANCE_NEGATIVE, "by -5m"),
    (["clock", "advance", "-x"], Code.DURATION_INVALID, "x"),
    (["clock", "set", "noon"], Code.INSTANT_INVALID, "`noon`"),
    (["clock", "set", "+noon"], Code.DURATION_INVALID, "`noon`"),
    (["clock", "rate", "fast"], Code.RATE_INVALID, "`fast`"),
    (["clock", "rate", "0"], Code.RATE_INVALID, "`0`"),
    (["log", "--since", "noon"], Code.INSTANT_INVALID, "`noon`"),
    (["log", "-n", "-1"], Code.NUMBER_INVALID, "`-1`"),
    (["log", "--last", "10001"], Code.NUMBER_INVALID, "`10001`"),
    (["log", "--follow"], Code.SERVER_UNREACHABLE, "no running server"),
    (["dev", "--clock", "slow"], Code.RATE_INVALID, "`slow`"),
    (["dev", "--clock", "frozen", "--rate", "60"], Code.USAGE, "contradict"),
    (["dev", "--start", "noon"], Code.INSTANT_INVALID, "`noon`"),
    (["dev", "--seed", "-1"], Code.NUMBER_INVALID, "`-1`"),
    (["dev", "--sed", "1"], Code.USAGE, "--sed"),
]


def test_option_of_other_tools_leads_to_the_one_that_is_meant(project: Path, run: Run) -> None:
    assert run("log", "--tail", "3").err.endswith("fix: write --last\n")


@pytest.mark.parametrize(
    ("command", "code", "what"), BAD_COMMANDS, ids=[" ".join(case[0]) for case in BAD_COMMANDS]
)
def test_bad_command(project: Path, run: Run, command: list[str], code: Code, what: str) -> None:
    (project / "document.json").write_text('{"keys": {}}')
    check(run(*command), code, what)


@pytest.mark.parametrize(
    ("command", "fix"),
    [
        ("fetch POST /x", "write `edgeemu fetch -X POST /x`"),
        ("call Session/a echo tea --count 2", "write `edgeemu call Session/a echo tea 2`"),
        ("call Session/a echo --count=2 tea", "write `edgeemu call Session/a echo 2 tea`"),
        ("call Session/a touch --jsn", "write --json"),
        ("call Session/a --jsn touch", "write --json"),
        ("bogus", "see `edgeemu --help`"),
        ("alarms lst", "did you mean 'list', 'set'?"),
        ("storage sql Session/a BEGIN", "leave it out, and put a semicolon between"),
    ],
)
def test_command_that_is_written_otherwise(project: Path, run: Run, command: str, fix: str) -> None:
    code = Code.SQL_FAILED if " sql " in command else Code.USAGE
    check(run(*command.split()), code, "", fix=fix)


def test_unknown_command_hears_of_those_that_there_are(run: Run) -> None:
    assert "why: the commands of `edgeemu alarms` are list, fire, fail, set" in (
        run("alarms", "lst").err
    )
    assert "new, dev, call, fetch" in run("bogus").err


JSON_COMMANDS = [
    (command, code)
    for command, code, _ in BAD_COMMANDS
    if command and command[0] != "dev" and "--" not in command
]


@pytest.mark.parametrize(
    ("command", "code"), JSON_COMMANDS, ids=[" ".join(case[0]) for case in JSON_COMMANDS]
)
def test_with_json_an_error_is_one_document_on_stdout(
    project: Path, run: Run, command: list[str], code: Code
) -> None:
    (project / "document.json").write_text('{"keys": {}}')
    ended = run(*command, "--json")
    if "--follow" in command:
        assert ended.err == ""
    error = json.loads(ended.out)["error"]
    assert error["code"] == code.text
    assert {"code", "what", "why", "fix"} <= set(error)
    assert ended.err == ""
    assert ended.status == code.exit_status


# --- the actor ---------------------------------------------------------------------------------


def test_unknown_method(project: Path, run: Run) -> None:
    ended = run("call", "Session/a", "tuch")
    check(ended, Code.METHOD_UNKNOWN, "no method tuch; did you mean touch?")
    assert ended.status == 1


def test_private_method(project: Path, run: Run) -> None:
    check(run("call", "Session/a", "_secret"), Code.METHOD_PRIVATE, "_secret is private")


def test_an_actor_that_fails_shows_its_own_lines_and_keeps_nothing(project: Path, run: Run) -> None:
    assert run("call", "Session/a", "boom").shown() == (
        "exit 1\n"
        "--- stderr\n"
        "error[E_ACTOR_FAILED]: boom of Session/a failed: ActorMethodError: no such luck\n"
        "why: ValueError was raised at src/main.py:32\n"
        "fix: see src/main.py:32 unless the actor is meant to refuse; "
        "nothing that the turn wrote was kept\n"
        "\n"
        "  src/main.py:32 in boom\n"
        '    raise ValueError("no such luck")\n'
    )
    assert run("storage", "list", "Session/a").out == ""
    error = json.loads(run("call", "Session/a", "boom", "--json").out)["error"]
    assert (error["name"], error["message"]) == ("ActorMethodError", "no such luck")


def test_a_turn_that_waits_on_a_frozen_clock_names_its_line(project: Path, run: Run) -> None:
    ended = run("call", "Session/a", "nap")
    check(ended, Code.FROZEN_WAIT, "src/main.py:35", fix="edgeemu dev")
    assert ended.status == 1


@pytest.mark.slow
def test_a_storm_ends_the_command_and_the_project_lives_on(project: Path, run: Run) -> None:
    run("storage", "put", "Session/a", "storm", "true")
    run("alarms", "set", "Session/a", "+1m")
    check(run("clock", "advance", "1h"), Code.ALARM_STORM, "Session/a was delivered its alarm")
    assert run("call", "Session/b", "touch").status == 0


@pytest.mark.slow
def test_a_storm_leaves_the_server_alive(server: Server, run: Run) -> None:
    run("storage", "put", "Session/a", "storm", "true")
    run("alarms", "set", "Session/a", "+1m")
    check(run("clock", "advance", "1h"), Code.ALARM_STORM, "Session/a was delivered its alarm")
    assert run("call", "Session/b", "touch").status == 0
