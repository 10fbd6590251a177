"""Why an alarm did or did not fire, in words: told from the journal and the row of the instance."""

from collections.abc import Sequence

from edgeemu.core.journal import Entry, Kind, Recorded
from edgeemu.core.rows import InstanceRow, PastAlarmState
from edgeemu.ids import InstanceId
from edgeemu.units import format_duration, format_instant

HISTORY_KINDS = frozenset(
    {
        Kind.ALARM,
        Kind.ALARM_SET,
        Kind.ALARM_CLEARED,
        Kind.ALARM_RETRY,
        Kind.ALARM_GIVEN_UP,
        Kind.ALARM_STALE,
        Kind.FAULT_PLANNED,
        Kind.GAP,
    }
)
"""The kinds of entries that belong to the history of an alarm."""

SENTENCES_MAX = 40
"""Entries that are told one by one; a long life is told from its end."""


def explain(
    instance: InstanceId, row: InstanceRow, history: Sequence[Recorded], now_ms: int
) -> list[str]:
    """Sentences that say what became of the alarm of an instance, oldest first, verdict last.

    Args:
        instance: whose alarm.
        row: what is kept of it.
        history: its entries of `HISTORY_KINDS`, oldest first.
        now_ms: the emulated instant.
    """
    told = history[-SENTENCES_MAX:]
    sentences = [_sentence(item.entry) for item in told]
    if len(told) < len(history):
        earlier = len(history) - len(told)
        sentences.insert(0, f"({earlier} earlier entries: see `edgeemu alarms history`)")
    last = history[-1].entry if history else None
    return [*sentences, _verdict(instance, row, last, now_ms)]


def _sentence(entry: Entry) -> str:
    at = format_instant(entry.now_ms)
    data = entry.data
    match entry.kind:
        case Kind.ALARM_SET:
            by = f" by {data['set_by']}" if data.get("set_by") else ""
            text = f"set for {format_instant(data['due_at_ms'])}{by} (turn {entry.turn})"
            if data.get("replaced_due_at_ms") is not None:
                text += f", replacing the one for {format_instant(data['replaced_due_at_ms'])}"
        case Kind.ALARM_CLEARED:
            by = f" by {data['set_by']}" if data.get("set_by") else ""
            text = f"cleared{by}; it was due at {format_instant(data['due_at_ms'])}"
        case Kind.ALARM:
            text = _delivery(entry)
        case Kind.ALARM_RETRY:
            counts = "" if data["counted"] else "; the failure was not the handler's, so it is free"
            text = f"to be delivered again at {format_instant(data['next_attempt_at_ms'])}{counts}"
        case Kind.ALARM_GIVEN_UP:
            text = (
                f"given up and deleted after {data['attempts']} failed attempts; "
                "on the platform nothing tells you"
            )
        case Kind.FAULT_PLANNED:
            text = f"planned to fail: {data['times']} times, {data['how']}"
        case Kind.GAP:
            text = f"what happened before is gone: {data['missed']} entries left the journal"
        case _:
            text = "a delivery that waited was dropped: the alarm had been replaced or cleared"
    return f"{at}  {text}"


def _delivery(entry: Entry) -> str:
    data = entry.data
    late_ms = data["late_ms"]
    late = f"{format_duration(abs(late_ms))} {'after' if late_ms >= 0 else 'before'} it was due"
    attempt = data["retry_count"] + 1
    text = f"delivered, attempt {attempt}, {late}: {data['outcome']}"
    if data.get("error"):
        text += f", {data['error']['name']}: {data['error']['message']}"
        if data["error"].get("where"):
            text += f" at {data['error']['where']}"
    if data.get("fault"):
        text += f" (a planned fault: {data['fault']})"
    return text


def _verdict(instance: InstanceId, row: InstanceRow, last: Entry | None, now_ms: int) -> str:
    alarm = row.alarm
    if alarm is not None:
        due = format_instant(alarm.eligible_at_ms)
        left_ms = alarm.eligible_at_ms - now_ms
        when = f"in {format_duration(left_ms)}" if left_ms > 0 else "now overdue"
        attempt = alarm.retry_count + 1
        return (
            f"{instance} has an alarm that waits: attempt {attempt} is due at {due} ({when}); "
            f"it is {format_instant(now_ms)} now"
        )
    if last is not None and last.kind is Kind.ALARM_CLEARED:
        by = f" by {last.data['set_by']}" if last.data.get("set_by") else ""
        return (
            f"{instance} has no alarm: the one due at {format_instant(last.data['due_at_ms'])} "
            f"was cleared at {format_instant(last.now_ms)}{by}"
        )
    past = row.past_alarm
    if past is not None and past.state is PastAlarmState.GIVEN_UP:
        return (
            f"{instance} has no alarm: the one due at {format_instant(past.due_at_ms)} failed "
            f"{past.attempts} times and was given up at {format_instant(past.ended_at_ms)}"
        )
    if past is not None:
        return (
            f"{instance} has no alarm: the one due at {format_instant(past.due_at_ms)} was "
            f"delivered and ended well at {format_instant(past.ended_at_ms)}, "
            "and its handler set no other"
        )
    return f"{instance} has no alarm, and none was ever set"
