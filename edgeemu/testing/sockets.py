"""A WebSocket in a test: a client in the test's own process, behind plain calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from edgeemu.emulator.sockets import SocketClient
from edgeemu.engines.python.sockets import plain_message
from edgeemu.errors import Code, EdgeemuError
from edgeemu.sdk.context import Message

if TYPE_CHECKING:
    from edgeemu.testing.fixture import EdgeemuFixture

__tracebackhide__ = True


class SocketHandle:
    """One WebSocket, seen from its client.

    Each call lets everything run that can run at the present instant, before and after.
    """

    def __init__(self, fixture: EdgeemuFixture, client: SocketClient) -> None:
        self._fixture = fixture
        self._client = client
        self._read = 0

    @property
    def protocol(self) -> str:
        """The subprotocol that was agreed on, or empty."""
        return self._client.protocol

    @property
    def closed_code(self) -> int | None:
        """The close code, once the socket is closed: 1006 if it was severed; None before."""
        self._run(lambda: None)
        closed = self._client.closed
        return None if closed is None else closed[0]

    @property
    def closed_reason(self) -> str:
        """The reason that came with the close code, or empty."""
        self._run(lambda: None)
        closed = self._client.closed
        return "" if closed is None else closed[1]

    def send(self, data: Message) -> None:
        """Send a message: `str` is a text frame, bytes are a binary one.

        Raises:
            EdgeemuError: `E_SOCKET_CLOSED`.
        """
        plain = plain_message(data)
        self._run(lambda: None)
        closed = self._client.closed
        if closed is not None:
            raise EdgeemuError(
                Code.SOCKET_CLOSED,
                what="a message was sent on a WebSocket that is closed",
                why=f"it was closed with {closed[0]} {closed[1]}".rstrip(),
                fix="look at `closed_code` first, and at the journal for who closed it",
            )
        self._run(lambda: self._client.send(plain))

    def receive(self) -> list[str | bytes]:
        """The messages that have arrived since the last call, in order; perhaps none."""
        self._run(lambda: None)
        start, self._read = self._read, len(self._client.received)
        return self._client.received[start:]

    def close(self, code: int | None = 1000, reason: str = "") -> None:
        """Close it; nothing happens where it is closed already.

        Args:
            code: as a client may send it; None for a close frame without one (1005).
            reason: in words.
        """
        self._run(lambda: self._client.close(code, reason))

    def drop(self) -> None:
        """Go away without a close frame, as a client does that loses its network (1006)."""
        self._run(self._client.drop)

    def _run(self, act: Callable[[], object]) -> None:
        async def work() -> None:
            act()

        self._fixture.run(work, present=True)

    def __repr__(self) -> str:
        closed = self._client.closed
        return f"<socket: {'open' if closed is None else f'closed {closed[0]}'}>"
