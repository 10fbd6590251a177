"""A WebSocket that stays open: what arrives goes out line by line, with its emulated instant.

Promise: nothing is held that the reader could have had, and a reader that is too slow is cut off as
any client is.
"""

import asyncio
import json
from typing import Any

from edgeemu.api import schemas
from edgeemu.api.app import Receive, Send, wait_leave
from edgeemu.api.front import asked_function
from edgeemu.codec import to_json
from edgeemu.emulator import Emulator, PlainRequest, problems
from edgeemu.emulator.sockets import SocketClient, asking_for_socket
from edgeemu.errors import EdgeemuError


class Follower(SocketClient):
    """A client whose messages are taken away as they come.

    Attributes:
        news: set when there is something to take.
    """

    def __init__(self, emulator: Emulator, upgrade: Any, cause: str) -> None:
        self.news = asyncio.Event()
        self._clock = emulator.clock
        self._found: list[dict[str, Any]] = []
        self._unread_bytes = 0
        super().__init__(emulator.sockets, upgrade, cause)

    def deliver(self, data: str | bytes) -> None:
        """As `Peer.deliver`."""
        if self.closed is None:
            self._unread_bytes += len(data.encode() if isinstance(data, str) else data)
            self._add({"data": to_json(data)})

    def finish(self, code: int | None, reason: str) -> None:
        """As `Peer.finish`: this client answers at once, with the same code."""
        super().finish(code, reason)
        self._add_end()

    def sever(self) -> None:
        """As `Peer.sever`."""
        super().sever()
        self._add_end()

    def unsent_bytes(self) -> int:
        """As `Peer.unsent_bytes`: what was not taken yet."""
        return self._unread_bytes

    def take(self) -> bytes:
        """What has arrived since the last time, one JSON object a line; perhaps nothing."""
        self.news.clear()
        found, self._found, self._unread_bytes = self._found, [], 0
        return "".join(json.dumps(entry) + "\n" for entry in found).encode()

    def _add_end(self) -> None:
        if self.closed is not None:
            self._add({"closed": {"code": self.closed[0], "reason": self.closed[1]}})

    def _add(self, entry: dict[str, Any]) -> None:
        self._found.append({"at_ms": self._clock.read()["now_ms"], **entry})
        self.news.set()


async def follow_socket(
    emulator: Emulator,
    request: PlainRequest,
    params: schemas.Connect,
    receive: Receive,
    send: Send,
    *,
    cause: str,
) -> None:
    """Open a WebSocket and write what arrives, until either side, or the server, goes.

    Raises:
        EdgeemuError: as `converse`, before anything is written.
    """
    function = asked_function(emulator, request, params.function, params.send)
    asking = asking_for_socket(request, params.protocols)
    failures: list[EdgeemuError] = []
    response = await emulator.fetch(
        asking, function=function, cause=cause, on_failure=failures.append, upgrades=True
    )
    if response.upgrade is None:
        raise problems.socket_refused(asking.url, response, failures)
    client = Follower(emulator, response.upgrade, cause)
    left = asyncio.ensure_future(wait_leave(receive, client.news))
    headers = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store")]
    try:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for text in params.send:
            client.send(text)
        ended = False
        while not ended:
            ended = client.closed is not None or left.done()
            lines = client.take()
            if lines:
                await send({"type": "http.response.body", "body": lines, "more_body": True})
            elif not ended:
                await client.news.wait()
    except asyncio.CancelledError:
        pass  # The server stops: end the stream as it should.
    finally:
        left.cancel()
        client.close()
    await send({"type": "http.response.body", "body": b""})
