"""WebSockets over a real loopback connection, to a server in a thread of its own (section 11)."""

import asyncio
import json
import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.sync.client import ClientConnection, connect
from websockets.uri import parse_uri

from edgeemu.api.client import RemoteTarget
from edgeemu.api.server import Running, serve
from edgeemu.emulator import new_loop
from tests.conformance.runner import actor_source
from tests.support.emulators import frozen, write_project

WAIT_SECONDS = 20
MIB = 1024 * 1024
UPGRADE = (
    "GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


class Served:
    """A server in a thread."""

    def __init__(self, root: Path) -> None:
        self._config = write_project(root, actor_source("sockets", "python"), types=("A", "B"))
        self._ready = Event()
        self.running: Running
        self._thread = Thread(target=self._serve, args=(root / "state",))
        self._thread.start()
        assert self._ready.wait(WAIT_SECONDS)
        self.port = self.running.info.port
        self.target = RemoteTarget(self.running.info)

    def _serve(self, folder: Path) -> None:
        def ready(running: Running) -> None:
            self.running = running
            self._loop = asyncio.get_running_loop()
            self._ready.set()

        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(serve(self._config, frozen(), port=0, state_dir=folder, on_ready=ready))

    def ask_to_stop(self) -> None:
        """Stop it, as Ctrl-C does."""
        self._loop.call_soon_threadsafe(self.running.stop)

    def join(self) -> None:
        """Wait for its end."""
        self.target.close()
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive()

    def open(self, path: str, **options: Any) -> ClientConnection:
        """A client that is connected."""
        return connect(f"ws://127.0.0.1:{self.port}{path}", proxy=None, **options)

    def raw(self, head: str) -> socket.socket:
        """A connection on which a request was sent."""
        found = socket.create_connection(("127.0.0.1", self.port), WAIT_SECONDS)
        found.sendall(head.encode())
        return found

    def raw_socket(self, path: str) -> socket.socket:
        """A connection that is a WebSocket already."""
        found = self.raw(UPGRADE.format(path=path))
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += found.recv(1)
        assert head.startswith(b"HTTP/1.1 101 "), head
        return found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    found = Served(tmp_path_factory.mktemp("sockets"))
    try:
        yield found
    finally:
        found.ask_to_stop()
        found.join()


@pytest.fixture(autouse=True)
def nothing_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


def ending(client: ClientConnection) -> tuple[int, str] | None:
    """The close frame that ends a connection; None where it was severed."""
    with pytest.raises(ConnectionClosed) as raised:
        while True:
            client.recv(timeout=WAIT_SECONDS)
    found = raised.value.rcvd
    return None if found is None else (int(found.code), found.reason)


def read_all(found: socket.socket) -> bytes:
    """What a connection gives until it ends."""
    parts = []
    with found:
        while part := found.recv(65_536):
            parts.append(part)
    return b"".join(parts)


def frame(opcode: int, data: bytes, fin: bool, reserved: int, masked: bool) -> bytes:
    """A frame, right or wrong: `websockets` itself would refuse to write most of them."""
    head = bytes([fin << 7 | reserved << 4 | opcode, masked << 7 | len(data)])
    return head + (bytes(4) if masked else b"") + data


def test_upgrade_is_a_get_and_the_first_protocol_is_echoed(served: Served) -> None:
    with served.open("/A/head?how=headers", subprotocols=["chat.v2", "chat.v1"]) as client:
        assert client.subprotocol == "chat.v2"
        assert client.recv() == "GET /A/head user-agent chat.v2"
        assert client.response is not None
        assert "sec-websocket-extensions" not in client.response.headers
    post = UPGRADE.format(path="/A/head").replace("GET", "POST")
    assert read_all(served.raw(post)).startswith(b"HTTP/1.1 400 ")
    with_body = post.replace("\r\n\r\n", "\r\nContent-Length: 2\r\n\r\n{}")
    assert read_all(served.raw(with_body)).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "broken",
    [
        ("Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 12"),
        ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Key: short"),
        ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""),
    ],
)
def test_bad_handshake_is_refused(served: Served, broken: tuple[str, str]) -> None:
    answer = read_all(served.raw(UPGRADE.format(path="/A/x").replace(*broken)))
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 426 ")), answer


def test_messages_and_pings_are_answered(served: Served) -> None:
    with served.open("/A/talk") as client:
        client.send("echo hello")
        assert client.recv() == "hello"
        client.send(b"\x00\xff")
        assert client.recv() == b"\x00\xff"
        client.send(["echo ", "in ", "pieces"])
        assert client.recv() == "in pieces"
        assert client.ping().wait(WAIT_SECONDS)


def test_pongs_that_nobody_reads_have_a_bound(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeemu.emulator.sockets.SOCKET_UNSENT_BYTES_MAX", 10_000)
    ping = frame(9, bytes(100), fin=True, reserved=0, masked=True) * 1_000
    with served.raw_socket("/A/flood") as flood, pytest.raises(ConnectionError):
        for _ in range(1_000):  # 100 MB, far more than the system itself buffers.
            flood.sendall(ping)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("close 4001", (4001, "said so")),
        ("close", (1005, "")),
        ("throws", (1011, "")),
        ("x" * (MIB + 1), (1009, "frame with 1048577 bytes exceeds limit of 1048576 bytes")),
    ],
    ids=["actor", "no code", "throws", "too big"],
)
def test_close_codes_reach_the_client(served: Served, said: str, code: tuple[int, str]) -> None:
    with served.open("/A/codes") as client:
        client.send(said)
        assert ending(client) == code


def test_no_handler(served: Served) -> None:
    with served.open("/B/x") as client:
        assert ending(client) == (1011, "actor has no webSocket handler")


def test_text_that_is_no_utf_8_ends_with_1007_and_an_error(served: Served) -> None:
    with served.open("/A/utf8") as client:
        client.send(b"\xff\xfe", text=True)
        assert ending(client) == (1007, "a text frame is UTF-8")
    stored = served.target.perform("storage.get", {"actor": "A/utf8", "key": "seen"})
    assert stored == ["open", "error", "close 1007"]


def test_client_that_just_goes_is_1006(served: Served) -> None:
    raw = served.raw_socket("/A/gone")
    raw.sendall(frame(1, b"echo x", fin=True, reserved=0, masked=True))
    assert raw.recv(3) == b"\x81\x01x"
    raw.shutdown(socket.SHUT_WR)
    assert read_all(raw) == b""
    served.target.perform("call", {"actor": "A/gone", "method": "note", "args": ["after"]})
    stored = served.target.perform("storage.get", {"actor": "A/gone", "key": "seen"})
    assert stored == ["open", "echo", "close 1006", "after"]


def test_time_eviction_and_reload_end_sockets(served: Served) -> None:
    with served.open("/A/ends") as old, served.open("/A/out") as out:
        served.target.perform("clock.advance", {"duration_ms": 299_999})
        served.target.perform("evict", {"actor": "A/out"})
        assert ending(out) == (1001, "actor going away")
        assert served.target.perform("actors.show", {"actor": "A/ends"})["sockets"] == 1
        served.target.perform("clock.advance", {"duration_ms": 1})
        assert ending(old) is None
    with served.open("/A/ends") as client:
        client.send("count")
        assert client.recv() == "1 1"
        served.target.perform("reload", {})
        assert ending(client) is None


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [("/nobody", 401, "who are you?"), ("/_edgeemu/log", 400, "E_ROUTE_UNKNOWN")],
)
def test_refusals_are_ordinary_responses(served: Served, path: str, status: int, says: str) -> None:
    with pytest.raises(InvalidStatus) as raised:
        served.open(path)
    response = raised.value.response
    assert response.status_code == status
    assert says in bytes(response.body or b"").decode()


def test_too_many_connections(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeemu.api.sockets.CONNECTIONS_MAX", 0)
    with pytest.raises(InvalidStatus, match="503"):
        served.open("/A/x")


def test_conversation_by_operation(served: Served) -> None:
    found = served.target.perform(
        "connect", {"path": "/A/op", "send": ["echo hi", "close 4002", "echo lost"]}
    )
    assert found == {
        "protocol": "",
        "received": ["hi"],
        "closed": {"code": 4002, "reason": "said so"},
    }


@pytest.mark.slow
def test_server_that_stops_says_1001(tmp_path: Path) -> None:
    served = Served(tmp_path)
    with served.open("/A/x") as client:
        client.send("echo here")
        assert client.recv() == "here"
        served.ask_to_stop()
        assert ending(client) == (1001, "actor going away")
    served.join()


def test_nothing_of_websockets_is_loaded_before_the_first_one() -> None:
    code = "import sys, edgeemu.api.server, edgeemu.api.app; print('websockets' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False\n"


# --- whatever arrives --------------------------------------------------------------------------


FRAMES = st.builds(
    frame,
    st.sampled_from([0, 1, 1, 1, 2, 8, 9, 10]) | st.integers(0, 15),
    st.binary(max_size=100) | st.sampled_from([b"echo hi", b"throws", b"close", b"\x03\xe8"]),
    st.sampled_from([True, True, True, False]),
    st.sampled_from([0, 0, 0, 0, 0, 1, 2, 4]),
    st.sampled_from([True, True, True, True, False]),
)
HUGE = st.sampled_from(
    [b"\x82\xff" + b"\xff" * 12, b"\x81\xff\x00\x00\x00\x00\x00\x10\x00\x01abcd"]
)
CHUNKS = st.lists(FRAMES | FRAMES | st.binary(max_size=40) | HUGE, max_size=8)


@pytest.mark.slow
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chunks=CHUNKS, joined=st.booleans(), cut=st.integers(0, 20), reset=st.booleans())
def test_whatever_arrives_ends_in_a_code(
    served: Served, chunks: list[bytes], joined: bool, cut: int, reset: bool
) -> None:
    """Frames of every kind, garbage, halves, a lost connection: an end, and a server that lives."""
    stream = b"".join(chunks)
    stream = stream[: len(stream) - cut] if cut else stream
    raw = served.raw_socket("/A/fuzz")
    try:
        for part in (
            [stream] if joined else [stream[at : at + 7] for at in range(0, len(stream), 7)]
        ):
            raw.sendall(part)
        if reset:
            raw.close()
        else:
            raw.shutdown(socket.SHUT_WR)
            check_answer(read_all(raw))
    except (ConnectionError, OSError):
        raw.close()  # The server had ended it before all of it was sent.
    with served.open("/A/fuzz") as client:
        client.send("echo alive")
        assert client.recv(timeout=WAIT_SECONDS) == "alive"
    served.target.perform("clock.advance", {"duration_ms": 1})
    assert served.target.perform("actors.show", {"actor": "A/fuzz"})["sockets"] == 0


def check_answer(data: bytes) -> None:
    """What the server wrote is whole frames, a close frame last if there is one."""
    reader = ClientProtocol(parse_uri("ws://localhost/"), state=State.OPEN)
    reader.receive_data(data)
    assert reader.parser_exc is None
    frames = [each for each in reader.events_received() if isinstance(each, Frame)]
    codes = [each for each in frames if each.opcode is Opcode.CLOSE]
    assert len(codes) <= 1


@pytest.mark.slow
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Upgrade", "Connection", "Sec-WebSocket-Key", "Host", "X-A"]),
            st.text(st.characters(codec="latin-1", exclude_characters="\r\n"), max_size=12),
        ),
        max_size=5,
    ),
    st.sampled_from(["GET", "POST", "HEAD"]),
)
def test_whatever_asks_gets_a_status(
    served: Served, fields: list[tuple[str, str]], method: str
) -> None:
    lines = [f"{method} /A/ask HTTP/1.1", "Host: localhost", "Upgrade: websocket"]
    lines += ["Connection: Upgrade, close", *(f"{name}: {value}" for name, value in fields)]
    raw = socket.create_connection(("127.0.0.1", served.port), WAIT_SECONDS)
    raw.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
    raw.shutdown(socket.SHUT_WR)
    answer = read_all(raw)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 "), answer
    assert json.loads(json.dumps(served.target.perform("clock.read", {})))["mode"] == "frozen"
