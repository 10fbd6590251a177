"""The fact sheets of the platforms, which lie outside the project: beside it, or where one says."""

import os
import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
PLACE = "EDGEEMU_FACT_SHEETS"
"""The environment variable with the folder that holds `spec/` and `cases/`."""


def read_sheet(name: str) -> str:
    """The text of a sheet, such as `spec/telnyx-actors.md`; skips the test where there is none."""
    told = os.environ.get(PLACE)
    folders = [Path(told)] if told else sorted(_ROOT.parent.glob("*/"))
    found = [folder / name for folder in folders if (folder / name).is_file()]
    if not found:
        pytest.skip(f"NOT CHECKED: no {name} beside the project, nor in ${PLACE}")
    return found[0].read_text("utf-8")


def numbers(text: str, letter: str) -> set[int]:
    """The numbers of a kind, such as `U31`, `U32/U33` or `U39 to U47`, that a text names."""
    found: set[int] = set()
    for first, last in re.findall(rf"\b{letter}(\d+)(?:(?: to |-){letter}?(\d+))?\b", text):
        found.update(range(int(first), int(last or first) + 1))
    return found
