"""The shell completes instances and keys, with a server and without, and never breaks the line."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def complete(run: Run, monkeypatch: pytest.MonkeyPatch):
    """What bash offers at the end of a line."""

    def offers(line: str) -> list[str]:
        monkeypatch.setenv("_EDGEEMU_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        ended = run()
        monkeypatch.delenv("_EDGEEMU_COMPLETE")
        assert ended.err == ""
        return ended.out.split()

    return offers


def test_commands_and_instances_and_keys(project: Path, run: Run, complete) -> None:
    for name in ("alice", "albert", "bob"):
        run("call", f"Session/{name}", "touch")
    run("storage", "put", "Session/alice", "last_name", "x")
    assert complete("edgeemu al") == ["alarms"]
    assert complete("edgeemu alarms f") == ["fire", "fail"]
    assert complete("edgeemu call Session/al") == ["Session/albert", "Session/alice"]
    every = ["Session/", "Session/albert", "Session/alice", "Session/bob"]
    assert complete("edgeemu call Ses") == every
    assert complete("edgeemu evict Session/b") == ["Session/bob"]
    assert complete("edgeemu log --actor Session/b") == ["Session/bob"]
    assert complete("edgeemu storage get Session/alice last") == ["last_name", "last_seen"]
    assert complete("edgeemu storage get Session/carol la") == []
    assert complete("edgeemu explain W_LIST") == ["W_LIST_CUT"]


def test_silence_where_there_is_no_project(
    tmp_path: Path, complete, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert complete("edgeemu call Session/al") == []
    assert complete(f"edgeemu --project {os.devnull} call Session/al") == []
