"""Alarms that are due together start by type and name, whoever is in memory (design D3)."""

from pathlib import Path
from typing import Any

from edgeemu.emulator import Emulator
from tests.support.emulators import inst, run_with, write_project

SOURCE = """
class A(StatefulActor):
    async def arm(self):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1_000)

    async def alarm(self, info):
        await self.env.A.id_from_name("log").note(self.ctx.id)

    async def note(self, name):
        await self.ctx.storage.put("seen", await self.ctx.storage.get("seen", []) + [name])
"""


def test_an_instance_that_has_to_be_made_keeps_its_place(tmp_path: Path) -> None:
    async def story(emulator: Emulator) -> Any:
        for name in ("d", "b", "a", "c"):
            await emulator.call(inst(f"A/{name}"), "arm")
        await emulator.evict(inst("A/a"))
        await emulator.evict(inst("A/c"))
        await emulator.clock.advance(1_000)
        return emulator.storage.get(inst("A/log"), "seen")

    assert run_with(write_project(tmp_path, SOURCE), story) == ["a", "b", "c", "d"]
