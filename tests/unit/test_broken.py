"""A broken promise of the core stops the run, tells whoever waits, and leaves the journal."""

from pathlib import Path

import pytest

from edgeemu.core.instances import Instance
from edgeemu.core.journal import Recorded
from edgeemu.emulator import Emulator
from edgeemu.errors import InvariantError
from edgeemu.stores.port import Batch
from tests.support.emulators import inst, run_with, write_project

ACTOR = """
class A(StatefulActor):
    async def touch(self):
        await self.ctx.storage.put("k", 1)
"""


def test_a_broken_promise_ends_the_call_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller gets the breach instead of waiting for ever, and so does whoever runs the rest."""

    async def story(emulator: Emulator) -> None:
        told: list[BaseException] = []
        emulator.on_broken(told.append)
        await emulator.call(inst("A/x"), "touch")

        def breach(self: Instance, **_: bool) -> None:
            raise InvariantError("planted")

        monkeypatch.setattr(Instance, "check", breach)
        with pytest.raises(InvariantError, match="planted"):
            await emulator.call(inst("A/x"), "touch")
        monkeypatch.undo()
        assert [str(error) for error in told] == ["planted"]
        assert [entry["kind"] for entry in emulator.journal()] == ["init", "call"]

    run_with(write_project(tmp_path, ACTOR), story)


def test_a_store_that_fails_in_no_known_way_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows what of the turn is kept, so nothing goes on as if it were known."""

    async def story(emulator: Emulator) -> None:
        store = emulator._parts.store
        real = store.apply

        def fail(batch: Batch) -> list[Recorded]:
            if batch.turns:
                raise LookupError("planted")
            return real(batch)

        monkeypatch.setattr(store, "apply", fail)
        with pytest.raises(InvariantError, match="planted"):
            await emulator.call(inst("A/x"), "touch")

    run_with(write_project(tmp_path, ACTOR), story)
