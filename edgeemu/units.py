"""Instants and durations as whole milliseconds, and how people write them.

An instant is milliseconds since the Unix epoch, UTC; a duration is milliseconds. There are no
floats and no naive dates. `90s`, `2h30m` and `2030-01-01T00:00:00Z` exist only at the edge.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NewType

from edgeemu.errors import Code, EdgeemuError

InstantMs = NewType("InstantMs", int)
"""Milliseconds since the Unix epoch, UTC."""
DurationMs = NewType("DurationMs", int)
"""A length of time in milliseconds."""

SECOND_MS = DurationMs(1_000)
MINUTE_MS = DurationMs(60_000)
HOUR_MS = DurationMs(3_600_000)
DAY_MS = DurationMs(86_400_000)

INSTANT_MS_MAX = InstantMs(8_640_000_000_000_000)
"""The largest instant of a JavaScript `Date`, in ms; no alarm can be later."""
CLOCK_MS_MAX = InstantMs(253_402_300_799_999)
"""The last instant, in ms, that the clock can show: the end of year 9999, as Python's dates end."""
CLOCK_MS_MIN = InstantMs(-62_135_596_800_000)
"""The first instant, in ms, that the clock can show: the start of year 1."""
DURATION_MS_MAX = DurationMs(INSTANT_MS_MAX)

_UNITS_MS = {"ms": 1, "s": SECOND_MS, "m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS, "w": 7 * DAY_MS}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str) -> DurationMs:
    """This reads a duration such as `90s`, `5m`, `2h30m`, `30d` or `1500ms`, in milliseconds.

    Raises:
        EdgeemuError: `E_DURATION_INVALID` for anything else, negative durations included.
    """
    compact = text.strip().replace(" ", "")
    if not _DURATION.fullmatch(compact):
        raise EdgeemuError(
            Code.DURATION_INVALID,
            what=f"`{text}` is not a duration",
            why="a duration is one or more numbers, each with a unit: ms, s, m, h, d, w",
            fix="write it like 90s, 5m, 2h30m, 30d or 1500ms",
        )
    total = sum(float(number) * _UNITS_MS[unit] for number, unit in _PART.findall(compact))
    if total > DURATION_MS_MAX:
        raise EdgeemuError(
            Code.DURATION_INVALID,
            what=f"`{text}` is too long",
            why=f"the longest duration is {DURATION_MS_MAX // DAY_MS} days",
            fix="give a shorter one",
        )
    return DurationMs(round(total))


def format_duration(duration_ms: int) -> str:
    """This prints a duration in the largest units that say it exactly, such as `2h30m`."""
    if duration_ms < 0:
        return "-" + format_duration(-duration_ms)
    if duration_ms == 0:
        return "0s"
    parts = []
    rest = duration_ms
    for unit in ("d", "h", "m", "s", "ms"):
        count, rest = divmod(rest, _UNITS_MS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def parse_instant(text: str) -> InstantMs:
    """This reads an instant: ISO 8601 (UTC where no offset is given) or epoch milliseconds.

    Raises:
        EdgeemuError: `E_INSTANT_INVALID` for anything else.
    """
    stripped = text.strip()
    if re.fullmatch(r"-?\d+", stripped):
        value = int(stripped)
        if abs(value) <= INSTANT_MS_MAX:
            return InstantMs(value)
    else:
        try:
            moment = datetime.fromisoformat(stripped)
        except ValueError:
            moment = None
        if moment is not None:
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return instant_from_datetime(aware)
    raise EdgeemuError(
        Code.INSTANT_INVALID,
        what=f"`{text}` is not an instant",
        why="an instant is ISO 8601 or milliseconds since the epoch",
        fix="write it like 2030-01-01T00:00:00Z or 1893456000000",
    )


def instant_from_datetime(moment: datetime) -> InstantMs:
    """The instant of an aware `datetime`, rounded down to a whole millisecond."""
    return InstantMs((moment - _EPOCH) // timedelta(milliseconds=1))


@lru_cache(maxsize=1_024)  # A live log prints each instant several times in a row.
def format_instant(instant_ms: int) -> str:
    """This prints an instant as ISO 8601 in UTC, with milliseconds only where there are some."""
    try:
        moment = _EPOCH + timedelta(milliseconds=instant_ms)
    except OverflowError:
        return f"{instant_ms}ms"
    text = moment.replace(tzinfo=None).isoformat(timespec="seconds")  # 20 times strftime's speed.
    milliseconds = instant_ms % 1_000
    return f"{text}.{milliseconds:03d}Z" if milliseconds else f"{text}Z"
