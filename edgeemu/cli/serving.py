"""What `dev` says while it serves: the banner, the live log, and errors that wait to be mended."""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from edgeemu.cli import render
from edgeemu.cli.journal import entry_lines, mode_words
from edgeemu.cli.render import Line
from edgeemu.core.journal import Recorded
from edgeemu.errors import EdgeemuError
from edgeemu.limits import DESCRIPTORS_WANTED

if TYPE_CHECKING:
    from edgeemu.api.server import Running
    from edgeemu.config import Config
    from edgeemu.emulator import Emulator, Options
    from edgeemu.reload import Reloaded


class LiveLog:
    """Tells on stderr what happens, from the moment when the server accepts.

    Args:
        state_text: where the state is kept, in words.
    """

    def __init__(self, state_text: str) -> None:
        self._state_text = state_text
        self._held: list[Recorded] | None = []
        self._emulator: Emulator | None = None
        self._failed: EdgeemuError | None = None
        self._advising: set[asyncio.Future[list[Line]]] = set()

    def ready(self, running: "Running") -> None:
        """Show the banner, and then what happened before the server accepted."""
        self._emulator = running.emulator
        render.talk(*banner(running, self._state_text))
        held, self._held = self._held or [], None
        if held:
            self.entries(held)
        self._advise(None)

    def entries(self, recorded: list[Recorded]) -> None:
        """Show a batch of journal entries, and the error that still waits to be mended."""
        if self._held is not None:
            self._held += recorded
            return
        shown: list[Line] = []
        for item in recorded:
            entry = item.as_json()
            shown += entry_lines(entry)
        render.talk(*shown, *self._reminder(recorded))

    def _reminder(self, recorded: list[Recorded]) -> list[Line]:
        """One line while new code does not load, so that nobody wonders about the old."""
        error = self._emulator.load_error if self._emulator is not None else None
        if error is None or error is not self._failed:
            self._failed = error  # The entry of the failed reload itself shows the whole error.
            return []
        turns = any(item.entry.turn is not None for item in recorded)
        return [[("OLD CODE", "bad"), f"  still serving, because {error.what}"]] if turns else []

    def reloaded(self, reloaded: "Reloaded") -> None:
        """Say which changed settings wait for a restart, and what is risky in changed files."""
        debugger = self._emulator.debugger if self._emulator is not None else None
        if reloaded.error is None and debugger is not None:
            render.talk([("note:", "warn"), f" a debugger attaches to {debugger} now"])
        if reloaded.error is None:
            self._advise(reloaded.files)
        if reloaded.restart:
            keys = ", ".join(f"`{key}`" for key in reloaded.restart)
            render.talk([("note:", "warn"), f" {keys} counts when `edgeemu dev` starts again"])

    def _advise(self, files: Sequence[str] | None) -> None:
        """Show advice on files, or on all; reading them takes time, so a thread does it."""
        if self._emulator is None:
            return
        config = self._emulator.config
        found = asyncio.get_running_loop().run_in_executor(None, _advice_on, config, files)
        self._advising.add(found)
        found.add_done_callback(self._show_advice)

    def _show_advice(self, found: "asyncio.Future[list[Line]]") -> None:
        self._advising.discard(found)
        if not found.cancelled():
            render.talk(*found.result())

    def stopping(self) -> None:
        """Say that the first Ctrl-C was seen."""
        render.talk("", "stopping; Ctrl-C once more stops at once")


def _advice_on(config: "Config", files: Sequence[str] | None) -> list[Line]:
    from edgeemu.cli.advise import advice_lines, review

    try:
        return advice_lines([*review(config, files)])
    except OSError:
        return []  # A file went away meanwhile; the reload that follows looks again.


def banner(running: "Running", state_text: str) -> list[Line]:
    """What the user should know when the server accepts, and what to try next."""
    from edgeemu import __version__
    from edgeemu.cli.suggest import call_of

    emulator, config = running.emulator, running.emulator.config
    clock = emulator.clock.read()
    facts = [
        ("url", running.info.url),
        *(
            ("", f"http://{name}.localhost:{running.info.port}  function {name}")
            for name in config.functions
        ),
        ("actors", ", ".join(emulator.types) or "none"),
        ("clock", f"{clock['now']}, {mode_words(clock['mode'], clock['rate'])}"),
        ("seed", str(emulator.seed)),
        ("state", state_text),
    ]
    if emulator.debugger is not None:
        facts.append(("inspect", f"{emulator.debugger}, which moves when code is reloaded"))
    notes: list[Line] = [[("note:", "warn"), f" {notice}"] for notice in emulator.notices]
    found: list[Line] = [
        [(f"edgeemu {__version__}", "bold"), f"  {config.name} ({config.platform})"],
        *(f"  {name:<8}{text}" for name, text in facts),
        *notes,
        "try, in a second terminal in this folder:",
        f"  {call_of(config)}",
        "  edgeemu alarms list",
        "  edgeemu clock advance 5m",
        "",
    ]
    return found


def serve_project(
    load: "Callable[[], Config]",
    options: "Options",
    *,
    root: Path,
    state_dir: Path,
    fresh: bool,
    reload: bool,
    hold_overdue: bool,
) -> None:
    """Serve a project until it is told to stop.

    Args:
        load: reads the configuration, now and when a file was saved.
        options: how to open it.
        root: the project's folder.
        state_dir: the state folder, where the note of the running server goes.
        fresh: delete the kept state first.
        reload: keep the code current.
        hold_overdue: leave alone what is overdue at the start.

    Raises:
        EdgeemuError: as `load` and `edgeemu.api.server.serve`.
    """
    from edgeemu.api.server import serve
    from edgeemu.emulator import calm_collector, new_loop

    # What an actor prints belongs between the lines of the log, in a pipe too.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
    log = LiveLog("in memory only" if options.state_dir is None else _short(state_dir))
    keep_current = None
    if reload:
        from edgeemu.reload import Reloader

        keep_current = Reloader(root, state_dir, load, log.reloaded).run
    config = load()
    if fresh and options.state_dir is not None:
        _start_over(state_dir)
    serving = serve(
        config,
        options,
        hold_overdue=hold_overdue,
        state_dir=state_dir,
        reload=keep_current,
        on_ready=log.ready,
        on_journal=log.entries,
        on_stopping=log.stopping,
    )
    calm_collector()
    _ask_for_descriptors()
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(serving)


def _ask_for_descriptors() -> None:
    """Open more files and connections at once than a shell allows by itself, where that may be."""
    try:
        import resource
    except ImportError:  # Windows has no such bound.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_WANTED if hard == resource.RLIM_INFINITY else min(DESCRIPTORS_WANTED, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    with suppress(OSError, ValueError):  # The system may refuse all the same.
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _start_over(state_dir: Path) -> None:
    from edgeemu.api.ports import name_server
    from edgeemu.emulator.fresh import clear_state

    try:
        deleted = clear_state(state_dir)
    except EdgeemuError as error:
        raise name_server(error, state_dir) from None
    if deleted:
        render.talk(f"starting over: deleted {', '.join(deleted)} in {state_dir}")


def _short(path: Path) -> str:
    """A path from the current folder, where that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)
