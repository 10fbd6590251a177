"""Timers on the virtual clock: in order of instant, then of their making."""

from functools import partial

from edgeemu.core.timers import CANCELLED_KEPT_MAX, Timers


def test_due_timers_come_in_order_of_instant_and_then_of_making() -> None:
    fired: list[str] = []
    timers = Timers()
    for at_ms, name in [(20, "late"), (10, "b"), (10, "a"), (5, "early")]:
        timers.add(at_ms, partial(fired.append, name))
    for timer in timers.take_due(10):
        timer.fire()
    assert fired == ["early", "b", "a"]
    assert timers.next_at_ms() == 20


def test_nothing_is_due_before_its_instant() -> None:
    timers = Timers()
    timers.add(10, lambda: None)
    assert timers.take_due(9) == []
    assert len(timers.take_due(10)) == 1
    assert timers.take_due(10) == []
    assert timers.next_at_ms() is None


def test_cancelled_timers_are_gone() -> None:
    timers = Timers()
    first, second = timers.add(10, lambda: None), timers.add(20, lambda: None)
    first.cancel()
    assert timers.next_at_ms() == 20
    assert timers.take_due(30) == [second]
    second.cancel()


def test_only_a_new_first_timer_is_told() -> None:
    told: list[int] = []
    timers = Timers(lambda: told.append(1))
    timers.add(20, lambda: None)
    timers.add(30, lambda: None)
    timers.add(10, lambda: None)
    assert len(told) == 2


def test_cancelled_timers_do_not_pile_up_while_time_stands_still() -> None:
    timers = Timers()
    waiting = timers.add(1, lambda: None)
    for at_ms in range(10_000):
        timers.add(at_ms + 2, lambda: None).cancel()
    assert len(timers._heap) <= 2 * CANCELLED_KEPT_MAX
    assert timers.take_due(20_000) == [waiting]
