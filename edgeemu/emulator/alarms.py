"""The alarm control of the facade: list, fire, fail, set, clear, history, why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from edgeemu.core.events import TurnKind
from edgeemu.core.journal import Entry, Kind, Recorded
from edgeemu.core.rows import AlarmWrite, Fault, FaultHow, InstanceRow
from edgeemu.core.why import HISTORY_KINDS, explain
from edgeemu.emulator import problems, views
from edgeemu.emulator.paging import read_journal, whole
from edgeemu.emulator.requests import Edit
from edgeemu.emulator.turns import TurnRequests
from edgeemu.errors import EdgeemuError
from edgeemu.ids import InstanceId, unknown_type
from edgeemu.limits import LIST_PAGE_MAX
from edgeemu.stores.port import Store

Documents = list[dict[str, Any]]
"""JSON objects, in order."""

FAULT_MESSAGE_DEFAULT = "injected by `edgeemu alarms fail`"
"""The message of a planned fault that was given none."""


class AlarmControl:
    """Looks at and moves the alarms of an emulator."""

    def __init__(
        self, turns: TurnRequests, store: Store, types: Callable[[], Sequence[str]]
    ) -> None:
        self._turns = turns
        self._shell = turns.shell
        self._store = store
        self._types = types

    def list(self, *, type_name: str | None = None, ended: bool = False) -> Documents:
        """Pending alarms, soonest first; with `ended` also the last done or given-up ones.

        Raises:
            EdgeemuError: `E_ACTOR_UNKNOWN` for a type that is not declared, `E_LIST_TOO_LONG`.
        """
        if type_name is not None and type_name not in self._types():
            raise unknown_type(type_name, self._types())
        self._shell.flush()
        store, machine = self._store, self._shell.machine
        now_ms = self._shell.clock.now_ms()
        pending = whole(store.alarms(type_name=type_name, limit=LIST_PAGE_MAX + 1), "alarms")
        shown = [views.pending_json(found, machine=machine, now_ms=now_ms) for found in pending]
        if ended:
            past = store.ended_alarms(type_name=type_name, limit=LIST_PAGE_MAX + 1)
            shown += [
                views.ended_json(found, machine=machine) for found in whole(past, "ended alarms")
            ]
        return shown

    def of(self, instance: InstanceId) -> dict[str, Any] | None:
        """The pending alarm of one instance, or None."""
        row = self._row(instance)
        if row.alarm is None:
            return None
        return views.alarm_json(
            instance,
            row.alarm,
            machine=self._shell.machine,
            now_ms=self._shell.clock.now_ms(),
        )

    async def fire(self, instance: InstanceId, *, cause: str = "cli") -> dict[str, Any]:
        """Deliver the pending alarm now, by the real path; the clock stays.

        Raises:
            EdgeemuError: `E_ALARM_NONE` when there is none.
        """
        future = self._shell.request(instance, TurnKind.ALARM, cause=cause)
        reply = await self._turns.wait_reply(future)
        failed = self._turns.take_failed_assertion()
        if failed is not None:
            raise failed
        ending, alarm = reply.ending, reply.alarm
        if alarm is None and isinstance(reply.error, EdgeemuError):  # The store refused.
            raise reply.error
        if ending is not None and ending.failure is not None and alarm is None:
            raise problems.actor_failed(instance, "the alarm", ending.failure)
        if ending is None or alarm is None:
            raise problems.no_alarm(instance, reply.refused or "no alarm is set")
        failure = ending.failure
        return {
            "actor": str(instance),
            "outcome": ending.outcome.value,
            "retry_count": alarm.retry_count,
            "attempts": alarm.retry_count + 1,
            "duration_ms": alarm.ended_at_ms - alarm.started_at_ms,
            "error": None
            if failure is None
            else {"name": failure.name, "message": failure.message},
            "gave_up": alarm.gave_up,
            "next": None
            if alarm.next is None
            else {"due_at_ms": alarm.next.eligible_at_ms, "attempt": alarm.next.retry_count},
        }

    async def fail(
        self,
        instance: InstanceId,
        *,
        times: int = 1,
        message: str = FAULT_MESSAGE_DEFAULT,
        how: FaultHow = FaultHow.THROW,
        cause: str = "cli",
    ) -> dict[str, Any]:
        """Make the next `times` deliveries fail, after those that are planned; 0 takes all back.

        Raises:
            EdgeemuError: `E_NUMBER_INVALID` for a count below 0.
        """
        problems.check_times(times)
        fault = Fault(how, message, times)

        def plan(planned: tuple[Fault, ...]) -> tuple[Fault, ...]:
            return (*planned, fault) if times else ()

        await self._turns.edit(instance, Edit(plan=plan), cause)
        data = {"how": how.value, "times": times, "message": message}
        now_ms = self._shell.clock.now_ms()
        self._shell.record(Entry(Kind.FAULT_PLANNED, now_ms, instance, cause=cause, data=data))
        self._shell.flush()  # Before the answer, like the change itself.
        return {"actor": str(instance), "how": how.value, "times": times, "error": message}

    async def set(
        self, instance: InstanceId, when_ms: int, *, cause: str = "cli"
    ) -> dict[str, Any] | None:
        """Set the alarm from outside; the instance is not woken."""
        await self._turns.edit(instance, Edit(alarm=AlarmWrite(when_ms, cause)), cause)
        return self.of(instance)

    async def clear(self, instance: InstanceId, *, cause: str = "cli") -> dict[str, Any]:
        """Clear the alarm from outside; whether there was one."""
        had = self.of(instance) is not None
        await self._turns.edit(instance, Edit(alarm=AlarmWrite(None, cause)), cause)
        return {"actor": str(instance), "cleared": had}

    def history(self, instance: InstanceId) -> Documents:
        """Each set, replacement, delivery, retry and give-up, oldest first.

        Where the journal no longer reaches back to the first turn of the instance, the first entry
        is of the kind `gap`.
        """
        return [item.as_json() for item in self._history(instance, self._row(instance))]

    def why(self, instance: InstanceId) -> Sequence[str]:
        """In words: what became of the alarm, and why it did or did not fire."""
        row = self._row(instance)
        now_ms = self._shell.clock.now_ms()
        return explain(instance, row, self._history(instance, row), now_ms)

    def _row(self, instance: InstanceId) -> InstanceRow:
        self._shell.flush()
        return self._store.load(instance)

    def _history(self, instance: InstanceId, row: InstanceRow) -> Sequence[Recorded]:
        """What the journal still has of the alarms of an instance whose row was read just now."""
        found = read_journal(self._store, instance=instance)
        history = [item for item in found if item.entry.kind in HISTORY_KINDS]
        if history and history[0].entry.kind is Kind.GAP:
            created_at_ms = row.created_at_ms
            if created_at_ms is None or history[0].entry.now_ms < created_at_ms:
                return history[1:]  # The journal reaches back to before there was the instance.
        return history
