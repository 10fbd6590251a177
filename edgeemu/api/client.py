"""Where a command is performed: in a running server if one answers, else in this process.

Promise: a command need not know which. Both targets take the same operations with the same
parameters and give the same JSON back (design D6).

This module is on the way of every command: a whole command against a server takes less than 0.3 s,
so it speaks HTTP over a plain socket (`http.client` alone takes 25 ms to import) and imports what
opens the state itself only when it is needed.
"""

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

from edgeemu.api.state import ServerInfo, default_state_dir, find_root, read_server_info, url_host
from edgeemu.errors import Code, EdgeemuError, error_from_json
from edgeemu.limits import HEAD_BYTES_MAX, HINT_WAIT_MS, PROBE_WAIT_MS

PREFIX = "/_edgeemu/"
"""What the paths of the control API begin with (design D11)."""

CAUSE_HEADER = "edgeemu-cause"
"""The header that says on whose behalf an operation is performed, for the journal."""

NOTES_HEADER = "edgeemu-notes"
"""The header of an answer that holds, as JSON, what the user should be told beside it."""

OnNote = Callable[[dict[str, str]], None]
"""Takes a note: `level` (`note`, `warning` or `failed`) and `text`."""

_CONNECT_SECONDS = 2.0
_READ_BYTES = 65_536


class _SilentError(Exception):
    """Somebody listens, and gives no sign."""


def ignore_note(note: dict[str, str]) -> None:
    """Tell nobody."""
    del note


class Target(Protocol):
    """What performs the operations of a command.

    Attributes:
        on_note: called with each note about an operation, before its result is there.
    """

    on_note: OnNote

    @property
    def is_server(self) -> bool:
        """Whether a running server performs them."""

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

    def listen(self, params: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """What arrives on a WebSocket, as it comes, until either side or the server goes.

        Args:
            params: those of the operation `connect`.

        Returns:
            Objects with `at_ms`, and either `data` or, as the last one, `closed`.

        Raises:
            EdgeemuError: as `connect` does; `E_SERVER_UNREACHABLE` where no server runs.
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
        self.on_note: OnNote = ignore_note

    @property
    def is_server(self) -> bool:
        """As `Target.is_server`."""
        return True

    def answers(self) -> bool:
        """Whether the server that wrote the note is there: its port may be another's by now.

        Raises:
            EdgeemuError: `E_SERVER_UNREACHABLE` if somebody listens there and says nothing.
        """
        seconds = 0

        def patience() -> bool:
            nonlocal seconds
            seconds += 1
            if seconds * HINT_WAIT_MS >= PROBE_WAIT_MS:
                raise _SilentError
            return False

        try:
            with self._request("POST", "status", b"{}", patience) as answer:
                return isinstance(answer.result(), dict)
        except _SilentError:
            why = f"somebody listens there, and says nothing for {PROBE_WAIT_MS} ms"
            raise unreachable(self.info, why) from None
        except EdgeemuError as error:
            return error.code not in (Code.SERVER_UNREACHABLE, Code.FORBIDDEN)

    def perform(self, name: str, params: Mapping[str, Any] | None = None) -> Any:
        """As `Target.perform`."""
        body = json.dumps(params or {}).encode()

        def hint() -> bool:
            return self._hint(name, params or {})

        with self._request("POST", name.replace(".", "/"), body, hint) as answer:
            for note in answer.notes():
                self.on_note(note)
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

    def listen(self, params: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """As `Target.listen`."""
        with self._request("POST", "connect/follow", json.dumps(params).encode()) as answer:
            if answer.status != 200:
                answer.result()
            for line in answer.lines():
                yield json.loads(line)

    def close(self) -> None:
        """As `Target.close`."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _hint(self, name: str, params: Mapping[str, Any]) -> bool:
        """Say what an operation waits for that gives no answer; whether there was a reason."""
        from edgeemu.api.hints import waiting_words

        def give_up() -> bool:
            raise unreachable(self.info, "it is busy")

        asker = RemoteTarget(self.info, cause=self._cause)
        try:
            with asker._request("POST", "status", b"{}", give_up) as answer:
                words = waiting_words(name, params, answer.result())
        except EdgeemuError:
            return False  # The server is busy, or gone: the operation itself will tell.
        if words is not None:
            self.on_note({"level": "note", "text": words})
        return words is not None

    def _connect(self) -> socket.socket:
        address = (self.info.host, self.info.port)
        connection = socket.create_connection(address, timeout=_CONNECT_SECONDS)
        # A call may rightly take as long as the actor does; a server that dies closes it.
        connection.settimeout(None)
        return connection

    def _request(
        self, method: str, path: str, body: bytes, on_slow: "OnSlow | None" = None
    ) -> "_Answer":
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
            return _Answer(self.info, connection, on_slow)
        except OSError as error:
            if connection is not None:
                connection.close()
            raise unreachable(self.info, error.strerror or str(error)) from None
        except BaseException:
            if connection is not None:
                connection.close()
            raise


OnSlow = Callable[[], bool]
"""Called while no answer comes, until it gives true: then there is no more to say."""


class _Answer:
    """One HTTP answer of the control API, read from a socket.

    Args:
        info: of the server.
        connection: over which the request was sent.
        on_slow: called each `HINT_WAIT_MS` without a sign of the server.

    Attributes:
        status: of the answer.
    """

    def __init__(
        self, info: ServerInfo, connection: socket.socket, on_slow: OnSlow | None = None
    ) -> None:
        self._info = info
        self._connection = connection
        self._on_slow = on_slow
        if on_slow is not None:
            connection.settimeout(HINT_WAIT_MS / 1_000)
        self._buffer = b""
        while b"\r\n\r\n" not in self._buffer:
            if len(self._buffer) > HEAD_BYTES_MAX or not self._fill():
                raise unreachable(info, "what answers there does not speak HTTP as edgeemu does")
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *fields = head.decode("latin-1").split("\r\n")
        try:
            self.status = int(first.split(" ")[1])
        except (IndexError, ValueError):
            raise unreachable(info, "what answers there is no edgeemu") from None
        pairs = (field.partition(":") for field in fields)
        self._headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        self._chunked = self._headers.get("transfer-encoding", "").lower() == "chunked"
        length = self._headers.get("content-length") or "0"
        if not (length.isascii() and length.isdigit()):
            raise unreachable(info, "what answers there is no edgeemu")
        self._length = int(length)

    def __enter__(self) -> "_Answer":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def notes(self) -> list[dict[str, str]]:
        """What the user should be told beside the result."""
        try:
            found = json.loads(self._headers.get(NOTES_HEADER) or "[]")
            return [{"level": note["level"], "text": note["text"]} for note in found]
        except (ValueError, LookupError, TypeError):
            return []  # What answers is no edgeemu, and its body will show it.

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
            try:
                length = int(line.split(b";")[0], 16)
            except ValueError:
                raise unreachable(self._info, "what answers there is no edgeemu") from None
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
        while True:
            try:
                data = self._connection.recv(_READ_BYTES)
            except TimeoutError:
                if self._on_slow is not None and self._on_slow():
                    self._connection.settimeout(None)
                continue
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
        fix="see what `edgeemu dev` says in its terminal, and start it again if it has stopped; "
        "if none runs, delete dev.json in the state folder",
    )
