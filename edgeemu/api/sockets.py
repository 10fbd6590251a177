"""WebSockets of the server: one connection each, from its request to its last byte.

Promise: whatever bytes arrive, the connection ends with a close code, or an HTTP status before it
is open; it ends alone; and what a client has not read is bounded by the emulator.

`websockets` reads and writes the frames; uvicorn hands the connection over. uvicorn's own way from
a connection to the application was tried and dropped: it tells a lost connection from a closed one
by another code, and lets nobody end one without a close frame, which is how the platform severs.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from websockets.datastructures import Headers
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol

from edgeemu.api.client import PREFIX
from edgeemu.api.front import plain_text
from edgeemu.clock import call_later_real_ms
from edgeemu.core.sockets import ABNORMAL
from edgeemu.core.upgrades import offered_protocols
from edgeemu.emulator import PlainRequest, PlainResponse
from edgeemu.errors import Code, EdgeemuError
from edgeemu.limits import CONNECTIONS_MAX, SOCKET_CLOSE_WAIT_MS

if TYPE_CHECKING:
    from edgeemu.api.app import App

_LOG = logging.getLogger("edgeemu.websockets")


class SocketProtocol(asyncio.Protocol):
    """One connection that asks for a WebSocket, as uvicorn makes it; it is a `Peer`."""

    def __init__(self, app: "App", connections: set[Any]) -> None:
        self._app = app
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        policy = app.emulator.sockets.policy
        self._wire = ServerProtocol(max_size=policy.frame_bytes_max, logger=_LOG)
        self._transport: Any = None
        self._number: int | None = None
        self._parts: list[bytes | bytearray | memoryview] = []
        self._is_text = False
        self._lost = False
        self._asked = False

    # --- what uvicorn and the loop tell ----------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is ours."""
        self._transport = transport
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Bytes of the client: first its request, then frames."""
        self._wire.receive_data(data)
        for event in self._wire.events_received():
            if isinstance(event, Request):
                self._take(event)
            elif self._wire.parser_exc is None:
                self._take_frame(event)
        unread = self._wire.handshake_exc is not None and self._number is None
        if unread and not self._asked:  # `websockets` then only ends the connection.
            answer = plain_text(400, "an upgrade to a WebSocket is a GET without a body")
            self._transport.write(_response_of(answer).serialize())
        self._write()
        if self._wire.parser_exc is not None:
            self._broke(str(self._wire.parser_exc))
        elif unread:
            self._transport.close()
        elif self._number is not None:  # Pongs that nobody reads count, too.
            self._app.emulator.sockets.bound_unread(self._number)

    def eof_received(self) -> None:
        """The client sends no more; the connection then closes."""
        self._wire.receive_eof()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._lost = True
        self._connections.discard(self)
        self._ended(ABNORMAL)

    def pause_writing(self) -> None:
        """The client reads slowly; the emulator bounds what waits for it."""

    def resume_writing(self) -> None:
        """The client reads on."""

    def shutdown(self) -> None:
        """The server stops: the emulator closes its sockets when their turns have ended."""

    # --- the request -----------------------------------------------------------------------

    def _take(self, request: Request) -> None:
        """Let the function in front answer the request; nothing is read until it has."""
        self._asked = True
        accepted = self._wire.accept(request)
        refused = None
        if request.method != "GET":
            refused = plain_text(400, "an upgrade to a WebSocket is a GET")
        elif unquote(request.path).startswith(PREFIX[:-1]):
            refused = _NO_SOCKETS
        elif len(self._connections) > CONNECTIONS_MAX:
            refused = plain_text(503, "Service Unavailable")
        if refused is not None:
            self._refuse(refused)
        elif accepted.status_code != 101:
            self._wire.send_response(accepted)
        else:
            self._transport.pause_reading()
            task = self._loop.create_task(self._answer(request, accepted))
            self._app.keep(task)

    async def _answer(self, request: Request, accepted: Response) -> None:
        headers = tuple((name.lower(), value) for name, value in request.headers.raw_items())
        host = request.headers.get("host", "localhost")
        plain = PlainRequest("GET", f"http://{host}{request.path}", headers, b"")
        response = await self._app.answer_upgrade(plain)
        if self._lost:
            return
        if response.upgrade is None:
            self._refuse(response)
            self._write()
            return
        for name, value in response.headers:
            if not name.startswith("sec-websocket-"):
                accepted.headers[name] = value
        protocol = response.upgrade.protocol
        if protocol in offered_protocols(headers):
            accepted.headers["Sec-WebSocket-Protocol"] = protocol
        self._wire.send_response(accepted)
        self._write()
        self._number = self._app.emulator.sockets.open(response.upgrade, self, "http")
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def _refuse(self, response: PlainResponse) -> None:
        self._wire.send_response(_response_of(response))

    # --- frames ----------------------------------------------------------------------------

    def _take_frame(self, event: Any) -> None:
        if not isinstance(event, Frame) or self._wire.state is State.CONNECTING:
            return
        if event.opcode is Opcode.CLOSE:
            found = self._wire.close_rcvd
            if found is not None:
                self._ended(int(found.code), found.reason)
            return
        if event.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._is_text = event.opcode is Opcode.TEXT
            self._parts = []
        elif event.opcode is not Opcode.CONT:
            return  # Pings are answered already, and pongs want no answer.
        if event.data:  # Empty frames without end must not fill the memory either.
            self._parts.append(event.data)
        if event.fin:
            whole, self._parts = b"".join(self._parts), []
            self._received(whole)

    def _received(self, whole: bytes) -> None:
        if self._number is None:
            return
        try:
            data = whole.decode() if self._is_text else whole
        except UnicodeDecodeError as error:
            self._wire.fail(1007, "a text frame is UTF-8")
            self._write()
            self._broke(f"a text frame is no UTF-8: {error}")
            return
        self._app.emulator.sockets.received(self._number, data)

    def _broke(self, error: str) -> None:
        """The client broke the protocol: it was told with a code, and so is the actor."""
        sent = self._wire.close_sent
        if sent is None:
            self._ended(ABNORMAL)
        else:
            self._ended(int(sent.code), sent.reason, error=error)
        self._hurry()

    def _ended(self, code: int, reason: str = "", *, error: str | None = None) -> None:
        number, self._number = self._number, None
        if number is not None:
            self._app.emulator.sockets.ended(number, code, reason, error=error)

    def _write(self) -> None:
        for data in self._wire.data_to_send():
            if data:
                self._transport.write(data)
            else:  # What `websockets` calls the end of the stream.
                self._transport.close()

    def _hurry(self) -> None:
        """A client that does not answer a close in time is left behind."""

        def leave() -> None:
            if not self._lost:
                self._transport.abort()

        call_later_real_ms(self._loop, SOCKET_CLOSE_WAIT_MS, leave)

    # --- what the emulator wants: `Peer` ---------------------------------------------------

    def deliver(self, data: str | bytes) -> None:
        """As `Peer.deliver`."""
        if self._wire.state is not State.OPEN or self._transport.is_closing():
            return
        if isinstance(data, str):
            self._wire.send_text(data.encode())
        else:
            self._wire.send_binary(data)
        self._write()

    def finish(self, code: int | None, reason: str) -> None:
        """As `Peer.finish`."""
        if self._wire.state is State.OPEN and not self._transport.is_closing():
            self._wire.send_close(code, reason)
            self._write()
        self._hurry()

    def sever(self) -> None:
        """As `Peer.sever`."""
        self._transport.close()
        self._hurry()

    def unsent_bytes(self) -> int:
        """As `Peer.unsent_bytes`."""
        size: int = self._transport.get_write_buffer_size()
        return size


def _response_of(response: PlainResponse) -> Response:
    """A response that ends the connection."""
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    headers = Headers(list(response.headers))
    headers["content-length"] = str(len(response.body))
    headers["connection"] = "close"
    return Response(response.status, phrase, headers, response.body)


_NO_SOCKETS_ERROR = EdgeemuError(
    Code.ROUTE_UNKNOWN,
    what="the control API takes no WebSockets",
    why=f"what is below {PREFIX} takes one request and gives one answer",
    fix="connect to a path of the project; follow the journal with `edgeemu log --follow`",
)
_NO_SOCKETS = PlainResponse(
    400,
    (("content-type", "application/json"),),
    json.dumps(_NO_SOCKETS_ERROR.as_json()).encode(),
)


def make_protocol(app: "App", given: Mapping[str, Any]) -> SocketProtocol:
    """What carries a connection that uvicorn hands over, with what it hands over beside it."""
    return SocketProtocol(app, given["server_state"].connections)
