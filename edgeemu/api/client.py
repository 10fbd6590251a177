"""Where a command is performed: in a running server if one answers, else in this process.

Promise: a command need not know which. Both targets take the same operations with the same
parameters and give the same JSON back (design D6).

This module is on the way of every command: a whole command against a server takes less than 0.3 s,
so it speaks HTTP over a plain socket (`http.client` alone takes 25 ms to import) and imports what
opens the state itself only when it is needed.
"""

import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

from edgeemu.api.state import ServerInfo, default_state_dir, find_root, read_server_info, url_host
from edgeemu.errors import Code, EdgeemuError, error_from_json

PREFIX = "/_edgeemu/"
"""What the paths of the control API begin with (design D11)."""

CAUSE_HEADER = "edgeemu-cause"
"""The header that says on whose behalf an operation is performed, for the journal."""

_CONNECT_SECONDS = 2.0
_HEAD_BYTES_MAX = 65_536
_READ_BYTES = 65_536


class Target(Protocol):
    """What performs the operations of a command."""

    def perform(self, name: str, params: Mapping[str, Any] | None = None) -> Any:
        """Perform an operation of `edgeemu.api.operations`; its result as JSON-safe data.

        Raises:
            EdgeemuError: as the operation does; `E_SERVER_UNREACHABLE` if the server goes away.
        """

    def follow(self, params: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """The entries of the journal, as they come, until the server stops.

        Args:
            params: `since_seq`, `since_ms` and `actor`, all optional.

        Raises:
            EdgeemuError: `E_SERVER_UNREACHABLE` where no server runs.
        """

    def close(self) -> None:
        """Let go of the state, or of the connection."""


def open_target(start: Path, state_dir: Path | None = None) -> Target:
    """What performs the commands of the project at `start`; close it in the end.

    Nothing is opened yet where no server runs: the state is, by the first operation.

    Args:
        start: the project's folder, or one in it.
        state_dir: the state folder; None for the project's own.

    Raises:
        EdgeemuError: `E_CONFIG_MISSING` if there is no project.
    """
    root = find_root(start)
    if root is None:
        from edgeemu.config import find_project

        root = find_project(start)
    folder = state_dir or default_state_dir(root)
    remote = find_server(folder)
    if remote is not None:
        return remote
    from edgeemu.api.local import LocalTarget

    return LocalTarget(root, folder)


def find_server(state_dir: Path) -> "RemoteTarget | None":
    """The server that has a state folder open, if it answers; a stale note is no matter."""
    info = read_server_info(state_dir)
    if info is None:
        return None
    target = RemoteTarget(info)
    return target if target.answers() else None


class RemoteTarget:
    """Performs operations in a running server.

    Args:
        info: how to reach it.
        cause: on whose behalf, for the journal.
    """

    def __init__(self, info: ServerInfo, *, cause: str = "cli") -> None:
        self.info = info
        self._cause = cause
        self._connection: socket.socket | None = None

    def answers(self) -> bool:
        """Whether somebody listens; the connection is kept for the first operation."""
        try:
            self._connection = self._connect()
        except OSError:
            return False
        return True

    def perform(self, name: str, params: Mapping[str, Any] | None = None) -> Any:
        """As `Target.perform`."""
        body = json.dumps(params or {}).encode()
        with self._request("POST", name.replace(".", "/"), body) as answer:
            return answer.result()

    def follow(self, params: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """As `Target.follow`."""
        given = {key: value for key, value in (params or {}).items() if value is not None}
        path = "log/follow" + ("?" + urlencode(given) if given else "")
        with self._request("GET", path, b"") as answer:
            if answer.status != 200:
                answer.result()
            for line in answer.lines():
                yield json.loads(line)

    def close(self) -> None:
        """As `Target.close`."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> socket.socket:
        address = (self.info.host, self.info.port)
        connection = socket.create_connection(address, timeout=_CONNECT_SECONDS)
        # A call may rightly take as long as the actor does; a server that dies closes it.
        connection.settimeout(None)
        return connection

    def _request(self, method: str, path: str, body: bytes) -> "_Answer":
        connection, self._connection = self._connection, None
        head = (
            f"{method} {PREFIX}{path} HTTP/1.1\r\n"
            f"host: {url_host(self.info.host)}:{self.info.port}\r\n"
            f"authorization: Bearer {self.info.token}\r\n"
            f"{CAUSE_HEADER}: {self._cause}\r\n"
            "content-type: application/json\r\n"
            f"content-length: {len(body)}\r\n"
            "connection: close\r\n\r\n"
        )
        try:
            connection = connection or self._connect()
            connection.sendall(head.encode("ascii") + body)
            return _Answer(self.info, connection)
        except OSError as error:
            if connection is not None:
                connection.close()
            raise unreachable(self.info, error.strerror or str(error)) from None
        except BaseException:
            if connection is not None:
                connection.close()
            raise


class _Answer:
    """One HTTP answer of the control API, read from a socket.

    Attributes:
        status: of the answer.
    """

    def __init__(self, info: ServerInfo, connection: socket.socket) -> None:
        self._info = info
        self._connection = connection
        self._buffer = b""
        while b"\r\n\r\n" not in self._buffer:
            if len(self._buffer) > _HEAD_BYTES_MAX or not self._fill():
                raise unreachable(info, "what answers there does not speak HTTP as edgeemu does")
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *fields = head.decode("latin-1").split("\r\n")
        try:
            self.status = int(first.split(" ")[1])
        except (IndexError, ValueError):
            raise unreachable(info, "what answers there is no edgeemu") from None
        pairs = (field.partition(":") for field in fields)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        self._chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        self._length = int(headers.get("content-length") or 0)

    def __enter__(self) -> "_Answer":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def result(self) -> Any:
        """The body as JSON.

        Raises:
            EdgeemuError: the one that the body describes, or `E_SERVER_UNREACHABLE` if the server
                went away in the middle, or is no edgeemu.
        """
        body = b"".join(self._chunks()) if self._chunked else self._take(self._length)
        try:
            value = json.loads(body)
        except ValueError:
            raise unreachable(self._info, "what answers there is no edgeemu") from None
        if self.status == 200:
            return value
        error = error_from_json(value)
        raise error or unreachable(self._info, f"it answered {self.status}, and no error of ours")

    def lines(self) -> Iterator[bytes]:
        """The lines of the body, as they come."""
        rest = b""
        for chunk in self._chunks():
            *whole, rest = (rest + chunk).split(b"\n")
            yield from filter(None, whole)

    def _chunks(self) -> Iterator[bytes]:
        while True:
            while b"\r\n" not in self._buffer:
                if not self._fill():
                    return
            line, _, self._buffer = self._buffer.partition(b"\r\n")
            length = int(line.split(b";")[0], 16)
            if length == 0:
                return
            yield self._take(length + 2)[:-2]

    def _take(self, count: int) -> bytes:
        parts, have = [self._buffer], len(self._buffer)
        while have < count:
            self._buffer = b""
            if not self._fill():
                raise unreachable(self._info, "it went away in the middle of an answer")
            parts.append(self._buffer)
            have += len(self._buffer)
        whole = b"".join(parts)
        self._buffer = whole[count:]
        return whole[:count]

    def _fill(self) -> bool:
        try:
            data = self._connection.recv(_READ_BYTES)
        except OSError:
            return False
        self._buffer += data
        return bool(data)


def unreachable(info: ServerInfo, why: str) -> EdgeemuError:
    """The server that a note names does not answer as it should."""
    return EdgeemuError(
        Code.SERVER_UNREACHABLE,
        what=f"the server at {info.url} (pid {info.pid}) gave no answer",
        why=why,
        fix="see what `edgeemu dev` says in its terminal, and start it again if it has stopped",
    )
