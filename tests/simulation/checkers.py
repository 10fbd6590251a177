"""The promises, each a function that looks at a journal, or at the state, and says what is wrong.

They are independent of the model, and of one another.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

Entry = dict[str, Any]

TURNS = frozenset({"call", "fetch", "alarm", "init"})
_RETRIES_MAX = 3


def early_alarms(entries: Iterable[Entry]) -> list[str]:
    """Promise 1: no alarm starts before its instant, unless it was fired by hand."""
    return [
        f"{entry['actor']} started {-entry['late_ms']} ms early in turn {entry['turn']}"
        for entry in entries
        if entry["kind"] == "alarm" and entry["late_ms"] < 0 and _by_itself(entry)
    ]


def several_alarms(listed: Iterable[Entry]) -> list[str]:
    """Promise 2: an instance has at most one pending alarm."""
    actors = [item["actor"] for item in listed]
    return [f"{actor} has several alarms" for actor in set(actors) if actors.count(actor) > 1]


def overlapping_turns(entries: Iterable[Entry]) -> list[str]:
    """Promise 3: an instance runs one turn at a time."""
    wrong = []
    for actor, turns in _by_actor(entry for entry in entries if entry["kind"] in TURNS).items():
        for before, after in pairwise(turns):
            if after["started_at_ms"] < before["now_ms"]:
                wrong.append(f"turn {after['turn']} of {actor} began in turn {before['turn']}")
    return wrong


def wrong_redeliveries(entries: Iterable[Entry]) -> list[str]:
    """Promise 4: what succeeded does not run again; what failed does, a bounded number of times."""
    wrong = []
    kinds = {"alarm", "alarm_retry", "alarm_given_up"}
    for actor, told in _by_actor(entry for entry in entries if entry["kind"] in kinds).items():
        open_alarm: str | None = None
        done: set[str] = set()
        retry_count = 0
        for entry in told:
            if entry["kind"] == "alarm_retry":
                retry_count = entry["retry_count"]
            elif entry["kind"] == "alarm":
                alarm = f"{entry['due_at_ms']} of {entry['cause']}"
                if _by_itself(entry) and alarm in done:
                    wrong.append(f"{actor}: {alarm} ran again after it had succeeded")
                same = alarm == open_alarm
                if _by_itself(entry) and same and entry["retry_count"] != retry_count:
                    wrong.append(f"{actor}: {alarm} has the wrong count {entry['retry_count']}")
                if entry["retry_count"] > _RETRIES_MAX:
                    wrong.append(f"{actor}: {alarm} ran too often")
                if entry["outcome"] == "succeeded":
                    done.add(alarm)
                open_alarm = alarm
            else:
                done.add(open_alarm or "")
    return wrong


def unanswered_failures(entries: Iterable[Entry], pending: set[str]) -> list[str]:
    """Promise 4 again: a failed delivery leaves a retry, a give-up, or another alarm behind."""
    last: dict[str, Entry] = {}
    kinds = {"alarm", "alarm_retry", "alarm_given_up", "alarm_set", "alarm_cleared"}
    for entry in entries:
        if entry["kind"] in kinds:
            last[entry["actor"]] = entry
    return [
        f"the alarm of {actor} was lost: {entry['kind']} is the last that was told of it"
        for actor, entry in last.items()
        if actor not in pending
        and (
            entry["kind"] in ("alarm_retry", "alarm_set")
            or (entry["kind"] == "alarm" and entry["outcome"] != "succeeded")
        )
    ]


def steps_back(entries: Iterable[Entry]) -> list[str]:
    """Promise 6: time never goes back."""
    return [
        f"entry {after['seq']} is {before['now_ms'] - after['now_ms']} ms before the one before"
        for before, after in pairwise(entries)
        if after["now_ms"] < before["now_ms"]
    ]


def failed_promises_of_actors(entries: Iterable[Entry]) -> list[str]:
    """Promises 6 and 7 as actors see them: the actor of the simulation asserts them itself."""
    return [
        f"{entry['actor']}: {entry['error']['message']}"
        for entry in entries
        if entry.get("error", {}).get("name") == "AssertionError"
    ]


def first_difference(one: list[Entry], other: list[Entry]) -> str | None:
    """Promise 8: one seed and one input give one journal."""
    for left, right in zip(one, other, strict=False):
        if left != right:
            return f"{left}\nis not\n{right}"
    return None if len(one) == len(other) else f"{len(one)} entries are not {len(other)}"


def _by_itself(entry: Entry) -> bool:
    return str(entry["cause"]).startswith("alarm")


def _by_actor(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry["actor"], []).append(entry)
    return found
