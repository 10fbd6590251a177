"""What happens to an instance's one alarm: set, replaced, cleared, delivered, retried, given up.

Promise: an alarm that was set is delivered until it succeeds or has used up its attempts; a
replaced alarm is never delivered in place of its successor; nothing is delivered before its
instant, nor twice to one instance at one instant.
"""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from edgeemu.core.events import Ending, Failure, Outcome
from edgeemu.core.journal import Kind
from edgeemu.core.profile import RetryPolicy
from edgeemu.core.retry import next_attempt_at_ms
from edgeemu.core.rows import (
    Alarm,
    AlarmWrite,
    Fault,
    FaultHow,
    InstanceRow,
    PastAlarm,
    PastAlarmState,
)
from edgeemu.limits import DELIVERY_SPACING_MS
from edgeemu.rng import Random

Note = tuple[Kind, dict[str, Any]]
"""A journal entry in the making: its kind and its data."""


class Moment(Struct, frozen=True):
    """When and by which turn something happens to an alarm."""

    now_ms: int
    turn_id: int
    lateness_ms: int


def apply_write(
    row: InstanceRow, write: AlarmWrite, moment: Moment
) -> tuple[InstanceRow, Note | None]:
    """The row after a committed turn set or cleared the alarm.

    Emulates: section 8 (a set replaces; retries start anew, U55; a clear cancels retries, U56).
    """
    before = row.alarm
    if write.when_ms is None:
        if before is None:
            return row, None
        note = (Kind.ALARM_CLEARED, {"due_at_ms": before.due_at_ms, "set_by": write.set_by})
        return replace(row, alarm=None), note
    generation = row.generation + 1
    alarm = Alarm(
        due_at_ms=write.when_ms,
        eligible_at_ms=write.when_ms,
        fire_at_ms=fire_at_ms(row, write.when_ms, moment),
        retry_count=0,
        generation=generation,
        set_at_ms=moment.now_ms,
        set_by=write.set_by,
        set_turn=moment.turn_id,
    )
    data: dict[str, Any] = {"due_at_ms": alarm.due_at_ms, "set_by": alarm.set_by}
    if before is not None:
        data["replaced_due_at_ms"] = before.due_at_ms
    return replace(row, alarm=alarm, generation=generation), (Kind.ALARM_SET, data)


def fire_at_ms(row: InstanceRow, when_ms: int, moment: Moment) -> int:
    """When an alarm for `when_ms` is delivered: late as configured, spaced from the last delivery.

    An alarm for the past is due at once (U48): its lateness counts from the present instant only
    where that instant is its own due instant, so it never fires in the turn that set it.
    """
    return _spaced(row, max(when_ms, moment.now_ms) + moment.lateness_ms, moment.now_ms)


def _spaced(row: InstanceRow, at_ms: int, now_ms: int) -> int:
    """`at_ms`, or a little later, so that it keeps its distance from the last delivery.

    A delivery that lies ahead happened before a user set the clock back: it is no neighbour.
    """
    last_ms = row.last_delivery_at_ms
    if last_ms is None or last_ms > now_ms:
        return at_ms
    return max(at_ms, last_ms + DELIVERY_SPACING_MS)


def start_delivery(row: InstanceRow, now_ms: int) -> InstanceRow:
    """The row as the delivery starts: the time of it is known, the alarm stays until it ends."""
    return replace(row, last_delivery_at_ms=now_ms)


def end_delivered(row: InstanceRow, delivered: Alarm, moment: Moment) -> InstanceRow:
    """The row after a delivery that succeeded and left the alarm alone: it is spent."""
    return replace(row, alarm=None, past_alarm=_past(delivered, PastAlarmState.DONE, moment))


def _past(delivered: Alarm, state: PastAlarmState, moment: Moment) -> PastAlarm:
    """What is remembered of an alarm whose last delivery has ended."""
    return PastAlarm(
        state=state,
        due_at_ms=delivered.due_at_ms,
        attempts=delivered.retry_count + 1,
        ended_at_ms=moment.now_ms,
        set_at_ms=delivered.set_at_ms,
        set_by=delivered.set_by,
    )


def end_failed(
    row: InstanceRow,
    delivered: Alarm,
    moment: Moment,
    *,
    policy: RetryPolicy,
    counted: bool,
    jitter: Random,
) -> tuple[InstanceRow, Note | None]:
    """The row after a failed delivery: a later attempt, or the alarm given up.

    Emulates: section 8.1; what the turn did to the alarm was undone with the turn (U53, U54).
    """
    next_ms = next_attempt_at_ms(
        policy,
        now_ms=moment.now_ms,
        retry_count=delivered.retry_count,
        counted=counted,
        jitter=jitter,
    )
    if next_ms is None:
        past = _past(delivered, PastAlarmState.GIVEN_UP, moment)
        data = {"due_at_ms": past.due_at_ms, "attempts": past.attempts, "set_by": past.set_by}
        return replace(row, alarm=None, past_alarm=past), (Kind.ALARM_GIVEN_UP, data)
    alarm = replace(
        delivered,
        eligible_at_ms=next_ms,
        fire_at_ms=_spaced(row, next_ms, moment.now_ms),
        retry_count=delivered.retry_count + (1 if counted else 0),
    )
    data = {
        "due_at_ms": alarm.due_at_ms,
        "retry_count": alarm.retry_count,
        "attempts_max": policy.attempts_max,
        "next_attempt_at_ms": next_ms,
        "counted": counted,
    }
    return replace(row, alarm=alarm), (Kind.ALARM_RETRY, data)


def ending_in_place(fault: Fault) -> Ending | None:
    """How a delivery ends that a planned fault fails in place of the handler; None if it runs."""
    if fault.how is FaultHow.THROW:
        return Ending(Outcome.FAILED, Failure("InjectedError", fault.message))
    if fault.how is FaultHow.TIMEOUT:
        return Ending(Outcome.TIMED_OUT, Failure("ActorAlarmTimeoutError", fault.message))
    return None


def gave_up(ending: Ending, pending: Alarm | None) -> bool:
    """Whether a delivery that ended so was the last of its alarm, which is lost.

    One whose handler cleared the alarm itself, in writes that are kept, has lost nothing.
    """
    cleared = ending.commit and ending.alarm is not None
    return ending.outcome is not Outcome.SUCCEEDED and pending is None and not cleared


def after_turn(
    row: InstanceRow,
    ending: Ending,
    moment: Moment,
    *,
    delivered: Alarm | None,
    keep: bool,
    policy: RetryPolicy,
    jitter: Random,
) -> tuple[InstanceRow, Note | None]:
    """The row after a turn, as far as the alarm goes.

    Args:
        row: as the turn found it.
        ending: how the turn ended.
        moment: when and which turn.
        delivered: the alarm that the turn delivered, if it was a delivery.
        keep: whether what the turn wrote is kept.
        policy, jitter: for a delivery that failed.
    """
    note: Note | None = None
    if keep and ending.alarm is not None:
        spent = delivered is not None and ending.outcome is Outcome.SUCCEEDED
        if spent and row.alarm == delivered:  # So nothing is replaced or cleared (U51).
            row = replace(row, alarm=None)
        row, note = apply_write(row, ending.alarm, moment)
    if delivered is None:
        return row, note
    untouched = row.alarm == delivered
    if ending.outcome is Outcome.SUCCEEDED:
        done = end_delivered(row, delivered, moment)
        return (done if untouched else replace(done, alarm=row.alarm)), note
    if not untouched:
        return row, note  # What a kept write of a failed delivery set stands in its place.
    counted = ending.outcome is not Outcome.CRASHED
    return end_failed(row, delivered, moment, policy=policy, counted=counted, jitter=jitter)
