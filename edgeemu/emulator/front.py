"""The function in front: `fetch(request, env)` of the main module, which is no turn of an actor."""

from asyncio import Future
from collections.abc import Callable
from typing import Any

from edgeemu.core.cautions import near_budget_text
from edgeemu.core.events import Ending, Failure, Outcome
from edgeemu.core.journal import Entry, Kind
from edgeemu.emulator import problems
from edgeemu.emulator.hosts import TurnHost
from edgeemu.emulator.requests import TurnReply
from edgeemu.emulator.shell import Shell
from edgeemu.engines.port import Engine, PlainRequest, PlainResponse, Result, Work
from edgeemu.errors import EdgeemuError


class _FrontRun:
    """One run of the function in front, from its start to its entry in the journal."""

    def __init__(
        self,
        shell: Shell,
        engine: Engine,
        request: PlainRequest,
        function: str,
        primary: str,
        cause: str,
    ) -> None:
        self._shell = shell
        self._engine = engine
        self._request = request
        self._function = function
        self._primary = primary
        self._cause = cause
        self._turn_id = shell.machine.take_turn_id()
        self._host = TurnHost(shell.around, None, self._turn_id)
        self._started_at_ms = shell.clock.now_ms()
        self.future: Future[TurnReply] = Future(loop=shell.loop)
        over_at_ms = self._started_at_ms + shell.machine.profile.front_timeout_ms
        self._budget = shell.timers.add(over_at_ms, self._over_budget)
        engine.start(self._host, Work(None, request=request, function=function), self._done)

    def _done(self, result: Result) -> None:
        self._shell.note_assertion(result.error)
        outcome = Outcome.SUCCEEDED if result.failure is None else Outcome.FAILED
        ending = Ending(outcome, result.failure)
        self._end(ending, TurnReply(ending, result.answer, error=result.error))

    def _over_budget(self) -> None:
        self._engine.detach(self._turn_id)
        failure = Failure("TimeoutError", "the function in front took longer than its budget")
        ending = Ending(Outcome.TIMED_OUT, failure)
        self._end(ending, TurnReply(ending))

    def _end(self, ending: Ending, reply: TurnReply) -> None:
        if self.future.done():
            return
        self._budget.cancel()
        self._host.ended = True
        now_ms = self._shell.clock.now_ms()
        data: dict[str, Any] = {
            "outcome": ending.outcome.value,
            "started_at_ms": self._started_at_ms,
            "duration_ms": now_ms - self._started_at_ms,
            "real_took_us": self._engine.took_ns(self._turn_id) // 1_000,
            "method": f"{self._request.method} {self._request.url}",
        }
        answer = reply.answer
        if isinstance(answer, PlainResponse):
            data["status"] = answer.status
        if self._function != self._primary:
            data["function"] = self._function
        failure = ending.failure
        if failure is not None:
            data["error"] = {
                "name": failure.name,
                "message": failure.message,
                "where": failure.where,
                "trace": failure.trace,
            }
        entry = Entry(Kind.FRONT, now_ms, None, self._turn_id, self._cause, data)
        self._shell.record(entry)
        if ending.outcome is Outcome.SUCCEEDED:
            self._warn_near_budget(now_ms - self._started_at_ms)
        self.future.set_result(reply)

    def _warn_near_budget(self, took_ms: int) -> None:
        budget_ms = self._shell.machine.profile.front_timeout_ms
        text = near_budget_text("the function in front", took_ms, budget_ms)
        if text is not None:
            warn = self._shell.notices.warn
            warn("W_BUDGET_NEAR", text, None, None, self._turn_id, key=self._function)


def run_front(
    shell: Shell, engine: Engine, request: PlainRequest, *, function: str, primary: str, cause: str
) -> "Future[TurnReply]":
    """Run a function in front; its budget is virtual time, as that of a turn.

    The journal names the function where it is not the primary one.
    """
    return _FrontRun(shell, engine, request, function, primary, cause).future


_UPGRADE_REQUIRED = PlainResponse(
    426,
    (("content-type", "text/plain;charset=UTF-8"), ("upgrade", "websocket")),
    b"Upgrade Required: this opens a WebSocket",
)


def response_of(
    reply: TurnReply, on_failure: Callable[[EdgeemuError], None], *, upgrades: bool
) -> PlainResponse:
    """The response that a run of the function in front comes to (U77).

    Args:
        reply: of the run.
        on_failure: called with the error that the response hides.
        upgrades: whether the caller opens a WebSocket where the response has an `upgrade`.
    """
    if isinstance(reply.answer, PlainResponse):
        refused = reply.answer.upgrade is not None and not upgrades
        return _UPGRADE_REQUIRED if refused else reply.answer
    timed_out = reply.ending is not None and reply.ending.outcome is Outcome.TIMED_OUT
    status, text = (504, "Gateway Timeout") if timed_out else (500, "Internal Server Error")
    if reply.ending is not None and reply.ending.failure is not None:
        on_failure(problems.front_failed(reply.ending.failure, status=status))
    headers = (("content-type", "text/plain;charset=UTF-8"),)
    return PlainResponse(status, headers, text.encode())
