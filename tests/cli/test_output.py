"""What each command prints, character by character; with a server and without the output is one."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Ended, Run, Server

SHOWN = {
    "clock": """\
exit 0
--- stdout
2030-01-01T00:00:00Z  frozen
""",
    "actors list": """\
exit 0
--- stderr
no instances exist yet; `edgeemu call` makes one
""",
    "alarms list": """\
exit 0
--- stderr
no alarms are pending
""",
    "alarms list --all": """\
exit 0
--- stderr
no alarm was ever set
""",
    "alarms history alice": """\
exit 0
--- stderr
(there is no instance Session/alice yet)
""",
    "alarms why alice": """\
exit 0
--- stdout
Session/alice has no alarm, and none was ever set
--- stderr
(there is no instance Session/alice yet)
""",
    "storage list alice": """\
exit 0
--- stderr
(there is no instance Session/alice yet)
""",
    "call alice touch": """\
exit 0
--- stdout
null
""",
    "call alice echo hello": """\
exit 0
--- stdout
hello
""",
    "call alice echo 1 -5 01 {'a': true} [1,2": """\
exit 0
--- stdout
[1, -5, "01", "{'a': true}", "[1,2"]
--- stderr
note: `{'a': true}` is passed as text, since it is not JSON: \
Expecting property name enclosed in double quotes at line 1 column 2
note: `[1,2` is passed as text, since it is not JSON: \
Expecting ',' delimiter at line 1 column 5
""",
    "call alice echo 9007199254740993": """\
exit 0
--- stdout
{"$bigint": "9007199254740993"}
""",
    "call alice echo -- --json": """\
exit 0
--- stdout
--json
""",
    "alarms list --type Session": """\
exit 0
--- stdout
ACTOR          DUE                   IN  STATE    NEXT    SET BY
Session/alice  2030-01-01T00:05:00Z  5m  waiting  1 of 4  src/main.py:13 (turn 1)
""",
    "alarms set bob +90m": """\
exit 0
--- stdout
Session/bob is due at 2030-01-01T01:30:00Z (in 1h30m)
""",
    "alarms set bob 2030-01-01T00:00:30Z": """\
exit 0
--- stdout
Session/bob is due at 2030-01-01T00:00:30Z (in 30s)
""",
    "alarms fail bob --how timeout --error late": """\
exit 0
--- stdout
the next delivery to Session/bob will fail (timeout: late)
""",
    "alarms fire bob": """\
exit 1
--- stdout
Session/bob  alarm (attempt 1)  TIMED OUT  0s of emulated time
    ActorAlarmTimeoutError: late
attempt 2 is due at 2030-01-01T00:00:01Z
""",
    "alarms fail bob --now": """\
exit 1
--- stdout
Session/bob  alarm (attempt 2)  FAILED  0s of emulated time
    InjectedError: injected by `edgeemu alarms fail`
attempt 3 is due at 2030-01-01T00:00:01Z
""",
    "alarms fire bob again": """\
exit 0
--- stdout
Session/bob  alarm (attempt 3)  ok  0s of emulated time
""",
    "clock advance 4m": """\
exit 0
--- stdout
2030-01-01T00:04:00Z  frozen
moved forward by 4m: 0 deliveries
""",
    "clock next": """\
exit 0
--- stdout
2030-01-01T00:05:00.001Z  frozen
moved forward by 1m1ms: 1 delivery, 1 succeeded
""",
    "clock idle": """\
exit 0
--- stdout
2030-01-01T00:05:00.001Z  frozen
stood still: 0 deliveries
""",
    "clock set 2030-01-01T00:00:00Z": """\
exit 0
--- stdout
2030-01-01T00:00:00Z  frozen
moved back by 5m1ms: 0 deliveries
""",
    "storage put alice greeting hello": """\
exit 0
--- stdout
Session/alice has a new value under `greeting`
""",
    'storage put alice list [1,{"$date":0}]': """\
exit 0
--- stdout
Session/alice has a new value under `list`
""",
    "storage list alice with keys": """\
exit 0
--- stdout
KEY       VALUE
greeting  "hello"
list      [1, {"$date": 0}]
""",
    "storage get alice greeting": """\
exit 0
--- stdout
hello
""",
    "storage get alice greeting --json": """\
exit 0
--- stdout
"hello"
""",
    "storage list alice --prefix l --json": """\
exit 0
--- stdout
{
  "list": [
    1,
    {
      "$date": 0
    }
  ]
}
""",
    "storage export alice": """\
exit 0
--- stdout
{
  "format": 1,
  "actor": "Session/alice",
  "keys": {
    "greeting": "hello",
    "list": [
      1,
      {
        "$date": 0
      }
    ]
  },
  "alarm_due_at_ms": null
}
""",
    "storage delete alice list": """\
exit 0
--- stdout
`list` of Session/alice is deleted
""",
    "storage delete alice list again": """\
exit 0
--- stdout
Session/alice had no key `list`
""",
    "alarms clear alice": """\
exit 0
--- stdout
Session/alice had no alarm
""",
    "fetch /shop?page=2 -d hi -H x-tag:blue": """\
exit 0
--- stdout
{"method": "POST", "path": "/shop", "tag": "blue", "body": "hi"}
--- stderr
HTTP 404 Not Found
""",
    "fetch bytes --json": """\
exit 0
--- stdout
{
  "status": 201,
  "headers": {},
  "body": {
    "$bytes": "/wA="
  }
}
""",
}
"""Commands in the order in which they run, and what they print. `again` and `with …` are no words
of a command: they tell two runs of it apart."""


@pytest.fixture(params=["local", pytest.param("server", marks=pytest.mark.slow)])
def world(request: pytest.FixtureRequest, project: Path) -> Iterator[str]:
    """With a running server, and without."""
    if request.param == "local":
        yield "local"
        return
    server = Server(project)
    yield "server"
    server.stop()


def split(command: str) -> list[str]:
    """The words of a command; a space inside braces is part of its word."""
    bare = command.removesuffix(" again").removesuffix(" with keys")
    return [word.replace("\0", " ") for word in bare.replace(": ", ":\0").split(" ")]


@pytest.mark.slow
def test_every_command_in_words(world: str, run: Run) -> None:
    for command, expected in SHOWN.items():
        shown = run(*split(command)).shown()
        assert f"$ {command}\n{shown}" == f"$ {command}\n{expected}"


def test_actors_in_words(world: str, run: Run) -> None:
    run("call", "alice", "touch")
    run("alarms", "fail", "alice", "--times", "2", "--error", "planned")
    run("clock", "advance", "5m")
    state = {"local": "evicted", "server": "idle"}[world]
    assert run("actors", "list").shown() == (
        "exit 0\n"
        "--- stdout\n"
        f"ACTOR          {'STATE':<{len(state)}}  "
        "ALARM DUE                 KEYS  BYTES  LAST TURN\n"
        f"Session/alice  {state:<5}  2030-01-01T00:05:01.001Z  1     22     "
        "alarm (attempt 1 of 4), FAILED, at 2030-01-01T00:05:00.001Z\n"
    )
    assert (
        run("actors", "show", "alice").shown()
        == f"""\
exit 0
--- stdout
Session/alice
  state       {state}
  alarm       due 2030-01-01T00:05:01.001Z (in 1s), retrying, next is attempt 2 of 4, \
set by src/main.py:13 (turn 1)
  storage     1 key, 22 bytes
  created     2030-01-01T00:00:00Z
  planned     1 x throw: planned
  last turn   alarm (attempt 1 of 4), FAILED, at 2030-01-01T00:05:00.001Z
  last error  InjectedError: planned (at 2030-01-01T00:05:00.001Z)
"""
    )


LOG = """\
exit 0
--- stdout
2030-01-01T00:00:00Z      Session/bob         call touch              ok         0.0ms
2030-01-01T00:00:00Z      Session/bob         alarm set for 2030-01-01T00:05:00Z (in 5m) \
by src/main.py:13
2030-01-01T00:00:00Z      Session/bob         call boom               FAILED     0.0ms
    ValueError: no such luck
      src/main.py:32 in boom
        raise ValueError("no such luck")
2030-01-01T00:00:00Z      Session/bob         edit                    ok         from cli
2030-01-01T00:00:00Z      Session/bob         PLANNED  the next 4 deliveries fail (throw: planned)
2030-01-01T00:05:00.001Z  Session/bob         alarm (attempt 1 of 4)  FAILED     0.0ms
    InjectedError: planned (a planned fault: throw)
2030-01-01T00:05:00.001Z  Session/bob         RETRY  attempt 2 of 4 is due at \
2030-01-01T00:05:01.001Z (in 1s)
2030-01-01T00:05:01.001Z  Session/bob         alarm (attempt 2 of 4)  FAILED     0.0ms
    InjectedError: planned (a planned fault: throw)
2030-01-01T00:05:01.001Z  Session/bob         RETRY  attempt 3 of 4 is due at \
2030-01-01T00:05:02.001Z (in 1s)
2030-01-01T00:05:02.001Z  Session/bob         alarm (attempt 3 of 4)  FAILED     0.0ms
    InjectedError: planned (a planned fault: throw)
2030-01-01T00:05:02.001Z  Session/bob         RETRY  attempt 4 of 4 is due at \
2030-01-01T00:05:03.001Z (in 1s)
2030-01-01T00:05:03.001Z  Session/bob         alarm (attempt 4 of 4)  FAILED     0.0ms
    InjectedError: planned (a planned fault: throw)
2030-01-01T00:05:03.001Z  Session/bob         GAVE UP  the alarm failed 4 times and is deleted; \
nothing fires it again
2030-01-01T00:05:10Z      Session/bob         edit                    ok         from cli
2030-01-01T00:05:10Z      Session/bob         alarm set for 2030-01-01T00:05:20Z (in 10s) by cli
2030-01-01T00:05:10Z      Session/bob         edit                    ok         from cli
2030-01-01T00:05:10Z      Session/bob         alarm cleared by cli; it was due at \
2030-01-01T00:05:20Z
"""


MEMORY = {"init", "memory"}
"""Words of the lines that tell what is in memory."""


def test_log_in_words(world: str, run: Run) -> None:
    run("call", "bob", "touch")
    run("call", "bob", "boom")
    run("alarms", "fail", "bob", "--times", "4", "--error", "planned")
    run("clock", "advance", "5m10s")
    run("alarms", "set", "bob", "+10s")
    run("alarms", "clear", "bob")
    shown = run("log", "--actor", "bob").shown()
    # How often an instance is constructed, and leaves the memory, is a matter of memory.
    kept = [
        line for line in shown.splitlines(keepends=True) if not MEMORY.intersection(line.split())
    ]
    assert "".join(kept) == LOG
    last = run("log", "--actor", "bob", "--since", "5s", "--json")
    assert [entry["kind"] for entry in json.loads(last.out)] == [
        *["edit", "alarm_set", "edit", "alarm_cleared"]
    ]
    since = run("log", "--since", "2030-01-01T00:05:10Z", "--actor", "bob", "--json")
    assert since == last


def test_exported_keys_can_be_imported(world: str, run: Run, project: Path) -> None:
    run("call", "alice", "touch")
    run("storage", "put", "alice", "when", '{"$date": 0}')
    (project / "alice.json").write_text(run("storage", "export", "alice").out)
    assert run("storage", "import", "bob", "alice.json").shown() == (
        "exit 0\n--- stdout\nSession/bob now has 2 keys\n"
    )
    exported = json.loads(run("storage", "export", "bob").out)
    assert {**exported, "actor": "Session/alice"} == json.loads(
        run("storage", "export", "alice").out
    )
    assert exported["alarm_due_at_ms"] == 1_893_456_300_000


@pytest.mark.parametrize("name", ["a b", "-x", "a/b", "ü\n\t", "\x1b[2J", "'\"`$", "🦊"])
def test_names_of_any_characters(world: str, run: Run, name: str) -> None:
    """They are found again, and never reach the terminal as control characters."""
    actor = f"Session/{name}"
    assert run("call", "--json", actor, "echo", "1").out == "1\n"
    assert [found["actor"] for found in json.loads(run("actors", "list", "--json").out)] == [actor]
    shown = run("actors", "list")
    assert shown.status == 0
    assert not any(ord(char) < 32 for char in shown.out.replace("\n", ""))
    assert len(shown.out.splitlines()) == 2


def test_json_and_words_of_a_fire(world: str, run: Run) -> None:
    run("call", "alice", "touch")
    fired: Ended = run("alarms", "fire", "alice", "--json")
    assert fired.status == 0
    assert json.loads(fired.out) == {
        "actor": "Session/alice",
        "outcome": "succeeded",
        "retry_count": 0,
        "attempts": 1,
        "duration_ms": 0,
        "error": None,
        "gave_up": False,
        "next": None,
    }
    assert run("alarms", "fire", "alice").status == 2


def test_list_of_all_alarms_tells_when_they_ended_newest_first(world: str, run: Run) -> None:
    for name in ("done", "lost", "late"):
        run("alarms", "set", name, "+1m")
    run("alarms", "fail", "lost", "--times", "9")
    run("alarms", "fail", "late")
    run("clock", "advance", "62s")
    run("alarms", "set", "next", "+1h")
    run("alarms", "set", "retried", "+1s")
    run("alarms", "fail", "retried")
    run("clock", "advance", "1s")
    assert (
        run("alarms", "list", "--all").shown((r"turn \d+", "turn"))
        == """\
exit 0
--- stdout
ACTOR            DUE                       IN      STATE             NEXT    ENDED              \
       SET BY
Session/retried  2030-01-01T00:01:04.001Z  1s      retrying          2 of 4  -                  \
       cli (turn)
Session/next     2030-01-01T01:01:02Z      59m58s  waiting           1 of 4  -                  \
       cli (turn)
Session/lost     2030-01-01T00:01:00Z      -       given up after 4  -       \
2030-01-01T00:01:03.001Z  cli
Session/late     2030-01-01T00:01:00Z      -       done after 2      -       \
2030-01-01T00:01:01.001Z  cli
Session/done     2030-01-01T00:01:00Z      -       done              -       \
2030-01-01T00:01:00.001Z  cli
"""
    )


def test_an_instant_may_be_told_from_now(world: str, run: Run) -> None:
    run("clock", "advance", "1ms")
    assert run("clock", "set", "+5m").out.startswith("2030-01-01T00:05:00.001Z  frozen\n")
    run("clock", "resume")
    assert run("alarms", "set", "alice", "+1h").out.endswith(" (in 1h)\n")


def test_the_last_entries_of_the_journal(world: str, run: Run) -> None:
    for name in "abc":
        run("call", name, "touch")
    every = json.loads(run("log", "--json").out)
    assert json.loads(run("log", "--json", "-n", "2").out) == every[-2:]
    assert json.loads(run("log", "--json", "--last", "0").out) == []
    mine = [entry for entry in every if entry["actor"] == "Session/b"]
    assert json.loads(run("log", "--json", "-n1", "--actor", "b").out) == mine[-1:]


def test_a_plan_to_fail_is_taken_back(world: str, run: Run) -> None:
    run("alarms", "fail", "alice", "--times", "3")
    assert run("alarms", "fail", "alice", "--times", "0").out == (
        "no delivery to Session/alice is planned to fail any more\n"
    )
    assert "planned" not in run("actors", "show", "alice").out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
@pytest.mark.parametrize("command", [["--version"], ["explain", "E_USAGE"], ["clock", "--json"]])
def test_output_that_cannot_be_written_is_an_error_without_a_trace(
    project: Path, command: list[str]
) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "edgeemu", *command],
            cwd=project,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 2
    what, why, fix = ended.stderr.splitlines()
    assert what.startswith("error[E_OUTPUT_UNWRITABLE]: ")
    assert "No space left on device" in why
    assert fix.startswith("fix: ")
