"""How a turn is told: its entry in the journal, and what the row says of the last one."""

from typing import Any

from msgspec.structs import replace

from edgeemu.core.events import Ending, Outcome, Turn, TurnKind
from edgeemu.core.instances import Instance
from edgeemu.core.journal import Entry, Kind
from edgeemu.core.profile import Profile
from edgeemu.core.rows import InstanceRow


def turn_entry(
    instance: Instance, turn: Turn, ending: Ending, now_ms: int, profile: Profile
) -> Entry:
    """The entry of a turn that ended at `now_ms`.

    Keys that begin with `real_` tell of real time: they differ between runs of one seed.
    """
    data: dict[str, Any] = {
        "outcome": ending.outcome.value,
        "started_at_ms": instance.started_at_ms,
        "duration_ms": now_ms - instance.started_at_ms,
        "real_took_us": ending.took_ns // 1_000,
    }
    if turn.method is not None:
        data["method"] = turn.method
    if turn.socket is not None:
        data["socket"] = turn.socket.socket
    delivered = instance.delivering
    if delivered is not None:
        data["due_at_ms"] = delivered.due_at_ms
        data["retry_count"] = delivered.retry_count
        data["attempts_max"] = profile.retry.attempts_max
        data["late_ms"] = instance.started_at_ms - delivered.eligible_at_ms
    failure = ending.failure
    if failure is not None:
        data["error"] = {"name": failure.name, "message": failure.message}
        if failure.where:
            data["error"]["where"] = failure.where
        if failure.trace:
            data["error"]["trace"] = failure.trace
    if ending.commit and ending.outcome is Outcome.FAILED:
        data["writes_kept"] = True
    if instance.fault is not None:
        data["fault"] = instance.fault.how.value
    return Entry(Kind(turn.kind.value), now_ms, instance.id, turn.id, turn.cause, data)


def stale_entry(turn: Turn, now_ms: int) -> Entry:
    """The entry of an alarm turn whose alarm was replaced or cleared before it came."""
    data = {"generation": turn.generation}
    return Entry(Kind.ALARM_STALE, now_ms, turn.instance, turn.id, turn.cause, data)


def with_last_turn(row: InstanceRow, turn: Turn, ending: Ending, entry: Entry) -> InstanceRow:
    """The row that remembers the turn as its last one; a change from outside is none."""
    if turn.kind is TurnKind.EDIT:
        return row
    data = {key: value for key, value in entry.data.items() if not key.startswith("real_")}
    last = {"turn": turn.id, "kind": entry.kind.value, "at_ms": entry.now_ms, **data}
    failure = ending.failure
    if failure is None:
        return replace(row, last_turn=last)
    error = {
        "name": failure.name,
        "message": failure.message,
        "at_ms": entry.now_ms,
        "turn": turn.id,
    }
    return replace(row, last_turn=last, last_error=error)
