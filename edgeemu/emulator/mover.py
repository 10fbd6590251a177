"""Moving time: from due instant to due instant, everything due at each one to quiescence.

Promise: nothing is delivered before its instant; an alarm set on the way fires in the same move;
the clock never shows the end of a move before everything due until then has run.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from edgeemu.clock import (
    ClockMode,
    pause_real_ms,
    stopwatch_ns,
    wait_event_real_ms,
)
from edgeemu.core.events import AlarmDue, TimePassed
from edgeemu.core.journal import Entry, Kind, Recorded
from edgeemu.core.rows import Alarm
from edgeemu.emulator.shell import Shell
from edgeemu.engines.port import Engine, Waiting
from edgeemu.errors import Code, EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.limits import (
    BATCH_SETTLE_MS,
    DELIVERY_BATCH_MAX,
    LIST_PAGE_MAX,
    OUTSIDE_POLL_MS,
    STORM_GAP_MS,
)
from edgeemu.stores.port import DueAlarm
from edgeemu.units import CLOCK_MS_MAX, format_instant


@dataclass(slots=True)
class Tally:
    """What was delivered while time moved (design section 4)."""

    deliveries: int = 0
    succeeded: int = 0
    failed: int = 0
    gave_up: int = 0


@dataclass(slots=True)
class _Storms:
    """Counts deliveries to each instance that follow one another too closely (design D3)."""

    count_max: int
    runs: dict[InstanceId, tuple[int, int]] = field(default_factory=dict)
    found: dict[InstanceId, int] = field(default_factory=dict)

    def note(self, instance: InstanceId, now_ms: int) -> bool:
        """Note a delivery; whether it is one too many."""
        last_ms, count = self.runs.get(instance, (now_ms - STORM_GAP_MS, 0))
        count = count + 1 if now_ms - last_ms < STORM_GAP_MS else 1
        self.runs[instance] = (now_ms, count)
        if count > self.count_max:
            self.found[instance] = count - 1
            return True
        return False

    def error(self) -> EdgeemuError:
        instance, count = next(iter(self.found.items()))
        return EdgeemuError(
            Code.ALARM_STORM,
            what=f"{instance} was delivered its alarm {count} times less than a second apart",
            why="its handler sets the alarm again for an instant that is already due, without end",
            fix="re-arm for later, or stop re-arming; see `edgeemu alarms history`",
        )


@dataclass(frozen=True, slots=True)
class _Held:
    """What `--hold-overdue` leaves alone: alarms that were overdue when the emulator started."""

    by_ms: int
    before_turn: int

    def holds(self, alarm: Alarm) -> bool:
        """Whether an alarm is one of them; what is set afterwards for now is none."""
        return alarm.fire_at_ms <= self.by_ms and (alarm.set_turn or 0) < self.before_turn


class Mover:
    """Moves the clock of one shell and fires what is due."""

    def __init__(
        self,
        shell: Shell,
        engine: Engine,
        *,
        types: Callable[[], Collection[str]],
        io_wait_ms: int,
        storm_count_max: int,
        idle_steps_max: int,
    ) -> None:
        self._shell = shell
        self._engine = engine
        self._clock = shell.clock
        self._types = types
        self._io_wait_ms = io_wait_ms
        self._storm_count_max = storm_count_max
        self._idle_steps_max = idle_steps_max
        self._storms = _Storms(storm_count_max)
        self._moving = asyncio.Lock()
        self._poke = asyncio.Event()
        self._planned_ms: int | None = None
        self._in_move = False
        self._ticker: asyncio.Task[None] | None = None
        self._held: _Held | None = None
        self._tally = Tally()
        self._stopped: Callable[[], BaseException | None] = lambda: None
        shell.on_schedule = self._scheduled
        shell.watchers.append(self._count)

    # --- real time -------------------------------------------------------------------------

    def start_ticker(self) -> None:
        """Fire what is due as time passes by itself."""
        if self._ticker is None:
            self._ticker = asyncio.get_running_loop().create_task(self._tick())
            self._ticker.add_done_callback(self._ticker_ended)

    async def stop_ticker(self) -> None:
        """Leave what is due alone from now on."""
        ticker, self._ticker = self._ticker, None
        if ticker is not None:
            ticker.cancel()
            await asyncio.gather(ticker, return_exceptions=True)

    def _ticker_ended(self, ticker: asyncio.Task[None]) -> None:
        if not ticker.cancelled() and (error := ticker.exception()) is not None:
            self._shell.on_broken(error)

    def hold_overdue(self) -> None:
        """Leave alone what is overdue now, until a command moves time."""
        self._held = _Held(self._clock.now_ms(), self._shell.machine.next_turn_id)

    def stop_when(self, stopped: Callable[[], BaseException | None]) -> None:
        """Ask `stopped` between instants whether a move must end with an error."""
        self._stopped = stopped

    def poke(self) -> None:
        """Look at the schedule again: the clock or the schedule has changed."""
        self._poke.set()

    def _scheduled(self, at_ms: int) -> None:
        if self._planned_ms is None or at_ms < self._planned_ms:
            self._poke.set()

    async def _tick(self) -> None:
        while True:
            self._poke.clear()
            if not self._moving.locked():
                if self._fire_due() >= DELIVERY_BATCH_MAX:
                    await self._engine.settle(BATCH_SETTLE_MS)
                self._report_storms()
            at_ms = self._next_instant_ms(None)
            delay_ms = None if at_ms is None else self._clock.real_delay_ms(at_ms)
            self._planned_ms = at_ms
            if (fault := self._shell.faults.take()) is not None:
                self._shell.notices.state_unwritable(fault)
                delay_ms = max(delay_ms or 0, 1_000.0)  # A store that cannot write gets time.
                await pause_real_ms(delay_ms)
            elif self._moving.locked():
                await wait_event_real_ms(self._poke, None)
            else:
                await wait_event_real_ms(self._poke, delay_ms)

    def _report_storms(self) -> None:
        """While time passes by itself a storm is told once; their spacing bounds it."""
        for instance, count in self._storms.found.items():
            message = f"{instance} was delivered its alarm {count} times less than a second apart"
            self._shell.notices.warn("W_ALARM_STORM", message, str(instance), instance)
        self._storms.found.clear()

    # --- what is due -----------------------------------------------------------------------

    def _due(
        self, fire_by_ms: int | None, eligible_by_ms: int | None, wanted: int
    ) -> list[DueAlarm]:
        """The first `wanted` alarms that are not being delivered already, nor held back."""
        machine, stormy, held = self._shell.machine, self._storms.found, self._held
        at_fault = self._shell.faults
        limit = wanted + machine.delivering_count + len(stormy) + len(at_fault)
        due = self._shell.schedule.due(
            fire_by_ms=fire_by_ms,
            eligible_by_ms=eligible_by_ms,
            limit=limit if held is None else LIST_PAGE_MAX,
        )
        types = self._types()
        orphans = [found for found in due if found.instance.type not in types]
        if orphans:  # They stand in front of others, so look further.
            self._tell_of_orphans(orphans)
            due = self._shell.schedule.due(
                fire_by_ms=fire_by_ms, eligible_by_ms=eligible_by_ms, limit=LIST_PAGE_MAX
            )
        free = (
            found
            for found in due
            if not machine.delivers(found.instance)
            and found.instance.type in types
            and found.instance not in stormy
            and found.instance not in at_fault
            and not (held is not None and held.holds(found.alarm))
        )
        return list(islice(free, wanted))

    def _tell_of_orphans(self, orphans: list[DueAlarm]) -> None:
        """An alarm whose type no longer is declared waits: delivered, it could only be burnt."""
        for type_name in sorted({found.instance.type for found in orphans}):
            message = (
                f"alarms of {type_name} are due, but the configuration does not declare that type: "
                "they wait until it does"
            )
            self._shell.notices.warn("W_ALARM_ORPHAN", message, type_name)

    def _fire_due(self) -> int:
        """Fire everything due at the present instant; how much that was."""
        now_ms = self._clock.now_ms()
        shell = self._shell
        shell.dispatch(TimePassed(now_ms))
        fired = 0
        for timer in shell.timers.take_due(now_ms):
            timer.fire()
            fired += 1
        for found in self._due(now_ms, None, DELIVERY_BATCH_MAX):
            # In a move a storm is held back, so that the others still get their alarms.
            if self._storms.note(found.instance, now_ms) and self._in_move:
                continue
            shell.dispatch(AlarmDue(now_ms, found.instance, found.alarm.generation))
            fired += 1
        return fired

    def _next_instant_ms(self, until_ms: int | None) -> int | None:
        """The first instant at which something is due; alarms are due by their due instant."""
        until_ms = CLOCK_MS_MAX if until_ms is None else min(until_ms, CLOCK_MS_MAX)
        instants = []
        due = self._due(None, until_ms, 1)
        if due:
            instants.append(max(due[0].alarm.fire_at_ms, self._clock.now_ms()))
        timer_ms = self._shell.timers.next_at_ms()
        if timer_ms is not None and timer_ms <= until_ms:
            instants.append(max(timer_ms, self._clock.now_ms()))
        return min(instants, default=None)

    # --- quiescence ------------------------------------------------------------------------

    async def quiesce(self) -> None:
        """This waits until every turn is finished or waits on virtual time or another turn.

        Raises:
            EdgeemuError: `E_IO_WAIT` when a turn waits on the outside for too long.
        """
        started_ns = stopwatch_ns()
        while True:
            left_ms = self._io_wait_ms - (stopwatch_ns() - started_ns) // 1_000_000
            if not await self._engine.settle(max(1, left_ms)):
                raise self._io_error(next(iter(self._engine.waiting()), None), "never waits")
            outside = self._engine.waiting(outside_only=True)
            if not outside:
                return
            if left_ms <= 0:
                raise self._io_error(outside[0], "waits on the outside")
            await pause_real_ms(OUTSIDE_POLL_MS)

    def _io_error(self, waiting: Waiting | None, how: str) -> EdgeemuError:
        who = "a turn" if waiting is None else f"{waiting.instance or 'the function in front'}"
        turn = "" if waiting is None else f" (turn {waiting.turn_id})"
        where = "" if waiting is None or waiting.where is None else f" at {waiting.where}"
        return EdgeemuError(
            Code.IO_WAIT,
            what=f"{who}{turn} {how}{where}, so time cannot move",
            why=f"a turn may hold the time for {self._io_wait_ms} ms of real time",
            fix="let the answer come sooner, such as from a local stand-in, "
            "or raise io_wait_ms under [limits] in edgeemu.toml",
        )

    async def _run(self, until_ms: int | None, *, steps_max: int | None = None) -> bool:
        """Run what is due, instant by instant, each to quiescence.

        Args:
            until_ms: as far as what is due by then; None for no end.
            steps_max: instants to move on at most; 0 stays at the present one.

        Returns:
            Whether all of it has run.
        """
        steps = 0
        while True:
            await self.quiesce()
            error = self._stopped() or self._shell.faults.take()
            if error is not None:
                raise error
            instant_ms = self._next_instant_ms(self._latest_due_ms(until_ms))
            if instant_ms is None:
                return True
            if instant_ms > self._clock.now_ms():
                if steps == steps_max:
                    return False
                steps += 1
                self._clock.move_to(instant_ms)
            self._fire_due()

    def _latest_due_ms(self, until_ms: int | None) -> int | None:
        """Until when something has to be due to belong to a move that goes as far as `until_ms`.

        Lateness and spacing carry a delivery past the end. What its handler sets for "now" is due
        at once, so it belongs to the move; that a clock runs by itself is no such reason.
        """
        if until_ms is not None and self._clock.mode is ClockMode.FROZEN:
            return max(until_ms, self._clock.now_ms())
        return until_ms

    # --- moves -----------------------------------------------------------------------------

    @contextmanager
    def _move(self) -> Iterator[Tally]:
        """One command that moves time: its own count of storms, nothing held back any more."""
        self._held = None
        ticking, self._storms = self._storms, _Storms(self._storm_count_max)
        self._tally = Tally()
        self._shell.faults.forget()  # What a call met before is not this move's.
        self._in_move = True
        try:
            yield self._tally
            if self._storms.found:
                raise self._storms.error()
        finally:
            self._in_move = False
            self._storms = ticking
            self.poke()

    async def advance_to(self, target_ms: int) -> Tally:
        """Move to `target_ms`, firing every alarm that is due by then.

        Raises:
            EdgeemuError: `E_ALARM_STORM`, `E_IO_WAIT`.
        """
        async with self._moving:
            with self._move() as tally:
                await self._advance(target_ms)
            return tally

    async def _advance(self, target_ms: int) -> None:
        await self._run(target_ms)
        self._clock.move_to(target_ms)
        self._shell.dispatch(TimePassed(self._clock.now_ms()))
        await self.quiesce()

    async def jump_to(self, instant_ms: int) -> Tally:
        """Set the clock to `instant_ms` at once; what is overdue then fires there."""
        async with self._moving:
            with self._move() as tally:
                await self.quiesce()
                self._clock.set_to(instant_ms)
                await self._run(None, steps_max=0)
            return tally

    async def next_instant(self) -> Tally:
        """Move to the next instant at which something is due, and run it."""
        async with self._moving:
            with self._move() as tally:
                await self._run(None, steps_max=1)
            return tally

    async def until_idle(self) -> Tally:
        """Move on until nothing is due any more.

        Raises:
            EdgeemuError: `E_NEVER_IDLE` after as many instants as configured, `E_ALARM_STORM`.
        """
        async with self._moving:
            with self._move() as tally:
                if not await self._run(None, steps_max=self._idle_steps_max):
                    raise self._never_idle()
            return tally

    def _never_idle(self) -> EdgeemuError:
        due = self._due(None, None, 1)
        who = str(due[0].instance) if due else "a timer"
        return EdgeemuError(
            Code.NEVER_IDLE,
            what=f"after {self._idle_steps_max} instants something is still due: {who}",
            why="an actor that re-arms its alarm without end never becomes idle; "
            f"the clock stands at {format_instant(self._clock.now_ms())}",
            fix="use `edgeemu clock advance` with a duration, or let the handler stop re-arming",
        )

    async def run_present(self) -> Tally:
        """Fire what is due now, without moving the clock."""
        async with self._moving:
            with self._move() as tally:
                await self._run(None, steps_max=0)
            return tally

    def set_mode(self, mode: ClockMode, rate: float, cause: str) -> None:
        """Let time go on in another mode from the present instant."""
        self._clock.set_mode(mode, rate)
        self.note_clock("mode", cause)
        self.poke()

    def note_clock(self, what: str, cause: str) -> None:
        """Record that the clock was changed; its new position is kept before the answer."""
        self._note(what, cause, {})

    def note_move(self, what: str, cause: str, from_ms: int, tally: Tally | None) -> None:
        """Record a move from an instant on; one that failed on the way has no tally."""
        data: dict[str, Any] = {"moved_ms": self._clock.now_ms() - from_ms}
        if tally is not None:
            self._shell.flush()  # So that the schedule knows of every alarm.
            following = self._shell.schedule.due(fire_by_ms=None, limit=1)
            data["deliveries"] = tally.deliveries
            data["next_due_at_ms"] = following[0].alarm.fire_at_ms if following else None
        self._note(what, cause, data)

    def _note(self, what: str, cause: str, more: dict[str, Any]) -> None:
        mode = {"mode": self._clock.mode.value, "rate": self._clock.rate}
        data = {"what": what, **mode, **more}
        self._shell.record(Entry(Kind.CLOCK, self._clock.now_ms(), cause=cause, data=data))
        self._shell.flush()  # Before the answer: it must not go back after a kill.

    def _count(self, recorded: list[Recorded]) -> None:
        tally = self._tally
        for item in recorded:
            entry = item.entry
            if entry.kind is Kind.ALARM:
                tally.deliveries += 1
                if entry.data["outcome"] == "succeeded":
                    tally.succeeded += 1
                else:
                    tally.failed += 1
            elif entry.kind is Kind.ALARM_GIVEN_UP:
                tally.gave_up += 1
