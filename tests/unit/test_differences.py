"""The table of differences is whole: each open point once, on the page, and held by a test."""

import re
from pathlib import Path

import pytest

from edgeemu.cli.differences import page
from edgeemu.differences import CHAPTERS, CHOICES, MISSING
from tests.support.fact_sheets import numbers, read_sheet

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs/differences.md"
COUNT = 78


def test_page_is_current() -> None:
    remedy = "out of date: run `python -m edgeemu.cli.differences > docs/differences.md`"
    assert PAGE.read_text("utf-8") == page(), remedy


def test_each_open_point_has_one_row() -> None:
    assert sorted(choice.number for choice in CHOICES) == list(range(1, COUNT + 1))
    for chapter in CHAPTERS:
        inside = [choice.number for choice in chapter.choices]
        assert inside == sorted(inside), chapter.title


def test_rows_say_something_and_break_no_table() -> None:
    for choice in CHOICES:
        for text in (choice.topic, choice.here, choice.change):
            assert "|" not in text, choice.id
            assert not text.endswith("."), choice.id
        assert choice.topic, choice.id
        assert choice.here, choice.id


def cited() -> set[int]:
    """The numbers that the sources of the tests name."""
    files = [file for file in TESTS.rglob("*.py") if file != Path(__file__)]
    return set().union(*(numbers(file.read_text("utf-8"), "U") for file in files))


def test_each_choice_is_cited_by_a_test() -> None:
    waiting = {number for row in MISSING for number in row.choices}
    unheld = {choice.number for choice in CHOICES} - cited() - waiting
    assert not unheld, f"name them in the test that holds them: {sorted(unheld)}"


def sections(sheet: str) -> dict[str, str]:
    """The text below each numbered heading of a fact sheet."""
    parts = re.split(r"^##+ (\d+(?:\.\d+)?)\.? .*$", sheet, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_fact_sheet_has_these_points_in_these_sections() -> None:
    sheet = sections(read_sheet("spec/telnyx-actors.md"))
    assert numbers(sheet["17"], "U") == {choice.number for choice in CHOICES}
    for choice in CHOICES:
        text = sheet[choice.section]
        assert choice.number in numbers(text, "U"), f"{choice.id} is not in {choice.section}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("U31", {31}),
        ("U32/U33, U9", {9, 32, 33}),
        ("U39 to U47", set(range(39, 48))),
        ("U39-U41", {39, 40, 41}),
        ("u0031 U\\u0031 FU31 U31x", set()),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, expected: set[int]) -> None:
    assert numbers(text, "U") == expected
