"""Durations and instants: read, printed, and read again."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeemu.errors import Code, EdgeemuError
from edgeemu.units import (
    INSTANT_MS_MAX,
    format_duration,
    format_instant,
    instant_from_datetime,
    parse_duration,
    parse_instant,
)


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("0s", 0),
        ("1500ms", 1_500),
        ("90s", 90_000),
        ("5m", 300_000),
        ("2h30m", 9_000_000),
        ("2h 30m", 9_000_000),
        ("30d", 2_592_000_000),
        ("1w", 604_800_000),
        ("1.5h", 5_400_000),
        (" 5m ", 300_000),
    ],
)
def test_durations_are_read(text: str, duration_ms: int) -> None:
    assert parse_duration(text) == duration_ms


@pytest.mark.parametrize("text", ["", "5", "m", "-5m", "5x", "5m!", "1e3s", "5 minutes", "∞"])
def test_other_text_is_no_duration(text: str) -> None:
    with pytest.raises(EdgeemuError) as raised:
        parse_duration(text)
    assert raised.value.code is Code.DURATION_INVALID
    assert f"`{text}`" in raised.value.what


def test_durations_have_an_end() -> None:
    with pytest.raises(EdgeemuError, match="too long"):
        parse_duration("99999999999w")


@given(st.integers(0, 10**12))
def test_printed_durations_are_read_back(duration_ms: int) -> None:
    assert parse_duration(format_duration(duration_ms)) == duration_ms


def test_negative_durations_are_printed_only() -> None:
    assert format_duration(-90_000) == "-1m30s"


@pytest.mark.parametrize(
    ("text", "instant_ms"),
    [
        ("2030-01-01T00:00:00Z", 1_893_456_000_000),
        ("2030-01-01T02:00:00+02:00", 1_893_456_000_000),
        ("2030-01-01", 1_893_456_000_000),
        ("2030-01-01T00:00:00.250Z", 1_893_456_000_250),
        ("1893456000000", 1_893_456_000_000),
        ("-1", -1),
        ("0", 0),
    ],
)
def test_instants_are_read(text: str, instant_ms: int) -> None:
    assert parse_instant(text) == instant_ms


@pytest.mark.parametrize("text", ["", "tomorrow", "2030-13-01", "1.5", str(INSTANT_MS_MAX + 1)])
def test_other_text_is_no_instant(text: str) -> None:
    with pytest.raises(EdgeemuError) as raised:
        parse_instant(text)
    assert raised.value.code is Code.INSTANT_INVALID


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))
def test_printed_instants_are_read_back(moment: datetime) -> None:
    instant_ms = instant_from_datetime(moment.replace(tzinfo=UTC))
    assert parse_instant(format_instant(instant_ms)) == instant_ms


def test_instants_that_no_date_can_show_are_printed_as_numbers() -> None:
    assert format_instant(INSTANT_MS_MAX) == f"{INSTANT_MS_MAX}ms"


def test_datetimes_are_rounded_down() -> None:
    east = timezone(timedelta(hours=2))
    assert instant_from_datetime(datetime(1970, 1, 1, 2, microsecond=1_999, tzinfo=east)) == 1
    assert instant_from_datetime(datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)) == -1
