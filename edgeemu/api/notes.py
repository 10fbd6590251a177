"""What whoever asked for an operation should be told beside its result.

Promise: a result is the same with notes and without. They travel beside it (over HTTP in a header),
there are few of them, and each is short: the whole story is in the journal.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from edgeemu.core.journal import Entry, Kind, Recorded
from edgeemu.emulator import Emulator
from edgeemu.limits import NOTE_CHARS_MAX, NOTES_FAILED_MAX, NOTES_WARNINGS_MAX

Note = dict[str, str]
"""`level` (`note`, `warning` or `failed`) and `text`, which is one sentence."""


class Notes:
    """Collects what there is to tell about one operation.

    Args:
        of_code: whether the operation runs code or moves time, so that it matters which code.
        of_failures: whether the result only counts what failed, or does not tell.
    """

    def __init__(self, *, of_code: bool, of_failures: bool) -> None:
        self._of_code = of_code
        self._of_failures = of_failures
        self._stale: str | None = None
        self._warnings: list[str] = []
        self._warning_count = 0
        self._failed: dict[str, str] = {}

    @contextmanager
    def watching(self, emulator: Emulator) -> Iterator[None]:
        """Collect from the journal for the length of a block."""
        emulator.flush()  # What came before belongs to nobody.
        unwatch = emulator.watch(self._take)
        try:
            yield
        finally:
            try:
                emulator.flush()
            finally:
                unwatch()
            if self._of_code and emulator.load_error is not None:
                self._stale = emulator.load_error.what

    def as_json(self) -> list[Note]:
        """The notes in the order in which they should be read."""
        notes = []
        if self._stale is not None:
            notes.append(
                _note("note", f"old code is serving: {self._stale}; see what `edgeemu dev` says")
            )
        notes += [_note("warning", text) for text in self._warnings]
        if self._warning_count > len(self._warnings):
            left = self._warning_count - len(self._warnings)
            notes.append(_note("warning", f"and {left} more: see `edgeemu log`"))
        told = list(self._failed.values())[:NOTES_FAILED_MAX]
        notes += [_note("failed", text) for text in told]
        left = len(self._failed) - len(told)
        if left:
            plural = "s" if left > 1 else ""
            notes.append(_note("failed", f"{left} more instance{plural}: see `edgeemu log`"))
        return notes

    def _take(self, recorded: list[Recorded]) -> None:
        for item in recorded:
            entry = item.entry
            if entry.kind is Kind.WARNING:
                self._warnings.append(_warning(entry.data))
                self._warning_count += 1
                del self._warnings[NOTES_WARNINGS_MAX:]
            elif self._of_failures and _is_failure(entry):
                actor = str(entry.instance)
                if self._failed.get(actor) or len(self._failed) < NOTES_FAILED_MAX:
                    self._failed[actor] = _failure(actor, entry)
                else:
                    self._failed[actor] = ""  # It is counted only.


def notes_of(name: str, moves: bool) -> Notes:
    """What collects the notes of an operation.

    Args:
        name: of the operation.
        moves: whether it runs code or moves time.
    """
    counts = name.startswith("clock.") or name == "connect"
    return Notes(of_code=moves, of_failures=moves and counts)


def _is_failure(entry: Entry) -> bool:
    return entry.kind in (Kind.ALARM, Kind.SOCKET) and entry.data["outcome"] != "succeeded"


def _failure(actor: str, entry: Entry) -> str:
    """How the last failed delivery, or event of a socket, failed, and where to read on."""
    data = entry.data
    error = data.get("error") or {"name": data["outcome"], "message": ""}
    where = f" at {error['where']}" if error.get("where") else ""
    message = f": {error['message']}" if error["message"] else ""
    what = _short(f"{error['name']}{message}", NOTE_CHARS_MAX // 2)
    command = "alarms why" if entry.kind is Kind.ALARM else "log --actor"
    return f"{actor}: {what}{where}; see `edgeemu {command} {actor}`"


def _warning(data: Any) -> str:
    """A warning, where to read on and its line; it is the message that is cut, if anything is."""
    where = f" ({data['where']})" if data.get("where") else ""
    end = f"; see {data['see']}{where}"
    head = f"{data['code']}: {data['message']}"
    return _short(head, max(NOTE_CHARS_MAX - len(end), NOTE_CHARS_MAX // 2)) + end


def _note(level: str, text: str) -> Note:
    return {"level": level, "text": _short(text, NOTE_CHARS_MAX)}


def _short(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"
