"""The actors of the crash tests, and what must hold of their state whenever a process died.

Fault model: the process ends between two machine instructions (`kill -9`); the file system and what
was handed to it survive. Answered is what the driver was told before the process died; the rest may
have happened or not, but only whole.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw

from edgeemu.codec import decode
from edgeemu.core.journal import Kind, Recorded
from edgeemu.core.overlay import KeyRange
from edgeemu.core.profile import PROFILES
from edgeemu.core.rows import InstanceRow
from edgeemu.emulator.position import next_turn_id
from edgeemu.ids import InstanceId
from edgeemu.limits import LIST_PAGE_MAX
from edgeemu.stores.sqlite import SqliteStore
from edgeemu.units import parse_instant

T0_MS = parse_instant("2030-01-01T00:00:00Z")
EVERY_MS = 60_000
ATTEMPTS_MAX = PROFILES["telnyx"].retry.attempts_max

CONFIG = """\
name = "crash"
main = "main.py"
seed = 1

[[actors]]
binding = "LEDGER"
type = "Ledger"

[[actors]]
binding = "TILL"
type = "Till"

[[actors]]
binding = "FLAKY"
type = "Flaky"

[clock]
mode = "frozen"
start = "2030-01-01T00:00:00Z"
"""

SOURCE = f'''\
"""Actors whose state shows at once whether a turn was torn apart."""

from edgeemu import AlarmInfo, StatefulActor


class Ledger(StatefulActor):
    """Each turn writes several keys and the alarm; they agree or something was lost."""

    async def add(self, number: int) -> int:
        storage = self.ctx.storage
        await storage.put(f"add{{number:06}}", number)
        await storage.put("sum", await storage.get("sum", 0) + number)
        if await storage.get_alarm() is None:
            await storage.set_alarm(self.ctx.now_ms() + {EVERY_MS})
        return number

    async def alarm(self, info: AlarmInfo) -> None:
        storage = self.ctx.storage
        count = await storage.get("delivered", 0) + 1
        await storage.put("delivered", count)
        await storage.put(f"fired{{count:06}}", self.ctx.now_ms())
        await storage.set_alarm(self.ctx.now_ms() + {EVERY_MS})


class Till(StatefulActor):
    """A ledger that writes SQL in the same turns, so that it has a file of its own."""

    def _note(self, kind: str, number: int) -> None:
        sql = self.ctx.storage.sql
        sql.exec("CREATE TABLE IF NOT EXISTS notes (kind, number)")
        sql.exec("INSERT INTO notes VALUES (?, ?)", kind, number)

    async def open(self) -> None:
        await self.ctx.storage.put("sum", await self.ctx.storage.get("sum", 0))
        if await self.ctx.storage.get_alarm() is None:
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + {EVERY_MS})

    async def fail(self) -> None:
        self._note("torn", 0)
        raise ValueError("never")

    async def add(self, number: int) -> int:
        storage = self.ctx.storage
        await storage.put(f"add{{number:06}}", number)
        self._note("add", number)
        await storage.put("sum", await storage.get("sum", 0) + number)
        if await storage.get_alarm() is None:
            await storage.set_alarm(self.ctx.now_ms() + {EVERY_MS})
        return number

    async def alarm(self, info: AlarmInfo) -> None:
        storage = self.ctx.storage
        count = await storage.get("delivered", 0) + 1
        await storage.put("delivered", count)
        await storage.put(f"fired{{count:06}}", self.ctx.now_ms())
        self._note("fired", self.ctx.now_ms())
        await storage.set_alarm(self.ctx.now_ms() + {EVERY_MS})


class Flaky(StatefulActor):
    """Its alarm always fails, so it is retried and at last given up."""

    async def arm(self) -> None:
        await self.ctx.storage.put("armed", True)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + {EVERY_MS})

    async def alarm(self, info: AlarmInfo) -> None:
        await self.ctx.storage.put("torn", info.retry_count)
        raise ValueError("never")
'''


def write_story(root: Path) -> None:
    """Write the project into a folder."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "edgeemu.toml").write_text(CONFIG)
    (root / "main.py").write_text(SOURCE)


@dataclass(slots=True)
class Answered:
    """What was answered so far, over all rounds on one state.

    Attributes:
        adds: address of a ledger to the numbers that it took.
        now_ms: the latest instant that anybody was told.
        moved_ms: the latest instant to which a move was answered: what was due by then has run.
    """

    adds: dict[str, set[int]] = field(default_factory=dict)
    now_ms: int = 0
    moved_ms: int = 0

    def note(self, line: str) -> None:
        """Take one line of a driver: `{"op": ..., ...}`."""
        told = json.loads(line)
        if told["op"] == "add":
            self.adds.setdefault(told["actor"], set()).add(told["number"])
        elif told["op"] == "advance":
            self.now_ms = max(self.now_ms, told["now_ms"])
            self.moved_ms = max(self.moved_ms, told["now_ms"])


def check_state(folder: Path, answered: Answered) -> dict[str, Any]:
    """Check every promise on the state of a process that died; what it holds.

    Raises:
        AssertionError: naming the promise that is broken.
    """
    store = SqliteStore(folder)
    try:
        position = store.read_meta("position") or {"now_ms": 0, "turn_id": 1}  # Died at once.
        rows = dict(store.instances(limit=LIST_PAGE_MAX))
        journal = store.journal(limit=LIST_PAGE_MAX)
        for instance, row in rows.items():
            entries = dict(store.read_range(instance, KeyRange()))
            values = {key: decode(data) for key, data in entries.items()}
            own = [each for each in journal if each.entry.instance == instance]
            if instance.type in ("Ledger", "Till"):
                _check_ledger(instance, row, values, answered)
                if instance.type == "Till":
                    _check_notes(store, instance, values)
            else:
                _check_flaky(instance, row, values, own)
            _check_deliveries(instance, own)
            if row.alarm is not None:
                late = f"{instance}: what was due when a move was answered is still pending"
                assert row.alarm.fire_at_ms >= answered.moved_ms, late
        for address in answered.adds:
            type_name, _, name = address.partition("/")
            assert InstanceId(type_name, name) in rows, f"{address} was answered and is gone"
        turn_id = next_turn_id(position, store)
        _check_clock(position, turn_id, answered, journal)
    finally:
        store.close()
    connection = apsw.Connection(str(folder / "state.sqlite"))
    assert connection.pragma("integrity_check") == "ok", "the file is damaged"
    connection.close()
    answered.now_ms = max(answered.now_ms, position["now_ms"])
    return {"instances": len(rows), "turns": turn_id, "now_ms": position["now_ms"]}


def _check_ledger(
    instance: InstanceId, row: InstanceRow, values: dict[str, Any], answered: Answered
) -> None:
    adds = {value for key, value in values.items() if key.startswith("add")}
    lost = answered.adds.get(str(instance), set()) - adds
    assert not lost, f"{instance}: answered and lost: {sorted(lost)}"
    assert values.get("sum", 0) == sum(adds), f"{instance}: half a turn was kept"
    fired = [value for key, value in sorted(values.items()) if key.startswith("fired")]
    assert values.get("delivered", 0) == len(fired), f"{instance}: half a delivery was kept"
    gaps = [later - earlier for earlier, later in pairwise(fired)]
    assert all(gap >= EVERY_MS for gap in gaps), f"{instance}: delivered too early: {fired}"
    assert row.alarm is not None or not values, f"{instance}: its alarm is lost"


def _check_notes(store: SqliteStore, instance: InstanceId, values: dict[str, Any]) -> None:
    """Keys and SQL tell the same."""
    expected = sorted(
        (kind, value)
        for key, value in values.items()
        for kind in ("add", "fired")
        if key.startswith(kind)
    )
    notes: list[Any] = []
    if expected or store.measure_sql(instance):
        query = "SELECT kind, number FROM notes ORDER BY kind, number"
        notes = store.sql(instance).exec(query).rows
        store.rollback_sql(instance)
    assert notes == expected, f"{instance}: keys and SQL were torn apart"


def _check_flaky(
    instance: InstanceId, row: InstanceRow, values: dict[str, Any], own: list[Recorded]
) -> None:
    assert "torn" not in values, f"{instance}: a failed delivery left something behind"
    if not values:
        return
    notes = (Kind.ALARM_SET, Kind.ALARM_RETRY, Kind.ALARM_GIVEN_UP)
    last = next((each.entry for each in reversed(own) if each.entry.kind in notes), None)
    assert last is not None, f"{instance}: it is armed and the journal does not know"
    if last.kind is Kind.ALARM_GIVEN_UP:
        assert row.alarm is None, f"{instance}: given up and still pending"
        assert last.data["attempts"] == ATTEMPTS_MAX, f"{instance}: given up early or late"
        return
    assert row.alarm is not None, f"{instance}: its alarm is lost"
    counted = last.data["retry_count"] if last.kind is Kind.ALARM_RETRY else 0
    assert row.alarm.retry_count == counted, f"{instance}: its retry counter was not kept"


def _check_deliveries(instance: InstanceId, own: list[Recorded]) -> None:
    """Every delivery started at or after its instant, each attempt counted one on."""
    retries: Counter[int] = Counter()
    for recorded in own:
        entry = recorded.entry
        if entry.kind is Kind.ALARM:
            started_ms, due_ms = entry.data["started_at_ms"], entry.data["due_at_ms"]
            assert started_ms >= due_ms, f"{instance}: delivered before its time"
            assert entry.data["late_ms"] >= 0, f"{instance}: retried before its time"
            attempt = retries[due_ms]
            assert entry.data["retry_count"] == attempt, f"{instance}: an attempt got lost"
            retries[due_ms] += entry.data["outcome"] != "succeeded"


def _check_clock(
    position: dict[str, Any], turn_id: int, answered: Answered, journal: list[Recorded]
) -> None:
    assert position["now_ms"] >= answered.now_ms, "the clock went back"
    instants = [each.entry.now_ms for each in journal]
    assert instants == sorted(instants), "the journal runs back in time"
    assert position["now_ms"] >= max(instants, default=0), "the clock is behind the journal"
    numbers = [each.seq for each in journal]
    assert numbers == list(range(1, len(numbers) + 1)), "an entry is missing"
    turns = [each.entry.turn for each in journal if each.entry.turn is not None]
    assert turn_id > max(turns, default=0), "a turn number would be given twice"
