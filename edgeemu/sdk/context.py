"""The types of what an actor holds in its hands: `self.ctx` and `self.ctx.storage`.

The runtime makes the objects; these protocols say what actor code may rely on, so that editors and
type checkers know it. Every call acts when it is made and returns an awaitable, through which its
errors arrive. Instants are milliseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from edgeemu.rng import Random  # For its type alone: this layer draws nothing.

_Given = TypeVar("_Given")


class ActorTransaction(Protocol):
    """`txn`: the keys as the function of a transaction sees and writes them.

    Each call does what the one of `ActorStorage` does, inside the transaction; once that has ended,
    it is refused with `ActorError`.
    """

    def get(self, key: str, default: Any = None) -> Awaitable[Any]:
        """The value under `key`, as a new copy, or `default` where there is none."""

    def put(self, key: str, value: Any) -> Awaitable[None]:
        """Write a copy of `value`, taken now."""

    def delete(self, key: str) -> Awaitable[bool]:
        """Delete a key; whether it was there."""

    def list(
        self,
        *,
        prefix: str = "",
        start: str | None = None,
        start_after: str | None = None,
        end: str | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Awaitable[dict[str, Any]]:
        """Keys and values in key order; all bounds hold together."""


_T = TypeVar("_T")


class SqlCursor(Protocol):
    """The rows of a query, each a dict by column name, in a single pass: reading uses them up."""

    def __iter__(self) -> Iterator[dict[str, Any]]: ...

    def __next__(self) -> dict[str, Any]: ...

    def to_list(self) -> list[dict[str, Any]]:
        """The rows that were not read yet; a second call gives an empty list.

        Raises:
            RangeError: for an integer beyond what a JavaScript number holds, as iterating does.
        """


class SqlStorage(Protocol):
    """The private SQLite database of one instance, made at its first use."""

    def exec(self, query: str, *bindings: Any) -> SqlCursor:
        """Run the statements of a string, in order and at once; a cursor over the last one's rows.

        Args:
            query: SQL with a `?` for each binding; they belong to the last statement.
            bindings: None, bool, int of 64 bits, float, str, or bytes of any kind.

        Raises:
            SqlError: what SQLite reports; statements before the one that fails stay applied.
            SqlTransactionControlError: for BEGIN, COMMIT, ROLLBACK, SAVEPOINT and their like.
            SqlParameterTooLargeError: for a binding above 2 MiB.
            TypeError: for a binding of another type.
        """


Message = str | bytes | bytearray | memoryview
"""What can be sent on a WebSocket."""

Listener = TypeVar("Listener", bound=Callable[..., Any])


class ActorStorage(Protocol):
    """The private durable storage of one instance: keys, SQL, and the one alarm.

    All writes of a turn are kept together when it succeeds, and none of them when it raises. A
    write that is refused and was not awaited fails the turn with `ActorOutputGateError`.
    """

    def get(self, key: str, default: Any = None) -> Awaitable[Any]:
        """The value under `key`, as a new copy, or `default` where there is none.

        Raises (from the awaitable):
            TypeError: for a key that is no string, empty or too long.
        """

    def put(self, key: str, value: Any) -> Awaitable[None]:
        """Write a copy of `value`, taken now.

        Raises (from the awaitable):
            CodecError: for a value that cannot be stored.
            TypeError: for a key that is no string, empty or too long.
            ActorError: for a key that begins with `__telnyx_`.
        """

    def delete(self, key: str) -> Awaitable[bool]:
        """Delete a key; whether it was there.

        Raises (from the awaitable):
            TypeError, ActorError: for a key that `put` refuses.
        """

    def list(
        self,
        *,
        prefix: str = "",
        start: str | None = None,
        start_after: str | None = None,
        end: str | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Awaitable[dict[str, Any]]:
        """Keys and values in key order; all bounds hold together.

        Args:
            prefix: only keys that begin with it.
            start: the first key that may appear.
            start_after: only keys behind it.
            end: only keys before it.
            reverse: descending order; `limit` then counts from the high end.
            limit: how many at most, from 1 to 1,000; None means 128.

        Raises (from the awaitable):
            ValueError: for a limit out of range.
            TypeError: for a bound that is no string.
        """

    def delete_all(self) -> Awaitable[None]:
        """Delete every key. The alarm is no key and stays, and so do the tables of SQL."""

    @property
    def sql(self) -> SqlStorage:
        """The private SQLite database."""

    def transaction_sync(self, function: Callable[[], _T]) -> _T:
        """Run a function whose SQL is kept if it returns, and undone if it raises; its value.

        An error that is caught does not fail the turn. Calls may be nested. Keys and the alarm
        belong to the turn, whatever becomes of the SQL.

        Raises:
            SqlAsyncTransactionError: for a function that is `async` or gives an awaitable.
        """

    def transaction(
        self, function: Callable[[ActorTransaction], Awaitable[_Given]]
    ) -> Awaitable[_Given]:
        """Run `function(txn)`; what it writes through `txn` is kept together, or not at all.

        When `function` raises, its error arrives here, and what it wrote through `txn` is dropped.
        The turn fails with `ActorOutputGateError` even if the error is caught; what it wrote
        elsewhere is then kept, and if the error is not caught, nothing is.

        Raises (from the awaitable):
            ActorError: inside another transaction.
        """

    def set_alarm(self, when: int | float | datetime) -> Awaitable[None]:
        """Set the one alarm, in place of any earlier one.

        Args:
            when: an aware `datetime`, or milliseconds since the epoch, whose fraction is cut off.
                An instant that has passed is due at once, after this turn.

        Raises (from the awaitable):
            TypeError: for anything else; the alarm stays as it was.
        """

    def get_alarm(self) -> Awaitable[int | None]:
        """When the alarm is due, in milliseconds since the epoch; None where none is set.

        Inside `alarm` it is None, unless the handler has set a new one.
        """

    def delete_alarm(self) -> Awaitable[None]:
        """Clear the alarm, and with it the redeliveries that are left."""


class WebSocket(Protocol):
    """A WebSocket, as `web_socket(ws, request)` is given it; like one of the `ws` package of Node.

    What is sent reaches the client at once: it is not held until the turn ends well, and not undone
    if it raises.
    """

    @property
    def protocol(self) -> str:
        """The subprotocol that was agreed on: the first that the client offered, or empty."""

    @property
    def buffered_amount(self) -> int:
        """Bytes that were sent and that the client has not read yet."""

    @overload
    def on(self, event: str) -> Callable[[Listener], Listener]: ...

    @overload
    def on(self, event: str, listener: Listener) -> Listener: ...

    def on(self, event: str, listener: Any = None) -> Any:
        """Have `listener` called for each event; without one, this is a decorator.

        A listener may be `async`. It is called with `(data, is_binary)` for `message`, `(code)` for
        `close` and `(error)` for `error`, and may leave out the last ones. Each call is a turn.

        Raises:
            ValueError: for another event.
            TypeError: for a listener that cannot be called so.
            ActorError: after `web_socket` has returned.
        """

    def send(self, data: Message) -> None:
        """Send a message: `str` is a text frame, bytes are a binary one.

        On a socket that is closed it goes nowhere.

        Raises:
            TypeError: for anything else.
        """

    def close(self, code: int | None = None, reason: str = "") -> None:
        """Begin to close the socket; without a code the client sees 1005.

        Args:
            code: 1000 to 1003, 1007 to 1014, or 3000 to 4999.
            reason: at most 123 bytes in UTF-8; it needs a code.

        Raises:
            TypeError, ValueError: for anything else.
        """


class ActorContext(Protocol):
    """`self.ctx`: who the instance is, its storage, its time and its randomness."""

    @property
    def id(self) -> str:
        """The name of the instance: `alice` in `Session/alice`."""

    @property
    def storage(self) -> ActorStorage:
        """The private durable storage."""

    @property
    def random(self) -> Random:
        """Random numbers that derive from the seed of the run: a new stream in each turn."""

    def now_ms(self) -> int:
        """The emulated instant, in milliseconds since the epoch."""

    def set_alarm(self, when: int | float | datetime) -> Awaitable[None]:
        """The same as `storage.set_alarm`."""

    def block_concurrency_while(self, function: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
        """Run `function` before any other turn of the instance; meant for the constructor.

        In the constructor it runs as soon as that has returned, and the instance takes its first
        turn when it is done; it has 30 s of emulated time. Elsewhere it runs inside the turn.
        """

    def count(self) -> int:
        """How many WebSockets of this instance are open."""

    def broadcast(self, data: Message) -> int:
        """Send a message to every open WebSocket of this instance at once; to how many.

        Raises:
            TypeError: for anything but `str` and bytes.
        """

    def sockets(self) -> Sequence[WebSocket]:
        """The open WebSockets of this instance, oldest first."""
