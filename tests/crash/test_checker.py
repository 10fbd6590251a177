"""The checker of the crash tests is checked: what it must catch, it catches."""

from typing import Any

import pytest
from msgspec.structs import replace

from edgeemu.config import load_config
from edgeemu.core.journal import Entry, Kind
from edgeemu.core.overlay import KeyRange
from edgeemu.emulator import Emulator, Options
from edgeemu.ids import InstanceId
from edgeemu.limits import POSITION_ENTRIES_MAX
from edgeemu.stores.port import Batch, StoredTurn
from edgeemu.stores.sqlite import SqliteStore
from tests.crash.story import EVERY_MS, Answered, check_state, write_story
from tests.support.emulators import inst, run

LEDGER = inst("Ledger/one")
FLAKY = inst("Flaky/one")


def _tamper(store, instance, **changes):
    """Change an instance behind everybody's back: `puts`, or fields of its row or alarm."""
    row = store.load(instance)
    puts = changes.pop("puts", {})
    alarm = changes.pop("alarm", {})
    if alarm is None:
        row = replace(row, alarm=None)
    elif alarm:
        row = replace(row, alarm=replace(row.alarm, **alarm))
    meta, entries = changes.pop("meta", {}), changes.pop("entries", ())
    store.apply(Batch([StoredTurn(instance, row, puts)], entries, meta=meta))


TAMPERING: dict[str, tuple[InstanceId, dict[str, Any], str]] = {
    "a lost write": (LEDGER, {"puts": {"add000001": None}}, "answered and lost"),
    "half a turn": (LEDGER, {"puts": {"sum": b"77"}}, "half a turn"),
    "half a delivery": (LEDGER, {"puts": {"delivered": b"9"}}, "half a delivery"),
    "an early delivery": (LEDGER, {"puts": {"fired000001": b"1893456179999"}}, "too early"),
    "a lost alarm": (LEDGER, {"alarm": None}, "alarm is lost"),
    "a forgotten delivery": (LEDGER, {"alarm": {"fire_at_ms": 1}}, "still pending"),
    "a lost attempt": (FLAKY, {"alarm": {"retry_count": 0}}, "retry counter"),
    "a torn failure": (FLAKY, {"puts": {"torn": b"1"}}, "left something behind"),
    "a clock that went back": (
        LEDGER,
        {"meta": {"position": {"now_ms": 1_893_456_000_000, "turn_id": 99}}},
        "clock went back",
    ),
    "a turn number given twice": (
        LEDGER,
        {
            "meta": {"position": {"now_ms": 1_893_457_000_000, "turn_id": 1}},
            "entries": [Entry(Kind.CLOCK, 1_893_457_000_000)] * POSITION_ENTRIES_MAX,
        },
        "given twice",
    ),
}


@pytest.mark.parametrize("name", TAMPERING)
def test_checker_sees(tmp_path, name):
    write_story(tmp_path)
    answered = Answered()

    async def story():
        options = Options(state_dir=tmp_path / ".edgeemu", seed=1, alone=True)
        emulator = await Emulator.open(load_config(tmp_path), options)
        await emulator.call(LEDGER, "add", [1])
        answered.adds["Ledger/one"] = {1}
        await emulator.clock.advance(2 * EVERY_MS)
        await emulator.call(FLAKY, "arm")
        moved = await emulator.clock.advance(EVERY_MS)
        answered.now_ms = answered.moved_ms = moved["now_ms"]
        await emulator.close()

    run(story())
    folder = tmp_path / ".edgeemu"
    check_state(folder, answered)
    instance, changes, told = TAMPERING[name]
    store = SqliteStore(folder)
    assert list(store.read_range(LEDGER, KeyRange(prefix="fired")))
    _tamper(store, instance, **dict(changes))
    store.close()
    with pytest.raises(AssertionError, match=told):
        check_state(folder, answered)
