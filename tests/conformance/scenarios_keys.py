"""Rows of section 6 that no numbered case has: refused keys, lists inside a turn, whole turns."""

from tests.conformance.scenario import (
    NOTHING,
    Scenario,
    advance,
    alarm,
    call,
    evict,
    journal,
    keys,
    put,
)


def _keys(case: str, title: str, source: str, *steps, **more) -> Scenario:
    source = f"spec/telnyx-actors.md {source}"
    return Scenario(case, title, source, "keys", steps, types=("A", "B"), **more)


SCENARIOS = [
    _keys(
        "S6 reserved",
        "keys of the runtime: writes are refused by name, reads find nothing",
        "section 6, U23",
        call("A/x", "reserved", gives=[True, True, "missing", [], True]),
        alarm("A/x", 60_000),
    ),
    _keys(
        "S6 no keys",
        "what is empty or no text is no key",
        "section 6, U24",
        call("A/x", "no_keys", gives=12),
        keys("A/x", {}),
    ),
    _keys(
        "S6 private",
        "nobody else sees a key: not another name, not the same name of another type",
        "section 6",
        call("A/x", "fill", ["k"]),
        call("A/y", "get", "k", gives="missing"),
        call("B/x", "get", "k", gives="missing"),
        call("B/x", "fill", ["k", "l"]),
        keys("A/x", {"k": "k"}),
        keys("B/x", {"k": "k", "l": "l"}),
    ),
    _keys(
        "S6 nothing preloaded",
        "each get reads when it is asked: an edit from outside is seen by the next turn",
        "section 6",
        call("A/x", "get", "k", gives="missing"),
        put("A/x", "k", 1),
        call("A/x", "get", "k", gives=1),
    ),
    _keys(
        "S6.2 merged",
        "a list in the middle of a turn shows what the turn wrote and deleted, in order",
        "section 6.2, section 6",
        call("A/x", "fill", ["a", "c", "d"]),
        call(
            "A/x",
            "merged",
            gives=[[["b", "new"], ["c", "c"], ["d", "changed"]], ["d", "c"], ["z"]],
        ),
        keys("A/x", {"z": 1}),
    ),
    _keys(
        "S6.2 pages",
        "whoever wants more than 128 keys asks again behind the last one seen",
        "section 6.2",
        call("A/x", "fill", [f"k{number:03d}" for number in range(300)]),
        call("A/x", "count_pages", gives=[128, 128, 44]),
    ),
    _keys(
        "C05",
        "a throw undoes all of the turn: keys, deletions, deleteAll and the alarm",
        "section 6.1, section 8.1",
        call("A/x", "fill", ["a", "b"]),
        call("A/x", "everything_then_throw", fails="ActorMethodError", says="too late"),
        keys("A/x", {"a": "a", "b": "b"}),
        alarm("A/x", None),
        call("A/x", "arm", 10_000, gives=NOTHING),
        call("A/x", "clear_alarm_then_throw", fails="ActorMethodError"),
        call("A/x", "everything_then_throw", fails="ActorMethodError"),
        alarm("A/x", 10_000),
    ),
    _keys(
        "C07",
        "a failing write that was not awaited: the caller is told why, and nothing is kept",
        "section 6.1, U29",
        call("A/x", "careless", fails="ActorOutputGateError", says="function"),
        keys("A/x", {}),
        alarm("A/x", None),
        evict("A/x", crash=True),
        keys("A/x", {}),
    ),
    _keys(
        "C07 alarm",
        "a failing write that a handler did not await is a failed delivery",
        "section 6.1, section 8.1, U29",
        call("A/x", "arm", 10_000),
        advance("10s", deliveries=1, failed=1),
        keys("A/x", {}),
        alarm("A/x", 10_000, attempt=1),
        put("A/x", "careful", True),
        advance("1s", deliveries=1, succeeded=1),
        journal("alarm_retry", 1),
    ),
    _keys(
        "C08 all",
        "any failing write that is awaited and caught leaves the turn as it is",
        "section 6.1, U28",
        call("A/x", "forgives", gives=["refused"] * 4),
        keys("A/x", {"k": 1}),
        alarm("A/x", None),
    ),
]
