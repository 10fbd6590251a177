"""`edgeemu dev` as a user sees it: banner, live log, reload, and every way in and out."""

import json
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from edgeemu.limits import DESCRIPTORS_WANTED
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
2030-01-01T00:00:00Z      Session/alice       init                    ok         0.0ms
2030-01-01T00:00:00Z      Session/alice       call touch              ok         0.0ms
2030-01-01T00:00:00Z      Session/alice       alarm set for 2030-01-01T00:05:00Z (in 5m) \
by src/main.py:13
2030-01-01T00:00:00Z      Session/alice       call shout              ok         0.0ms
2030-01-01T00:00:00Z      Session/alice       edit                    ok         from cli
2030-01-01T00:00:00Z      Session/alice       PLANNED  the next delivery fails \
(throw: injected by `edgeemu alarms fail`)
2030-01-01T00:01:00Z      Session/alice       left the memory (idle)
2030-01-01T00:05:00.001Z  Session/alice       init                    ok         0.0ms
2030-01-01T00:05:00.001Z  Session/alice       alarm (attempt 1 of 4)  FAILED     0.0ms
    InjectedError: injected by `edgeemu alarms fail` (a planned fault: throw)
2030-01-01T00:05:00.001Z  Session/alice       RETRY  attempt 2 of 4 is due at \
2030-01-01T00:05:01.001Z (in 1s)
2030-01-01T00:05:00.001Z  -                   clock advanced by 5m1ms (frozen): 1 delivery, \
next alarm in 1s
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
    server.wait_said("Session/later       alarm (attempt 1 of 4)  ok ")
    order = [line.split()[1] for line in server.said.splitlines() if "attempt 1" in line]
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


RISKY = MAIN.replace('print("heard by all")', "time.sleep(0.001)").replace(
    "import asyncio\n", "import asyncio\nimport time\n"
)


def test_advice_at_the_start_and_for_what_was_saved(start: Start, project: Path) -> None:
    (project / "src/other.py").write_text("import time\n\n\nasync def wait():\n    time.sleep(1)\n")
    server = start()
    said = server.wait_said("advice  src/other.py:5  W_BLOCKING_SLEEP: ")
    assert "          fix: await asyncio.sleep(seconds)" in server.wait_said("fix: await")
    assert said.count("advice") == 1
    server.said = ""
    (project / "src/main.py").write_text(RISKY)
    server.wait_said("RELOADED  src/main.py")
    server.wait_said("advice  src/main.py:40  W_BLOCKING_SLEEP: ")
    assert "other.py" not in server.said


def test_a_saved_test_does_not_reload(start: Start, project: Path) -> None:
    (project / "tests").mkdir()
    server = start()
    (project / "tests/test_shop.py").write_text("def test_it(): ...\n")
    (project / "src/main.py").write_text(MAIN + "\n")
    server.wait_said("RELOADED  src/main.py; storage")
    assert server.said.count("RELOADED") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such bound")
def test_a_server_takes_more_descriptors_than_a_shell_gives() -> None:
    """256 of them, as on macOS, are too few for a load test."""
    script = (
        "import resource\n"
        "from edgeemu.cli.serving import _ask_for_descriptors\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))\n"
        "_ask_for_descriptors()\n"
        "print(*resource.getrlimit(resource.RLIMIT_NOFILE), hard)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    soft, hard, hard_before = map(int, done.stdout.split())
    assert hard == hard_before
    assert soft == (min(DESCRIPTORS_WANTED, hard) if hard >= 0 else DESCRIPTORS_WANTED)


def test_a_second_server_says_where_the_first_one_is(start: Start, run: Run, project: Path) -> None:
    start()
    port = str(json.loads((project / ".edgeemu/dev.json").read_text())["port"])
    for options in (["--port", "0"], ["--port", port], ["--port", "0", "--fresh"]):
        ended = run("dev", *options)
        assert ended.status == 2
        assert f"why: `edgeemu dev` runs already at http://127.0.0.1:{port}, as" in ended.err
        assert "commands in this project go there\n" in ended.err


def test_following_begins_with_the_last_entries(start: Start, run: Run, project: Path) -> None:
    server = start()
    for _ in range(12):
        run("call", "alice", "touch")
    every = json.loads(run("log", "--json").out)
    for options, last in (([], 10), (["-n", "3"], 3), (["--since", "1h"], None)):
        first = len(every) if last is None else last
        command = [sys.executable, "-m", "edgeemu", "log", "--follow", "--json", *options]
        with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True) as follower:
            try:
                assert follower.stdout is not None
                shown = [json.loads(follower.stdout.readline()) for _ in range(first)]
                assert shown == every[-first:]
                run("call", "alice", "echo", "1")
                entry = json.loads(follower.stdout.readline())
                assert (entry["kind"], entry["seq"]) == ("call", every[-1]["seq"] + 1)
                every.append(entry)
            finally:
                follower.kill()  # It follows for ever, and the block waits for its end.
    server.stop()


def test_banner_names_functions_and_what_is_only_local(project: Path, start: Start) -> None:
    (project / "edgeemu.toml").write_text(
        f'{CONFIG}[storage.kv.CACHE]\n[functions.billing]\nconfig = "billing"\n'
    )
    (project / "billing").mkdir()
    (project / "billing/edgeemu.toml").write_text('main = "main.py"\n')
    (project / "billing/main.py").write_text("")
    server = start()
    assert server.stop() == 0
    lines = server.said.splitlines()
    url = next(line for line in lines if line.startswith("  url"))
    port = url.rpartition(":")[2]
    assert f"          http://billing.localhost:{port}  function billing" in lines
    assert "note: KV namespaces are local: docs/bindings.md says what they lack" in lines
