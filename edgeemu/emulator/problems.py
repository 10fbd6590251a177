"""The errors of the facade, each made in one place so that every skin says the same."""

from collections.abc import Sequence

from edgeemu.core.events import Failure
from edgeemu.engines.port import PlainResponse, Waiting
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.limits import FAULT_TIMES_MAX
from edgeemu.sdk.errors import ActorError, SqlTransactionControlError
from edgeemu.units import (
    CLOCK_MS_MAX,
    CLOCK_MS_MIN,
    format_duration,
    format_instant,
)

_CODES = {
    "ActorPrivateMethodError": Code.METHOD_PRIVATE,
    "ActorUnknownMethodError": Code.METHOD_UNKNOWN,
}


_RULES = {
    "ActorPrivateMethodError": "only methods whose names do not start with _ can be called",
    "ActorUnknownMethodError": "only methods that the actor's own class defines can be called",
    "ActorMethodError": "the arguments do not fit the method's parameters",
    "ActorMethodTimeoutError": "a method has a budget of emulated time, as on the platform",
    "ActorFetchTimeoutError": "fetch has a budget of emulated time, as on the platform",
    "ActorAlarmTimeoutError": "an alarm handler has a budget of emulated time",
    "BlockConcurrencyTimeoutError": "the activation has a budget of emulated time",
    "ActorHangError": "code that never waits stops every other actor, so a watchdog ends it",
    "ActorOutputGateError": "a turn succeeds only if all of its writes do, awaited or not, and all "
    "of its transactions, caught or not",
    "ActorCrashedError": "the instance was dropped in the middle of the turn",
    "CodecError": "arguments and results are copied, and not every value can be",
    "StateUnwritableError": "the state folder could not be written",
}
_RULE = "the emulator ended the turn"


def actor_failed(
    instance: InstanceId, what: str, failure: Failure, *, kept: bool = False
) -> EdgeemuError:
    """A turn that somebody asked for ended with an error of the actor.

    Args:
        instance, what: whose turn, and what it was for.
        failure: how it ended.
        kept: whether what it wrote is kept all the same, but for a failed transaction.
    """
    code = _CODES.get(failure.seen_name, Code.ACTOR_FAILED)
    where = f" at {failure.where}" if failure.where else ""
    arose = f" in {failure.raised_in}" if failure.raised_in else where
    fixes = {
        Code.METHOD_PRIVATE: "call a method whose name does not start with _",
        Code.METHOD_UNKNOWN: "call a method that the class has",
        Code.ACTOR_FAILED: _fix_of(failure, arose, kept=kept),
    }
    return EdgeemuError(
        code,
        what=f"{what} of {instance} failed: {failure.seen_name}: {failure.message}",
        why=f"{failure.name} was raised{arose}" if failure.own else _RULES.get(failure.name, _RULE),
        fix=fixes[code],
        name=failure.seen_name,
        message=failure.message,
        detail=failure.trace or None,
    )


def _fix_of(failure: Failure, where: str, *, kept: bool) -> str:
    if failure.name == "ActorCrashedError":
        return "nothing, if you asked for the crash; call again, and see that the state holds"
    if not failure.own and failure.name == "ActorMethodError":
        return "give the arguments that the method takes, or mend its parameters"
    place = f"see{where.rpartition(' at')[2]}" if " at " in where else "see the actor's code"
    left = "all but the transaction" if kept else "nothing that the turn wrote"
    return f"{place} unless the actor is meant to refuse; {left} was kept"


def odd_name(instance: InstanceId, text: str) -> EdgeemuError:
    """Strict mode refuses a name that is not safe on the platform."""
    return EdgeemuError(
        Code.ADDRESS_INVALID,
        what=f"{instance} is refused, because the project is strict about names",
        why=text,
        fix="use another name, or take `strict = true` out of [limits]",
    )


def front_failed(failure: Failure, *, status: int) -> EdgeemuError:
    """The function in front ended with an error, and its caller got a response that hides it."""
    where = f" at {failure.where}" if failure.where else ""
    arose = f" in {failure.raised_in}" if failure.raised_in else where
    return EdgeemuError(
        Code.ACTOR_FAILED,
        what=f"the function in front failed: {failure.name}: {failure.message}",
        why=f"{failure.name} was raised{arose}"
        if failure.own
        else "the function in front has a budget of emulated time, as on the platform",
        fix=f"mend the function in front{where}; whoever asked got status {status}",
        name=failure.name,
        message=failure.message,
        detail=failure.trace or None,
    )


def refused(instance: InstanceId, reason: str) -> EdgeemuError:
    """A turn was not taken up at all."""
    return EdgeemuError(
        Code.ACTOR_FAILED,
        what=f"{instance} took no further turn: {reason}",
        why="its queue is bounded, so that a flood cannot take the memory",
        fix="wait until it has caught up, and send less at once",
    )


def no_alarm(instance: InstanceId, reason: str) -> EdgeemuError:
    """There is no alarm to do something with."""
    return EdgeemuError(
        Code.ALARM_NONE,
        what=f"{instance} has no alarm to fire",
        why=reason,
        fix=f"see `edgeemu alarms why {instance}`, or set one with `edgeemu alarms set`",
    )


def sql_failed(instance: InstanceId, error: Exception) -> EdgeemuError:
    """A statement from outside was refused."""
    name = error.name if isinstance(error, ActorError) else type(error).__name__
    if isinstance(error, SqlTransactionControlError):
        return EdgeemuError(
            Code.SQL_FAILED,
            what=f"the SQL on {instance} was refused: {str(error).partition(':')[0]}",
            why="all statements of one command are one transaction already",
            fix="leave it out, and put a semicolon between statements that belong together",
            name=name,
            message=str(error),
        )
    return EdgeemuError(
        Code.SQL_FAILED,
        what=f"the SQL on {instance} failed: {error}",
        why=f"{name} was raised, as it is inside the actor",
        fix="mend the statement and what is given for its `?`; nothing of it was kept",
        name=name,
        message=str(error),
    )


def unknown_instance(instance: InstanceId) -> EdgeemuError:
    """The instance was never touched."""
    return EdgeemuError(
        Code.INSTANCE_UNKNOWN,
        what=f"there is no instance {instance}",
        why="an instance exists from its first turn on",
        fix="see `edgeemu actors list` for those that exist",
    )


def list_too_long(what: str, rows_max: int) -> EdgeemuError:
    """A list would have to be cut."""
    return EdgeemuError(
        Code.LIST_TOO_LONG,
        what=f"there are more than {rows_max:,} {what}",
        why="a list is given whole or not at all, and it has a bound",
        fix="ask for one type with --type, or for one instance: `edgeemu actors show`, "
        "`edgeemu alarms history`",
    )


def unknown_key(instance: InstanceId, key: str) -> EdgeemuError:
    """The instance has no such key."""
    return EdgeemuError(
        Code.KEY_UNKNOWN,
        what=f"{instance} has no key `{key}`",
        why="the key was never written, or was deleted",
        fix=f"see `edgeemu storage list {instance}` for its keys",
    )


def frozen_wait(waiting: Waiting | None, now_ms: int) -> EdgeemuError:
    """A turn waits for virtual time that nobody can move: no server runs."""
    who = "a turn" if waiting is None else f"{waiting.instance or 'the function in front'}"
    where = "" if waiting is None or waiting.where is None else f" at {waiting.where}"
    return EdgeemuError(
        Code.FROZEN_WAIT,
        what=f"{who} waits{where} for time to pass, and the clock is frozen",
        why=f"the clock stands at {format_instant(now_ms)}, and nothing moves it in this command",
        fix="run `edgeemu dev` and advance the clock from another terminal, "
        "in a test use `.start(...)` and `clock.advance(...)`, or `edgeemu clock resume`",
    )


def never_waits(waiting: Waiting | None, io_wait_ms: int) -> EdgeemuError:
    """A turn runs on by itself while the clock is frozen, so that no budget ever ends it."""
    who = "a turn" if waiting is None else f"{waiting.instance or 'the function in front'}"
    where = "" if waiting is None or waiting.where is None else f" at {waiting.where}"
    return EdgeemuError(
        Code.IO_WAIT,
        what=f"{who} never waits{where}",
        why=f"it ran on for {io_wait_ms} ms of real time, and the clock is frozen",
        fix="let it wait for something, such as a second of sleep, or end its loop",
    )


def damaged_value(instance: InstanceId, key: str, why: str) -> EdgeemuError:
    """What is stored under a key is no value that edgeemu wrote."""
    return EdgeemuError(
        Code.STATE_DAMAGED,
        what=f"the value of `{key}` of {instance} is damaged",
        why=why,
        fix=f"write another one with `edgeemu storage put`, or delete `{key}`",
    )


def call_cycle(cycle: str) -> EdgeemuError:
    """Calls wait for one another, and only the budget of the outermost one can end that."""
    return EdgeemuError(
        Code.ACTOR_FAILED,
        what=f"a call waits for itself: {cycle}",
        why="an instance runs one turn at a time, so the inner call never gets its turn; on the "
        "platform the outermost call ends with ActorMethodTimeoutError after 30 s",
        fix="call methods of the own object without a stub, or do not call back",
        name="ActorMethodTimeoutError",
        message=f"a call cycle: {cycle}",
    )


def negative_advance(duration_ms: int) -> EdgeemuError:
    """Time does not go back by itself."""
    return EdgeemuError(
        Code.ADVANCE_NEGATIVE,
        what=f"the clock cannot advance by {format_duration(duration_ms)}",
        why="advance only goes forward, so that nothing fires twice",
        fix="give a positive duration, or jump back with `edgeemu clock set`",
    )


def check_clock_instant(instant_ms: int) -> None:
    """Check that the clock can show an instant.

    Raises:
        EdgeemuError: `E_INSTANT_INVALID` before year 1 and after year 9999.
    """
    if not CLOCK_MS_MIN <= instant_ms <= CLOCK_MS_MAX:
        raise EdgeemuError(
            Code.INSTANT_INVALID,
            what=f"the clock cannot show the instant {instant_ms} ms",
            why=f"it goes from {format_instant(CLOCK_MS_MIN)} to {format_instant(CLOCK_MS_MAX)}",
            fix="give an instant, or a duration, that stays inside",
        )


def evict_waits(instance: InstanceId, waiting: Waiting | None, now_ms: int) -> EdgeemuError:
    """An instance is to leave the memory after a turn that waits on a frozen clock."""
    where = "" if waiting is None or waiting.where is None else f" at {waiting.where}"
    return EdgeemuError(
        Code.FROZEN_WAIT,
        what=f"{instance} leaves the memory when its turn ends, and that waits{where} for time",
        why=f"the clock is frozen at {format_instant(now_ms)}",
        fix="advance the clock, or drop it in the middle of the turn with `edgeemu evict --crash`",
    )


def check_times(times: int) -> None:
    """Check how many deliveries are to fail.

    Raises:
        EdgeemuError: `E_NUMBER_INVALID` when it is negative or absurdly large.
    """
    if not 0 <= times <= FAULT_TIMES_MAX:
        raise EdgeemuError(
            Code.NUMBER_INVALID,
            what=f"`{times}` deliveries cannot fail",
            why=f"a count is a whole number from 0 to {FAULT_TIMES_MAX}; 0 takes the plan back",
            fix="give a number in that range",
        )


def busy(instance: InstanceId, waiting: Waiting | None, now_ms: int) -> EdgeemuError:
    """An edit would have to wait for a turn that waits for a frozen clock."""
    where = "" if waiting is None or waiting.where is None else f" at {waiting.where}"
    return EdgeemuError(
        Code.FROZEN_WAIT,
        what=f"{instance} is in the middle of a turn that waits{where} for time to pass",
        why=f"the clock is frozen at {format_instant(now_ms)}, and a change waits for its turn",
        fix="advance the clock first, or drop the turn with `edgeemu evict --crash`",
    )


def unknown_function(name: str, known: Sequence[str]) -> EdgeemuError:
    """A request to a function that the configuration does not declare."""
    return EdgeemuError(
        Code.FUNCTION_UNKNOWN,
        what=f"there is no function `{name}`",
        why=f"the configuration declares: {', '.join(known)}",
        fix=f"write one of these, or declare it with [functions.{name}] and its `config`",
    )


def socket_refused(
    url: str, response: PlainResponse, failures: Sequence[EdgeemuError]
) -> EdgeemuError:
    """A WebSocket was asked for, and the function in front answered with something else."""
    said = response.body.decode("utf-8", "replace").strip()
    why = f"the function in front answered: {said[:200]}" if said else "it answered without words"
    fix = (
        "let the function in front return, for a request with `Upgrade: websocket`, "
        "what `stub.fetch(request)` gives it, as it is"
    )
    if 400 <= response.status < 500:
        fix = f"send the path and the headers that it wants, if it means to refuse; else {fix}"
    return EdgeemuError(
        Code.SOCKET_REFUSED,
        what=f"`{url}` opened no WebSocket: HTTP {response.status}",
        why=failures[0].what if failures else why,
        fix=fix,
        detail=failures[0].detail if failures else None,
    )


def bug_report(error: BaseException, seed: int) -> EdgeemuError:
    """A bug in edgeemu, told so that it can be replayed."""
    return EdgeemuError(
        Code.INTERNAL,
        what=f"edgeemu has a bug: {type(error).__name__}: {error}",
        why="a promise inside the emulator does not hold any more",
        fix=f"report it with the journal (`edgeemu log --json`) and the seed {seed}",
    )
