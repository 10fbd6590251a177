"""The store on disk: a SQLite file for all instances, and one for each that uses SQL (D5).

Promise: a batch is one transaction, and once `apply` returned it outlives the death of the
process; with `sync_full` also the loss of power. A batch that fails leaves nothing behind, neither
in the file nor in what this object remembers. One process at a time has a state folder open; a
`sqlite3` shell may read along.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import apsw

from edgeemu.core.journal import Recorded
from edgeemu.core.overlay import KeyRange
from edgeemu.core.rows import Alarm, InstanceRow
from edgeemu.ids import InstanceId
from edgeemu.limits import IDS_REMEMBERED_MAX, JOURNAL_ENTRIES_MAX
from edgeemu.stores import own_file, packing, problems
from edgeemu.stores.database import Database
from edgeemu.stores.lock import StateLock
from edgeemu.stores.own_file import OwnFile
from edgeemu.stores.own_files import OwnFiles
from edgeemu.stores.planning import KEYS, Plan, plan_batch
from edgeemu.stores.port import Batch, DueAlarm, EndedAlarm, StoredTurn
from edgeemu.stores.sqlite_file import (
    ROLLBACK,
    STATE_FILE,
    close_quietly,
    explained,
    open_state_file,
    trace,
)

_ROW = ", ".join(packing.ROW_COLUMNS)
_ALARM = "type, name, " + ", ".join(packing.ALARM_COLUMNS)
_PAST = "type, name, " + ", ".join(packing.PAST_COLUMNS)
_ENTRY = ", ".join(packing.ENTRY_COLUMNS)
_INSTANT_MAX = 2**63 - 1

_FIND = "SELECT id, home = 'own' FROM instances WHERE type = ? AND name = ?"
_LOAD = f"SELECT {_ROW} FROM instances WHERE type = ? AND name = ?"
_NEWEST_TURN = "SELECT max(turn) FROM (SELECT turn FROM journal ORDER BY seq DESC LIMIT ?)"
_DUE_BY_FIRE = (
    f"SELECT {_ALARM} FROM instances INDEXED BY alarms_by_fire"
    " WHERE fire_at_ms <= ? AND eligible_at_ms <= ?"
    " ORDER BY fire_at_ms, type, name LIMIT ?"
)
_DUE_BY_ELIGIBLE = (
    f"SELECT {_ALARM} FROM instances WHERE id IN ("
    "SELECT id FROM instances INDEXED BY alarms_by_eligible"
    " WHERE eligible_at_ms <= ? AND fire_at_ms > ?"
    " ORDER BY fire_at_ms, type, name LIMIT ?)"
    " ORDER BY fire_at_ms, type, name"
)
_Method = TypeVar("_Method", bound=Callable[..., Any])


class _Place(NamedTuple):
    """Where an instance is kept: its row number, and whether it has a file of its own."""

    row_id: int
    own: bool


def _explaining(method: _Method) -> _Method:
    """Turn what SQLite reports into an error that says what to do."""

    @wraps(method)
    def wrapped(self: "SqliteStore", *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except apsw.Error as error:
            raise explained(self.path, error) or error from error
        except packing.UnreadableError as error:
            raise problems.damaged(self.path, str(error)) from error

    return cast(_Method, wrapped)


def _settled(method: _Method) -> _Method:
    """Explain errors, and first tell the state file of what a file of an instance has kept."""

    @wraps(method)
    def wrapped(self: "SqliteStore", *args: Any, **kwargs: Any) -> Any:
        self._own.settle()
        return method(self, *args, **kwargs)

    return _explaining(cast(_Method, wrapped))


class SqliteStore:
    """Keeps the state of a project in its state folder.

    Every method may also raise `E_STATE_DAMAGED` when it meets a damaged part of the file, and
    `E_STATE_UNWRITABLE` when the system refuses.

    Args:
        folder: the state folder; made if missing.
        sync_full: wait for the disk at each commit.
        lock_wait_ms: real milliseconds to wait for another process to let go of the folder.
        journal_entries_max: entries kept; up to `packing.JOURNAL_PRUNE_ENTRIES` more between
            two prunings.
        before_statement: called with the SQL of each statement before it runs, for tests that
            make one fail by raising, or end the process there.

    Raises:
        EdgeemuError: `E_STATE_IN_USE`, `E_STATE_DAMAGED`, `E_STATE_NEWER` or
            `E_STATE_UNWRITABLE`; the folder is then unlocked, and its state as it was.
    """

    def __init__(
        self,
        folder: Path,
        *,
        sync_full: bool = False,
        lock_wait_ms: int = 0,
        journal_entries_max: int = JOURNAL_ENTRIES_MAX,
        before_statement: Callable[[str], None] | None = None,
    ) -> None:
        self.path = folder / STATE_FILE
        self._journal_entries_max = journal_entries_max
        self._places: dict[InstanceId, _Place] = {}
        self._counters_valid = False
        """Whether the numbers of the last instance and entry are those of the file."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise problems.unwritable(self.path, str(error)) from error
        self._lock = StateLock(folder, wait_ms=lock_wait_ms)
        opened = False
        db: apsw.Connection | None = None
        try:
            self._db = db = open_state_file(self.path, sync_full=sync_full)
            trace(self._db, before_statement)
            self._own = self._open_own(sync_full, before_statement)
            self._read_counters()
            opened = True
        finally:
            if not opened:
                if db is not None:
                    close_quietly(db)
                self._lock.close()

    @_explaining
    def _open_own(
        self, sync_full: bool, before_statement: Callable[[str], None] | None
    ) -> OwnFiles:
        """The files of instances that have one, with the state file told of what they kept."""
        own = OwnFiles(
            self._db,
            self.path.parent,
            sync_full=sync_full,
            before_statement=before_statement,
        )
        own.recover()
        return own

    @_explaining
    def _read_counters(self) -> None:
        """Where numbering goes on; both are the last entry of a tree, so nothing is scanned."""
        self._id_last: int = self._db.execute("SELECT max(id) FROM instances").get or 0
        self._seq: int = self._db.execute("SELECT max(seq) FROM journal").get or 0
        self._counters_valid = True

    @_explaining
    def load(self, instance: InstanceId) -> InstanceRow:
        """The row of an instance; an empty one if it does not exist yet.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID`.
        """
        packing.check_instance(instance)
        file = self._own_file(instance)
        if file is not None:
            with file.explaining():
                return file.row()
        row = self._db.execute(_LOAD, instance).fetchone()
        return InstanceRow() if row is None else packing.unpack_row(row)

    @_explaining
    def read(self, instance: InstanceId, key: str) -> bytes | None:
        """The encoded value under a key.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID` or `E_KEY_INVALID`.
        """
        packing.check_key(key)
        place = self._find(instance)
        if place is None:
            return None
        if place.own:
            file = self._own.open(place.row_id, instance)
            with file.explaining():
                return own_file.KEYS.read(file.connection, (), key)
        return KEYS.read(self._db, (place.row_id,), key)

    @_explaining
    def read_range(self, instance: InstanceId, keys: KeyRange) -> list[tuple[str, bytes]]:
        """The entries in a range, in the range's order.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID` or `E_KEY_INVALID`.
        """
        packing.key_bounds(keys)
        place = self._find(instance)
        if place is None:
            return []
        if place.own:
            file = self._own.open(place.row_id, instance)
            with file.explaining():
                return own_file.KEYS.read_range(file.connection, (), keys)
        return KEYS.read_range(self._db, (place.row_id,), keys)

    @_explaining
    def measure(self, instance: InstanceId) -> tuple[int, int]:
        """How many keys an instance has, and how many bytes keys (in UTF-8) and values take.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID`.
        """
        place = self._find(instance)
        if place is None:
            return 0, 0
        if place.own:
            file = self._own.open(place.row_id, instance)
            with file.explaining():
                return own_file.KEYS.measure(file.connection, ())
        return KEYS.measure(self._db, (place.row_id,))

    def use_clock(self, now_ms: Callable[[], int]) -> None:
        """Let SQL of actors take its present (ms since the epoch) from here."""
        self._own.use_clock(now_ms)

    @_explaining
    def sql(self, instance: InstanceId) -> Database:
        """The SQL database of an instance, in a file of its own, with a transaction open.

        An instance that used no SQL before is moved there if the turn is kept.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID`.
        """
        place = self._find(instance)
        if place is not None and place.own:
            return self._own.open_for_turn(place.row_id, instance).database
        row_id = None if place is None else place.row_id
        file = self._own.moving(instance) or self._own.start_move(row_id, instance)
        return file.database

    @_explaining
    def rollback_sql(self, instance: InstanceId) -> None:
        """Undo what the turn of an instance did in SQL, if its transaction is open."""
        place = self._find(instance)
        self._own.rollback(None if place is None else place.row_id, instance)

    @_explaining
    def measure_sql(self, instance: InstanceId) -> int:
        """How many bytes the SQL database of an instance takes; 0 if it has none."""
        file = self._own.moving(instance) or self._own_file(instance)
        if file is None:
            return 0
        with file.explaining():
            return file.database.size_bytes()

    def stands_alone(self, turn: StoredTurn) -> bool:
        """Whether a turn is applied in a batch without others: its commit is its own."""
        if turn.sql or not self._own.any:
            return turn.sql
        place = self._find(turn.instance)
        return place is not None and place.own

    @_explaining
    def apply(self, batch: Batch) -> list[Recorded]:
        """Apply a batch whole or not at all; its journal entries as they stand now.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID`, `E_KEY_INVALID`, `E_STATE_UNWRITABLE` or
                `E_STATE_DAMAGED`; nothing is applied then.
            ValueError: for a turn among others that stands alone.
        """
        any_own, stands_alone = self._own.any, self.stands_alone
        alone = [turn for turn in batch.turns if turn.sql or (any_own and stands_alone(turn))]
        if alone and len(batch.turns) > 1:
            raise ValueError(f"a turn of {alone[0].instance} is applied together with others")
        self._own.settle()
        if not self._counters_valid:
            self._read_counters()
        # Whatever ends this early, an interrupt right behind the commit included: count again.
        self._counters_valid = False
        plan = self._apply_own(batch, alone[0]) if alone else self._apply_shared(batch)
        self._seq += len(plan.recorded)
        self._id_last += len(plan.ids)
        self._counters_valid = True
        for instance, row_id in plan.ids.items():
            self._remember(instance, _Place(row_id, bool(alone)))
        return plan.recorded

    def _apply_shared(self, batch: Batch) -> Plan:
        plan = self._plan(batch)
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            plan.run(db)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:  # A full disk makes SQLite roll back by itself.
                db.execute(ROLLBACK)
            raise
        return plan

    def _apply_own(self, batch: Batch, turn: StoredTurn) -> Plan:
        for key in turn.puts:
            packing.check_key(key)
        index = [StoredTurn(turn.instance, turn.row)]
        plan = self._plan(Batch(index, batch.entries, batch.real_at_ms, batch.meta))
        place = self._find(turn.instance)
        row_id = plan.ids[turn.instance] if place is None else place.row_id
        # Where it is kept changes right now, and is looked up if this fails.
        self._places.pop(turn.instance, None)
        self._own.commit(turn, row_id, plan, batch.meta)
        return plan

    def _plan(self, batch: Batch) -> Plan:
        return plan_batch(
            batch,
            self._find_id,
            id_last=self._id_last,
            seq=self._seq,
            journal_entries_max=self._journal_entries_max,
        )

    @_settled
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
        eligible = _INSTANT_MAX if eligible_by_ms is None else eligible_by_ms
        # With no bound to the firing, walking on in its order might visit every alarm there is
        # only to find that none is eligible: what fires after `eligible_by_ms` is sought by
        # eligibility instead.
        first = eligible if fire_by_ms is None else fire_by_ms
        found = self._rows(_DUE_BY_FIRE, (first, eligible, limit))
        if fire_by_ms is None and eligible_by_ms is not None and len(found) < limit:
            bindings = (eligible, eligible, limit - len(found))
            found += self._rows(_DUE_BY_ELIGIBLE, bindings)
        return _due_alarms(found)

    @_settled
    def alarms(self, *, type_name: str | None, limit: int) -> list[DueAlarm]:
        """The pending alarms, ordered by (eligible_at_ms, type, name)."""
        packing.check_filter(type_name)
        sql = f"SELECT {_ALARM} FROM instances WHERE eligible_at_ms IS NOT NULL"
        bindings: list[Any] = []
        if type_name is not None:
            sql += " AND +type = ?"  # The plus keeps SQLite on the index that is in order.
            bindings.append(type_name)
        sql += " ORDER BY eligible_at_ms, type, name LIMIT ?"
        bindings.append(max(limit, 0))
        return _due_alarms(self._rows(sql, bindings))

    @_settled
    def ended_alarms(self, *, type_name: str | None, limit: int) -> list[EndedAlarm]:
        """The last ended alarm of each instance that has one, newest end first, then type, name."""
        packing.check_filter(type_name)
        sql = f"SELECT {_PAST} FROM instances WHERE past_state IS NOT NULL"
        bindings: list[Any] = []
        if type_name is not None:
            sql += " AND type = ?"
            bindings.append(type_name)
        sql += " ORDER BY past_ended_at_ms DESC, type, name LIMIT ?"
        bindings.append(max(limit, 0))
        return [
            EndedAlarm(InstanceId(columns[0], columns[1]), packing.unpack_past(columns[2:]))
            for columns in self._rows(sql, bindings)
        ]

    @_settled
    def instances(
        self, *, type_name: str | None = None, prefix: str = "", limit: int
    ) -> list[tuple[InstanceId, InstanceRow]]:
        """The instances that exist, ordered by (type, name); `prefix` is of the name."""
        packing.check_filter(type_name, prefix)
        sql = f"SELECT type, name, {_ROW} FROM instances WHERE created_at_ms IS NOT NULL"
        bindings: list[Any] = []
        prefix_end = packing.prefix_end(prefix)
        for condition, value in (
            ("type = ?", type_name),
            ("name >= ?", prefix or None),
            ("name < ?", prefix_end),
        ):
            if value is not None:
                sql += f" AND {condition}"
                bindings.append(value)
        sql += " ORDER BY type, name LIMIT ?"
        bindings.append(max(limit, 0))
        return [
            (InstanceId(columns[0], columns[1]), packing.unpack_row(columns[2:]))
            for columns in self._rows(sql, bindings)
        ]

    @_settled
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
        sql = f"SELECT {_ENTRY} FROM journal WHERE seq > ?"
        bindings: list[Any] = [since_seq]
        if since_ms is not None:
            sql += " AND now_ms >= ?"
            bindings.append(since_ms)
        if instance is not None:
            packing.check_instance(instance)
            sql += " AND type = ? AND name = ?"
            bindings += instance
        sql += f" ORDER BY seq {'ASC' if oldest_first else 'DESC'} LIMIT ?"
        bindings.append(max(limit, 0))
        found = [packing.unpack_entry(columns) for columns in self._rows(sql, bindings)]
        return found if oldest_first else found[::-1]

    @_settled
    def newest_turn(self, entries: int) -> int:
        """The greatest number of a turn among the newest `entries` of the journal; 0 for none."""
        found = self._db.execute(_NEWEST_TURN, (entries,)).get
        return found if isinstance(found, int) else 0

    @_settled
    def read_meta(self, key: str) -> Any:
        """A JSON-safe value that a batch kept under `key`, or None."""
        text = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
        return None if text is None else packing.from_json(text)

    def close(self) -> None:
        """Let go of everything; nothing may be called afterwards but `close`."""
        self._own.close()
        close_quietly(self._db)
        self._lock.close()

    def _rows(self, sql: str, bindings: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._db.execute(sql, bindings).fetchall()

    def _find(self, instance: InstanceId) -> _Place | None:
        """Where an instance is kept; None if it has no row."""
        place = self._places.get(instance)
        if place is None:
            packing.check_instance(instance)
            found = self._db.execute(_FIND, instance).fetchone()
            if found is not None:
                place = _Place(found[0], bool(found[1]))
                self._remember(instance, place)
        return place

    def _find_id(self, instance: InstanceId) -> int | None:
        place = self._find(instance)
        return None if place is None else place.row_id

    def _own_file(self, instance: InstanceId) -> OwnFile | None:
        """The file of an instance that has one of its own."""
        if not self._own.any:
            return None
        place = self._find(instance)
        if place is None or not place.own:
            return None
        return self._own.open_anew(place.row_id, instance)

    def _remember(self, instance: InstanceId, place: _Place) -> None:
        if len(self._places) >= IDS_REMEMBERED_MAX:
            self._places.clear()  # Rare, and each is found again in microseconds.
        self._places[instance] = place


def _due_alarms(found: list[tuple[Any, ...]]) -> list[DueAlarm]:
    """Alarms from rows of the columns in `_ALARM`."""
    return [DueAlarm(InstanceId(row[0], row[1]), Alarm(*row[2:])) for row in found]
