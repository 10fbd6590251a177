"""Every bound says in which unit it is and where it comes from; none is written a second time."""

import ast
import re
from pathlib import Path

import pytest

from edgeemu import limits

SOURCE = Path(limits.__file__).read_text(encoding="utf-8")
UNITS = re.compile(
    r"milliseconds|\bms\b|bytes|characters|integer|rows|entries|instants|deliveries|turns"
    r"|connections|warnings|instances|alarms|names|parameters|steps|strings|seconds|keys",
    re.IGNORECASE,
)
ORIGIN = re.compile(r"\((a choice: |design (D\d|section \d)|spec(/telnyx-actors\.md section)? )")


def documented() -> dict[str, str]:
    """Each constant and the text below it."""
    body = ast.parse(SOURCE).body
    found = {}
    for statement, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, ast.Assign):
            assert isinstance(statement.targets[0], ast.Name)
            value = below.value if isinstance(below, ast.Expr) else None
            text = value.value if isinstance(value, ast.Constant) else ""
            found[statement.targets[0].id] = " ".join(str(text).split())
    return found


@pytest.mark.parametrize(("name", "text"), documented().items())
def test_a_bound_has_its_unit_and_its_source(name: str, text: str) -> None:
    assert UNITS.search(text), f"{name}: in which unit?"
    assert ORIGIN.search(text), f"{name}: end with (spec ...), (design ...) or (a choice: why)"
    assert text.endswith(".")


def test_the_bounds_are_found() -> None:
    assert {"STORM_COUNT_MAX", "HEAD_BYTES_MAX"} <= set(documented())
    assert not ORIGIN.search("Bytes of a page.")


def test_the_largest_exact_integer_is_written_once() -> None:
    root = Path(limits.__file__).parent
    written = [
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"2\*\*53 *- *1|9_?007_?199_?254_?740_?991", path.read_text(encoding="utf-8"))
    ]
    assert written == ["limits.py"]
