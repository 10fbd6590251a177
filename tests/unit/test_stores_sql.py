"""SQL through the port of a store: one transaction for each turn, which is kept or undone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeemu.core.rows import InstanceRow
from edgeemu.ids import InstanceId
from edgeemu.stores.memory import MemoryStore
from edgeemu.stores.port import Batch, Store, StoredTurn
from edgeemu.stores.sqlite import SqliteStore

ALICE, BOB = InstanceId("Ledger", "alice"), InstanceId("Ledger", "bob")
ROW = InstanceRow(created_at_ms=1)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path)
    opened.use_clock(lambda: 1_893_456_000_000)
    yield opened
    opened.close()


def test_a_turn_sees_its_own_writes_and_keeps_them(store: Store) -> None:
    store.sql(ALICE).exec("CREATE TABLE t (a); INSERT INTO t VALUES (unixepoch())")
    assert store.sql(ALICE).exec("SELECT a FROM t").rows == [(1_893_456_000,)]
    store.apply(Batch([StoredTurn(ALICE, ROW, {"k": b"1"}, sql=True)]))
    store.rollback_sql(ALICE)
    assert store.sql(ALICE).exec("SELECT count(*) FROM t").rows == [(1,)]


def test_what_is_not_kept_is_undone(store: Store) -> None:
    store.sql(ALICE).exec("CREATE TABLE t (a)")
    store.apply(Batch([StoredTurn(ALICE, ROW, sql=True)]))
    store.sql(ALICE).exec("INSERT INTO t VALUES (1)")
    store.rollback_sql(ALICE)
    store.apply(Batch([StoredTurn(ALICE, ROW)]))
    assert store.sql(ALICE).exec("SELECT * FROM t").rows == []


def test_open_turns_of_two_instances_are_apart(store: Store) -> None:
    store.sql(ALICE).exec("CREATE TABLE t (a)")
    store.sql(BOB).exec("CREATE TABLE t (a, b)")
    store.apply(Batch([StoredTurn(ALICE, ROW, sql=True)]))
    store.rollback_sql(BOB)
    assert store.sql(BOB).exec("SELECT name FROM sqlite_master").rows == []
    assert store.sql(ALICE).exec("SELECT name FROM sqlite_master").rows == [("t",)]


def test_only_who_uses_sql_has_a_database(store: Store) -> None:
    store.rollback_sql(ALICE)
    assert store.measure_sql(ALICE) == 0
    store.sql(ALICE).exec("CREATE TABLE t (a)")
    assert store.measure_sql(ALICE) > 0
