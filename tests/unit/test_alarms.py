"""What happens to an instance's one alarm: pure rules over rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeemu.core import alarms
from edgeemu.core.alarms import Moment
from edgeemu.core.journal import Kind
from edgeemu.core.profile import TELNYX
from edgeemu.core.rows import AlarmWrite, InstanceRow, PastAlarmState
from edgeemu.rng import stream

NOW = Moment(now_ms=1_000, turn_id=7, lateness_ms=1)


def armed(when_ms: int, moment: Moment = NOW, row: InstanceRow | None = None) -> InstanceRow:
    changed, _ = alarms.apply_write(row or InstanceRow(), AlarmWrite(when_ms, "a.py:1"), moment)
    return changed


def test_set_makes_a_new_generation_and_is_told() -> None:
    row, note = alarms.apply_write(InstanceRow(), AlarmWrite(5_000, "a.py:1"), NOW)
    assert row.alarm is not None
    assert (row.alarm.due_at_ms, row.alarm.fire_at_ms, row.alarm.generation) == (5_000, 5_001, 1)
    assert (row.alarm.set_at_ms, row.alarm.set_by, row.alarm.set_turn) == (1_000, "a.py:1", 7)
    assert note == (Kind.ALARM_SET, {"due_at_ms": 5_000, "set_by": "a.py:1"})


def test_set_replaces_and_says_so() -> None:
    row, note = alarms.apply_write(armed(5_000), AlarmWrite(9_000, "a.py:2"), NOW)
    assert row.alarm is not None
    assert row.alarm.generation == 2
    assert note is not None
    assert note[1]["replaced_due_at_ms"] == 5_000


def test_clear_is_told_only_where_there_was_one() -> None:
    row, note = alarms.apply_write(armed(5_000), AlarmWrite(None, "a.py:2"), NOW)
    assert row.alarm is None
    assert note == (Kind.ALARM_CLEARED, {"due_at_ms": 5_000, "set_by": "a.py:2"})
    assert alarms.apply_write(row, AlarmWrite(None), NOW) == (row, None)


def test_generation_grows_over_a_clear() -> None:
    cleared, _ = alarms.apply_write(armed(5_000), AlarmWrite(None), NOW)
    again = armed(5_000, row=cleared)
    assert again.alarm is not None
    assert again.alarm.generation == 2


@pytest.mark.parametrize(
    ("when_ms", "lateness_ms", "last_ms", "expected_ms"),
    [
        (5_000, 0, None, 5_000),
        (5_000, 1, None, 5_001),
        (5_000, 250, None, 5_250),
        (999, 0, None, 1_000),  # the past: now
        (0, 1, None, 1_001),
        (1_000, 0, 1_000, 1_001),  # never twice at one instant (U64)
        (1_000, 1, 1_000, 1_001),
        (5_000, 0, 1_000, 5_000),
        (1_500, 0, 9_000, 1_500),  # the clock was set back over that delivery
    ],
)
def test_instant_of_delivery(
    when_ms: int, lateness_ms: int, last_ms: int | None, expected_ms: int
) -> None:
    row = InstanceRow(last_delivery_at_ms=last_ms)
    moment = Moment(1_000, 1, lateness_ms)
    assert alarms.fire_at_ms(row, when_ms, moment) == expected_ms


@given(
    when_ms=st.integers(0, 10_000),
    now_ms=st.integers(0, 10_000),
    lateness_ms=st.integers(0, 100),
    ago_ms=st.integers(0, 10_000),
)
def test_delivery_is_never_early_nor_at_the_instant_of_the_one_before(
    when_ms: int, now_ms: int, lateness_ms: int, ago_ms: int
) -> None:
    row = InstanceRow(last_delivery_at_ms=now_ms - ago_ms)
    at_ms = alarms.fire_at_ms(row, when_ms, Moment(now_ms, 1, lateness_ms))
    assert at_ms >= max(when_ms, now_ms) + lateness_ms
    assert at_ms > now_ms - ago_ms
    assert at_ms <= max(when_ms, now_ms) + max(lateness_ms, 1)


def test_delivery_that_ends_well_is_remembered() -> None:
    row = armed(5_000)
    assert row.alarm is not None
    ended = alarms.end_delivered(row, row.alarm, Moment(5_001, 8, 1))
    assert ended.alarm is None
    assert ended.past_alarm is not None
    assert ended.past_alarm.state is PastAlarmState.DONE
    assert ended.past_alarm.ended_at_ms == 5_001


def test_failure_that_does_not_count_leaves_the_attempts() -> None:
    row = alarms.start_delivery(armed(5_000), 5_001)
    assert row.alarm is not None
    jitter = stream(1, "retry_jitter")
    failed, note = alarms.end_failed(
        row,
        row.alarm,
        Moment(5_001, 8, 1),
        policy=TELNYX.retry,
        counted=False,
        jitter=jitter,
    )
    assert failed.alarm is not None
    assert (failed.alarm.retry_count, failed.alarm.eligible_at_ms) == (0, 6_001)
    assert failed.alarm.generation == row.alarm.generation
    assert note is not None
    assert note[1]["counted"] is False
