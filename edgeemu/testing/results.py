"""What a test gets back: values with named fields, in the words of the command line."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn

from edgeemu.core.journal import Kind
from edgeemu.errors import Code, EdgeemuError
from edgeemu.sdk.http import Headers

__tracebackhide__ = True


@dataclass(frozen=True, slots=True)
class ClockReading:
    """The emulated time; instants in ms since the epoch, `now` in ISO 8601."""

    now_ms: int
    now: str
    mode: str
    rate: float


@dataclass(frozen=True, slots=True)
class Moved(ClockReading):
    """The emulated time after a move, and the alarm deliveries on the way."""

    from_ms: int
    deliveries: int
    succeeded: int
    failed: int
    gave_up: int


@dataclass(frozen=True, slots=True)
class FiredError:
    """The error with which a delivery ended."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class NextAttempt:
    """The delivery that is pending now."""

    due_at_ms: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Fired:
    """One delivery of an alarm that the test asked for."""

    actor: str
    outcome: str
    retry_count: int
    attempts: int
    duration_ms: int
    error: FiredError | None
    gave_up: bool
    next: NextAttempt | None


def fired_of(result: dict[str, Any]) -> Fired:
    """The delivery that `alarms fire --json` describes."""
    error, following = result["error"], result["next"]
    fields = {
        **result,
        "error": None if error is None else FiredError(**error),
        "next": None if following is None else NextAttempt(**following),
    }
    return Fired(**fields)


@dataclass(frozen=True, slots=True)
class PendingAlarm:
    """One pending alarm, as `alarms list --json` shows it."""

    actor: str
    due_at_ms: int
    due_at: str
    due_in_ms: int
    state: str
    attempt: int
    attempts_max: int
    next_attempt_at_ms: int
    set_at_ms: int
    set_by: str | None


class Journal(list[dict[str, Any]]):
    """Entries of the journal, oldest first, as `edgeemu log --json` shows them."""

    def of(self, kind: str | None = None, *, actor: str | None = None) -> "Journal":
        """Those of one kind, such as `alarm`, of one actor, or both.

        Raises:
            EdgeemuError: `E_USAGE` for a kind that there is not.
        """
        if kind is not None and kind not in list(Kind):
            near = get_close_matches(kind, list(Kind), 1)
            raise EdgeemuError(
                Code.USAGE,
                what=f"the journal has no kind `{kind}`",
                why=f"its kinds are {', '.join(Kind)}",
                fix=f"did you mean {near[0]}?" if near else "write one of these",
            )
        return Journal(
            entry
            for entry in self
            if (kind is None or entry["kind"] == kind)
            and (actor is None or entry["actor"] == actor)
        )


_ELSEWHERE = {"status_code": "status", "code": "status", "content": "body", "data": "body"}
"""What other libraries call the fields of a response."""


class FetchedResponse:
    """What the function in front answered.

    Attributes:
        status: the HTTP status.
        headers: by name, whatever the case.
        body: the whole body.
    """

    def __init__(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        self.status = status
        self.headers = Headers(headers)
        self.body = body

    def __getattr__(self, name: str) -> NoReturn:
        known = [each for each in (*vars(self), *dir(type(self))) if not each.startswith("_")]
        near = _ELSEWHERE.get(name) or next(iter(get_close_matches(name, known, 1)), None)
        hint = f"did you mean .{near}?" if near else f"it has: {', '.join(sorted(known))}"
        raise AttributeError(f"a response has no {name!r}; {hint}")

    @property
    def text(self) -> str:
        """The body as UTF-8 text; bytes that are none become U+FFFD."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            ValueError: if it is not JSON.
        """
        return json.loads(self.body)

    def __repr__(self) -> str:
        return f"<response {self.status}: {self.text[:200]!r}>"
