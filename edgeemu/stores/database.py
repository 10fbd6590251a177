"""The SQL database of one instance: the platform's rules over one connection of SQLite.

Promise: user SQL can neither end the transaction of its turn, nor reach another file, nor see or
change a table whose name begins with `_edgeemu_`; what it draws at random comes from the stream
that it is given. Source: spec/telnyx-actors.md section 9, U66 to U71.
"""

from array import array
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import apsw

from edgeemu.clock import stopwatch_ns
from edgeemu.core.sql import SqlRows
from edgeemu.limits import (
    SQL_DATABASE_BYTES_MAX,
    SQL_PARAMETERS_MAX,
    SQL_PROGRESS_STEPS,
    SQL_ROWS_MAX,
    SQL_SCRIPT_CACHED_CHARS_MAX,
    SQL_SCRIPTS_CACHED_MAX,
    SQL_VALUE_BYTES_MAX,
)
from edgeemu.rng import Random
from edgeemu.sdk.errors import SqlError, SqlParameterTooLargeError, SqlTransactionControlError
from edgeemu.stores.sql_text import (
    CATALOGUE,
    RESERVED_PREFIX,
    Script,
    Statement,
    read_script,
)

_SURELY_FITS_CHARS = SQL_VALUE_BYTES_MAX // 4
"""Characters that have no more than the permitted bytes, whatever they are."""

_LIKE_RESERVED = RESERVED_PREFIX.replace("_", r"\_") + "%"
_MAKE_CATALOGUE = (
    f"CREATE VIEW IF NOT EXISTS {CATALOGUE} AS"
    " SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema"
    rf" WHERE name NOT LIKE '{_LIKE_RESERVED}' ESCAPE '\'"
    rf" AND tbl_name NOT LIKE '{_LIKE_RESERVED}' ESCAPE '\'"
)

_PRAGMAS_READ = (
    *("application_id", "collation_list", "compile_options", "data_version", "encoding"),
    *("freelist_count", "function_list", "module_list", "page_count", "page_size"),
    *("pragma_list", "schema_version"),
)
_PRAGMAS_SET = (
    *("defer_foreign_keys", "foreign_key_check", "foreign_key_list", "foreign_keys"),
    *("index_info", "index_list", "index_xinfo", "integrity_check", "optimize", "quick_check"),
    *("table_info", "table_list", "table_xinfo", "user_version"),
)
_PRAGMAS = dict.fromkeys(_PRAGMAS_READ, False) | dict.fromkeys(_PRAGMAS_SET, True)
"""The PRAGMAs that are allowed, and whether with a value. Those of journal and locks are refused
(U68), and so is what would let a database outgrow its rules, or last until its connection ends,
which is no moment that an actor knows of."""

_OTHER_FILES = {apsw.SQLITE_ATTACH: "ATTACH", apsw.SQLITE_DETACH: "DETACH"}
_TRANSACTIONS = frozenset({apsw.SQLITE_TRANSACTION, apsw.SQLITE_SAVEPOINT})
_DROP_TEMPORARY = (
    "SELECT 'DROP ' || type || ' IF EXISTS temp.\"' || replace(name, '\"', '\"\"') || '\"'"
    " FROM sqlite_temp_schema WHERE type IN ('view', 'trigger', 'table')"
)

Binding = int | float | str | bytes | None
"""What SQLite takes for a `?`, and gives in a row."""


_NO_ROWS = SqlRows((), [])


class Database:
    """The rules over an open connection, which this object owns from now on.

    The transaction is that of a turn: a store begins it at the first use and ends it with the turn.
    Temporary tables end with the turn, too.
    `user_version` belongs to the user.

    Args:
        connection: to a database in memory or in a file; its VFS tells the time.
        bytes_max: how large the database may become.
    """

    def __init__(
        self, connection: apsw.Connection, *, bytes_max: int = SQL_DATABASE_BYTES_MAX
    ) -> None:
        self.connection = connection
        self._cursor = connection.cursor()
        self._scripts: dict[str, Script] = {}
        """What was read before: looking here first saves a tenth of a short insert."""
        self._guarded = False
        self._refused: SqlError | None = None
        self._random: Callable[[], Random] | None = None
        self._open = False
        self._depth = 0
        self._lost: str | None = None
        self._end_at_ns: int | None = None
        self._made_temporary = False
        connection.pragma("foreign_keys", "on")
        connection.pragma("max_page_count", bytes_max // int(connection.pragma("page_size")))
        connection.limit(apsw.SQLITE_LIMIT_VARIABLE_NUMBER, SQL_PARAMETERS_MAX)
        connection.execute(_MAKE_CATALOGUE)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.create_scalar_function("random", self._draw_integer, 0)
        connection.create_scalar_function("randomblob", self._draw_bytes, 1)
        # It runs Python code now and then, so that the watchdog can end a statement without end.
        connection.set_progress_handler(self._is_over, SQL_PROGRESS_STEPS)
        connection.authorizer = self._authorize

    # --- the user's SQL --------------------------------------------------------------------

    def exec(self, query: str, bindings: Sequence[Any] = ()) -> SqlRows:
        """Run the statements of a string in order; the rows of the last one.

        The bindings belong to the last statement. Statements before one that fails stay applied.

        Args:
            query: SQL with `?` for the bindings.
            bindings: None, bool, int of 64 bits, float, str, or bytes of any kind (U67).

        Raises:
            SqlTransactionControlError: for BEGIN, COMMIT and their like, before anything runs.
            SqlParameterTooLargeError: for a value above 2 MiB, before anything runs.
            TypeError: for a query or a binding of another type, before anything runs.
            SqlError: for what SQLite refuses, in its words, and for what the platform does.
        """
        if self._lost is not None:
            self._check_open()
        for value in bindings:
            kind = type(value)
            if kind is int or kind is float or value is None:
                continue
            if (kind is str or kind is bytes) and len(value) <= _SURELY_FITS_CHARS:
                continue
            bindings = tuple(map(_bindable, bindings))
            break
        try:
            script = self._scripts[query]
        except (KeyError, TypeError):
            script = self._read(query)
        self._guarded = True
        try:
            for statement in script.before:
                self._run(statement, ())
            if script.last is not None:
                return self._run(script.last, bindings)
        except BaseException as error:
            raise self._explained(error) from None
        finally:
            self._guarded = False
        if bindings:
            raise SqlError(f"there is no statement for the {len(bindings)} bindings")
        return _NO_ROWS

    def _read(self, query: str) -> Script:
        if type(query) is not str:
            raise TypeError(f"a query is a str, not {type(query).__name__}")
        script = read_script(query)
        if len(query) <= SQL_SCRIPT_CACHED_CHARS_MAX:
            if len(self._scripts) >= SQL_SCRIPTS_CACHED_MAX:
                self._scripts.clear()  # Rare, and each is read again in microseconds.
            self._scripts[query] = script
        return script

    def _run(self, statement: Statement, bindings: Sequence[Any]) -> SqlRows:
        cursor = self._cursor
        if statement.cacheable:  # Not as a keyword: that alone costs a tenth of a short insert.
            cursor.execute(statement.text, bindings)
        else:
            cursor.execute(statement.text, bindings, can_cache=False)
        if not statement.gives_rows:
            return _NO_ROWS
        try:
            columns = tuple([column[0] for column in cursor.get_description()])
        except apsw.ExecutionCompleteError:
            return _NO_ROWS
        rows = list(islice(cursor, SQL_ROWS_MAX + 1))
        if len(rows) > SQL_ROWS_MAX:
            cursor.close(True)
            self._cursor = self.connection.cursor()
            raise SqlError(f"the statement gives more than {SQL_ROWS_MAX} rows: add a LIMIT")
        if statement.is_pragma:
            rows = [row for row in rows if not any(map(_is_reserved, row))]
        return SqlRows(columns, rows)

    def _explained(self, error: BaseException) -> BaseException:
        """What the actor sees of an error; an error that is not SQLite's stays itself."""
        refused, self._refused = self._refused, None
        if self._open and not self.connection.in_transaction:
            # A full disk or memory makes SQLite roll back by itself, and no turn is kept in part.
            self._lost = str(error)
        if refused is not None and isinstance(error, apsw.Error):
            return refused
        if isinstance(error, apsw.BindingsError):
            return SqlError(
                f"wrong number of bindings: {str(error).partition('  Current offset')[0]}"
            )
        if isinstance(error, apsw.InterruptError):
            return SqlError("the statement ran on for too long, and was stopped")
        if isinstance(error, apsw.Error):
            return SqlError(str(error))
        if isinstance(error, UnicodeDecodeError):
            self._cursor.close(True)  # The statement is in the midst of its rows.
            self._cursor = self.connection.cursor()
            return SqlError(
                "the statement gives text that is no UTF-8: read it with CAST(... AS BLOB)"
            )
        if isinstance(error, UnicodeEncodeError):
            return TypeError("SQL text cannot hold a lone surrogate, half a character")
        if isinstance(error, OverflowError):
            return TypeError("an int that is bound has at most 64 bits")
        return error

    def _authorize(
        self, action: int, first: str | None, second: str | None, schema: str | None, _: str | None
    ) -> int:
        """Whether a statement of the user may do one thing; SQLite asks while it prepares."""
        if not self._guarded:
            return apsw.SQLITE_OK
        if schema == "temp" and action != apsw.SQLITE_READ:
            self._made_temporary = True
        why = None
        if action in _TRANSACTIONS:
            # A SAVEPOINT is called BEGIN, too.
            begun = action == apsw.SQLITE_SAVEPOINT and first == "BEGIN"
            self._refused = SqlTransactionControlError(
                f"{'SAVEPOINT' if begun else first} is not allowed: each turn is one transaction"
            )
            return apsw.SQLITE_DENY
        if action in _OTHER_FILES:
            why = f"{_OTHER_FILES[action]} is not allowed: an instance has one database"
        elif action == apsw.SQLITE_PRAGMA:
            takes_value = _PRAGMAS.get((first or "").lower())
            if takes_value is None or (second is not None and not takes_value):
                how = "" if takes_value is None else " with a value"
                why = f"PRAGMA {first} is not allowed{how}"
        elif action == apsw.SQLITE_ANALYZE and _is_reserved(first):
            return apsw.SQLITE_IGNORE  # It goes through all tables, and leaves out ours.
        elif first != CATALOGUE and (_is_reserved(first) or _is_reserved(second)):
            why = f"names that begin with {RESERVED_PREFIX} are edgeemu's own: {first}"
        if why is None:
            return apsw.SQLITE_OK
        self._refused = SqlError(why)
        return apsw.SQLITE_DENY

    # --- the transaction of the turn -------------------------------------------------------

    @property
    def in_transaction(self) -> bool:
        """Whether a turn has begun its transaction and not ended it."""
        return self._open

    @property
    def has_changes(self) -> bool:
        """Whether the turn has written, or tried to."""
        return self._lost is not None or self.connection.txn_state() == apsw.SQLITE_TXN_WRITE

    def begin(self) -> None:
        """Begin the transaction of a turn."""
        if self._made_temporary:
            # They would last as long as the connection, which is no moment that an actor knows of.
            for (drop,) in self.connection.execute(_DROP_TEMPORARY).fetchall():
                self.connection.execute(str(drop))
            self._made_temporary = False
        self.connection.execute("BEGIN")
        self._open = True

    def draw_from(self, random: Callable[[], Random]) -> None:
        """Where `random()` and `randomblob()` draw from, from now on: the stream of a turn."""
        self._random = random

    def end_after(self, real_ms: int) -> None:
        """Interrupt what still runs after `real_ms`, until the transaction ends; 0 for never."""
        self._end_at_ns = stopwatch_ns() + real_ms * 1_000_000 if real_ms else None

    def _is_over(self) -> bool:
        return self._end_at_ns is not None and stopwatch_ns() > self._end_at_ns

    def problem(self) -> str | None:
        """Why the transaction cannot be committed, if it cannot.

        SQLite may have undone it already, or a deferred foreign key may hang in the air.
        """
        if self._lost is not None:
            return self._lost
        hanging, _ = self.connection.status(apsw.SQLITE_DBSTATUS_DEFERRED_FKS)
        return "FOREIGN KEY constraint failed" if hanging else None

    def commit(self) -> None:
        """Keep what the turn wrote.

        Raises:
            apsw.Error: when SQLite cannot; the transaction then stays open, or was undone.
        """
        self.connection.execute("COMMIT")
        self._ended()

    def rollback(self) -> None:
        """Undo what the turn wrote, if a transaction is open."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self._ended()

    def _ended(self) -> None:
        self._open = False
        self._depth = 0
        self._lost = None
        self._end_at_ns = None

    # --- save points, for transaction_sync -------------------------------------------------

    def savepoint(self) -> None:
        """Begin a part of the turn that can be undone alone; parts may be nested (U70)."""
        self._check_open()
        self.connection.execute(f"SAVEPOINT _edgeemu_{self._depth}")
        self._depth += 1

    def release(self) -> None:
        """End the innermost part, and keep it with the part or the turn around it."""
        self._check_open()
        self._depth -= 1
        self.connection.execute(f"RELEASE _edgeemu_{self._depth}")

    def rollback_to(self) -> None:
        """End the innermost part, and undo it; nothing is left to undo where SQLite did."""
        if self._lost is None:
            self._depth -= 1
            name = f"_edgeemu_{self._depth}"
            self.connection.execute(f"ROLLBACK TO {name}; RELEASE {name}")

    def _check_open(self) -> None:
        if self._lost is not None:
            raise SqlError(f"the SQL of this turn was undone by SQLite: {self._lost}")

    # --- the rest --------------------------------------------------------------------------

    def size_bytes(self) -> int:
        """How much room the database takes."""
        return int(self.connection.pragma("page_count")) * int(self.connection.pragma("page_size"))

    def close(self) -> None:
        """Let go of the connection; what an open transaction wrote is undone."""
        self.connection.close(True)

    def _draw_integer(self, *_: Any) -> int:
        return self._stream().getrandbits(64) - 2**63

    def _draw_bytes(self, *given: Any) -> bytes:
        (count,) = given
        if not isinstance(count, int | float) or count < 1:
            return self._stream().randbytes(1)  # As SQLite does.
        if count > self.connection.limit(apsw.SQLITE_LIMIT_LENGTH):
            raise apsw.TooBigError("string or blob too big")
        return self._stream().randbytes(int(count))

    def _stream(self) -> Random:
        if self._random is None:
            raise SqlError("random() needs a turn")
        return self._random()


def _is_reserved(name: object) -> bool:
    return isinstance(name, str) and name.lower().startswith(RESERVED_PREFIX)


def _bindable(value: Any) -> Binding:
    """A value as SQLite takes it.

    Raises:
        SqlParameterTooLargeError: above 2 MiB.
        TypeError: for a type that SQL does not have.
    """
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, int):
        return int(value)
    bound: str | bytes
    if isinstance(value, str):
        bound = str(value)
        size_bytes = len(bound) if bound.isascii() else len(bound.encode("utf-8", "replace"))
    elif isinstance(value, bytes | bytearray | memoryview | array):
        bound = bytes(value)
        size_bytes = len(bound)
    else:
        text = (
            f"{type(value).__name__} cannot be bound: SQL takes None, bool, int, float, str, bytes"
        )
        if isinstance(value, list | tuple | dict):
            text += "; give one argument for each `?`, such as exec(query, first, second)"
        elif type(value).__name__ == "coroutine" or hasattr(type(value), "__await__"):
            text += "; write `await` in front of it"
        raise TypeError(text)
    if size_bytes > SQL_VALUE_BYTES_MAX:
        raise SqlParameterTooLargeError(
            f"a bound value has {size_bytes} bytes, and at most {SQL_VALUE_BYTES_MAX} are allowed"
        )
    return bound
