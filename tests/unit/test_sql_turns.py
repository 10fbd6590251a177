"""SQL in the turns of an emulator: what is kept, what is undone, and what cannot hang it."""

import asyncio
from pathlib import Path

import pytest

from edgeemu.config import Config
from edgeemu.core.rows import FaultHow
from edgeemu.emulator import Emulator
from edgeemu.errors import Code, EdgeemuError
from edgeemu.stores.database import Database
from edgeemu.stores.memory import MemoryStore
from edgeemu.stores.port import Batch
from tests.support.emulators import inst, run_with, write_project

ENDLESS = "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) SELECT max(n) FROM s"

SOURCE = f"""
    from edgeemu.sdk.errors import SqlError

    class A(StatefulActor):
        def __init__(self, ctx, env):
            super().__init__(ctx, env)
            ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS t (a)")

        def insert(self, number):
            self.ctx.storage.sql.exec("INSERT INTO t VALUES (?)", number)

        async def insert_slowly(self, number):
            self.insert(number)
            await asyncio.sleep(5)
            self.insert(number + 1)

        def rows(self):
            return [row["a"] for row in self.ctx.storage.sql.exec("SELECT a FROM t ORDER BY a")]

        def endless(self):
            self.insert(1)
            try:
                self.ctx.storage.sql.exec("{ENDLESS}")
            finally:
                self.insert(2)

        def cursor(self):
            return self.ctx.storage.sql.exec("SELECT 1")

        def wrong(self, name):
            found = self.ctx.storage.sql.exec("SELECT 1")
            holder = {{"cursor": found, "sql": self.ctx.storage.sql, "storage": self.ctx.storage}}
            return getattr(holder[name.partition(".")[0]], name.partition(".")[2])

        async def fill(self):
            await self.ctx.storage.put("k", 1)
            self.insert(2)
            try:
                for _ in range(100):
                    self.insert(b"x" * 2_000)
            except SqlError:
                return "gone on"

        async def threaded(self):
            self.insert(6)
            await asyncio.to_thread(self.insert, 7)

        async def arm(self):
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1_000)

        async def alarm(self, info):
            self.insert(info.retry_count)
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return write_project(tmp_path, SOURCE, toml="[limits]\nwatchdog_ms = 100")


def test_statement_without_end_is_stopped_and_undone(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError) as raised:
            await emulator.call(inst("A/x"), "endless")
        assert raised.value.name == "ActorHangError"
        assert await emulator.call(inst("A/x"), "rows") == []

    run_with(config, body)


@pytest.mark.parametrize("query", [ENDLESS, f"INSERT INTO t VALUES (1); {ENDLESS}"])
def test_statement_without_end_from_outside_is_stopped(config: Config, query: str) -> None:
    async def body(emulator: Emulator) -> None:
        await emulator.call(inst("A/x"), "insert", [5])
        with pytest.raises(EdgeemuError) as raised:
            await emulator.storage.sql(inst("A/x"), query)
        assert raised.value.code is Code.SQL_FAILED
        assert raised.value.message == "the statement ran on for too long, and was stopped"
        assert await emulator.call(inst("A/x"), "rows") == [5]

    run_with(config, body)


def test_turns_of_two_instances_are_open_at_once(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        actors = [inst("A/x"), inst("A/y")]
        calls = [
            asyncio.ensure_future(emulator.call(actor, "insert_slowly", [number]))
            for number, actor in enumerate(actors, 10)
        ]
        await emulator.run_present()
        await emulator.clock.advance(5_000)
        await asyncio.gather(*calls)
        found = [await emulator.call(actor, "rows") for actor in actors]
        assert found == [[10, 11], [11, 12]]

    run_with(config, body)


def test_turn_that_cannot_be_kept_leaves_no_sql(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = MemoryStore.apply
    full = EdgeemuError(Code.STATE_UNWRITABLE, what="the disk is full", why="a test", fix="no")

    def refuse(store: MemoryStore, batch: Batch):
        if any(turn.instance.name == "full" and turn.sql for turn in batch.turns):
            raise full
        return apply(store, batch)

    async def body(emulator: Emulator) -> None:
        for name in ("full", "other"):
            await emulator.call(inst(f"A/{name}"), "insert", [1])
        monkeypatch.setattr(MemoryStore, "apply", refuse)
        calls = [emulator.call(inst(f"A/{name}"), "insert", [2]) for name in ("full", "other")]
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(ends[0], EdgeemuError) and ends[1] is None
        monkeypatch.setattr(MemoryStore, "apply", apply)
        assert await emulator.call(inst("A/full"), "rows") == [1]
        assert await emulator.call(inst("A/other"), "rows") == [1, 2]

    run_with(config, body)


@pytest.mark.parametrize(
    ("how", "kept"), [(FaultHow.CRASH_BEFORE_COMMIT, []), (FaultHow.CRASH_AFTER_COMMIT, [0])]
)
def test_crash_around_the_commit_keeps_all_or_nothing(
    config: Config, how: FaultHow, kept: list[int]
) -> None:
    async def body(emulator: Emulator) -> None:
        await emulator.call(inst("A/x"), "arm")
        await emulator.alarms.fail(inst("A/x"), times=1, how=how)
        await emulator.clock.advance(1_000)
        assert await emulator.call(inst("A/x"), "rows") == kept
        await emulator.clock.advance(5_000)
        assert await emulator.call(inst("A/x"), "rows") == [*kept, 0]

    run_with(config, body)


def test_turn_that_fills_the_database_fails_even_where_it_goes_on(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite undid its first writes too, so what it goes on to write must not be kept alone."""
    monkeypatch.setattr(Database.__init__, "__kwdefaults__", {"bytes_max": 20 * 4_096})

    async def body(emulator: Emulator) -> None:
        await emulator.call(inst("A/x"), "insert", [1])
        with pytest.raises(EdgeemuError, match="database or disk is full") as raised:
            await emulator.call(inst("A/x"), "fill")
        assert raised.value.name == "ActorOutputGateError"
        assert await emulator.call(inst("A/x"), "rows") == [1]
        assert emulator.storage.list(inst("A/x")) == {}

    run_with(config, body)


def test_thread_may_not_use_sql(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError, match="not in a thread"):
            await emulator.call(inst("A/x"), "threaded")

    run_with(config, body)


def test_cursor_is_no_result(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError, match="SqlCursor") as raised:
            await emulator.call(inst("A/x"), "cursor")
        assert raised.value.name == "CodecError"

    run_with(config, body)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cursor.toArray", r"it is to_list\(\)"),
        ("cursor.one", "it has: to_list"),
        ("sql.prepare", "it has: exec"),
        ("storage.transactionSync", "did you mean transaction_sync"),
    ],
)
def test_names_that_are_not_there_are_explained(config: Config, name: str, hint: str) -> None:
    async def body(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError, match=hint):
            await emulator.call(inst("A/x"), "wrong", [name])

    run_with(config, body)


def test_size_is_shown_and_an_export_says_that_it_has_no_sql(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        await emulator.storage.put(inst("A/keys"), "k", 1)
        assert emulator.show_instance(inst("A/keys"))["sql_bytes"] == 0
        assert "sql_left_out" not in emulator.storage.export(inst("A/keys"))
        await emulator.call(inst("A/x"), "insert", [1])
        assert emulator.show_instance(inst("A/x"))["sql_bytes"] > 0
        document = emulator.storage.export(inst("A/x"))
        assert document["sql_left_out"] is True
        await emulator.storage.import_(inst("A/x"), document)
        assert await emulator.call(inst("A/x"), "rows") == [1]

    run_with(config, body)


def test_parameter_that_is_no_tagged_json_is_refused(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError, match="parameter 2") as raised:
            await emulator.storage.sql(inst("A/x"), "SELECT ?, ?", [1, {"$no": 1}])
        assert raised.value.code is Code.VALUE_INVALID

    run_with(config, body)
