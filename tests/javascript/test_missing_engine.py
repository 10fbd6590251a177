"""The engine that runs TypeScript is missing, too old or broken; and who never starts it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeemu.cli.main import main
from edgeemu.clock import stopwatch_ns
from edgeemu.engines.javascript.deno import find_deno
from edgeemu.errors import Code, EdgeemuError
from tests.cli.conftest import Server, run_process
from tests.support.script_modules import actor, answer_of, write_modules

COMMAND_MS_MAX = 300
"""What a command against a server may take (design section 3)."""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is all of the PATH, on a machine without the package."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setitem(sys.modules, "deno", None)
    find_deno.cache_clear()
    yield folder
    find_deno.cache_clear()


def put(folder: Path, text: str) -> Path:
    """A program named `deno`."""
    program = folder / "deno"
    program.write_text(text)
    program.chmod(0o755)
    return program


def says(version: str, *, else_do: str = "exit 7") -> str:
    return f'#!/bin/sh\nif [ "$1" = --version ]; then echo "deno {version}"; else {else_do}; fi\n'


def error_of(root: Path) -> EdgeemuError:
    config = write_modules(root / "project", {"src/index.ts": actor("", "return 1;")})
    with pytest.raises(EdgeemuError) as raised:
        answer_of(config)
    assert raised.value.code is Code.ENGINE_MISSING
    return raised.value


def test_there_is_none(tmp_path: Path, path: Path) -> None:
    error = error_of(tmp_path)
    assert error.what == "the engine that runs TypeScript is not installed"
    assert error.fix.startswith("run pip install 'edgeemu[typescript]', or put deno 2.9")


def test_one_on_the_path_will_do(tmp_path: Path, path: Path) -> None:
    real = Path(sys.executable).with_name("deno")
    program = put(path, says("2.9.1 (stable)", else_do=f'exec "{real}" "$@"'))
    assert find_deno() == str(program)
    config = write_modules(tmp_path / "project", {"src/index.ts": actor("", "return 1;")})
    assert answer_of(config) == 1


@pytest.mark.parametrize("version", ["2.8.9", "1.46.3 (stable, release)"])
def test_an_old_one_will_not(tmp_path: Path, path: Path, version: str) -> None:
    program = put(path, says(version))
    error = error_of(tmp_path)
    assert version.startswith(error.what.rpartition(" ")[2])
    assert f"TypeScript needs 2.9 or newer; found {program}" == error.why


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho no deno\n", "\x7fELF"])
def test_something_else_of_that_name_will_not(tmp_path: Path, path: Path, text: str) -> None:
    put(path, text)
    assert "too old: of no known version" in error_of(tmp_path).what


def test_one_that_breaks_says_how(tmp_path: Path, path: Path) -> None:
    put(path, says("2.9.8", else_do='echo "no such library" >&2; exit 127'))
    error = error_of(tmp_path)
    assert error.what == "the engine that runs TypeScript does not start"
    assert "no such library" in error.why


def test_state_is_read_without_an_engine(
    tmp_path: Path, path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project"
    write_modules(root, {"src/index.ts": actor("", "return 1;")})
    monkeypatch.chdir(root)
    for command in ["actors list", "alarms list", "storage list A/x", "log", "clock"]:
        status = main([*command.split(), "--json"])
        told = capsys.readouterr()
        assert "E_ENGINE_MISSING" not in told.out + told.err, command
        assert status in (0, 2), told
    assert main(["call", "A/x", "run"]) == 2
    assert "E_ENGINE_MISSING" in capsys.readouterr().err


@pytest.mark.slow
def test_a_command_against_a_server_starts_no_engine(tmp_path: Path) -> None:
    write_modules(tmp_path, {"src/index.ts": actor("", "return 1;")})
    server = Server(tmp_path)
    try:
        took_ms = []
        for command in ["--help", "call A/x run --json", "alarms list --json"] * 3:
            started_ns = stopwatch_ns()
            ended = run_process(*command.split(), cwd=tmp_path)
            took_ms.append((stopwatch_ns() - started_ns) / 1e6)
            assert ended.status == 0, ended.shown()
        best_ms = [min(took_ms[number::3]) for number in range(3)]
        assert max(best_ms) < COMMAND_MS_MAX, best_ms
    finally:
        assert server.stop() == 0
