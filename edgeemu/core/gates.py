"""Which turn may enter an instance now: a pure question, answered here for every platform."""

from collections.abc import Sequence

from edgeemu.core.events import Failure, Turn, TurnKind
from edgeemu.core.instances import Instance
from edgeemu.core.profile import Profile


def may_enter(instance: Instance, profile: Profile) -> bool:
    """Whether the next waiting turn may start.

    Under exclusive turns nothing enters while a turn runs or its commit is under way, whatever the
    turn waits for (spec/telnyx-actors.md section 1). There is no other gate yet: a profile with
    other turns would be answered here and nowhere else.
    """
    return bool(instance.queue) and (instance.running is None or not profile.turns_exclusive)


def is_still_due(instance: Instance, turn: Turn, now_ms: int) -> bool:
    """Whether an alarm turn that reached the head of the queue still has its alarm.

    A turn before it in the queue may have replaced or cleared the alarm (U58): then what waits
    here is stale. A generation tells the alarm from its successor. Nor is it due any more where a
    user has set the clock back meanwhile; it is delivered when its time comes again.
    """
    alarm = instance.stored.alarm
    if alarm is None:
        return False
    if turn.generation is None:
        return True
    return turn.generation == alarm.generation and alarm.fire_at_ms <= now_ms


def needs_object(turn: Turn) -> bool:
    """Whether the turn runs the actor's code, so that the instance has to be in memory."""
    return turn.kind is not TurnKind.EDIT


def budgets_ms(profile: Profile) -> dict[TurnKind, int | None]:
    """How long a turn of each kind may take, in virtual ms; a change from outside has no budget."""
    return {
        TurnKind.INIT: profile.init_timeout_ms,
        TurnKind.CALL: profile.call_timeout_ms,
        TurnKind.FETCH: profile.fetch_timeout_ms,
        TurnKind.ALARM: profile.alarm_timeout_ms,
        TurnKind.SOCKET: profile.sockets.timeout_ms,
        TurnKind.EDIT: None,
    }


_OVER_BUDGET = {
    TurnKind.INIT: "BlockConcurrencyTimeoutError",
    TurnKind.CALL: "ActorMethodTimeoutError",
    TurnKind.FETCH: "ActorFetchTimeoutError",
    TurnKind.SOCKET: "ActorSocketTimeoutError",
    TurnKind.ALARM: "ActorAlarmTimeoutError",
}


def over_budget(turn: Turn, timeout_ms: int | None, asked: Sequence[Turn]) -> Failure:
    """The error of a turn whose budget is over (section 3.2).

    A turn that calls another at once reaches its budget first, for its own began first: it says
    whom it waited for, because the fault is likely there.

    Args:
        turn: whose budget is over.
        timeout_ms: the budget, in virtual ms.
        asked: the turns that it asked for and that have not ended.
    """
    message = f"{turn.kind.value} of {turn.instance} took longer than {timeout_ms} ms"
    if asked:
        waits_for = f"{asked[0].method or asked[0].kind.value} of {asked[0].instance}"
        more = f" and {len(asked) - 1} more" if len(asked) > 1 else ""
        message += f", waiting for {waits_for}{more}"
    return Failure(_OVER_BUDGET[turn.kind], message)
