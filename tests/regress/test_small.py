"""Small things that were found by hand, each held by a test."""

from pathlib import Path
from typing import Any

import pytest

from edgeemu.codec import UNDEFINED
from edgeemu.core.events import Outcome
from edgeemu.core.journal import Entry, Kind, Recorded
from edgeemu.emulator import Emulator
from edgeemu.errors import Code, EdgeemuError
from edgeemu.testing.strictness import Witness
from tests.support.emulators import inst, run_with, write_project

X = inst("A/x")

SOURCE = """
from edgeemu.codec import UNDEFINED

class A(StatefulActor):
    async def nothing(self):
        return UNDEFINED
"""


def test_a_method_may_give_undefined(tmp_path: Path) -> None:
    """U9: `undefined` at the caller is what a method without a result gives."""

    async def story(emulator: Emulator) -> Any:
        return await emulator.call(X, "nothing")

    assert run_with(write_project(tmp_path, SOURCE), story) is UNDEFINED


def test_a_key_with_half_a_character_is_refused_as_a_key(tmp_path: Path) -> None:
    async def story(emulator: Emulator) -> Code:
        with pytest.raises(EdgeemuError) as caught:
            await emulator.storage.put(X, "half \ud800", 1)
        return caught.value.code

    assert run_with(write_project(tmp_path, SOURCE), story) is Code.KEY_INVALID


def test_a_nul_byte_in_a_module_is_a_syntax_error_in_words(tmp_path: Path) -> None:
    config = write_project(tmp_path, SOURCE)
    (tmp_path / "main.py").write_bytes(b"x = 1\x00\n")
    with pytest.raises(EdgeemuError) as caught:
        run_with(config, lambda emulator: emulator.clock.idle())
    assert caught.value.code is Code.PROJECT_SYNTAX
    assert "None" not in caught.value.as_text()


@pytest.mark.parametrize(
    ("fault", "outcome", "expected"),
    [
        ("throw", Outcome.FAILED, True),
        ("timeout", Outcome.TIMED_OUT, True),
        ("crash-before-commit", Outcome.CRASHED, True),
        ("crash-before-commit", Outcome.FAILED, False),
    ],
)
def test_a_planned_crash_does_not_excuse_an_error_of_the_handler(
    fault: str, outcome: Outcome, expected: bool
) -> None:
    error = {"name": "ValueError", "message": "its own"}
    data = {"outcome": outcome.value, "fault": fault, "error": error}
    witness = Witness(())
    witness.watch([Recorded(1, 0, Entry(Kind.ALARM, 0, X, 1, "alarm", data))])
    assert (witness.verdict() is None) is expected
