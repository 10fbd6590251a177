"""The JSON shapes that every skin shows (design section 4), from rows and the machine."""

from typing import Any

from edgeemu.core.instances import Life
from edgeemu.core.machine import Machine
from edgeemu.core.rows import Alarm, InstanceRow
from edgeemu.emulator.state_faults import AT_FAULT
from edgeemu.errors import EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.stores.port import DueAlarm, EndedAlarm, Store
from edgeemu.units import format_instant


def alarm_json(
    instance: InstanceId, alarm: Alarm, *, machine: Machine, now_ms: int
) -> dict[str, Any]:
    """One pending alarm as `alarms list --json` shows it."""
    found = machine.find(instance)
    running = found is not None and found.delivering is not None
    state = "running" if running else "retrying" if alarm.retry_count else "waiting"
    by = alarm.set_by
    if alarm.set_turn is not None:
        by = f"{by or 'unknown'} (turn {alarm.set_turn})"
    return {
        "actor": str(instance),
        "due_at_ms": alarm.due_at_ms,
        "due_at": format_instant(alarm.due_at_ms),
        "due_in_ms": alarm.eligible_at_ms - now_ms,
        "state": state,
        "attempt": alarm.retry_count,
        "attempts_max": machine.profile.retry.attempts_max,
        "next_attempt_at_ms": alarm.eligible_at_ms,
        "set_at_ms": alarm.set_at_ms,
        "set_by": by,
    }


def pending_json(found: DueAlarm, *, machine: Machine, now_ms: int) -> dict[str, Any]:
    """One pending alarm of the schedule."""
    return alarm_json(found.instance, found.alarm, machine=machine, now_ms=now_ms)


def ended_json(found: EndedAlarm, *, machine: Machine) -> dict[str, Any]:
    """One ended alarm as `alarms list --all --json` shows it."""
    past = found.past
    return {
        "actor": str(found.instance),
        "due_at_ms": past.due_at_ms,
        "due_at": format_instant(past.due_at_ms),
        "due_in_ms": None,
        "state": past.state.value,
        "attempt": past.attempts,
        "attempts_max": machine.profile.retry.attempts_max,
        "next_attempt_at_ms": None,
        "set_at_ms": past.set_at_ms,
        "set_by": past.set_by,
        "ended_at_ms": past.ended_at_ms,
    }


def life_of(machine: Machine, instance: InstanceId) -> Life:
    """Where an instance is in its life."""
    found = machine.find(instance)
    return Life.EVICTED if found is None else found.life


def kept_row(store: Store, instance: InstanceId) -> InstanceRow:
    """What is kept of an instance: as the state file has it where its own file is damaged."""
    try:
        return store.load(instance)
    except EdgeemuError as error:
        found = []
        if error.code in AT_FAULT:
            found = store.instances(type_name=instance.type, prefix=instance.name, limit=1)
        if [each for each, _ in found] != [instance]:
            raise
        return found[0][1]


def instance_json(
    instance: InstanceId,
    row: InstanceRow,
    *,
    machine: Machine,
    now_ms: int,
    store: Store,
) -> dict[str, Any]:
    """One instance as `actors show --json` shows it.

    Where its file is damaged, `state_error` says so, the sizes are None, and the rest is what the
    state file knows of it.
    """
    found = machine.find(instance)
    state = life_of(machine, instance)
    keys = size_bytes = sql_bytes = state_error = None
    try:
        store.load(instance)  # What is listed comes from the index, which is not damaged.
        keys, size_bytes = store.measure(instance)
        sql_bytes = store.measure_sql(instance)
    except EdgeemuError as error:
        if error.code not in AT_FAULT:
            raise
        state, state_error = Life.BROKEN, error.as_json()["error"]
    known = row if found is None or found.row is None else found.row
    alarm = None
    if known.alarm is not None:
        alarm = alarm_json(instance, known.alarm, machine=machine, now_ms=now_ms)
    return {
        "actor": str(instance),
        "state": state.value,
        "state_error": state_error,
        "alarm": alarm,
        "keys": keys,
        "bytes": size_bytes,
        "sql_bytes": sql_bytes,
        "sockets": 0 if found is None else len(found.sockets),
        "created_at_ms": known.created_at_ms,
        "faults": [
            {"how": fault.how.value, "error": fault.message, "times": fault.times}
            for fault in known.faults
        ],
        "last_turn": known.last_turn,
        "last_error": known.last_error,
    }
