"""`storage.transaction(fn)` in Python: a task of its own, waited for by the turn that began it."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextvars import ContextVar
from typing import Any, NoReturn

from edgeemu.core.profile import Profile
from edgeemu.engines.python.awaitables import UnawaitedResult, needs_await
from edgeemu.engines.python.dispatch import missing_attribute, snake_case
from edgeemu.engines.python.failures import failure_of
from edgeemu.engines.python.keys import KeyCalls
from edgeemu.engines.python.scope import FailedWrite, Scope, current_scope
from edgeemu.engines.python.watchdog import HangInterrupt

_within: ContextVar[int | None] = ContextVar("edgeemu_transaction", default=None)
"""The transaction in whose function this code runs; tasks that it starts are inside it too."""

_OF_THE_TURN = frozenset(
    ("delete_all", "set_alarm", "get_alarm", "delete_alarm", "sql", "transaction_sync")
)


class Transaction(KeyCalls):
    """`txn`: the keys as the function of a transaction sees and writes them, and nothing else.

    Emulates: spec/telnyx-actors.md section 6.3.
    """

    def __init__(self, profile: Profile, root: str, txn: int) -> None:
        super().__init__(profile, root)
        self._txn = txn

    def __getattr__(self, name: str) -> NoReturn:
        known = [each for each in dir(type(self)) if not each.startswith("_")]
        plain = snake_case(name)
        if plain == "transaction":
            raise AttributeError("txn has no transaction: one cannot begin inside another")
        if plain in _OF_THE_TURN:
            raise AttributeError(
                f"txn has no {name!r}, it has: {', '.join(known)}; self.ctx.storage.{plain} "
                "belongs to the turn, and a transaction that fails does not undo it"
            )
        raise AttributeError(missing_attribute("txn", name, known, ""))


class RunningTransaction(UnawaitedResult):
    """The awaitable of a transaction: what its function gave back, or the error it raised."""

    __slots__ = ("_awaited", "_failed", "_function", "_scope", "_task", "_txn", "_value")

    def __init__(
        self, scope: Scope, txn: Transaction, number: int, function: Callable[..., Any]
    ) -> None:
        self._scope = scope
        self._txn = txn
        self._function = function
        self._awaited = False
        self._failed: FailedWrite | None = None
        self._value: Any = None
        self._task = asyncio.get_running_loop().create_task(self._run(number, txn._root))
        scope.transactions.append(self._task)

    async def _run(self, number: int, root: str) -> None:
        _within.set(number)  # In the context of this task and of those that it starts.
        host = self._scope.host
        try:
            value = self._function(self._txn)
            self._value = await value if needs_await(value) else value
            host.commit(number)
        except BaseException as error:
            host.roll_back(number, failure_of(self._scope, error, root))
            self._failed = FailedWrite(error, "transaction", seen=self._awaited)
            self._scope.failed.append(self._failed)
            if not isinstance(error, Exception | HangInterrupt):
                raise  # It was cancelled, or asked the process to end.

    def __await__(self) -> Generator[Any, Any, Any]:
        self._awaited = True
        yield from self._task.__await__()
        if self._failed is None:
            return self._value
        self._failed.seen = True
        raise self._failed.error


def begin(
    profile: Profile, root: str, function: Callable[[Transaction], Awaitable[Any]]
) -> RunningTransaction:
    """Begin a transaction of the turn that runs here.

    Raises:
        TypeError: for what is no function.
        ActorError: outside of a turn, and inside another transaction.
    """
    if not callable(function):
        raise TypeError(
            f"transaction takes a function of one argument, not {type(function).__name__}"
        )
    scope = current_scope()
    asyncio.get_running_loop()  # A thread has none, and cannot begin one.
    number = scope.host.begin(_within.get())
    return RunningTransaction(scope, Transaction(profile, root, number), number, function)


async def settle_transactions(scope: Scope) -> None:
    """This waits until each transaction of a turn, awaited or not, has ended."""
    while scope.transactions:
        running, scope.transactions = scope.transactions, []
        if not all(task.done() for task in running):
            await asyncio.wait(running)
