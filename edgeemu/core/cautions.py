"""What is risky about a turn that ended well or badly: warnings that the core decides.

Promise: nothing here changes what a turn does. Where a rule cannot tell a mistake from a habit that
works, it is silent.
"""

from collections import OrderedDict
from collections.abc import Mapping

from edgeemu.core import alarms
from edgeemu.core.events import Ending, Outcome, Turn, TurnKind
from edgeemu.core.instances import Instance
from edgeemu.core.rows import Alarm, InstanceRow, PastAlarmState
from edgeemu.core.warnings import Warn
from edgeemu.ids import InstanceId
from edgeemu.limits import ALARM_WRITERS_REMEMBERED_MAX, BUDGET_NEAR_PERCENT
from edgeemu.units import format_duration, format_instant

_CODE_TURNS = (TurnKind.INIT, TurnKind.CALL, TurnKind.FETCH)
"""Kinds of turns in which an alarm is set anew, rather than again."""


class Cautions:
    """Looks at each turn as it ends.

    Args:
        budgets_ms: of each kind of turn, in virtual ms; None for no budget.
    """

    def __init__(self, budgets_ms: Mapping[TurnKind, int | None]) -> None:
        self._budgets_ms = budgets_ms
        self._set_by_code: OrderedDict[InstanceId, int] = OrderedDict()
        """The turn that set the alarm of an instance, where a line of the present code did and it
        was no delivery: those are meant to be replaced."""

    def forget_code(self) -> None:
        """New code is in place: the lines that set the alarms may be others now."""
        self._set_by_code.clear()

    def after_turn(
        self, instance: Instance, turn: Turn, after: InstanceRow, *, keep: bool
    ) -> list[Warn]:
        """What to warn of.

        Args:
            instance: as the turn leaves it: `row` is still the one that the turn found.
            turn: that ended.
            after: the row that the turn leaves.
            keep: whether what the turn wrote is kept.
        """
        ending = instance.ending
        if ending is None or turn.kind is TurnKind.EDIT:
            return []
        found: list[Warn] = []
        if ending.outcome is Outcome.SUCCEEDED:
            if instance.ended_at_ms > instance.started_at_ms:
                found += self.near_budget(turn, instance.ended_at_ms - instance.started_at_ms)
        elif turn.kind is TurnKind.ALARM:
            _look_at_failure(instance, turn, ending, after, keep, found)
        if keep and ending.alarm is not None:
            self._look_at_writers(instance, turn, ending, after, found)
        if keep and ending.left_alarm_at is not None and after.alarm is not None:
            due = format_instant(after.alarm.due_at_ms)
            message = (
                f"{turn.instance} deleted its keys and still has an alarm, due at {due}, that will "
                "run against empty storage; delete the alarm before the keys"
            )
            where = ending.left_alarm_at
            found.append(_warn("W_DELETE_ALL_ALARM", message, where, turn))
        return found

    def near_budget(self, turn: Turn, took_ms: int) -> list[Warn]:
        """What to warn of after a turn that ended well within `took_ms` virtual ms."""
        what = f"{turn.method or turn.kind.value} of {turn.instance}"
        text = near_budget_text(what, took_ms, self._budgets_ms.get(turn.kind))
        return [] if text is None else [_warn("W_BUDGET_NEAR", text, None, turn)]

    def _look_at_writers(
        self, instance: Instance, turn: Turn, ending: Ending, after: InstanceRow, found: list[Warn]
    ) -> None:
        write, before = ending.alarm, instance.stored.alarm
        if write is None or write.when_ms is None or write.set_by is None:
            self._set_by_code.pop(turn.instance, None)
            return
        armed = self._set_by_code.pop(turn.instance, None)
        if turn.kind in _CODE_TURNS:
            waits = before is not None and armed == before.set_turn
            same = before is not None and write.when_ms == before.due_at_ms  # No timer is lost.
            if before is not None and waits and not write.informed and not same:
                found.extend(_two_writers(turn, before, write.set_by, write.when_ms))
            self._set_by_code[turn.instance] = turn.id
            if len(self._set_by_code) > ALARM_WRITERS_REMEMBERED_MAX:
                self._set_by_code.popitem(last=False)


def near_budget_text(what: str, took_ms: int, budget_ms: int | None) -> str | None:
    """What to say of work that nearly took too long; None if it did not.

    Args:
        what: the work, in words.
        took_ms: how long it took, in virtual ms.
        budget_ms: how long it may take; None for no budget.
    """
    if budget_ms is None or took_ms * 100 <= budget_ms * BUDGET_NEAR_PERCENT:
        return None
    return (
        f"{what} took {format_duration(took_ms)} of the {format_duration(budget_ms)} that it may: "
        "a little more, and it fails; do less at once, or set an alarm for the rest"
    )


def _two_writers(turn: Turn, before: Alarm, set_by: str, when_ms: int) -> list[Warn]:
    if before.set_by == set_by:
        return []
    message = (
        f"{turn.instance} had an alarm for {format_instant(before.due_at_ms)}, set by "
        f"{before.set_by}, and {set_by} replaced it by one for {format_instant(when_ms)}: an actor "
        "has one alarm; keep the times of several in storage and set the alarm for the earliest"
    )
    return [_warn("W_ALARM_TWO_WRITERS", message, set_by, turn)]


def _look_at_failure(
    instance: Instance,
    turn: Turn,
    ending: Ending,
    after: InstanceRow,
    keep: bool,
    found: list[Warn],
) -> None:
    """A delivery failed: what of it is undone, and whether it was the last.

    Whoever planned a fault, or dropped the instance in the middle, knows why it failed.
    """
    if instance.fault is not None or ending.outcome is Outcome.CRASHED:
        return
    failure = ending.failure
    error = "it failed" if failure is None else f"{failure.name}: {failure.message}"
    write = ending.alarm
    if not keep and write is not None and write.when_ms is not None and write.set_by is not None:
        raised = f" at {failure.where}" if failure is not None and failure.where else ""
        message = (
            f"the alarm handler of {turn.instance} set the alarm for "
            f"{format_instant(write.when_ms)} and then failed{raised} ({error}), which undoes what "
            "it set; catch the error, keep it in storage, set the alarm, and return"
        )
        found.append(_warn("W_REARM_THEN_RAISE", message, write.set_by, turn))
    past, delivered = after.past_alarm, instance.delivering
    lost = alarms.gave_up(ending, after.alarm) and delivered is not None
    if lost and past is not None and past.state is PastAlarmState.GIVEN_UP:
        place = past.set_by if past.set_by is not None and ":" in past.set_by else None
        set_by = f", set by {past.set_by}," if past.set_by else ""
        message = (
            f"the alarm of {turn.instance}{set_by} failed {past.attempts} times and is deleted; "
            f"the last error was {error}; a handler that has to succeed catches its errors and "
            "sets the alarm again"
        )
        found.append(_warn("W_ALARM_GIVEN_UP", message, place, turn))


def _warn(code: str, message: str, where: str | None, turn: Turn) -> Warn:
    return Warn(code, message, where, turn.instance, turn.id, turn.method or turn.kind.value)


def call_cycle_text(cycle: str) -> str:
    """What to say of a call that leads back to an instance whose turn made it (U17)."""
    return (
        f"a call leads back to where it began: {cycle}; it gets its turn when the outermost call "
        "is over; code that awaits it until then waits in vain, to its own timeout or its budget"
    )
