"""An alarm of a type that left the configuration waits; it is neither delivered nor lost."""

from pathlib import Path
from typing import Any

from edgeemu.emulator import Emulator
from tests.support.emulators import frozen, inst, run_with, write_project

SOURCE = """
class A(StatefulActor):
    async def arm(self):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1_000)

    async def alarm(self, info):
        await self.ctx.storage.put("fired", info.retry_count)


class B(A):
    pass
"""


def test_an_alarm_waits_until_its_type_is_declared_again(tmp_path: Path) -> None:
    """Renaming an actor under way must not burn its alarms in four failed deliveries."""
    state, project = tmp_path / "state", tmp_path / "project"

    async def arm_both(emulator: Emulator) -> None:
        await emulator.call(inst("A/x"), "arm")
        await emulator.call(inst("B/y"), "arm")

    async def move(emulator: Emulator) -> tuple[dict[str, Any], list[str], list[str]]:
        moved = await emulator.clock.advance(60_000)
        pending = [alarm["actor"] for alarm in emulator.alarms.list()]
        codes = [entry["code"] for entry in emulator.journal() if entry["kind"] == "warning"]
        return moved, pending, codes

    both = write_project(project, SOURCE, types=("A", "B"))
    run_with(both, arm_both, frozen(state))
    only_b = write_project(project, SOURCE, types=("B",))
    moved, pending, codes = run_with(only_b, move, frozen(state))
    assert (moved["deliveries"], moved["succeeded"]) == (1, 1)
    assert pending == ["A/x"]
    assert codes == ["W_ALARM_ORPHAN"]
    moved, pending, _ = run_with(
        write_project(project, SOURCE, types=("A", "B")), move, frozen(state)
    )
    assert (moved["deliveries"], moved["succeeded"]) == (1, 1)
    assert pending == []
