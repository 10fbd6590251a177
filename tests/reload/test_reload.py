"""Hot reload: what scripted sets of changes do; and the real watcher, a few times."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from edgeemu.api.operations import perform
from edgeemu.clock import stopwatch_ns
from edgeemu.config import Config, load_config
from edgeemu.emulator import Emulator
from edgeemu.errors import Code
from edgeemu.reload import (
    Reloaded,
    Reloader,
    is_project_file,
    is_project_folder,
    is_test_file,
    take_snapshot,
    watch_project,
)
from tests.support.emulators import frozen, run, run_with
from tests.support.projects import write_api_project

WAIT_SECONDS = 10
GOOD = """
from edgeemu import StatefulActor

class A(StatefulActor):
    async def version(self):
        return {version}
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return write_api_project(tmp_path)


def with_reloader(
    config: Config, body: Callable[[Emulator, Reloader], Awaitable[Any]], **options: Any
) -> Any:
    async def main(emulator: Emulator) -> Any:
        state_dir = config.root / ".edgeemu"
        return await body(
            emulator, Reloader(config.root, state_dir, lambda: load_config(config.root))
        )

    return run_with(config, main, frozen(**options))


def write_version(config: Config, version: int) -> None:
    config.main_path.write_text(GOOD.format(version=version))


async def version_of(emulator: Emulator, name: str = "x") -> Any:
    return await emulator.call(emulator.address(f"A/{name}"), "version")


def reload_entries(emulator: Emulator) -> list[dict[str, Any]]:
    return [entry for entry in emulator.journal() if entry["kind"].startswith("reload")]


# --- scripted changes --------------------------------------------------------------------------


def test_new_code_serves_and_everything_else_stays(config: Config) -> None:
    async def body(emulator: Emulator, reloader: Reloader) -> None:
        instance = emulator.address("A/x")
        await emulator.call(instance, "touch")
        before = (emulator.alarms.list(), emulator.storage.list(instance), emulator.clock.read())
        write_version(config, 2)
        done = reloader.apply(emulator, ["main.py"])
        assert (done.files, done.error, done.restart) == (("main.py",), None, ())
        assert await version_of(emulator) == 2
        after = (emulator.alarms.list(), emulator.storage.list(instance), emulator.clock.read())
        assert after == before
        (entry,) = reload_entries(emulator)
        assert (entry["kind"], entry["files"]) == ("reload", ["main.py"])

    with_reloader(config, body)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("def (", Code.PROJECT_SYNTAX),
        ("import nothing_of_this_name", Code.PROJECT_IMPORT),
        ("1 / 0", Code.PROJECT_IMPORT),
        ("import sys; sys.exit(3)", Code.PROJECT_IMPORT),
        ("", Code.CLASS_MISSING),
    ],
)
def test_code_that_does_not_load_leaves_the_old_until_it_is_mended(
    source: str, code: Code, config: Config
) -> None:
    async def body(emulator: Emulator, reloader: Reloader) -> None:
        write_version(config, 1)
        reloader.apply(emulator, ["main.py"])
        config.main_path.write_text(source)
        done = reloader.apply(emulator, ["main.py"])
        assert done.error is not None and done.error.code is code
        assert emulator.load_error is done.error
        assert await version_of(emulator) == 1
        assert reload_entries(emulator)[-1]["error"]["code"] == code.text
        write_version(config, 2)
        assert reloader.apply(emulator, ["main.py"]).error is None
        assert (await perform(emulator, "status", {}, cause="test"))["load_error"] is None
        assert await version_of(emulator) == 2

    with_reloader(config, body)


def test_configuration_that_is_wrong_leaves_the_old_until_it_is_mended(config: Config) -> None:
    async def body(emulator: Emulator, reloader: Reloader) -> None:
        text = config.source.read_text()
        config.source.write_text("clok = 1\n" + text)
        write_version(config, 2)
        done = reloader.apply(emulator, ["edgeemu.toml", "main.py"])
        assert done.error is not None and done.error.code is Code.CONFIG_UNKNOWN_KEY
        assert emulator.load_error is done.error
        assert reload_entries(emulator)[-1]["kind"] == "reload_failed"
        await emulator.call(emulator.address("A/x"), "touch")
        config.source.write_text(text)
        assert reloader.apply(emulator, ["edgeemu.toml"]).error is None
        assert await version_of(emulator) == 2

    with_reloader(config, body)


def test_deleted_main_is_told_and_its_return_mends_it(config: Config) -> None:
    async def body(emulator: Emulator, reloader: Reloader) -> None:
        config.main_path.unlink()
        done = reloader.apply(emulator, ["main.py"])
        assert done.error is not None and done.error.code is Code.MAIN_MISSING
        await emulator.call(emulator.address("A/x"), "touch")
        write_version(config, 2)
        assert reloader.apply(emulator, ["main.py"]).error is None
        assert await version_of(emulator) == 2

    with_reloader(config, body)


def test_configuration_takes_effect_or_says_that_it_wants_a_restart(config: Config) -> None:
    async def body(emulator: Emulator, reloader: Reloader) -> None:
        text = config.source.read_text()
        config.source.write_text(
            text.replace("body_bytes = 1000", "body_bytes = 2000\nstorm_count = 7")
            + '[dev]\nport = 9999\n[[actors]]\nbinding = "B"\ntype = "B"\n'
        )
        config.main_path.write_text(GOOD.format(version=2) + "\nclass B(A):\n    pass\n")
        done = reloader.apply(emulator, ["edgeemu.toml"])
        assert done.error is None
        assert done.restart == ("dev.port", "limits.storm_count")
        assert emulator.types == ["A", "B"]
        assert await emulator.call(emulator.address("B/x"), "version") == 2
        assert emulator.config.limits.body_bytes == 2_000
        # Only a change of the configuration repeats it; taken back, there is nothing to say.
        assert reloader.apply(emulator, ["main.py"]).restart == ()
        config.source.write_text(text)
        assert reloader.apply(emulator, ["edgeemu.toml"]).restart == ()

    with_reloader(config, body)


def test_secrets_are_read_again(config: Config) -> None:
    async def body(emulator: Emulator, reloader: Reloader) -> None:
        (config.root / ".env").write_text("KEY=new\n")
        assert reloader.apply(emulator, [".env"]).error is None
        assert emulator.config.secrets["KEY"] == "new"

    with_reloader(config, body)


def test_new_code_that_does_not_load_keeps_the_old_configuration_too(config: Config) -> None:
    async def body(emulator: Emulator, reloader: Reloader) -> None:
        old = emulator.config
        with config.source.open("a") as file:
            file.write('[[actors]]\nbinding = "B"\ntype = "B"\n')
        done = reloader.apply(emulator, ["edgeemu.toml"])
        assert done.error is not None and done.error.code is Code.CLASS_MISSING
        assert emulator.config is old
        await emulator.call(emulator.address("A/x"), "touch")

    with_reloader(config, body)


def test_turn_under_way_ends_on_the_old_code(config: Config) -> None:
    async def body(emulator: Emulator, reloader: Reloader) -> None:
        instance = emulator.address("A/x")
        napping = asyncio.ensure_future(emulator.call(instance, "nap", [1_000]))
        await emulator.run_present()
        write_version(config, 2)
        assert reloader.apply(emulator, ["main.py"]).error is None
        await emulator.clock.advance(1_000)
        assert await napping == "rested"
        assert await version_of(emulator) == 2

    with_reloader(config, body)


def test_bug_while_reloading_is_told_and_the_next_change_is_seen(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(emulator: Emulator, reloader: Reloader) -> None:
        def fail(*_: object) -> None:
            raise ZeroDivisionError("a planted bug")

        with monkeypatch.context() as planted:
            planted.setattr(emulator, "reload", fail)
            done = reloader.apply(emulator, ["main.py"])
        assert done.error is not None and done.error.code is Code.INTERNAL
        assert "a planted bug" in done.error.what
        assert reloader.apply(emulator, ["main.py"]).error is None

    with_reloader(config, body)


# --- what counts -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("main.py", True),
        ("edgeemu.toml", True),
        ("telnyx.toml", True),
        (".env", True),
        (".dev.vars", True),
        ("main.pyc", False),
        ("main.py~", False),
        (".main.py.swp", False),
        (".#main.py", False),
        ("4913", False),
        ("README.md", False),
        ("other.toml", False),
    ],
)
def test_files_that_count(name: str, counts: bool) -> None:
    assert is_project_file(name) is counts


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("src", True),
        ("tests", True),
        (".edgeemu", False),
        (".git", False),
        (".venv", False),
        ("venv", False),
        ("node_modules", False),
        ("__pycache__", False),
        ("site-packages", False),
    ],
)
def test_folders_that_count(name: str, counts: bool) -> None:
    assert is_project_folder(name) is counts


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("tests/test_main.py", True),
        ("src/tests/helpers.py", True),
        ("test_main.py", True),
        ("src/main_test.py", True),
        ("conftest.py", True),
        ("main.py", False),
        ("src/contest.py", False),
        ("src/testing.py", False),
        ("test_data/main.py", False),
        ("edgeemu.toml", False),
    ],
)
def test_files_of_tests(path: str, is_test: bool) -> None:
    assert is_test_file(path) is is_test


def test_a_saved_test_is_no_reason_to_reload_unless_it_was_loaded(config: Config) -> None:
    saved = ["test_main.py", "shared_test.py"]
    for name in saved:
        (config.root / name).write_text("VALUE = 1\n")
    source = config.main_path.read_text()
    config.main_path.write_text("from shared_test import VALUE\n" + source)

    async def body(emulator: Emulator, reloader: Reloader) -> None:
        assert reloader.relevant(emulator, saved[:1]) == []
        assert reloader.relevant(emulator, [*saved, "main.py"]) == ["shared_test.py", "main.py"]
        config.main_path.write_text("from test_main import MISSING\n" + source)
        assert reloader.apply(emulator, ["main.py"]).error is not None
        # What would mend it cannot be told, so everything counts.
        assert reloader.relevant(emulator, saved) == saved

    with_reloader(config, body)


def test_snapshots_tell_what_changed(tmp_path: Path) -> None:
    for name in ("a.py", "src/b.py", "src/c.py", "state/d.py", ".git/e.py", "src/f.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.py").symlink_to("nowhere")
    before = take_snapshot(tmp_path, tmp_path / "state")
    assert sorted(before.files) == [
        str(tmp_path / name) for name in ("a.py", "src/b.py", "src/c.py")
    ]
    assert before.folders == {str(tmp_path), str(tmp_path / "src")}
    (tmp_path / "src/b.py").write_text("22")
    (tmp_path / "src/c.py").unlink()
    (tmp_path / "src/new.py").write_text("")
    (tmp_path / "src/f.txt").write_text("2")
    os.utime(tmp_path / "a.py", ns=(0, 0))
    after = take_snapshot(tmp_path, tmp_path / "state")
    names = ("a.py", "src/b.py", "src/c.py", "src/new.py")
    assert after.changed_since(before) == [str(tmp_path / name) for name in names]
    assert after.changed_since(after) == []


def test_folder_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    assert take_snapshot(tmp_path / "none", tmp_path).files == {}


# --- the real watcher --------------------------------------------------------------------------


class Watch:
    """The real watcher over a folder; changes are waited for, in bounded time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.stop = asyncio.Event()
        self.changes: asyncio.Queue[list[str]] = asyncio.Queue()
        seen = take_snapshot(root, root / ".edgeemu")
        self.task = asyncio.ensure_future(
            watch_project(root, root / ".edgeemu", self.changes.put_nowait, self.stop, seen=seen)
        )

    async def wait_for(self, *names: str) -> None:
        """This waits until each of these was told, in one set of changes or several."""
        left = set(names)
        while left:
            left -= set(await asyncio.wait_for(self.changes.get(), WAIT_SECONDS))

    async def end(self) -> None:
        self.stop.set()
        await asyncio.wait_for(self.task, WAIT_SECONDS)


@pytest.mark.slow
def test_watcher_sees_each_way_of_saving(tmp_path: Path) -> None:
    async def main() -> None:
        watch = Watch(tmp_path)
        file = tmp_path / "main.py"
        file.write_text("1")  # Before the watcher can have looked.
        await watch.wait_for("main.py")
        file.write_text("2")
        await watch.wait_for("main.py")
        (tmp_path / ".main.tmp").write_text("3")
        (tmp_path / ".main.tmp").replace(file)
        await watch.wait_for("main.py")
        (tmp_path / "src/deep").mkdir(parents=True)
        (tmp_path / "src/deep/a.py").write_text("1")
        await watch.wait_for("src/deep/a.py")
        (tmp_path / "src/deep/a.py").write_text("2")
        await watch.wait_for("src/deep/a.py")
        (tmp_path / "src").rename(tmp_path / "lib")
        await watch.wait_for("src/deep/a.py", "lib/deep/a.py")
        (tmp_path / "lib/deep/a.py").unlink()
        await watch.wait_for("lib/deep/a.py")
        (tmp_path / ".edgeemu").mkdir()
        (tmp_path / ".edgeemu/noise.py").write_text("")
        (tmp_path / "notes.txt").write_text("")
        (tmp_path / "edgeemu.toml").write_text("")
        assert await asyncio.wait_for(watch.changes.get(), WAIT_SECONDS) == ["edgeemu.toml"]
        await watch.end()

    run(main())


@pytest.mark.slow
def test_saved_file_is_live_within_the_promised_time(config: Config) -> None:
    async def main(emulator: Emulator) -> int:
        told: asyncio.Queue[Reloaded] = asyncio.Queue()
        stop = asyncio.Event()
        reloader = Reloader(
            config.root,
            config.root / ".edgeemu",
            lambda: load_config(config.root),
            told.put_nowait,
        )
        running = asyncio.ensure_future(reloader.run(emulator, stop))
        took_ms = []
        for version in range(1, 6):
            started_ns = stopwatch_ns()
            write_version(config, version)
            while (await asyncio.wait_for(told.get(), WAIT_SECONDS)).error is not None:
                pass  # The file was read while it was being written.
            took_ms.append((stopwatch_ns() - started_ns) // 1_000_000)
            assert await version_of(emulator, f"x{version}") == version
        stop.set()
        await asyncio.wait_for(running, WAIT_SECONDS)
        return min(took_ms)

    assert run_with(config, main) < 300


@pytest.mark.slow
def test_watcher_follows_functions_that_come_and_go(tmp_path: Path) -> None:
    async def main() -> None:
        first, second = tmp_path / "shop", tmp_path / "billing"
        for folder in (first, second):
            folder.mkdir()
            (folder / "main.py").write_text("1")
        others: list[Path] = []
        changes: asyncio.Queue[list[str]] = asyncio.Queue()
        stop = asyncio.Event()
        seen = take_snapshot(first, first / ".edgeemu")
        watching = asyncio.ensure_future(
            watch_project(
                first,
                first / ".edgeemu",
                changes.put_nowait,
                stop,
                seen=seen,
                others=lambda: [*others],
            )
        )

        async def told() -> list[str]:
            return await asyncio.wait_for(changes.get(), WAIT_SECONDS)

        (first / "main.py").write_text("22")
        assert await told() == ["main.py"]
        others.append(second)
        assert await told() == [str(Path("../billing/main.py"))]
        (second / "main.py").write_text("333")
        assert await told() == [str(Path("../billing/main.py"))]
        stop.set()
        await asyncio.wait_for(watching, WAIT_SECONDS)

    run(main())
