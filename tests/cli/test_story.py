"""The whole story of a session, as a new user would try it: with a server, without, and with kills.

What the commands print is the same in each world, except for what concerns memory (design D6).
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ended, Run, Server

Step = Callable[..., Ended]


def tell_story(step: Step, place: str = "src/main.py:13") -> None:
    """The commands of the story, each with what it must show.

    Args:
        step: runs one.
        place: of the line that sets the alarm.
    """

    def data(*args: str) -> object:
        ended = step(*args, "--json")
        assert ended.status == 0, ended.shown()
        return json.loads(ended.out)

    assert data("call", "Session/alice", "touch") is None
    assert data("alarms", "list") == [
        {
            "actor": "Session/alice",
            "due_at_ms": 1_893_456_300_000,
            "due_at": "2030-01-01T00:05:00Z",
            "due_in_ms": 300_000,
            "state": "waiting",
            "attempt": 0,
            "attempts_max": 4,
            "next_attempt_at_ms": 1_893_456_300_000,
            "set_at_ms": 1_893_456_000_000,
            "set_by": f"{place} (turn 1)",
        }
    ]
    assert data("clock", "advance", "4m") == moved("2030-01-01T00:04:00Z", 240_000)
    assert data("clock", "advance", "1m") == moved(
        "2030-01-01T00:05:00.001Z", 60_001, deliveries=1, succeeded=1
    )
    assert data("storage", "list", "Session/alice") == {}

    assert data("call", "Session/bob", "touch") is None
    evicted = data("evict", "Session/bob")
    assert evicted in ({"evicted": ["Session/bob"]}, {"evicted": []})
    planned = data("alarms", "fail", "Session/bob", "--times", "9")
    assert planned == {
        "actor": "Session/bob",
        "how": "throw",
        "times": 9,
        "error": "injected by `edgeemu alarms fail`",
    }
    ended = data("clock", "advance", "10m")
    assert ended == moved("2030-01-01T00:15:00.001Z", 600_000, deliveries=4, failed=4, gave_up=1)
    assert data("alarms", "list") == []
    assert step("alarms", "why", "Session/bob").shown() == WHY.replace("PLACE", place)


def moved(now: str, by_ms: int, **counts: int) -> dict[str, object]:
    """What a move of the frozen clock answers."""
    from edgeemu.units import parse_instant

    now_ms = parse_instant(now)
    tally = {"deliveries": 0, "succeeded": 0, "failed": 0, "gave_up": 0, **counts}
    mode = {"mode": "frozen", "rate": 0.0}
    return {"now_ms": now_ms, "now": now, **mode, "from_ms": now_ms - by_ms, **tally}


WHY = """\
exit 0
--- stdout
2030-01-01T00:05:00.001Z  set for 2030-01-01T00:10:00.001Z by PLACE (turn 5)
2030-01-01T00:05:00.001Z  planned to fail: 9 times, throw
2030-01-01T00:10:00.002Z  delivered, attempt 1, 1ms after it was due: failed, \
InjectedError: injected by `edgeemu alarms fail` (a planned fault: throw)
2030-01-01T00:10:00.002Z  to be delivered again at 2030-01-01T00:10:01.002Z
2030-01-01T00:10:01.002Z  delivered, attempt 2, 0s after it was due: failed, \
InjectedError: injected by `edgeemu alarms fail` (a planned fault: throw)
2030-01-01T00:10:01.002Z  to be delivered again at 2030-01-01T00:10:02.002Z
2030-01-01T00:10:02.002Z  delivered, attempt 3, 0s after it was due: failed, \
InjectedError: injected by `edgeemu alarms fail` (a planned fault: throw)
2030-01-01T00:10:02.002Z  to be delivered again at 2030-01-01T00:10:03.002Z
2030-01-01T00:10:03.002Z  delivered, attempt 4, 0s after it was due: failed, \
InjectedError: injected by `edgeemu alarms fail` (a planned fault: throw)
2030-01-01T00:10:03.002Z  given up and deleted after 4 failed attempts; \
on the platform nothing tells you
Session/bob has no alarm: the one due at 2030-01-01T00:10:00.001Z failed 4 times \
and was given up at 2030-01-01T00:10:03.002Z
"""


def test_without_a_server(project: Path, run: Run) -> None:
    tell_story(run)


@pytest.mark.slow
def test_with_a_server(server: Server, run: Run) -> None:
    tell_story(run)
    assert server.stop() == 0


@pytest.mark.slow
def test_a_kill_between_any_two_commands_loses_nothing(project: Path, run: Run) -> None:
    server = Server(project, start=False)
    turn = iter(range(100))

    def step(*args: str) -> Ended:
        if next(turn) % 2:  # What a server left behind is gone on with without one, and back.
            return run(*args)
        server.start()
        try:
            return run(*args)
        finally:
            server.kill()
            server.said = ""

    tell_story(step)


@pytest.mark.slow
def test_a_kill_between_the_steps_of_a_retry_keeps_the_counter(project: Path, run: Run) -> None:
    server = Server(project)
    run("call", "Session/bob", "touch")
    run("alarms", "fail", "Session/bob", "--times", "9")
    states = []
    for _ in range(4):
        assert run("clock", "next", "--json").status == 0
        states += [
            (alarm["state"], alarm["attempt"])
            for alarm in json.loads(run("alarms", "list", "--all", "--json").out)
        ]
        server.kill()
        server.said = ""
        server.start()
    assert states == [("retrying", 1), ("retrying", 2), ("retrying", 3), ("given_up", 4)]
    server.stop()
