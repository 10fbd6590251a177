"""SQL as Python actor code uses it: `ctx.storage.sql` and `ctx.storage.transaction_sync`.

Both act at once, like those of the platform, and raise where they are called. Source:
spec/telnyx-actors.md section 9.
"""

from collections.abc import Callable, Iterator
from inspect import iscoroutine, iscoroutinefunction
from typing import Any, NoReturn, TypeVar

from edgeemu.core.sql import SqlRows
from edgeemu.engines.python.awaitables import AtOnce, needs_await
from edgeemu.engines.python.dispatch import missing_attribute
from edgeemu.engines.python.scope import current, current_scope
from edgeemu.limits import INTEGER_MAX
from edgeemu.sdk.errors import RangeError, SqlAsyncTransactionError

_T = TypeVar("_T")


class SqlCursor(AtOnce):
    """The rows of a query, each a dict by column name, in a single pass.

    Emulates: `SqlCursor`. Iterating uses rows up; `to_list()` gives those that are left.
    """

    __slots__ = ("_columns", "_rows")

    def __init__(self, found: SqlRows) -> None:
        self._columns = found.columns
        self._rows = iter(found.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        row = next(self._rows)
        for value in row:
            if type(value) is int and not -INTEGER_MAX <= value <= INTEGER_MAX:
                raise RangeError("Value is too large to be represented as a JavaScript number")
        return dict(zip(self._columns, row, strict=True))

    def to_list(self) -> list[dict[str, Any]]:
        """The rows that nobody has read yet; a second call gives an empty list.

        Raises:
            RangeError: for an integer beyond 2^53 - 1 in magnitude, as iterating does.
        """
        return list(self)

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("to_array", "toArray"):
            raise AttributeError(f"a cursor has no {name!r}; in Python it is to_list()")
        raise AttributeError(missing_attribute("a cursor", name, ["to_list"], ""))


_EMPTY = SqlCursor(SqlRows((), []))
"""A cursor without rows has nothing to use up, so one is enough; an insert is a third faster."""


class ActorSql:
    """`ctx.storage.sql`: the private SQLite database of the instance.

    Emulates: `SqlStorage`. Source: spec/telnyx-actors.md section 9.
    """

    def exec(self, query: str, *bindings: Any) -> SqlCursor:
        """Run the statements of a string in order; a cursor over the rows of the last one.

        Args:
            query: SQL. Its `?` are filled in order, and belong to the last statement.
            bindings: None, bool, int of 64 bits, float, str, or bytes of any kind (U67).

        Raises:
            SqlError: for what SQLite refuses; statements before a failing one stay applied.
            SqlTransactionControlError: for BEGIN, COMMIT and their like, before anything runs.
            SqlParameterTooLargeError: for a value above 2 MiB, before anything runs.
            TypeError: for a binding that SQL has no type for, before anything runs.
        """
        scope = current.get() or current_scope()
        found = scope.host.sql_exec(query, bindings)
        return SqlCursor(found) if found.rows else _EMPTY

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(missing_attribute("ctx.storage.sql", name, ["exec"], ""))


_SQL = ActorSql()


class SqlCalls:
    """The calls on SQL of `ctx.storage`."""

    @property
    def sql(self) -> ActorSql:
        """The private SQLite database of the instance."""
        return _SQL

    def transaction_sync(self, function: Callable[[], _T]) -> _T:
        """Run a function whose SQL is kept if it returns, and undone if it raises; its value.

        Calls may be nested (U70). Keys and alarms that it writes belong to the turn.

        Raises:
            SqlAsyncTransactionError: if it is `async`, or gives something to await (SQL of it is
                undone); else what the function raises. Caught, it does not fail the turn.
        """
        host = current_scope().host
        if iscoroutinefunction(function):
            raise SqlAsyncTransactionError(_ASYNC)
        host.sql_savepoint()
        try:
            value = function()
            if needs_await(value):
                if iscoroutine(value):
                    value.close()
                raise SqlAsyncTransactionError(_ASYNC)
        except BaseException:
            host.sql_rollback_to()
            raise
        host.sql_release()
        return value


_ASYNC = (
    "transaction_sync takes a plain function that awaits nothing: its SQL was not kept; "
    "for keys there is transaction"
)
