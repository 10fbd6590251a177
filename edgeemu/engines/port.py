"""The port of an engine: what runs actor code of one language, and what that code may ask for.

The engine decides nothing. It loads source, starts a turn when it is told to, reports how the turn
ended, and forgets an instance. Everything that actor code asks of the world goes through `Host`;
values cross as encoded bytes, and objects of the engine never leave it.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct

from edgeemu.core.events import Failure, SocketEvent, TurnKind
from edgeemu.core.kv import KvPage
from edgeemu.core.overlay import KeyRange
from edgeemu.core.ratelimits import RateRule
from edgeemu.core.sql import SqlRows
from edgeemu.ids import InstanceId
from edgeemu.rng import Random


class PlainRequest(Struct, frozen=True):
    """An HTTP request as plain data: what crosses between engines and the server."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Upgrade(Struct, frozen=True):
    """What a stub answers to a request for a WebSocket, beside the status 101.

    It is opened when the function in front has returned it, as it is, to the client.

    Attributes:
        instance: that will take the socket.
        request: as that instance sees it.
        protocol: the first subprotocol that was offered, or empty.
    """

    instance: InstanceId
    request: PlainRequest
    protocol: str


class PlainResponse(Struct, frozen=True):
    """An HTTP response as plain data; `upgrade` is for one whose status is 101."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    upgrade: Upgrade | None = None


Place = Callable[[], str | None]
"""Tells the `file:line` of the actor code that asks; called only where it is needed."""


class Service(Struct, frozen=True):
    """An outside service: requests get `answers` in turn, the last one for ever, or go to `url`.

    The one without a name is whatever actor code reaches with a `fetch` of its own.
    """

    name: str
    url: str | None = None
    answers: tuple[PlainResponse, ...] = ()

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"env.{self.name}" if self.name else "fetch"


Answer = bytes | PlainResponse | None
"""What a turn gives back: an encoded value, a response, or nothing."""


class Work(Struct, frozen=True):
    """What to run.

    Attributes:
        kind: of the turn; None for the function in front.
        method: for a call.
        args: for a call: the encoded list of arguments.
        request: for a fetch and for the function in front.
        retry_count: for an alarm.
        function: for the function in front: which one.
        socket: for a WebSocket, what happened on it; its opening also has a request.
        protocol: for the opening of a WebSocket: the subprotocol, or empty.
    """

    kind: TurnKind | None
    method: str = ""
    args: bytes = b"[]"
    request: PlainRequest | None = None
    retry_count: int = 0
    function: str = ""
    socket: SocketEvent | None = None
    protocol: str = ""


class Result(Struct, frozen=True):
    """How the code of a turn ended.

    Attributes:
        answer: what it gave back, if it succeeded.
        failure: the error, if it did not.
        hung: whether the watchdog ended it.
        error: the engine's own error object, for a test that runs in the same process.
    """

    answer: Answer = None
    failure: Failure | None = None
    hung: bool = False
    error: BaseException | None = None


class Host(Protocol):
    """What actor code may ask for while a turn runs.

    Every call acts at once. After the turn has ended a call raises `ActorError`, and what it wanted
    to write is discarded.
    """

    @property
    def instance(self) -> InstanceId | None:
        """Whose turn it is; None for the function in front."""

    @property
    def turn_id(self) -> int:
        """The number of the turn."""

    def now_ms(self) -> int:
        """The emulated instant."""

    def random(self) -> Random:
        """The seeded stream of this turn."""

    def get(self, key: str, txn: int | None = None) -> bytes | None:
        """The encoded value under a key as the turn, or its transaction `txn`, sees it."""

    def put(self, key: str, data: bytes, txn: int | None = None) -> None:
        """Write an encoded value, in the turn or in its transaction `txn`."""

    def delete(self, key: str, txn: int | None = None) -> bool:
        """Delete a key; whether it was there."""

    def clear(self, place: Place | None = None) -> None:
        """Delete every key; the alarm stays. `place` tells the line that did it."""

    def list(
        self, keys: KeyRange, place: Place | None = None, txn: int | None = None
    ) -> Sequence[tuple[str, bytes]]:
        """The entries in a range.

        Args:
            keys: the range.
            place: tells the line, where the limit is only the platform's default.
            txn: the transaction that asks; None for the turn.
        """

    def begin(self, within: int | None) -> int:
        """Open a transaction; its number.

        Args:
            within: the transaction in whose function the asking code runs; None for none.

        Raises:
            ActorError: if that one is still open (U36).
        """

    def commit(self, txn: int) -> None:
        """Give the writes of a transaction, which ends, to the turn."""

    def roll_back(self, txn: int, failure: Failure) -> None:
        """Drop the writes of a transaction, which ends; the turn can succeed no more."""

    def get_alarm(self) -> int | None:
        """The instant of the pending alarm as the turn sees it."""

    def set_alarm(self, when_ms: int | None, where: str | None) -> None:
        """Set the alarm, or clear it with None; `where` is the `file:line` that did it."""

    def sql_exec(self, query: str, bindings: Sequence[Any]) -> SqlRows:
        """Run SQL; its errors are those of `exec` in spec/telnyx-actors.md section 9."""

    def sql_savepoint(self) -> None:
        """Begin a part of the turn's SQL that can be undone alone; parts may be nested."""

    def sql_release(self) -> None:
        """Keep the innermost part with what is around it."""

    def sql_rollback_to(self) -> None:
        """Undo the innermost part."""

    def sql_problem(self) -> str | None:
        """Why the SQL of the turn could not be committed, if it could not."""

    def call(self, instance: InstanceId, method: str, args: bytes) -> Awaitable[bytes]:
        """Call a method of another instance.

        Raises (from the awaitable):
            ActorError: of the class that the platform's callers see.
        """

    def fetch(self, instance: InstanceId, request: PlainRequest) -> Awaitable[PlainResponse]:
        """Send a request to another instance; errors as for `call`.

        The answer to a request for a WebSocket has an `upgrade` and comes before any code ran.
        """

    def sockets(self) -> Sequence[int]:
        """The WebSockets of the instance that are open, oldest first."""

    def socket_send(self, socket: int, data: str | bytes) -> bool:
        """Send a message at once, whatever becomes of the turn; whether the socket is open."""

    def socket_close(self, socket: int, code: int | None, reason: str) -> None:
        """Begin to close a WebSocket; an event tells when the client has answered."""

    def socket_unsent_bytes(self, socket: int) -> int:
        """Bytes of a WebSocket that its client has not read yet."""

    def name_instance(self, name: str, place: Place) -> None:
        """Actor code makes a stub for an instance of that name; it need not exist.

        Raises:
            TypeError: in strict mode, for a name that is not safe on the platform (U15).
        """

    def unique_name(self) -> str:
        """A random name for `new_unique_id`.

        Raises:
            ActorError: unless the configuration makes it work (U16).
        """

    def send(self, service: Service, request: PlainRequest) -> Awaitable[PlainResponse]:
        """Send a request to an outside service, at once: it is not held for the commit.

        Raises (from the awaitable):
            ConnectionError, TimeoutError: when there is no answer.
        """

    def kv_get(self, namespace: str, key: object) -> str | None:
        """The text under a key of a KV namespace, which is no part of the turn.

        Raises:
            KvRefusedError: for what cannot be; so for the others.
        """

    def kv_put(self, namespace: str, key: object, value: object, ttl_s: object) -> None:
        """Write a text, to live for `ttl_s` virtual seconds or, with None, for ever."""

    def kv_delete(self, namespace: str, key: object) -> None:
        """Delete a key."""

    def kv_list(self, namespace: str, prefix: object, limit: object, cursor: object) -> KvPage:
        """A page of the names in a KV namespace."""

    def allow(self, rule: RateRule, key: str) -> bool:
        """Count a use of `key` under a rate limit; whether it passes."""

    def close(self) -> None:
        """The code of the turn has come to its end: its storage can be used no more."""

    def task_failed(self, failure: Failure, error: BaseException) -> None:
        """A task that the turn started ended with an error that nobody looked at."""

    def warn(self, code: str, message: str, where: str | None) -> None:
        """Tell the user about something risky, once a place."""


class Waiting(Struct, frozen=True):
    """A turn, or the work that it left behind, that waits, and where.

    Attributes:
        outside: whether it waits on the outside world rather than on virtual time or another turn.
    """

    turn_id: int
    instance: InstanceId | None
    where: str | None
    outside: bool


class Engine(Protocol):
    """What runs actor code of one language."""

    def load(self) -> None:
        """Load the project's source beside what is loaded; nothing changes for running code.

        Raises:
            EdgeemuError: with file, line and a code frame, if it does not load.
        """

    def swap(self) -> None:
        """Let everything that starts from now on use what was loaded last."""

    def start(self, host: Host, work: Work, done: Callable[[Result], None]) -> None:
        """Start a turn; `done` is called once, from the loop, when its code came to its end.

        A turn of kind `INIT` makes the object of the instance and keeps it until `drop`.
        """

    def stop(self, turn_id: int) -> None:
        """Stop running the code of a turn; `done` is not called for it any more."""

    def detach(self, turn_id: int) -> None:
        """Report no more for a turn whose budget is over; its code may run on to nowhere."""

    def took_ns(self, turn_id: int) -> int:
        """Real nanoseconds that the code of a running turn took so far."""

    def here(self) -> str | None:
        """The `file:line` of the actor code that asks its host for something right now."""

    def begins_at(self, instance: InstanceId, method: str) -> str | None:
        """The `file:line` where a method of an instance in memory begins, if it can be told."""

    def drop(self, instance: InstanceId) -> None:
        """Forget the object of an instance, and stop the work that its turns left behind."""

    async def settle(self, limit_ms: int) -> bool:
        """This waits until no code can go on without time, another turn or the outside.

        Args:
            limit_ms: real ms after which it waits no longer.

        Returns:
            Whether the code came to rest.
        """

    def waiting(self, *, outside_only: bool = False) -> list[Waiting]:
        """What still runs and where it waits, in order of the turns.

        Args:
            outside_only: leave out what waits on virtual time or on another turn.
        """

    def close(self) -> None:
        """Stop everything."""
