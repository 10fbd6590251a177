"""The own file of an instance that uses SQL: two files that are kept as one.

Fault model: any statement and any operation on a file may fail, or be the last thing that the
process does; a file may be missing, damaged, newer, or another's. A turn that writes keys, SQL, the
alarm and the journal is then there whole or not at all (design D4, D5).
"""

import os
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeemu.core.journal import Entry, Kind
from edgeemu.core.overlay import KeyRange
from edgeemu.core.rows import Alarm, InstanceRow
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.sdk.errors import SqlError
from edgeemu.stores import own_file, own_files, sqlite_file
from edgeemu.stores.own_file import path_of
from edgeemu.stores.port import Batch, StoredTurn
from edgeemu.stores.sqlite import SqliteStore

ALICE = InstanceId("Session", "alice")
BOB = InstanceId("Session", "bob")
LAST = 7
MOVING, KEYS_ONLY, FAILING, CLEARING = 2, 4, 5, 6

needs_fork = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")


# --- a story in which everything that a turn leaves carries its number -------------------------


def row(number: int) -> InstanceRow:
    pending = Alarm(number, number, number + 1, 0, number, 0, None, None)
    return InstanceRow(created_at_ms=1, generation=number, alarm=pending)


def play(store: SqliteStore, number: int, instance: InstanceId = ALICE) -> None:
    """One turn: at home in the state file, moving, with SQL, with keys alone, failing, clearing."""
    value = str(number).encode()
    puts: dict[str, bytes | None] = {"number": value, f"key {number}": value}
    sql = number not in (1, KEYS_ONLY)
    if sql:
        database = store.sql(instance)
        database.exec("CREATE TABLE IF NOT EXISTS numbers (number)")
        database.exec("INSERT INTO numbers VALUES (?)", [number])
    turn = StoredTurn(instance, row(number), puts, number == CLEARING, sql)
    if number == FAILING:
        store.rollback_sql(instance)
        turn = StoredTurn(instance, row(number))
    entry = Entry(Kind.CALL, number, instance)
    store.apply(Batch([turn], [entry], number, {"number": number, "late": number}))


def number_of(store: SqliteStore, first: int = 1, instance: InstanceId = ALICE) -> int:
    """The number of the last turn in the store, 0 for none; fails unless all of it is there.

    Args:
        first: the turn that the story began with.
    """
    number = store.load(instance).generation
    kept = [each for each in range(first, number + 1) if each != FAILING]
    keys = [each for each in kept if each >= CLEARING] if number >= CLEARING else kept
    expected = {f"key {each}": str(each).encode() for each in keys}
    if kept:
        expected["number"] = str(kept[-1]).encode()
    assert dict(store.read_range(instance, KeyRange())) == expected
    assert store.read(instance, "number") == expected.get("number")
    assert store.measure(instance)[0] == len(expected)
    due = store.due(fire_by_ms=None, limit=9)
    assert [each.alarm for each in due if each.instance == instance] == (
        [row(number).alarm] if number else []
    )
    assert dict(store.instances(limit=9)).get(instance, InstanceRow()).generation == number
    journal = store.journal(limit=99)
    assert [each.seq for each in journal] == list(range(1, len(journal) + 1))
    own = [each for each in journal if each.entry.instance == instance]
    assert [each.entry.now_ms for each in own] == list(range(first, number + 1))
    assert (store.measure_sql(instance) > 0) == (number >= MOVING)
    if number >= MOVING:
        rows = store.sql(instance).exec("SELECT number FROM numbers ORDER BY number").rows
        store.rollback_sql(instance)
        assert rows == [(each,) for each in kept if each not in (1, KEYS_ONLY)]
    return number


def shared_keys(store: SqliteStore) -> int:
    return int(store._db.execute("SELECT count(*) FROM keys").get)


@dataclass
class Interruption:
    """Does something at the `left`-th statement or file operation."""

    left: int
    act: Callable[[str], None]

    def __call__(self, sql: str) -> None:
        self.left -= 1
        if self.left == 0:
            self.act(sql)


def test_the_story_without_trouble(tmp_path):
    store = SqliteStore(tmp_path)
    for number in range(1, LAST + 1):
        assert number_of(store) == number - 1
        play(store, number)
        assert store.read_meta("number") == number
    assert number_of(store) == LAST
    assert shared_keys(store) == 0
    store.close()
    assert [path.name for path in path_of(tmp_path, ALICE).parent.iterdir()] == ["alice.sqlite"]
    store = SqliteStore(tmp_path)
    assert number_of(store) == LAST
    store.close()


# --- failures ----------------------------------------------------------------------------------


class Broken(Exception):
    """Ends a call as an interrupt does: it is no error of SQLite."""


def fail_with(error: type[Exception]) -> Callable[[str], None]:
    def act(sql: str) -> None:
        raise error(f"no {sql}")

    return act


@pytest.mark.slow
@pytest.mark.parametrize("error", [apsw.FullError, apsw.IOError, Broken])
@pytest.mark.parametrize("number", range(1, LAST + 1))
def test_a_failure_at_any_step_leaves_all_or_nothing(tmp_path, number, error):
    store = SqliteStore(tmp_path)
    for before in range(1, number):
        play(store, before)
    store.close()
    kept_at: list[int] = []
    for at in range(1, 200):
        interruption = Interruption(-1, fail_with(error))
        store = SqliteStore(tmp_path, before_statement=interruption)
        number_of(store)  # So that its file is open, or not there yet.
        interruption.left = at
        failed = False
        try:
            play(store, number)
        except (EdgeemuError, Broken):
            failed = True
        except Exception as told:  # What SQLite says while the user's SQL runs.
            assert type(told).__name__ == "SqlError", told
            failed = True
        reached = interruption.left <= 0
        interruption.left = -1
        if failed:
            store.rollback_sql(ALICE)
        now = number_of(store)
        assert now in (number - 1, number)
        if now == number:
            kept_at.append(at)
            # The own file decided, so only an interrupt is told as more than success.
            assert not failed or error is Broken
            break
        assert failed
        assert path_of(tmp_path, ALICE).exists() == (now >= MOVING)
        assert reached, "the turn failed by itself"
        store.close()
    assert kept_at
    assert store.read_meta("number") == number
    for after in range(number + 1, LAST + 1):
        play(store, after)
    assert number_of(store) == LAST
    store.close()
    store = SqliteStore(tmp_path)
    assert number_of(store) == LAST
    store.close()


def test_an_own_file_is_ahead_until_the_state_can_be_written(tmp_path):
    refuse = own_committed = False

    def act(sql: str) -> None:
        nonlocal own_committed
        if not refuse:
            return
        if sql == "COMMIT":
            if own_committed:
                raise apsw.FullError("no space")
            own_committed = True
        elif sql.startswith("BEGIN") and own_committed:
            raise apsw.FullError("no space")

    store = SqliteStore(tmp_path, before_statement=act)
    for number in (1, 2, 3):
        play(store, number)
    play_other = Batch([StoredTurn(BOB, row(1), {"number": b"1"})])
    store.apply(play_other)
    refuse = True
    play(store, 4)  # Kept, by its own file.
    assert store.load(ALICE).generation == 4
    assert store.read(ALICE, "number") == b"4"
    assert store.read(BOB, "number") == b"1"
    for ask in (
        lambda: store.due(fire_by_ms=None, limit=9),
        lambda: store.journal(limit=9),
        lambda: store.instances(limit=9),
        lambda: play(store, 5),
        lambda: store.apply(play_other),
    ):
        with pytest.raises(EdgeemuError) as caught:
            ask()
        assert caught.value.code is Code.STATE_UNWRITABLE
    refuse = False
    assert number_of(store) == 4
    play(store, 5)
    store.close()
    store = SqliteStore(tmp_path)
    assert number_of(store) == 5
    store.close()


@pytest.mark.parametrize("which", ["own", "state"])
@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_disk_that_is_really_full(tmp_path, which, number, monkeypatch):
    store = SqliteStore(tmp_path)
    for before in range(1, number):
        play(store, before)
    big = {f"big {each}": b"0" * 50_000 for each in range(10)}
    sql = number != KEYS_ONLY
    if sql:
        store.sql(ALICE).exec("CREATE TABLE IF NOT EXISTS more (x)")
    file = next(iter([*store._own._moving.values(), *store._own._open.values()]))
    connection = file.connection if which == "own" else store._db
    pages = connection.pragma("page_count")
    monkeypatch.setattr(own_file, "PAGES_MAX", pages if which == "own" else own_file.PAGES_MAX)
    connection.pragma("max_page_count", pages)
    entries = [Entry(Kind.CALL, number, ALICE, data={"text": "x" * 50_000})]
    with pytest.raises(EdgeemuError) as caught:
        store.apply(Batch([StoredTurn(ALICE, row(number), big, sql=sql)], entries))
    assert caught.value.code is Code.STATE_UNWRITABLE
    assert (str(file.path) in caught.value.what) == (which == "own")
    if not (which == "own" and number == MOVING):  # That file is gone.
        connection.pragma("max_page_count", 1_000_000)
    monkeypatch.undo()
    assert number_of(store) == number - 1
    for after in range(number, LAST + 1):
        play(store, after)
    assert number_of(store) == LAST
    store.close()


def test_a_full_database_still_takes_keys_and_what_became_of_the_turn(tmp_path):
    store = SqliteStore(tmp_path)
    for number in (1, 2, 3):
        play(store, number)
    (file,) = store._own._open.values()
    file._pages_max = file.connection.pragma("page_count") + 4
    with pytest.raises(SqlError, match="full"):
        store.sql(ALICE).exec("INSERT INTO numbers VALUES (?)", [b"0" * 100_000])
    store.rollback_sql(ALICE)
    big = {"big": b"0" * 100_000}
    store.apply(Batch([StoredTurn(ALICE, row(4), big)]))
    assert store.read(ALICE, "big") == big["big"]
    with pytest.raises(SqlError, match="full"):
        store.sql(ALICE).exec("INSERT INTO numbers VALUES (?)", [b"0" * 100_000])
    store.rollback_sql(ALICE)
    store.close()


def test_a_constraint_that_fails_with_the_commit_is_told(tmp_path):
    store = SqliteStore(tmp_path)
    play(store, 1)
    play(store, 2)
    store.sql(ALICE).exec(
        "CREATE TABLE a (x PRIMARY KEY);"
        "CREATE TABLE b (x REFERENCES a DEFERRABLE INITIALLY DEFERRED);"
        "INSERT INTO b VALUES (1)"
    )
    with pytest.raises(EdgeemuError) as caught:
        store.apply(Batch([StoredTurn(ALICE, row(3), sql=True)]))
    assert "FOREIGN KEY constraint failed" in caught.value.why
    assert number_of(store) == 2
    store.close()


def test_a_turn_among_others_is_refused_where_it_stands_alone(tmp_path):
    store = SqliteStore(tmp_path)
    play(store, 1)
    assert not store.stands_alone(StoredTurn(ALICE, row(2)))
    play(store, 2)
    assert store.stands_alone(StoredTurn(ALICE, row(3)))
    with pytest.raises(ValueError, match="Session/alice"):
        store.apply(Batch([StoredTurn(BOB, row(1)), StoredTurn(ALICE, row(3))]))
    assert number_of(store) == 2
    store.close()


def test_a_move_that_is_undone_leaves_no_file(tmp_path):
    store = SqliteStore(tmp_path)
    play(store, 1)
    store.sql(ALICE).exec("CREATE TABLE numbers (number)")
    assert list(path_of(tmp_path, ALICE).parent.iterdir())
    store.rollback_sql(ALICE)
    assert not list(path_of(tmp_path, ALICE).parent.iterdir())
    assert number_of(store) == 1
    store.sql(ALICE)
    store.close()
    assert not list(path_of(tmp_path, ALICE).parent.iterdir())


# --- death of the process ----------------------------------------------------------------------


def die(sql: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_child(body: Callable[[Callable[[str], None]], None], at: int) -> tuple[bool, list[int]]:
    """Run `body` in a process that ends before statement `at`; whether it did, and what it told."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            os.dup2(writer, 1)
            body(Interruption(at, die))
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = list(pipe.read())
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status), told


def tell(number: int) -> None:
    os.write(1, bytes([number]))


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize(("first", "reopened"), [(1, None), (MOVING, KEYS_ONLY)])
def test_kill_before_any_step_leaves_all_or_nothing(tmp_path, first, reopened):
    """The whole story, or from the move on; killed at the first step, the second, and so on.

    Before a step is also after the one before it, so this is both sides of each commit.
    """

    def live(before_statement: Callable[[str], None]) -> None:
        store = SqliteStore(folder, before_statement=before_statement)
        for number in range(first, LAST + 1):
            if number == reopened:
                store.close()
                store = SqliteStore(folder, before_statement=before_statement)
            play(store, number)
            tell(number)
        store.close()
        tell(0)

    ahead = 0
    for at in range(1, 1_000):
        folder = tmp_path / str(at)
        killed, told = in_child(live, at)
        answered = max(told, default=0)
        store = SqliteStore(folder)
        number = number_of(store, first)
        assert number in ((answered, answered + 1) if answered else (0, first)), at
        ahead += number > answered
        assert store.read_meta("number") == (number or None)
        for after in range(max(number + 1, first), LAST + 1):
            play(store, after)
        assert number_of(store, first) == LAST
        assert store._db.pragma("integrity_check") == "ok"
        store.close()
        marks = apsw.Connection(str(folder / "state.sqlite"))
        assert marks.execute("SELECT count(*) FROM own_files WHERE open").get == 0
        marks.close()
        if not killed:
            assert told[-1] == 0
            assert at > 60, "the story has fewer steps than it must have"
            assert ahead >= 4, "no process ended between the two commits"
            return
    raise AssertionError("the story did not get through")


@needs_fork
def test_kill_while_a_start_makes_good_what_was_cut_off(tmp_path):
    def live(before_statement: Callable[[str], None]) -> None:
        store = SqliteStore(tmp_path, before_statement=before_statement)
        play(store, 3)

    def start(before_statement: Callable[[str], None]) -> None:
        SqliteStore(tmp_path, before_statement=before_statement)
        tell(1)

    store = SqliteStore(tmp_path)
    play(store, 1)
    play(store, 2)
    steps: list[str] = []
    store.close()
    store = SqliteStore(tmp_path / "copy", before_statement=steps.append)
    play(store, 1)
    play(store, 2)
    store.close()
    store = SqliteStore(tmp_path / "copy", before_statement=steps.append)
    steps.clear()
    play(store, 3)
    second_commit = max(at for at, sql in enumerate(steps, 1) if sql == "COMMIT")
    store.close()
    opening = len(_steps_of_opening(tmp_path / "copy"))
    killed, _ = in_child(live, opening + second_commit)
    assert killed
    for at in range(1, 100):
        killed, told = in_child(start, at)
        if not killed:
            break
    assert told == [1]
    assert at > opening, "nothing was made good"
    store = SqliteStore(tmp_path)
    assert number_of(store) == 3
    store.close()


def _steps_of_opening(folder: Path) -> list[str]:
    steps: list[str] = []
    SqliteStore(folder, before_statement=steps.append).close()
    return steps


# --- many files --------------------------------------------------------------------------------


def test_few_files_are_open_however_many_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(own_files, "SQL_FILES_OPEN_MAX", 3)
    store = SqliteStore(tmp_path)
    ids = [InstanceId("Session", f"n{number}") for number in range(12)]
    for instance in ids:
        store.sql(instance).exec("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        store.apply(Batch([StoredTurn(instance, row(1), {"k": b"1"}, sql=True)]))
    assert len(store._own._open) == 3
    open_turns = [store.sql(instance) for instance in ids[:5]]
    assert len(store._own._open) == 5, "a file in the middle of a turn was closed"
    for instance, database in zip(ids, open_turns, strict=False):
        database.exec("INSERT INTO t VALUES (2)")
        store.apply(Batch([StoredTurn(instance, row(2), sql=True)]))
    for instance in ids:
        count = 2 if instance in ids[:5] else 1
        assert store.sql(instance).exec("SELECT count(*) FROM t").rows == [(count,)]
        store.rollback_sql(instance)
        assert store.read(instance, "k") == b"1"
    assert len(store._own._open) == 3
    marked = store._db.execute("SELECT count(*) FROM own_files WHERE open").get
    assert marked <= 6
    store.close()


def test_files_on_the_move_count_among_those_that_are_open(tmp_path, monkeypatch):
    monkeypatch.setattr(own_files, "SQL_FILES_OPEN_MAX", 3)
    store = SqliteStore(tmp_path)
    play(store, MOVING)
    play(store, MOVING, BOB)
    store.load(ALICE)
    assert len(store._own._open) == 2
    for number in range(3):
        store.sql(InstanceId("Session", f"new{number}"))
    assert (len(store._own._open), len(store._own._moving)) == (0, 3)
    store.close()


_names = st.text(max_size=80) | st.sampled_from(
    ["con", "Cart", "cart", "A", "a", "a.b", "", ".", "..", "ab" * 900]
)


@given(_names, _names, _names, _names)
def test_no_two_instances_have_one_file(first_type, first, second_type, second):
    here = Path("state")
    one, other = InstanceId(first_type, first), InstanceId(second_type, second)
    paths = [path_of(here, one), path_of(here, other)]
    for path in paths:
        assert path.parts[:2] == ("state", "sql")
        assert len(path.parts) == 4
        assert all(len(part) < 100 and part.isascii() for part in path.parts)
        assert not {*path.parts} & {"..", ".", ""}
    if one != other:
        assert str(paths[0]).lower() != str(paths[1]).lower()


def test_names_stay_readable():
    here = Path("state")
    assert path_of(here, InstanceId("session", "alice")) == here / "sql/session/alice.sqlite"
    assert re.fullmatch(r"state/sql/session\.\w{32}/alice\.sqlite", path_of(here, ALICE).as_posix())
    assert path_of(here, InstanceId("Cart", "Über/1")).name.startswith("_ber_1.")
    assert path_of(here, InstanceId("Cart", "nul")).name != "nul.sqlite"


def test_file_in_a_folder_of_the_old_form_stays_in_use(tmp_path):
    store = SqliteStore(tmp_path)
    for number in range(1, KEYS_ONLY + 1):
        play(store, number)
    store.close()
    old = tmp_path / "sql" / "Session" / "alice.sqlite"
    path_of(tmp_path, ALICE).parent.rename(old.parent)
    store = SqliteStore(tmp_path)
    assert number_of(store) == KEYS_ONLY
    assert path_of(tmp_path, ALICE) == old
    # On a file system that ignores case, `old` would also be found by this name.
    assert path_of(tmp_path, InstanceId("SESSION", "alice")).parent.name.startswith("session.")
    store.close()


# --- files that cannot be used -----------------------------------------------------------------


def _run(path: Path, sql: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing": (
        Path.unlink,
        "the file is missing, which held the keys and SQL data of Session/alice",
    ),
    "garbage": (lambda path: path.write_bytes(b"no database " * 500), "file is not a database"),
    "stub": (lambda path: os.truncate(path, 60), "the file has 60 bytes, less than any state"),
    "cut": (lambda path: os.truncate(path, path.stat().st_size // 2), "malformed"),
    "no table": (lambda path: _run(path, "DROP TABLE _edgeemu_turn"), "no such table"),
    "empty": (lambda path: _run(path, "DELETE FROM _edgeemu_turn"), "it does not say whose it is"),
    "other": (
        lambda path: _run(path, "UPDATE _edgeemu_turn SET name = 'bob'"),
        "it is the file of Session/bob, and that of Session/alice is expected",
    ),
    "row": (
        lambda path: _run(path, "UPDATE _edgeemu_turn SET row = '[]'"),
        "a row cannot be read",
    ),
}


@pytest.mark.parametrize(("damage", "why"), DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("killed", [False, True])
def test_a_damaged_file_costs_one_instance(tmp_path, damage, why, killed):
    store = SqliteStore(tmp_path)
    for number in range(1, 4):
        play(store, number)
    store.sql(BOB).exec("CREATE TABLE t (x)")
    store.apply(Batch([StoredTurn(BOB, row(1), {"k": b"1"}, sql=True)]))
    store.close()
    path = path_of(tmp_path, ALICE)
    damage(path)
    before = path.read_bytes() if path.exists() else None
    if killed:
        _run(store.path, "UPDATE own_files SET open = 1")
    store = SqliteStore(tmp_path)
    asks: list[Callable[[], Any]] = [lambda: store.load(ALICE)]
    if why != "a row cannot be read":  # Which only who reads it can know.
        asks += [
            lambda: store.apply(Batch([StoredTurn(ALICE, row(4), {"k": b"1"})])),
            lambda: store.sql(ALICE).exec("SELECT * FROM numbers"),
        ]
    for ask in asks:
        with pytest.raises(EdgeemuError) as caught:
            ask()
        assert caught.value.code is Code.STATE_DAMAGED
        assert f"`{path}` is damaged" in caught.value.what
        assert why in caught.value.why
        assert f"move the folder {tmp_path} aside" in caught.value.fix
    assert store.read(BOB, "k") == b"1"
    assert store.sql(BOB).exec("SELECT * FROM t").rows == []
    store.apply(Batch([StoredTurn(BOB, row(2), {"k": b"2"}, sql=True)]))
    assert [each.instance for each in store.due(fire_by_ms=None, limit=9)] == [BOB, ALICE]
    store.close()
    assert (path.read_bytes() if path.exists() else None) == before


def test_a_newer_file_is_named(tmp_path):
    store = SqliteStore(tmp_path)
    play(store, 2)
    store.close()
    _run(path_of(tmp_path, ALICE), "UPDATE _edgeemu_turn SET format = 99")
    store = SqliteStore(tmp_path)
    with pytest.raises(EdgeemuError) as caught:
        store.load(ALICE)
    assert caught.value.code is Code.STATE_NEWER
    store.close()


def test_a_move_never_takes_the_place_of_another_instance(tmp_path):
    """Where upper and lower case are the same, types may have one folder."""
    store = SqliteStore(tmp_path)
    play(store, 2)
    store.close()
    store = SqliteStore(tmp_path)
    other = InstanceId("session", "alice")
    path_of(tmp_path, other).parent.mkdir()
    os.link(path_of(tmp_path, ALICE), path_of(tmp_path, other))
    with pytest.raises(EdgeemuError) as caught:
        store.sql(other)
    assert "it is the file of Session/alice" in caught.value.why
    store.close()


def test_a_copy_that_was_put_back_is_believed(tmp_path):
    store = SqliteStore(tmp_path)
    path = path_of(tmp_path, ALICE)
    for number in (2, 3):
        play(store, number)
    store.close()
    copy = path.read_bytes()
    store = SqliteStore(tmp_path)
    for number in (4, 5):
        play(store, number)
    store.close()
    path.write_bytes(copy)
    store = SqliteStore(tmp_path)
    assert store.load(ALICE) == row(3)
    assert store.due(fire_by_ms=None, limit=9)[0].alarm == row(3).alarm
    store.close()


def test_sql_data_without_a_state_file_is_no_fresh_start(tmp_path):
    store = SqliteStore(tmp_path)
    play(store, 2)
    store.close()
    store.path.unlink()
    with pytest.raises(EdgeemuError) as caught:
        SqliteStore(tmp_path)
    assert "the file is missing, while the SQL data in `sql` is there" in caught.value.why


# --- files of an older version -----------------------------------------------------------------


def make_version_1(folder: Path) -> Path:
    """A state file as it was before instances had files of their own."""
    store = SqliteStore(folder)
    play(store, 1)
    store.close()
    _run(store.path, "DROP TABLE own_files; PRAGMA user_version = 1")
    return store.path


def test_a_file_of_version_1_is_brought_up_to_date(tmp_path):
    path = make_version_1(tmp_path)
    store = SqliteStore(tmp_path)
    assert store._db.pragma("user_version") == 2
    assert number_of(store) == 1
    for number in range(2, LAST + 1):
        play(store, number)
    assert number_of(store) == LAST
    store.close()
    assert path.exists()


def test_bringing_it_up_to_date_is_whole_or_not_at_all(tmp_path, monkeypatch):
    path = make_version_1(tmp_path)
    with monkeypatch.context() as patched:
        broken = {1: sqlite_file._OWN_FILES + "SELECT no_such FROM instances;"}
        patched.setattr(sqlite_file, "_MIGRATIONS", broken)
        with pytest.raises(EdgeemuError):
            SqliteStore(tmp_path)
    connection = apsw.Connection(str(path))
    assert connection.pragma("user_version") == 1
    assert connection.execute("SELECT * FROM sqlite_schema WHERE name = 'own_files'").get is None
    connection.close()
    store = SqliteStore(tmp_path)
    assert number_of(store) == 1
    store.close()
