"""Names that cannot be kept, instants beyond the last one, and notes of foreign servers."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgeemu.api import client
from edgeemu.api.client import find_server
from edgeemu.api.state import ServerInfo, write_server_info
from edgeemu.emulator import Emulator
from edgeemu.errors import Code, EdgeemuError, ExitStatus
from edgeemu.ids import parse_address
from edgeemu.limits import NAME_CHARS_MAX
from edgeemu.units import INSTANT_MS_MAX
from tests.support.emulators import run_with, write_project


@pytest.mark.parametrize("name", ["\udcff", "n" * (NAME_CHARS_MAX + 1)])
@pytest.mark.parametrize("types", [["A"], ["A", "B"]])
def test_name_that_cannot_be_kept_is_a_wrong_command(name: str, types: list[str]) -> None:
    with pytest.raises(EdgeemuError) as caught:
        parse_address(f"A/{name}", types)
    assert caught.value.code is Code.ADDRESS_INVALID
    assert caught.value.code.exit_status is ExitStatus.USAGE
    caught.value.what.encode()


def test_clock_stops_at_the_last_instant(tmp_path: Path) -> None:
    config = write_project(tmp_path, "class A(StatefulActor): ...")

    async def story(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError) as caught:
            await emulator.clock.advance(INSTANT_MS_MAX)
        assert caught.value.code is Code.INSTANT_INVALID

    run_with(config, story)


@contextmanager
def _foreign_server(folder: Path, answer: bytes | None) -> Iterator[None]:
    """Somebody else on the port of a note, who gives one answer to all, or none."""
    listener = socket.create_server(("127.0.0.1", 0))
    taken: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            taken.append(connection)
            if answer is not None:
                connection.recv(65_536)
                connection.sendall(answer)
                connection.close()

    info = ServerInfo(os.getpid(), listener.getsockname()[1], "127.0.0.1", "token")
    write_server_info(folder, info)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        # Closing alone does not wake the thread that accepts.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for connection in taken:
            connection.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-server\r\n",
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno",
        b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnull",
        b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_stale_note_whose_port_is_anothers_is_ignored(tmp_path: Path, answer: bytes) -> None:
    with _foreign_server(tmp_path, answer):
        assert find_server(tmp_path) is None


def test_silent_stranger_on_the_port_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "HINT_WAIT_MS", 10)
    monkeypatch.setattr(client, "PROBE_WAIT_MS", 20)
    with _foreign_server(tmp_path, None), pytest.raises(EdgeemuError) as caught:
        find_server(tmp_path)
    assert caught.value.code is Code.SERVER_UNREACHABLE
    assert "dev.json" in caught.value.fix


@pytest.mark.parametrize("note", ["[" * 100_000, '{"pid": 1, "port": 1, "host": "\\ud800"}', "{"])
def test_unreadable_note_is_no_server(tmp_path: Path, note: str) -> None:
    (tmp_path / "dev.json").write_text(note)
    assert find_server(tmp_path) is None
