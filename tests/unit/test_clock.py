"""The one clock: modes, rates, restarts; and the time that actor code sees."""

import time  # noqa: TID251 - what is tested is how actor code sees this module
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeemu.clock import (
    RATE_MAX,
    ActorTime,
    ClockMode,
    ClockState,
    EmulatorClock,
    FixedRealClock,
    SystemClock,
    describe_clock,
    parse_rate,
)
from edgeemu.errors import Code, EdgeemuError

T0 = 1_893_456_000_000


@pytest.fixture
def real() -> FixedRealClock:
    return FixedRealClock(T0)


def test_new_clock_is_the_wall_clock(real: FixedRealClock) -> None:
    clock = EmulatorClock(real)
    real.shift(1_500)
    assert clock.now_ms() == T0 + 1_500
    assert (clock.mode, clock.rate) == (ClockMode.REAL, 1.0)


def test_frozen_clock_stands_until_it_is_moved(real: FixedRealClock) -> None:
    clock = EmulatorClock(real)
    clock.set_mode(ClockMode.FROZEN)
    real.shift(1_000)
    assert clock.now_ms() == T0
    clock.move_to(T0 + 5)
    assert clock.now_ms() == T0 + 5
    assert clock.real_delay_ms(T0 + 6) is None
    assert clock.real_delay_ms(T0 + 5) == 0.0


def test_rate_multiplies_what_passes(real: FixedRealClock) -> None:
    clock = EmulatorClock(real)
    clock.set_mode(ClockMode.RATE, 60.0)
    real.shift(1_000)
    assert clock.now_ms() == T0 + 60_000
    assert clock.real_delay_ms(T0 + 120_000) == 1_000.0


def test_change_of_mode_does_not_move_time(real: FixedRealClock) -> None:
    clock = EmulatorClock(real)
    for mode in (ClockMode.RATE, ClockMode.FROZEN, ClockMode.REAL, ClockMode.RATE):
        before_ms = clock.now_ms()
        clock.set_mode(mode, 7.0)
        assert clock.now_ms() == before_ms
        real.shift(123)


def test_time_waits_for_a_wall_clock_that_is_stepped_back(real: FixedRealClock) -> None:
    clock = EmulatorClock(real)
    real.shift(1_000)
    assert clock.now_ms() == T0 + 1_000
    real.shift(-600)
    assert clock.now_ms() == T0 + 1_000
    real.shift(601)
    assert clock.now_ms() == T0 + 1_001


def test_move_to_goes_forward_only_and_set_to_anywhere(real: FixedRealClock) -> None:
    clock = EmulatorClock(real)
    clock.set_mode(ClockMode.FROZEN)
    clock.move_to(T0 - 1)
    assert clock.now_ms() == T0
    clock.set_to(T0 - 1)
    assert clock.now_ms() == T0 - 1


def test_step_sees_one_instant(real: FixedRealClock) -> None:
    clock = EmulatorClock(real)
    clock.hold(T0)
    real.shift(50)
    assert clock.now_ms() == T0
    clock.release()
    assert clock.now_ms() == T0 + 50


@pytest.mark.parametrize(
    ("mode", "rate", "expected_ms"),
    [
        (ClockMode.REAL, 1.0, T0 + 10_000),  # time that passed while nothing ran has passed
        (ClockMode.FROZEN, 1.0, T0),
        (ClockMode.RATE, 60.0, T0),
    ],
)
def test_restart(real: FixedRealClock, mode: ClockMode, rate: float, expected_ms: int) -> None:
    clock = EmulatorClock(real)
    clock.set_mode(mode, rate)
    state = clock.save()
    real.shift(10_000)
    again = EmulatorClock(real, state)
    assert (again.now_ms(), again.mode) == (expected_ms, mode)


def test_restart_keeps_the_offset(real: FixedRealClock) -> None:
    clock = EmulatorClock(real)
    clock.move_to(T0 + 86_400_000)
    again = EmulatorClock(real, clock.save())
    assert again.now_ms() == T0 + 86_400_000


def test_restart_with_a_wall_clock_that_went_back_does_not_go_back(real: FixedRealClock) -> None:
    state = ClockState(ClockMode.REAL, 1.0, T0 + 500, T0 + 500)
    real.shift(-10_000)
    assert EmulatorClock(real, state).now_ms() == T0 + 500


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("shift"), st.integers(-5_000, 5_000)),
            st.tuples(st.just("mode"), st.sampled_from(list(ClockMode))),
            st.tuples(st.just("move"), st.integers(-5_000, 5_000)),
            st.tuples(st.just("restart"), st.just(0)),
        ),
        max_size=30,
    )
)
def test_time_never_goes_back_by_itself(actions) -> None:
    real = FixedRealClock(T0)
    clock = EmulatorClock(real)
    latest_ms = clock.now_ms()
    for action, given_value in actions:
        if action == "shift":
            real.shift(given_value)
        elif action == "mode":
            clock.set_mode(given_value, 3.0)
        elif action == "move":
            clock.move_to(latest_ms + given_value)
        else:
            clock = EmulatorClock(real, clock.save())
        assert clock.now_ms() >= latest_ms
        latest_ms = clock.now_ms()


def test_clock_is_described(real: FixedRealClock) -> None:
    clock = EmulatorClock(real)
    assert describe_clock(clock) == {
        "now_ms": T0,
        "now": "2030-01-01T00:00:00Z",
        "mode": "real",
        "rate": 1.0,
    }


@pytest.mark.parametrize(("text", "rate"), [("60", 60.0), ("60x", 60.0), (" 0.5 ", 0.5)])
def test_rates_are_read(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "x", "fast", "0", "-1", "nan", "inf", str(RATE_MAX * 2)])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(EdgeemuError) as raised:
        parse_rate(text)
    assert raised.value.code is Code.RATE_INVALID


# --- what actor code sees ------------------------------------------------------------------------


@contextmanager
def step(actor_time: ActorTime, now_ms: int) -> Iterator[None]:
    """One step of actor code."""
    actor_time.enter(now_ms)
    try:
        yield
    finally:
        actor_time.leave()


def everything() -> list[float]:
    """Every way in which Python code reads the time, in milliseconds."""
    return [
        time.time() * 1_000,
        time.time_ns() / 1_000_000,
        time.monotonic() * 1_000,
        time.monotonic_ns() / 1_000_000,
        datetime.now(UTC).timestamp() * 1_000,  # noqa: TID251 - as actor code does
        datetime.now().timestamp() * 1_000,  # noqa: TID251 - as actor code does
        datetime.fromtimestamp(time.time(), UTC).timestamp() * 1_000,
    ]


def test_actor_code_sees_the_emulated_time_everywhere(real: FixedRealClock) -> None:
    actor_time = ActorTime(EmulatorClock(real))
    with step(actor_time, T0 + 250):
        assert actor_time.entered
        assert everything() == pytest.approx([T0 + 250] * 7)
    with step(actor_time, T0 + 86_400_250):
        assert everything() == pytest.approx([T0 + 86_400_250] * 7)
    assert not actor_time.entered


def test_tool_sees_the_real_time_outside_and_even_inside(real: FixedRealClock) -> None:
    before_ms = SystemClock().wall_ms()
    actor_time = ActorTime(EmulatorClock(real))
    monotonic = time.monotonic
    with step(actor_time, 1_000):
        assert abs(SystemClock().wall_ms() - before_ms) < 60_000
    assert abs(time.time() * 1_000 - before_ms) < 60_000
    assert time.monotonic is monotonic


def test_monotonic_that_was_imported_by_name_follows_too(real: FixedRealClock) -> None:
    actor_time = ActorTime(EmulatorClock(real))
    actor_time.patch_imports()
    try:
        imported = time.monotonic
    finally:
        actor_time.unpatch_imports()
    with step(actor_time, T0):
        assert imported() == T0 / 1_000
    assert imported() != T0 / 1_000
