"""The kinds of values that keys take: what is expected in words, and a function that reads it."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from edgeemu.clock import RATE_MAX
from edgeemu.errors import EdgeemuError
from edgeemu.units import instant_from_datetime, parse_duration, parse_instant

IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
"""The grammar of bindings and types. Source: spec/telnyx-actors.md section 2.2, U1."""

TYPE_CHARS_MAX = 32
"""Characters of an actor's type. Source: spec/telnyx-actors.md section 2.2."""

PROJECT_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?")
"""The grammar of a project's name. Source: spec/telnyx-actors.md section 2.2."""

PROJECT_NAME_WORDS = "1 to 64 letters, digits and `-`, with no `-` at either end"

Read = Callable[[Any], Any]


class RefusedError(ValueError):
    """This value will not do.

    Args:
        reason: why, beyond what the kind expects; may be empty.
        instead: TOML text that would do in its place, if it is known.
    """

    def __init__(self, reason: str = "", instead: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.instead = instead


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value.

    Attributes:
        expected: ends the sentence "it should be …".
        read: gives the value as `Config` holds it, or raises `RefusedError`.
    """

    expected: str
    read: Read


def text(expected: str, pattern: re.Pattern[str] | None = None) -> Kind:
    """A string, which all of `pattern` matches."""

    def read(given: Any) -> str:
        if not isinstance(given, str):
            scalar = isinstance(given, int | float) and not isinstance(given, bool)
            raise RefusedError(instead=f'"{given}"' if scalar else None)
        if pattern is not None and not pattern.fullmatch(given):
            raise RefusedError
        return given

    return Kind(expected, read)


def whole(least: int, most: int, what: str = "a whole number") -> Kind:
    """An integer in a range, both ends included."""

    def read(given: Any) -> int:
        if isinstance(given, int) and not isinstance(given, bool) and least <= given <= most:
            return given
        raise RefusedError

    return Kind(f"{what} from {least} to {most}", read)


def milliseconds(least: int, most: int, *, never: bool = False) -> Kind:
    """A duration in milliseconds, as an integer; with `never`, the word "never" gives None."""
    number = whole(least, most, "a whole number of milliseconds")

    def read(given: Any) -> int | None:
        if never and given == "never":
            return None
        if isinstance(given, str):
            try:
                fits = least <= (duration_ms := parse_duration(given)) <= most
            except EdgeemuError:
                raise RefusedError from None
            raise RefusedError("units are not written here", str(duration_ms) if fits else None)
        return int(number.read(given))

    return Kind(number.expected + (', or "never"' if never else ""), read)


def one_of(names: Collection[str]) -> Kind:
    """One of a few strings."""

    def read(given: Any) -> str:
        if isinstance(given, str) and given in names:
            return given
        raise RefusedError

    return Kind("one of " + ", ".join(f'"{name}"' for name in names), read)


def _read_identifier(given: Any) -> str:
    if not isinstance(given, str) or not IDENTIFIER.fullmatch(given):
        raise RefusedError
    if "__" in given:
        raise RefusedError("the platform reserves `__`", f'"{re.sub("__+", "_", given)}"')
    return given


def _read_type(given: Any) -> str:
    name = _read_identifier(given)
    if len(name) > TYPE_CHARS_MAX:
        raise RefusedError(f"it has {len(name)} characters")
    return name


def _read_date(given: Any) -> str:
    if isinstance(given, date) and not isinstance(given, datetime):
        return given.isoformat()
    if not isinstance(given, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", given):
        raise RefusedError
    try:
        return date.fromisoformat(given).isoformat()
    except ValueError:
        raise RefusedError("there is no such day") from None


def _read_instant(given: Any) -> int:
    if isinstance(given, datetime):
        return instant_from_datetime(given if given.tzinfo else given.replace(tzinfo=UTC))
    if isinstance(given, bool | float) or not isinstance(given, str | int | date):
        raise RefusedError
    try:
        return parse_instant(str(given))
    except EdgeemuError:
        raise RefusedError from None


def _read_rate(given: Any) -> float:
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 < given <= RATE_MAX:
        return float(given)
    raise RefusedError


def _read_headers(given: Any) -> dict[str, str]:
    if not isinstance(given, dict):
        raise RefusedError
    for name, value in given.items():
        if not isinstance(value, str):
            raise RefusedError(f"the value of `{name}` is no string")
    return dict(given)


def _read_json(given: Any) -> Any:
    stack = [given]
    while stack:
        value = stack.pop()
        if isinstance(value, date | time):
            raise RefusedError("JSON has no dates and times: write a string")
        if isinstance(value, float) and not abs(value) < float("inf"):
            raise RefusedError("JSON has no `inf` and no `nan`")
        if isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return given


def _read_boolean(given: Any) -> bool:
    if isinstance(given, bool):
        return given
    raise RefusedError


STRING = text("a string")
BOOLEAN = Kind("true or false", _read_boolean)
NAME = text(f"a string of {PROJECT_NAME_WORDS}", PROJECT_NAME)
HOST = text("a host name or an IP address", re.compile(r"[A-Za-z0-9._:%-]+"))
URL = text("an http:// or https:// address", re.compile(r"https?://[^\s/]\S*"))
IDENTIFIER_KIND = Kind("an identifier (letters, digits, `_`, `$`) without `__`", _read_identifier)
TYPE = Kind(f"an identifier of at most {TYPE_CHARS_MAX} characters without `__`", _read_type)
DATE = Kind("a day, written YYYY-MM-DD", _read_date)
INSTANT = Kind("an instant: ISO 8601 or milliseconds since the epoch", _read_instant)
RATE = Kind(f"a number above 0 and at most {RATE_MAX:.0f}", _read_rate)
HEADERS = Kind("a table of strings", _read_headers)
JSON = Kind("a value that JSON can say", _read_json)
