"""A store in memory: for tests, and for `dev --in-memory`. It keeps the promises of the port.

What a caller could change in place is held as the text that the SQLite store writes, so both
stores give back equal values, and nothing that a caller holds can change the state.
"""

from collections import deque
from collections.abc import Callable, Iterator
from heapq import nsmallest
from itertools import islice
from typing import Any, NamedTuple

import apsw
from msgspec.structs import replace

from edgeemu.core.journal import Recorded
from edgeemu.core.overlay import KeyRange
from edgeemu.core.rows import InstanceRow
from edgeemu.ids import InstanceId
from edgeemu.limits import JOURNAL_ENTRIES_MAX
from edgeemu.stores import packing
from edgeemu.stores.database import Database
from edgeemu.stores.ordering import SortedSet
from edgeemu.stores.packing import PackedEntry
from edgeemu.stores.port import Batch, DueAlarm, EndedAlarm, StoredTurn
from edgeemu.stores.virtual_time import VirtualTime

AlarmPlace = tuple[int, InstanceId]
"""Where an alarm stands in an order: the instant (ms, epoch), then type and name."""


class _Kept(NamedTuple):
    """A row, and as JSON text what a caller could still change in it."""

    row: InstanceRow
    last_turn: str | None
    last_error: str | None


class _Plan(NamedTuple):
    """A batch with every check and conversion behind it: carrying it out cannot fail."""

    turns: list[tuple[StoredTurn, _Kept]]
    meta: dict[str, str | None]
    entries: list[PackedEntry]
    recorded: list[Recorded]


class MemoryStore:
    """Keeps the state of a project for as long as the process lives.

    Args:
        journal_entries_max: entries kept; up to `packing.JOURNAL_PRUNE_ENTRIES` more between
            two prunings.
    """

    def __init__(self, *, journal_entries_max: int = JOURNAL_ENTRIES_MAX) -> None:
        self._journal_entries_max = journal_entries_max
        self._rows: dict[InstanceId, _Kept] = {}
        self._pending: dict[InstanceId, DueAlarm] = {}
        self._ids: SortedSet[InstanceId] = SortedSet()
        self._by_fire: SortedSet[AlarmPlace] = SortedSet()
        self._by_eligible: SortedSet[AlarmPlace] = SortedSet()
        self._keys: dict[InstanceId, dict[str, bytes]] = {}
        self._keys_sorted: dict[InstanceId, SortedSet[str]] = {}
        """Made for an instance when a range of its keys is first read; most never need it."""
        self._journal: deque[PackedEntry] = deque()
        self._seq = 0
        self._meta: dict[str, str] = {}
        self._databases: dict[InstanceId, Database] = {}
        self._now_ms: Callable[[], int] = lambda: 0
        self._time: VirtualTime | None = None

    def load(self, instance: InstanceId) -> InstanceRow:
        """The row of an instance; an empty one if it does not exist yet.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID`.
        """
        packing.check_instance(instance)
        kept = self._rows.get(instance)
        return InstanceRow() if kept is None else _give(kept)

    def read(self, instance: InstanceId, key: str) -> bytes | None:
        """The encoded value under a key.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID` or `E_KEY_INVALID`.
        """
        packing.check_instance(instance)
        packing.check_key(key)
        keys = self._keys.get(instance)
        return None if keys is None else keys.get(key)

    def read_range(self, instance: InstanceId, keys: KeyRange) -> list[tuple[str, bytes]]:
        """The entries in a range, in the range's order.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID` or `E_KEY_INVALID`.
        """
        packing.check_instance(instance)
        lower, upper = packing.key_bounds(keys)
        held = self._keys.get(instance)
        if not held:
            return []
        order = self._keys_sorted.get(instance)
        if order is None:
            order = self._keys_sorted[instance] = SortedSet()
            for key in sorted(held):
                order.add(key)
        walk = order.descend(lower, upper) if keys.reverse else order.ascend(lower, upper)
        limit = None if keys.limit is None else max(keys.limit, 0)
        return [(key, held[key]) for key in islice(walk, limit)]

    def measure(self, instance: InstanceId) -> tuple[int, int]:
        """How many keys an instance has, and how many bytes keys (in UTF-8) and values take.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID`.
        """
        packing.check_instance(instance)
        held = self._keys.get(instance, {})
        return len(held), sum(len(key.encode()) + len(value) for key, value in held.items())

    def use_clock(self, now_ms: Callable[[], int]) -> None:
        """Let SQL of actors take its present (ms since the epoch) from here."""
        self._now_ms = now_ms

    def sql(self, instance: InstanceId) -> Database:
        """The SQL database of an instance, made at its first use, with a transaction open.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID`.
        """
        database = self._databases.get(instance)
        if database is None:
            packing.check_instance(instance)
            if self._time is None:  # Most projects use no SQL.
                self._time = VirtualTime(self._now_ms)
            database = Database(apsw.Connection(":memory:", vfs=self._time.name))
            self._databases[instance] = database
        if not database.in_transaction:
            database.begin()
        return database

    def rollback_sql(self, instance: InstanceId) -> None:
        """Undo what the turn of an instance did in SQL, if its transaction is open."""
        database = self._databases.get(instance)
        if database is not None:
            database.rollback()

    def measure_sql(self, instance: InstanceId) -> int:
        """How many bytes the SQL database of an instance takes; 0 if it has none."""
        database = self._databases.get(instance)
        return 0 if database is None else database.size_bytes()

    def stands_alone(self, turn: StoredTurn) -> bool:
        """Whether a turn is applied in a batch without other turns."""
        return turn.sql

    def apply(self, batch: Batch) -> list[Recorded]:
        """Apply a batch whole or not at all; its journal entries as they stand now.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID` or `E_KEY_INVALID`; nothing is applied then.
        """
        plan = self._plan(batch)
        for turn, row in plan.turns:
            instance = turn.instance
            self._put_row(instance, row)
            if turn.cleared:
                self._keys.pop(instance, None)
                self._keys_sorted.pop(instance, None)
            for key, value in turn.puts.items():
                self._put_key(instance, key, value)
            if turn.sql:
                self._databases[instance].commit()
        for name, text in plan.meta.items():
            if text is None:
                self._meta.pop(name, None)
            else:
                self._meta[name] = text
        self._journal.extend(plan.entries)
        seq_before, self._seq = self._seq, self._seq + len(plan.entries)
        last_gone = packing.last_pruned(
            seq_before=seq_before, seq=self._seq, entries_max=self._journal_entries_max
        )
        while self._journal and self._journal[0][0] <= last_gone:
            self._journal.popleft()
        return plan.recorded

    def due(
        self, *, fire_by_ms: int | None, eligible_by_ms: int | None = None, limit: int
    ) -> list[DueAlarm]:
        """The pending alarms that fire first, ordered by (fire_at_ms, type, name).

        Args:
            fire_by_ms: only those that fire at or before this instant; None for all.
            eligible_by_ms: only those whose next attempt is due at or before this instant.
            limit: how many at most.
        """
        limit = max(limit, 0)
        if eligible_by_ms is None:
            return list(islice(self._walk(self._by_fire, fire_by_ms), limit))
        # With no bound to the firing, walking on in its order might visit every alarm there is
        # only to find that none is eligible: what fires after `eligible_by_ms` is sought by
        # eligibility instead.
        first = eligible_by_ms if fire_by_ms is None else fire_by_ms
        eligible = (
            each
            for each in self._walk(self._by_fire, first)
            if each.alarm.eligible_at_ms <= eligible_by_ms
        )
        found = list(islice(eligible, limit))
        if fire_by_ms is None and len(found) < limit:
            rest = (
                each
                for each in self._walk(self._by_eligible, eligible_by_ms)
                if each.alarm.fire_at_ms > eligible_by_ms
            )
            found += nsmallest(
                limit - len(found), rest, key=lambda each: (each.alarm.fire_at_ms, each.instance)
            )
        return found

    def alarms(self, *, type_name: str | None, limit: int) -> list[DueAlarm]:
        """The pending alarms, ordered by (eligible_at_ms, type, name)."""
        packing.check_filter(type_name)
        walk = (
            each
            for each in self._walk(self._by_eligible, None)
            if type_name is None or each.instance.type == type_name
        )
        return list(islice(walk, max(limit, 0)))

    def ended_alarms(self, *, type_name: str | None, limit: int) -> list[EndedAlarm]:
        """The last ended alarm of each instance that has one, newest end first, then type, name."""
        packing.check_filter(type_name)
        ended = (
            EndedAlarm(instance, past)
            for instance, kept in self._rows.items()
            if (past := kept.row.past_alarm) is not None
            and (type_name is None or instance.type == type_name)
        )
        return nsmallest(
            max(limit, 0), ended, key=lambda each: (-each.past.ended_at_ms, each.instance)
        )

    def instances(
        self, *, type_name: str | None = None, prefix: str = "", limit: int
    ) -> list[tuple[InstanceId, InstanceRow]]:
        """The instances that exist, ordered by (type, name); `prefix` is of the name."""
        packing.check_filter(type_name, prefix)
        first = None if type_name is None else InstanceId(type_name, prefix)
        found: list[tuple[InstanceId, InstanceRow]] = []
        for instance in self._ids.ascend(first):
            fits = instance.name.startswith(prefix)
            past = type_name is not None and (instance.type != type_name or not fits)
            if past or len(found) >= limit:
                break  # In this order, those of one type and prefix stand together.
            kept = self._rows[instance]
            if fits and kept.row.created_at_ms is not None:
                found.append((instance, _give(kept)))
        return found

    def journal(
        self,
        *,
        since_seq: int = 0,
        since_ms: int | None = None,
        instance: InstanceId | None = None,
        oldest_first: bool = False,
        limit: int,
    ) -> list[Recorded]:
        """Entries that match, in order of their numbers: the newest `limit` of them.

        Args:
            since_seq: only those with a greater number.
            since_ms: only those at or after this emulated instant.
            instance: only those of this instance.
            oldest_first: take the oldest `limit` instead.
            limit: how many at most.
        """
        if instance is not None:
            packing.check_instance(instance)
        # Numbers follow one another without a gap, so the first that may match is found by its own.
        journal = self._journal
        skipped = max(since_seq + 1 - journal[0][0], 0) if journal else 0
        walk: Iterator[PackedEntry]
        if oldest_first:
            walk = islice(journal, skipped, None)
        else:
            walk = islice(reversed(journal), max(len(journal) - skipped, 0))
        matching = (
            columns
            for columns in walk
            if (since_ms is None or columns[1] >= since_ms)
            and (instance is None or (columns[4], columns[5]) == instance)
        )
        found = list(map(packing.unpack_entry, islice(matching, max(limit, 0))))
        return found if oldest_first else found[::-1]

    def newest_turn(self, entries: int) -> int:
        """The greatest number of a turn among the newest `entries` of the journal; 0 for none."""
        newest = islice(reversed(self._journal), entries)
        return max((packed[packing.TURN_AT] or 0 for packed in newest), default=0)

    def read_meta(self, key: str) -> Any:
        """A JSON-safe value that a batch kept under `key`, or None."""
        text = self._meta.get(key)
        return None if text is None else packing.from_json(text)

    def close(self) -> None:
        """Let go of everything; nothing may be called afterwards."""
        for database in self._databases.values():
            database.close()
        if self._time is not None:
            self._time.unregister()

    def _plan(self, batch: Batch) -> _Plan:
        turns: list[tuple[StoredTurn, _Kept]] = []
        for turn in batch.turns:
            packing.check_instance(turn.instance)
            for key in turn.puts:
                packing.check_key(key)
            problem = self._databases[turn.instance].problem() if turn.sql else None
            if problem is not None:  # Whoever ends a turn has looked before.
                raise RuntimeError(f"the SQL of {turn.instance} cannot be kept: {problem}")
            turns.append((turn, _keep(turn.row)))
        meta = {
            key: None if value is None else packing.to_json(value)
            for key, value in batch.meta.items()
        }
        entries, recorded = packing.number_entries(batch, self._seq)
        return _Plan(turns, meta, entries, recorded)

    def _put_row(self, instance: InstanceId, kept: _Kept) -> None:
        if instance not in self._rows:
            self._ids.add(instance)
        self._rows[instance] = kept
        before, alarm = self._pending.get(instance), kept.row.alarm
        if before is not None and before.alarm != alarm:
            self._by_fire.discard((before.alarm.fire_at_ms, instance))
            self._by_eligible.discard((before.alarm.eligible_at_ms, instance))
            del self._pending[instance]
        if alarm is not None:
            self._pending[instance] = DueAlarm(instance, alarm)
            self._by_fire.add((alarm.fire_at_ms, instance))
            self._by_eligible.add((alarm.eligible_at_ms, instance))

    def _put_key(self, instance: InstanceId, key: str, value: bytes | None) -> None:
        held = self._keys.get(instance)
        order = self._keys_sorted.get(instance)
        if value is not None:
            if held is None:
                held = self._keys[instance] = {}
            held[key] = value
            if order is not None:
                order.add(key)
        elif held is not None and held.pop(key, None) is not None and order is not None:
            order.discard(key)

    def _walk(self, order: SortedSet[AlarmPlace], by_ms: int | None) -> Iterator[DueAlarm]:
        """The alarms of an order up to an instant, ascending."""
        upper: Any = None if by_ms is None else (by_ms + 1,)  # Below all that have a name.
        for _, instance in order.ascend(upper=upper):
            yield self._pending[instance]


def _keep(row: InstanceRow) -> _Kept:
    row = packing.storable_row(row)
    last_turn, last_error = row.last_turn, row.last_error
    return _Kept(
        row,
        None if last_turn is None else packing.to_json(last_turn),
        None if last_error is None else packing.to_json(last_error),
    )


def _give(kept: _Kept) -> InstanceRow:
    row, last_turn, last_error = kept
    if last_turn is None and last_error is None:
        return row
    return replace(
        row,
        last_turn=None if last_turn is None else packing.from_json(last_turn),
        last_error=None if last_error is None else packing.from_json(last_error),
    )
