"""`docs/errors.md` has an entry for each code, and no other; each stands in its family."""

import re
from pathlib import Path

import pytest

from edgeemu.errors import Code

PAGE = (Path(__file__).parents[2] / "docs/errors.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^### (\w+)$", PAGE, re.MULTILINE)


def test_every_code_has_an_entry_in_the_order_of_the_list() -> None:
    assert [code.text for code in Code] == ENTRIES


@pytest.mark.parametrize("code", Code, ids=lambda code: code.text)
def test_an_entry_says_something_and_stands_under_its_exit_status(code: Code) -> None:
    before, _, rest = PAGE.partition(f"\n### {code.text}\n")
    families = re.findall(r"^## .*\(exit status (\d)\)$", before, re.MULTILINE)
    assert int(families[-1]) == code.exit_status
    text = rest.partition("\n#")[0]
    assert len(text.split()) >= 8
