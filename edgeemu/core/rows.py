"""What is kept of an instance beside its keys: one row, read when it wakes, written with each turn.

A row is a value. Rules make a new one from an old one; stores write it in the same transaction as
the keys of the turn, so that an alarm and the data it belongs to are never apart.
"""

from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace


class FaultHow(StrEnum):
    """In which way a planned fault makes a delivery fail (design section 4)."""

    THROW = "throw"
    TIMEOUT = "timeout"
    CRASH_BEFORE_COMMIT = "crash-before-commit"
    CRASH_AFTER_COMMIT = "crash-after-commit"


class Fault(Struct, frozen=True):
    """The next `times` deliveries of an instance's alarm fail.

    `throw` and `timeout` fail the delivery in place of the handler; the two crashes run the
    handler and then lose the instance, before or after its writes are committed.
    """

    how: FaultHow
    message: str
    times: int


class Alarm(Struct, frozen=True):
    """The pending alarm of an instance.

    Attributes:
        due_at_ms: the instant that was asked for; what `get_alarm` gives.
        eligible_at_ms: the due instant of the next attempt: `due_at_ms`, or that of the retry.
        fire_at_ms: when the emulator delivers it: later by the lateness, and spaced from the
            delivery before.
        retry_count: failed attempts that count, 0 or more.
        generation: tells this alarm from the one that it replaced and from its successor.
        set_at_ms: when it was set.
        set_by: `file:line` that set it, or `cli` and the like; None if not known.
        set_turn: the turn that set it.
    """

    due_at_ms: int
    eligible_at_ms: int
    fire_at_ms: int
    retry_count: int
    generation: int
    set_at_ms: int
    set_by: str | None
    set_turn: int | None


class PastAlarmState(StrEnum):
    """How an alarm ended."""

    DONE = "done"
    GIVEN_UP = "given_up"


class PastAlarm(Struct, frozen=True):
    """The last alarm of an instance that came to its end by delivery."""

    state: PastAlarmState
    due_at_ms: int
    attempts: int
    ended_at_ms: int
    set_at_ms: int
    set_by: str | None


class InstanceRow(Struct, frozen=True):
    """What is kept of an instance beside its keys.

    Attributes:
        created_at_ms: when it was first touched; None if it does not exist yet.
        generation: of the newest alarm, 0 before the first.
        alarm: the pending alarm.
        past_alarm: the last alarm that was delivered to its end or given up.
        last_delivery_at_ms: when an alarm was last delivered.
        faults: planned, in order.
        last_turn: the last turn that ended, as the journal describes it.
        last_error: the last error: `{name, message, at_ms, turn}`.
    """

    created_at_ms: int | None = None
    generation: int = 0
    alarm: Alarm | None = None
    past_alarm: PastAlarm | None = None
    last_delivery_at_ms: int | None = None
    faults: tuple[Fault, ...] = ()
    last_turn: dict[str, Any] | None = None
    last_error: dict[str, Any] | None = None


class AlarmWrite(Struct, frozen=True):
    """What a turn did to the alarm: set it (`when_ms`), or cleared it (`when_ms` is None).

    Attributes:
        set_by: `file:line`, or `cli` and the like.
        informed: whether the turn had asked for the pending alarm, or cleared it, before.
    """

    when_ms: int | None
    set_by: str | None = None
    informed: bool = False


def take_fault(row: InstanceRow) -> tuple[InstanceRow, Fault | None]:
    """The planned fault that the next delivery meets, and the row in which one less is planned."""
    if not row.faults:
        return row, None
    fault, *rest = row.faults
    if fault.times > 1:
        rest.insert(0, replace(fault, times=fault.times - 1))
    return replace(row, faults=tuple(rest)), fault
