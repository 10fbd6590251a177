"""Timers on the virtual clock: a heap ordered by (instant, sequence number), and nothing else."""

import heapq
from collections.abc import Callable


class Timer:
    """One timer: `fire` is called when the clock has reached `at_ms`, unless it was cancelled."""

    __slots__ = ("_timers", "at_ms", "cancelled", "fire", "seq")

    def __init__(self, timers: "Timers", at_ms: int, seq: int, fire: Callable[[], None]) -> None:
        self._timers = timers
        self.at_ms = at_ms
        self.seq = seq
        self.fire = fire
        self.cancelled = False

    def cancel(self) -> None:
        """Never fire; a timer that has fired does not mind."""
        if not self.cancelled:
            self.cancelled = True
            self.fire = _nothing  # What it would have called is free to go.
            self._timers.note_cancelled()

    def __lt__(self, other: "Timer") -> bool:
        return (self.at_ms, self.seq) < (other.at_ms, other.seq)


def _nothing() -> None:
    """What a cancelled timer would do."""


CANCELLED_KEPT_MAX = 256
"""Cancelled timers that may lie in the heap, unless more than as many wait for their time."""


class Timers:
    """All timers that wait: sleeps and timeouts of actor code, and the budgets of turns."""

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        self._heap: list[Timer] = []
        self._seq = 0
        self._cancelled_count = 0
        self._on_change = on_change

    def add(self, at_ms: int, fire: Callable[[], None]) -> Timer:
        """Have `fire` called at the instant `at_ms`."""
        self._seq += 1
        timer = Timer(self, at_ms, self._seq, fire)
        heapq.heappush(self._heap, timer)
        if self._heap[0] is timer:
            self._on_change()
        return timer

    def note_cancelled(self) -> None:
        """One more timer lies in the heap for nothing; sweep, lest a frozen clock collects them.

        Each turn has a timer for its budget and cancels it, and where time stands still none of
        them ever comes to the head of the heap.
        """
        self._cancelled_count += 1
        if self._cancelled_count > max(CANCELLED_KEPT_MAX, len(self._heap) // 2):
            self._heap = [timer for timer in self._heap if not timer.cancelled]
            heapq.heapify(self._heap)
            self._cancelled_count = 0

    def next_at_ms(self) -> int | None:
        """When the first timer is due, or None if none waits."""
        while self._heap and self._heap[0].cancelled:
            heapq.heappop(self._heap)
            self._cancelled_count -= 1
        return self._heap[0].at_ms if self._heap else None

    def take_due(self, now_ms: int) -> list[Timer]:
        """The timers that are due at `now_ms`, in order; they wait no more."""
        due = []
        while (at_ms := self.next_at_ms()) is not None and at_ms <= now_ms:
            due.append(heapq.heappop(self._heap))
        return due
