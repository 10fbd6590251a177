"""The store on disk: one SQLite file for all instances of a project (design D5).

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
from edgeemu.sdk.errors import SqlError
from edgeemu.stores import packing, problems
from edgeemu.stores.database import Database
from edgeemu.stores.lock import StateLock
from edgeemu.stores.port import Batch, DueAlarm, EndedAlarm
from edgeemu.stores.sqlite_file import STATE_FILE, close_quietly, explained, open_state_file

_ROW = ", ".join(packing.ROW_COLUMNS)
_ALARM = "type, name, " + ", ".join(packing.ALARM_COLUMNS)
_PAST = "type, name, " + ", ".join(packing.PAST_COLUMNS)
_ENTRY = ", ".join(packing.ENTRY_COLUMNS)
_INSTANT_MAX = 2**63 - 1

_FIND_ID = "SELECT id FROM instances WHERE type = ? AND name = ?"
_LOAD = f"SELECT {_ROW} FROM instances WHERE type = ? AND name = ?"
_INSERT_ROW = (
    f"INSERT INTO instances ({_ROW}, id, type, name)"
    f" VALUES ({', '.join('?' * (len(packing.ROW_COLUMNS) + 3))})"
)
_UPDATE_ROW = (
    f"UPDATE instances SET {', '.join(f'{name} = ?' for name in packing.ROW_COLUMNS)} WHERE id = ?"
)
# Values are UTF-8 and kept as text, so that people can read them; the casts copy bytes as they
# are, where binding a `str` would decode and encode each value.
_READ = "SELECT CAST(value AS BLOB) FROM keys WHERE instance = ? AND key = ?"
_PUT = "REPLACE INTO keys (instance, key, value) VALUES (?, ?, CAST(? AS TEXT))"
_DELETE = "DELETE FROM keys WHERE instance = ? AND key = ?"
_CLEAR = "DELETE FROM keys WHERE instance = ?"
_RANGE = "SELECT key, CAST(value AS BLOB) FROM keys WHERE instance = ? AND key >= ?"
_MEASURE = (
    "SELECT count(*), coalesce(sum(octet_length(key) + octet_length(value)), 0)"
    " FROM keys WHERE instance = ?"
)
_RECORD = f"INSERT INTO journal ({_ENTRY}) VALUES ({', '.join('?' * len(packing.ENTRY_COLUMNS))})"
_NEWEST_TURN = "SELECT max(turn) FROM (SELECT turn FROM journal ORDER BY seq DESC LIMIT ?)"
_PRUNE = "DELETE FROM journal WHERE seq <= ?"
_PUT_META = "REPLACE INTO meta (key, value) VALUES (?, ?)"
_DELETE_META = "DELETE FROM meta WHERE key = ?"
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
_ROLLBACK = "ROLLBACK"

_Statements = list[tuple[str, Sequence[Sequence[Any]]]]
_Method = TypeVar("_Method", bound=Callable[..., Any])


class _Plan(NamedTuple):
    """A batch as statements, with every check and conversion behind it."""

    statements: _Statements
    ids: dict[InstanceId, int]
    """Row numbers of the instances that it makes."""
    recorded: list[Recorded]


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
        self._ids: dict[InstanceId, int] = {}
        self._counters_valid = False
        """Whether the numbers of the last instance and entry are those of the file."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise problems.unwritable(self.path, str(error)) from error
        self._lock = StateLock(folder, wait_ms=lock_wait_ms)
        opened = False
        try:
            self._db = open_state_file(self.path, sync_full=sync_full)
            self._read_counters()
            opened = True
        finally:
            if not opened:
                self._lock.close()
        if before_statement is not None:
            self._db.exec_trace = _tracer(before_statement)

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
        row = self._db.execute(_LOAD, instance).fetchone()
        return InstanceRow() if row is None else packing.unpack_row(row)

    @_explaining
    def read(self, instance: InstanceId, key: str) -> bytes | None:
        """The encoded value under a key.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID` or `E_KEY_INVALID`.
        """
        packing.check_key(key)
        row_id = self._find_id(instance)
        if row_id is None:
            return None
        value: bytes | None = self._db.execute(_READ, (row_id, key)).get
        return value

    @_explaining
    def read_range(self, instance: InstanceId, keys: KeyRange) -> list[tuple[str, bytes]]:
        """The entries in a range, in the range's order.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID` or `E_KEY_INVALID`.
        """
        lower, upper = packing.key_bounds(keys)
        row_id = self._find_id(instance)
        if row_id is None:
            return []
        sql, bindings = _RANGE, [row_id, lower]
        if upper is not None:
            sql += " AND key < ?"
            bindings.append(upper)
        sql += " ORDER BY key DESC" if keys.reverse else " ORDER BY key"
        if keys.limit is not None:
            sql += " LIMIT ?"
            bindings.append(max(keys.limit, 0))
        return self._rows(sql, bindings)

    @_explaining
    def measure(self, instance: InstanceId) -> tuple[int, int]:
        """How many keys an instance has, and how many bytes keys (in UTF-8) and values take.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID`.
        """
        row_id = self._find_id(instance)
        if row_id is None:
            return 0, 0
        ((count, size_bytes),) = self._rows(_MEASURE, (row_id,))
        return count, size_bytes

    def use_clock(self, now_ms: Callable[[], int]) -> None:
        """Let SQL of actors take its present (ms since the epoch) from here."""

    def sql(self, instance: InstanceId) -> Database:
        """The SQL database of an instance: not in this version.

        Raises:
            SqlError: always.
        """
        raise SqlError(f"SQL of {instance} works in memory only, in this version of edgeemu")

    def rollback_sql(self, instance: InstanceId) -> None:
        """Undo what the turn of an instance did in SQL, if its transaction is open."""

    def measure_sql(self, instance: InstanceId) -> int:
        """How many bytes the SQL database of an instance takes; 0 if it has none."""
        del instance
        return 0

    @_explaining
    def apply(self, batch: Batch) -> list[Recorded]:
        """Apply a batch whole or not at all; its journal entries as they stand now.

        Raises:
            EdgeemuError: `E_ADDRESS_INVALID`, `E_KEY_INVALID`, `E_STATE_UNWRITABLE` or
                `E_STATE_DAMAGED`; nothing is applied then.
        """
        if not self._counters_valid:
            self._read_counters()
        plan = self._plan(batch)
        db = self._db
        # Whatever ends this early, an interrupt right behind the commit included: count again.
        self._counters_valid = False
        db.execute("BEGIN IMMEDIATE")
        try:
            for sql, rows in plan.statements:
                if len(rows) == 1:  # The usual turn: a quarter of what `executemany` takes.
                    db.execute(sql, rows[0])
                else:
                    db.executemany(sql, rows)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:  # A full disk makes SQLite roll back by itself.
                db.execute(_ROLLBACK)
            raise
        self._seq += len(plan.recorded)
        self._id_last += len(plan.ids)
        self._counters_valid = True
        for instance, row_id in plan.ids.items():
            self._remember(instance, row_id)
        return plan.recorded

    @_explaining
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

    @_explaining
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

    @_explaining
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

    @_explaining
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

    @_explaining
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

    @_explaining
    def newest_turn(self, entries: int) -> int:
        """The greatest number of a turn among the newest `entries` of the journal; 0 for none."""
        found = self._db.execute(_NEWEST_TURN, (entries,)).get
        return found if isinstance(found, int) else 0

    @_explaining
    def read_meta(self, key: str) -> Any:
        """A JSON-safe value that a batch kept under `key`, or None."""
        text = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
        return None if text is None else packing.from_json(text)

    def close(self) -> None:
        """Let go of everything; nothing may be called afterwards but `close`."""
        close_quietly(self._db)
        self._lock.close()

    def _rows(self, sql: str, bindings: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._db.execute(sql, bindings).fetchall()

    def _find_id(self, instance: InstanceId) -> int | None:
        """The row number of an instance; None if it has no row."""
        row_id = self._ids.get(instance)
        if row_id is None:
            packing.check_instance(instance)
            row_id = self._db.execute(_FIND_ID, instance).get
            if row_id is not None:
                self._remember(instance, row_id)
        return row_id

    def _remember(self, instance: InstanceId, row_id: int) -> None:
        if len(self._ids) >= IDS_REMEMBERED_MAX:
            self._ids.clear()  # Rare, and each is found again in microseconds.
        self._ids[instance] = row_id

    def _plan(self, batch: Batch) -> _Plan:
        """The statements of a batch.

        Turns are folded, so that one statement of a kind serves them all: of each row and each
        key the last value counts, and clearing an instance discards what came before.
        """
        made: dict[InstanceId, int] = {}
        inserts: dict[int, Sequence[Any]] = {}
        updates: dict[int, Sequence[Any]] = {}
        cleared: dict[int, Sequence[Any]] = {}
        writes: dict[int, dict[str, bytes | None]] = {}
        for turn in batch.turns:
            instance = turn.instance
            row_id = made.get(instance) or self._find_id(instance)
            row = packing.pack_row(turn.row)
            if row_id is None:
                row_id = made[instance] = self._id_last + len(made) + 1
            if instance in made:
                inserts[row_id] = (*row, row_id, *instance)
            else:
                updates[row_id] = (*row, row_id)
            if turn.cleared:
                cleared[row_id] = (row_id,)
                writes.pop(row_id, None)
            for key in turn.puts:
                packing.check_key(key)
            if turn.puts:
                writes.setdefault(row_id, {}).update(turn.puts)
        puts: list[Sequence[Any]] = []
        deletes: list[Sequence[Any]] = []
        for row_id, keys in writes.items():
            for key, value in keys.items():
                if value is None:
                    deletes.append((row_id, key))
                else:
                    puts.append((row_id, key, value))
        entries, recorded = packing.number_entries(batch, self._seq)
        meta = batch.meta.items()
        statements: _Statements = [
            (_INSERT_ROW, list(inserts.values())),
            (_UPDATE_ROW, list(updates.values())),
            (_CLEAR, list(cleared.values())),
            (_DELETE, deletes),
            (_PUT, puts),
            (_RECORD, entries),
            (_PRUNE, self._prunings(len(entries))),
            (
                _PUT_META,
                [(key, packing.to_json(value)) for key, value in meta if value is not None],
            ),
            (_DELETE_META, [(key,) for key, value in meta if value is None]),
        ]
        return _Plan([each for each in statements if each[1]], made, recorded)

    def _prunings(self, entry_count: int) -> Sequence[Sequence[Any]]:
        last_gone = packing.last_pruned(
            seq_before=self._seq,
            seq=self._seq + entry_count,
            entries_max=self._journal_entries_max,
        )
        return [(last_gone,)] if last_gone else []


def _due_alarms(found: list[tuple[Any, ...]]) -> list[DueAlarm]:
    """Alarms from rows of the columns in `_ALARM`."""
    return [DueAlarm(InstanceId(row[0], row[1]), Alarm(*row[2:])) for row in found]


def _tracer(before_statement: Callable[[str], None]) -> Callable[[apsw.Cursor, str, Any], bool]:
    """A trace of a connection that calls `before_statement`, and lets every statement run.

    Rolling back is left alone: it cannot fail in real life, and the test must find things clean.
    """

    def trace(cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        if sql != _ROLLBACK:
            before_statement(sql)
        return True

    return trace
