"""A machine under test: events in, effects out, told in short words, and nothing left at the end.

`Driver` answers what a shell would answer: it loads rows from a dictionary and commits turns into
it, but never runs anything. A test ends each turn itself.
"""

import dataclasses
from typing import Any

from msgspec.structs import replace

from edgeemu.core.events import (
    AlarmDue,
    CloseSocket,
    CommitTurn,
    DropInstance,
    Effect,
    Effects,
    Ending,
    Event,
    Failure,
    InstanceLoaded,
    LoadInstance,
    Outcome,
    Record,
    Refuse,
    Reply,
    StartTurn,
    StopTurn,
    Turn,
    TurnCommitted,
    TurnEnded,
    TurnKind,
    TurnRequested,
)
from edgeemu.core.machine import Machine
from edgeemu.core.profile import TELNYX, Profile
from edgeemu.core.rows import AlarmWrite, InstanceRow
from edgeemu.core.warnings import Warn
from edgeemu.ids import InstanceId
from edgeemu.rng import stream

X, Y = InstanceId("A", "x"), InstanceId("A", "y")
SUCCEEDED = Ending(Outcome.SUCCEEDED)
BOOM = Failure("ValueError", "boom", own=True)
FAILED = Ending(Outcome.FAILED, BOOM)


def make_machine(**options: Any) -> Machine:
    """A machine with no lateness, and no eviction of what idles, unless told."""
    given = {"lateness_ms": 0, "idle_eviction_ms": None, "profile": TELNYX, **options}
    return Machine(jitter=stream(1, "retry_jitter"), **given)


def tell(effect: Effect) -> str:
    """An effect in a few words."""
    match effect:
        case LoadInstance():
            return f"load {effect.instance}"
        case StartTurn():
            retry = f" retry={effect.retry_count}" if effect.turn.kind is TurnKind.ALARM else ""
            crash = f" {effect.crash.value}" if effect.crash else ""
            return f"start {effect.turn.kind.value} {effect.turn.instance}{retry}{crash}"
        case StopTurn():
            return f"stop {effect.turn.kind.value} {effect.turn.instance}"
        case CommitTurn():
            keep = "" if effect.keep_writes else " without writes"
            return f"commit {effect.turn.kind.value} {effect.turn.instance}{keep}"
        case Reply():
            alarm = effect.alarm
            more = f" gave_up={alarm.gave_up}" if alarm else ""
            kind = effect.turn.kind.value
            return f"reply {kind} {effect.turn.instance} {effect.ending.outcome.value}{more}"
        case Refuse():
            return f"refuse {effect.turn.kind.value} {effect.turn.instance}: {effect.reason}"
        case DropInstance():
            return f"drop {effect.instance}: {effect.reason}"
        case CloseSocket():
            return f"close socket {effect.socket}: {effect.code} {effect.reason}".rstrip()
        case Record():
            return f"record {effect.entry.kind.value}"
        case Warn():
            return f"warn {effect.code}"


class Driver:
    """Feeds one machine and keeps what it commits."""

    def __init__(self, machine: Machine | None = None, **options: Any) -> None:
        self.machine = machine or make_machine(**options)
        self.now_ms = 1_000
        self.rows: dict[InstanceId, InstanceRow] = {}
        self.started: dict[InstanceId, StartTurn] = {}
        self.replies: list[Reply] = []
        self._committing: list[CommitTurn] = []

    # --- events ----------------------------------------------------------------------------

    def step(self, event: Event) -> list[str]:
        """One event, and the loads that follow from it; what is to be done, in words."""
        told: list[str] = []
        effects: Effects = self.machine.step(event)
        while effects:
            effect = effects.pop(0)
            told.append(tell(effect))
            match effect:
                case LoadInstance():
                    row = self.rows.get(effect.instance, InstanceRow())
                    effects += self.machine.step(InstanceLoaded(self.now_ms, effect.instance, row))
                case StartTurn():
                    self.started[effect.turn.instance] = effect
                case CommitTurn():
                    self._committing.append(effect)
                case Reply():
                    self.replies.append(effect)
        return told

    def ask(
        self, instance: InstanceId = X, kind: TurnKind = TurnKind.CALL, **more: Any
    ) -> list[str]:
        """Somebody wants a turn."""
        return self.step(TurnRequested(self.now_ms, self.turn(instance, kind, **more)))

    def turn(self, instance: InstanceId, kind: TurnKind, **more: Any) -> Turn:
        """A turn with the next number."""
        return Turn(self.machine.take_turn_id(), instance, kind, cause="test", **more)

    def due(self, instance: InstanceId = X, generation: int | None = None) -> list[str]:
        """The alarm of an instance is due, as the store would say."""
        alarm = self.rows[instance].alarm
        current = alarm.generation if alarm else 0
        given = current if generation is None else generation
        return self.step(AlarmDue(self.now_ms, instance, given))

    def end(self, ending: Ending = SUCCEEDED, instance: InstanceId = X, **more: Any) -> list[str]:
        """The code of the running turn ends."""
        turn = self.started[instance].turn
        return self.step(TurnEnded(self.now_ms, turn.id, replace(ending, **more)))

    def commit(self) -> list[str]:
        """What has ended is stored."""
        told = []
        while self._committing:
            effect = self._committing.pop(0)
            self.rows[effect.turn.instance] = effect.row
            told += self.step(TurnCommitted(self.now_ms, effect.turn.id))
        return told

    def finish(self, ending: Ending = SUCCEEDED, instance: InstanceId = X, **more: Any) -> None:
        """The running turn ends and is stored."""
        self.end(ending, instance, **more)
        self.commit()

    # --- longer ways -----------------------------------------------------------------------

    def wake(self, instance: InstanceId = X) -> None:
        """One successful call, so that the instance is in memory."""
        self.ask(instance)
        self.finish(instance=instance)
        self.finish(instance=instance)
        self.replies.clear()

    def arm(self, when_ms: int, instance: InstanceId = X) -> None:
        """A change from outside sets the alarm."""
        self.ask(instance, TurnKind.EDIT)
        self.finish(instance=instance, alarm=AlarmWrite(when_ms, "main.py:1"))
        self.replies.clear()

    def deliver(self, ending: Ending = SUCCEEDED, instance: InstanceId = X, **more: Any) -> None:
        """The alarm is due, its handler runs and ends."""
        self.due(instance)
        self.finish(ending, instance, **more)

    def pending(self, instance: InstanceId = X) -> tuple[int, int, int] | None:
        """The stored alarm: due, next attempt, failed attempts."""
        alarm = self.rows[instance].alarm
        return None if alarm is None else (alarm.due_at_ms, alarm.fire_at_ms, alarm.retry_count)

    def is_at_rest(self) -> bool:
        """Whether nothing waits or runs any more."""
        known = list(self.machine.known())
        busy = [each for each in known if each.running or each.queue or each.waiting]
        return not busy and not self._committing and self.machine.delivering_count == 0


def jittery() -> Profile:
    """A profile whose delays have a random part."""
    retry = dataclasses.replace(TELNYX.retry, jitter_percent_max=50)
    return dataclasses.replace(TELNYX, retry=retry)
