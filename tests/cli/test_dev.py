"""`edgeemu dev` as a user sees it: banner, live log, reload, and every way in and out."""

import json
import stat
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.cli.conftest import CONFIG, FILTERS, MAIN, Run, Server

pytestmark = pytest.mark.slow


class Start(Protocol):
    def __call__(self, *options: str) -> Server: ...


@pytest.fixture
def start(project: Path) -> Iterator[Start]:
    """Starts servers of the project, and stops those that still run in the end."""
    started = []

    def start_server(*options: str) -> Server:
        started.append(Server(project, *options))
        return started[-1]

    yield start_server
    for server in started:
        if server.runs:
            server.stop()


def shown(server: Server) -> str:
    import re

    text = server.said
    for pattern, replacement in FILTERS:
        text = re.sub(pattern, replacement, text)
    return text


def test_banner_and_live_log(start: Start, run: Run) -> None:
    server = start()
    run("call", "alice", "touch")
    run("call", "alice", "shout")
    run("alarms", "fail", "alice")
    run("clock", "advance", "5m")
    run("evict", "alice")
    assert server.stop() == 0
    assert server.out == "heard by all\n"
    assert (
        shown(server)
        == """\
edgeemu VERSION  shop (telnyx)
  url     http://127.0.0.1:PORT
  actors  Session
  clock   2030-01-01T00:00:00Z, frozen
  seed    1
  state   .edgeemu
try, in a second terminal in this folder:
  edgeemu call Session/alice touch
  edgeemu alarms list
  edgeemu clock advance 5m

2030-01-01T00:00:00Z      -                   started; the clock is frozen, the seed 1
2030-01-01T00:00:00Z      Session/alice       init                ok         0.0ms
2030-01-01T00:00:00Z      Session/alice       call touch          ok         0.0ms
2030-01-01T00:00:00Z      Session/alice       alarm set for 2030-01-01T00:05:00Z (in 5m) \
by src/main.py:13
2030-01-01T00:00:00Z      Session/alice       call shout          ok         0.0ms
2030-01-01T00:00:00Z      Session/alice       edit                ok         from cli
2030-01-01T00:00:00Z      Session/alice       PLANNED  the next delivery fails \
(throw: injected by `edgeemu alarms fail`)
2030-01-01T00:01:00Z      Session/alice       left the memory (idle)
2030-01-01T00:05:00.001Z  Session/alice       init                ok         0.0ms
2030-01-01T00:05:00.001Z  Session/alice       alarm #0            FAILED     0.0ms
    InjectedError: injected by `edgeemu alarms fail` (a planned fault: throw)
2030-01-01T00:05:00.001Z  Session/alice       RETRY  attempt #1 of 4 is due at \
2030-01-01T00:05:01.001Z (in 1s)
2030-01-01T00:05:00.001Z  -                   clock advanced (frozen)
2030-01-01T00:05:00.001Z  Session/alice       left the memory (evict)

stopping; Ctrl-C once more stops at once
2030-01-01T00:05:00.001Z  -                   stopped
"""
    )


def test_a_saved_file_is_live_and_broken_code_waits_to_be_mended(
    start: Start, run: Run, project: Path
) -> None:
    server = start()
    run("call", "alice", "touch")
    main = project / "src/main.py"
    main.write_text(MAIN.replace('return "quiet"', 'return "loud"'))
    server.wait_said("RELOADED  src/main.py; storage, alarms and clock are kept\n")
    assert run("call", "alice", "shout").out == "loud\n"
    assert len(json.loads(run("alarms", "list", "--json").out)) == 1

    main.write_text(MAIN.replace('return "quiet"', 'return = "quiet"'))
    said = server.wait_said('>   40 |         return = "quiet"\n')
    assert "RELOAD FAILED  the code before it keeps serving\n" in said
    assert "    error[E_PROJECT_SYNTAX]: src/main.py has a syntax error at line 40" in said
    assert run("call", "alice", "shout").out == "loud\n"
    server.wait_said("OLD CODE  still serving, because src/main.py has a syntax error at line 40")

    server.said = ""
    main.write_text(MAIN)
    server.wait_said("RELOADED  src/main.py")
    assert run("call", "alice", "shout").out == "quiet\n"
    assert "OLD CODE" not in server.said


def test_settings_that_wait_for_a_restart_are_named(start: Start, project: Path) -> None:
    server = start()
    (project / "edgeemu.toml").write_text(CONFIG + "[limits]\nstorm_count = 5\n")
    server.wait_said("note: `limits.storm_count` counts when `edgeemu dev` starts again\n")


def test_requests_of_a_browser_are_served_and_logged(start: Start, project: Path) -> None:
    server = start()
    info = json.loads((project / ".edgeemu/dev.json").read_text())
    request = urllib.request.Request(f"http://127.0.0.1:{info['port']}/shop?page=2")
    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.urlopen(request, timeout=10)
    with answer.value as response:
        assert json.loads(response.read())["path"] == "/shop"
    server.wait_said("fetch GET /shop?page=2  ok ")


def test_the_note_of_the_server_is_private_and_goes_with_it(start: Start, project: Path) -> None:
    server = start()
    note = project / ".edgeemu/dev.json"
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    server.stop()
    assert not note.exists()


def test_a_note_that_a_kill_left_behind_is_no_matter(start: Start, run: Run, project: Path) -> None:
    server = start()
    run("call", "alice", "touch")
    server.kill()
    assert (project / ".edgeemu/dev.json").exists()
    assert len(json.loads(run("alarms", "list", "--json").out)) == 1
    assert start().runs


def test_fresh_deletes_the_state_and_nothing_else(start: Start, run: Run, project: Path) -> None:
    run("call", "alice", "touch")
    mine = project / ".edgeemu/notes.txt"
    mine.write_text("mine")
    server = start("--fresh")
    assert "starting over: deleted state.sqlite in " in server.said
    assert run("actors", "list", "--json").out == "[]\n"
    assert mine.read_text() == "mine"


def test_fresh_gets_over_damage(start: Start, run: Run, project: Path) -> None:
    run("clock")
    (project / ".edgeemu/state.sqlite").write_bytes(b"damaged" * 1_000)
    start("--fresh")
    assert run("call", "alice", "touch").status == 0


def test_in_memory_leaves_no_state(start: Start, run: Run, project: Path) -> None:
    server = start("--in-memory")
    assert "state   in memory only\n" in server.said
    run("call", "alice", "touch")
    assert len(json.loads(run("alarms", "list", "--json").out)) == 1
    server.stop()
    assert list((project / ".edgeemu").iterdir()) == []


def test_clock_options(start: Start, run: Run) -> None:
    def clock() -> dict[str, object]:
        return dict(json.loads(run("clock", "--json").out))

    server = start("--clock", "frozen", "--start", "2040-01-01")
    assert clock()["now"] == "2040-01-01T00:00:00Z"
    server.stop()
    server = start("--start", "2035-01-01T00:00:00Z")
    assert "note: the start instant is ignored" in server.said
    assert clock()["now"] == "2040-01-01T00:00:00Z"
    server.stop()
    server = start("--clock", "60x", "--no-reload", "--seed", "7")
    assert "  seed    7\n" in server.said
    assert (clock()["mode"], clock()["rate"]) == ("rate", 60)
    server.stop()
    start("--rate", "3")
    assert clock()["rate"] == 3


def test_overdue_alarms_fire_at_the_start_unless_held(start: Start, run: Run) -> None:
    run("alarms", "set", "late", "2030-01-01T00:30:00Z")
    run("alarms", "set", "later", "2030-01-01T01:00:00Z")
    server = start("--start", "2030-01-01T02:00:00Z", "--hold-overdue")
    alarms = json.loads(run("alarms", "list", "--json").out)
    assert [alarm["due_in_ms"] for alarm in alarms] == [-90 * 60_000, -60 * 60_000]
    server.stop()
    server = start()
    server.wait_said("Session/later       alarm #0            ok ")
    order = [line.split()[1] for line in server.said.splitlines() if "alarm #0" in line]
    assert order == ["Session/late", "Session/later"]


def test_evict_always_constructs_anew_for_every_turn(start: Start, run: Run) -> None:
    server = start("--evict-always")
    for _ in range(3):
        run("call", "alice", "echo", "1")
    server.stop()
    assert server.said.count(" init ") == 3


def test_a_named_state_folder_is_found_by_commands_that_name_it(
    start: Start, run: Run, project: Path
) -> None:
    start("--state-dir", "elsewhere")
    run("call", "alice", "touch", "--state-dir", "elsewhere")
    assert len(json.loads(run("alarms", "list", "--json", "--state-dir", "elsewhere").out)) == 1
    assert not (project / ".edgeemu").exists()
