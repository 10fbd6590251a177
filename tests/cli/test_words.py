"""The words in which entries, durations and typed values are read and shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeemu.cli import render
from edgeemu.cli.journal import _WRITERS, entry_lines, rounded, when
from edgeemu.cli.values import parse_advance, parse_json, parse_since, parse_value, parse_when
from edgeemu.cli.words import count, table
from edgeemu.codec import from_json, to_json
from edgeemu.core.journal import Kind
from edgeemu.errors import Code, EdgeemuError


def test_every_kind_of_entry_has_words() -> None:
    assert {kind.value for kind in Kind} == set(_WRITERS)


def test_turn_that_failed_and_kept_its_writes_says_so() -> None:
    entry = {"kind": "call", "now_ms": 0, "method": "move", "outcome": "failed"}
    error = {"name": "ActorOutputGateError", "message": "a transaction failed"}
    *_, last = entry_lines({**entry, "error": error, "writes_kept": True})
    assert last == ["    ", ("what it wrote outside of the transaction is kept", "dim")]
    *_, last = entry_lines({**entry, "error": error})
    assert "kept" not in str(last)


ENTRIES = [
    ({"kind": "alarm_stale"}, "a delivery was dropped: the alarm had been replaced or cleared"),
    (
        {"kind": "alarm_retry", "retry_count": 0, "attempts_max": 4, "next_attempt_at_ms": 1_000}
        | {"counted": False},
        "RETRY  attempt 1 of 4 is due at 1970-01-01T00:00:01Z (in 1s), not counted",
    ),
    (
        {
            "kind": "warning",
            "code": "W_SECONDS",
            "message": "looks like seconds",
            "where": "m.py:1",
        },
        "WARNING  W_SECONDS: looks like seconds (m.py:1)",
    ),
    (
        {"kind": "alarm", "retry_count": 1, "attempts_max": 4, "outcome": "succeeded"}
        | {"late_ms": 1_800_500},
        "alarm (attempt 2 of 4)  ok         0.0ms  30m late",
    ),
    (
        {"kind": "alarm", "retry_count": 0, "outcome": "succeeded", "late_ms": 1_000},
        "alarm (attempt 1)       ok         0.0ms",
    ),
    (
        {"kind": "fault_planned", "times": 0, "how": "throw", "message": "x"},
        "no delivery is planned to fail any more",
    ),
    (
        {"kind": "clock", "what": "advance", "mode": "frozen", "rate": 0.0, "moved_ms": 1_860}
        | {"deliveries": 0, "next_due_at_ms": 1_798_000},
        "clock advanced by 1s860ms (frozen): 0 deliveries, next alarm in 29m58s",
    ),
    (
        {"kind": "front", "method": "GET http://localhost/a", "outcome": "succeeded"}
        | {"status": 429},
        "fetch GET /a            ok         0.0ms  HTTP 429",
    ),
    ({"kind": "evicted", "reason": "crash"}, "left the memory (crash)"),
    (
        {"kind": "clock", "what": "mode", "mode": "rate", "rate": 60.0},
        "clock changed its mode (at 60x)",
    ),
    ({"kind": "of another version"}, "of another version"),
]


def test_a_warning_says_where_to_read_on() -> None:
    fields = {"kind": "warning", "code": "W_X", "message": "m", "where": None, "see": "docs/w.md#x"}
    _, below = entry_lines({"now_ms": 0, "actor": None, **fields})
    assert below == [("    see docs/w.md#x, or `edgeemu explain W_X`", "dim")]


@pytest.mark.parametrize(("fields", "words"), ENTRIES, ids=[case[1] for case in ENTRIES])
def test_entries_in_words(fields: dict, words: str) -> None:
    [line] = entry_lines({"now_ms": 0, "actor": None, **fields})
    assert render.plain(line) == f"1970-01-01T00:00:00Z      -                   {words}"


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "0s"),
        (1_500, "1s500ms"),
        (61_001, "1m1s"),
        (3_599_999, "59m59s"),
        (3_600_000, "1h"),
        (7_384_000, "2h3m"),
        (90_061_001, "1d1h"),
    ],
)
def test_durations_are_rounded_down_to_two_units(duration_ms: int, text: str) -> None:
    assert rounded(duration_ms) == text


def test_when() -> None:
    assert [when(0), when(5_000), when(-3_600_000)] == ["now", "in 5s", "1h ago"]


def test_counts() -> None:
    assert [count(1, "key"), count(2, "key"), count(0, "delivery", "deliveries")] == [
        *["1 key", "2 keys", "0 deliveries"]
    ]


@given(st.lists(st.lists(st.text(max_size=8), min_size=3, max_size=3), max_size=5))
def test_columns_of_a_table_line_up(rows: list[list[str]]) -> None:
    lines = [render.plain(line) for line in table(["A", "B", "C"], rows)]
    assert len(lines) == len(rows) + 1
    starts = {
        line.index(render.visible(row[2]), len(line) - len(render.visible(row[2])))
        for line, row in zip(lines, [["A", "B", "C"], *rows], strict=True)
    }
    assert len(starts) == 1


# --- what was typed ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("5.0", 5.0),
        ("01", "01"),
        ("+5", "+5"),
        ("1_000", "1_000"),
        ("true", True),
        ("True", "True"),
        ("null", None),
        ("", ""),
        (" ", " "),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("1e400", "1e400"),
        ('"5"', "5"),
        ("[1, 2]", [1, 2]),
        ("9007199254740991", 9007199254740991),
        ("9007199254740992", {"$bigint": "9007199254740992"}),
        ("[-9007199254740992]", [{"$bigint": "-9007199254740992"}]),
        ('{"$date": 0}', {"$date": 0}),
        ("9" * 5_000, "9" * 5_000),
    ],
)
def test_a_typed_value_is_json_if_it_parses_and_else_text(text: str, value: object) -> None:
    parsed, doubt = parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)
    assert doubt is None


@pytest.mark.parametrize("text", ["{a: 1}", "[1,", '"open', "[" * 100_000])
def test_text_that_looks_like_json_is_doubted(text: str) -> None:
    parsed, doubt = parse_value(text)
    assert parsed == text
    assert doubt


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text())
def test_a_printed_value_can_be_typed_again(value: object) -> None:
    parsed, _ = parse_value(render.json_text(to_json(value)))
    assert from_json(parsed) == value


def test_bad_json_is_named() -> None:
    with pytest.raises(EdgeemuError) as caught:
        parse_json("{" * 100)
    assert caught.value.code is Code.JSON_INVALID
    assert len(caught.value.what) < 90


def test_instants_from_now_and_ago() -> None:
    assert parse_when("+5m", 1_000) == 301_000
    assert parse_when("5", 1_000) == 5
    assert parse_since("5m", 301_000) == 1_000
    assert parse_since("1970-01-01T00:00:01Z", 0) == 1_000
    assert parse_advance("-1m30s") == -90_000


@given(st.text())
def test_what_is_shown_on_a_line_has_no_control_characters(text: str) -> None:
    shown = render.visible(text)
    assert len(shown.splitlines()) <= 1 or not set(shown) & set("\n\r\x0b\x0c\x1c\x1d\x1e\x85")
    assert all(ord(char) >= 32 and not 127 <= ord(char) < 160 for char in shown)
