"""The TypeScript engine: starts turns in the child process, and tells how each ended."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from edgeemu.clock import stopwatch_ns
from edgeemu.core.events import Failure, TurnKind
from edgeemu.core.profile import Profile
from edgeemu.engines.javascript import frames
from edgeemu.engines.javascript.calls import HostCalls, response_of
from edgeemu.engines.javascript.child import Child, ChildDied
from edgeemu.engines.javascript.deaths import death_reason, death_result
from edgeemu.engines.javascript.debugger import free_address
from edgeemu.engines.javascript.deno import find_deno
from edgeemu.engines.javascript.failures import error_of, failure_of
from edgeemu.engines.javascript.folders import readable_folders
from edgeemu.engines.javascript.frames import Described, FoundFunction, Frame
from edgeemu.engines.javascript.load_errors import load_error
from edgeemu.engines.javascript.loading import load_message
from edgeemu.engines.javascript.methods import method_place
from edgeemu.engines.javascript.project import ScriptProject
from edgeemu.engines.javascript.realm import Realm, Scope
from edgeemu.engines.javascript.tickets import Tickets
from edgeemu.engines.javascript.tsconfig import read_tsconfig
from edgeemu.engines.javascript.work import work_as_json
from edgeemu.engines.port import Answer, Host, Result, Waiting, Work
from edgeemu.engines.python.loop import EmulatorLoop, World
from edgeemu.errors import EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.limits import BLOCKING_STEP_MS
from edgeemu.sdk.errors import ActorError


class JavaScriptEngine:
    """Runs TypeScript and JavaScript actors in one embedded engine (design D9).

    Args:
        loop, world: on which everything runs, with its clock and timers.
        project: the code of all functions, as far as it is in this language.
        profile: the platform's rules.
        watchdog_ms: real ms that one step may take; 0 for no watchdog.
        seed: of the run.
        inspect: whether a debugger may attach; nothing then ends code that takes long.
        on_lost: called with the instances that were in memory when the process died.
    """

    def __init__(
        self,
        *,
        loop: EmulatorLoop,
        world: World,
        project: ScriptProject,
        profile: Profile,
        watchdog_ms: int,
        seed: int,
        inspect: bool,
        on_lost: Callable[[list[InstanceId], str], None],
    ) -> None:
        self._loop = loop
        self._world = world
        self._project = project
        self._profile = profile
        self._watchdog_ms = 0 if inspect else watchdog_ms
        self._inspect = inspect
        self._seed = seed
        self._on_lost = on_lost
        self._loaded: Realm | None = None
        self._realm: Realm | None = None
        self._objects: dict[InstanceId, Realm] = {}
        self._scopes: dict[int, Scope] = {}
        self._tickets = Tickets(loop, world, self._scopes, self._settle)
        self._running: Scope | None = None
        self._reported: Scope | None = None
        self._swept: list[int] = []
        self._step_realm: Realm | None = None

    # --- code ------------------------------------------------------------------------------

    def replace_project(self, project: ScriptProject) -> None:
        """Load from a changed configuration from now on."""
        self._project = project

    def load(self) -> Sequence[FoundFunction]:
        """Load the project's source beside what runs, in a process of its own.

        Raises:
            EdgeemuError: `E_ENGINE_MISSING`, `E_PROJECT_SYNTAX`, `E_PROJECT_IMPORT`.
        """
        self.unload()
        realm = self._open(self._project)
        self._loaded = realm
        return realm.functions

    def unload(self) -> None:
        """Give up what was loaded and not yet put to use."""
        if self._loaded is not None:
            self._loaded.child.close()
            self._loaded = None

    def swap(self) -> None:
        """Let everything that starts from now on use what was loaded last."""
        if self._loaded is None:
            return
        old, self._realm, self._loaded = self._realm, self._loaded, None
        if old is not None:
            old.retired = True
            self._retire(old)

    def exports_of(self, function: str, url: str) -> tuple[list[str], list[str]]:
        """The actor classes that a module of what was loaded last exports, and what else."""
        realm = self._loaded or self._realm
        return ([], []) if realm is None else realm.exports_of(function, url)

    def has_front(self, function: str) -> bool:
        """Whether the `fetch` of a function is this engine's."""
        functions = () if self._realm is None else self._realm.project.functions
        return any(each.name == function and each.main is not None for each in functions)

    def holds(self, instance: InstanceId) -> bool:
        """Whether an instance is in memory here."""
        return instance in self._objects

    @property
    def types(self) -> dict[str, str]:
        """The function that ships each actor type of the code in use."""
        return {} if self._realm is None else self._realm.classes

    @property
    def debugger(self) -> str | None:
        """The `host:port` at which a debugger attaches to the code in use; None without one."""
        return None if self._realm is None else self._realm.child.debugger

    def _open(self, project: ScriptProject) -> Realm:
        config = read_tsconfig(project.functions)
        debugger = free_address() if self._inspect else None
        folders = readable_folders(project)
        child = Child(find_deno(), folders, self._watchdog_ms, config.options, debugger)
        child.start()
        realm = Realm(child, project)
        realm.calls = HostCalls(
            project, self._profile, self._host_of, partial(self._tickets.ask, realm)
        )
        told: list[Frame] = []

        def serve(frame: Frame) -> bytes:
            if isinstance(frame, frames.Loaded | frames.LoadFailed):
                told.append(frame)
                return b""
            return self._serve(realm, frame)

        try:
            message = load_message(project, config, self._profile, self._seed, self._now_ms())
            child.step(serve, self._now_ms(), "load", *message)
        except ChildDied as died:
            child.close()
            raise load_error(project, died) from None
        match told:
            case [frames.Loaded(functions=functions)]:
                realm.functions = functions
                return realm
            case [frames.LoadFailed(error=error)]:
                failed = load_error(project, error)
            case _:
                failed = load_error(project, None)
        child.close()
        raise failed

    def _retire(self, realm: Realm) -> None:
        """End a process that nothing needs any more."""
        if realm.retired and not realm.scopes and realm not in self._objects.values():
            realm.child.close()

    # --- turns -----------------------------------------------------------------------------

    def start(self, host: Host, work: Work, done: Callable[[Result], None]) -> None:
        """Start a turn; `done` is called once, outside of every step."""
        try:
            realm = self._realm_for(host.instance, work)
        except EdgeemuError as refused:
            error = ActorError(f"{refused.what}: {refused.why}")
            done(Result(failure=Failure(error.name, str(error)), error=error))
            return
        if realm is None:
            return  # Its process is gone: the turn ends with the memory of its instance.
        scope = Scope(host, work, realm, done)
        self._scopes[host.turn_id] = realm.scopes[host.turn_id] = scope
        if work.kind is not TurnKind.INIT:
            self._loop.call_soon(self._begin, scope, context=self._loop.plain_context)
            return
        # At once: so alarms that are due together start in their order, whether their instances
        # are in memory or not.
        self._begin(scope, report_at_once=True)

    def _realm_for(self, instance: InstanceId | None, work: Work) -> Realm | None:
        """The process that runs a turn.

        Raises:
            EdgeemuError: where it cannot be loaded again, after the process died.
        """
        in_memory = instance is not None and work.kind is not TurnKind.INIT
        realm = self._objects.get(instance) if in_memory and instance else self._realm
        if realm is None:
            realm = self._realm = self._open(self._project)
        if realm.child.is_running():
            return realm
        if realm.child.alive:
            self._lost(realm, None, realm.child.died())
        if in_memory:
            return None
        realm = self._realm = self._open(realm.project)
        return realm

    def _begin(self, scope: Scope, *, report_at_once: bool = False) -> None:
        if scope.stopped or scope.ended:
            return
        message = work_as_json(scope.host.instance, scope.work, self._profile)
        self._step(scope, "turn", scope.host.turn_id, message)
        if report_at_once and scope.result is not None:
            self._report(scope)

    def _report(self, scope: Scope) -> None:
        result, scope.result = scope.result, None
        if result is not None and not scope.stopped:
            self._reported = scope  # It may be forgotten by now, and is asked how long it took.
            scope.done(result)
            self._reported = None

    def stop(self, turn_id: int) -> None:
        """Stop the code of a turn: what it waits for never comes."""
        scope = self._scopes.get(turn_id)
        if scope is None:
            return
        scope.stopped = True
        if scope.world.child.alive:
            scope.world.child.note(self._now_ms(), "stop", turn_id)
        self._forget(scope)

    def detach(self, turn_id: int) -> None:
        """Report no more for a turn whose budget is over; its code may run on to nowhere (U11)."""
        scope = self._scopes.get(turn_id)
        if scope is not None:
            scope.stopped = True
            if scope.world.child.alive:
                scope.world.child.note(self._now_ms(), "close", turn_id)

    def drop(self, instance: InstanceId) -> None:
        """Forget the object of an instance, and stop the work that its turns left behind."""
        realm = self._objects.pop(instance, None)
        for scope in list(self._scopes.values()):
            if scope.host.instance == instance and (scope.ended or scope.stopped):
                self.stop(scope.host.turn_id)
        if realm is not None and realm.child.alive:
            realm.child.note(self._now_ms(), "drop", instance.type, instance.name)
            self._retire(realm)

    def took_ns(self, turn_id: int) -> int:
        """Real nanoseconds that the steps of a turn took so far."""
        scope = self._scopes.get(turn_id, self._reported)
        return scope.took_ns if scope and scope.host.turn_id == turn_id else 0

    def here(self) -> str | None:
        """The `file:line` of the code that asks its host for something right now."""
        return None if self._step_realm is None else self._step_realm.calls.place

    @property
    def stepping(self) -> bool:
        """Whether a step of its code runs right now."""
        return self._step_realm is not None

    def begins_at(self, instance: InstanceId, method: str) -> str | None:
        """The `file:line` where a method of an instance in memory begins."""
        return method_place(self._project, None, instance.type, method)

    def _begins(self, scope: Scope) -> str | None:
        instance, work = scope.host.instance, scope.work
        if instance is None:
            return method_place(scope.world.project, work.function, None, "fetch")
        method = _METHODS.get(work.kind) if work.kind is not None else None
        return method_place(scope.world.project, None, instance.type, method or work.method)

    def close(self) -> None:
        """Stop everything."""
        realms = {id(realm): realm for realm in self._objects.values()}
        realms |= {id(scope.world): scope.world for scope in self._scopes.values()}
        for realm in (self._realm, self._loaded):
            if realm is not None:
                realms[id(realm)] = realm
        for scope in list(self._scopes.values()):
            self._forget(scope)
        self._objects.clear()
        for realm in realms.values():
            realm.child.close()
        self._realm = self._loaded = None

    # --- steps -----------------------------------------------------------------------------

    def _step(self, scope: Scope | None, kind: str, *args: Any, realm: Realm | None = None) -> None:
        """Let JavaScript run until it waits; the clock stands still meanwhile."""
        realm = scope.world if scope is not None else realm
        if realm is None or not realm.child.alive:
            return
        clock = self._world.clock
        now_ms = clock.now_ms()
        clock.hold(now_ms)
        self._running, self._step_realm = scope, realm
        started_ns = stopwatch_ns()
        died = None
        try:
            realm.child.step(partial(self._serve, realm), now_ms, kind, *args)
        except ChildDied as error:
            died = error
        finally:
            self._running = self._step_realm = None
            clock.release()
        took_ns = stopwatch_ns() - started_ns
        swept, self._swept = self._swept, []
        for ended in filter(None, map(self._scopes.get, swept)):
            if not ended.tickets:
                self._forget(ended)
        if scope is not None:
            scope.took_ns += took_ns
            if took_ns > BLOCKING_STEP_MS * 1_000_000 and not self._inspect:
                self._world.blocked(scope.host, took_ns // 1_000_000)
        if died is not None:
            self._lost(realm, scope, died)

    def _serve(self, realm: Realm, frame: Frame) -> bytes:
        answer = realm.calls.serve(frame)
        if answer is not None:
            return answer
        match frame:
            case frames.Done():
                self._code_ended(frame)
            case frames.Swept():  # What is left of its code may still fail in this step.
                self._swept.append(frame.turn)
            case frames.Timer():
                self._tickets.plan(realm, frame)
            case frames.ClearTimer():
                self._tickets.clear(realm, frame.ticket)
            case frames.Print():
                self._printed(frame)
            case frames.Unhandled():
                self._unhandled(frame)
        return b'["ok",null]'

    def _host_of(self, turn_id: int) -> Host:
        scope = self._scopes.get(turn_id)
        if scope is None:
            raise ActorError("the turn has ended: its storage can be used no more")
        return scope.host

    def _code_ended(self, frame: frames.Done) -> None:
        scope = self._scopes.get(frame.turn)
        if scope is None or scope.ended:
            return
        scope.ended = True
        scope.result = self._result(scope, frame)
        scope.host.close()
        if scope.work.kind is TurnKind.INIT:
            if scope.result.failure is None and not scope.stopped and scope.host.instance:
                self._objects[scope.host.instance] = scope.world
            if scope.took_ns == 0:
                return  # It ended in its first step, and is reported there.
        self._loop.call_soon(self._report, scope, context=self._loop.plain_context)

    def _result(self, scope: Scope, frame: frames.Done) -> Result:
        data = bytes(frame.told)
        if not frame.succeeded:
            described = msgspec.json.decode(data, type=Described)
            return self._failed(described, scope.world.project.root)
        problem = scope.host.sql_problem() if scope.host.instance is not None else None
        if problem is not None:
            text = f"the SQL of the turn is not kept: {problem}"
            return self._failed(Described("ActorOutputGateError", text, "", False), "")
        answer: Answer = None
        if scope.work.kind in (TurnKind.FETCH, None):
            answer = response_of(data)
        elif scope.work.kind is TurnKind.CALL:
            answer = data
        return Result(answer)

    def _failed(self, described: Described, root: str) -> Result:
        failure = failure_of(described, root)
        return Result(failure=failure, error=error_of(failure))

    # --- what code waits for ---------------------------------------------------------------

    def _settle(
        self, scope: Scope | None, realm: Realm, number: int, failed: bool, value: Any
    ) -> None:
        self._step(scope, "settle", number, failed, value, realm=realm)

    def _forget(self, scope: Scope) -> None:
        """Nothing of a turn is left."""
        self._scopes.pop(scope.host.turn_id, None)
        scope.world.scopes.pop(scope.host.turn_id, None)
        self._tickets.forget(scope)
        self._retire(scope.world)

    def waiting(self, *, outside_only: bool = False) -> list[Waiting]:
        """What still runs and where it waits, in order of the turns."""
        found = []
        for turn_id, scope in sorted(self._scopes.items()):
            if scope.ended and not scope.tickets:
                continue
            outside = [number for number, each in scope.tickets.items() if each.outside]
            if outside_only and not outside:
                continue
            numbers = outside or list(scope.tickets)
            where = self._where(scope.world, numbers[0]) if numbers else None
            where = where or self._begins(scope)
            found.append(Waiting(turn_id, scope.host.instance, where, bool(outside)))
        return found

    def _where(self, realm: Realm, number: int) -> str | None:
        if not realm.child.alive:
            return None
        told: list[str | None] = []

        def serve(frame: Frame) -> bytes:
            if isinstance(frame, frames.Where):
                told.append(frame.place)
                return b""
            return self._serve(realm, frame)

        try:
            realm.child.step(serve, self._now_ms(), "where", number)
        except ChildDied as died:
            self._lost(realm, None, died)
        return told[0] if told else None

    def _printed(self, frame: frames.Print) -> None:
        scope = self._scopes.get(frame.turn) if frame.turn is not None else None
        instance = None if scope is None else scope.host.instance
        self._world.printed(instance, frame.turn, frame.level, frame.text)

    def _unhandled(self, frame: frames.Unhandled) -> None:
        scope = self._scopes.get(frame.turn) if frame.turn is not None else self._running
        if scope is not None:
            result = self._failed(frame.error, scope.world.project.root)
            if result.failure is not None and result.error is not None:
                scope.host.task_failed(result.failure, result.error)
        else:  # It comes from the top level of a module: no turn has it.
            text = f"nobody caught {frame.error.name}: {frame.error.message}"
            self._world.printed(None, None, "error", text)

    # --- the end of a process --------------------------------------------------------------

    def _lost(self, realm: Realm, culprit: Scope | None, died: ChildDied) -> None:
        """The process died: the memory of all its instances is gone, as where a host fails.

        Only a turn that has itself to blame ends as one that failed: in a delivery, that counts
        as an attempt.
        """
        realm.child.close()
        lost = {instance: None for instance, held in self._objects.items() if held is realm}
        for instance in lost:
            del self._objects[instance]
        for scope in list(realm.scopes.values()):
            self._forget(scope)
            blamed = scope is culprit and died.ended_by is not None
            if scope.stopped:
                continue
            result = death_result(died, self._begins(scope)) if blamed else death_result(died, None)
            if scope.ended:
                if blamed and result.failure is not None and result.error is not None:
                    scope.host.task_failed(result.failure, result.error)
                continue
            scope.ended = True
            scope.host.close()
            if blamed or scope.host.instance is None:
                scope.result = result
                self._loop.call_soon(self._report, scope, context=self._loop.plain_context)
            else:
                lost[scope.host.instance] = None
        reason = death_reason(died)
        self._loop.call_soon(self._on_lost, list(lost), reason, context=self._loop.plain_context)

    def _now_ms(self) -> int:
        return self._world.clock.now_ms()


_METHODS = {
    TurnKind.ALARM: "alarm",
    TurnKind.FETCH: "fetch",
    TurnKind.INIT: "constructor",
    TurnKind.SOCKET: "webSocket",
}
