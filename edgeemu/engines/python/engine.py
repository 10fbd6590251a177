"""The Python engine: makes objects, runs their methods as tasks, and tells how each ended."""

import os
import re
from asyncio import Future, Task
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from edgeemu.codec import decode, encode
from edgeemu.core.events import Failure, TurnKind
from edgeemu.core.profile import Profile
from edgeemu.engines.port import Answer, Host, Result, Waiting, Work
from edgeemu.engines.python.containment import error_text
from edgeemu.engines.python.context import (
    ActorContext,
    ActorStorage,
    Env,
    plain_response,
    rich_request,
)
from edgeemu.engines.python.dispatch import (
    Dispatch,
    has_alarm_handler,
    invoke,
    likely_handler,
    missing_handler_text,
    settled,
)
from edgeemu.engines.python.environ import ScopedEnviron, Shown
from edgeemu.engines.python.failures import failure_of, hang_error, place_in
from edgeemu.engines.python.loop import EmulatorLoop, Steps, World
from edgeemu.engines.python.project import LoadedProject, OwnedClass, Project
from edgeemu.engines.python.reading import begins_at, lost_field
from edgeemu.engines.python.scope import Scope, caller_place, is_project_file, relative_file
from edgeemu.engines.python.sockets import SocketTable
from edgeemu.engines.python.transaction import settle_transactions
from edgeemu.engines.python.watchdog import HangInterrupt
from edgeemu.ids import InstanceId
from edgeemu.sdk.actor import AlarmInfo
from edgeemu.sdk.errors import (
    ActorError,
    ActorOutputGateError,
    CodecError,
)
from edgeemu.sdk.http import Response

_NOT_FOUND = Response("Not found: the main module has no fetch function", status=404)


class PythonEngine:
    """Runs Python actors in the emulator's process.

    Args:
        loop: the loop on which everything runs.
        world: clock and timers of the emulator.
        project: the code of all functions.
        profile: the platform's rules.
        watchdog_ms: real ms that one step may take; 0 for no watchdog.
    """

    def __init__(
        self,
        *,
        loop: EmulatorLoop,
        world: World,
        project: Project,
        profile: Profile,
        watchdog_ms: int,
    ) -> None:
        self._loop = loop
        self._world = world
        self._project = project
        self._profile = profile
        self._steps = Steps(world, watchdog_ms, project.root)
        loop.attach(world, self._steps, project.root)
        self._environ = ScopedEnviron(os.environ, project.root)
        self._loaded: LoadedProject | None = None
        self._code: LoadedProject | None = None
        self._dispatch = Dispatch(profile)
        self._objects: dict[InstanceId, Any] = {}
        self._scopes: dict[int, Scope] = {}
        self._sockets = SocketTable(project.root)
        self._storage = ActorStorage(profile, project.root)

    # --- code ------------------------------------------------------------------------------

    def load(self, elsewhere: Mapping[str, str] | None = None) -> None:
        """Load the project's source beside what runs.

        Args:
            elsewhere: the function that ships each type which another language has.
        """
        self._environ.install()
        with self._steps.importing():
            self._loaded = self._project.load(self._environ, elsewhere)

    def loaded_types(self) -> dict[str, str]:
        """The function that ships each type of what was loaded last."""
        loaded = self._loaded
        return {} if loaded is None else {k: owned.function for k, owned in loaded.classes.items()}

    def swap(self) -> None:
        """Let everything that starts from now on use what was loaded last."""
        if self._loaded is not None:
            self._code, self._loaded = self._loaded, None
            self._dispatch.forget()
            self._project.publish(self._code)

    def owners(self) -> dict[str, str]:
        """The function that owns each actor type; empty while no code is loaded."""
        if self._code is None:
            return {}
        return {name: owned.function for name, owned in self._code.classes.items()}

    def replace_project(self, project: Project) -> None:
        """Load from a changed configuration from now on; what runs still finds its modules."""
        self._project.withdraw()
        self._project = project
        self._steps.root = project.root
        self._loop.attach(self._world, self._steps, project.root)
        self._environ.root = project.root
        self._storage = ActorStorage(self._profile, project.root)
        if self._code is not None:
            project.publish(self._code)

    # --- turns -----------------------------------------------------------------------------

    def start(self, host: Host, work: Work, done: Callable[[Result], None]) -> None:
        """Start a turn; `done` is called once, outside of every step."""
        scope = Scope(host, self._environ_of(host.instance, work))
        self._scopes[host.turn_id] = scope
        if work.kind is TurnKind.INIT:
            self._start_init(scope, host, done)
        elif work.kind is None:
            self._run(scope, self._front(work), done)
        else:
            self._run(scope, self._closed(scope, self._turn(scope, host, work)), done)

    def _start_init(self, scope: Scope, host: Host, done: Callable[[Result], None]) -> None:
        """Make the object at once, without a task, unless its constructor wants something awaited.

        So alarms that are due together start in their order, whether their instances are in memory
        or not.
        """
        try:
            target = self._loop.run_step(scope, self._make, scope, host)
        except KeyboardInterrupt:
            raise  # A Ctrl-C of the user, which may arrive anywhere.
        except BaseException as error:
            host.close()
            done(self._failed(scope, error))
            self._sweep(scope)
            return
        body = self._closed(scope, self._initialise(scope, host, target))
        if scope.init or scope.transactions:
            self._run(scope, body, done)
            return
        try:
            body.send(None)
        except StopIteration:
            done(Result())
        except Exception as error:
            done(self._failed(scope, error))
        self._sweep(scope)

    def _run(
        self, scope: Scope, body: Coroutine[Any, Any, Answer], done: Callable[[Result], None]
    ) -> None:
        task = self._loop.create_actor_task(scope, body)
        scope.main = task

        def report(ended: Task[Any]) -> None:
            if not scope.stopped:
                done(self._result(scope, ended))
            elif not ended.cancelled():
                ended.exception()  # Its turn is over: how this code ends is nobody's business.
            self._sweep(scope)

        task.add_done_callback(report, context=self._loop.plain_context)

    def stop(self, turn_id: int) -> None:
        """Stop the code of a turn; its main task goes on nowhere."""
        scope = self._scopes.pop(turn_id, None)
        if scope is not None:
            scope.stopped = True
            for task in list(scope.tasks):
                task.cancel()

    def detach(self, turn_id: int) -> None:
        """Report no more for a turn whose budget is over; its code may run on to nowhere (U11)."""
        scope = self._scopes.get(turn_id)
        if scope is not None:
            scope.stopped = True

    def drop(self, instance: InstanceId) -> None:
        """Forget the object of an instance, and stop the work that its turns left behind."""
        self._objects.pop(instance, None)
        self._sockets.forget(instance)
        for turn_id, scope in list(self._scopes.items()):
            # A stopped one is over its budget: its code must not go on into the next object.
            over = scope.stopped or scope.main is None or scope.main.done()
            if scope.host.instance == instance and over:
                self.stop(turn_id)

    async def settle(self, limit_ms: int) -> bool:
        """This waits until no code can go on by itself, at most `limit_ms` real ms; whether so."""
        return await self._loop.wait_idle(limit_ms)

    def close(self) -> None:
        """Stop everything."""
        for turn_id in list(self._scopes):
            self.stop(turn_id)
        self._objects.clear()
        self._project.withdraw()
        self._environ.remove()
        self._steps.close()

    def took_ns(self, turn_id: int) -> int:
        """Real nanoseconds that the steps of a turn took so far."""
        scope = self._scopes.get(turn_id)
        return scope.took_ns if scope else 0

    def here(self) -> str | None:
        """The `file:line` of the actor code that asks its host for something right now."""
        return caller_place(self._project.root)

    def begins_at(self, instance: InstanceId, method: str) -> str | None:
        """The `file:line` where a method of an instance in memory begins."""
        return begins_at(self._objects.get(instance), method, self._project.root)

    def _sweep(self, scope: Scope) -> None:
        """Forget a turn whose last task has ended."""
        # Also one that is done and has not been noted yet. One is enough, for its end brings the
        # next; a callback on each of them would double with every task that ends.
        left = next(iter(scope.tasks), None)
        if left is not None:
            left.add_done_callback(lambda _: self._sweep(scope), context=self._loop.plain_context)
            return
        self._scopes.pop(scope.host.turn_id, None)
        failed, scope.failed_tasks = scope.failed_tasks, []
        for task in failed:
            error = task.exception() if task._log_traceback else None
            if error is not None:  # Nobody asked how the task ended, so nobody knows yet.
                scope.host.task_failed(failure_of(scope, error, self._project.root), error)

    def _class_of(self, instance: InstanceId) -> type[Any]:
        return self._owned(instance).made

    def _owned(self, instance: InstanceId) -> OwnedClass:
        if self._code is None:
            raise ActorError("no code is loaded")
        found = self._code.classes.get(instance.type)
        if found is None:
            raise ActorError(f"the project declares no actor type {instance.type} any more")
        return found

    def _environ_of(self, instance: InstanceId | None, work: Work) -> Shown | None:
        """What `os.environ` shows the code of a turn."""
        if self._code is None:
            return None
        if instance is None:
            front = self._code.fronts.get(work.function)
            return None if front is None else front.environ
        owned = self._code.classes.get(instance.type)
        return None if owned is None else owned.environ

    async def _closed(self, scope: Scope, turn: Coroutine[Any, Any, Answer]) -> Answer:
        """A turn whose storage closes as it ends: no task slips a write in before the commit."""
        try:
            return await turn
        finally:
            scope.host.close()
            for task in scope.transactions:  # The turn raised: what they would do is undone.
                task.cancel()

    async def _turn(self, scope: Scope, host: Host, work: Work) -> Answer:
        instance = host.instance
        if instance is None:
            raise ActorError("a turn needs an instance")
        answer: Answer = None
        target = self._objects[instance]
        if work.kind is TurnKind.ALARM:
            if not has_alarm_handler(target):
                where = begins_at(target, likely_handler(target) or "", self._project.root)
                host.warn("W_ALARM_NO_HANDLER", missing_handler_text(target), where)
            await settled(invoke(scope, target.alarm, [AlarmInfo(work.retry_count)]))
        elif work.kind is TurnKind.SOCKET:
            request = None if work.request is None else rich_request(work.request)
            no_handler = self._profile.sockets.no_handler
            await self._sockets.run(scope, target, work, request, no_handler)
        elif work.kind is TurnKind.FETCH and work.request is not None:
            response = invoke(scope, target.fetch, [rich_request(work.request)])
            answer = plain_response(await settled(response))
        else:
            answer = await self._call(scope, target, work)
        await settle_transactions(scope)
        _check_writes(scope)
        return answer

    async def _call(self, scope: Scope, target: Any, work: Work) -> bytes:
        try:
            method = self._dispatch.method(target, work.method)
            args = decode_args(work.args)  # JavaScript has values that Python cannot hold.
        except ActorError as error:
            raise scope.refuse(error) from None
        result = await settled(invoke(scope, method, args))
        try:
            return encode(result, top_undefined=True)
        except CodecError as error:
            told = re.sub(r"^value", f"the result of {work.method}", str(error))
            place = begins_at(target, work.method, self._project.root)
            raise scope.refuse(CodecError(told), place) from None

    def _make(self, scope: Scope, host: Host) -> Any:
        instance = host.instance
        if instance is None:
            raise ActorError("an activation needs an instance")
        scope.in_constructor = True
        try:
            owned = self._owned(instance)
            env = Env(owned.env, function_only=owned.environ.elsewhere)
            args = [ActorContext(instance, self._storage, self._sockets), env]
            return invoke(scope, owned.made, args)
        finally:
            scope.in_constructor = False

    async def _initialise(self, scope: Scope, host: Host, target: Any) -> Answer:
        """What the constructor wanted awaited, then the object is in place."""
        for function in scope.init:
            await function()
        if not hasattr(target, "ctx"):
            name = type(target).__name__
            raise ActorError(f"{name}.__init__ must call super().__init__(ctx, env) first")
        await settle_transactions(scope)
        _check_writes(scope)
        if not scope.stopped and host.instance is not None:
            # Over its budget, it may go on, but nobody waits for its object.
            self._objects[host.instance] = target
        return None

    async def _front(self, work: Work) -> Answer:
        front = self._code.fronts.get(work.function) if self._code else None
        if front is None or front.fetch is None or work.request is None:
            return plain_response(_NOT_FOUND)
        result = front.fetch(rich_request(work.request), Env(front.env))
        return plain_response(await settled(result))

    # --- how it ended ----------------------------------------------------------------------

    def _result(self, scope: Scope, task: Task[Any]) -> Result:
        if task.cancelled():
            text = "the turn awaited something that was cancelled, or cancelled itself"
            failure = Failure("CancelledError", text, None, own=True)
            return Result(failure=failure)
        error = task.exception()
        return Result(answer=task.result()) if error is None else self._failed(scope, error)

    def _failed(self, scope: Scope, error: BaseException) -> Result:
        if isinstance(error, HangInterrupt):
            shown = hang_error(error, self._project.root)
            failure = failure_of(scope, error, self._project.root)
            return Result(failure=failure, hung=True, error=shown)
        root, instance = self._project.root, scope.host.instance
        lost = instance and lost_field(self._objects.get(instance), error, root)
        if lost:
            scope.host.warn("W_MEMORY_LOST", lost, place_in(error, root))
        return Result(failure=failure_of(scope, error, root), error=error)

    # --- where it waits --------------------------------------------------------------------

    def waiting(self, *, outside_only: bool = False) -> list[Waiting]:
        """What still runs and where it waits, in order of the turns."""
        found = []
        for turn_id, scope in sorted(self._scopes.items()):
            for task in scope.tasks:
                if task.done():
                    continue
                outside = _waits_outside(scope, task)
                if outside or not outside_only:
                    where = self._place_of_task(task)
                    found.append(Waiting(turn_id, scope.host.instance, where, outside))
        return found

    def _place_of_task(self, task: Task[Any]) -> str | None:
        """The innermost line of the project on the way to what the task waits for."""
        place = None
        waits: Any = task.get_coro()
        while waits is not None:
            frame = getattr(waits, "cr_frame", None) or getattr(waits, "gi_frame", None)
            if frame is not None and is_project_file(frame.f_code.co_filename, self._project.root):
                file = relative_file(frame.f_code.co_filename, self._project.root)
                place = f"{file}:{frame.f_lineno}"
            waits = getattr(waits, "cr_await", None) or getattr(waits, "gi_yieldfrom", None)
        return place


def _check_writes(scope: Scope) -> None:
    """A turn succeeds only if all of its writes do, awaited or not (spec section 6.1)."""
    for failed in scope.failed:
        if not failed.seen:
            text = f"{type(failed.error).__name__}: {error_text(failed.error)}"
            gate = ActorOutputGateError(f"a {failed.what} that was not awaited failed: {text}")
            raise scope.refuse(gate) from failed.error
    problem = scope.host.sql_problem()
    if problem is not None:
        raise scope.refuse(ActorOutputGateError(f"the SQL of the turn is not kept: {problem}"))


def decode_args(data: bytes) -> list[Any]:
    """The positional arguments of a call."""
    args = decode(data)
    if not isinstance(args, list):
        raise ActorError("arguments are a list")
    return args


def _waits_outside(scope: Scope, task: Task[Any]) -> bool:
    """Whether what a task waits for is resolved by the outside world.

    A lock or an event is resolved by another task of the turn, unless the turn has a connection
    open: network libraries wake their readers through events. `gather`, `wait`, `wait_for` and
    `shield` hide what they wait for, so there any outside future of the turn counts.
    """
    future: Future[Any] | None = getattr(task, "_fut_waiter", None)
    while isinstance(future, Task):
        future = getattr(future, "_fut_waiter", None)
    if future is None:
        return False
    if getattr(future, "outside", False):
        return True
    module, function = _waits_in(task)
    if module in ("asyncio.locks", "asyncio.queues"):
        return any(not transport.is_closing() for transport in scope.transports or ())
    if (module, function) == ("asyncio.tasks", "sleep"):
        return False
    return any(not future.done() for future in scope.outside or ())


def _waits_in(task: Task[Any]) -> tuple[str, str]:
    """Module and name of the innermost function in which a task waits."""
    waits: Any = task.get_coro()
    last: Any = None
    while waits is not None:
        frame = getattr(waits, "cr_frame", None) or getattr(waits, "gi_frame", None)
        last = frame if frame is not None else last
        waits = getattr(waits, "cr_await", None) or getattr(waits, "gi_yieldfrom", None)
    if last is None:
        return "", ""
    return last.f_globals.get("__name__", ""), last.f_code.co_name
