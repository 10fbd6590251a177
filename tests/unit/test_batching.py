"""What ended in one breath of the loop goes to the store in few parts, and in its order."""

from hypothesis import given
from hypothesis import strategies as st

from edgeemu.core.journal import Entry, Kind
from edgeemu.core.rows import InstanceRow
from edgeemu.emulator.batching import EndedTurn, split
from edgeemu.ids import InstanceId
from edgeemu.stores.port import StoredTurn


def ended(number: int, entries_count: int, *, alone: bool = False) -> EndedTurn:
    instance = InstanceId("Session", str(number))
    return EndedTurn(StoredTurn(instance, InstanceRow(), sql=alone), number, entries_count)


def stands_alone(turn: StoredTurn) -> bool:
    return turn.sql


def entries(count: int) -> list[Entry]:
    return [Entry(Kind.CALL, number) for number in range(count)]


def test_turns_that_may_go_together_do():
    (part,) = split([ended(1, 1), ended(2, 2)], entries(3), stands_alone)
    assert [turn.turn_id for turn in part.turns] == [1, 2]
    assert len(part.entries) == 3


def test_a_turn_that_stands_alone_takes_its_entries_along():
    turns = [ended(1, 1), ended(2, 3, alone=True), ended(3, 4, alone=True), ended(4, 5)]
    parts = split(turns, entries(6), stands_alone)
    assert [[turn.turn_id for turn in part.turns] for part in parts] == [[1], [2], [3], [4]]
    assert [[entry.now_ms for entry in part.entries] for part in parts] == [
        [0],
        [1, 2],
        [3],
        [4, 5],
    ]


def test_entries_alone_and_nothing_at_all():
    (part,) = split([], entries(2), stands_alone)
    assert (list(part.turns), len(part.entries)) == ([], 2)
    assert split([], [], stands_alone) == []


def test_one_by_one_loses_no_entry():
    (part,) = split([ended(1, 1), ended(2, 2)], entries(3), stands_alone)
    singles = part.one_by_one()
    assert [len(single.turns) for single in singles] == [1, 1]
    assert [len(single.entries) for single in singles] == [3, 0]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=8), st.integers(0, 3))
def test_order_stays_and_nothing_is_lost(given_turns, later):
    count = 0
    turns = []
    for number, (alone, more) in enumerate(given_turns):
        count += more
        turns.append(ended(number, count, alone=alone))
    all_entries = entries(count + later)
    parts = split(turns, all_entries, stands_alone)
    assert [turn for part in parts for turn in part.turns] == turns
    assert [entry for part in parts for entry in part.entries] == all_entries
    seen = 0
    for part in parts:
        assert len(part.turns) < 2 or not any(turn.stored.sql for turn in part.turns)
        seen += len(part.entries)
        assert all(turn.entries_count <= seen for turn in part.turns)
