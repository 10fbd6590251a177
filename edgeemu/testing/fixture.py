"""`EdgeemuFixture`: an emulator in memory behind plain calls, on a loop of its own.

Promise: nothing of it is left when it is closed: no loop, no task, no thread, no module of the
project. What fails in an actor arrives as an exception whose traceback leads from the test's line
straight to the actor's.
"""

from __future__ import annotations

import asyncio
import json as json_module
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from edgeemu.clock import ClockMode
from edgeemu.config import Config
from edgeemu.emulator import Emulator, Options, bug_report, new_loop
from edgeemu.emulator.requests import request_from_outside
from edgeemu.engines.port import PlainRequest
from edgeemu.engines.python.scope import is_project_file
from edgeemu.errors import Code, EdgeemuError, InvariantError
from edgeemu.sdk.errors import ActorError, error_named
from edgeemu.testing.handles import CAUSE, ActorHandle, AlarmHandle, ClockHandle, PendingCall
from edgeemu.testing.kv import KvHandle
from edgeemu.testing.results import FetchedResponse, Journal, PendingAlarm
from edgeemu.testing.settings import ALLOW_ALARM_LEFT, AlarmLeft, FixtureSettings
from edgeemu.testing.sockets import SocketHandle
from edgeemu.testing.strictness import Complaint, Witness
from edgeemu.units import format_instant

__tracebackhide__ = True

Value = TypeVar("Value")


class PendingAlarms(list[PendingAlarm]):
    """The pending alarms, soonest first."""

    def __init__(self, fixture: EdgeemuFixture) -> None:
        super().__init__(PendingAlarm(**found) for found in fixture.emulator.alarms.list())
        self._fixture = fixture

    def of(self, actor: str) -> AlarmHandle:
        """The alarm of one actor, pending or not."""
        return self._fixture.actor(actor).alarm


class EdgeemuFixture:
    """The actors of one project, in memory, on a frozen clock, in the test's own process.

    Args:
        config: of the project.
        settings: of the test.
        evict_always: drop instances after every turn.

    Attributes:
        emulator: the emulator itself, for what has no plain call here.
        clock: reads and moves the emulated time.
        seed: of all randomness.
        root: the project's folder.
        settings: of the test.

    Raises:
        EdgeemuError: when the project does not load; `E_LOOP_RUNNING`.
    """

    def __init__(
        self, config: Config, settings: FixtureSettings, *, evict_always: bool = False
    ) -> None:
        self.settings = settings
        self.root = str(config.root.resolve())
        self._witness = Witness(settings.allow)
        self._calls: list[PendingCall] = []
        self._broken: BaseException | None = None
        self._closed = False
        self._runner = asyncio.Runner(loop_factory=new_loop)
        options = Options(
            cause=CAUSE,
            mode=ClockMode.FROZEN,
            start_ms=settings.start_ms,
            seed=settings.seed,
            alone=True,
            evict_always=evict_always,
        )
        try:
            _check_no_loop_runs()
            self.emulator = self._runner.run(Emulator.open(config, options))
        except BaseException:
            self._runner.close()
            raise
        self.emulator.fail_fast()
        self.emulator.watch(self._witness.watch)
        self.emulator.on_broken(self._note_broken)
        self.clock = ClockHandle(self)
        self.seed = self.emulator.seed

    # --- what tests use --------------------------------------------------------------------

    def actor(self, address: str) -> ActorHandle:
        """One instance, by `Type/name`; where the project has one type, the name alone will do.

        Raises:
            EdgeemuError: `E_ACTOR_UNKNOWN`, `E_ADDRESS_INVALID`.
        """
        return ActorHandle(self, self._plain(lambda: self.emulator.address(address)))

    def kv(self, namespace: str) -> KvHandle:
        """One KV namespace, by its name on `env` or by its id."""
        return KvHandle(self, namespace)

    @property
    def alarms(self) -> PendingAlarms:
        """The pending alarms, soonest first."""
        return PendingAlarms(self)

    @property
    def journal(self) -> Journal:
        """Everything that happened so far, oldest first."""
        return Journal(self.emulator.journal())

    def fetch(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        body: str | bytes | None = None,
        function: str | None = None,
    ) -> FetchedResponse:
        """Send one request through the function in front.

        Args:
            method: such as `GET`.
            path: with a query, if there is one; a full URL will do too.
            headers: by name.
            json: a value to send as JSON, in place of `body`.
            body: text or bytes.
            function: which one, where there are several; None for the primary one.

        Raises:
            EdgeemuError: `E_FROZEN_WAIT` if it waits for time to pass, `E_USAGE` for two bodies,
                `E_FUNCTION_UNKNOWN`, `E_REQUEST_INVALID` for what is neither a path nor a URL.
        """
        request = _plain_request(method, path, headers, json, body)
        answer = self.run(
            lambda: self.emulator.fetch(request, function=function, cause=CAUSE), present=True
        )
        return FetchedResponse(answer.status, answer.headers, answer.body)

    def connect(
        self,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        protocols: Sequence[str] = (),
        function: str | None = None,
    ) -> SocketHandle:
        """Open a WebSocket through the function in front.

        Args:
            path: with a query, if there is one; a full URL will do too.
            headers: by name.
            protocols: the subprotocols that are offered, in order.
            function: which one, where there are several; None for the primary one.

        Raises:
            EdgeemuError: `E_SOCKET_REFUSED` when the function in front answers with something else,
                `E_FROZEN_WAIT` if it waits for time to pass.
        """
        request = _plain_request("GET", path, headers, None, None)
        connect = self.emulator.connect
        client = self.run(
            lambda: connect(request, function=function, protocols=protocols, cause=CAUSE),
            present=True,
        )
        return SocketHandle(self, client)

    def fail(
        self, actor: str, *, times: int = 1, error: str | None = None, how: str = "throw"
    ) -> None:
        """Make the next `times` deliveries of an actor's alarm fail; see `AlarmHandle.fail`."""
        self.actor(actor).alarm.fail(times=times, error=error, how=how)

    def evict(self, actor: str, *, crash: bool = False) -> list[str]:
        """Drop one actor from memory; whether it was there, as a list.

        Args:
            actor: as `Type/name`.
            crash: in the middle of a turn, instead of between turns.
        """
        instance = self.emulator.address(actor)
        return self.run(lambda: self.emulator.evict(instance, crash=crash, cause=CAUSE))

    def evict_all(self, *, crash: bool = False) -> list[str]:
        """Drop every actor from memory; which ones were there."""
        return self.run(lambda: self.emulator.evict(None, crash=crash, cause=CAUSE))

    # --- what the handles and the plugin use ------------------------------------------------

    def run(self, work: Callable[[], Awaitable[Value]], *, present: bool = False) -> Value:
        """Run something of the emulator to its end.

        Args:
            work: makes the awaitable.
            present: whether to run, before and after, what is due at the present instant.
        """
        return self._plain(lambda: self._runner.run(self._with_present(work, present)))

    def keep(self, call: PendingCall) -> PendingCall:
        """Remember a call that was started, so that its failure cannot go unseen."""
        self._calls.append(call)
        return call

    async def _with_present(self, work: Callable[[], Awaitable[Value]], present: bool) -> Value:
        if not present:
            return await work()
        await self.emulator.run_present()
        try:
            return await work()
        finally:
            await self.emulator.run_present()

    def _plain(self, work: Callable[[], Value]) -> Value:
        """What `work` gives; what it raises, as a test should see it."""
        _check_no_loop_runs()
        try:
            value = work()
            failed = self.emulator.take_failed_assertion() or self._broken
            if failed is None:
                return value
            raise failed
        except InvariantError as error:
            raise bug_report(error, self.emulator.seed) from error
        except AssertionError as error:
            raise error.with_traceback(self._from_project(error)) from error.__cause__
        except EdgeemuError as error:
            if error.name is None:
                raise error.with_traceback(None) from None
            raise self._actor_error(error) from error.__cause__

    def _actor_error(self, error: EdgeemuError) -> ActorError:
        """What another actor would see, with the three lines below it."""
        seen = error_named(error.name or "ActorError", error.message or "")
        seen.add_note(error.as_text())
        cause = error.__cause__
        if cause is not None:
            cause.__traceback__ = self._from_project(cause)
        return seen

    def _from_project(self, error: BaseException) -> TracebackType | None:
        """The traceback of an error from the first frame of the project on."""
        found = error.__traceback__
        while found is not None:
            if is_project_file(found.tb_frame.f_code.co_filename, self.root):
                return found
            found = found.tb_next
        # An assertion of TypeScript has no frames; its note tells where it failed.
        return None if hasattr(error, "__notes__") else error.__traceback__

    def _note_broken(self, error: BaseException) -> None:
        self._broken = self._broken or error

    # --- the end ---------------------------------------------------------------------------

    def alarms_left(self) -> list[str]:
        """The actors whose alarm is pending, where the test is asked about them."""
        settings = self.settings
        if settings.alarm_left is AlarmLeft.IGNORE or ALLOW_ALARM_LEFT in settings.allow:
            return []
        return [found.actor for found in self.alarms]

    def close(self, *, judge: bool = True) -> EdgeemuError | None:
        """Let go of everything; what strictness has to say against the test, or None.

        Args:
            judge: whether to look for anything: not where the test has failed already.

        Raises:
            AssertionError: one that failed in an actor and that the test did not get.
        """
        try:
            if judge:
                self._check_calls()
                if self.settings.alarm_left is AlarmLeft.FAIL:
                    self._witness.complain_of_alarms(self.alarms_left())
            self._runner.run(self.emulator.close())
        finally:
            self._closed = True
            self._runner.close()
        failed = self.emulator.take_failed_assertion()
        if not judge:
            return None
        if failed is not None:
            raise failed.with_traceback(self._from_project(failed))
        return self._witness.verdict()

    def _check_calls(self) -> None:
        for call in self._calls:
            if not call.done or call.read:
                continue
            try:
                call.result()
            except ActorError as error:
                text = f"{call.what} failed, and nobody read its result: {error.name}: {error}"
                self._witness.complain(Complaint(text, error.name))

    def report(self) -> str:
        """What helps to understand a test that failed: seed, time and the end of the journal."""
        start = format_instant(self.settings.start_ms)
        head = f"seed {self.seed}, clock from {start} to {self.clock.now}"
        if not self._closed:
            self.emulator.flush()  # What happened last is what the reader looks for.
        lines = self._witness.last_lines() or ["nothing happened"]
        return "\n".join([head, "the end of the journal:", *lines])


def _check_no_loop_runs() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise EdgeemuError(
        Code.LOOP_RUNNING,
        what="the `edgeemu` fixture was used inside a running event loop",
        why="its calls run the emulator's own loop until they are done, and loops do not nest",
        fix="make the test a plain `def`: calls of the fixture and its handles need no `await`; "
        "and do not use them inside async code of your own",
    )


def _plain_request(
    method: str, path: str, headers: Mapping[str, str] | None, json: Any, body: str | bytes | None
) -> PlainRequest:
    if json is not None and body is not None:
        raise EdgeemuError(
            Code.USAGE,
            what="fetch was given both `json` and `body`",
            why="a request has one body",
            fix="give one of them",
        )
    fields = list((headers or {}).items())
    if json is not None:
        body = json_module.dumps(json)
        if not any(name.lower() == "content-type" for name, _ in fields):
            fields.append(("content-type", "application/json"))
    data = body.encode() if isinstance(body, str) else body or b""
    return request_from_outside(method, path, fields, data, origin="http://localhost")
