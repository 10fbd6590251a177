"""What only the store on disk promises: it survives a kill, shares with nobody, and loses nothing.

Fault model: any statement may fail; the process may die before any statement or at any other
instant; the file may be damaged, newer, missing a part, or out of reach; another process may hold
the folder. In each case the state is the one before or the one after a batch, never in between,
and what cannot be used is left as it was found.
"""

import inspect
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from edgeemu.core.journal import Entry, Kind
from edgeemu.core.overlay import KeyRange
from edgeemu.core.rows import Alarm, InstanceRow
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.stores import sqlite_file
from edgeemu.stores.lock import StateLock
from edgeemu.stores.port import Batch, StoredTurn
from edgeemu.stores.sqlite import SqliteStore

ROOT = Path(__file__).resolve().parents[2]
ALICE = InstanceId("Session", "alice")
BOB = InstanceId("Session", "bob")
CHILD_WAIT_S = 60


def batch(number: int) -> Batch:
    """A batch that touches every table, in which everything carries one number."""
    pending = Alarm(number, number, number + 1, 0, number, 0, None, None)
    row = InstanceRow(created_at_ms=1, generation=number, alarm=pending)
    value = str(number).encode()
    turns = [
        StoredTurn(
            ALICE, row, {"number": value, f"key {number}": value, f"key {number - 1}": None}
        ),
        StoredTurn(BOB, row, {"number": value}, cleared=True),
        StoredTurn(InstanceId("New", str(number)), row),
    ]
    entries = [Entry(Kind.CALL, number, ALICE), Entry(Kind.CALL, number, BOB)]
    meta = {"number": number, "even" if number % 2 else "odd": None}
    return Batch(turns, entries, number, {**meta, "odd" if number % 2 else "even": number})


def number_of(store: SqliteStore) -> int:
    """The number of the last batch in the store, 0 for none; fails unless all of it is there."""
    number = store.read_meta("number") or 0
    assert store.read_meta("odd") == (number if number % 2 else None)
    value = str(number).encode()
    expected = {"number": value, f"key {number}": value} if number else {}
    assert dict(store.read_range(ALICE, KeyRange())) == expected
    assert store.read(BOB, "number") == (value if number else None)
    assert store.load(ALICE).generation == store.load(BOB).generation == number
    due = store.due(fire_by_ms=None, limit=10_000)
    assert [each.alarm.fire_at_ms for each in due[-2:]] == [number + 1] * 2 * bool(number)
    assert store.alarms(type_name=None, limit=10_000) == due
    assert len(store.instances(type_name="New", limit=10_000)) == number
    journal = store.journal(limit=10_000)
    assert [each.seq for each in journal] == list(range(1, 2 * number + 1))
    assert [each.real_at_ms for each in journal[-2:]] == [number] * 2 * bool(number)
    return number


def refusal(folder: Path, **options: Any) -> EdgeemuError:
    with pytest.raises(EdgeemuError) as caught:
        SqliteStore(folder, **options)
    return caught.value


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.name.startswith("lock") and path.suffix != ".sqlite-shm"
    }


def text_of(error: EdgeemuError, folder: Path) -> str:
    return error.as_text().replace(str(folder), "STATE")


# --- a batch is applied whole or not at all ----------------------------------------------------


class Broken(Exception):
    """Raised in place of a statement."""


class Countdown:
    """Fails statement number `left`."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self, sql: str) -> None:
        self.left -= 1
        if self.left == 0:
            raise Broken(sql)


def test_a_failure_at_any_statement_leaves_nothing(tmp_path):
    store = SqliteStore(tmp_path)
    store.apply(batch(1))
    store.close()
    failed: list[str] = []
    for at in range(1, 100):
        countdown = Countdown(-1)
        store = SqliteStore(tmp_path, before_statement=countdown)
        countdown.left = at
        try:
            recorded = store.apply(batch(2))
        except Broken as error:
            failed.append(str(error))
            assert number_of(store) == 1
        else:
            break
        finally:
            countdown.left = -1
            store.close()
    # Looking for three instances, both ends of the transaction, and each kind of write have failed.
    assert [sql.split()[0] for sql in failed] == (
        ["SELECT"] * 3
        + ["BEGIN", "INSERT", "UPDATE", "UPDATE", "DELETE", "DELETE"]
        + ["REPLACE"] * 3
        + ["INSERT", "INSERT", "REPLACE", "REPLACE", "DELETE", "COMMIT"]
    )
    assert [each.seq for each in recorded] == [3, 4]
    store = SqliteStore(tmp_path)
    assert number_of(store) == 2
    store.close()


def test_a_store_goes_on_after_a_failure(tmp_path):
    countdown = Countdown(-1)
    store = SqliteStore(tmp_path, before_statement=countdown)
    for number in range(1, 12):
        countdown.left = number + 3
        with pytest.raises(Broken):
            store.apply(batch(number))
        store.apply(batch(number))
        assert number_of(store) == number
    store.close()


def test_an_interrupt_behind_the_commit_keeps_the_numbering(tmp_path):
    store = SqliteStore(tmp_path)
    store.apply(batch(1))

    def interrupt(*_: Any) -> int:
        raise KeyboardInterrupt

    store._db.set_wal_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.apply(batch(2))
    store._db.set_wal_hook(None)
    assert number_of(store) == 2
    store.apply(batch(3))
    assert number_of(store) == 3
    store.close()


def test_a_full_disk_leaves_nothing_and_passes(tmp_path):
    store = SqliteStore(tmp_path)
    store.apply(batch(1))
    pages = store._db.pragma("page_count")
    store._db.pragma("max_page_count", pages)
    big = {f"key {number}": b"0" * 10_000 for number in range(10)}
    with pytest.raises(EdgeemuError) as caught:
        store.apply(Batch([StoredTurn(BOB, InstanceRow(1), big)]))
    assert text_of(caught.value, tmp_path) == (
        "error[E_STATE_UNWRITABLE]: the state in `STATE/state.sqlite` cannot be written\n"
        "why: the system says: database or disk is full\n"
        "fix: make STATE a folder that you may write to, on a disk with free space,"
        " or use another one: edgeemu dev --state-dir DIR"
    )
    assert number_of(store) == 1
    store._db.pragma("max_page_count", pages + 1_000)
    store.apply(batch(2))
    assert number_of(store) == 2
    store.close()


def test_a_lock_of_an_outside_program_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_file, "BUSY_WAIT_MS", 0)
    store = SqliteStore(tmp_path)
    store.apply(batch(1))
    outside = apsw.Connection(str(store.path))
    assert outside.execute("SELECT value FROM keys WHERE key = 'number'").fetchall() == [("1",)] * 2
    outside.execute("BEGIN IMMEDIATE")
    with pytest.raises(EdgeemuError) as caught:
        store.apply(batch(2))
    assert caught.value.code is Code.STATE_UNWRITABLE
    assert "`sqlite3` shell" in caught.value.why
    assert number_of(store) == 1
    outside.close()
    store.apply(batch(2))
    assert number_of(store) == 2
    store.close()


@pytest.mark.parametrize("sync_full", [False, True])
def test_what_was_applied_is_there_after_opening_again(tmp_path, sync_full):
    for number in range(1, 4):
        store = SqliteStore(tmp_path / "deep" / "state", sync_full=sync_full)
        assert number_of(store) == number - 1
        store.apply(batch(number))
        store.close()
        store.close()
    names = sorted(path.name for path in (tmp_path / "deep" / "state").iterdir())
    assert names == ["lock", "state.sqlite"]


def test_opening_reads_as_much_of_a_large_state_as_of_a_small_one(tmp_path):
    reads = []
    for count in (10, 5_000):
        row = InstanceRow(1, alarm=Alarm(1, 1, 1, 0, 1, 1, None, None))
        ids = [InstanceId("Session", str(number)) for number in range(count)]
        store = SqliteStore(tmp_path / str(count))
        entries = [Entry(Kind.CALL, 1, instance) for instance in ids]
        store.apply(Batch([StoredTurn(each, row, {"key": b"0"}) for each in ids], entries))
        store.close()
        store = SqliteStore(tmp_path / str(count))
        pages, _ = store._db.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)
        reads.append(pages)
        store.close()
    small, large = reads
    assert large <= small + 4  # The trees are deeper.


# --- death of the process ----------------------------------------------------------------------

CHILD = """
import os, signal, sys
from pathlib import Path
from edgeemu.core.journal import Entry, Kind
from edgeemu.core.rows import Alarm, InstanceRow
from edgeemu.ids import InstanceId
from edgeemu.stores.port import Batch, StoredTurn
from edgeemu.stores.sqlite import SqliteStore

ALICE, BOB = InstanceId("Session", "alice"), InstanceId("Session", "bob")
BATCH

folder, first, statement_last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
statements = 0

def die_in_time(sql):
    global statements
    statements += 1
    if statements == statement_last:
        os.kill(os.getpid(), signal.SIGKILL)

store = SqliteStore(folder, before_statement=die_in_time)
for number in range(first, first + 10_000):
    store.apply(batch(number))
    print(number, flush=True)
"""


def start_child(folder: Path, *, first: int, statement_last: int = 0) -> subprocess.Popen[str]:
    """A process that applies one batch after the other, and says so each time."""
    script = CHILD.replace("BATCH", inspect.getsource(batch))
    arguments = [sys.executable, "-c", script, str(folder), str(first), str(statement_last)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, cwd=ROOT, text=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_kill_between_any_two_instants_loses_nothing_answered(tmp_path):
    number = 0
    for answers in (1, 40, 170):
        with start_child(tmp_path, first=number + 1) as child:
            assert child.stdout is not None
            for _ in range(answers):
                child.stdout.readline()
            in_use = refusal(tmp_path)
            child.kill()
            rest = child.stdout.read()
        answered = max([number + answers, *map(int, rest.split())])
        assert text_of(in_use, tmp_path) == (
            "error[E_STATE_IN_USE]: the state folder `STATE` is in use\n"
            f"why: process {child.pid} has it open,"
            " and two at a time would overwrite each other's state\n"
            "fix: stop that process, or use another folder: edgeemu dev --state-dir DIR"
        )
        store = SqliteStore(tmp_path)
        number = number_of(store)
        assert number in (answered, answered + 1)
        store.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_kill_before_any_statement_leaves_no_half_batch(tmp_path):
    number, statement_count = 0, 16
    for statement in range(1, 2 * statement_count + 1, 3):
        child = start_child(tmp_path, first=number + 1, statement_last=statement)
        output, _ = child.communicate(timeout=CHILD_WAIT_S)
        assert child.returncode == -signal.SIGKILL
        store = SqliteStore(tmp_path)
        answered = max([number, *map(int, output.split())])
        number = number_of(store)
        assert number == answered
        store.close()


# --- one process at a time ---------------------------------------------------------------------


def test_second_open_in_this_process_is_refused(tmp_path):
    store = SqliteStore(tmp_path)
    error = refusal(tmp_path)
    assert error.code is Code.STATE_IN_USE
    assert f"process {os.getpid()} " in error.why
    store.apply(batch(1))
    store.close()
    store = SqliteStore(tmp_path)
    assert number_of(store) == 1
    store.close()


def test_unknown_holder_is_not_named(tmp_path):
    lock = StateLock(tmp_path)
    (tmp_path / "lock.pid").write_text("?")
    assert refusal(tmp_path).why.startswith("another process has it open")
    lock.close()
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_a_command_may_wait_for_the_folder(tmp_path):
    store = SqliteStore(tmp_path)
    store.apply(batch(1))
    found: list[int] = []
    begun = threading.Event()

    def wait() -> None:
        begun.set()
        second = SqliteStore(tmp_path, lock_wait_ms=CHILD_WAIT_S * 1_000)
        found.append(number_of(second))
        second.close()

    waiter = threading.Thread(target=wait)
    waiter.start()
    begun.wait(CHILD_WAIT_S)
    store.close()
    waiter.join(CHILD_WAIT_S)
    assert found == [1]


# --- state that cannot be used -----------------------------------------------------------------


def closed_state(folder: Path) -> Path:
    """The path of a state file with some batches in it."""
    store = SqliteStore(folder)
    for number in range(1, 30):
        store.apply(batch(number))
    store.close()
    return store.path


def test_newer_state_is_left_as_it_is(tmp_path):
    path = closed_state(tmp_path)
    writer = apsw.Connection(str(path))
    writer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    writer.pragma("user_version", 99)  # Stays in the log, as after a kill.
    writer.close()
    before = files(tmp_path)
    error = refusal(tmp_path)
    assert text_of(error, tmp_path) == (
        "error[E_STATE_NEWER]: the state in `STATE/state.sqlite` was written by a newer edgeemu\n"
        "why: its schema has version 99, and this edgeemu knows versions up to 2;"
        " the state was left as it is\n"
        "fix: upgrade with `pip install --upgrade edgeemu`,"
        " or use another folder: edgeemu dev --state-dir DIR"
    )
    assert files(tmp_path) == before
    assert refusal(tmp_path).code is Code.STATE_NEWER  # The folder was let go of.


def _replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _replace_by_other(path: Path) -> None:
    path.unlink()
    _run(path, "CREATE TABLE mine (x)")


def _garble_schema(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100:1_000] = b"\xff" * 900
    path.write_bytes(content)


def _run(path: Path, sql: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()


NO_DATABASE = "SQLite says: file is not a database"
MALFORMED = "SQLite says: database disk image is malformed"
NOT_OURS = "it is a SQLite file, but not one that edgeemu made"
LOG_LEFT = "the file is missing, while its log state.sqlite-wal is there"
DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "garbage": (lambda path: path.write_bytes(b"no database " * 500), NO_DATABASE),
    "cut": (lambda path: os.truncate(path, path.stat().st_size // 2), MALFORMED),
    "stub": (lambda path: os.truncate(path, 60), "the file has 60 bytes, less than any state"),
    "empty": (lambda path: os.truncate(path, 0), "the file has 0 bytes, less than any state"),
    "folder": (_replace_by_folder, "it is a folder, and a file is expected"),
    "no table": (lambda path: _run(path, "DROP TABLE keys"), "it lacks keys"),
    "no index": (lambda path: _run(path, "DROP INDEX alarms_by_fire"), "it lacks alarms_by_fire"),
    "other": (_replace_by_other, NOT_OURS),
    "schema": (_garble_schema, MALFORMED),
    "only log": (lambda path: path.rename(path.with_name("state.sqlite-wal")), LOG_LEFT),
}


@pytest.mark.parametrize(("damage", "why"), DAMAGES.values(), ids=DAMAGES)
def test_damaged_state_is_named_and_left_as_it_is(tmp_path, damage, why):
    path = closed_state(tmp_path)
    damage(path)
    before = files(tmp_path)
    for _ in range(2):  # The second time, the folder has been let go of.
        error = refusal(tmp_path)
        assert text_of(error, tmp_path) == (
            "error[E_STATE_DAMAGED]: the state in `STATE/state.sqlite` is damaged\n"
            f"why: {why}; nothing was deleted or repaired\n"
            "fix: move the folder STATE aside to keep it,"
            " or start over without its state: edgeemu dev --fresh"
        )
    assert files(tmp_path) == before


def test_damage_that_is_met_later_is_named(tmp_path):
    path = closed_state(tmp_path)
    store = SqliteStore(tmp_path)
    (root,) = (store._db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'keys'").get,)
    page_bytes = store._db.pragma("page_size")
    store.close()
    content = bytearray(path.read_bytes())
    content[(root - 1) * page_bytes : root * page_bytes] = b"\xff" * page_bytes
    path.write_bytes(content)
    store = SqliteStore(tmp_path)
    for ask in (
        lambda: store.read(ALICE, "number"),
        lambda: store.read_range(ALICE, KeyRange()),
        lambda: store.measure(ALICE),
        lambda: store.apply(batch(30)),
    ):
        with pytest.raises(EdgeemuError) as caught:
            ask()
        assert caught.value.code is Code.STATE_DAMAGED
    assert store.load(ALICE).generation == 29
    store.close()


def test_damaged_lock_is_named(tmp_path):
    lock = tmp_path / "lock"
    lock.write_bytes(b"no lock" * 1_000)
    assert f"`{lock}` is damaged" in refusal(tmp_path).what
    lock.unlink()
    lock.mkdir()
    assert f"`{lock}` is damaged" in refusal(tmp_path).what


def test_index_of_an_older_file_goes(tmp_path):
    """Each commit would go on writing it."""
    SqliteStore(tmp_path).close()
    _run(tmp_path / "state.sqlite", "CREATE INDEX journal_by_instance ON journal (type, name, seq)")
    SqliteStore(tmp_path).close()
    connection = apsw.Connection(str(tmp_path / "state.sqlite"))
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema")]
    connection.close()
    assert "journal_by_instance" not in names and "alarms_by_fire" in names


def test_half_made_state_of_a_killed_process_is_made_anew(tmp_path):
    for name in ("state.sqlite.new", "state.sqlite.new-wal"):
        (tmp_path / name).write_bytes(b"half")
    store = SqliteStore(tmp_path)
    store.apply(batch(1))
    store.close()
    assert list(files(tmp_path)) == ["state.sqlite"]


def test_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    error = refusal(tmp_path / "file" / "state")
    assert error.code is Code.STATE_UNWRITABLE
    assert str(tmp_path / "file" / "state" / "state.sqlite") in error.what


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="rights do not bind this user"
)
def test_folder_that_may_not_be_written(tmp_path):
    tmp_path.chmod(0o500)
    assert refusal(tmp_path).code is Code.STATE_UNWRITABLE
    tmp_path.chmod(0o700)
