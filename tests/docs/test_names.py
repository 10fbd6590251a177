"""What the pages name is there: commands, codes, and what the fixture of tests offers."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from edgeemu.advice import WARNINGS
from edgeemu.cli.app import make_command
from edgeemu.core.warnings import RUNTIME_WARNINGS
from edgeemu.errors import Code
from edgeemu.testing import EdgeemuFixture
from edgeemu.testing.handles import ActorHandle, AlarmHandle, ClockHandle

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "templates").glob("*/*/README.md")),
]
HANDLES = {"edgeemu": EdgeemuFixture, "edgeemu.clock": ClockHandle, "session": ActorHandle}
HANDLES["session.alarm"] = AlarmHandle
SET_IN_INIT = {"clock", "seed", "emulator", "settings"}
ANY_METHOD = {"touch"}
"""What the sample actors are called with."""


@pytest.fixture(scope="module")
def root_command() -> Any:
    return make_command()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_a_page_are_there(page: Path, root_command: Any) -> None:
    text = page.read_text("utf-8")
    for line in re.findall(r"(?:`|^    |^\$ )edgeemu ([a-z][^`\n]*)", text, re.MULTILINE):
        command = root_command
        for word in line.split():
            if not hasattr(command, "list_commands"):
                break
            command = command.get_command(None, word)
            assert command is not None, f"edgeemu {line}"
        options = {name for param in command.params for name in param.opts}
        for option in re.findall(r"(?<=\s)--[a-z-]+", line.partition("#")[0]):
            assert option in options | {"--help"}, f"edgeemu {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_codes_of_a_page_are_there(page: Path) -> None:
    known = {code.text for code in Code} | {*WARNINGS, *RUNTIME_WARNINGS}
    named = set(re.findall(r"`([EW]_[A-Z_]+)`", page.read_text("utf-8")))
    assert named - known == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_uses_of_the_fixture_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    for holder, kind in HANDLES.items():
        for name in re.findall(rf"(?<![\w./]){re.escape(holder)}\.([a-z_]+)\b", text):
            # `edgeemu.toml` is a file, and `edgeemu.sdk` a module.
            other = holder == "edgeemu" and (name == "toml" or find_spec(f"edgeemu.{name}"))
            assert other or name in {*dir(kind), *SET_IN_INIT, *ANY_METHOD}, f"{holder}.{name}"
