"""The file of one instance that uses SQL: its data, its keys, and what its last turn left.

Promise: what a turn writes here is one transaction, and it carries all that the index in the state
file has to be told of it. A file that cannot be used, because it is missing, damaged, newer or of
another instance, is left as it was found.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from edgeemu.core.rows import InstanceRow
from edgeemu.ids import InstanceId
from edgeemu.limits import INTEGER_MAX
from edgeemu.stores import packing, problems
from edgeemu.stores.database import Database
from edgeemu.stores.keys import KeyTable
from edgeemu.stores.packing import PackedEntry
from edgeemu.stores.port import StoredTurn
from edgeemu.stores.sqlite_file import (
    PAGE_BYTES,
    close_quietly,
    connect,
    explained,
    files_of,
    trace,
    tune,
)

FOLDER = "sql"
"""Where the files lie in the state folder: `sql/<safe type>/<safe name>.sqlite` (design D5)."""

FORMAT = 1
"""The version of our tables; `user_version` belongs to the user's SQL."""

CACHE_KIB = 512
"""Memory for pages of one file: many are open at once."""

WAL_PAGES = 1_000
"""Pages in the write-ahead log of one file at which a commit copies it into the file: 2 MB."""

PAGES_MAX = 2**32 - 2
"""Pages of a file at most: what SQLite can count."""

KEYS = KeyTable("_edgeemu_keys", None)
"""The keys of the instance, in its own file."""

_SCHEMA = """
CREATE TABLE _edgeemu_keys (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- One row. The numbers count the turns in this file, so that the index shows if it is behind.
CREATE TABLE _edgeemu_turn (
    format INTEGER NOT NULL,
    type TEXT NOT NULL,
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    row TEXT NOT NULL,
    entries TEXT NOT NULL,
    meta TEXT NOT NULL
);
"""
_FIND_OWNER = "SELECT format, type, name FROM _edgeemu_turn"
_MAKE_TURN = "INSERT INTO _edgeemu_turn VALUES (?, ?, ?, 0, 'null', '[]', '{}')"
_WRITE_TURN = "UPDATE _edgeemu_turn SET number = ?, row = ?, entries = ?, meta = ?"
_READ_NUMBER = "SELECT number FROM _edgeemu_turn"
_READ_ROW = "SELECT row FROM _edgeemu_turn"
_READ_TURN = "SELECT row, entries, meta FROM _edgeemu_turn"

_PLAIN_TYPE = re.compile(r"[a-z][a-z0-9_]{0,59}")
_OLD_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
"""Types whose folders were named after them as they are, capital letters and all."""
_PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
"""Names that Windows keeps for itself."""

BeforeStatement = Callable[[str], None]


class LastTurn(NamedTuple):
    """What the index in the state file has to be told of a turn.

    Attributes:
        row: of the instance, packed.
        entries: for the journal, packed; their numbers are given anew.
        meta: what the turn's batch changed there.
    """

    row: tuple[Any, ...]
    entries: list[PackedEntry]
    meta: dict[str, Any]


class OwnFile:
    """The open file of one instance.

    Args:
        state_folder: of the whole state, which errors name.
        connection: to the file, checked and ready.
    """

    def __init__(
        self, state_folder: Path, path: Path, instance: InstanceId, connection: apsw.Connection
    ) -> None:
        self.path = path
        self.instance = instance
        self.connection = connection
        self.marked = False
        """Whether the state file says that this one may be ahead of it."""
        self._state_folder = state_folder
        self._database: Database | None = None
        self._pages_max = PAGES_MAX
        """How large the user's SQL may make the file."""
        self._bounded = False
        self._identity = _identity_of(path)

    @property
    def in_place(self) -> bool:
        """Whether the file still lies under its name: one that was deleted keeps nothing."""
        try:
            return _identity_of(self.path) == self._identity
        except OSError:
            return False

    @property
    def database(self) -> Database:
        """The user's SQL; made when it is first asked for, since keys alone do without."""
        if self._database is None:
            self._database = Database(self.connection)
            self._pages_max = int(self.connection.pragma("max_page_count"))
        return self._database

    @property
    def busy(self) -> bool:
        """Whether a turn has a transaction open."""
        return self._database is not None and self._database.in_transaction

    def begin(self) -> Database:
        """The user's SQL, with the transaction of a turn open."""
        database = self.database
        if not database.in_transaction:
            if not self._bounded:
                self.connection.pragma("max_page_count", self._pages_max)
                self._bounded = True
            database.begin()
        return database

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Tell of what SQLite reports here by the name of this file."""
        with _explaining(self.path, self._state_folder):
            yield

    def number(self) -> int:
        """How many turns the file has kept."""
        number = self.connection.execute(_READ_NUMBER).get
        if type(number) is not int or not 0 <= number < INTEGER_MAX:
            raise packing.UnreadableError(f"it does not say how many turns it has kept: {number!r}")
        return number

    def row(self) -> InstanceRow:
        """The row of the instance as its last turn left it."""
        columns = packing.from_json(self.connection.execute(_READ_ROW).get)
        return packing.unpack_row(columns)

    def last_turn(self) -> LastTurn:
        """What the last turn left for the index."""
        found: Any = self.connection.execute(_READ_TURN).fetchone()
        row, entries, meta = map(packing.from_json, found)
        packing.unpack_row(row)
        if not isinstance(entries, list) or not isinstance(meta, dict):
            raise packing.UnreadableError("its last turn cannot be read")
        for each in entries:
            packing.unpack_entry(each)
        return LastTurn(tuple(row), [tuple(each) for each in entries], meta)

    def write(
        self, turn: StoredTurn, number: int, entries: list[PackedEntry], meta: Mapping[str, Any]
    ) -> None:
        """Write what a turn leaves into its transaction, which is begun if it used no SQL."""
        if not turn.sql:
            self.rollback()
            self.connection.execute("BEGIN IMMEDIATE")
        elif problem := self.database.problem():
            raise problems.unwritable(self.path, problem, self._state_folder)
        if self._bounded:  # A full database still has to take what became of the turn.
            self.connection.pragma("max_page_count", PAGES_MAX)
            self._bounded = False
        cleared: list[tuple[()]] = [()] if turn.cleared else []
        for sql, bindings in KEYS.writes([((), turn.puts)], cleared):
            self.connection.executemany(sql, bindings)
        row = packing.pack_row(turn.row)
        told = (packing.to_json(row), packing.to_json(entries), packing.to_json(dict(meta)))
        self.connection.execute(_WRITE_TURN, (number, *told))

    def commit(self) -> None:
        """Keep the turn.

        Raises:
            EdgeemuError: `E_STATE_DAMAGED` if the file is no longer there; the turn stays open.
        """
        if not self.in_place:
            cause = "the file was deleted or replaced while it was open"
            raise problems.damaged(self.path, cause, self._state_folder)
        if self.busy:
            self.database.commit()
        else:
            self.connection.execute("COMMIT")

    def rollback(self) -> None:
        """Undo what the turn did, if its transaction is open."""
        if self._database is not None:
            self._database.rollback()
        elif self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def close(self, *, keep_log: bool = False) -> None:
        """Let go of the file; what an open transaction wrote is undone.

        Args:
            keep_log: leave the log beside the file, as a death would: copying it into the file
                waits for the disk.
        """
        if keep_log or not self.in_place:  # Another file may have come, with a log of its own.
            with suppress(apsw.Error):
                self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        close_quietly(self.connection)


class OwnFolder:
    """Makes, opens and deletes the files of instances in one state folder.

    Args:
        state_folder: of the whole state.
        sync_full: wait for the disk at each commit.
        before_statement: called before each statement and each operation on a file, for tests.
    """

    def __init__(
        self, state_folder: Path, *, sync_full: bool, before_statement: BeforeStatement | None
    ) -> None:
        self._state_folder = state_folder
        self._sync_full = sync_full
        self._before_statement = before_statement
        self.vfs: str | None = None
        """The file system layer that tells SQL the time."""

    def open(self, instance: InstanceId) -> OwnFile:
        """The file of an instance that has one.

        Raises:
            EdgeemuError: `E_STATE_DAMAGED`, `E_STATE_NEWER` or `E_STATE_UNWRITABLE`.
        """
        path = path_of(self._state_folder, instance)
        with _explaining(path, self._state_folder):
            if not path.exists():
                cause = f"the file is missing, which held the keys and SQL data of {instance}"
                raise problems.damaged(path, cause, self._state_folder)
            connection = connect(
                path,
                lambda found: self._check(found, path, instance),
                folder=self._state_folder,
                vfs=self.vfs,
            )
            return self._ready(path, instance, connection)

    def make(self, instance: InstanceId, keys: list[tuple[str, bytes]]) -> OwnFile:
        """A new file of an instance, which has so many keys and no turn.

        What a move that was cut short left behind is deleted first.

        Raises:
            EdgeemuError: `E_STATE_DAMAGED` if a file of another instance lies there,
                `E_STATE_UNWRITABLE`.
        """
        path = path_of(self._state_folder, instance)
        with _explaining(path, self._state_folder):
            self._check_leftover(path, instance)
            self._delete(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._note("CREATE FILE")
            connection = apsw.Connection(str(path), vfs=self.vfs)
            made = False
            try:
                trace(connection, self._before_statement)
                connection.pragma("page_size", PAGE_BYTES)
                # Until its first turn is kept the file may be lost at any instant; but a log that
                # was waited for is worth nothing beside a file that was not.
                connection.pragma("synchronous", "full" if self._sync_full else "off")
                connection.pragma("journal_mode", "wal")
                connection.execute("BEGIN IMMEDIATE;" + _SCHEMA)
                connection.execute(_MAKE_TURN, (FORMAT, *instance))
                connection.executemany(KEYS.put, keys)
                connection.execute("COMMIT")
                file = self._ready(path, instance, connection)
                made = True
                return file
            finally:
                if not made:
                    close_quietly(connection)
                    self._delete(path)

    def discard(self, file: OwnFile) -> None:
        """Close and delete a file that holds nothing yet."""
        file.close(keep_log=True)
        with _explaining(file.path, self._state_folder):
            self._delete(file.path)

    def _delete(self, path: Path) -> None:
        for each in files_of(path):
            if each.exists():
                self._note(f"DELETE FILE {each.name.removeprefix(path.name)}")
                each.unlink()

    def _note(self, operation: str) -> None:
        if self._before_statement is not None:
            self._before_statement(operation)

    def _ready(self, path: Path, instance: InstanceId, connection: apsw.Connection) -> OwnFile:
        tune(connection, sync_full=self._sync_full, wal_pages=WAL_PAGES, cache_kib=CACHE_KIB)
        trace(connection, self._before_statement)
        return OwnFile(self._state_folder, path, instance, connection)

    def _check(self, connection: apsw.Connection, path: Path, instance: InstanceId) -> None:
        """Refuse a file that is newer, or another instance's."""
        found = connection.execute(_FIND_OWNER).fetchone()
        if found is None:
            raise problems.damaged(path, "it does not say whose it is", self._state_folder)
        if type(found[0]) is not int:
            cause = f"its format is no number: {found[0]!r}"
            raise problems.damaged(path, cause, self._state_folder)
        if found[0] > FORMAT:
            raise problems.newer(path, version=found[0], version_known=FORMAT)
        owner = InstanceId(found[1], found[2])
        if owner != instance:
            cause = f"it is the file of {owner}, and that of {instance} is expected"
            raise problems.damaged(path, cause, self._state_folder)

    def _check_leftover(self, path: Path, instance: InstanceId) -> None:
        """Refuse to make a file where one of another instance lies; a half-made one is nobody's."""
        if not path.exists():
            return
        try:
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                connection.execute(_FIND_OWNER).fetchone()
                self._check(connection, path, instance)
            finally:
                close_quietly(connection)
        except apsw.Error:
            return


def path_of(state_folder: Path, instance: InstanceId) -> Path:
    """Where the file of an instance lies.

    Names stay readable where every file system can tell them apart; else a hash is added, so that
    no two instances have one file, wherever upper and lower case are the same. A file that lies in
    a folder of the old form, with capital letters, stays where it is.
    """
    type_name, name = instance
    root = state_folder / FOLDER
    file = f"{name if _is_plain(_PLAIN_NAME, name) else _hashed(name)}.sqlite"
    if _is_plain(_PLAIN_TYPE, type_name):
        return root / type_name / file
    path = root / _hashed(type_name) / file
    if not path.exists() and _is_plain(_OLD_TYPE, type_name):
        old = root / type_name / file
        # Where case does not count, `old` may also be found by the name of another type.
        if old.exists() and any(each.name == type_name for each in root.iterdir()):
            return old
    return path


def _is_plain(pattern: re.Pattern[str], text: str) -> bool:
    return bool(pattern.fullmatch(text)) and not _DEVICE.fullmatch(text)


def _identity_of(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _hashed(text: str) -> str:
    readable = re.sub(r"[^a-z0-9_-]", "_", text.lower()[:40])
    return f"{readable}.{hashlib.sha256(text.encode()).hexdigest()[:32]}"


@contextmanager
def _explaining(path: Path, state_folder: Path) -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        # A constraint that fails with the commit is the last thing left, and no bug of edgeemu.
        cause = explained(path, error, state_folder)
        raise cause or problems.unwritable(path, str(error), state_folder) from error
    except packing.UnreadableError as error:
        raise problems.damaged(path, str(error), state_folder) from error
    except OSError as error:
        raise problems.unwritable(path, str(error), state_folder) from error
