"""Strictness: what happened in the emulator that the test should have known about.

A test fails at its end for an error that nobody got: of an alarm's delivery, of a WebSocket, of
the function in front, of a call that was started and whose result was never read; and for an alarm
that was given up. Nothing is held against a test that it did itself: errors that it planned with
`fail`, or that reached it as an exception.

An error of a call from one actor to another goes to the caller. If the caller fails with it, that
is what is reported; if the caller catches it, it is handled.
"""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from edgeemu.core.events import Outcome
from edgeemu.core.journal import Entry, Kind, Recorded
from edgeemu.core.rows import FaultHow
from edgeemu.errors import Code, EdgeemuError
from edgeemu.testing.settings import ALLOW_ALARM_LEFT, ALLOW_GIVEN_UP
from edgeemu.units import format_instant

JOURNAL_LINES_SHOWN = 15
"""Entries of the journal that stand below a test that failed."""

_COMPLAINTS_SHOWN = 5
_JUDGED_KINDS = (Kind.ALARM, Kind.SOCKET, Kind.FRONT)
_IN_PLACE = (FaultHow.THROW.value, FaultHow.TIMEOUT.value)
_BAD_OUTCOMES = (Outcome.FAILED.value, Outcome.TIMED_OUT.value)


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that the test did not expect.

    Attributes:
        text: what happened, in words.
        allowed_by: the name in `allow` that permits it.
        trace: the actor's own frames, if there are any.
    """

    text: str
    allowed_by: str
    trace: str | None = None


class Witness:
    """Watches the journal of one test.

    Args:
        allow: names of errors that are expected, and `given_up`.
    """

    def __init__(self, allow: Collection[str]) -> None:
        self._allow = allow
        self._complaints: list[Complaint] = []
        self._last: deque[Recorded] = deque(maxlen=JOURNAL_LINES_SHOWN)
        self._planned: dict[int | None, None] = {}

    def watch(self, recorded: list[Recorded]) -> None:
        """Take note of a batch of journal entries."""
        for item in recorded:
            self._last.append(item)
            entry = item.entry
            if entry.kind in _JUDGED_KINDS:
                self._judge_turn(entry)
            elif entry.data.get("code") == "W_TASK_FAILED":
                error = entry.data["error"]
                text = f"{entry.instance or 'the function in front'}: {entry.data['message']}"
                self.complain(Complaint(text, error["name"], error.get("trace")))
            elif entry.kind is Kind.ALARM_GIVEN_UP and entry.turn not in self._planned:
                at = format_instant(entry.now_ms)
                text = f"the alarm of {entry.instance} was given up at {at}"
                self.complain(Complaint(text, ALLOW_GIVEN_UP))

    def _judge_turn(self, entry: Entry) -> None:
        fault = entry.data.get("fault")
        if fault is not None:  # Planned by the test: `fail` and its like.
            self._planned[entry.turn] = None
            if fault in _IN_PLACE or entry.data["outcome"] == Outcome.CRASHED.value:
                return  # Else the handler ran, and raised an error of its own.
        error = entry.data.get("error")
        if error is None or entry.data["outcome"] not in _BAD_OUTCOMES:
            return
        if error["name"] == "AssertionError":  # Raised in the test itself, as soon as it failed.
            return
        who = f"the alarm of {entry.instance}" if entry.instance else entry.data["method"]
        if entry.kind is Kind.SOCKET:
            who = f"{entry.data['method']} of a WebSocket of {entry.instance}"
        where = f" ({error['where']})" if error.get("where") else ""
        at = format_instant(entry.now_ms)
        text = f"{who} failed at {at}: {error['name']}: {error['message']}{where}"
        self.complain(Complaint(text, error["name"], error.get("trace")))

    def complain(self, complaint: Complaint) -> None:
        """Hold something against the test, unless it is allowed."""
        if complaint.allowed_by not in self._allow:
            self._complaints.append(complaint)

    def complain_of_alarms(self, actors: Sequence[str]) -> None:
        """Hold alarms that are still pending against the test, unless they are allowed."""
        for actor in actors:
            self.complain(Complaint(f"the alarm of {actor} is still pending", ALLOW_ALARM_LEFT))

    def verdict(self) -> EdgeemuError | None:
        """What the test fails with at its end: `E_TEST_STRICT`, or None."""
        found = self._complaints
        if not found:
            return None
        names = dict.fromkeys(complaint.allowed_by for complaint in found)
        listed = ", ".join(f'"{name}"' for name in names)
        lines = [complaint.text for complaint in found[:_COMPLAINTS_SHOWN]]
        if len(found) > _COMPLAINTS_SHOWN:
            lines.append(f"and {len(found) - _COMPLAINTS_SHOWN} more")
        count = "something" if len(found) == 1 else f"{len(found)} things"
        traces = dict.fromkeys(complaint.trace for complaint in found if complaint.trace)
        return EdgeemuError(
            Code.TEST_STRICT,
            what=f"{count} went wrong that the test did not expect",
            why="; ".join(lines),
            fix=f"mend the actor, or expect it: @pytest.mark.edgeemu(allow=[{listed}])",
            detail="\n".join(list(traces)[:_COMPLAINTS_SHOWN]) or None,
        )

    def last_lines(self) -> list[str]:
        """The last entries of the journal, one line each."""
        return [line_of(item.entry) for item in self._last]


def line_of(entry: Entry) -> str:
    """One entry of the journal in one line."""
    data = entry.data
    parts = [format_instant(entry.now_ms), str(entry.instance or "-"), entry.kind.value]
    parts += [str(data[key]) for key in ("method", "outcome", "what", "reason") if key in data]
    if "due_at_ms" in data:
        parts.append(f"due {format_instant(data['due_at_ms'])}")
    if data.get("retry_count"):
        parts.append(f"retry {data['retry_count']}")
    if "error" in data and isinstance(data["error"], dict):
        error = data["error"]
        where = f" ({error['where']})" if error.get("where") else ""
        parts.append(f"{error.get('name')}: {error.get('message')}{where}")
    if entry.kind is Kind.PRINTED:
        parts.append(f"{data['level']}: {data['text']}")
    if entry.kind is Kind.WARNING:
        where = f" ({data['where']})" if data.get("where") else ""
        parts.append(f"{data.get('code')}: {data.get('message')}; see {data.get('see')}{where}")
    return "  ".join(parts)
