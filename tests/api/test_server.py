"""A server as a process of its own: its note, its signals, its port, and a client over loopback."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import pytest

from edgeemu.api.client import RemoteTarget, find_server, open_target
from edgeemu.api.local import LocalTarget
from edgeemu.api.ports import bind
from edgeemu.api.state import SERVER_FILE, ServerInfo, read_server_info, write_server_info
from edgeemu.errors import Code, EdgeemuError
from tests.support.projects import write_api_project

ROOT = Path(__file__).resolve().parents[2]
WAIT_SECONDS = 20


class Server:
    """A child process that serves a project; its stdout is read line by line."""

    def __init__(self, root: Path, *options: str) -> None:
        self.root = root
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.serve_project", str(root), *options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: Queue[str] = Queue()
        self._reader = Thread(target=self._pump)
        self._reader.start()

    def _pump(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def read(self, kind: str) -> dict[str, Any]:
        """The next line of a kind; what comes before it is passed over."""
        while line := self._lines.get(timeout=WAIT_SECONDS):
            said: dict[str, Any] = json.loads(line)
            if said["kind"] == kind:
                return said
        assert self.process.stderr is not None
        raise AssertionError(f"the server never said {kind}: {self.process.stderr.read()}")

    def end(self) -> None:
        """Kill what is left of it."""
        self.process.kill()
        self._reader.join(WAIT_SECONDS)
        self.process.wait(WAIT_SECONDS)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


Start = Callable[..., Server]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_api_project(tmp_path / "shop")
    return tmp_path / "shop"


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    servers: list[Server] = []

    def begin(*options: str) -> Server:
        servers.append(Server(root, *options))
        return servers[-1]

    yield begin
    for server in servers:
        server.end()


def get(port: int, path: str) -> bytes:
    """One plain request of a user, whole."""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
        parts = iter(lambda: connection.recv(65_536), b"")
        return b"".join(parts)


def code_of(action: Callable[[], object]) -> Code:
    with pytest.raises(EdgeemuError) as raised:
        action()
    return raised.value.code


@pytest.mark.slow
def test_server_from_start_to_stop(root: Path, start: Start) -> None:
    server = start()
    ready = server.read("ready")
    note = root / ".edgeemu" / SERVER_FILE
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    assert b'"method": "GET"' in get(ready["port"], "/hello")
    target = open_target(root / ".edgeemu" / "..")
    assert isinstance(target, RemoteTarget)
    assert target.perform("status")["pid"] == server.process.pid == ready["pid"]
    assert target.perform("call", {"actor": "A/x", "method": "touch"}) is None
    (alarm,) = target.perform("alarms.list")
    assert alarm["actor"] == "A/x"
    assert target.perform("clock.advance", {"duration_ms": 60_000})["succeeded"] == 1
    assert code_of(lambda: target.perform("call", {"actor": "A/x", "method": "boom"})) is (
        Code.ACTOR_FAILED
    )
    assert code_of(lambda: target.perform("nope")) is Code.ROUTE_UNKNOWN
    entries = target.follow({"since_seq": 0, "actor": "A/x", "since_ms": None})
    assert next(entries)["actor"] == "A/x"
    server.process.send_signal(signal.SIGINT)
    server.read("stopped")
    assert [*entries][-1]["kind"] != "gap"
    assert server.process.wait(WAIT_SECONDS) == 0
    assert not note.exists()
    target.close()
    local = open_target(root)
    assert isinstance(local, LocalTarget)
    assert local.perform("storage.list", {"actor": "A/x"}).keys() == {"seen", "fired"}
    assert [entry["kind"] for entry in local.perform("log")][-1] == "stopped"
    local.close()


@pytest.mark.slow
def test_saved_file_is_live_at_once(root: Path, start: Start) -> None:
    server = start()
    port = server.read("ready")["port"]
    source = (root / "main.py").read_text()
    (root / "main.py").write_text("def (")
    assert server.read("reload")["error"] == "E_PROJECT_SYNTAX"
    assert b"200 OK" in get(port, "/still")
    (root / "main.py").write_text(source.replace('"method":', '"verb":'))
    assert server.read("reload")["error"] is None
    assert b'"verb": "GET"' in get(port, "/live")


@pytest.mark.slow
def test_turn_that_waits_for_frozen_time_does_not_hold_up_the_end(start: Start) -> None:
    server = start()
    port = server.read("ready")["port"]
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as waiting:
        waiting.sendall(b"GET /nap HTTP/1.1\r\nhost: x\r\n\r\n")
        while not _naps(server):
            assert server.process.poll() is None
        server.process.send_signal(signal.SIGTERM)
        assert waiting.recv(65_536).startswith(b"HTTP/1.1 503")
    server.read("stopped")
    assert server.process.wait(WAIT_SECONDS) == 0


def _naps(server: Server) -> bool:
    target = find_server(server.root / ".edgeemu")
    assert target is not None
    return "init" in {entry["kind"] for entry in target.perform("log")}


@pytest.mark.slow
def test_third_signal_ends_even_what_never_yields(root: Path, start: Start) -> None:
    (root / "main.py").write_text(
        "from pathlib import Path\n"
        "from edgeemu import StatefulActor\n"
        "class A(StatefulActor): pass\n"
        "async def fetch(request, env):\n"
        "    Path(__file__).with_name('spins').touch()\n"
        "    while True: pass\n"
    )
    with (root / "edgeemu.toml").open("a") as file:
        file.write("watchdog_ms = 600000\n")
    server = start()
    port = server.read("ready")["port"]
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as waiting:
        waiting.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        while not (root / "spins").exists():
            assert server.process.poll() is None
        for _ in range(100_000):
            server.process.send_signal(signal.SIGINT)
            if server.process.poll() is not None:
                break
        assert server.process.wait(WAIT_SECONDS) != 0
    local = open_target(root)
    assert local.perform("actors.list") == []
    local.close()


@pytest.mark.slow
def test_killed_server_leaves_a_note_that_does_no_harm(root: Path, start: Start) -> None:
    server = start()
    server.read("ready")
    target = open_target(root)
    target.perform("call", {"actor": "A/x", "method": "touch"})
    server.end()
    assert code_of(lambda: target.perform("status")) is Code.SERVER_UNREACHABLE
    assert (root / ".edgeemu" / SERVER_FILE).exists()
    local = open_target(root)
    assert isinstance(local, LocalTarget)
    assert [alarm["actor"] for alarm in local.perform("alarms.list")] == ["A/x"]
    local.close()
    assert start().read("ready")


@pytest.mark.slow
def test_state_folder_has_one_server(root: Path, start: Start) -> None:
    first = start()
    pid = first.read("ready")["pid"]
    for options in ((), ("--memory",)):
        error = start(*options).read("error")
        assert error["code"] == "E_STATE_IN_USE"
        assert str(pid) in error["why"]
    target = find_server(root / ".edgeemu")
    assert target is not None
    assert target.perform("status")["pid"] == pid


@pytest.mark.slow
def test_command_that_meets_a_starting_server_goes_to_it(
    root: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeemu.emulator.build.STATE_LOCK_WAIT_MS", 1)
    local = LocalTarget(root, root / ".edgeemu")
    server = start()
    server.read("ready")
    assert local.perform("status")["pid"] == server.process.pid
    local.close()


@pytest.mark.slow
def test_project_that_does_not_load_leaves_no_note(root: Path, start: Start) -> None:
    (root / "main.py").write_text("import nothing_of_this_name")
    server = start()
    assert server.read("error")["code"] == "E_PROJECT_IMPORT"
    assert server.process.wait(WAIT_SECONDS) == 2
    assert not (root / ".edgeemu" / SERVER_FILE).exists()


# --- binding -----------------------------------------------------------------------------------


def test_taken_port_says_by_whom(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(EdgeemuError) as raised:
            bind("127.0.0.1", port, tmp_path)
        assert raised.value.code is Code.PORT_TAKEN
        assert "another program" in raised.value.why
        assert "--port" in raised.value.fix
        write_server_info(tmp_path, ServerInfo(os.getpid(), port, "127.0.0.1", "x"))
        with pytest.raises(EdgeemuError) as raised:
            bind("127.0.0.1", port, tmp_path)
        assert f"process {os.getpid()}" in raised.value.why


@pytest.mark.parametrize("host", ["256.1.1.1", "no such host", "203.0.113.1", "x" * 300, "\ud800"])
def test_host_that_is_not_here_is_refused(host: str, tmp_path: Path) -> None:
    assert code_of(lambda: bind(host, 0, tmp_path)) is Code.HOST_INVALID


def test_free_port_is_chosen(tmp_path: Path) -> None:
    with bind("localhost", 0, tmp_path) as bound:
        assert bound.getsockname()[1] > 0
        assert bound.family == socket.AF_INET


# --- what else may listen where a note points ---------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{}",
        b"HTTP/1.1\r\n\r\n",
        b"x" * 70_000,
    ],
)
def test_stranger_on_the_port_is_no_server(answer: bytes, tmp_path: Path) -> None:
    """The port of a stale note may be another program's by now: the command does without."""

    def serve(stranger: socket.socket) -> None:
        connection, _ = stranger.accept()
        with connection:
            connection.sendall(answer)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass

    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        write_server_info(tmp_path, ServerInfo(os.getpid(), port, "127.0.0.1", "x"))
        thread = threading.Thread(target=serve, args=(stranger,))
        thread.start()
        try:
            assert find_server(tmp_path) is None
        finally:
            thread.join(10)


def test_nobody_on_the_port_is_no_server(tmp_path: Path) -> None:
    with bind("127.0.0.1", 0, tmp_path) as bound:
        info = ServerInfo(os.getpid(), bound.getsockname()[1], "127.0.0.1", "x")
        write_server_info(tmp_path, info)
        assert read_server_info(tmp_path) == info
        assert find_server(tmp_path) is None
