"""The event loop: real time for the tool, virtual time for actor code, told apart by context.

Promise: `asyncio.sleep`, `timeout`, `wait_for`, `call_later` and `loop.time()` follow the emulated
clock inside actor code, and the real one everywhere else. Each step of actor code, from where it
goes on to where it waits next, runs between `Steps.enter` and `Steps.leave`, so that nothing of
the fake time reaches the tool.

Tried and dropped: a second loop for actor code (two loops in one thread cannot wait for one
another without polling); patching `asyncio.sleep` (libraries call `loop.call_later`).
"""

import asyncio
import sys
import warnings
from asyncio import Future, Task, events
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from math import ceil
from types import TracebackType
from typing import Any, Protocol
from weakref import WeakSet

from edgeemu.clock import ActorTime, EmulatorClock, loop_time_s, stopwatch_ns
from edgeemu.core.timers import Timer, Timers
from edgeemu.engines.port import Host
from edgeemu.engines.python.containment import contained
from edgeemu.engines.python.scope import Scope, caller_place, current, is_project_file
from edgeemu.engines.python.watchdog import HangInterrupt, Watchdog
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.limits import BLOCKING_STEP_MS

_INSIDE_MODULES = frozenset(
    {
        "asyncio.locks",
        "asyncio.mixins",
        "asyncio.queues",
        "asyncio.taskgroups",
        "asyncio.tasks",
        "asyncio.timeouts",
        "edgeemu.emulator.hosts",
    }
)
"""Modules whose futures are resolved by virtual time, the emulator or the turn's own tasks."""


UNPOLLED_ROUNDS_MAX = 8
"""Rounds of the loop, while something is ready, before it looks at sockets and timers again."""


_WARN_UNAWAITED: Any = getattr(warnings, "_warn_unawaited_coroutine", None)
"""What Python calls for a coroutine that was never awaited: it has no turn to tell."""


class ActorFuture(Future[Any]):
    """A future made inside actor code, which knows whether the outside world resolves it."""

    outside: bool = False


class World(Protocol):
    """What the steps of actor code need of the emulator."""

    clock: EmulatorClock
    timers: Timers

    def printed(
        self, instance: InstanceId | None, turn_id: int | None, level: str, text: str
    ) -> None:
        """Code printed a line."""

    def blocked(self, host: Host, took_ms: int) -> None:
        """A step of a turn held the whole loop for `took_ms` real ms."""


class Steps:
    """What happens around each step of actor code."""

    def __init__(self, world: World, watchdog_ms: int, root: str) -> None:
        self._world = world
        self._time = ActorTime(world.clock)
        self._watchdog = Watchdog(watchdog_ms)
        self._started_ns = 0
        self.root = root

    @property
    def time(self) -> ActorTime:
        """The fake time."""
        return self._time

    def enter(self) -> None:
        """A step starts: time is fake and the watchdog looks."""
        self._time.enter(self._world.clock.now_ms())
        warnings._warn_unawaited_coroutine = self._unawaited  # type: ignore[attr-defined]
        self._started_ns = stopwatch_ns()
        self._watchdog.arm(self._started_ns)

    def leave(self, scope: Scope) -> bool:
        """The step is over; whether the watchdog ended it."""
        hung = self._watchdog.disarm()
        took_ns = stopwatch_ns() - self._started_ns
        warnings._warn_unawaited_coroutine = _WARN_UNAWAITED  # type: ignore[attr-defined]
        self._time.leave()
        scope.took_ns += took_ns
        if took_ns > BLOCKING_STEP_MS * 1_000_000:
            self._world.blocked(scope.host, took_ns // 1_000_000)
        return hung

    def _unawaited(self, coroutine: Any) -> None:
        """A coroutine of actor code was thrown away before it ran: its turn is told."""
        scope = current.get()
        if scope is None:
            if _WARN_UNAWAITED is not None:
                _WARN_UNAWAITED(coroutine)
            return
        name = getattr(coroutine, "__qualname__", "a coroutine")
        text = f"{name} was called and not awaited, so it never ran: write `await` in front of it"
        scope.host.warn("W_NOT_AWAITED", text, caller_place(self.root))

    @contextmanager
    def importing(self) -> Iterator[None]:
        """A project is imported: the clock that it imports follows, and the watchdog looks.

        Raises:
            EdgeemuError: `E_PROJECT_IMPORT` when a module runs on without end.
        """
        self._time.patch_imports()
        self._watchdog.arm(stopwatch_ns())
        try:
            yield
        except HangInterrupt:
            raise EdgeemuError(
                Code.PROJECT_IMPORT,
                what="the project does not finish importing",
                why="a module runs on without end at its top level",
                fix="look for a loop outside of functions, or raise watchdog_ms under [limits]",
            ) from None
        finally:
            self._watchdog.disarm()
            self._time.unpatch_imports()

    def run(self, scope: Scope, function: Callable[..., Any], *args: Any) -> None:
        """Run a plain callback of actor code as a step; the loop reports what it raises."""
        self.enter()
        try:
            function(*args)
        except HangInterrupt:
            pass  # Reported by `blocked`; the turn itself is ended by its budget.
        except (SystemExit, KeyboardInterrupt) as error:
            raise contained(error)  # noqa: B904 - it says itself what it comes from
        finally:
            self.leave(scope)

    def call(self, scope: Scope, function: Callable[..., Any], *args: Any) -> Any:
        """Run a plain function of actor code as a step; what it gives back or raises."""
        self.enter()
        try:
            return function(*args)
        except (SystemExit, KeyboardInterrupt) as error:
            raise contained(error)  # noqa: B904 - it says itself what it comes from
        finally:
            self.leave(scope)

    def close(self) -> None:
        """Stop the watchdog."""
        self._watchdog.close()


class Stepper(Coroutine[Any, Any, Any]):
    """A coroutine of actor code, each step of which runs between `enter` and `leave`."""

    __slots__ = ("_coroutine", "_scope", "_steps")

    def __init__(self, steps: Steps, scope: Scope, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._steps = steps
        self._scope = scope
        self._coroutine = coroutine

    def send(self, value: Any) -> Any:
        """Go on to where the code waits next."""
        self._steps.enter()
        try:
            return self._coroutine.send(value)
        except (SystemExit, KeyboardInterrupt) as error:
            raise contained(error)  # noqa: B904 - it says itself what it comes from
        finally:
            self._steps.leave(self._scope)

    def throw(self, typ: Any, val: Any = None, tb: TracebackType | None = None, /) -> Any:
        """Go on with an error where the code waits."""
        self._steps.enter()
        try:
            if val is None and tb is None:
                return self._coroutine.throw(typ)
            return self._coroutine.throw(typ, val, tb)
        except (SystemExit, KeyboardInterrupt) as error:
            raise contained(error)  # noqa: B904 - it says itself what it comes from
        finally:
            self._steps.leave(self._scope)

    def close(self) -> None:
        """Give the coroutine up."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    @property
    def cr_frame(self) -> Any:
        """The frame of the coroutine itself, for whoever prints a stack."""
        return getattr(self._coroutine, "cr_frame", None)

    @property
    def cr_await(self) -> Any:
        """What the coroutine waits for."""
        return getattr(self._coroutine, "cr_await", None)

    @property
    def cr_running(self) -> bool:
        """Whether it runs right now."""
        return bool(getattr(self._coroutine, "cr_running", False))

    @property
    def cr_code(self) -> Any:
        """The code of the coroutine itself."""
        return getattr(self._coroutine, "cr_code", None)


class EmulatorLoop(asyncio.SelectorEventLoop):
    """An asyncio loop that knows actor code from the rest of the process."""

    def __init__(self) -> None:
        super().__init__()
        self._steps: Steps | None = None
        self._root = ""
        self._world: World | None = None
        self._idle_waiters: list[tuple[int, Future[bool]]] = []
        self._cycles = 0
        self._unpolled = 0
        self.plain_context: Context = copy_context()
        """A context outside of every turn, for whatever the emulator itself does."""

    def attach(self, world: World, steps: Steps, root: str) -> None:
        """Serve the actor code of one emulator, whose project lies in `root`, from now on."""
        self._world = world
        self._steps = steps
        self._root = root

    # --- idleness --------------------------------------------------------------------------

    async def wait_idle(self, limit_ms: int) -> bool:
        """This waits until nothing is left to run, short of time or the outside world.

        Args:
            limit_ms: real ms after which code that never stops running is given up on.

        Returns:
            Whether the loop came to rest.
        """
        waiter: Future[bool] = Future(loop=self)
        self._idle_waiters.append((stopwatch_ns() + limit_ms * 1_000_000, waiter))
        return await waiter

    def _run_once(self) -> None:
        if self._idle_waiters:
            self._wake_idle_waiters(idle=not self._ready)  # type: ignore[attr-defined]
        if self._ready and self._unpolled < UNPOLLED_ROUNDS_MAX:  # type: ignore[attr-defined]
            self._unpolled += 1
            self._run_ready()
            return
        self._unpolled = 0
        super()._run_once()  # type: ignore[misc]

    def _run_ready(self) -> None:
        """Run what is ready, without asking the system for more: that takes as long as a callback.

        A turn takes five rounds of the loop, of which one at most has anything to ask for.
        """
        ready = self._ready  # type: ignore[attr-defined]
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()

    def _wake_idle_waiters(self, *, idle: bool) -> None:
        self._cycles += 1
        if not idle and self._cycles % 256:
            return
        now_ns = 0 if idle else stopwatch_ns()
        still = []
        for deadline_ns, waiter in self._idle_waiters:
            if waiter.done():
                continue
            if idle or now_ns > deadline_ns:
                waiter.set_result(idle)
            else:
                still.append((deadline_ns, waiter))
        self._idle_waiters = still

    # --- what actor code may not do ---------------------------------------------------------

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """As in asyncio, by a shorter way: each turn calls it several times."""
        if self._debug or self._closed:  # type: ignore[attr-defined]
            return super().call_soon(callback, *args, context=context)
        return self._call_soon(callback, args, context)

    def _call_soon(
        self, callback: Any, args: tuple[Any, ...], context: Context | None
    ) -> asyncio.Handle:
        """As in asyncio; a function of the project, called for a turn, runs as a step of it."""
        code = getattr(callback, "__code__", None)
        if code is not None and self._steps is not None:
            scope = current.get() if context is None else context.get(current)
            if scope is not None and is_project_file(code.co_filename, self._root):
                callback, args = self._steps.run, (scope, callback, *args)
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)  # type: ignore[attr-defined]
        return handle

    def stop(self) -> None:
        """As in asyncio, for the tool alone.

        Raises:
            RuntimeError: in actor code.
        """
        if current.get() is not None:
            raise RuntimeError("actor code cannot stop the event loop")
        super().stop()

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """As in asyncio, but a thread that actor code left behind is not waited for."""
        del timeout
        self._executor_shutdown_called = True
        executor = self._default_executor  # type: ignore[attr-defined]
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)

    # --- virtual time ----------------------------------------------------------------------

    def time(self) -> float:
        """Seconds: of the emulated clock inside actor code, of the real one elsewhere."""
        if self._world is not None and current.get() is not None:
            return self._world.clock.now_ms() / 1_000
        # Not asyncio's own: `time.monotonic` is fake during a step, in which the tool itself may
        # set a timer, such as the one that writes the journal out.
        return loop_time_s()

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As in asyncio, on the clock of the calling code."""
        if self._world is None or current.get() is None:
            return super().call_later(delay, callback, *args, context=context)
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As in asyncio, on the clock of the calling code."""
        scope = current.get()
        world, steps = self._world, self._steps
        if world is None or steps is None or scope is None:
            return super().call_at(when, callback, *args, context=context)
        # A method of a C type, such as `future.set_result`, has the module None.
        if not (getattr(callback, "__module__", None) or "").startswith("asyncio"):
            callback, args = steps.run, (scope, callback, *args)
        handle = _VirtualTimerHandle(when, callback, args, self, context)
        # Rounded up: a millisecond clock that rounds down would wake the code too early.
        timer = world.timers.add(ceil(round(when * 1_000, 3)), lambda: self._fire(handle))
        handle.timer = timer
        return handle

    def _fire(self, handle: asyncio.TimerHandle) -> None:
        if not handle.cancelled():
            self._ready.append(handle)  # type: ignore[attr-defined]

    # --- what belongs to a turn ------------------------------------------------------------

    def run_step(self, scope: Scope, function: Callable[..., Any], *args: Any) -> Any:
        """Run a plain function as one step of actor code of a turn, now; what it gives back."""
        if self._steps is None:
            raise RuntimeError("the loop serves no emulator")
        context = self.plain_context.copy()
        context.run(current.set, scope)
        return context.run(self._steps.call, scope, function, *args)

    def create_actor_task(self, scope: Scope, coroutine: Coroutine[Any, Any, Any]) -> Task[Any]:
        """Run a coroutine as actor code of a turn."""
        context = self.plain_context.copy()
        context.run(current.set, scope)
        return self._scoped_task(scope, coroutine, context)

    def _scoped_task(
        self, scope: Scope, coroutine: Coroutine[Any, Any, Any], context: Context | None
    ) -> Task[Any]:
        if self._steps is None:
            raise RuntimeError("the loop serves no emulator")
        task: Task[Any] = super().create_task(
            Stepper(self._steps, scope, coroutine), context=context
        )
        scope.tasks[task] = None

        def ended(done: Task[Any]) -> None:
            scope.tasks.pop(done, None)
            if done is scope.main or not done._log_traceback:
                return
            if scope.stopped:
                done.exception()  # Its turn is over: how this code ends is nobody's business.
            else:
                scope.failed_tasks.append(done)

        task.add_done_callback(ended, context=self.plain_context)
        return task

    def create_task(self, coro: Any, *, name: Any = None, context: Context | None = None) -> Any:
        """As in asyncio; a task made by actor code is actor code."""
        scope = current.get()
        if scope is None or self._steps is None:
            return super().create_task(coro, name=name, context=context)
        if not asyncio.iscoroutine(coro):
            if not isinstance(coro, Awaitable):
                raise TypeError(f"a coroutine was expected, got {coro!r}")
            coro = _awaited(coro)  # Stubs and storage give awaitables; each may be a task.
        task = self._scoped_task(scope, coro, context)
        if name is not None:
            task.set_name(str(name))
        return task

    def create_future(self) -> Future[Any]:
        """As in asyncio; a future made by actor code knows who will resolve it."""
        scope = current.get()
        if scope is None:
            return super().create_future()
        future = ActorFuture(loop=self)
        maker = sys._getframe(1)
        inside = maker.f_globals.get("__name__") in _INSIDE_MODULES
        if not inside and not is_project_file(maker.f_code.co_filename, self._root):
            future.outside = True
            if scope.outside is None:
                scope.outside = WeakSet()
            scope.outside.add(future)
        return future

    def _make_socket_transport(self, *args: Any, **kwargs: Any) -> Any:
        transport = super()._make_socket_transport(*args, **kwargs)  # type: ignore[misc]
        scope = current.get()
        if scope is not None:
            if scope.transports is None:
                scope.transports = WeakSet()
            scope.transports.add(transport)
        return transport


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


class _VirtualTimerHandle(asyncio.TimerHandle):
    """A timer handle whose time comes from the emulated clock."""

    timer: Timer

    def cancel(self) -> None:
        if not self.cancelled():
            self.timer.cancel()
            # The base class would tell the loop, which counts only its own real timers.
            self._scheduled = False
        super().cancel()


def new_loop() -> EmulatorLoop:
    """A loop that can serve an emulator; make it current before the emulator starts."""
    return EmulatorLoop()


def running_emulator_loop() -> EmulatorLoop:
    """The loop that runs here.

    Raises:
        RuntimeError: if it is no `EmulatorLoop`.
    """
    loop = events.get_running_loop()
    if not isinstance(loop, EmulatorLoop):
        raise RuntimeError("an emulator needs the loop of edgeemu.emulator.new_loop")
    return loop
