"""The note of a running server: private, whole or absent, and harmless when it is stale."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from edgeemu.api import state
from edgeemu.api.state import ServerInfo
from edgeemu.config import load
from edgeemu.errors import Code, EdgeemuError

INFO = ServerInfo(os.getpid(), 8787, "127.0.0.1", "secret")


def test_note_is_read_back_by_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    state.write_server_info(folder, INFO)
    assert state.read_server_info(folder) == INFO
    path = folder / state.SERVER_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert set(json.loads(path.read_text())) == {"pid", "port", "host", "token"}
    assert [found.name for found in folder.iterdir()] == [state.SERVER_FILE]


def test_note_is_removed_by_the_server_that_wrote_it(tmp_path: Path) -> None:
    state.write_server_info(tmp_path, INFO)
    other = ServerInfo(os.getpid(), 8788, "127.0.0.1", "another")
    state.remove_server_info(tmp_path, other)
    assert state.read_server_info(tmp_path) == INFO
    state.remove_server_info(tmp_path, INFO)
    assert state.read_server_info(tmp_path) is None
    state.remove_server_info(tmp_path, INFO)


def test_note_of_a_dead_process_is_none(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    state.write_server_info(tmp_path, ServerInfo(child.pid, 8787, "127.0.0.1", "x"))
    assert state.read_server_info(tmp_path) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "\x00\xff",
        '{"pid": "1", "port": 1, "host": "h", "token": "t"}',
        '{"pid": true, "port": 1, "host": "h", "token": "t"}',
        '{"pid": -1, "port": 1, "host": "h", "token": "t"}',
        '{"pid": 1, "port": null, "host": "h", "token": "t"}',
    ],
)
def test_note_that_is_not_whole_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / state.SERVER_FILE).write_text(text, encoding="latin-1")
    assert state.read_server_info(tmp_path) is None


def test_note_that_cannot_be_written_says_where_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EdgeemuError) as raised:
        state.write_server_info(tmp_path / "file", INFO)
    assert raised.value.code is Code.STATE_UNWRITABLE
    assert "--state-dir" in raised.value.fix


def test_project_is_found_as_the_configuration_finds_it(tmp_path: Path) -> None:
    assert state.PROJECT_FILES == load.FILES
    assert state.find_root(tmp_path) is None
    (tmp_path / "inner/deep").mkdir(parents=True)
    (tmp_path / "edgeemu.toml").write_text("")
    (tmp_path / "inner/wrangler.toml").symlink_to("nowhere")
    for start in ("", "inner", "inner/deep", "inner/deep/.."):
        assert state.find_root(tmp_path / start) == load.find_project(tmp_path / start)


def test_url_brackets_an_ipv6_address() -> None:
    assert INFO.url == "http://127.0.0.1:8787"
    assert ServerInfo(1, 80, "::1", "").url == "http://[::1]:80"
