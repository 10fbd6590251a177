"""What is kept of clock and turn numbers, and when it has to be written again."""

import pytest

from edgeemu.clock import ClockMode, ClockState, EmulatorClock, FixedRealClock
from edgeemu.core.journal import Entry, Kind
from edgeemu.emulator.position import META_POSITION, Position, next_turn_id
from edgeemu.limits import POSITION_AGE_MS, POSITION_ENTRIES_MAX
from edgeemu.stores.memory import MemoryStore
from edgeemu.stores.port import Batch
from tests.support.machines import make_machine


class Place:
    """A clock and a machine with their position, which was kept once."""

    def __init__(self, mode):
        self.real = FixedRealClock()
        self.clock = EmulatorClock(self.real)
        self.clock.set_mode(mode, 60.0)
        self.machine = make_machine()
        self.position = Position(self.clock, self.machine)
        self.store = MemoryStore()
        self.keep()

    def keep(self, *entries):
        news = self.position.news(len(entries))
        self.store.apply(Batch(entries=entries, meta=news))
        self.position.note_kept(news, len(entries))
        return news

    def restarted(self):
        """A clock made from what was kept, and the number of the next turn then."""
        kept = self.store.read_meta(META_POSITION)
        state = ClockState(
            ClockMode(kept["mode"]), kept["rate"], kept["now_ms"], kept["real_at_ms"]
        )
        return EmulatorClock(self.real, state), next_turn_id(kept, self.store)


def test_real_clock_is_found_again_from_an_older_moment():
    place = Place(ClockMode.REAL)
    place.real.shift(POSITION_AGE_MS - 1)
    assert place.keep() == {}
    assert place.restarted()[0].now_ms() == place.clock.now_ms()


def test_position_of_a_real_clock_does_not_grow_old():
    place = Place(ClockMode.REAL)
    place.real.shift(POSITION_AGE_MS)
    assert META_POSITION in place.keep()


@pytest.mark.parametrize("move", ["wall back", "move_to", "set_to", "mode"])
def test_what_moves_a_real_clock_is_kept(move):
    place = Place(ClockMode.REAL)
    now_ms = place.clock.now_ms()
    if move == "wall back":
        place.real.shift(-50)
    elif move == "mode":
        place.clock.set_mode(ClockMode.FROZEN)
    elif move == "move_to":
        place.clock.move_to(now_ms + 5)
    else:
        place.clock.set_to(now_ms - 5)
    assert META_POSITION in place.keep()
    assert place.restarted()[0].now_ms() == place.clock.now_ms()


def test_frozen_clock_is_kept_when_it_moves_and_only_then():
    place = Place(ClockMode.FROZEN)
    place.real.shift(10 * POSITION_AGE_MS)
    assert place.keep() == {}
    place.clock.move_to(place.clock.now_ms() + 1)
    assert META_POSITION in place.keep()


def test_clock_at_a_rate_is_kept_with_each_of_its_instants():
    place = Place(ClockMode.RATE)
    place.real.shift(1)
    assert META_POSITION in place.keep()


@pytest.mark.parametrize("without_turn", [0, 1, POSITION_ENTRIES_MAX])
def test_turns_are_numbered_on(without_turn):
    """Also where many entries of no turn follow, in which the turns before would be overlooked."""
    place = Place(ClockMode.REAL)
    written = 0
    for _ in range(3 * POSITION_ENTRIES_MAX):
        turn = place.machine.take_turn_id()
        told = Entry(Kind.CALL, 0, None, turn)
        written += bool(place.keep(told, *[Entry(Kind.EVICTED, 0)] * without_turn))
        assert place.restarted()[1] == turn + 1
    entries = 3 * POSITION_ENTRIES_MAX * (1 + without_turn)
    assert written <= entries // POSITION_ENTRIES_MAX
