"""The file of the SQLite store: its schema, how it is made and opened, and what its errors mean.

Promise: a file that cannot be used, because it is damaged, newer or not ours, is left byte for
byte as it was found. The file is made whole under another name and then renamed, so an empty or
half-made `state.sqlite` is damage and never a fresh start that hides a loss.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

from edgeemu.errors import EdgeemuError
from edgeemu.stores import problems

STATE_FILE = "state.sqlite"
SCHEMA_VERSION = 2
APPLICATION_ID = 0x65646765
"""`edge` in ASCII: tells our files from other SQLite files."""

FILE_BYTES_MIN = 512
"""The smallest page of SQLite."""

PAGE_BYTES = 2_048
"""Bytes of a page. A commit writes the pages that a turn touched, about ten, whole into the log:
half of SQLite's default makes it a quarter faster; smaller ones win nothing more."""

WAL_PAGES = 4_000
"""Pages in the write-ahead log at which a commit copies it into the file: 8 MB."""

WAL_BYTES_KEPT = 16 * 1024 * 1024
"""What is kept of a log that a large batch made grow."""

CACHE_KIB = 8_192
"""Memory for pages of the file."""

BUSY_WAIT_MS = 1_000
"""Real milliseconds that a commit waits for an outside program, such as a `sqlite3` shell."""

_SCHEMA = """
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE instances (
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    name TEXT NOT NULL,
    home TEXT NOT NULL DEFAULT 'shared',
    created_at_ms INTEGER,
    generation INTEGER NOT NULL,
    due_at_ms INTEGER,
    eligible_at_ms INTEGER,
    fire_at_ms INTEGER,
    retry_count INTEGER,
    alarm_generation INTEGER,
    set_at_ms INTEGER,
    set_by TEXT,
    set_turn INTEGER,
    past_state TEXT,
    past_due_at_ms INTEGER,
    past_attempts INTEGER,
    past_ended_at_ms INTEGER,
    past_set_at_ms INTEGER,
    past_set_by TEXT,
    last_delivery_at_ms INTEGER,
    faults TEXT,
    last_turn TEXT,
    last_error TEXT,
    UNIQUE (type, name)
);

-- Partial, so that only pending alarms cost anything. The second covers the search for alarms that
-- are due but fire later, which looks at many rows and returns few.
CREATE INDEX alarms_by_fire ON instances (fire_at_ms, type, name)
    WHERE fire_at_ms IS NOT NULL;
CREATE INDEX alarms_by_eligible ON instances (eligible_at_ms, type, name, fire_at_ms)
    WHERE eligible_at_ms IS NOT NULL;

CREATE TABLE keys (
    instance INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (instance, key)
) WITHOUT ROWID;

CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    now_ms INTEGER NOT NULL,
    real_at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    type TEXT,
    name TEXT,
    turn INTEGER,
    cause TEXT NOT NULL,
    data TEXT NOT NULL
);
-- No index by instance: each commit would write a page more, a sixth of what it costs, so that the
-- rare look at one instance takes 1 ms instead of 30 in a full journal.
"""

_PARTS = {
    "meta",
    "instances",
    "keys",
    "journal",
    "alarms_by_fire",
    "alarms_by_eligible",
    "own_files",
    "own_files_open",
}

_OWN_FILES = """
-- The instances with a file of their own, whose `home` is 'own' (design D5). `number` is the turn
-- of the file that this state knows of; `open` says that the file may be ahead by one.
CREATE TABLE own_files (
    instance INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,
    open INTEGER NOT NULL
);
CREATE INDEX own_files_open ON own_files (instance) WHERE open;
"""

_MIGRATIONS = {1: _OWN_FILES}
"""What turns a file of one schema version into the next."""

_PARTS_SINCE = {1: {"own_files", "own_files_open"}}
"""The parts that a file of an older version does not have yet."""

ROLLBACK = "ROLLBACK"

_UNUSABLE_WORDS = ("no such table", "no such column", "no such index", "no query solution")
"""What SQLite says when a part of the schema is missing."""


def open_state_file(path: Path, *, sync_full: bool) -> apsw.Connection:
    """A connection to the state file, which is made if there is none.

    Nothing is scanned: the cost does not grow with the state, except that the log of a killed
    process (a few megabytes at most) is read.

    Args:
        path: of the file; its folder exists and is locked.
        sync_full: wait for the disk at each commit, so that it survives the loss of power.

    Raises:
        EdgeemuError: `E_STATE_DAMAGED`, `E_STATE_NEWER` or `E_STATE_UNWRITABLE`.
    """
    try:
        if not path.exists():
            _make(path)
        connection = connect(path, lambda found: _check(found, path))
        ready = False
        try:
            tune(connection, sync_full=sync_full, wal_pages=WAL_PAGES, cache_kib=CACHE_KIB)
            connection.execute("DROP INDEX IF EXISTS journal_by_instance")  # Of files made before.
            _migrate(connection)
            ready = True
        finally:
            if not ready:
                connection.close(True)
    except apsw.Error as error:
        raise explained(path, error) or error from error
    except OSError as error:
        raise problems.unwritable(path, str(error)) from error
    return connection


def connect(
    path: Path,
    check: Callable[[apsw.Connection], None],
    *,
    folder: Path | None = None,
    vfs: str | None = None,
) -> apsw.Connection:
    """A connection to a file that is there; if it is refused, the file is as it was.

    Args:
        check: raises for a file that is not what it should be.
        folder: of the state; None if the file lies in it directly.
        vfs: the file system layer; None for the default one.

    Raises:
        EdgeemuError: `E_STATE_DAMAGED`, and what `check` raises.
        apsw.Error, OSError: what SQLite and the system report.
    """
    connection: apsw.Connection | None = None
    ready = False
    try:
        if not path.is_file():
            raise problems.damaged(path, "it is a folder, and a file is expected", folder)
        size_bytes = path.stat().st_size
        if size_bytes < FILE_BYTES_MIN:  # SQLite would take it for a new database.
            cause = f"the file has {size_bytes} bytes, less than any state"
            raise problems.damaged(path, cause, folder)
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
        # Until the file proves to be ours, closing must not move its log into it.
        log = _log_of(path)
        if log.exists() and log.stat().st_size > 0:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        check(connection)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        ready = True
    finally:
        if connection is not None and not ready:
            connection.close(True)
    return connection


def explained(path: Path, error: apsw.Error, folder: Path | None = None) -> EdgeemuError | None:
    """What an error of SQLite means to the user; None if it can only be a bug of edgeemu.

    Args:
        path: of the file where it was met.
        folder: of the state; None if the file lies in it directly.
    """
    text = str(error)
    if isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.FormatError):
        return problems.damaged(path, f"SQLite says: {text}", folder)
    if isinstance(error, apsw.SQLError) and any(word in text for word in _UNUSABLE_WORDS):
        return problems.damaged(path, f"SQLite says: {text}", folder)
    if getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHORT_READ:
        return problems.damaged(path, "the file ends too early", folder)
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return problems.held_by_other_program(path)
    refusals = apsw.FullError | apsw.IOError | apsw.ReadOnlyError | apsw.CantOpenError
    if isinstance(error, refusals | apsw.PermissionsError):
        return problems.unwritable(path, text, folder)
    return None


def _make(path: Path) -> None:
    """Make an empty state file, whole or not at all."""
    log = _log_of(path)
    if log.exists() and log.stat().st_size > 0:
        raise problems.damaged(path, f"the file is missing, while its log {log.name} is there")
    if any(path.parent.glob("sql/*/*.sqlite")):
        raise problems.damaged(path, "the file is missing, while the SQL data in `sql` is there")
    draft = path.with_name(path.name + ".new")
    for rest in files_of(draft):
        rest.unlink(missing_ok=True)
    connection = apsw.Connection(str(draft))
    try:
        connection.pragma("page_size", PAGE_BYTES)
        connection.pragma("journal_mode", "off")
        connection.execute("BEGIN;" + _SCHEMA + _OWN_FILES)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", SCHEMA_VERSION)
        connection.execute("COMMIT")
        connection.pragma("journal_mode", "wal")
    finally:
        connection.close(True)
    draft.replace(path)


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def files_of(path: Path) -> tuple[Path, Path, Path]:
    """A SQLite file, its write-ahead log, and the index of that."""
    return path, _log_of(path), path.with_name(path.name + "-shm")


def _check(connection: apsw.Connection, path: Path) -> None:
    """Refuse a file that is not ours, is newer, or lacks a part."""
    if connection.pragma("application_id") != APPLICATION_ID:
        raise problems.damaged(path, "it is a SQLite file, but not one that edgeemu made")
    version = int(connection.pragma("user_version"))
    if version > SCHEMA_VERSION:
        raise problems.newer(path, version=version, version_known=SCHEMA_VERSION)
    found = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    to_come = _PARTS_SINCE.get(version, set())
    if missing := sorted(_PARTS - found - to_come):
        raise problems.damaged(path, f"it lacks {', '.join(missing)}")


def _migrate(connection: apsw.Connection) -> None:
    """Bring a file of an older edgeemu to this schema, whole or not at all."""
    for version in range(int(connection.pragma("user_version")), SCHEMA_VERSION):
        with connection:
            connection.execute(_MIGRATIONS[version])
            connection.pragma("user_version", version + 1)


def tune(connection: apsw.Connection, *, sync_full: bool, wal_pages: int, cache_kib: int) -> None:
    """Set how a connection commits and caches.

    Args:
        sync_full: wait for the disk at each commit.
        wal_pages: pages in the log at which a commit copies it into the file.
        cache_kib: memory for pages.
    """
    connection.set_busy_timeout(BUSY_WAIT_MS)
    connection.pragma("journal_mode", "wal")
    # NORMAL waits for the disk only when the log is copied into the file: a killed process loses
    # nothing, and a loss of power the last commits at most, never the file.
    connection.pragma("synchronous", "full" if sync_full else "normal")
    connection.pragma("wal_autocheckpoint", wal_pages)
    connection.pragma("journal_size_limit", WAL_BYTES_KEPT)
    connection.pragma("cache_size", -cache_kib)
    connection.pragma("temp_store", "memory")


def trace(connection: apsw.Connection, before_statement: Callable[[str], None] | None) -> None:
    """Call `before_statement` before each statement, which then runs.

    Rolling back is left alone: it cannot fail in real life, and the test must find things clean.
    """

    def call(cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        if before_statement is not None and sql != ROLLBACK:
            before_statement(sql)
        return True

    if before_statement is not None:
        connection.exec_trace = call


def close_quietly(connection: apsw.Connection) -> None:
    """Close a connection; if its log cannot be copied into the file, the next open does it."""
    with suppress(apsw.Error):
        connection.close(True)
