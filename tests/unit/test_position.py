"""What is kept of clock and turn numbers, and when it has to be written again."""

import pytest

from edgeemu.clock import ClockMode, ClockState, EmulatorClock, FixedRealClock
from edgeemu.emulator.position import META_POSITION, Position
from edgeemu.limits import POSITION_AGE_MS, TURN_IDS_RESERVED
from tests.support.machines import make_machine


class Place:
    """A clock and a machine with their position, which was kept once."""

    def __init__(self, mode):
        self.real = FixedRealClock()
        self.clock = EmulatorClock(self.real)
        self.clock.set_mode(mode, 60.0)
        self.machine = make_machine()
        self.position = Position(self.clock, self.machine)
        self.keep()

    def keep(self):
        news = self.position.news()
        self.position.note_kept(news)
        return news

    def restarted(self):
        """A clock made from what was kept, and the number of the next turn then."""
        kept = self.position._kept or {}
        state = ClockState(
            ClockMode(kept["mode"]), kept["rate"], kept["now_ms"], kept["real_at_ms"]
        )
        return EmulatorClock(self.real, state), kept["turn_id"]


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


def test_no_turn_number_is_given_twice():
    place = Place(ClockMode.REAL)
    written = 0
    for _ in range(5 * TURN_IDS_RESERVED):
        given = place.machine.take_turn_id()
        written += bool(place.keep())
        assert place.restarted()[1] > given
    assert 4 <= written <= 5


def test_end_keeps_the_exact_number():
    place = Place(ClockMode.REAL)
    place.machine.take_turn_id()
    last = place.position.last()
    assert last[META_POSITION]["turn_id"] == place.machine.next_turn_id
    place.position.note_kept(last)
    assert place.position.last() == {}
