"""A row that no edgeemu wrote is told as damage, and not as a bug."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeemu.emulator import Emulator
from edgeemu.errors import Code, EdgeemuError
from tests.support.emulators import frozen, inst, run_with, write_project

SOURCE = """
class A(StatefulActor):
    async def put(self):
        await self.ctx.storage.put("k", 1)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1_000)
"""
X = inst("A/x")


async def _put(emulator: Emulator) -> None:
    await emulator.call(X, "put")


async def _show(emulator: Emulator) -> Any:
    return emulator.show_instance(X)


async def _journal(emulator: Emulator) -> Any:
    return emulator.journal()


async def _get(emulator: Emulator) -> Any:
    return emulator.storage.get(X, "k")


async def _list(emulator: Emulator) -> Any:
    return emulator.storage.list(X)


async def _fire(emulator: Emulator) -> Any:
    return await emulator.alarms.fire(X)


@pytest.mark.parametrize(
    ("change", "look"),
    [
        ("UPDATE instances SET faults = '{bad'", _put),
        ("UPDATE instances SET faults = '{bad'", _fire),
        ("UPDATE instances SET faults = '{bad'", _show),
        ("UPDATE instances SET last_turn = '[1'", _show),
        ("UPDATE journal SET kind = 'unheard'", _journal),
        ("UPDATE journal SET data = '{bad'", _journal),
        ("UPDATE keys SET value = '{bad'", _get),
        ("UPDATE keys SET value = '{bad'", _list),
        ("UPDATE meta SET value = '[1'", _show),
        ("UPDATE meta SET value = '[1]' WHERE key = 'position'", _show),
        ("UPDATE meta SET value = '{\"mode\": \"odd\"}' WHERE key = 'position'", _show),
    ],
)
def test_damaged_row_is_told_as_damage(
    tmp_path: Path, change: str, look: Callable[[Emulator], Any]
) -> None:
    config = write_project(tmp_path, SOURCE)
    state = tmp_path / ".edgeemu"
    run_with(config, _put, frozen(state))
    with sqlite3.connect(state / "state.sqlite") as db:
        db.execute(change)
    db.close()
    with pytest.raises(EdgeemuError) as caught:
        run_with(config, look, frozen(state))
    assert caught.value.code is Code.STATE_DAMAGED


def test_damaged_row_is_left_out_by_a_move_and_told(tmp_path: Path) -> None:
    config = write_project(tmp_path, SOURCE)
    state = tmp_path / ".edgeemu"
    run_with(config, _put, frozen(state))
    with sqlite3.connect(state / "state.sqlite") as db:
        db.execute("UPDATE instances SET faults = '{bad'")
    db.close()

    async def body(emulator: Emulator) -> None:
        assert (await emulator.clock.advance(10_000))["deliveries"] == 0
        last = emulator.journal()[-2:]
        assert "W_STATE_AT_FAULT" in [entry.get("code") for entry in last]
        assert [alarm["state"] for alarm in emulator.alarms.list()] == ["waiting"]

    run_with(config, body, frozen(state))
