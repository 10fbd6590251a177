"""The clock control of the facade: read, freeze, resume, advance, set, rate, next, idle."""

from collections.abc import Awaitable
from dataclasses import asdict
from typing import Any

from edgeemu.clock import ClockMode, EmulatorClock, check_rate, describe_clock
from edgeemu.emulator import problems
from edgeemu.emulator.mover import Mover, Tally


class ClockControl:
    """Reads and moves the emulated time. Each answer is `{now_ms, now, mode, rate}`; after a move
    also `{from_ms, deliveries, succeeded, failed, gave_up}` (design section 4)."""

    def __init__(self, mover: Mover, clock: EmulatorClock, cause: str) -> None:
        self._mover = mover
        self._clock = clock
        self._cause = cause

    def read(self) -> dict[str, Any]:
        """The present instant and how time moves."""
        return describe_clock(self._clock)

    def freeze(self) -> dict[str, Any]:
        """Stop the time."""
        self._mover.set_mode(ClockMode.FROZEN, 1.0, self._cause)
        return self.read()

    def resume(self) -> dict[str, Any]:
        """Let time pass at the real pace from the present instant."""
        self._mover.set_mode(ClockMode.REAL, 1.0, self._cause)
        return self.read()

    def set_rate(self, rate: float) -> dict[str, Any]:
        """Let time pass at a rate.

        Raises:
            EdgeemuError: `E_RATE_INVALID`.
        """
        self._mover.set_mode(ClockMode.RATE, check_rate(rate), self._cause)
        return self.read()

    async def advance(self, duration_ms: int) -> dict[str, Any]:
        """Move forward, delivering every alarm that is due on the way.

        Raises:
            EdgeemuError: `E_ADVANCE_NEGATIVE`, `E_INSTANT_INVALID`, `E_ALARM_STORM`, `E_IO_WAIT`.
        """
        if duration_ms < 0:
            raise problems.negative_advance(duration_ms)
        target_ms = self._clock.now_ms() + duration_ms
        problems.check_clock_instant(target_ms)
        return await self._move("advance", self._mover.advance_to(target_ms))

    async def set_to(self, instant_ms: int) -> dict[str, Any]:
        """Jump; forward, what is overdue fires at the new instant; back, nothing fires twice.

        Raises:
            EdgeemuError: `E_INSTANT_INVALID`, `E_ALARM_STORM`, `E_IO_WAIT`.
        """
        problems.check_clock_instant(instant_ms)
        return await self._move("set", self._mover.jump_to(instant_ms))

    async def next(self) -> dict[str, Any]:
        """Move to the next due instant and run it."""
        return await self._move("next", self._mover.next_instant())

    async def idle(self) -> dict[str, Any]:
        """Move on until nothing is due.

        Raises:
            EdgeemuError: `E_NEVER_IDLE`, `E_ALARM_STORM`, `E_IO_WAIT`.
        """
        return await self._move("idle", self._mover.until_idle())

    async def _move(self, what: str, move: Awaitable[Tally]) -> dict[str, Any]:
        from_ms = self._clock.now_ms()
        tally = None
        try:
            tally = await move
        finally:  # A move that fails on the way has moved the clock, too.
            self._mover.note_move(what, self._cause, from_ms, tally)
        return {**self.read(), "from_ms": from_ms, **asdict(tally)}
