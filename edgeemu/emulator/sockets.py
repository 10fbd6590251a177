"""WebSockets between actors and their clients: what carries frames, and decides nothing.

A client is a `Peer`: a connection of the server, or a client in this process. What an actor sends
is handed to the peer as soon as its step is over, in order, and never held for the commit
(spec/telnyx-actors.md section 11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from edgeemu.core.events import (
    ClosedBy,
    SocketEnded,
    SocketEvent,
    SocketExpired,
    SocketPart,
    Turn,
    TurnKind,
    TurnRequested,
)
from edgeemu.core.sockets import ABNORMAL, NO_CODE
from edgeemu.core.timers import Timer
from edgeemu.core.upgrades import (
    application_headers,
    check_upgrade,
    offered_protocols,
    upgrade_headers,
)
from edgeemu.engines.port import PlainRequest, PlainResponse, Upgrade, Work
from edgeemu.ids import InstanceId
from edgeemu.limits import SOCKET_UNSENT_BYTES_MAX

if TYPE_CHECKING:
    from edgeemu.emulator.shell import Shell


class Peer(Protocol):
    """The client's end of a WebSocket."""

    def deliver(self, data: str | bytes) -> None:
        """Send a message: a text frame for `str`, a binary one for `bytes`."""

    def finish(self, code: int | None, reason: str) -> None:
        """Send a close frame; `Sockets.ended` is called when the client has answered it."""

    def sever(self) -> None:
        """Send what is left, and end the connection without a close frame."""

    def unsent_bytes(self) -> int:
        """Bytes that wait for the client to read."""


@dataclass(slots=True)
class _Close:
    code: int | None
    reason: str


@dataclass(slots=True)
class _Link:
    """One socket between an actor and its peer."""

    instance: InstanceId
    upgrade: Upgrade
    peer: Peer
    expiry: Timer
    started: bool = False
    open: bool = True
    gone: bool = False
    by: ClosedBy = ClosedBy.CLIENT
    outbox: list[str | bytes | _Close] = field(default_factory=list)
    outbox_bytes: int = 0


class Sockets:
    """Every open WebSocket of one emulator.

    Attributes:
        policy: what they may do on the platform.
    """

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._links: dict[int, _Link] = {}
        self.policy = shell.machine.profile.sockets

    # --- what the client does --------------------------------------------------------------

    def open(self, upgrade: Upgrade, peer: Peer, cause: str) -> int:
        """Let an actor take a socket; its number.

        Args:
            upgrade: what a stub answered to the request of the client.
            peer: the client, which is connected.
            cause: for the journal.
        """
        shell = self._shell
        number = shell.machine.take_turn_id()
        instance = upgrade.instance
        event = SocketEvent(number, SocketPart.OPEN)

        def expire() -> None:
            shell.dispatch(SocketExpired(shell.clock.now_ms(), instance, number))

        expiry = shell.timers.add(shell.clock.now_ms() + self.policy.lifetime_ms, expire)
        self._links[number] = _Link(instance, upgrade, peer, expiry)
        self._request(number, event, cause, turn_id=number)
        return number

    def received(self, number: int, data: str | bytes) -> None:
        """A message of the client has arrived."""
        link = self._links.get(number)
        if link is not None and link.open:
            event = SocketEvent(number, SocketPart.MESSAGE, data, _size_bytes(data))
            self._request(number, event, f"turn {number}")

    def ended(self, number: int, code: int, reason: str = "", *, error: str | None = None) -> None:
        """The client has closed the socket, or answered a close, or is gone.

        Args:
            number: of the socket.
            code: 1005 where there was none, 1006 for a connection that just ended.
            reason: in words, or empty.
            error: what was wrong, if the client broke the protocol.
        """
        link = self._links.get(number)
        if link is None or link.gone:
            return
        if link.started:
            del self._links[number]
        link.open, link.gone = False, True
        link.expiry.cancel()
        now_ms = self._shell.clock.now_ms()
        gone = SocketEnded(now_ms, link.instance, number, code, reason, link.by, error)
        self._shell.dispatch(gone)

    def _request(
        self, number: int, event: SocketEvent, cause: str, *, turn_id: int | None = None
    ) -> None:
        shell = self._shell
        if turn_id is None:
            turn_id = shell.machine.take_turn_id()
        instance = self._links[number].instance
        part = event.part.value
        turn = Turn(turn_id, instance, TurnKind.SOCKET, part, cause, socket=event)
        shell.dispatch(TurnRequested(shell.clock.now_ms(), turn))

    # --- what the core wants ---------------------------------------------------------------

    def work(self, turn: Turn) -> Work:
        """What the engine is to run for a turn of a socket."""
        event = turn.socket
        link = None if event is None else self._links.get(event.socket)
        if event is None or event.part is not SocketPart.OPEN or link is None:
            return Work(turn.kind, socket=event)
        link.started = True
        if link.gone:  # Its handler still gets what the client has sent.
            del self._links[event.socket]
        upgrade = link.upgrade
        return Work(turn.kind, socket=event, request=upgrade.request, protocol=upgrade.protocol)

    def refused(self, turn: Turn) -> None:
        """A turn does not take place: forget a socket that had no handler yet, nor a client."""
        if turn.socket is not None and turn.socket.part is SocketPart.OPEN:
            link = self._links.get(turn.socket.socket)
            if link is not None and link.gone:
                del self._links[turn.socket.socket]

    def shut(self, number: int, code: int, reason: str) -> None:
        """Close a socket towards its client; what the client says then is of no interest."""
        link = self._links.pop(number, None)
        if link is not None:
            link.open = False
            link.expiry.cancel()
            self._put(number, link, _Close(code, reason))

    # --- what the actor does ---------------------------------------------------------------

    def send(self, number: int, data: str | bytes) -> bool:
        """Send a message; whether the socket is open, for else it goes nowhere."""
        link = self._links.get(number)
        if link is None or not link.open:
            return False
        link.outbox_bytes += _size_bytes(data)
        if not self.bound_unread(number):
            return False
        self._put(number, link, data)
        return True

    def close(self, number: int, code: int | None, reason: str) -> None:
        """Begin to close a socket; the actor is told when the client has answered."""
        link = self._links.get(number)
        if link is not None and link.open:
            link.open = False
            link.by = ClosedBy.ACTOR
            self._put(number, link, _Close(code, reason))

    def open_of(self, instance: InstanceId) -> list[int]:
        """The sockets of an instance that are open and that its handler has begun to take."""
        return [
            number
            for number, link in self._links.items()
            if link.open and link.started and link.instance == instance
        ]

    def unsent_bytes(self, number: int) -> int:
        """Bytes of a socket that wait for the client to read."""
        link = self._links.get(number)
        return 0 if link is None else link.outbox_bytes + link.peer.unsent_bytes()

    def bound_unread(self, number: int) -> bool:
        """Cut a client off that leaves too much unread; whether the socket is still open."""
        link = self._links.get(number)
        if link is None or not link.open:
            return False
        if link.outbox_bytes + link.peer.unsent_bytes() <= SOCKET_UNSENT_BYTES_MAX:
            return True
        self._give_up(number, link)
        return False

    def _give_up(self, number: int, link: _Link) -> None:
        """A client that does not read is cut off, before it takes the memory."""
        link.open = False
        shell = self._shell
        text = (
            f"a client of {link.instance} left {SOCKET_UNSENT_BYTES_MAX} bytes unread, "
            "so its connection was severed"
        )
        shell.notices.warn("W_SOCKET_SLOW", text, str(link.instance), link.instance)
        now_ms, by = shell.clock.now_ms(), ClosedBy.PLATFORM
        event = SocketEnded(now_ms, link.instance, number, ABNORMAL, "", by)
        shell.loop.call_soon(shell.dispatch, event, context=shell.loop.plain_context)

    def _put(self, number: int, link: _Link, item: str | bytes | _Close) -> None:
        """Hand something to the peer when the present step, of actor code or ours, is over."""
        if not link.outbox:
            loop = self._shell.loop
            loop.call_soon(self._flush, number, link, context=loop.plain_context)
        link.outbox.append(item)

    def _flush(self, number: int, link: _Link) -> None:
        items, link.outbox, link.outbox_bytes = link.outbox, [], 0
        for item in items:
            if not isinstance(item, _Close):
                link.peer.deliver(item)
            elif item.code == ABNORMAL:
                link.peer.sever()
            else:
                link.peer.finish(item.code, item.reason)


def _size_bytes(data: str | bytes) -> int:
    """Bytes of a message on the wire."""
    return len(data) if isinstance(data, bytes) or data.isascii() else len(data.encode())


def answer_upgrade(instance: InstanceId, request: PlainRequest) -> PlainResponse:
    """What a stub answers to a request for a WebSocket.

    Raises:
        TypeError: for a name or a header that the platform cannot pass on.
    """
    if request.method != "GET":
        text = f"an upgrade to a WebSocket is a GET, not a {request.method}"
        return PlainResponse(400, (), text.encode())
    headers = application_headers(request.headers)
    check_upgrade(instance.name, headers)
    protocol = next(iter(offered_protocols(request.headers)), "")
    seen = PlainRequest("GET", request.url, headers, b"")
    return PlainResponse(101, (), b"", Upgrade(instance, seen, protocol))


def asking_for_socket(request: PlainRequest, protocols: Sequence[str]) -> PlainRequest:
    """A request that asks for a WebSocket, and offers subprotocols."""
    return PlainRequest("GET", request.url, upgrade_headers(request.headers, protocols), b"")


class SocketClient:
    """A client of a WebSocket in this process.

    Attributes:
        protocol: the subprotocol that was agreed on, or empty.
        received: the messages that have arrived, in order.
        closed: code and reason once the socket is closed; 1006 if it was severed.
    """

    def __init__(self, sockets: Sockets, upgrade: Upgrade, cause: str) -> None:
        self.protocol = upgrade.protocol
        self.received: list[str | bytes] = []
        self.closed: tuple[int, str] | None = None
        self._sockets = sockets
        self._number = 0
        self._number = sockets.open(upgrade, self, cause)

    def send(self, data: str | bytes) -> bool:
        """Send a message; whether the socket is open, for else it goes nowhere."""
        if self.closed is not None:
            return False
        self._sockets.received(self._number, data)
        return True

    def close(self, code: int | None = 1000, reason: str = "") -> None:
        """Close the socket; nothing happens where it is closed already."""
        if self.closed is None:
            self.closed = (NO_CODE if code is None else code, reason)
            self._sockets.ended(self._number, *self.closed)

    def drop(self) -> None:
        """Go away without a word, as a client does that loses its network."""
        if self.closed is None:
            self.closed = (ABNORMAL, "")
            self._sockets.ended(self._number, ABNORMAL)

    def deliver(self, data: str | bytes) -> None:
        """As `Peer.deliver`."""
        if self.closed is None:
            self.received.append(data)

    def finish(self, code: int | None, reason: str) -> None:
        """As `Peer.finish`: this client answers at once, with the same code."""
        self.close(code, reason)

    def sever(self) -> None:
        """As `Peer.sever`."""
        if self.closed is None:
            self.closed = (ABNORMAL, "")

    def unsent_bytes(self) -> int:
        """As `Peer.unsent_bytes`: everything arrives at once."""
        return 0
