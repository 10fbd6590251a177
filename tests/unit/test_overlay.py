"""What a turn has written so far: it reads as if it were stored, and nothing is, yet."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeemu.core.overlay import KeyRange, TurnWrites

STORED = {"a": b"1", "b": b"2", "c": b"3", "d": b"4"}


def read_range(stored: Mapping[str, bytes], keys: KeyRange) -> list[tuple[str, bytes]]:
    """What a store gives."""
    found = sorted((key, data) for key, data in stored.items() if keys.holds(key))
    if keys.reverse:
        found.reverse()
    return found if keys.limit is None else found[: keys.limit]


class Turn:
    """Writes over `STORED`."""

    def __init__(self, stored: Mapping[str, bytes] = STORED) -> None:
        self.stored = stored
        self.writes = TurnWrites()

    def get(self, key: str) -> bytes | None:
        return self.writes.get(key, self.stored.get)

    def delete(self, key: str) -> bool:
        return self.writes.delete(key, self.stored.get)

    def list(self, keys: KeyRange) -> list[tuple[str, bytes]]:
        return self.writes.list(keys, lambda wanted: read_range(self.stored, wanted))


def test_turn_that_wrote_nothing_reads_the_store() -> None:
    turn = Turn()
    assert not turn.writes.any
    assert (turn.get("a"), turn.get("z")) == (b"1", None)
    assert turn.list(KeyRange()) == sorted(STORED.items())


def test_writes_are_read_back() -> None:
    turn = Turn()
    turn.writes.put("a", b"new")
    assert turn.get("a") == b"new"
    assert turn.writes.any


def test_delete_says_whether_the_key_was_there() -> None:
    turn = Turn()
    assert [turn.delete("a"), turn.delete("a"), turn.delete("z")] == [True, False, False]
    assert turn.get("a") is None
    assert turn.writes.puts == {"a": None}


def test_deleting_a_key_of_the_turn_itself() -> None:
    turn = Turn()
    turn.writes.put("new", b"1")
    assert turn.delete("new")
    assert not turn.delete("new")


def test_clear_hides_the_store_and_keeps_what_is_put_afterwards() -> None:
    turn = Turn()
    turn.writes.put("a", b"new")
    turn.writes.clear()
    assert turn.list(KeyRange()) == []
    assert not turn.delete("b")
    turn.writes.put("b", b"after")
    assert turn.list(KeyRange()) == [("b", b"after")]
    assert turn.delete("b")
    assert turn.writes.puts == {}
    assert turn.writes.cleared


@pytest.mark.parametrize("reverse", [False, True])
def test_limit_counts_what_is_left_after_deletions(reverse: bool) -> None:
    turn = Turn()
    turn.delete("a")
    turn.delete("d")
    turn.writes.put("bb", b"5")
    keys = [key for key, _ in turn.list(KeyRange(reverse=reverse, limit=2))]
    assert keys == (["c", "bb"] if reverse else ["b", "bb"])


def test_bounds_are_lower_inclusive_and_upper_exclusive() -> None:
    assert [key for key in "abcde" if KeyRange("b", "d").holds(key)] == ["b", "c"]
    assert KeyRange(prefix="ab").holds("abc")
    assert not KeyRange(prefix="ab").holds("b")


KEYS = st.text("abz\U0001f600\ue000", min_size=1, max_size=3)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS),
        st.tuples(st.just("delete"), KEYS),
        st.tuples(st.just("clear"), st.just("")),
    ),
    max_size=12,
)


@given(
    stored=st.dictionaries(KEYS, st.binary(max_size=2), max_size=6),
    actions=ACTIONS,
    lower=st.none() | KEYS,
    upper=st.none() | KEYS,
    prefix=st.just("") | KEYS,
    reverse=st.booleans(),
    limit=st.none() | st.integers(1, 5),
)
def test_overlay_is_a_dictionary(stored, actions, lower, upper, prefix, reverse, limit) -> None:
    turn, model = Turn(stored), dict(stored)
    for number, (action, key) in enumerate(actions):
        data = str(number).encode()
        if action == "put":
            turn.writes.put(key, data)
            model[key] = data
        elif action == "delete":
            assert turn.delete(key) == (model.pop(key, None) is not None)
        else:
            turn.writes.clear()
            model.clear()
    keys = KeyRange(lower, upper, prefix, reverse, limit)
    assert turn.list(keys) == read_range(model, keys)
    assert all(turn.get(key) == model.get(key) for key in {*stored, *model})
