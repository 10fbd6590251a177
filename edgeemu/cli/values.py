"""What was typed, as values: JSON or text, instants, durations, files."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from edgeemu.errors import Code, EdgeemuError
from edgeemu.limits import INTEGER_MAX

if TYPE_CHECKING:
    from edgeemu.api.client import Target


def parse_value(text: str) -> tuple[Any, str | None]:
    """A value that was typed: JSON if it parses, else the text itself (design section 4).

    `01`, `NaN` and `+5` are no JSON, so they are text. An integer of any size stays exact.

    Returns:
        The value, ready to be sent; and why a text that begins like JSON is none, or None.
    """
    try:
        return parse_json(text), None
    except EdgeemuError as error:
        looks_like_json = text.lstrip()[:1] in ("{", "[", '"')
        return text, error.why if looks_like_json else None


def parse_json(text: str) -> Any:
    """A JSON document, its large integers tagged for the codec.

    Raises:
        EdgeemuError: `E_JSON_INVALID`.
    """
    try:
        parsed = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
        return _tag_integers(parsed)
    except json.JSONDecodeError as error:
        why = f"{error.msg} at line {error.lineno} column {error.colno}"
    except ValueError as error:
        why = str(error)
    except RecursionError:
        why = "it is nested too deeply"
    shown = text if len(text) <= 60 else text[:59] + "…"
    raise EdgeemuError(
        Code.JSON_INVALID,
        what=f"`{shown}` is not JSON",
        why=why,
        fix='write it like {"name": "alice", "count": 3}',
    )


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _tag_integers(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return {"$bigint": str(value)} if abs(value) > INTEGER_MAX else value
    if isinstance(value, list):
        return [_tag_integers(item) for item in value]
    if isinstance(value, dict):
        return {key: _tag_integers(item) for key, item in value.items()}
    return value


def read_source(source: str) -> bytes:
    """The bytes of a file, or of stdin for `-`.

    Raises:
        EdgeemuError: `E_FILE_UNREADABLE`.
    """
    if source == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(source).read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise EdgeemuError(
            Code.FILE_UNREADABLE,
            what=f"`{source}` cannot be read",
            why=reason or str(error),
            fix="give the path of a file that you may read, or - for stdin",
        ) from None


def read_document(source: str) -> Any:
    """The JSON document in a file, or on stdin for `-`.

    Raises:
        EdgeemuError: `E_FILE_UNREADABLE`, `E_JSON_INVALID`.
    """
    content = read_source(source)
    try:
        return parse_json(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        why = f"it is no UTF-8: {error.reason} at byte {error.start}"
    except EdgeemuError as error:
        why = error.why
    raise EdgeemuError(
        Code.JSON_INVALID,
        what=f"`{source}` holds no JSON document",
        why=why,
        fix="give a document that `edgeemu storage export` wrote",
    )


def parse_when(text: str, now_ms: int) -> int:
    """An instant that was typed, or `+5m` for one from now; in ms.

    Raises:
        EdgeemuError: `E_INSTANT_INVALID`, or `E_DURATION_INVALID` behind a `+`.
    """
    from edgeemu.units import parse_duration, parse_instant

    if text.strip().startswith("+"):
        return now_ms + parse_duration(text.strip()[1:])
    try:
        return parse_instant(text)
    except EdgeemuError as error:
        raise _with_fix(error, f"{error.fix}, or +5m for five minutes from now") from None


def ask_instant(target: "Target", text: str) -> int:
    """An instant that was typed, with the present asked for where it is told from there; in ms.

    Raises:
        EdgeemuError: as `parse_when`.
    """
    now_ms = 0 if is_instant(text) else int(target.perform("clock.read", {})["now_ms"])
    return parse_when(text, now_ms)


def parse_since(text: str, now_ms: int) -> int:
    """An instant that was typed, or `10m` for one that long ago; in ms.

    Raises:
        EdgeemuError: `E_INSTANT_INVALID`.
    """
    from edgeemu.units import parse_duration, parse_instant

    try:
        return parse_instant(text)
    except EdgeemuError as error:
        try:
            return now_ms - parse_duration(text)
        except EdgeemuError:
            raise _with_fix(error, f"{error.fix}, or 10m for ten minutes ago") from None


def is_instant(text: str) -> bool:
    """Whether a text says an instant by itself, so that nobody needs to ask for the present."""
    from edgeemu.units import parse_instant

    try:
        parse_instant(text)
    except EdgeemuError:
        return False
    return True


def parse_advance(text: str) -> int:
    """A duration to advance by, in ms; it may be negative, which the clock then refuses."""
    from edgeemu.units import parse_duration

    stripped = text.strip()
    if stripped.startswith("-") and len(stripped) > 1:
        return -parse_duration(stripped[1:])
    return parse_duration(text)


def _with_fix(error: EdgeemuError, fix: str) -> EdgeemuError:
    return EdgeemuError(error.code, what=error.what, why=error.why, fix=fix)
