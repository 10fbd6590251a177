"""What a test asks of its emulator: the marker's settings, merged and checked.

Promise: a setting that is misspelt or of the wrong kind fails the test before it runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from edgeemu.errors import Code, EdgeemuError
from edgeemu.units import InstantMs, instant_from_datetime, parse_duration, parse_instant

START_MS_DEFAULT = InstantMs(1_893_456_000_000)
"""Where the clock of a test starts: 2030-01-01T00:00:00Z, in ms (design section 5)."""

SEED_DEFAULT = 1
"""The seed of a test (design section 5)."""

ALLOW_GIVEN_UP = "given_up"
"""In `allow`: an alarm that is given up is no reason to fail."""

ALLOW_ALARM_LEFT = "alarm_left"
"""In `allow`: an alarm that is still pending at the end is no reason to warn or fail."""

_SETTINGS = ("start", "seed", "platform", "config", "allow", "alarm_left")
_OWN_SETTINGS = {"seed": "seed", "clock.start": "start", "clock.mode": None, "clock.rate": None}
"""Keys of the configuration that a test sets otherwise, or cannot set: its clock is frozen."""


class AlarmLeft(StrEnum):
    """What an alarm that is still pending when the test ends leads to."""

    IGNORE = "ignore"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class FixtureSettings:
    """How the emulator of one test is opened and judged.

    Attributes:
        start_ms: where the frozen clock starts.
        seed: of all randomness.
        overrides: values of the configuration, by key.
        allow: names of actor errors that are expected, `given_up` and `alarm_left`.
        alarm_left: what an alarm that is left pending leads to.
    """

    start_ms: int = START_MS_DEFAULT
    seed: int = SEED_DEFAULT
    overrides: Mapping[str, Any] = field(default_factory=dict)
    allow: frozenset[str] = frozenset()
    alarm_left: AlarmLeft = AlarmLeft.IGNORE


def merge_settings(
    markers: Iterable[tuple[Sequence[Any], Mapping[str, Any]]], *, alarm_left: str
) -> FixtureSettings:
    """The settings of a test from its markers.

    Args:
        markers: positional and named arguments of each marker, the nearest to the test first. A
            nearer one wins; `config` and `allow` of all of them add up.
        alarm_left: what counts where no marker says otherwise.

    Raises:
        EdgeemuError: `E_USAGE` for what cannot be a setting, `E_INSTANT_INVALID` for a start.
    """
    merged: dict[str, Any] = {"alarm_left": alarm_left}
    overrides: dict[str, Any] = {}
    allow: set[str] = set()
    for args, given in reversed(list(markers)):
        _check_names(args, given)
        merged.update(given)
        overrides.update(_checked_config(given.get("config", {})))
        allow.update(_checked_allow(given.get("allow", ())))
    if merged.get("platform") is not None:
        overrides["platform"] = merged["platform"]
    seed = merged.get("seed", SEED_DEFAULT)
    if type(seed) is not int:
        raise _refused("seed", seed, "a seed is a whole number", "write seed=1")
    start = merged.get("start", START_MS_DEFAULT)
    start_ms = instant_ms_of(start)
    return FixtureSettings(
        start_ms=start_ms,
        seed=seed,
        overrides=overrides,
        allow=frozenset(allow),
        alarm_left=_checked_alarm_left(merged["alarm_left"]),
    )


def duration_ms_of(duration: str | int | timedelta) -> int:
    """A duration in ms: text such as `5m`, whole milliseconds, or a `timedelta`.

    Raises:
        EdgeemuError: `E_DURATION_INVALID` for anything else.
    """
    if isinstance(duration, str):
        return parse_duration(duration)
    if isinstance(duration, timedelta):
        return duration // timedelta(milliseconds=1)
    if type(duration) is int:
        return duration
    raise EdgeemuError(
        Code.DURATION_INVALID,
        what=f"`{duration!r}` is not a duration",
        why="a duration is text, whole milliseconds or a timedelta",
        fix='write it like "5m", 300_000 or timedelta(minutes=5)',
    )


def instant_ms_of(instant: str | int | datetime) -> int:
    """An instant in ms since the epoch: ISO 8601, whole milliseconds, or an aware `datetime`.

    Raises:
        EdgeemuError: `E_INSTANT_INVALID` for anything else.
    """
    if isinstance(instant, str):
        return parse_instant(instant)
    if isinstance(instant, datetime) and instant.tzinfo is not None:
        return instant_from_datetime(instant)
    if type(instant) is int:
        return instant
    raise EdgeemuError(
        Code.INSTANT_INVALID,
        what=f"`{instant!r}` is not an instant",
        why="an instant is ISO 8601, milliseconds since the epoch or a datetime with a time zone",
        fix='write it like "2030-01-01T00:00:00Z" or datetime(2030, 1, 1, tzinfo=UTC)',
    )


def _check_names(args: Sequence[Any], given: Mapping[str, Any]) -> None:
    known = ", ".join(f"{name}=" for name in _SETTINGS)
    if args:
        raise _refused("the marker", args[0], "its settings are named", f"write one of {known}")
    for name in given:
        if name not in _SETTINGS:
            near = get_close_matches(name, _SETTINGS, n=1)
            fix = f"write {near[0]}=" if near else f"write one of {known}"
            raise _refused("the marker", name, f"it takes {known}", fix)


def _checked_config(config: Any) -> Mapping[str, Any]:
    if not isinstance(config, Mapping):
        raise _refused(
            "config", config, "it maps keys to values", 'write config={"limits.io_wait_ms": 100}'
        )
    for key, own in _OWN_SETTINGS.items():
        if key in config:
            why = "the clock of a test is frozen and moves when it is told to"
            fix = "use edgeemu.clock in the test" if own is None else f"write {own}= in the marker"
            raise _refused("config", key, why if own is None else "the marker has it", fix)
    return config


def _checked_allow(allow: Any) -> Iterable[str]:
    if isinstance(allow, str) or not isinstance(allow, Iterable):
        raise _refused("allow", allow, "it is a list of names", 'write allow=["ValueError"]')
    return map(str, allow)


def _checked_alarm_left(choice: Any) -> AlarmLeft:
    if choice in list(AlarmLeft):
        return AlarmLeft(choice)
    known = ", ".join(AlarmLeft)
    raise _refused("alarm_left", choice, f"it is one of {known}", 'write alarm_left="fail"')


def _refused(what: str, given: object, why: str, fix: str) -> EdgeemuError:
    return EdgeemuError(
        Code.USAGE,
        what=f"`{given}` is not right for {what} of @pytest.mark.edgeemu",
        why=why,
        fix=fix,
    )
