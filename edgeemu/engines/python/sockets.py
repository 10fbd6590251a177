"""WebSockets as Python actor code sees them: the `ws` of `web_socket(ws, request)`.

A socket behaves like one of the `ws` package of Node, in Python spelling. Source:
spec/telnyx-actors.md section 11.
"""

import inspect
from collections.abc import Callable
from typing import Any

from edgeemu.core.events import SocketEvent, SocketPart
from edgeemu.core.sockets import check_close
from edgeemu.engines.port import Host, Work
from edgeemu.engines.python.dispatch import (
    invoke,
    misnamed_socket_handler,
    missing_attribute,
    settled,
)
from edgeemu.engines.python.reading import begins_at
from edgeemu.engines.python.scope import Scope, caller_place, current_scope
from edgeemu.ids import InstanceId
from edgeemu.sdk.context import Message
from edgeemu.sdk.errors import ActorError
from edgeemu.sdk.http import Request

_GIVEN = {SocketPart.MESSAGE: 2, SocketPart.CLOSE: 1, SocketPart.ERROR: 1}
"""The events that a listener can be for, and how many arguments it is given."""


def plain_message(data: object) -> str | bytes:
    """A message as it crosses to the client, taken now.

    Raises:
        TypeError: for anything but text without lone surrogates, and bytes.
    """
    if isinstance(data, str):
        if not data.isascii() and any("\ud800" <= char <= "\udfff" for char in data):
            raise TypeError("a text frame cannot hold a lone surrogate, half a character")
        return data
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise TypeError(
        f"a message is str or bytes, not {type(data).__name__}; for JSON send json.dumps(value)"
    )


class ActorSocket:
    """One WebSocket, open or not.

    Emulates: the `ws` of `webSocket(ws, req)`. Source: spec/telnyx-actors.md section 11.
    """

    def __init__(self, number: int, protocol: str, root: str) -> None:
        self._number = number
        self._protocol = protocol
        self._root = root
        self._listeners: dict[SocketPart, list[tuple[Callable[..., Any], int]]] = {}
        self._taking = True

    @property
    def number(self) -> int:
        """Which one it is, as in the journal."""
        return self._number

    @property
    def protocol(self) -> str:
        """The subprotocol that was agreed on: the first that the client offered, or empty."""
        return self._protocol

    @property
    def buffered_amount(self) -> int:
        """Bytes that were sent and that the client has not read yet."""
        return current_scope().host.socket_unsent_bytes(self._number)

    def on(self, event: str, listener: Callable[..., Any] | None = None) -> Any:
        """Have `listener` called for each `message`, `close` or `error`; a decorator without one.

        Raises:
            ValueError: for another event.
            TypeError: for a listener that cannot be called with what it is given.
            ActorError: after `web_socket` has returned.
        """
        if listener is None:
            return lambda function: self.on(event, function)
        parts = [part for part in _GIVEN if part.value == event]
        if not parts:
            raise ValueError(f"a socket has the events message, close and error, not {event!r}")
        if not self._taking:
            raise ActorError("listeners are registered before web_socket returns: this is too late")
        takes = _takes(listener, event, _GIVEN[parts[0]])
        self._listeners.setdefault(parts[0], []).append((listener, takes))
        return listener

    def send(self, data: Message) -> None:
        """Send a message at once: it is not held for the commit, and not undone by a throw.

        On a socket that is closed it goes nowhere, with a warning.

        Raises:
            TypeError: for anything but `str` and bytes.
        """
        plain, host = plain_message(data), current_scope().host
        if not host.socket_send(self._number, plain):
            text = "a message was sent on a WebSocket that is closed, so it went nowhere"
            host.warn("W_SOCKET_CLOSED", text, caller_place(self._root))

    def close(self, code: int | None = None, reason: str = "") -> None:
        """Begin to close the socket; without a code the client sees 1005.

        Raises:
            TypeError: for a code that cannot be sent.
            ValueError: for a reason above 123 bytes, or without a code.
        """
        check_close(code, reason)
        current_scope().host.socket_close(self._number, code, reason)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(missing_attribute("a socket", name, dir(type(self)), ""))

    def __repr__(self) -> str:
        return f"<socket {self._number}>"


class SocketTable:
    """The sockets of every instance in memory, until each has had its last event."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._of: dict[InstanceId, dict[int, ActorSocket]] = {}

    def forget(self, instance: InstanceId) -> None:
        """The instance has left the memory."""
        self._of.pop(instance, None)

    def open_of(self, host: Host) -> list[ActorSocket]:
        """The sockets of the instance that are open now, oldest first."""
        known = {} if host.instance is None else self._of.get(host.instance, {})
        return [known[number] for number in host.sockets() if number in known]

    async def run(
        self, scope: Scope, target: Any, work: Work, request: Request | None, no_handler: str
    ) -> None:
        """Run what an actor wants done for one event of a socket.

        Raises:
            ActorError: with the text `no_handler`, for a class that takes no sockets.
        """
        event, instance = work.socket, scope.host.instance
        if event is None or instance is None:
            return
        known = self._of.setdefault(instance, {})
        if event.part is SocketPart.OPEN:
            opened = known[event.socket] = ActorSocket(event.socket, work.protocol, self._root)
            try:
                await self._open(scope, target, opened, request, no_handler)
            except BaseException:
                known.pop(event.socket, None)
                raise
            return
        socket = known.get(event.socket)
        if socket is None:
            return
        if event.part is SocketPart.CLOSE:
            del known[event.socket]
        for listener, takes in socket._listeners.get(event.part, ()):
            await settled(invoke(scope, listener, _arguments(event)[:takes]))

    async def _open(
        self,
        scope: Scope,
        target: Any,
        socket: ActorSocket,
        request: Request | None,
        no_handler: str,
    ) -> None:
        handler = getattr(target, "web_socket", None)
        if handler is None:
            error = ActorError(no_handler)
            meant = misnamed_socket_handler(target)
            if meant is not None:  # The message is the platform's, and its clients see it.
                made, right = type(target).__name__, "web_socket(self, ws, request)"
                error.add_note(f"  {made} has {meant}; did you mean {right}?")
            raise scope.refuse(error, begins_at(target, meant or "", self._root))
        try:
            await settled(invoke(scope, handler, [socket, request]))
        finally:
            socket._taking = False


def _arguments(event: SocketEvent) -> list[Any]:
    if event.part is SocketPart.MESSAGE:
        return [event.data, isinstance(event.data, bytes)]
    return [event.code] if event.part is SocketPart.CLOSE else [ActorError(event.reason)]


def _takes(listener: Callable[..., Any], event: str, given: int) -> int:
    """How many of its arguments a listener wants: as in JavaScript it may leave the last ones.

    Raises:
        TypeError: if it wants more.
    """
    try:
        signature = inspect.signature(listener)
    except (TypeError, ValueError):
        return given  # A function in C that does not tell.
    for count in range(given, -1, -1):
        try:
            signature.bind(*range(count))
        except TypeError:
            continue
        return count
    raise TypeError(f"a listener for {event} takes at most {given} arguments, not {signature}")
