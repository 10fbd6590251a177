"""From changed files to `Emulator.reload`: code that was saved is live within 0.1 s.

Promise: what does not load, be it code or configuration, is told and changes nothing; the next
change that loads mends it. Nothing here decides what a reload keeps: that is the emulator's part.

The watcher only wakes this module; what changed is told by comparing snapshots. So it is no matter
how an editor saves (in place, or by renaming), nor whether a file changes before the watcher looks.

Tried and dropped: one recursive watch of the project's folder, which walks `node_modules` and
virtual environments too: 80 ms for 1,200 folders, during which no other thread of Python can run.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from edgeemu.clock import stopwatch_ns
from edgeemu.config import Config, is_script
from edgeemu.emulator import Emulator, bug_report
from edgeemu.engines.javascript.folders import linked_sources
from edgeemu.errors import EdgeemuError
from edgeemu.limits import RELOAD_DEBOUNCE_MS, RELOAD_STEP_MS

CODE_SUFFIXES = frozenset({".py"})
"""Endings of files that may be part of a project's code."""

CONFIG_FILES = frozenset({"edgeemu.toml", "telnyx.toml", ".env", ".dev.vars"})
"""Files beside the code that a configuration is read from."""

SCRIPT_FILES = frozenset({"pnpm-lock.yaml", "yarn.lock", "bun.lock"})
"""Files, besides those that TypeScript imports, which say what its packages are."""

INSTALLED_FILES = frozenset({".package-lock.json", ".modules.yaml", ".yarn-state.yml"})
"""What npm, pnpm and yarn write in `node_modules` when they have installed."""

PACKAGES_FOLDER = "node_modules"
"""Looked at only for the note that it was installed."""

IGNORED_FOLDERS = frozenset({PACKAGES_FOLDER, "__pycache__", "venv", "site-packages"})
"""Folders, besides hidden ones, that hold no code of the project."""

_IDLE_TIMEOUT_MS = 1_000
"""Real ms after which a watcher that was just started has surely looked once."""

Stamp = tuple[int, int]
"""When a file was written, in ns, and its size in bytes."""


def is_project_file(name: str) -> bool:
    """Whether a file of this name can change what a project does."""
    if name in CONFIG_FILES:
        return True
    if name.startswith("."):
        return False
    return Path(name).suffix in CODE_SUFFIXES or is_script_file(name)


def is_script_file(path: str) -> bool:
    """Whether a file can change what TypeScript does: code, what it imports, its packages."""
    file = Path(path)
    if file.name in SCRIPT_FILES or file.name in INSTALLED_FILES:
        return True
    return file.suffix == ".json" or (is_script(file) and not file.name.endswith(".d.ts"))


def is_test_file(path: str) -> bool:
    """Whether a file of the project, by its path in it, looks like one of its tests."""
    name, *folders = reversed(Path(path).parts)
    if is_script(Path(name)) and Path(Path(name).stem).suffix in (".test", ".spec"):
        return True
    stem = name.removesuffix(".py")
    is_test = name == "conftest.py" or stem.startswith("test_") or stem.endswith("_test")
    return not {"tests", "__tests__"}.isdisjoint(folders) or (is_test and name != stem)


def is_project_folder(name: str) -> bool:
    """Whether a folder of this name can hold code of a project."""
    return not name.startswith(".") and name not in IGNORED_FOLDERS


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a project's files were at one moment.

    Attributes:
        files: each file that counts, by its path.
        folders: each folder that may hold such files.
    """

    files: Mapping[str, Stamp]
    folders: frozenset[str]

    def changed_since(self, older: "Snapshot") -> list[str]:
        """The files that came, went or were written, sorted."""
        paths = {*self.files, *older.files}
        return sorted(path for path in paths if self.files.get(path) != older.files.get(path))


def take_snapshot(
    roots: Path | Iterable[Path],
    state_dir: Path,
    *,
    file_counts: Callable[[str], bool] = is_project_file,
    folder_counts: Callable[[str], bool] = is_project_folder,
) -> Snapshot:
    """What a project's files are now; links to folders are not followed.

    Args:
        roots: the project's folder, or those of all its functions.
        state_dir: its state folder, which never counts.
        file_counts, folder_counts: filters by name.
    """
    files: dict[str, Stamp] = {}
    folders: set[str] = set()
    left = [str(roots)] if isinstance(roots, Path) else [str(root) for root in roots]
    while left:
        folder = left.pop()
        if folder in folders:
            continue  # The folder of one function lies in that of another.
        folders.add(folder)
        installed = folder.endswith(f"{os.sep}{PACKAGES_FOLDER}")
        for entry in _entries(folder):
            if installed:
                stamp = _stamp(entry) if entry.name in INSTALLED_FILES else None
                if stamp is not None:
                    files[entry.path] = stamp
            elif entry.is_dir(follow_symlinks=False):
                counts = folder_counts(entry.name) or entry.name == PACKAGES_FOLDER
                if counts and entry.path != str(state_dir):
                    left.append(entry.path)
            elif file_counts(entry.name):
                stamp = _stamp(entry)
                if stamp is not None:
                    files[entry.path] = stamp
    return Snapshot(files, frozenset(folders))


def _entries(folder: str) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            yield from found
    except OSError:
        return  # It went away, or is not ours to read.


def _stamp(entry: "os.DirEntry[str]") -> Stamp | None:
    try:
        found = entry.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


async def watch_project(
    root: Path,
    state_dir: Path,
    on_change: Callable[[list[str]], None],
    stop: asyncio.Event,
    *,
    seen: Snapshot | None = None,
    others: Callable[[], Iterable[Path]] = tuple,
) -> None:
    """Call `on_change` in the loop with the files that changed, until `stop` is set.

    Args:
        root: the project's folder.
        state_dir: its state folder, which is not watched.
        on_change: takes paths relative to the root, sorted.
        stop: ends it.
        seen: the files as they were when the project was read; None for as they are now.
        others: gives the further folders that are watched now; they may come and go.
    """
    loop = asyncio.get_running_loop()
    halt = threading.Event()

    def report(paths: list[str]) -> None:
        relative = [os.path.relpath(path, root) for path in paths]
        loop.call_soon_threadsafe(on_change, relative)

    def look() -> Snapshot:
        return take_snapshot([root, *others()], state_dir)

    known = look() if seen is None else seen
    # Importing the watcher takes 40 ms: in its own thread, it delays no request.
    watching = loop.run_in_executor(None, _watch, look, others, report, halt, known)
    stopping = loop.create_task(stop.wait())
    watching.add_done_callback(lambda _: stopping.cancel())
    try:
        await asyncio.wait([stopping])
    finally:
        halt.set()
        stopping.cancel()
        await watching


def _watch(
    look_now: Callable[[], Snapshot],
    others: Callable[[], Iterable[Path]],
    report: Callable[[list[str]], None],
    halt: threading.Event,
    seen: Snapshot,
) -> None:
    """Watch every folder that counts, each by itself; look anew when folders come or go."""

    def look() -> None:
        nonlocal seen
        now = look_now()
        changed = now.changed_since(seen)
        seen = now
        if changed:
            report(changed)

    from watchfiles import watch

    look()
    while not halt.is_set():
        folders, further, first = seen.folders, [*others()], True
        # The first time, yielding without a change counts too: by then it surely watches, and
        # what changed before that is found by the comparison.
        for changes in watch(
            *folders,
            watch_filter=None,
            debounce=RELOAD_DEBOUNCE_MS,
            step=RELOAD_STEP_MS,
            stop_event=halt,
            rust_timeout=_IDLE_TIMEOUT_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=False,
            ignore_permission_denied=True,
        ):
            if not changes and not first and further == [*others()]:
                continue
            first = False
            look()
            if seen.folders != folders:
                break


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What became of a set of changes.

    Attributes:
        files: what changed, relative to the project.
        error: why the old code goes on serving; None if the new code is live.
        restart: keys of the configuration that count only after `edgeemu dev` is started again.
        took_ms: real ms that loading and swapping took.
    """

    files: tuple[str, ...]
    error: EdgeemuError | None = None
    restart: tuple[str, ...] = ()
    took_ms: int = 0


class Reloader:
    """Keeps an emulator's code current. Make it before the project is loaded.

    Args:
        root, state_dir: the project's folder and its state folder, which is not watched.
        load: reads the configuration again, with the overrides of the command line.
        on_reload: called with what became of each set of changes.
    """

    def __init__(
        self,
        root: Path,
        state_dir: Path,
        load: Callable[[], Config],
        on_reload: Callable[[Reloaded], None] = lambda reloaded: None,
    ) -> None:
        self._root = root
        self._state_dir = state_dir
        self._load = load
        self._on_reload = on_reload
        self._started: Config | None = None
        self._others: tuple[Path, ...] = ()
        # Taken before anything is loaded, so that no save is lost while the server starts.
        self._seen = take_snapshot(root, state_dir)

    async def run(self, emulator: Emulator, stop: asyncio.Event) -> None:
        """Watch the project until `stop` is set: give this to `serve(reload=...)`."""
        self._started = emulator.config
        self._watch_functions(emulator.config)
        seen = self._seen
        if self._others:  # The files of the further functions are read since a moment only.
            others = take_snapshot(self._others, self._state_dir)
            seen = Snapshot({**others.files, **seen.files}, seen.folders | others.folders)

        def on_change(files: list[str]) -> None:
            counts = self.relevant(emulator, files)
            if counts and not stop.is_set():
                self._on_reload(self.apply(emulator, counts))

        await watch_project(
            self._root,
            self._state_dir,
            on_change,
            stop,
            seen=seen,
            others=lambda: self._others,
        )

    def _watch_functions(self, config: Config) -> None:
        linked = [
            folder
            for function in config.all_functions.values()
            if function.has_scripts
            for folder in linked_sources(function.root)
        ]
        roots = [function.root for function in config.functions.values()]
        self._others = (*roots, *linked)

    def relevant(self, emulator: Emulator, files: Collection[str]) -> list[str]:
        """The files that the running code may depend on: not the project's tests.

        A module that was loaded counts whatever its name. While code does not load, everything
        counts, since nobody knows what it would have loaded.
        """
        if emulator.load_error is not None:
            return [*files]
        if not any(each.has_scripts for each in emulator.config.all_functions.values()):
            files = [file for file in files if not is_script_file(file)]
        # By the dictionary, because a module may do anything when it is asked for an attribute.
        modules = [getattr(module, "__dict__", {}) for module in list(sys.modules.values())]
        loaded = {module.get("__file__") for module in modules}
        root = self._root.resolve()
        return [file for file in files if not is_test_file(file) or str(root / file) in loaded]

    def apply(self, emulator: Emulator, files: Collection[str]) -> Reloaded:
        """Let the emulator load what changed; whatever is wrong with it is in the result.

        Args:
            emulator: whose project changed.
            files: what changed, relative to the project; for the record.
        """
        started_ns = stopwatch_ns()
        listed = tuple(files)
        if self._started is None:
            self._started = emulator.config
        restart: tuple[str, ...] = ()
        error: EdgeemuError | None = None
        try:
            config = self._read(emulator, listed)
            # An unchanged configuration is left out, so that the loader keeps what it knows.
            changed = config != emulator.config
            emulator.reload(listed, config if changed else None)
            self._watch_functions(config)
            restart = _restart_keys(self._started, config) if changed else ()
        except EdgeemuError as failed:
            error = failed
        except Exception as bug:
            # The watcher must outlive a bug, or the next save would go unseen.
            error = bug_report(bug, emulator.seed)
            emulator.reload_failed(error, listed)
        took_ms = (stopwatch_ns() - started_ns) // 1_000_000
        return Reloaded(listed, error, restart, took_ms)

    def _read(self, emulator: Emulator, files: Sequence[str]) -> Config:
        """The configuration as it is now: it may be wrong because of any file, `main` included."""
        try:
            return self._load()
        except EdgeemuError as error:
            emulator.reload_failed(error, files)
            raise


_AT_START = ("dev", "clock", "limits")
"""Tables of the configuration that are read when a server starts."""

_AT_ONCE = frozenset({"body_bytes", "actor_vars"})
"""Keys in them that are looked up for each request, or with each load."""


def _restart_keys(old: Config, new: Config) -> tuple[str, ...]:
    """The keys that differ and that a running emulator does not take up."""
    keys = [key for key in ("platform", "seed") if getattr(old, key) != getattr(new, key)]
    for table in _AT_START:
        before, after = getattr(old, table), getattr(new, table)
        for field in fields(before):
            differs = getattr(before, field.name) != getattr(after, field.name)
            if differs and field.name not in _AT_ONCE:
                keys.append(f"{table}.{field.name}")
    return tuple(keys)
