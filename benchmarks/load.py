"""The load generator: keep-alive connections on asyncio, as little between them as can be."""

import asyncio
import http.client
import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

import httptools

Answer = tuple[int, bytes]


class _Connection(asyncio.Protocol):
    """One connection with one request under way at most."""

    def __init__(self) -> None:
        self._waiter: asyncio.Future[Answer] | None = None
        self._body = bytearray()
        self._parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: Any) -> None:
        """Remember where to ask."""
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        """Whoever waits learns that no answer comes."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(ConnectionError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        """Parse what came."""
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        """A new answer starts."""
        self._body.clear()

    def on_body(self, data: bytes) -> None:
        """A piece of the body."""
        self._body += data

    def on_message_complete(self) -> None:
        """The answer is there."""
        status = self._parser.get_status_code()
        self._parser = httptools.HttpResponseParser(self)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result((status, bytes(self._body)))

    async def get(self, path: str) -> bytes:
        """The body behind a path.

        Raises:
            RuntimeError: for any status but 200: a benchmark of errors measures nothing.
        """
        self._waiter = asyncio.get_running_loop().create_future()
        self.transport.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        status, body = await self._waiter
        if status != 200:
            raise RuntimeError(f"{path} was answered {status}: {body[:200]!r}")
        return body


class Load:
    """Asks one server over a number of connections.

    Args:
        port: of the server, on the loopback.
        connections: how many requests are under way at once.
    """

    def __init__(self, port: int, connections: int = 1) -> None:
        self._port = port
        self._count = connections
        self._connections: list[_Connection] = []

    async def __aenter__(self) -> "Load":
        loop = asyncio.get_running_loop()
        for _ in range(self._count):
            _, made = await loop.create_connection(_Connection, "127.0.0.1", self._port)
            self._connections.append(made)
        return self

    async def __aexit__(self, *_: object) -> None:
        for connection in self._connections:
            connection.transport.close()

    async def get(self, path: str) -> bytes:
        """One request on the first connection."""
        return await self._connections[0].get(path)

    async def run_all(self, paths: Iterator[str]) -> int:
        """Ask for every path, each connection taking the next one; how many that were."""
        asked = 0

        async def work(connection: _Connection) -> None:
            nonlocal asked
            for path in paths:
                await connection.get(path)
                asked += 1

        await asyncio.gather(*map(work, self._connections))
        return asked

    async def rate(self, paths: Iterator[str], seconds: float) -> float:
        """Requests a second, over `seconds`."""
        started = time.perf_counter()
        deadline = started + seconds
        timed = itertools.takewhile(lambda _: time.perf_counter() < deadline, paths)
        asked = await self.run_all(timed)
        return asked / (time.perf_counter() - started)


def ask(port: int, path: str, *, timeout_s: float = 60.0) -> bytes:
    """One request outside of any loop.

    Raises:
        OSError: when nobody answers.
        RuntimeError: for any status but 200.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
    finally:
        connection.close()
    if response.status != 200:
        raise RuntimeError(f"{path} was answered {response.status}: {body[:200]!r}")
    return body


def control(port: int, token: str, operation: str, params: dict[str, Any]) -> Any:
    """One operation of edgeemu's control API."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    path = "/_edgeemu/" + operation.replace(".", "/")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        connection.request("POST", path, json.dumps(params), headers)
        response = connection.getresponse()
        body = json.loads(response.read())
    finally:
        connection.close()
    if response.status != 200:
        raise RuntimeError(f"{operation} was answered {response.status}: {body}")
    return body
