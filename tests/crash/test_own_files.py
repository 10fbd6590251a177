"""What is kept in a file of its own can be looked at, edited, carried away and thrown away."""

import pytest

from edgeemu.config import load_config
from edgeemu.emulator import Emulator, Options
from edgeemu.emulator.fresh import clear_state
from edgeemu.errors import EdgeemuError
from tests.crash.story import EVERY_MS, write_story
from tests.support.emulators import inst, run

ONE, TWO = inst("Till/one"), inst("Till/two")


def test_own_file_from_outside(tmp_path):
    """Each step in a process of its own, as commands without a server are."""
    write_story(tmp_path)
    folder = tmp_path / ".edgeemu"
    exported = {}

    async def step(body):
        options = Options(state_dir=folder, seed=1, alone=True)
        emulator = await Emulator.open(load_config(tmp_path), options)
        try:
            await body(emulator)
        finally:
            await emulator.close()

    async def write(emulator):
        await emulator.call(ONE, "open")
        await emulator.call(ONE, "add", [1])
        assert list(folder.glob("sql/till.*/one.sqlite"))

    async def look(emulator):
        assert emulator.storage.list(ONE) == {"add000001": 1, "sum": 1}
        assert emulator.storage.get(ONE, "sum") == 1
        assert [each["actor"] for each in emulator.alarms.list()] == ["Till/one"]
        exported.update(emulator.storage.export(ONE))

    async def edit(emulator):
        await emulator.storage.put(ONE, "note", "x")
        assert (await emulator.storage.delete(ONE, "note"))["deleted"]
        await emulator.storage.import_(TWO, exported)
        assert emulator.storage.list(TWO) == exported["keys"]
        with pytest.raises(EdgeemuError):
            await emulator.call(ONE, "fail")

    async def deliver(emulator):
        moved = await emulator.clock.advance(3 * EVERY_MS)
        assert (moved["succeeded"], moved["failed"]) == (4, 0)  # A minute apart, and late.
        (counted,) = await emulator.storage.sql(ONE, "SELECT count(*) AS n FROM notes", [])
        assert counted == {"n": 3}

    async def nothing(emulator):
        assert emulator.storage.list(ONE) == {}
        assert emulator.alarms.list() == []

    for body in (write, look, edit, deliver):
        run(step(body))
    assert "sql" in clear_state(folder)
    run(step(nothing))
    assert not (folder / "sql").exists()
