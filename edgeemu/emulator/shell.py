"""The shell around the core: carries effects out and feeds back what happened. It decides nothing.

Everything that a turn leaves is applied in one batch with whatever else ended in the same breath
of the loop; only then is its caller answered.
"""

from asyncio import Future
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from edgeemu.clock import ClockMode, EmulatorClock, call_later_real_ms
from edgeemu.core import gates
from edgeemu.core.cautions import call_cycle_text
from edgeemu.core.events import (
    CloseSocket,
    CommitFailed,
    CommitTurn,
    DropInstance,
    Effect,
    Ending,
    Event,
    Failure,
    InstanceLoaded,
    LoadFailed,
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
    TurnWithdrawn,
)
from edgeemu.core.journal import Entry, Recorded
from edgeemu.core.machine import Machine
from edgeemu.core.timers import Timers
from edgeemu.core.warnings import Warn
from edgeemu.emulator.batching import EndedTurn, Part, split
from edgeemu.emulator.cycles import WaitingCalls
from edgeemu.emulator.hosts import TurnHost
from edgeemu.emulator.notices import Notices
from edgeemu.emulator.position import META_POSITION, Position
from edgeemu.emulator.requests import Edit, Pending, TurnReply
from edgeemu.emulator.schedule import Schedule
from edgeemu.emulator.sockets import Sockets
from edgeemu.emulator.state_faults import StateFaults
from edgeemu.emulator.surroundings import Surroundings
from edgeemu.engines.port import Answer, Engine, Host, Result, Work
from edgeemu.engines.python.loop import EmulatorLoop
from edgeemu.errors import Code, EdgeemuError, InvariantError
from edgeemu.ids import InstanceId
from edgeemu.limits import ENTRY_DELAY_MS, JOURNAL_PAGE_MAX
from edgeemu.sdk.errors import ActorError
from edgeemu.stores.port import Batch, Store, StoredTurn


class Shell:
    """Runs one machine over one store, one engine and one clock.

    Args:
        machine, store, clock, loop: what it connects.
        seed: of the run.
        on_schedule: called when the schedule may have changed, with the instant of an alarm.
    """

    def __init__(
        self,
        *,
        machine: Machine,
        store: Store,
        clock: EmulatorClock,
        loop: EmulatorLoop,
        seed: int,
    ) -> None:
        self.machine = machine
        self.store = store
        self.schedule = Schedule(store)
        self.clock = clock
        self.loop = loop
        self.timers = Timers(self._timers_changed)
        self.position = Position(clock, machine)
        self.engine: Engine | None = None
        self.watchers: list[Callable[[list[Recorded]], None]] = []
        self.on_schedule: Callable[[int], None] = lambda _: None
        self.on_failed_assertion: Callable[[AssertionError], None] | None = None
        self.on_broken: Callable[[BaseException], None] = lambda _: None
        self.broken: InvariantError | None = None
        self._load_error: EdgeemuError | None = None
        self.notices = Notices(self.record, clock.now_ms)
        self.faults = StateFaults(self.notices)
        self.printed = self.notices.printed
        self.sockets = Sockets(self)
        self.around = Surroundings(
            store=store,
            now_ms=clock.now_ms,
            seed=seed,
            loop=loop,
            request=self._request_from_turn,
            warn=self.notices.warn,
            task_failed=self._task_failed,
            profile=machine.profile,
            sockets=self.sockets,
        )
        self._pending: dict[int, Pending] = {}
        self._cycles: dict[int, str] = {}
        self._calls = WaitingCalls(self._running_on)
        self._requested: dict[Future[TurnReply], Turn] = {}
        self._events: deque[Event] = deque()
        self._dispatching = False
        self._ended: list[EndedTurn] = []
        self._entries: list[Entry] = []
        self._flush_planned = False
        self._late_flush_planned = False

    # --- the door --------------------------------------------------------------------------

    def dispatch(self, event: Event) -> None:
        """Let the machine take one event, and carry out all that follows from it."""
        if self.broken is not None:
            self._leave_nobody_waiting()
            return
        self._events.append(event)
        if self._dispatching:
            return
        self._dispatching = True
        try:
            while self._events:
                for effect in self.machine.step(self._events.popleft()):
                    self._perform(effect)
        except Exception as error:  # Half of what was decided is carried out: nobody may wait on.
            raise self._break(error)  # noqa: B904 - it says itself what it comes from
        finally:
            self._dispatching = False

    def _break(self, cause: Exception) -> InvariantError:
        """A promise of the core is broken: write the journal out, and leave nobody waiting."""
        text = f"an effect failed: {type(cause).__name__}: {cause}"
        error = cause if isinstance(cause, InvariantError) else InvariantError(text)
        if self.broken is not None:
            return error
        self.broken = error
        self._ended.clear()  # What follows from a broken state is not kept.
        entries, self._entries = self._entries, []
        with suppress(EdgeemuError):
            self.store.apply(Batch((), entries, self.clock.real_ms()))
        self._leave_nobody_waiting()
        self.on_broken(error)
        return error

    def _leave_nobody_waiting(self) -> None:
        pending, self._pending = self._pending, {}
        for each in pending.values():
            if each.answered is not None:
                each.answered(TurnReply(refused="edgeemu has a bug"))

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Record():
                self.record(effect.entry)
            case StartTurn():
                self._start(effect)
            case CommitTurn():
                self._keep(effect)
            case Reply():
                self._answer(effect.turn, TurnReply(effect.ending, alarm=effect.alarm))
            case LoadInstance():
                self._events.append(self._load(effect.instance))
            case DropInstance():
                self._engine.drop(effect.instance)
            case StopTurn():
                self._engine.stop(effect.turn.id)
            case Refuse():
                self._refuse(effect)
            case Warn():
                self.notices.of_core(effect, self._engine)
            case CloseSocket():
                self.sockets.shut(effect.socket, effect.code, effect.reason)

    def _refuse(self, effect: Refuse) -> None:
        self.sockets.refused(effect.turn)
        pending, cause = self._pending.get(effect.turn.id), self._load_error
        if pending is not None and cause is not None and cause.what == effect.reason:
            pending.error = cause
        self._answer(effect.turn, TurnReply(refused=effect.reason))

    def _load(self, instance: InstanceId) -> InstanceLoaded | LoadFailed:
        try:
            row = self.store.load(instance)
        except EdgeemuError as error:
            self._load_error = error
            if error.code is not Code.ADDRESS_INVALID:  # That is only the caller's own mistake.
                self.faults.note(error, instance)
            return LoadFailed(self.clock.now_ms(), instance, error.what)
        # The file of an instance may know another alarm than the index did (design D5).
        self.schedule.note(instance, row.alarm)
        return InstanceLoaded(self.clock.now_ms(), instance, row)

    @property
    def _engine(self) -> Engine:
        """The engine, which is there before anything runs."""
        if self.engine is None:
            raise RuntimeError("the shell has no engine yet")
        return self.engine

    # --- asking for turns ------------------------------------------------------------------

    def request(
        self,
        instance: InstanceId,
        kind: TurnKind,
        *,
        work: Work | None = None,
        edit: Edit | None = None,
        cause: str,
    ) -> "Future[TurnReply]":
        """Ask for a turn; the future is resolved when all that it left is safe."""
        future: Future[TurnReply] = Future(loop=self.loop)

        def answered(reply: TurnReply) -> None:
            if not future.done():
                future.set_result(reply)

        method = work.method if work is not None and kind is TurnKind.CALL else None
        turn = Turn(self.machine.take_turn_id(), instance, kind, method, cause)
        self._pending[turn.id] = Pending(turn, work, edit, answered)
        self._requested[future] = turn
        future.add_done_callback(self._requested.pop)
        self.dispatch(TurnRequested(self.clock.now_ms(), turn))
        return future

    @property
    def cycle(self) -> str | None:
        """A cycle of calls that wait for one another, as `A -> B -> A`, if there is one now."""
        return next(iter(self._cycles.values()), None)

    def withdraw(self, future: "Future[TurnReply]") -> None:
        """Take back a turn that still waits in its queue."""
        turn = self._requested.get(future)
        if turn is not None:
            self.dispatch(TurnWithdrawn(self.clock.now_ms(), turn))

    def _request_from_turn(
        self,
        instance: InstanceId,
        kind: TurnKind,
        work: Work,
        cause: str,
        answered: Callable[[Ending, Answer], None],
        parent: int | None,
    ) -> None:
        def reply(outcome: TurnReply) -> None:
            ending = outcome.ending
            if ending is None:
                refusal = Failure("ActorError", f"{instance} {outcome.refused}")
                ending = Ending(Outcome.FAILED, refusal)
            answered(ending, outcome.answer)

        method = work.method if kind is TurnKind.CALL else None
        turn = Turn(self.machine.take_turn_id(), instance, kind, method, cause)
        self._pending[turn.id] = Pending(turn, work, None, reply, parent)
        self._warn_of_cycle(turn, parent)
        self.dispatch(TurnRequested(self.clock.now_ms(), turn))

    def _warn_of_cycle(self, turn: Turn, parent: int | None) -> None:
        cycle = self._calls.add(turn, parent)
        if cycle is not None:
            warn, text = self.notices.warn, call_cycle_text(cycle)
            warn("W_CALL_CYCLE", text, None, turn.instance, turn.id)
            self._cycles[turn.id] = cycle

    def _running_on(self, instance: InstanceId) -> Turn | None:
        found = self.machine.find(instance)
        return None if found is None else found.running

    # --- running turns ---------------------------------------------------------------------

    def _start(self, effect: StartTurn) -> None:
        turn = effect.turn
        pending = self._pending.get(turn.id)
        if pending is None:
            work = Work(turn.kind, retry_count=effect.retry_count)
            if turn.kind is TurnKind.SOCKET:
                work = self.sockets.work(turn)
            pending = self._pending[turn.id] = Pending(turn, work, None, None)
        elif turn.kind is TurnKind.ALARM:
            pending.work = Work(turn.kind, retry_count=effect.retry_count)
        host = TurnHost(self.around, turn.instance, turn.id, effect.alarm)
        pending.host = host
        if pending.edit is not None:
            self._apply_edit(turn, pending, host, pending.edit)
            return
        if pending.work is None:
            raise RuntimeError(f"turn {turn.id} has nothing to run")
        if effect.timeout_ms is not None:
            at_ms = self.clock.now_ms() + effect.timeout_ms
            pending.budget = self.timers.add(at_ms, lambda: self._over_budget(turn, effect))
        self._engine.start(host, pending.work, lambda result: self._code_ended(turn, result))

    def _apply_edit(self, turn: Turn, pending: Pending, host: TurnHost, edit: Edit) -> None:
        found = self.machine.find(turn.instance)
        faults, failure = None, None
        try:
            faults = edit.make(host, found.stored.faults if found else ())
        except (ActorError, EdgeemuError) as error:
            pending.error = error
            failure = Failure(type(error).__name__, str(error))
        outcome = Outcome.SUCCEEDED if failure is None else Outcome.FAILED
        ending = Ending(outcome, failure, edit.alarm, wrote=host.wrote, faults=faults)
        host.ended = True
        self.dispatch(TurnEnded(self.clock.now_ms(), turn.id, ending))

    def _code_ended(self, turn: Turn, result: Result) -> None:
        pending = self._pending.get(turn.id)
        if pending is None or pending.host is None or pending.host.ended:
            return
        pending.answer = result.answer
        pending.error = result.error
        self.note_assertion(result.error)
        failure = result.failure
        outcome = Outcome.SUCCEEDED if failure is None else Outcome.FAILED
        if result.hung:
            outcome = Outcome.TIMED_OUT
        lost = pending.host.lost
        if lost is not None:  # The handler is not to blame, and no attempt is used up.
            pending.error = lost
            self.faults.note(lost, turn.instance)
            outcome, failure = Outcome.CRASHED, Failure("ActorCrashedError", lost.what)
        elif failure is None:
            self.faults.mended(turn.instance)
        self._end(pending, pending.host, outcome, failure)

    def _over_budget(self, turn: Turn, effect: StartTurn) -> None:
        pending = self._pending.get(turn.id)
        if pending is None or pending.host is None or pending.host.ended:
            return
        self._engine.detach(turn.id)
        failure = gates.over_budget(turn, effect.timeout_ms, self._calls.asked_by(turn))
        self._end(pending, pending.host, Outcome.TIMED_OUT, failure)

    def _end(
        self, pending: Pending, host: TurnHost, outcome: Outcome, failure: Failure | None
    ) -> None:
        host.ended = True
        if pending.budget is not None:
            pending.budget.cancel()
        ending = Ending(
            outcome,
            failure,
            alarm=host.writes.alarm,
            wrote=host.wrote,
            poison=host.poison,
            took_ns=self._engine.took_ns(pending.turn.id),
            left_alarm_at=host.left_alarm_at,
        )
        self.dispatch(TurnEnded(self.clock.now_ms(), pending.turn.id, ending))

    def note_assertion(self, error: BaseException | None) -> None:
        """Tell a test of an assertion that failed in actor code."""
        if isinstance(error, AssertionError) and self.on_failed_assertion is not None:
            self.on_failed_assertion(error)

    def _answer(self, turn: Turn, reply: TurnReply) -> None:
        pending = self._pending.pop(turn.id, None)
        self._cycles.pop(turn.id, None)
        if pending is None:
            return
        self._calls.remove(turn, pending.parent)
        if pending.host is not None:
            pending.host.end_sql(keep=False)
        if pending.budget is not None:
            pending.budget.cancel()
        if pending.answered is not None:
            pending.answered(
                TurnReply(reply.ending, pending.answer, reply.alarm, reply.refused, pending.error)
            )

    # --- keeping ---------------------------------------------------------------------------

    def _keep(self, effect: CommitTurn) -> None:
        pending = self._pending.get(effect.turn.id)
        host = pending.host if pending is not None else None
        if host is None:
            stored = StoredTurn(effect.turn.instance, effect.row)
        else:
            stored = host.left_behind(effect.row, keep=effect.keep_writes)
        self._ended.append(EndedTurn(stored, effect.turn.id, len(self._entries)))
        self._plan_flush()

    def record(self, entry: Entry) -> None:
        """Write an entry into the journal: with the next turn that is kept, or a moment later.

        An entry alone tells of nothing that has to survive, and a transaction costs as much as a
        turn. Whoever reads the journal flushes first.
        """
        self._entries.append(entry)
        if not self._flush_planned and not self._late_flush_planned:
            self._late_flush_planned = True
            call_later_real_ms(self.loop, ENTRY_DELAY_MS, self._flush_late)

    def _flush_late(self) -> None:
        self._late_flush_planned = False
        self.flush()

    def _task_failed(
        self, instance: InstanceId | None, turn_id: int, failure: Failure, error: BaseException
    ) -> None:
        self.note_assertion(error)
        self.notices.task_failed(instance, turn_id, failure)

    def _plan_flush(self) -> None:
        if not self._flush_planned:
            self._flush_planned = True
            self.loop.call_soon(self.flush, context=self.loop.plain_context)

    def keep_position(self) -> None:
        """Keep where a clock at a rate stands: it does not run while nothing does."""
        if self.clock.mode is ClockMode.RATE and self.broken is None:
            with suppress(EdgeemuError):
                self.store.apply(Batch(real_at_ms=0, meta={META_POSITION: self.position.read()}))

    def flush(self) -> None:
        """Apply everything that ended since the last time, then tell the machine."""
        self._flush_planned = False
        ended, self._ended = self._ended, []
        entries, self._entries = self._entries, []
        parts = split(ended, entries, self.store.stands_alone)
        for part, outcome in [(part, self._apply(part)) for part in parts]:
            self._tell(part, outcome)

    def _apply(self, part: Part) -> list[Recorded] | EdgeemuError:
        turns = [each.stored for each in part.turns]
        news = self.position.news(len(part.entries))
        batch = Batch(turns, part.entries, self.clock.real_ms(), news)
        try:
            recorded = self.store.apply(batch)
        except EdgeemuError as error:
            return error
        except Exception as error:  # Nobody knows what of it is kept.
            raise self._break(error)  # noqa: B904 - it says itself what it comes from
        self.position.note_kept(news, len(part.entries))
        return recorded

    def _tell(self, part: Part, outcome: list[Recorded] | EdgeemuError) -> None:
        if isinstance(outcome, EdgeemuError):
            self._tell_failed(part, outcome)
            return
        for each in part.turns:
            alarm = each.stored.row.alarm
            self.schedule.note(each.stored.instance, alarm)
            if alarm is not None:  # Told only now: whoever looks before would not find it yet.
                self.on_schedule(alarm.fire_at_ms)
        for each in part.turns:
            self.dispatch(TurnCommitted(self.clock.now_ms(), each.turn_id))
        for watcher in self.watchers:
            watcher(outcome)

    def _tell_failed(self, part: Part, error: EdgeemuError) -> None:
        """Try the turns one by one, so that one that cannot be stored costs no other its writes."""
        if len(part.turns) > 1:
            for single in part.one_by_one():
                self._tell(single, self._apply(single))
            return
        lost = {each.turn_id for each in part.turns}
        others = [entry for entry in part.entries if entry.turn not in lost]
        self._entries[:0] = others[-JOURNAL_PAGE_MAX:]  # They go with what is kept next.
        alone = [
            each.stored.instance for each in part.turns if self.store.stands_alone(each.stored)
        ]
        self.faults.note(error, *alone)
        for each in part.turns:
            with suppress(EdgeemuError):
                self.store.rollback_sql(each.stored.instance)
            if (pending := self._pending.get(each.turn_id)) is not None:
                pending.error = error
            message = f"{error.what}: {error.why}"
            self.dispatch(CommitFailed(self.clock.now_ms(), each.turn_id, message))
        self.on_schedule(0)  # A delivery that is not kept is due again, though nothing is new.

    # --- what the engine tells -------------------------------------------------------------

    def blocked(self, host: Host, took_ms: int) -> None:
        """A step of a turn held everything up: name it."""
        pending = self._pending.get(host.turn_id)
        turn = pending.turn if pending is not None else None
        tell = self.notices.blocked
        # A step still runs: what records anything waits until it is over.
        context = self.loop.plain_context
        self.loop.call_soon(tell, host, turn, took_ms, self._engine, context=context)

    def _timers_changed(self) -> None:
        at_ms = self.timers.next_at_ms()
        if at_ms is not None:
            self.on_schedule(at_ms)
