"""Every row of the fact sheet has a test that cites its section, and every case has a scenario.

`fact_sheet.txt` maps the rows of spec/telnyx-actors.md to the tests that hold them. Where the sheet
lies beside the project, the map is compared with it; the rest is checked everywhere.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest

from edgeemu.differences import CHOICES, MISSING
from tests.conformance.runner import HERE, LANGUAGES
from tests.conformance.test_conformance import SCENARIOS
from tests.support.fact_sheets import numbers, read_sheet

MAP = HERE / "fact_sheet.txt"
COVERED = {"2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "16"}
RESTATED = {"16.2", "16.3"}
"""Sections that say again what others say, and are held by the tests of those."""


@dataclass(frozen=True)
class Row:
    """One line of the map: a row of the sheet, by how it begins, and what holds it."""

    section: str
    begins: str
    held_by: str


def rows() -> Iterator[Row]:
    section = ""
    for line in MAP.read_text("utf-8").splitlines():
        if heading := re.fullmatch(r"\[(\d+(?:\.\d+)?)\]", line):
            section = heading[1]
        elif section and line:
            begins, _, held_by = line.partition(" => ")
            yield Row(section, begins, held_by)


ROWS = list(rows())
SECTION_OF = {choice.number: choice.section for choice in CHOICES}
BY_CASE = {scenario.case: scenario for scenario in SCENARIOS}


def evidence(row: Row) -> list[str]:
    """The tests that the map names for a row."""
    if row.held_by.startswith(("-- ", "waits: ")):
        return []
    return row.held_by.split(", ")


@cache
def source(file: str) -> str:
    return (HERE.parent / file).read_text("utf-8")


def cites(text: str, row: Row) -> bool:
    """Whether a text names a row's section, one above or below it, or an open point of it."""
    if points := numbers(row.begins, "U"):
        return bool(points & numbers(text, "U"))
    named = set(re.findall(r"[Ss]ections? (\d+(?:\.\d+)?)", text))
    named |= {SECTION_OF[point] for point in numbers(text, "U") if point in SECTION_OF}
    near = (row.section, row.section.partition(".")[0])
    return any(one in near or one.startswith(f"{row.section}.") for one in named)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section} {row.begins}")
def test_row_is_held_by_tests_that_are_there_and_cite_it(row: Row) -> None:
    assert row.held_by, "the map names nothing for this row"
    for test in evidence(row):
        if "::" in test:
            file, _, name = test.partition("::")
            found = source(file)
            assert f"def {name}(" in found, f"{file} has no {name}"
        else:
            assert test in BY_CASE, f"there is no scenario {test}"
            found = BY_CASE[test].source
        assert row.section in RESTATED or cites(found, row), f"{test} does not cite {row.section}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section} {row.begins}")
def test_row_waits_only_for_what_is_not_emulated(row: Row) -> None:
    if row.held_by.startswith("waits: "):
        what = row.held_by.removeprefix("waits: ")
        there = any(what in missing.what for missing in MISSING)
        assert there, f"{what} is there now: name the tests of this row in {MAP.name}"


def plain(text: str) -> str:
    """Text of the sheet without its marks."""
    return re.sub(r"\s+", " ", re.sub(r"[`*\\]", "", text)).strip()


def sheet_rows(sheet: str) -> Iterator[tuple[str, str]]:
    """Section and text of each row of a table, point of a list, and paragraph of the sheet."""
    section, inside, open_text = "", False, ""
    for line in [*sheet.splitlines(), ""]:
        is_row, is_point = line.startswith("|"), re.match(r"(\* |U\d+\. )", line)
        ends = is_row or is_point or not line.strip() or line.startswith(("#", "---"))
        if open_text and ends:
            yield section, plain(open_text)
            open_text = ""
        if heading := re.match(r"##+ (\d+(?:\.\d+)?)?", line):
            section = heading[1] or ""
        elif section.partition(".")[0] not in COVERED or line.startswith("---"):
            continue
        elif is_row:
            # The first row of a table is its head, and the second a rule.
            if inside and not re.fullmatch(r"[-| ]+", line):
                yield section, plain(re.split(r"(?<!\\)\|", line)[1])
        elif line.strip():
            open_text += line.removeprefix("* ") + " "
        inside = is_row


def test_map_has_every_row_of_the_sheet_once() -> None:
    left = list(ROWS)
    for section, text in sheet_rows(read_sheet("spec/telnyx-actors.md")):
        fits = [row for row in left if row.section == section and text.startswith(row.begins)]
        assert fits, f"{MAP.name} has no line for this row of section {section}: {text[:80]}"
        # The longest, so that `fetch` does not take the place of `fetch(req)`.
        left.remove(max(fits, key=lambda row: len(row.begins)))
    assert not left, f"the sheet has no such rows: {left}"


def cases_with_scenario(language: str) -> set[int]:
    """The cases that have a scenario which runs in a language."""
    return {
        int(case[1:3])
        for case, scenario in BY_CASE.items()
        if re.match(r"C\d\d", case) and scenario.only in ("", language)
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_case_has_a_scenario(language: str) -> None:
    cases = {
        int(number) for number in re.findall(r"^C(\d\d) \|", read_sheet("cases/telnyx.md"), re.M)
    }
    assert len(cases) > 40
    missing = cases - cases_with_scenario(language)
    assert not missing, f"no scenario has these numbers: {sorted(missing)}"


def test_map_is_able_to_fail() -> None:
    row = Row("8.2", "fractional when", "")
    assert cites("spec/telnyx-actors.md section 8", row)
    assert cites("Section 8.2", row)
    assert cites("U50", row)
    assert not cites("section 8.1, U23", row)
    point = Row("8.2", "U50.", "")
    assert cites("U49 to U51", point)
    assert not cites("section 8.2, U49", point)
    sheet = "## 2. A\n\n| a | b |\n|---|---|\n| `x` | y |\n\n* one\n  more\n* two\n## 14. B\n* no\n"
    assert list(sheet_rows(sheet)) == [("2", "x"), ("2", "one more"), ("2", "two")]
