"""`edgeemu dev`: an emulator behind a port, from the first signal to the last.

Promise: the note for clients is written before the port accepts; the first answer does not wait
for anything that can be loaded later; and however the server ends, what was answered is kept.

The first Ctrl-C stops accepting, lets turns end for a bounded time and closes the state. The second
one stops at once. The third one interrupts even code that never lets the loop run.
"""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from types import FrameType
from typing import Any

from edgeemu.api.app import Access, App
from edgeemu.api.ports import bind, bind_error, name_server, reachable_host, runs_already
from edgeemu.api.state import (
    ServerInfo,
    default_state_dir,
    read_server_info,
    remove_server_info,
    write_server_info,
)
from edgeemu.config import Config
from edgeemu.core.journal import Recorded
from edgeemu.emulator import Emulator, EmulatorLoop, Options, bug_report
from edgeemu.errors import Code, EdgeemuError
from edgeemu.limits import CONNECTIONS_MAX, LISTEN_BACKLOG, SHUTDOWN_WAIT_MS
from edgeemu.rng import draw_token

_LOG = logging.getLogger("edgeemu")

KeepCurrent = Callable[[Emulator, asyncio.Event], Awaitable[None]]
"""What keeps the code of an emulator current until an event is set."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that accepts.

    Attributes:
        emulator: that it serves.
        info: how to reach it.
        state_dir: where `dev.json` is.
        stop: asks it to stop, as a first Ctrl-C does; from its own loop only.
    """

    emulator: Emulator
    info: ServerInfo
    state_dir: Path
    stop: Callable[[], None]


async def serve(
    config: Config,
    options: Options,
    *,
    host: str | None = None,
    port: int | None = None,
    hold_overdue: bool = False,
    state_dir: Path | None = None,
    reload: KeepCurrent | None = None,
    on_ready: Callable[[Running], None] = lambda running: None,
    on_journal: Callable[[list[Recorded]], None] = lambda entries: None,
    on_stopping: Callable[[], None] = lambda: None,
) -> None:
    """Serve a project until a signal (run it with `asyncio.Runner(loop_factory=new_loop)`).

    Args:
        config, options: what to serve, and how to open it.
        host, port: to bind; None for the configured ones. Port 0 lets the system choose.
        hold_overdue: leave alone what is overdue at the start.
        state_dir: where `dev.json` goes; None for the state folder of `options`, or where that
            keeps everything in memory, the project's own.
        reload: what keeps the code current until the event is set: `Reloader(...).run` of
            `edgeemu.reload` (the layers keep this module from importing it); None for nothing.
        on_ready: called once, when the port accepts.
        on_journal: called with each batch of journal entries.
        on_stopping: called at the first Ctrl-C.

    Raises:
        EdgeemuError: `E_PORT_TAKEN`, `E_HOST_INVALID`, those of `Emulator.open`, `E_INTERNAL` if a
            bug stopped the time.
    """
    folder = state_dir or options.state_dir or default_state_dir(config.root)
    host = config.dev.host if host is None else host
    port = config.dev.port if port is None else port
    bound = bind(host, port, folder)
    try:
        # The lock on the state comes first: the note must never replace a living server's.
        emulator = await Emulator.open(config, options, load=False)
    except EdgeemuError as error:
        bound.close()
        raise name_server(error, folder) from None
    except BaseException:
        bound.close()
        raise
    emulator.watch(on_journal)
    server = _Server(emulator, bound, folder, on_stopping)
    await server.run(host, hold_overdue=hold_overdue, reload=reload, on_ready=on_ready)


class _Server:
    """One run of a server, from a bound port to a closed state."""

    def __init__(
        self,
        emulator: Emulator,
        bound: socket,
        state_dir: Path,
        on_stopping: Callable[[], None],
    ) -> None:
        loop = asyncio.get_running_loop()
        if not isinstance(loop, EmulatorLoop):
            raise RuntimeError("a server needs the loop of edgeemu.emulator.new_loop")
        self._loop = loop
        self._emulator = emulator
        self._bound = bound
        self._state_dir = state_dir
        self._on_stopping = on_stopping
        self._stop_asked = asyncio.Event()
        self._forced = False
        self._broken: EdgeemuError | None = None
        self._uvicorn: Any = None
        self._app: App | None = None
        self._tasks: set[asyncio.Future[Any]] = set()

    async def run(
        self,
        host: str,
        *,
        hold_overdue: bool,
        reload: KeepCurrent | None,
        on_ready: Callable[[Running], None],
    ) -> None:
        emulator, bound = self._emulator, self._bound
        address = reachable_host(bound)
        info = ServerInfo(os.getpid(), bound.getsockname()[1], address, draw_token())
        running = Running(emulator, info, self._state_dir, self.stop)
        emulator.on_broken(self._break)
        with _signals(self._loop, self.stop, self._force):
            try:
                self._check_alone()
                write_server_info(self._state_dir, info)
                try:
                    bound.listen(LISTEN_BACKLOG)
                except OSError as error:
                    raise bind_error(error, host, info.port, self._state_dir) from None
                emulator.load()
                self._app = App(emulator, Access(info.token, host, info.port))

                def ready() -> None:
                    on_ready(running)
                    if reload is not None:
                        self._keep(reload(emulator, self._stop_asked), warning="W_WATCH")

                self._uvicorn = _make_uvicorn(self._app, ready)
                emulator.start(hold_overdue=hold_overdue)
                if not self._stop_asked.is_set():
                    await self._uvicorn.serve(sockets=[bound])
            finally:
                self._stop_asked.set()
                remove_server_info(self._state_dir, info)
                bound.close()
                await self._close()
        if self._broken is not None:
            raise self._broken

    def _check_alone(self) -> None:
        """Refuse to replace the note of another server: one in memory holds no lock."""
        other = read_server_info(self._state_dir)
        if other is None or other.pid == os.getpid():
            return
        from edgeemu.api.client import RemoteTarget

        target = RemoteTarget(other)
        if target.answers():
            target.close()
            what = f"another server uses the state folder `{self._state_dir}`"
            raise runs_already(Code.STATE_IN_USE, what, other)

    # --- stopping --------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop accepting, let turns end, then close."""
        if self._stop_asked.is_set():
            return
        self._stop_asked.set()
        self._on_stopping()
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True
            self._keep(self._wind_down())

    async def _wind_down(self) -> None:
        await self._emulator.wind_down()
        if self._app is not None:
            self._app.stop()

    def _force(self) -> None:
        """Stop at once: nothing is waited for any more."""
        self._forced = True
        if self._app is not None:
            self._app.stop()
        if self._uvicorn is not None:
            self._uvicorn.force_exit = True
        for task in list(self._tasks):
            task.cancel()

    async def _close(self) -> None:
        """Close the emulator; a second Ctrl-C cuts short what that waits for."""
        closing = self._loop.create_task(self._emulator.close(wait=not self._forced))
        others = list(self._tasks)
        self._tasks.add(closing)
        await asyncio.wait([closing])
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if not closing.cancelled() and (error := closing.exception()) is not None:
            raise error

    def _break(self, error: BaseException) -> None:
        """A bug in edgeemu stopped the time: nothing that follows could be trusted."""
        _LOG.error("a bug in edgeemu stopped the time", exc_info=error)
        self._broken = bug_report(error, self._emulator.seed)
        self.stop()

    def _keep(self, work: Awaitable[None], *, warning: str | None = None) -> None:
        """Run something beside the server; if it fails, the server lives on and says so."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)

        def ended(done: asyncio.Future[None]) -> None:
            self._tasks.discard(done)
            if not done.cancelled() and (error := done.exception()) is not None:
                _LOG.error("a part of the server failed", exc_info=error)
                if warning is not None:
                    self._emulator.warn(warning, f"{type(error).__name__}: {error}")

        task.add_done_callback(ended)


def _make_uvicorn(app: App, ready: Callable[[], None]) -> Any:
    """The HTTP server, with the signals left to us and a call when it accepts."""
    import uvicorn

    from edgeemu.api.protocol import JoiningProtocol

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        async def startup(self, sockets: list[socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    def make_socket(**given: Any) -> asyncio.Protocol:
        from edgeemu.api.sockets import make_protocol  # With the first WebSocket, not before.

        return make_protocol(app, given)

    sockets: Any = make_socket  # uvicorn wants a class; what makes one of it is as good.

    settings = uvicorn.Config(
        app,
        loop="none",
        http=JoiningProtocol,
        ws=sockets,
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=CONNECTIONS_MAX,
        backlog=LISTEN_BACKLOG,
        timeout_graceful_shutdown=SHUTDOWN_WAIT_MS // 1_000,
    )
    return Server(settings)


@contextmanager
def _signals(
    loop: EmulatorLoop, stop: Callable[[], None], force: Callable[[], None]
) -> Iterator[None]:
    """Ctrl-C and a request to terminate, for as long as a server runs in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    count = 0

    def handle(_: int, __: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count > 2:
            raise KeyboardInterrupt
        # The signal may come in the middle of a step of actor code, whose context is not ours.
        loop.call_soon_threadsafe(stop if count == 1 else force, context=loop.plain_context)

    before = {number: signal.signal(number, handle) for number in _handled_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _handled_signals() -> list[signal.Signals]:
    names = ("SIGINT", "SIGTERM", "SIGBREAK")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]
