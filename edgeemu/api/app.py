"""The one ASGI application: the control API below `/_edgeemu/`, the project's own front elsewhere.

Promise: whatever a request does, it gets an answer, and the server lives on. The control API is
imported by its first request, so that the first answer to a user comes sooner.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

from edgeemu.api.client import PREFIX
from edgeemu.api.front import NO_BODY_STATUSES, answer_front, plain_text, too_large
from edgeemu.emulator import Emulator, PlainRequest, PlainResponse
from edgeemu.errors import Code, EdgeemuError

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_STOPPING = EdgeemuError(
    Code.SERVER_UNREACHABLE,
    what="edgeemu dev is stopping, and this request had not ended",
    why="running turns get a bounded time when it is told to stop",
    fix="see with `edgeemu log` what was kept, and ask again",
)

_STOPPED = plain_text(503, "edgeemu dev is stopping")

_LOG = logging.getLogger("edgeemu")


class GoneError(Exception):
    """The client closed the connection before its request was whole."""


class TooLargeError(Exception):
    """A body is longer than the bound."""


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use the control API.

    Attributes:
        token: that a request must carry.
        host: that the server was told to bind.
        port: that it listens on.
    """

    token: str
    host: str
    port: int


class App:
    """Serves one emulator.

    Args:
        emulator: that answers.
        access: to the control API.
    """

    def __init__(self, emulator: Emulator, access: Access) -> None:
        self.emulator = emulator
        self.access = access
        self._running: set[asyncio.Task[Any]] = set()
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        if scope["type"] != "http":
            raise RuntimeError(f"this server speaks HTTP, not {scope['type']}")
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a request needs a task")
        self._running.add(task)
        try:
            await self._serve(scope, receive, send)
        except GoneError:
            pass  # There is nobody left to answer.
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            task.uncancel()
            await self._say_stopping(scope, send)
        finally:
            self._running.discard(task)

    def stop(self) -> None:
        """Answer what still waits with 503, and end what follows the journal."""
        self._stopping = True
        for task in list(self._running):
            task.cancel()

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Hold a task that answers a request, and stop it with the others."""
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def answer_upgrade(self, request: PlainRequest) -> PlainResponse:
        """What the function in front answers to a request for a WebSocket."""
        try:
            return await answer_front(self.emulator, request, cause="http", upgrades=True)
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            return _STOPPED
        except Exception:
            _LOG.exception("a bug in edgeemu: GET %s got status 500", request.url)
            return plain_text(500, "Internal Server Error")

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path.startswith(PREFIX) or path == PREFIX[:-1]:
            from edgeemu.api import control

            await control.serve(self, scope, receive, send)
            return
        try:
            response = await self._front(scope, receive)
        except TooLargeError:
            response = too_large(self.emulator.config.limits.body_bytes)
        except (GoneError, asyncio.CancelledError):
            raise
        except Exception:
            _LOG.exception("a bug in edgeemu: %s %s got status 500", scope["method"], path)
            response = plain_text(500, "Internal Server Error")
        await _respond(scope, send, response)

    async def _front(self, scope: Scope, receive: Receive) -> PlainResponse:
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        )
        body = await read_body(scope, receive, self.emulator.config.limits.body_bytes)
        request = PlainRequest(scope["method"], _url(scope), headers, body)
        return await answer_front(self.emulator, request, cause="http")

    async def _say_stopping(self, scope: Scope, send: Send) -> None:
        """A response that has begun already ends here: the connection closes with the server."""
        response = _STOPPED
        if scope["path"].startswith(PREFIX):
            headers = (("content-type", "application/json"),)
            response = PlainResponse(503, headers, json.dumps(_STOPPING.as_json()).encode())
        try:
            await _respond(scope, send, response)
        except RuntimeError:
            _LOG.debug("a response was cut short, because the server stops")


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole body of a request.

    Args:
        scope, receive: of the request.
        limit: bytes that it may have.

    Raises:
        TooLargeError: as soon as it is known to be longer.
        GoneError: when the client goes away first.
    """
    declared = header(scope, b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > limit:
        raise TooLargeError
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        whole: bytes = message.get("body", b"")
        if len(whole) > limit:
            raise TooLargeError
        return whole
    parts = bytearray()
    while message["type"] == "http.request":
        parts += message.get("body", b"")
        if len(parts) > limit:
            raise TooLargeError
        if not message.get("more_body"):
            return bytes(parts)
        message = await receive()
    raise GoneError


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first value of a header, or None."""
    found: Iterable[bytes] = (value for key, value in scope["headers"] if key == name)
    return next(iter(found), None)


def _url(scope: Scope) -> str:
    """The full URL as the client wrote it: percent signs stay as they are."""
    host = header(scope, b"host") or b"localhost"
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    url = b"%s://%s%s" % (scope["scheme"].encode(), host, path)
    return (url + b"?" + query if query else url).decode("latin-1")


async def _respond(scope: Scope, send: Send, response: PlainResponse) -> None:
    headers = [
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers
    ]
    if response.status not in NO_BODY_STATUSES:
        headers.append((b"content-length", b"%d" % len(response.body)))
    if response.status in (413, 503):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    body = b"" if scope["method"] == "HEAD" else response.body
    await send({"type": "http.response.body", "body": body})


async def wait_leave(receive: Receive, news: asyncio.Event) -> None:
    """Wait until the client has gone away, and set `news` then."""
    while (await receive())["type"] != "http.disconnect":
        pass
    news.set()
