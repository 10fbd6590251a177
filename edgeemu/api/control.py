"""The control API: `POST /_edgeemu/<operation>` with a JSON body, and the journal as a stream.

Promise: nobody but the owner of the project gets in (the token of `dev.json`), no web page does
(foreign `Host` and `Origin` headers are refused, design D11), and every error has one shape: the
JSON body of `EdgeemuError.as_json`.

Status: 200 with the result; 400 for a request or set-up that is wrong; 401 without the token, 403
from a foreign host; 404 and 405 for a path or method that is not there; 413 for too long a body;
422 where the actor failed, or a bound of time was reached; 500 for a bug in edgeemu. A client
decides by the code in the body.
"""

import asyncio
import hmac
import ipaddress
import json
import logging
from collections.abc import Coroutine
from http import HTTPStatus
from typing import Any, NoReturn
from urllib.parse import parse_qsl, urlsplit

from edgeemu.api import schemas
from edgeemu.api.app import (
    Access,
    App,
    GoneError,
    Receive,
    Scope,
    Send,
    TooLargeError,
    header,
    read_body,
    wait_leave,
)
from edgeemu.api.client import CAUSE_HEADER, NOTES_HEADER, PREFIX
from edgeemu.api.front import front_request
from edgeemu.api.notes import Note, notes_of
from edgeemu.api.operations import OPERATIONS, find, perform, read_params
from edgeemu.core.journal import Recorded
from edgeemu.emulator import bug_report
from edgeemu.errors import Code, EdgeemuError, ExitStatus
from edgeemu.limits import CONTROL_BODY_BYTES_MAX, FOLLOW_CHUNK_ENTRIES, JOURNAL_PAGE_MAX

FOLLOW_PATH = "log/follow"
SOCKET_PATH = "connect/follow"
"""The path of the journal as a stream of lines, below the prefix."""

CAUSES = frozenset({"cli", "http", "inspector"})
"""On whose behalf a client may say that it acts."""

_LOG = logging.getLogger("edgeemu")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_WILDCARDS = frozenset({"", "0.0.0.0", "::"})
_FAMILIES = {
    ExitStatus.USAGE: HTTPStatus.BAD_REQUEST,
    ExitStatus.ACTOR_FAILED: HTTPStatus.UNPROCESSABLE_ENTITY,
    ExitStatus.INTERNAL: HTTPStatus.INTERNAL_SERVER_ERROR,
}


class _RefusedError(Exception):
    """A request that is answered with an error and a status of its own."""

    def __init__(self, status: HTTPStatus, error: EdgeemuError, allow: str | None = None) -> None:
        super().__init__(error.what)
        self.status = status
        self.error = error
        self.allow = allow


async def serve(app: App, scope: Scope, receive: Receive, send: Send) -> None:
    """Serve one request below the prefix."""
    allow = None
    notes: list[Note] = []
    try:
        check_access(scope, app.access)
        path = scope["path"].removeprefix(PREFIX)
        if path == FOLLOW_PATH:
            _check_method(scope, "GET")
            await _follow(app, scope, receive, send)
            return
        if path == SOCKET_PATH:
            _check_method(scope, "POST")
            await _follow_socket(app, scope, receive, send)
            return
        result = await _perform(app, path, scope, receive, notes)
        status = HTTPStatus.OK
    except _RefusedError as refused:
        status, result, allow = refused.status, refused.error.as_json(), refused.allow
    except EdgeemuError as error:
        status, result = _FAMILIES[error.code.exit_status], error.as_json()
    except (GoneError, asyncio.CancelledError):
        raise
    except Exception as error:
        _LOG.exception("a bug in edgeemu: %s %s got status 500", scope["method"], scope["path"])
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        result = bug_report(error, app.emulator.seed).as_json()
    await _respond(scope, send, status, result, allow, notes)


async def _perform(app: App, path: str, scope: Scope, receive: Receive, notes: list[Note]) -> Any:
    """Perform the operation of a path; what else there is to tell goes into `notes`."""
    name = path.replace("/", ".")
    if name not in OPERATIONS or path != name.replace(".", "/"):
        try:
            find(name)
        except EdgeemuError as error:
            raise _RefusedError(HTTPStatus.NOT_FOUND, error) from None
        raise _RefusedError(HTTPStatus.NOT_FOUND, _unknown_path(scope["path"]))
    _check_method(scope, "POST")
    params = _parse(await _read(scope, receive))
    cause = _cause(scope)
    operation = OPERATIONS[name]
    found = notes_of(name, operation.moves_with(params))
    work = perform(app.emulator, name, params, cause=cause, port=app.access.port)
    try:
        with found.watching(app.emulator):
            return await (_until_gone(work, receive) if operation.stops else work)
    finally:
        notes += found.as_json()


def _cause(scope: Scope) -> str:
    cause = (header(scope, CAUSE_HEADER.encode()) or b"http").decode("latin-1")
    if cause not in CAUSES:
        raise EdgeemuError(
            Code.REQUEST_INVALID,
            what=f"`{cause[:80]}` cannot be the header {CAUSE_HEADER}",
            why=f"it is one of: {', '.join(sorted(CAUSES))}",
            fix="leave the header out",
        )
    return cause


async def _until_gone(work: Coroutine[Any, Any, Any], receive: Receive) -> Any:
    """The result of `work`, which is stopped when its client goes away.

    Raises:
        GoneError: when it did.
    """
    news = asyncio.Event()
    task = asyncio.ensure_future(work)
    left = asyncio.ensure_future(wait_leave(receive, news))
    try:
        await asyncio.wait((task, left), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise GoneError
        return task.result()
    finally:
        left.cancel()
        task.cancel()
        await asyncio.gather(task, left, return_exceptions=True)


async def _read(scope: Scope, receive: Receive) -> bytes:
    try:
        return await read_body(scope, receive, CONTROL_BODY_BYTES_MAX)
    except TooLargeError:
        error = EdgeemuError(
            Code.REQUEST_INVALID,
            what="the request is too long",
            why=f"a request to the control API has at most {CONTROL_BODY_BYTES_MAX} bytes",
            fix="send less at once",
        )
        raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error) from None


def _parse(body: bytes) -> object:
    """The parameters; nothing at all stands for none.

    Raises:
        EdgeemuError: `E_JSON_INVALID`.
    """
    if not body:
        return {}
    try:
        return json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise EdgeemuError(
            Code.JSON_INVALID,
            what=f"`{body[:40].decode('utf-8', 'replace')}` cannot be read as JSON",
            why=str(error) or "it is nested too deeply",
            fix="send one JSON object with the parameters of the operation",
        ) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


# --- who may come in ---------------------------------------------------------------------------


def check_access(scope: Scope, access: Access) -> None:
    """Let only the owner's own tools through.

    A page that a browser loaded from elsewhere names its own host in `Origin`, and after a DNS
    rebinding in `Host`; both are refused before the token is even looked at.
    """
    hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
    if len(hosts) != 1 or not _is_ours(hosts[0], access):
        shown = ", ".join(hosts) or "none"
        raise _forbidden(HTTPStatus.FORBIDDEN, f"the host `{shown[:80]}` is not this server's")
    origin = header(scope, b"origin")
    if origin is not None:
        text = origin.decode("latin-1")
        scheme, _, host = text.partition("://")
        if scheme not in ("http", "https") or not _is_ours(host, access):
            raise _forbidden(HTTPStatus.FORBIDDEN, f"the origin `{text[:80]}` is foreign")
    given = header(scope, b"authorization") or b""
    if not hmac.compare_digest(given, f"Bearer {access.token}".encode()):
        raise _forbidden(HTTPStatus.UNAUTHORIZED, "the token is missing or wrong")


def _is_ours(host: str, access: Access) -> bool:
    """Whether a host, with or without a port, is one that this server goes by."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    if name is None or any(mark in host for mark in "/?#@\\ "):
        return False
    if name in _LOOPBACK or name == access.host.lower():
        return True
    # Bound to every address it goes by each of them. A rebinding attack needs a name.
    return access.host in _WILDCARDS and _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _forbidden(status: HTTPStatus, what: str) -> _RefusedError:
    error = EdgeemuError(
        Code.FORBIDDEN,
        what=f"the control API is closed to this request: {what}",
        why="it takes requests to the loopback address with `Authorization: Bearer` and the token "
        "of .edgeemu/dev.json",
        fix="use the `edgeemu` commands, or read the token from that file",
    )
    return _RefusedError(status, error)


def _check_method(scope: Scope, method: str) -> None:
    if scope["method"] != method:
        error = EdgeemuError(
            Code.ROUTE_UNKNOWN,
            what=f"`{scope['method']}` is no method of {scope['path']}",
            why=f"this path takes {method}",
            fix=f"send it with {method}",
        )
        raise _RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, error, allow=method)


def _unknown_path(path: str) -> EdgeemuError:
    return EdgeemuError(
        Code.ROUTE_UNKNOWN,
        what=f"there is nothing at `{path[:80]}`",
        why="an operation's path has a slash for each dot of its name",
        fix=f"write it like {PREFIX}alarms/list",
    )


# --- answers -----------------------------------------------------------------------------------


async def _respond(
    scope: Scope,
    send: Send,
    status: HTTPStatus,
    result: object,
    allow: str | None,
    notes: list[Note],
) -> None:
    body = json.dumps(result).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if notes:
        headers.append((NOTES_HEADER.encode(), json.dumps(notes).encode("ascii")))
    if allow is not None:
        headers.append((b"allow", allow.encode()))
    if status is HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    if status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


async def _follow(app: App, scope: Scope, receive: Receive, send: Send) -> None:
    """Write the journal line by line, as entries come, until the client or the server goes.

    There is no queue for each follower: what it has not read yet stands in the journal. Where that
    has let go of entries in the meantime, or before, an entry of the kind `gap` tells so.
    """
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    params = read_params("log.follow", schemas.Follow, query, strict=False)
    emulator = app.emulator
    instance = None if params.actor is None else emulator.address(params.actor)
    news = asyncio.Event()
    seq = latest_seq = params.since_seq

    def note(recorded: list[Recorded]) -> None:
        nonlocal latest_seq
        latest_seq = recorded[-1].seq if recorded else latest_seq
        news.set()

    unwatch = emulator.watch(note)
    left = asyncio.ensure_future(wait_leave(receive, news))
    headers = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    try:
        while not left.done():
            news.clear()
            page = emulator.journal(
                instance=instance,
                since_seq=seq,
                since_ms=params.since_ms,
                oldest_first=True,
                limit=JOURNAL_PAGE_MAX,
            )
            seq = page[-1]["seq"] if page else seq
            more = len(page) >= JOURNAL_PAGE_MAX
            if not more:  # All that is there was looked at, also what is of no concern.
                seq = max(seq, latest_seq)
            for start in range(0, len(page), FOLLOW_CHUNK_ENTRIES):
                entries = page[start : start + FOLLOW_CHUNK_ENTRIES]
                lines = "".join(json.dumps(entry) + "\n" for entry in entries)
                message = {"type": "http.response.body", "body": lines.encode(), "more_body": True}
                await send(message)
            if not more:
                await news.wait()
    except asyncio.CancelledError:
        pass  # The server stops: end the stream as it should.
    finally:
        unwatch()
        left.cancel()
    await send({"type": "http.response.body", "body": b""})


async def _follow_socket(app: App, scope: Scope, receive: Receive, send: Send) -> None:
    from edgeemu.api.following import follow_socket

    params = read_params("connect", schemas.Connect, _parse(await _read(scope, receive)))
    port = app.access.port
    request = front_request(app.emulator, params.path, "GET", params.headers, b"", port=port)
    await follow_socket(app.emulator, request, params, receive, send, cause=_cause(scope))
