"""What the JavaScript host says: each line is one of these, a JSON array with its name first.

A frame that `asks` is answered before the host goes on; the others are told and not waited for.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Raw, Struct

from edgeemu.sdk.errors import Raised

Plain = tuple[str, str, list[tuple[str, str]], str]
"""A request: method, URL, headers, body in base64."""


class Told(Struct, frozen=True, array_like=True):
    """A frame that needs no answer."""


class Asked(Struct, frozen=True, array_like=True):
    """A frame for whose answer the host waits."""


class Idle(Told, frozen=True, array_like=True, tag="idle"):
    """Nothing is left to run: the step is over."""


class Described(Struct, frozen=True):
    """An error of JavaScript.

    Attributes:
        name, message, stack: its own.
        own: whether the user's code threw it.
        more: what caused it, or what it stands for: how, name, message, stack and `raised`.
        raised: where it arose, if it came out of a call of another actor.
    """

    name: str
    message: str
    stack: str
    own: bool
    more: Sequence[tuple[str, str, str, str, Raised | None]] = ()
    raised: Raised | None = None


class FoundFunction(Struct, frozen=True):
    """What a function exports.

    Attributes:
        front: whether there is a `fetch`.
        exports: the actor classes that each module exports, by its URL.
        others: what else each exports.
        classes: those of the types that the configuration declares.
    """

    name: str
    front: bool
    exports: dict[str, list[str]]
    others: dict[str, list[str]]
    classes: list[str]


class Loaded(Told, frozen=True, array_like=True, tag="loaded"):
    """The project is loaded."""

    functions: list[FoundFunction]


class Unresolved(Struct, frozen=True):
    """An import that leads nowhere: why, what it names, the file with it, and what that takes."""

    reason: str
    specifier: str
    importer: str
    more: str | list[str] | None


class WhyNot(Described, frozen=True):
    """The error of a load, the import that led nowhere, and which file imports which."""

    unresolved: Unresolved | None = None
    imports: Sequence[tuple[str, str]] = ()


class LoadFailed(Told, frozen=True, array_like=True, tag="load_failed"):
    """It does not load."""

    error: WhyNot


class Done(Told, frozen=True, array_like=True, tag="done"):
    """The code of a turn has come to its end; `told` is its answer, or its error."""

    turn: int
    succeeded: bool
    told: Raw


class Swept(Told, frozen=True, array_like=True, tag="swept"):
    """Nothing of a turn is left."""

    turn: int


class Where(Told, frozen=True, array_like=True, tag="where"):
    """Where the code stands that waits for a ticket."""

    place: str | None


class Put(Told, frozen=True, array_like=True, tag="put"):
    """Write a key; `place` is there where it is large."""

    turn: int
    key: str
    txn: int | None
    value: Raw
    place: str | None = None


class TryPut(Asked, frozen=True, array_like=True, tag="try_put"):
    """Write a key that may be refused."""

    turn: int
    key: str
    txn: int | None
    value: Raw


class Get(Asked, frozen=True, array_like=True, tag="get"):
    """Read a key."""

    turn: int
    key: str
    txn: int | None


class Delete(Asked, frozen=True, array_like=True, tag="delete"):
    """Delete a key."""

    turn: int
    key: str
    txn: int | None


class Range(Struct, frozen=True):
    """The options of `list`."""

    prefix: str | None
    start: str | None
    start_after: str | None
    end: str | None
    reverse: bool
    limit: int | None


class List(Asked, frozen=True, array_like=True, tag="list"):
    """Read a range of keys; `place` is there where the limit was left out."""

    turn: int
    range: Range
    place: str | None
    txn: int | None


class Clear(Told, frozen=True, array_like=True, tag="clear"):
    """Delete every key."""

    turn: int
    place: str | None


class Begin(Asked, frozen=True, array_like=True, tag="begin"):
    """Open a transaction."""

    turn: int
    within: int | None


class Commit(Asked, frozen=True, array_like=True, tag="commit"):
    """Keep a transaction."""

    turn: int
    txn: int


class RollBack(Told, frozen=True, array_like=True, tag="roll_back"):
    """Drop a transaction, whose function threw an error of this name and message."""

    turn: int
    txn: int
    error: tuple[str, str]


class SetAlarm(Told, frozen=True, array_like=True, tag="alarm"):
    """Set the alarm, or clear it; `given` is what the code gave."""

    turn: int
    when_ms: int | None
    given: float
    place: str | None


class GetAlarm(Asked, frozen=True, array_like=True, tag="get_alarm"):
    """Read the alarm."""

    turn: int


class Sql(Asked, frozen=True, array_like=True, tag="sql"):
    """Run SQL; the bindings are encoded values."""

    turn: int
    query: str
    bindings: Raw


class Savepoint(Asked, frozen=True, array_like=True, tag="savepoint"):
    """Begin a part of the SQL that can be undone alone."""

    turn: int


class Release(Asked, frozen=True, array_like=True, tag="release"):
    """Keep that part."""

    turn: int


class RollbackTo(Asked, frozen=True, array_like=True, tag="rollback_to"):
    """Undo that part."""

    turn: int


class Call(Told, frozen=True, array_like=True, tag="call"):
    """Call a method of another instance; a ticket is settled with its result."""

    turn: int
    ticket: int
    instance: tuple[str, str]
    method: str
    args: Raw


class Fetch(Told, frozen=True, array_like=True, tag="fetch"):
    """Send a request to another instance."""

    turn: int
    ticket: int
    instance: tuple[str, str]
    request: Plain


class Send(Told, frozen=True, array_like=True, tag="send"):
    """Send a request to a service, named by function, side and binding."""

    turn: int
    ticket: int
    at: tuple[str, str, str]
    request: Plain


class Reach(Told, frozen=True, array_like=True, tag="reach"):
    """Send a request to the address that it names."""

    turn: int
    ticket: int
    request: Plain


class Timer(Told, frozen=True, array_like=True, tag="timer"):
    """Settle a ticket at an instant."""

    turn: int | None
    ticket: int
    at_ms: int


class ClearTimer(Told, frozen=True, array_like=True, tag="clear_timer"):
    """Give a timer up."""

    ticket: int


class Random(Asked, frozen=True, array_like=True, tag="random"):
    """The seed of a turn's generator."""

    turn: int


class Name(Asked, frozen=True, array_like=True, tag="name"):
    """A stub is made for an instance of an odd name."""

    turn: int
    name: str
    place: str | None


class UniqueName(Asked, frozen=True, array_like=True, tag="unique_name"):
    """A name that nobody guesses."""

    turn: int


class Kv(Asked, frozen=True, array_like=True, tag="kv"):
    """Use a KV namespace."""

    turn: int
    operation: str
    namespace: str
    args: list[Any]


class Allow(Asked, frozen=True, array_like=True, tag="allow"):
    """Count a use under a rate limit."""

    turn: int
    at: tuple[str, str, str]
    key: str


class Sockets(Asked, frozen=True, array_like=True, tag="sockets"):
    """The open WebSockets of the instance."""

    turn: int


class SocketSend(Asked, frozen=True, array_like=True, tag="socket_send"):
    """Send a message: `text`, or `binary` in base64."""

    turn: int
    socket: int
    kind: str
    data: str


class SocketClose(Asked, frozen=True, array_like=True, tag="socket_close"):
    """Begin to close a WebSocket."""

    turn: int
    socket: int
    code: int | None
    reason: str


class Unsent(Asked, frozen=True, array_like=True, tag="unsent"):
    """Bytes that the client of a WebSocket has not read."""

    turn: int
    socket: int


class Warn(Told, frozen=True, array_like=True, tag="warn"):
    """Something risky."""

    turn: int
    code: str
    message: str
    place: str | None


class NoHandler(Told, frozen=True, array_like=True, tag="no_handler"):
    """An alarm was delivered to a class without a handler."""

    turn: int
    class_name: str


class Late(Told, frozen=True, array_like=True, tag="late"):
    """Code used its storage after its turn had ended."""

    turn: int
    place: str | None


class Print(Told, frozen=True, array_like=True, tag="print"):
    """A line of `console`."""

    turn: int | None
    level: str
    text: str


class Unhandled(Told, frozen=True, array_like=True, tag="unhandled"):
    """A promise was rejected and nobody looked."""

    turn: int | None
    error: Described


Frame = (
    Idle
    | Loaded
    | LoadFailed
    | Done
    | Swept
    | Where
    | Put
    | TryPut
    | Get
    | Delete
    | List
    | Clear
    | Begin
    | Commit
    | RollBack
    | SetAlarm
    | GetAlarm
    | Sql
    | Savepoint
    | Release
    | RollbackTo
    | Call
    | Fetch
    | Send
    | Reach
    | Timer
    | ClearTimer
    | Random
    | Name
    | UniqueName
    | Kv
    | Allow
    | Sockets
    | SocketSend
    | SocketClose
    | Unsent
    | Warn
    | NoHandler
    | Late
    | Print
    | Unhandled
)
"""Any of them."""
