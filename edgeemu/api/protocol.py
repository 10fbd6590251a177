"""The HTTP protocol of the server: uvicorn's, with one write for an answer instead of two.

uvicorn hands the head of an answer to the socket before the body is there, and each `send` costs
about 40 µs, not much less than a turn of an actor; the client wakes up twice, too. Here what is
written in one breath of the loop leaves as one.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_JOINED_BYTES_MAX = 65_536
"""More than this is not held back: the transport's own flow control must see it."""


class _JoinedWrites:
    """A transport that writes what came since the loop last came round in one go."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Write soon, or now if it is much."""
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(data)
        if len(data) > _JOINED_BYTES_MAX:
            self._flush()

    def close(self) -> None:
        """Write what is held, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        held, self._held = self._held, []
        if held and not self._transport.is_closing():
            self._transport.write(held[0] if len(held) == 1 else b"".join(held))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class JoiningProtocol(HttpToolsProtocol):
    """uvicorn's protocol over a transport that joins writes."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Serve a new connection."""
        super().connection_made(_JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
