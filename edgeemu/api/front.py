"""One request through the function in front, with the bounds of a server around it.

Promise: whatever the function answers, what leaves here can be written as HTTP/1.1, and a request
gets the same answer from `edgeemu fetch` as from a browser.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from edgeemu.api.state import url_host
from edgeemu.codec import to_json
from edgeemu.config.model import PORT_DEFAULT
from edgeemu.emulator import Emulator, PlainRequest, PlainResponse
from edgeemu.emulator.requests import request_from_outside
from edgeemu.errors import Code, EdgeemuError

NO_BODY_STATUSES = frozenset({204, 205, 304})
"""Statuses of responses that have no body (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5)."""

_HOP_BY_HOP = frozenset(
    {
        "connection",
        "content-length",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""What belongs to the connection, which is ours, and the length of the body, which we know."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


async def answer_front(
    emulator: Emulator,
    request: PlainRequest,
    *,
    function: str | None = None,
    cause: str,
    on_failure: Callable[[EdgeemuError], None] = lambda error: None,
    upgrades: bool = False,
) -> PlainResponse:
    """The response to one request.

    Args:
        emulator: whose functions in front answer.
        request: whole, with a full URL.
        function: which one answers; None for the one that the host of the URL names: NAME for
            `http://NAME.localhost`, and the primary one for any other.
        cause: for the journal.
        on_failure: called with the error of the function that the response hides.
        upgrades: as for `Emulator.fetch`.

    Raises:
        EdgeemuError: `E_FROZEN_WAIT` when it waits for time that nobody can move;
            `E_FUNCTION_UNKNOWN`.
    """
    if function is None and emulator.config.functions:
        function = function_of_host(request.url)
        known = emulator.config.all_functions
        if function is not None and function not in known:
            names = ", ".join(known)
            return plain_text(404, f"There is no function {function} here; there are: {names}")
    limit = emulator.config.limits.body_bytes
    if len(request.body) > limit:
        return too_large(limit)
    response = await emulator.fetch(
        request, function=function, cause=cause, on_failure=on_failure, upgrades=upgrades
    )
    kept = []
    for name, value in response.headers:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value.strip()):
            emulator.warn(
                "W_RESPONSE_HEADER",
                f"{request.method} {request.url} was answered with the header {name!r}: {value!r}, "
                "which HTTP cannot carry, so the caller got status 500",
            )
            return plain_text(500, "Internal Server Error")
        if name.lower() not in _HOP_BY_HOP:
            kept.append((name.lower(), value.strip()))
    if len(response.body) > limit:
        emulator.warn(
            "W_RESPONSE_SIZE",
            f"{request.method} {request.url} was answered with {len(response.body)} bytes, and "
            f"body_bytes under [limits] allows {limit}, so the caller got status 500",
        )
        return plain_text(500, "Internal Server Error")
    body = b"" if response.status in NO_BODY_STATUSES else response.body
    return PlainResponse(response.status, tuple(kept), body, response.upgrade)


def function_of_host(url: str) -> str | None:
    """The function that a URL names by its host, `NAME.localhost`; None for any other host.

    A dot at the end of a host changes nothing (RFC 1034, section 3.1). What stands before
    `.localhost` is the name as a whole: with a dot in it, it is the name of no function.
    """
    try:
        host = (urlsplit(url).hostname or "").removesuffix(".")
    except ValueError:
        return None
    name, _, last = host.rpartition(".")
    return name if name and last == "localhost" else None


def front_request(
    emulator: Emulator,
    path: str,
    method: str,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    *,
    port: int | None,
) -> PlainRequest:
    """A request that is the same with a server and without one: it goes to the configured address.

    Args:
        emulator: whose configuration has the address.
        path: with its query; a full URL will do too.
        method, headers, body: of the request.
        port: of the server that was asked, for the configured one may be 0; None without one.

    Raises:
        EdgeemuError: `E_REQUEST_INVALID` for what is neither a path nor a URL.
    """
    dev = emulator.config.dev
    host = f"{url_host(dev.host)}:{port or dev.port or PORT_DEFAULT}"
    return request_from_outside(method, path, headers, body, origin=f"http://{host}")


async def converse(
    emulator: Emulator,
    request: PlainRequest,
    *,
    function: str | None,
    protocols: Sequence[str],
    messages: Sequence[str],
    cause: str,
) -> dict[str, Any]:
    """One conversation on a WebSocket: send, see what arrives until nothing goes on, and close.

    Args:
        emulator: whose function in front is asked.
        request: with the headers of the application.
        function: as for `answer_front`.
        protocols: that are offered.
        messages: text, sent one by one; each is answered, as far as it is now, before the next.
        cause: for the journal.

    Returns:
        The `protocol`, what was `received`, and how the other side `closed` it, or None.

    Raises:
        EdgeemuError: `E_SOCKET_REFUSED`, `E_FROZEN_WAIT`, `E_IO_WAIT`; `E_REQUEST_INVALID` for a
            message that is no text.
    """
    function = asked_function(emulator, request, function, messages)
    client = await emulator.connect(request, function=function, protocols=protocols, cause=cause)
    await emulator.settle()
    for text in messages:
        client.send(text)
        await emulator.settle()
    closed = client.closed
    client.close()
    await emulator.settle()
    return {
        "protocol": client.protocol,
        "received": [to_json(data) for data in client.received],
        "closed": None if closed is None else {"code": closed[0], "reason": closed[1]},
    }


def asked_function(
    emulator: Emulator, request: PlainRequest, function: str | None, messages: Sequence[str]
) -> str | None:
    """Which function a WebSocket is asked of; None for the primary one.

    Raises:
        EdgeemuError: `E_REQUEST_INVALID` for a message that is no text.
    """
    for text in messages:
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise EdgeemuError(
                Code.REQUEST_INVALID,
                what=f"`{text[:40]!a}` cannot be sent as a message",
                why="half of a surrogate pair is no text",
                fix="send whole characters",
            )
    if function is None and emulator.config.functions:
        function = function_of_host(request.url)
    return function


def plain_text(status: int, text: str) -> PlainResponse:
    """A response in words, as the platform gives where no code answers."""
    return PlainResponse(status, (("content-type", "text/plain;charset=UTF-8"),), text.encode())


def too_large(limit: int) -> PlainResponse:
    """The response to a request whose body has more than `limit` bytes."""
    return plain_text(413, f"Content Too Large: at most {limit} bytes")
