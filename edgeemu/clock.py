"""The one clock. Nothing else in edgeemu reads the real time, waits for it, or fakes it.

Three things live here. `SystemClock` reads the machine. `EmulatorClock` is the time of the
emulated world: integers, milliseconds since the epoch, real (with a kept offset), frozen, or at a
rate. `ActorTime` shows that time to Python actor code, and only while a step of it runs.

Time never goes back by itself: a wall clock that is stepped back makes the emulated time wait.
Only `EmulatorClock.set_to`, which a user asks for, may move it back.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from edgeemu.errors import Code, EdgeemuError
from edgeemu.units import InstantMs, format_instant

RATE_MAX = 1_000_000.0
"""The fastest rate, in virtual milliseconds for each real one."""


class ClockMode(StrEnum):
    """How the emulated time moves on its own."""

    REAL = "real"
    FROZEN = "frozen"
    RATE = "rate"


@dataclass(frozen=True, slots=True)
class ClockState:
    """What a state folder keeps of the clock, so that time does not go back over a restart.

    `now_ms` is the emulated instant and `real_at_ms` the wall clock at the moment of saving;
    `rate` is virtual milliseconds for each real one (0 while frozen).
    """

    mode: ClockMode
    rate: float
    now_ms: int
    real_at_ms: int


class RealClock(Protocol):
    """What an `EmulatorClock` needs to know of the real world."""

    def wall_ms(self) -> int:
        """The wall clock, in milliseconds since the epoch."""


class SystemClock:
    """The machine's own wall clock."""

    def wall_ms(self) -> int:
        """The wall clock, in milliseconds since the epoch, even inside a step of actor code."""
        return (_unfaked_time_ns or time.time_ns)() // 1_000_000


class FixedRealClock:
    """A wall clock that moves only when told: for tests of everything that depends on it."""

    def __init__(self, wall_ms: int = 1_893_456_000_000) -> None:
        self._wall_ms = wall_ms

    def wall_ms(self) -> int:
        """The instant that was last set, in milliseconds since the epoch."""
        return self._wall_ms

    def shift(self, duration_ms: int) -> None:
        """Move by `duration_ms`, in either direction."""
        self._wall_ms += duration_ms


class EmulatorClock:
    """The time of the emulated world.

    Changing the mode or the rate rebases, so the instant never jumps by accident.
    """

    def __init__(self, real: RealClock, state: ClockState | None = None) -> None:
        """This starts at the wall clock, or where `state` left off.

        A real clock goes on with its offset, so time that passed while nothing ran has passed. A
        frozen clock and one at a rate go on where they were.
        """
        self._real = real
        wall_ms = real.wall_ms()
        if state is None:
            state = ClockState(ClockMode.REAL, 1.0, wall_ms, wall_ms)
        self._mode = state.mode
        self._rate = state.rate
        passed_ms = max(0, wall_ms - state.real_at_ms) if state.mode is ClockMode.REAL else 0
        self._base_ms = state.now_ms + passed_ms
        self._base_real_ms = wall_ms
        self._latest_ms = self._base_ms
        self._held_ms: int | None = None

    @property
    def mode(self) -> ClockMode:
        """How the time moves on its own."""
        return self._mode

    @property
    def rate(self) -> float:
        """Virtual milliseconds for each real one: 1 for real, 0 for frozen."""
        return self._rate

    def now_ms(self) -> InstantMs:
        """The emulated instant. A step of actor code sees one instant from start to end."""
        if self._held_ms is not None:
            return InstantMs(self._held_ms)
        if self._rate:
            passed = self._real.wall_ms() - self._base_real_ms
            now_ms = self._base_ms + (passed if self._rate == 1.0 else int(passed * self._rate))
            self._latest_ms = max(now_ms, self._latest_ms)
        return InstantMs(self._latest_ms)

    def real_ms(self) -> int:
        """The wall clock, in milliseconds since the epoch: for records, never for decisions."""
        return self._real.wall_ms()

    def real_delay_ms(self, until_ms: int) -> float | None:
        """Real milliseconds until the instant `until_ms`, or None if the clock is frozen."""
        left_ms = until_ms - self.now_ms()
        if left_ms <= 0:
            return 0.0
        return left_ms / self._rate if self._rate else None

    def hold(self, now_ms: int) -> None:
        """Let everybody see `now_ms` until `release`: for the length of a step of actor code."""
        self._held_ms = now_ms

    def release(self) -> None:
        """Let the time be read afresh again."""
        self._held_ms = None

    def move_to(self, instant_ms: int) -> None:
        """Move forward to `instant_ms`; an instant that is already past changes nothing."""
        now_ms = self.now_ms()
        if instant_ms > now_ms:
            self._rebase(instant_ms)

    def set_to(self, instant_ms: int) -> None:
        """Jump to `instant_ms`, back or forward: only because a user asks for it."""
        self._rebase(instant_ms)

    def set_mode(self, mode: ClockMode, rate: float = 1.0) -> None:
        """Go on from the present instant in another mode.

        Args:
            mode: the new mode.
            rate: virtual milliseconds for each real one, for `ClockMode.RATE` only.

        Raises:
            EdgeemuError: `E_RATE_INVALID` when the rate is not above 0 and at most `RATE_MAX`.
        """
        if mode is ClockMode.RATE:
            rate = check_rate(rate)
        now_ms = self.now_ms()
        self._mode = mode
        self._rate = {ClockMode.REAL: 1.0, ClockMode.FROZEN: 0.0, ClockMode.RATE: rate}[mode]
        self._rebase(now_ms)

    def save(self) -> ClockState:
        """What to keep in the state folder."""
        return ClockState(self._mode, self._rate, self.now_ms(), self._real.wall_ms())

    def _rebase(self, now_ms: int) -> None:
        self._base_ms = now_ms
        self._latest_ms = now_ms
        self._base_real_ms = self._real.wall_ms()


def check_rate(rate: float) -> float:
    """`rate` itself, if a clock can run at it.

    Raises:
        EdgeemuError: `E_RATE_INVALID` otherwise.
    """
    if 0 < rate <= RATE_MAX:
        return rate
    raise EdgeemuError(
        Code.RATE_INVALID,
        what=f"`{rate:g}` cannot be a clock rate",
        why=f"a rate is above 0 and at most {RATE_MAX:g} (virtual for each real second)",
        fix="give such as 60 or 60x, or use `clock freeze` to stop the time",
    )


def parse_rate(text: str) -> float:
    """This reads a rate such as `60` or `60x`.

    Raises:
        EdgeemuError: `E_RATE_INVALID` for anything else.
    """
    try:
        rate = float(text.strip().removesuffix("x"))
    except ValueError:
        raise EdgeemuError(
            Code.RATE_INVALID,
            what=f"`{text}` is not a clock rate",
            why="a rate is a number: virtual seconds for each real second",
            fix="write it like 60 or 60x",
        ) from None
    return check_rate(rate)


def describe_clock(clock: EmulatorClock) -> dict[str, Any]:
    """The clock as every skin shows it: `{now_ms, now, mode, rate}` (design section 4)."""
    now_ms = clock.now_ms()
    return {
        "now_ms": now_ms,
        "now": format_instant(now_ms),
        "mode": clock.mode.value,
        "rate": clock.rate,
    }


# --- waiting for real time ---------------------------------------------------------------------


async def pause_real_ms(duration_ms: float) -> None:
    """This waits in real time, for bounds on the outside world; the emulated time is no matter."""
    await asyncio.sleep(duration_ms / 1_000)


def call_later_real_ms(
    loop: asyncio.AbstractEventLoop, duration_ms: float, function: Callable[[], object]
) -> None:
    """This has `function` called after `duration_ms` real ms, outside of every turn of an actor."""
    Context().run(loop.call_later, duration_ms / 1_000, function)


async def wait_event_real_ms(event: asyncio.Event, timeout_ms: float | None) -> bool:
    """This waits for `event`, at most `timeout_ms` real ms; whether it was set."""
    # Not `wait_for`: before Python 3.12 it loses a cancellation that comes with the event.
    seconds = None if timeout_ms is None else min(timeout_ms / 1_000, 86_400.0)
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def wait_thread_event_ms(event: threading.Event, timeout_ms: float) -> bool:
    """This waits in a thread for `event`, at most `timeout_ms` real ms; whether it was set."""
    return event.wait(timeout_ms / 1_000)


def pause_thread_ms(duration_ms: float) -> None:
    """This blocks the calling thread for `duration_ms` real ms: for commands, never in a loop."""
    time.sleep(duration_ms / 1_000)


def loop_time_s() -> float:
    """Real seconds as an event loop counts them, also while a step of actor code runs."""
    return _REAL_MONOTONIC()


stopwatch_ns: Callable[[], int] = time.perf_counter_ns
"""A running count of real nanoseconds, for measuring how long code took."""

_unfaked_time_ns: Callable[[], int] | None = None
"""Reads the real clock through the fake one, while a step of actor code runs."""


# --- the time that Python actor code sees ------------------------------------------------------

_REAL_MONOTONIC = time.monotonic
_REAL_MONOTONIC_NS = time.monotonic_ns


def _import_time_machine() -> Any:
    """Import time-machine without pytest, which it would load for its own fixture (130 ms)."""
    hide = "pytest" not in sys.modules
    if hide:
        sys.modules["pytest"] = None  # type: ignore[assignment]
    try:
        import time_machine
    finally:
        if hide:
            del sys.modules["pytest"]
    return time_machine


class ActorTime:
    """The emulated time as `time`, `datetime` and friends show it to actor code.

    `enter` and `leave` enclose one step of actor code: from where a coroutine goes on to where it
    waits next. Between steps the process sees real time, so the fake never reaches the tool
    itself. `time-machine` serves the wall clock (2 µs a step); `time.monotonic` is patched here,
    because time-machine leaves it alone.
    """

    def __init__(self, clock: EmulatorClock) -> None:
        time_machine = _import_time_machine()
        self._unfaked: Callable[[], int] = time_machine.escape_hatch.time.time_ns
        self._clock = clock
        self._travel = time_machine.travel(0, tick=False)
        self._now_ms = 0
        self._entered = False

    @property
    def entered(self) -> bool:
        """Whether a step of actor code runs right now."""
        return self._entered

    def enter(self, now_ms: int) -> None:
        """Show `now_ms` as the time until `leave`."""
        global _unfaked_time_ns  # noqa: PLW0603 - the fake is the process's own
        self._entered = True
        self._now_ms = now_ms
        self._clock.hold(now_ms)
        self._travel.destination_timestamp_ns = now_ms * 1_000_000
        self._travel.start()
        _unfaked_time_ns = self._unfaked
        time.monotonic = self._monotonic
        time.monotonic_ns = self._monotonic_ns

    def leave(self) -> None:
        """Show the real time again."""
        global _unfaked_time_ns  # noqa: PLW0603 - as in `enter`
        _unfaked_time_ns = None
        time.monotonic = _REAL_MONOTONIC
        time.monotonic_ns = _REAL_MONOTONIC_NS
        self._travel.stop()
        self._clock.release()
        self._entered = False

    def _monotonic(self) -> float:
        return self._now_ms / 1_000 if self._entered else _REAL_MONOTONIC()

    def _monotonic_ns(self) -> int:
        return self._now_ms * 1_000_000 if self._entered else _REAL_MONOTONIC_NS()

    def patch_imports(self) -> None:
        """Let `from time import monotonic` in a project's module follow the emulated time too."""
        time.monotonic = self._monotonic
        time.monotonic_ns = self._monotonic_ns

    def unpatch_imports(self) -> None:
        """Undo `patch_imports`."""
        time.monotonic = _REAL_MONOTONIC
        time.monotonic_ns = _REAL_MONOTONIC_NS
