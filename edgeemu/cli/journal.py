"""Entries of the journal as lines, for the live log of `dev` and for `edgeemu log`.

Promise: one line per turn, and a line of its own for what stands out: a failure with the actor's
own frames, a retry, an alarm given up, a warning, a reload that failed. Words carry the meaning.
"""

from collections.abc import Callable
from typing import Any

from edgeemu.cli.render import Line, Piece
from edgeemu.units import format_duration, format_instant

ACTOR_COLUMNS = 18
"""Columns that the name of an instance gets; a longer one moves the rest of its line."""
TURN_COLUMNS = 22
"""Columns that the turn gets."""
LATE_MS = 1_000
"""How late an alarm is delivered before its line says so; an emulated one is late by design."""
TIME_COLUMNS = 24
"""Columns of an instant with milliseconds."""

Fields = dict[str, Any]

OUTCOMES: dict[str, tuple[str, str]] = {
    "succeeded": ("ok", "good"),
    "failed": ("FAILED", "bad"),
    "timed_out": ("TIMED OUT", "bad"),
    "crashed": ("CRASHED", "bad"),
}
"""What a turn's outcome is called in a line, and its style."""


def entry_lines(entry: Fields) -> list[Line]:
    """One entry, as `log --json` has it, in lines."""
    return _WRITERS.get(entry["kind"], _other)(entry)


def _head(entry: Fields) -> list[Piece]:
    actor = entry.get("actor") or "-"
    return [
        (f"{format_instant(entry['now_ms']):<{TIME_COLUMNS}}", "dim"),
        f"  {actor:<{ACTOR_COLUMNS}}  ",
    ]


def _note(entry: Fields, *pieces: Piece) -> list[Line]:
    return [[*_head(entry), *pieces]]


def turn_name(entry: Fields) -> str:
    """What a turn did, in a few words: `call touch`, `alarm (attempt 1 of 4)`, `fetch GET /`."""
    kind = entry["kind"]
    method = entry.get("method")
    if kind == "alarm":
        attempt = attempt_words(entry.get("retry_count", 0), entry.get("attempts_max"))
        return f"alarm ({attempt})"
    if kind == "front":
        verb, _, url = str(method or "").partition(" ")
        path = "/" + url.partition("://")[2].partition("/")[2] if "://" in url else url
        function = entry.get("function")
        return f"fetch {verb} {path}" + (f" of {function}" if function else "")
    return f"{kind} {method}" if method else str(kind)


def attempt_words(retry_count: int, attempts_max: int | None = None) -> str:
    """Which attempt a delivery is, counted from 1 as people do: `attempt 2 of 4`."""
    return f"attempt {retry_count + 1}" + (f" of {attempts_max}" if attempts_max else "")


def _turn(entry: Fields) -> list[Line]:
    word, style = OUTCOMES.get(entry["outcome"], (entry["outcome"], ""))
    name = f"{turn_name(entry):<{TURN_COLUMNS}}"
    quiet = entry["kind"] in ("init", "edit") and entry["outcome"] == "succeeded"
    took = f"{entry.get('real_took_us', 0) / 1_000:.1f}ms"
    if entry.get("duration_ms"):
        took += f", {format_duration(entry['duration_ms'])} of emulated time"
    pieces: list[Piece] = [(name, "dim") if quiet else name, "  ", (f"{word:<9}", style)]
    if entry["kind"] == "edit":
        pieces.append((f"  from {entry['cause']}", "dim"))
    else:
        pieces.append((f"  {took}", "dim"))
    if "status" in entry:
        pieces.append((f"  HTTP {entry['status']}", "good" if entry["status"] < 400 else "bad"))
    if entry.get("late_ms", 0) > LATE_MS:
        pieces.append((f"  {rounded(entry['late_ms'])} late", "warn"))
    found: list[Line] = [[*_head(entry), *pieces]]
    error = entry.get("error")
    if error:
        found += error_lines(error, fault=entry.get("fault"))
    if entry.get("writes_kept"):
        found.append(["    ", ("what it wrote outside of the transaction is kept", "dim")])
    return found


def error_lines(error: Fields, *, fault: str | None = None) -> list[Line]:
    """An error of an actor: its name, message and the actor's own frames, indented."""
    planned = f" (a planned fault: {fault})" if fault else ""
    first: Line = ["    ", (f"{error['name']}: {error['message']}{planned}", "bad")]
    frames: list[Line] = [f"    {line}" for line in (error.get("trace") or "").splitlines()]
    if not frames and error.get("where"):
        frames = [f"      {error['where']}"]
    return [first, *frames]


def _alarm_set(entry: Fields) -> list[Line]:
    due_ms = entry["due_at_ms"]
    text = f"alarm set for {format_instant(due_ms)} ({when(due_ms - entry['now_ms'])})"
    if entry.get("set_by"):
        text += f" by {entry['set_by']}"
    if entry.get("replaced_due_at_ms") is not None:
        text += f", in place of {format_instant(entry['replaced_due_at_ms'])}"
    return _note(entry, (text, "dim"))


def _alarm_cleared(entry: Fields) -> list[Line]:
    by = f" by {entry['set_by']}" if entry.get("set_by") else ""
    text = f"alarm cleared{by}; it was due at {format_instant(entry['due_at_ms'])}"
    return _note(entry, (text, "dim"))


def _alarm_retry(entry: Fields) -> list[Line]:
    due_ms = entry["next_attempt_at_ms"]
    text = f"  {attempt_words(entry['retry_count'], entry['attempts_max'])} is due at"
    text += f" {format_instant(due_ms)} ({when(due_ms - entry['now_ms'])})"
    if not entry.get("counted", True):
        text += ", not counted"
    return _note(entry, ("RETRY", "warn"), text)


def _alarm_given_up(entry: Fields) -> list[Line]:
    text = f"  the alarm failed {entry['attempts']} times and is deleted; nothing fires it again"
    return _note(entry, ("GAVE UP", "bad"), text)


def _alarm_stale(entry: Fields) -> list[Line]:
    text = "a delivery was dropped: the alarm had been replaced or cleared"
    return _note(entry, (text, "dim"))


def _fault_planned(entry: Fields) -> list[Line]:
    count = entry["times"]
    if not count:
        return _note(entry, "no delivery is planned to fail any more")
    which = "the next delivery fails" if count == 1 else f"the next {count} deliveries fail"
    return _note(entry, ("PLANNED", "warn"), f"  {which} ({entry['how']}: {entry['message']})")


def _evicted(entry: Fields) -> list[Line]:
    cause = str(entry.get("cause") or "")
    why = f"; {cause.removeprefix('engine: ')}" if cause.startswith("engine: ") else ""
    return _note(entry, (f"left the memory ({entry.get('reason') or 'evict'}{why})", "dim"))


def _socket_opened(entry: Fields) -> list[Line]:
    return _note(entry, (f"socket {entry['socket']} opened", "dim"))


def _socket_closed(entry: Fields) -> list[Line]:
    text = f"socket {entry['socket']} closed by the {entry['by']}: {entry['code']}"
    if entry["reason"]:
        text += f" {entry['reason']}"
    style = "bad" if entry["code"] in (1002, 1007, 1009, 1011, 1013) else "dim"
    return _note(entry, (text, style), (f", after {format_duration(entry['lasted_ms'])}", "dim"))


_CLOCK_WORDS = {
    "advance": "advanced",
    "set": "set",
    "next": "moved to what was due next",
    "idle": "moved until nothing was due",
    "mode": "changed its mode",
}


def _clock(entry: Fields) -> list[Line]:
    done = _CLOCK_WORDS.get(entry["what"]) or str(entry["what"])
    moved_ms = entry.get("moved_ms")
    if moved_ms:
        done += (" by " if moved_ms > 0 else " back by ") + format_duration(abs(moved_ms))
    text = f"clock {done} ({mode_words(entry['mode'], entry['rate'])})"
    if "deliveries" in entry:
        count, due_ms = entry["deliveries"], entry["next_due_at_ms"]
        text += f": {count} {'delivery' if count == 1 else 'deliveries'}, "
        text += "no alarm" if due_ms is None else f"next alarm {when(due_ms - entry['now_ms'])}"
    return _note(entry, text)


def _started(entry: Fields) -> list[Line]:
    text = f"started; the clock is {mode_words(entry['mode'], entry['rate'])}"
    return _note(entry, f"{text}, the seed {entry['seed']}")


def _stopped(entry: Fields) -> list[Line]:
    return _note(entry, "stopped")


def _reload(entry: Fields) -> list[Line]:
    files = ", ".join(entry.get("files") or []) or "the project"
    return _note(entry, ("RELOADED", "good"), f"  {files}; storage, alarms and clock are kept")


def _reload_failed(entry: Fields) -> list[Line]:
    from edgeemu.cli.render import error_lines as three_lines
    from edgeemu.errors import error_from_json

    first: Line = [*_head(entry), ("RELOAD FAILED", "bad"), "  the code before it keeps serving"]
    error = error_from_json(entry)
    return [first, *([["    ", *_listed(line)] for line in three_lines(error)] if error else [])]


def _listed(line: Line) -> list[Piece]:
    return [line] if isinstance(line, str | tuple) else list(line)


def _warning(entry: Fields) -> list[Line]:
    where = f" ({entry['where']})" if entry.get("where") else ""
    told = _note(entry, ("WARNING", "warn"), f"  {entry['code']}: {entry['message']}{where}")
    if entry.get("see"):
        told.append([(f"    see {entry['see']}, or `edgeemu explain {entry['code']}`", "dim")])
    return told


_PRINTED_STYLES = {"debug": "dim", "warn": "warn", "error": "bad"}


def _printed(entry: Fields) -> list[Line]:
    first, *rest = str(entry["text"]).split("\n")
    level, style = entry["level"], _PRINTED_STYLES.get(entry["level"], "")
    return [*_note(entry, (f"{level}: {first}", style)), *([f"    {line}"] for line in rest)]


def _gap(entry: Fields) -> list[Line]:
    text = f"  {entry['missed']} entries before this are gone: the journal keeps the newest ones"
    return _note(entry, ("GAP", "warn"), text)


def _other(entry: Fields) -> list[Line]:
    return _note(entry, str(entry["kind"]))


def mode_words(mode: str, rate: float) -> str:
    """How the clock moves, in words."""
    return f"at {rate:g}x" if mode == "rate" else mode


def when(left_ms: int) -> str:
    """How far off an instant is: `in 5m`, `now`, `2h ago`."""
    if left_ms == 0:
        return "now"
    return f"in {rounded(left_ms)}" if left_ms > 0 else f"{rounded(-left_ms)} ago"


def rounded(duration_ms: int) -> str:
    """A duration of 0 or more in its two largest units, which is exact below a minute."""
    if duration_ms < 60_000:
        return format_duration(duration_ms)
    step_ms = 3_600_000 if duration_ms >= 86_400_000 else 60_000
    step_ms = 1_000 if duration_ms < 3_600_000 else step_ms
    return format_duration(duration_ms - duration_ms % step_ms)


def _service(entry: Fields) -> list[Line]:
    error = entry.get("error")
    where = f" at {entry['url']}" if entry.get("url") else ""
    name = f"env.{entry['service']}" if entry["service"] else "fetch"
    what = f"{name} {entry['method']}{where}"
    if error is not None:
        return _note(entry, f"{what} ", ("failed", "bad"), f": {error['name']}: {error['message']}")
    took = f" in {entry['real_took_ms']} ms" if entry.get("url") else ", as configured"
    status = entry["status"]
    style = "good" if status < 400 else "bad"
    return _note(entry, f"{what} ", (f"HTTP {status}", style), took)


_WRITERS: dict[str, Callable[[Fields], list[Line]]] = {
    "init": _turn,
    "call": _turn,
    "fetch": _turn,
    "alarm": _turn,
    "socket": _turn,
    "edit": _turn,
    "front": _turn,
    "service": _service,
    "alarm_set": _alarm_set,
    "alarm_cleared": _alarm_cleared,
    "alarm_retry": _alarm_retry,
    "alarm_given_up": _alarm_given_up,
    "alarm_stale": _alarm_stale,
    "fault_planned": _fault_planned,
    "evicted": _evicted,
    "socket_opened": _socket_opened,
    "socket_closed": _socket_closed,
    "clock": _clock,
    "started": _started,
    "stopped": _stopped,
    "reload": _reload,
    "reload_failed": _reload_failed,
    "printed": _printed,
    "warning": _warning,
    "gap": _gap,
}
