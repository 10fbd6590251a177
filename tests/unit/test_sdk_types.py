"""The types that actor code is written against are those of the objects that it gets.

The type checker does half of the work: each `type: ignore` below stands on a line that has to be
wrong, and one that is not needed is an error.
"""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type

import pytest

from edgeemu import (
    ActorContext,
    ActorStorage,
    ActorTransaction,
    AlarmInfo,
    Request,
    Response,
    StatefulActor,
    sdk,
)
from edgeemu.engines.python import context as engine
from edgeemu.engines.python import sql as engine_sql
from edgeemu.engines.python.transaction import Transaction
from edgeemu.rng import Random
from edgeemu.sdk.context import SqlCursor, SqlStorage


def context_for_actors(given: engine.ActorContext) -> ActorContext:
    return given


def storage_for_actors(given: engine.ActorStorage) -> ActorStorage:
    return given


def transaction_for_actors(given: Transaction) -> ActorTransaction:
    return given


class Sample(StatefulActor):
    def __init__(self, ctx: ActorContext, env: Any) -> None:
        super().__init__(ctx, env)
        ctx.block_concurrency_while(self._load)

    async def _load(self) -> None:
        found = await self.ctx.storage.list(prefix="line/", limit=10)
        assert_type(found, dict[str, Any])

    async def _move(self, txn: ActorTransaction) -> int:
        await txn.put("key", 1)
        txn.set_alarm  # type: ignore[attr-defined]  # noqa: B018 - looked at only
        return len(await txn.list())

    async def right(self) -> None:
        assert_type(await self.ctx.storage.transaction(self._move), int)
        assert_type(self.ctx.id, str)
        assert_type(self.ctx.now_ms(), int)
        assert_type(self.ctx.random, Random)
        assert_type(await self.ctx.storage.delete("key"), bool)
        assert_type(await self.ctx.storage.get_alarm(), int | None)
        assert_type(self.ctx.storage.sql.exec("SELECT ?", 1).to_list(), list[dict[str, Any]])
        assert_type(self.ctx.storage.transaction_sync(lambda: 1.5), float)
        await self.ctx.set_alarm(self.ctx.now_ms() + 1_000)

    async def wrong(self) -> None:
        self.ctx.now()  # type: ignore[attr-defined]
        self.ctx.storage.lists()  # type: ignore[attr-defined]
        self.ctx.storage.put("key")  # type: ignore[call-arg]
        self.ctx.storage.get(1)  # type: ignore[arg-type]
        self.ctx.storage.set_alarm("soon")  # type: ignore[arg-type]
        self.ctx.storage.transaction(self._load)  # type: ignore[arg-type]

    async def alarm(self, info: AlarmInfo) -> None:
        assert_type(info.retry_count, int)

    async def fetch(self, request: Request) -> Response:
        assert_type(await request.json(), Any)
        assert_type(Response.json({"ok": True}, status=201), Response)
        Response.json({}, state=201)  # type: ignore[call-arg]
        return Response.json({"ok": True})


def public(owner: type[Any]) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_")}


def shape(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    """Names, kinds and defaults of the parameters."""
    parameters = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, each.default) for each in parameters]


@pytest.mark.parametrize(
    ("promised", "given"),
    [
        (ActorContext, engine.ActorContext),
        (ActorStorage, engine.ActorStorage),
        (SqlStorage, engine_sql.ActorSql),
        (SqlCursor, engine_sql.SqlCursor),
        (ActorTransaction, Transaction),
    ],
    ids=["ctx", "storage", "sql", "cursor", "txn"],
)
def test_promised_types_are_those_of_the_engine(promised: type[Any], given: type[Any]) -> None:
    assert public(promised) == public(given)
    for name in sorted(public(promised)):
        mine, theirs = (inspect.getattr_static(owner, name) for owner in (promised, given))
        assert isinstance(mine, property) == isinstance(theirs, property), name
        if not isinstance(mine, property):
            assert shape(mine) == shape(theirs), name
        assert mine.__doc__, name


def test_types_name_no_page_that_users_lack() -> None:
    for file in sorted(Path(sdk.__path__[0]).glob("*.py")):
        assert not re.search(r"\bspec\b|section|\bU\d", file.read_text("utf-8")), file.name
