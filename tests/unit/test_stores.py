"""Both stores keep the promises of the port.

Each test runs on the store in memory, on the one on disk, and on the one on disk closed and opened
again before every call, so that nothing can hide in what an open store remembers.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgeemu.core.journal import Entry, Kind, Recorded
from edgeemu.core.overlay import KeyRange
from edgeemu.core.rows import Alarm, Fault, FaultHow, InstanceRow, PastAlarm, PastAlarmState
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.stores import ordering
from edgeemu.stores.memory import MemoryStore
from edgeemu.stores.packing import JOURNAL_PRUNE_ENTRIES, prefix_end
from edgeemu.stores.port import Batch, Store, StoredTurn
from edgeemu.stores.sqlite import SqliteStore

ALICE = InstanceId("Session", "alice")
BOB = InstanceId("Session", "bob")
CART = InstanceId("Cart", "bob")

# In code point order; UTF-16 order would differ in the last three.
KEYS_IN_ORDER = [
    "",
    "\0",
    "\0a",
    " ",
    "'; DROP TABLE keys; --",
    "A",
    "a",
    "a\0",
    "a\0b",
    "a/b",
    "ab",
    "b" * 5_000,
    "\x7f",
    "é",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "\U0001f600",
    "\U0010ffff",
    "\U0010ffff\U0010ffff",
]
HALF = "half \ud800 a character"


class Reopened:
    """A store on disk that is closed and opened again before every call."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self._make = lambda: SqliteStore(folder, **options)
        self._store = self._make()

    def __getattr__(self, name: str) -> Any:
        self._store.close()
        self._store = self._make()
        return getattr(self._store, name)


def make_store(kind: str, folder: Path, **options: Any) -> Store:
    if kind == "memory":
        return MemoryStore(**options)
    return SqliteStore(folder, **options) if kind == "sqlite" else Reopened(folder, **options)


@pytest.fixture(params=["memory", "sqlite", "sqlite reopened"])
def kind(request):
    return request.param


@pytest.fixture
def store(kind, tmp_path):
    made = make_store(kind, tmp_path / "state")
    yield made
    made.close()


def alarm(fire_at_ms: int, *, eligible_at_ms: int | None = None, **fields: Any) -> Alarm:
    eligible_at_ms = fire_at_ms if eligible_at_ms is None else eligible_at_ms
    given = {"retry_count": 0, "generation": 1, "set_at_ms": 5, "set_by": None, "set_turn": None}
    return Alarm(eligible_at_ms, eligible_at_ms, fire_at_ms, **{**given, **fields})


def row(**fields: Any) -> InstanceRow:
    return InstanceRow(**{"created_at_ms": 1, **fields})


def put(store: Store, instance: InstanceId = ALICE, **puts: bytes | None) -> None:
    store.apply(Batch([StoredTurn(instance, row(), puts)]))


def keys_of(store: Store, instance: InstanceId = ALICE) -> dict[str, bytes]:
    return dict(store.read_range(instance, KeyRange()))


FULL_ROW = InstanceRow(
    created_at_ms=1,
    generation=7,
    alarm=Alarm(10, 11, 12, 2, 7, 9, "src/main.py:3", 41),
    past_alarm=PastAlarm(PastAlarmState.GIVEN_UP, 4, 7, 6, 3, "cli"),
    last_delivery_at_ms=6,
    faults=(Fault(FaultHow.THROW, "no", 2), Fault(FaultHow.CRASH_AFTER_COMMIT, "", 1)),
    last_turn={"turn": 41, "kind": "alarm", "error": {"name": "Error", "message": "über"}},
    last_error={"name": "Error", "message": "\0", "at_ms": 6, "turn": 41},
)


def test_row_of_unknown_instance(store):
    assert store.load(ALICE) == InstanceRow()
    assert store.read(ALICE, "k") is None
    assert store.read_range(ALICE, KeyRange()) == []
    assert store.measure(ALICE) == (0, 0)
    assert store.instances(limit=9) == []


def test_row_comes_back_equal_and_is_replaced_whole(store):
    store.apply(Batch([StoredTurn(ALICE, FULL_ROW)]))
    assert store.load(ALICE) == FULL_ROW
    store.apply(Batch([StoredTurn(ALICE, row(generation=8))]))
    assert store.load(ALICE) == row(generation=8)
    assert store.due(fire_by_ms=None, limit=9) == []
    assert store.ended_alarms(type_name=None, limit=9) == []


def test_row_is_a_value(store):
    last_turn: dict[str, Any] = {"error": {"name": "Error"}}
    data: dict[str, Any] = {"by": ["cli"]}
    store.apply(
        Batch([StoredTurn(ALICE, row(last_turn=last_turn))], [Entry(Kind.CALL, 1, data=data)])
    )
    last_turn["error"]["name"] = "changed"
    data["by"].append("changed")
    found = store.load(ALICE).last_turn
    assert found == {"error": {"name": "Error"}}
    found["error"]["name"] = "changed"
    store.journal(limit=1)[0].entry.data["by"].append("changed")
    assert store.load(ALICE).last_turn == {"error": {"name": "Error"}}
    assert store.journal(limit=1)[0].entry.data == {"by": ["cli"]}


def test_keys_are_put_replaced_and_deleted(store):
    put(store, a=b"1", b=b"2")
    put(store, BOB, a=b"3")
    put(store, a=b'{"x":"\xc3\xa9\x00"}', b=None, never=None)
    assert keys_of(store) == {"a": b'{"x":"\xc3\xa9\x00"}'}
    assert store.read(ALICE, "a") == b'{"x":"\xc3\xa9\x00"}'
    assert store.read(ALICE, "b") is None
    assert keys_of(store, BOB) == {"a": b"3"}


def test_clearing_comes_before_the_puts_of_its_turn(store):
    put(store, a=b"1", b=b"2")
    put(store, BOB, a=b"3")
    store.apply(Batch([StoredTurn(ALICE, row(), {"c": b"4"}, cleared=True)]))
    assert keys_of(store) == {"c": b"4"}
    assert keys_of(store, BOB) == {"a": b"3"}


def test_turns_of_one_instance_in_one_batch_follow_each_other(store):
    put(store, a=b"0", z=b"0")
    turns = [
        StoredTurn(ALICE, row(generation=1), {"a": None, "b": b"1"}),
        StoredTurn(BOB, row(generation=1), {"a": b"1"}),
        StoredTurn(ALICE, row(generation=2), {"c": b"2"}, cleared=True),
        StoredTurn(ALICE, row(generation=3), {"a": b"3", "c": None}),
        StoredTurn(BOB, row(generation=2), {"a": None}),
    ]
    store.apply(Batch(turns))
    assert keys_of(store) == {"a": b"3"}
    assert keys_of(store, BOB) == {}
    assert store.load(ALICE).generation == 3
    assert store.load(BOB).generation == 2


@pytest.mark.parametrize("bound", ["", "a", "a\0", "é", "\ud7ff", "\U0010ffff", "nothing"])
def test_ranges_are_in_code_point_order(store, bound):
    store.apply(Batch([StoredTurn(ALICE, row(), dict.fromkeys(KEYS_IN_ORDER, b"1"))]))
    for keys in (
        KeyRange(),
        KeyRange(lower=bound),
        KeyRange(upper=bound),
        KeyRange(prefix=bound),
        KeyRange(prefix=bound, lower="a\0"),
        KeyRange(prefix="a", lower="A", upper=bound, reverse=True),
        KeyRange(lower=bound, limit=2),
        KeyRange(upper=bound, limit=2, reverse=True),
        KeyRange(limit=0),
    ):
        expected = [key for key in KEYS_IN_ORDER if keys.holds(key)]
        expected = expected[::-1] if keys.reverse else expected
        found = [key for key, _ in store.read_range(ALICE, keys)]
        assert found == expected[: keys.limit], keys


def test_range_is_current_after_writes(store):
    put(store, b=b"1", d=b"1")
    assert list(keys_of(store)) == ["b", "d"]
    put(store, a=b"1", d=None, c=b"1")
    assert list(keys_of(store)) == ["a", "b", "c"]


def test_end_of_a_prefix():
    assert prefix_end("") is None
    assert prefix_end("ab") == "ac"
    assert prefix_end("a\U0010ffff") == "b"
    assert prefix_end("\U0010ffff") is None
    assert prefix_end("a\ud7ff") == "a\ue000"


def test_measure_counts_utf8_bytes(store):
    store.apply(Batch([StoredTurn(ALICE, row(), {"é\0": b"12345", "\U0001f600": b"\0" * 9})]))
    assert store.measure(ALICE) == (2, 3 + 5 + 4 + 9)


@pytest.mark.parametrize("name", [*KEYS_IN_ORDER, "n" * 100_000, "Type/with/slashes", "../.."])
def test_names_hold_any_characters(store, name):
    instance = InstanceId("Session", name)
    entry = Entry(Kind.CALL, 5, instance, 1, "http", {"name": name})
    turn = StoredTurn(instance, row(alarm=alarm(5, set_by=name)), {name: name.encode()})
    store.apply(Batch([turn], [entry]))
    assert store.load(instance) == turn.row
    assert store.read_range(instance, KeyRange()) == [(name, name.encode())]
    assert [each.instance for each in store.due(fire_by_ms=5, limit=1)] == [instance]
    assert store.instances(type_name="Session", prefix=name, limit=1) == [(instance, turn.row)]
    assert store.journal(instance=instance, limit=1) == [Recorded(1, 0, entry)]


def test_half_a_character_is_refused_and_nothing_applied(store):
    put(store, a=b"1")
    good = StoredTurn(BOB, row(), {"a": b"2"})
    bad_name = InstanceId("Session", HALF)
    entry = Entry(Kind.CALL, 5)
    for code, batch in (
        (Code.KEY_INVALID, Batch([good, StoredTurn(ALICE, row(), {HALF: b"1"})], [entry])),
        (Code.ADDRESS_INVALID, Batch([good, StoredTurn(bad_name, row())], [entry])),
        (Code.ADDRESS_INVALID, Batch([good], [entry, Entry(Kind.CALL, 5, bad_name)])),
    ):
        with pytest.raises(EdgeemuError) as caught:
            store.apply(batch)
        assert caught.value.code is code
        caught.value.as_text().encode()  # The message itself can be shown.
    assert keys_of(store) == {"a": b"1"}
    assert store.load(BOB) == InstanceRow()
    assert store.journal(limit=9) == []
    for code, ask in (
        (Code.ADDRESS_INVALID, lambda: store.load(bad_name)),
        (Code.ADDRESS_INVALID, lambda: store.read(bad_name, "a")),
        (Code.ADDRESS_INVALID, lambda: store.read_range(bad_name, KeyRange())),
        (Code.ADDRESS_INVALID, lambda: store.measure(bad_name)),
        (Code.ADDRESS_INVALID, lambda: store.journal(instance=bad_name, limit=1)),
        (Code.ADDRESS_INVALID, lambda: store.instances(prefix=HALF, limit=1)),
        (Code.ADDRESS_INVALID, lambda: store.alarms(type_name=HALF, limit=1)),
        (Code.ADDRESS_INVALID, lambda: store.ended_alarms(type_name=HALF, limit=1)),
        (Code.KEY_INVALID, lambda: store.read(ALICE, HALF)),
        (Code.KEY_INVALID, lambda: store.read_range(ALICE, KeyRange(prefix=HALF))),
        (Code.KEY_INVALID, lambda: store.read_range(ALICE, KeyRange(lower=HALF))),
        (Code.KEY_INVALID, lambda: store.read_range(ALICE, KeyRange(upper=HALF))),
    ):
        with pytest.raises(EdgeemuError) as caught:
            ask()
        assert caught.value.code is code


def test_half_a_character_in_a_message_is_written_out(store):
    whole = "half \\ud800 a character"
    error = {"name": "Error", "message": HALF, HALF: [HALF]}
    given = row(
        alarm=alarm(5, set_by=HALF), faults=(Fault(FaultHow.THROW, HALF, 1),), last_error=error
    )
    entry = Entry(Kind.CALL, 5, ALICE, 1, HALF, {"error": error})
    error_whole = {"name": "Error", "message": whole, whole: [whole]}
    entry_whole = Entry(Kind.CALL, 5, ALICE, 1, whole, {"error": error_whole})
    recorded = store.apply(Batch([StoredTurn(ALICE, given)], [entry]))
    assert recorded == [Recorded(1, 0, entry_whole)]
    assert store.journal(limit=1) == recorded
    found = store.load(ALICE)
    assert found.alarm == alarm(5, set_by=whole)
    assert found.faults == (Fault(FaultHow.THROW, whole, 1),)
    assert found.last_error == error_whole


def test_due_alarms_are_ordered_and_bounded(store):
    alarms = {
        InstanceId("B", "a"): alarm(20, eligible_at_ms=10),
        InstanceId("A", "b"): alarm(20, eligible_at_ms=15),
        InstanceId("A", "a"): alarm(20, eligible_at_ms=19),
        InstanceId("C", "a"): alarm(11, eligible_at_ms=11),
        InstanceId("C", "b"): alarm(90, eligible_at_ms=12),
    }
    store.apply(Batch([StoredTurn(key, row(alarm=value)) for key, value in alarms.items()]))

    def due(limit: int = 9, **bounds: Any) -> str:
        found = store.due(**{"fire_by_ms": None, **bounds}, limit=limit)
        assert all(each.alarm == alarms[each.instance] for each in found)
        return " ".join(map(str, (each.instance for each in found)))

    assert due() == "C/a A/a A/b B/a C/b"
    assert due(2) == "C/a A/a"
    assert due(0) == ""
    assert due(fire_by_ms=20) == "C/a A/a A/b B/a"
    assert due(fire_by_ms=19) == "C/a"
    assert due(fire_by_ms=10) == ""
    assert due(eligible_by_ms=15) == "C/a A/b B/a C/b"
    assert due(2, eligible_by_ms=15) == "C/a A/b"
    assert due(eligible_by_ms=9) == ""
    assert due(eligible_by_ms=100) == "C/a A/a A/b B/a C/b"
    assert due(fire_by_ms=20, eligible_by_ms=15) == "C/a A/b B/a"
    by_eligibility = [str(each.instance) for each in store.alarms(type_name=None, limit=9)]
    assert by_eligibility == ["B/a", "C/a", "C/b", "A/b", "A/a"]
    of_c = [str(each.instance) for each in store.alarms(type_name="C", limit=1)]
    assert of_c == ["C/a"]


def test_an_instance_has_one_pending_alarm(store):
    for pending in (alarm(10), alarm(5), alarm(5, generation=2), alarm(20, eligible_at_ms=5)):
        store.apply(Batch([StoredTurn(ALICE, row(alarm=pending))]))
        assert [each.alarm for each in store.due(fire_by_ms=None, limit=9)] == [pending]
        assert [each.alarm for each in store.alarms(type_name=None, limit=9)] == [pending]
    put(store)
    assert store.due(fire_by_ms=None, limit=9) == store.alarms(type_name=None, limit=9) == []


def test_ended_alarms_newest_first(store):
    ends = {ALICE: 5, BOB: 9, CART: 5}
    for instance, ended_at_ms in ends.items():
        past = PastAlarm(PastAlarmState.DONE, 1, 1, ended_at_ms, 1, None)
        store.apply(Batch([StoredTurn(instance, row(past_alarm=past))]))
    found = store.ended_alarms(type_name=None, limit=9)
    assert [each.instance for each in found] == [BOB, CART, ALICE]
    assert [each.past.ended_at_ms for each in found] == [9, 5, 5]
    found = store.ended_alarms(type_name="Session", limit=1)
    assert [each.instance for each in found] == [BOB]


def test_instances_by_type_and_prefix(store):
    names = ["b", "ab", "a", "a\U0010ffff", "é"]
    for type_name in ("Session", "Cart"):
        turns = [StoredTurn(InstanceId(type_name, name), row()) for name in names]
        store.apply(Batch(turns))
    store.apply(Batch([StoredTurn(InstanceId("Session", "aa"), InstanceRow())]))  # Not created.

    def found(**asked: Any) -> list[str]:
        return [str(instance) for instance, _ in store.instances(**{"limit": 99, **asked})]

    in_order = ["a", "ab", "a\U0010ffff", "b", "é"]
    expected = [f"{type_name}/{name}" for type_name in ("Cart", "Session") for name in in_order]
    assert found() == expected
    assert found(limit=2) == expected[:2]
    assert found(type_name="Session", prefix="a") == expected[5:8]
    assert found(prefix="a") == [*expected[:3], *expected[5:8]]
    assert found(type_name="Sess") == []


def test_journal_is_numbered_and_searched(store):
    entries = [
        Entry(Kind.STARTED, 10),
        Entry(Kind.CALL, 20, ALICE, 1, "http", {"outcome": "succeeded"}),
        Entry(Kind.CALL, 15, BOB, 2, "cli"),
        Entry(Kind.ALARM_SET, 30, ALICE, 3, "turn 3", {"due_at_ms": 40}),
    ]
    recorded = store.apply(Batch(entries=entries[:1], real_at_ms=7))
    recorded += store.apply(Batch(entries=entries[1:], real_at_ms=8))
    assert recorded == [
        Recorded(seq, 7 if seq == 1 else 8, entry) for seq, entry in enumerate(entries, 1)
    ]
    assert store.journal(limit=9) == recorded
    assert store.journal(limit=2) == recorded[2:]
    assert store.journal(since_seq=3, limit=9) == recorded[3:]
    assert store.journal(since_ms=20, limit=9) == [recorded[1], recorded[3]]
    assert store.journal(instance=ALICE, limit=1) == [recorded[3]]
    assert store.journal(instance=ALICE, since_seq=1, since_ms=21, limit=9) == [recorded[3]]
    assert store.journal(limit=0) == []


def test_journal_is_read_page_by_page(store):
    entries = [Entry(Kind.CALL, 10 + at % 4, (ALICE, BOB)[at % 2], at) for at in range(1, 12)]
    recorded = store.apply(Batch(entries=entries))
    for asked in ({}, {"instance": BOB}, {"since_ms": 12}, {"instance": ALICE, "since_ms": 11}):
        expected = store.journal(**asked, limit=99)
        for size in (1, 3, 99):
            found: list[Recorded] = []
            while page := store.journal(
                **asked,
                since_seq=found[-1].seq if found else 0,
                oldest_first=True,
                limit=size,
            ):
                assert len(page) <= size
                found += page
            assert found == expected
    assert store.journal(oldest_first=True, limit=2) == recorded[:2]
    assert store.journal(oldest_first=True, since_seq=4, limit=2) == recorded[4:6]
    assert store.journal(oldest_first=True, since_seq=11, limit=2) == []
    assert store.journal(oldest_first=True, since_seq=99, limit=2) == []
    assert store.journal(since_seq=99, limit=2) == []
    assert store.journal(oldest_first=True, limit=0) == []


def test_journal_keeps_the_newest(kind, tmp_path):
    store = make_store(kind, tmp_path, journal_entries_max=10)
    entries = [Entry(Kind.CLOCK, at_ms, ALICE) for at_ms in range(1, JOURNAL_PRUNE_ENTRIES)]
    store.apply(Batch(entries=entries))
    assert len(store.journal(limit=10_000)) == JOURNAL_PRUNE_ENTRIES - 1
    (recorded,) = store.apply(Batch(entries=[Entry(Kind.CLOCK, 1, ALICE)]))
    assert recorded.seq == JOURNAL_PRUNE_ENTRIES
    found = store.journal(limit=10_000)
    assert [each.seq for each in found] == list(
        range(JOURNAL_PRUNE_ENTRIES - 9, JOURNAL_PRUNE_ENTRIES + 1)
    )
    assert store.journal(instance=ALICE, limit=10_000) == found
    assert store.journal(oldest_first=True, limit=2) == found[:2]
    assert store.journal(oldest_first=True, since_seq=found[2].seq, limit=2) == found[3:5]
    store.close()


def test_meta(store):
    clock = {"mode": "frozen", "rate": 0.5, "now_ms": 2**60, "half": None}
    assert store.read_meta("clock") is None
    store.apply(Batch(meta={"clock": clock, "seed": 1}))
    store.apply(Batch(meta={"seed": None}))
    assert store.read_meta("clock") == clock
    assert store.read_meta("seed") is None


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 60)), max_size=120),
    st.none() | st.integers(-1, 61),
    st.none() | st.integers(-1, 61),
)
@example([(item > 0, abs(item)) for item in [*range(60, 0, -1), *range(-60, 0, 2)]], 20, 40)
def test_sorted_set_against_a_set(changes, lower, upper):
    model: set[int] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "RUN_ITEMS_MAX", 4)  # So that runs are cut and emptied.
        items: ordering.SortedSet[int] = ordering.SortedSet()
        for add, item in changes:
            (model.add if add else model.discard)(item)
            (items.add if add else items.discard)(item)
    expected = [
        item
        for item in sorted(model)
        if (lower is None or item >= lower) and (upper is None or item < upper)
    ]
    assert len(items) == len(model)
    assert list(items.ascend(lower, upper)) == expected
    assert list(items.descend(lower, upper)) == expected[::-1]
