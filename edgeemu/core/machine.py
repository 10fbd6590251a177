"""The one door: the state of all instances advances here and nowhere else.

`step` takes one event, which carries the instant, and returns effects. The shell carries them out
and reports back with further events. Nothing here reads a clock, draws a number or waits.
"""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from edgeemu.core import alarms, cautions, gates, records
from edgeemu.core.alarms import Moment
from edgeemu.core.events import (
    AlarmDue,
    AlarmOutcome,
    CodeReplaced,
    CommitFailed,
    CommitTurn,
    DropInstance,
    Effects,
    Ending,
    Event,
    EvictRequested,
    Failure,
    HostStopping,
    InstanceLoaded,
    LoadFailed,
    LoadInstance,
    Outcome,
    Record,
    Refuse,
    Reply,
    SocketEnded,
    SocketExpired,
    StartTurn,
    TimePassed,
    Turn,
    TurnCommitted,
    TurnEnded,
    TurnKind,
    TurnRequested,
    TurnWithdrawn,
)
from edgeemu.core.instances import Drop, Instance
from edgeemu.core.journal import Entry
from edgeemu.core.profile import Profile
from edgeemu.core.residence import Residence
from edgeemu.core.rows import FaultHow, take_fault
from edgeemu.core.sockets import ABNORMAL
from edgeemu.core.transactions import judged
from edgeemu.errors import InvariantError
from edgeemu.ids import InstanceId
from edgeemu.limits import QUEUED_TURNS_MAX
from edgeemu.rng import Random


class Machine(Residence):
    """The state of every instance that is awake or has something waiting.

    Args:
        profile: the platform's rules.
        lateness_ms: how much later than due an alarm is delivered, in ms.
        idle_eviction_ms: virtual idleness after which an instance is dropped; None for never.
        evict_always: drop an instance after every turn.
        turn_id: the number of the next turn.
        jitter: the `retry_jitter` stream.
        check: whether to check the invariants after each step.
    """

    def __init__(
        self,
        *,
        profile: Profile,
        lateness_ms: int,
        idle_eviction_ms: int | None,
        jitter: Random,
        turn_id: int = 1,
        evict_always: bool = False,
        check: bool = True,
    ) -> None:
        super().__init__(idle_eviction_ms, profile.sockets, self.take_turn_id)
        self.profile = profile
        self.lateness_ms = lateness_ms
        self.evict_always = evict_always
        self.next_turn_id = turn_id
        self._budgets_ms = gates.budgets_ms(profile)
        self._cautions = cautions.Cautions(self._budgets_ms)
        self._jitter = jitter
        self._check = check
        self._running: dict[int, Instance] = {}
        self._delivering: dict[InstanceId, None] = {}
        self._handlers: dict[type, Callable[[Any, Effects], None]] = {
            TurnRequested: self._on_turn_requested,
            TurnWithdrawn: self._on_turn_withdrawn,
            AlarmDue: self._on_alarm_due,
            InstanceLoaded: self._on_instance_loaded,
            LoadFailed: self._on_load_failed,
            TurnEnded: self._on_turn_ended,
            TurnCommitted: self._on_turn_committed,
            CommitFailed: self._on_commit_failed,
            EvictRequested: self._on_evict_requested,
            TimePassed: self._on_time_passed,
            CodeReplaced: self._on_code_replaced,
            SocketEnded: self._on_socket_ended,
            SocketExpired: self._on_socket_expired,
            HostStopping: self._on_host_stopping,
        }

    def step(self, event: Event) -> Effects:
        """Take one event and say what is to be done about it, in order.

        Raises:
            InvariantError: if a promise does not hold afterwards: a bug in edgeemu.
        """
        effects: Effects = []
        owner = self._owner_of(event) if self._check else None
        self._handlers[type(event)](event, effects)
        instance = None if owner is None else self._instances.get(owner)
        if instance is not None:
            instance.check(delivers=owner in self._delivering, idles=owner in self._idle)
        return effects

    def _owner_of(self, event: Event) -> InstanceId | None:
        """The instance that an event is about."""
        if isinstance(event, TurnEnded | TurnCommitted | CommitFailed):
            found = self._running.get(event.turn_id)
            return None if found is None else found.id
        return getattr(event, "instance", None)

    def reconfigure(self, *, lateness_ms: int, idle_eviction_ms: int | None) -> None:
        """Go by other settings from now on; alarms that are set already keep their instants."""
        self.lateness_ms = lateness_ms
        self.idle_eviction_ms = idle_eviction_ms

    def take_turn_id(self) -> int:
        """A number for a new turn."""
        turn_id = self.next_turn_id
        self.next_turn_id += 1
        return turn_id

    def delivers(self, instance: InstanceId) -> bool:
        """Whether an alarm turn of the instance waits or runs."""
        return instance in self._delivering

    @property
    def delivering_count(self) -> int:
        """How many instances have an alarm turn that waits or runs."""
        return len(self._delivering)

    def _mark_alarm(self, instance: Instance, *, queued: bool) -> None:
        instance.alarm_queued = queued
        if queued:
            self._delivering[instance.id] = None
        else:
            self._delivering.pop(instance.id, None)

    # --- events ----------------------------------------------------------------------------

    def _ready(self, event: Any, out: Effects) -> Instance | None:
        """The instance of an event if its row is known; else the event waits for it."""
        instance = self._instances.get(event.instance)
        if instance is None:
            instance = self._instances[event.instance] = Instance(event.instance)
            out.append(LoadInstance(event.instance))
        if instance.row is None:
            instance.waiting.append(event)
            return None
        return instance

    def _on_instance_loaded(self, event: InstanceLoaded, out: Effects) -> None:
        instance = self._instances[event.instance]
        instance.row = event.row
        waiting, instance.waiting = instance.waiting, []
        for held in waiting:
            self._handlers[type(held)](held, out)
        if instance.queue:
            self._pump(instance, event.now_ms, out)

    def _on_load_failed(self, event: LoadFailed, out: Effects) -> None:
        """Whoever waits for the instance is told; the next event tries to read it again."""
        instance = self._instances.pop(event.instance)
        turns = [held.turn for held in instance.waiting if isinstance(held, TurnRequested)]
        self._sockets.lost(instance, turns, event.message, event.now_ms, out)
        out.extend(Refuse(turn, event.message) for turn in [*turns, *instance.queue])
        self._delivering.pop(event.instance, None)

    def _on_turn_requested(self, event: TurnRequested, out: Effects) -> None:
        instance = self._ready(event, out)
        if instance is None:
            return
        turn = event.turn
        if turn.kind is TurnKind.ALARM:
            if instance.stored.alarm is None:
                out.append(Refuse(turn, "no alarm is set"))
                self._forget_if_unused(instance)
                return
            if instance.alarm_queued:
                out.append(Refuse(turn, "its alarm is being delivered right now"))
                return
            self._mark_alarm(instance, queued=True)
        elif turn.socket is not None:
            if not self._sockets.admit(instance, turn, event.now_ms, out):
                self._pump(instance, event.now_ms, out)
                return
        elif len(instance.queue) >= QUEUED_TURNS_MAX:
            out.append(Refuse(turn, f"{QUEUED_TURNS_MAX} turns wait for it already"))
            return
        instance.queue.append(turn)
        self._pump(instance, event.now_ms, out)

    def _on_turn_withdrawn(self, event: TurnWithdrawn, out: Effects) -> None:
        instance = self._instances.get(event.instance)
        if instance is None or event.turn not in instance.queue:
            return
        instance.queue.remove(event.turn)
        if event.turn.kind is TurnKind.ALARM:
            self._mark_alarm(instance, queued=False)
        out.append(Refuse(event.turn, "it was withdrawn"))
        self._pump(instance, event.now_ms, out)

    def _on_alarm_due(self, event: AlarmDue, out: Effects) -> None:
        instance = self._ready(event, out)
        if instance is None:
            return
        alarm = instance.stored.alarm
        current = alarm is not None and alarm.generation == event.generation
        if instance.alarm_queued or not current or (alarm and alarm.fire_at_ms > event.now_ms):
            self._forget_if_unused(instance)
            return
        self._mark_alarm(instance, queued=True)
        turn = Turn(
            id=self.take_turn_id(),
            instance=instance.id,
            kind=TurnKind.ALARM,
            cause=f"alarm of turn {alarm.set_turn}" if alarm and alarm.set_turn else "alarm",
            generation=event.generation,
        )
        instance.queue.append(turn)
        self._pump(instance, event.now_ms, out)

    def _on_turn_ended(self, event: TurnEnded, out: Effects) -> None:
        instance = self._running.get(event.turn_id)
        if instance is None or instance.running is None or instance.ending is not None:
            return  # Code that ran past its end: what it did is discarded.
        turn, ending = instance.running, judged(event.ending)
        if turn.kind is TurnKind.INIT:
            self._end_init(instance, turn, ending, event.now_ms, out)
        else:
            self._end_turn(instance, turn, ending, event.now_ms, out)

    def _on_turn_committed(self, event: TurnCommitted, out: Effects) -> None:
        instance = self._running.pop(event.turn_id)
        turn, ending = instance.running, instance.ending
        if turn is None or ending is None:
            raise InvariantError(f"turn {event.turn_id} was committed before it ended")
        delivered = instance.delivering
        outcome = None
        if turn.kind is TurnKind.ALARM:
            self._mark_alarm(instance, queued=False)
            pending = instance.stored.alarm
            outcome = AlarmOutcome(
                retry_count=delivered.retry_count if delivered else 0,
                gave_up=alarms.gave_up(ending, pending),
                next=pending,
                started_at_ms=instance.started_at_ms,
                ended_at_ms=instance.ended_at_ms,
            )
        instance.running = instance.ending = instance.delivering = instance.fault = None
        out.append(Reply(turn, ending, outcome))
        if turn.kind is TurnKind.INIT and ending.outcome is not Outcome.SUCCEEDED:
            self._fail_waker(instance, ending, event.now_ms, out)
            return
        if turn.socket is not None:
            self._sockets.turn_ended(instance, turn.socket, ending, event.now_ms, out)
        wakes = turn.kind not in (TurnKind.INIT, TurnKind.EDIT)
        if self.evict_always and wakes and not instance.sockets:
            instance.drop = instance.drop or Drop("evict-always", f"turn {turn.id}")
        if instance.drop is not None:
            self._drop(instance, instance.drop, event.now_ms, out)
        if turn.kind is not TurnKind.EDIT:  # Looking after an instance does not keep it awake.
            instance.idle_since_ms = event.now_ms
        self._pump(instance, event.now_ms, out)

    def _on_commit_failed(self, event: CommitFailed, out: Effects) -> None:
        """The store kept nothing, so what is known of the instance is read afresh."""
        instance = self._running.pop(event.turn_id)
        turn = instance.running
        if turn is None:
            raise InvariantError(f"turn {event.turn_id} failed to commit before it ran")
        if turn.kind is TurnKind.ALARM:
            self._mark_alarm(instance, queued=False)
        instance.running = instance.ending = instance.delivering = instance.fault = None
        failure = Failure("StateUnwritableError", event.message)
        out.append(Reply(turn, Ending(Outcome.FAILED, failure)))
        if turn.kind is TurnKind.INIT and instance.queue:
            waker = instance.queue.popleft()
            if waker.kind is TurnKind.ALARM:
                self._mark_alarm(instance, queued=False)
            failed = Ending(Outcome.FAILED, failure)
            out.append(Reply(waker, failed))
            if waker.socket is not None:
                self._sockets.turn_ended(instance, waker.socket, failed, event.now_ms, out)
        if instance.resident:
            self._drop(instance, Drop("commit failed", f"turn {turn.id}"), event.now_ms, out)
        instance.row = None
        out.append(LoadInstance(instance.id))

    def _on_code_replaced(self, event: CodeReplaced, out: Effects) -> None:
        self._cautions.forget_code()
        super()._on_code_replaced(event, out)

    def _on_socket_ended(self, event: SocketEnded, out: Effects) -> None:
        how = {"code": event.code, "reason": event.reason, "by": event.by, "error": event.error}
        self._end_socket(event, how, out)

    def _on_socket_expired(self, event: SocketExpired, out: Effects) -> None:
        self._end_socket(event, {"code": ABNORMAL}, out)

    def _end_socket(
        self, event: SocketEnded | SocketExpired, how: dict[str, Any], out: Effects
    ) -> None:
        instance = self._instances.get(event.instance)
        if instance is None:
            return
        if instance.row is None:
            instance.waiting.append(event)
            return
        self._sockets.ended(instance, event.socket, event.now_ms, out, **how)
        self._pump(instance, event.now_ms, out)

    # --- starting --------------------------------------------------------------------------

    def _pump(self, instance: Instance, now_ms: int, out: Effects) -> None:
        """Start the next turn if one may enter; else the instance is idle."""
        while gates.may_enter(instance, self.profile):
            turn = instance.queue[0]
            if turn.kind is TurnKind.ALARM and not gates.is_still_due(instance, turn, now_ms):
                self._pass_over(instance, now_ms, out)
                continue
            if gates.needs_object(turn) and not instance.resident:
                cause = f"turn {turn.id}"
                init = Turn(self.take_turn_id(), instance.id, TurnKind.INIT, cause=cause)
                self._start(instance, init, now_ms, out)
            else:
                instance.queue.popleft()
                self._start(instance, turn, now_ms, out)
            break
        self._note_idleness(instance)
        self._forget_if_unused(instance)

    def _pass_over(self, instance: Instance, now_ms: int, out: Effects) -> None:
        """The alarm turn at the head of the queue has lost its alarm (U58)."""
        turn = instance.queue.popleft()
        self._mark_alarm(instance, queued=False)
        out.append(Record(records.stale_entry(turn, now_ms)))
        out.append(Refuse(turn, "its alarm was replaced or cleared before its turn came"))

    def _start(self, instance: Instance, turn: Turn, now_ms: int, out: Effects) -> None:
        instance.running = turn
        instance.started_at_ms = now_ms
        self._running[turn.id] = instance
        if turn.socket is not None:
            self._sockets.turn_started(instance, turn.socket)
        if turn.kind is not TurnKind.ALARM:
            out.append(StartTurn(turn, instance.stored.alarm, self._budgets_ms[turn.kind]))
            return
        alarm = instance.stored.alarm
        if alarm is None:
            raise InvariantError(f"{instance.id}: an alarm turn starts without an alarm")
        instance.delivering = alarm
        instance.row, fault = take_fault(alarms.start_delivery(instance.stored, now_ms))
        instance.fault = fault
        replacing = None if fault is None else alarms.ending_in_place(fault)
        if replacing is not None:
            self._end_turn(instance, turn, replacing, now_ms, out)
            return
        out.append(
            StartTurn(
                turn,
                None,
                self._budgets_ms[turn.kind],
                retry_count=alarm.retry_count,
                crash=fault.how if fault else None,
            )
        )

    # --- ending ----------------------------------------------------------------------------

    def _end_init(
        self, instance: Instance, turn: Turn, ending: Ending, now_ms: int, out: Effects
    ) -> None:
        """Activation is a turn of its own: on success it commits before the next one (U21)."""
        succeeded = ending.outcome is Outcome.SUCCEEDED
        instance.resident = succeeded
        instance.broken = not succeeded
        if (succeeded or ending.commit) and (ending.wrote or ending.alarm is not None):
            self._finish(instance, turn, ending, now_ms, keep=True, out=out)
            return
        out.append(Record(records.turn_entry(instance, turn, ending, now_ms, self.profile)))
        if succeeded:  # The turn that woke the instance starts at once.
            out.extend(self._cautions.near_budget(turn, now_ms - instance.started_at_ms))
            self._end_unkept(instance, turn, ending, now_ms, out)
            return
        self._running.pop(turn.id)
        instance.running = None
        out.append(Reply(turn, ending))
        self._fail_waker(instance, ending, now_ms, out)

    def _fail_waker(self, instance: Instance, ending: Ending, now_ms: int, out: Effects) -> None:
        """What woke the instance fails with it (U20); an alarm used up an attempt (U59)."""
        out.append(DropInstance(instance.id, "init failed"))
        instance.drop = None
        waker = instance.queue[0]
        if waker.kind is TurnKind.ALARM and not gates.is_still_due(instance, waker, now_ms):
            self._pass_over(instance, now_ms, out)
            self._pump(instance, now_ms, out)
            return
        instance.queue.popleft()
        instance.running = waker
        instance.started_at_ms = now_ms
        self._running[waker.id] = instance
        if waker.kind is TurnKind.ALARM:
            instance.delivering = instance.stored.alarm
            instance.row = alarms.start_delivery(instance.stored, now_ms)
        failed = replace(ending, alarm=None, wrote=False, commit=False, took_ns=0)
        self._end_turn(instance, waker, failed, now_ms, out)

    def _end_unkept(
        self, instance: Instance, turn: Turn, ending: Ending, now_ms: int, out: Effects
    ) -> None:
        """A turn that left nothing to keep costs no commit."""
        self._running.pop(turn.id)
        instance.running = None
        out.append(Reply(turn, ending))
        if instance.drop is not None:
            self._drop(instance, instance.drop, now_ms, out)
        self._pump(instance, now_ms, out)

    def _end_turn(
        self, instance: Instance, turn: Turn, ending: Ending, now_ms: int, out: Effects
    ) -> None:
        left_nothing = ending.alarm is None and ending.faults is None and not ending.wrote
        if turn.kind is TurnKind.EDIT and left_nothing:
            self._end_unkept(instance, turn, ending, now_ms, out)  # Looking makes no instance.
            return
        keep = ending.commit or ending.outcome is Outcome.SUCCEEDED
        if instance.fault is not None and keep:
            keep = instance.fault.how is FaultHow.CRASH_AFTER_COMMIT
            failure = Failure("ActorCrashedError", instance.fault.message)
            ending = replace(ending, outcome=Outcome.CRASHED, failure=failure, commit=keep)
            instance.drop = Drop("crash", "fault")
        elif ending.outcome is Outcome.CRASHED:
            instance.drop = instance.drop or Drop("crash", f"turn {turn.id}")
        self._finish(instance, turn, ending, now_ms, keep=keep, out=out)

    def _finish(
        self,
        instance: Instance,
        turn: Turn,
        ending: Ending,
        now_ms: int,
        *,
        keep: bool,
        out: Effects,
    ) -> None:
        """Work out what the turn leaves behind, and have it committed."""
        instance.ending = ending
        instance.ended_at_ms = now_ms
        delivered = instance.delivering
        row, note = alarms.after_turn(
            instance.stored,
            ending,
            Moment(now_ms, turn.id, self.lateness_ms),
            delivered=delivered,
            keep=keep,
            policy=self.profile.retry,
            jitter=self._jitter,
        )
        if ending.faults is not None:
            row = replace(row, faults=ending.faults)
        if row.created_at_ms is None:
            row = replace(row, created_at_ms=now_ms)
        told = records.turn_entry(instance, turn, ending, now_ms, self.profile)
        out.append(Record(told))
        if note is not None:
            cause = f"turn {turn.id}"
            out.append(Record(Entry(note[0], now_ms, instance.id, turn.id, cause, note[1])))
        out.extend(self._cautions.after_turn(instance, turn, row, keep=keep))
        instance.row = records.with_last_turn(row, turn, ending, told)
        out.append(CommitTurn(turn, instance.row, keep))
