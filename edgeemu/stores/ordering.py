"""A sorted set for the store in memory: ranges in order, and changes that stay cheap as it grows.

The items lie in runs of at most `RUN_ITEMS_MAX`, so a change moves one run at most and finds its
place in O(log n). A heap with lazy removal was tried on paper and dropped: it cannot be walked in
order without being emptied, and the schedule is walked far more often than it changes.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

Item = TypeVar("Item", bound=Any)

RUN_ITEMS_MAX = 1_024
"""Items of one run; it is cut in half beyond."""


class SortedSet(Generic[Item]):
    """Items of one comparable kind, each at most once, in ascending order."""

    __slots__ = ("_count", "_firsts", "_runs")

    def __init__(self) -> None:
        self._runs: list[list[Item]] = []
        self._firsts: list[Item] = []
        """The first item of each run: where to look for a given one."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, item: Item) -> None:
        """Put an item in its place; one that is there already stays."""
        if not self._runs:
            self._runs.append([item])
            self._firsts.append(item)
            self._count = 1
            return
        at = self._run_of(item)
        run = self._runs[at]
        place = bisect_left(run, item)
        if place < len(run) and run[place] == item:
            return
        run.insert(place, item)
        self._count += 1
        self._firsts[at] = run[0]
        if len(run) > RUN_ITEMS_MAX:
            half = run[len(run) // 2 :]
            del run[len(run) // 2 :]
            self._runs.insert(at + 1, half)
            insort(self._firsts, half[0])

    def discard(self, item: Item) -> None:
        """Take an item out, if it is there."""
        if not self._runs:
            return
        at = self._run_of(item)
        run = self._runs[at]
        place = bisect_left(run, item)
        if place == len(run) or run[place] != item:
            return
        del run[place]
        self._count -= 1
        if run:
            self._firsts[at] = run[0]
        else:
            del self._runs[at]
            del self._firsts[at]

    def ascend(self, lower: Item | None = None, upper: Item | None = None) -> Iterator[Item]:
        """The items from `lower` on and below `upper`, ascending; None for no bound."""
        at, place = self._place_of(lower)
        end_at, end_place = self._end_of(upper)
        while at <= end_at and at < len(self._runs):
            run = self._runs[at]
            yield from run[place:end_place] if at == end_at else run[place:]
            at, place = at + 1, 0

    def descend(self, lower: Item | None = None, upper: Item | None = None) -> Iterator[Item]:
        """The items from `lower` on and below `upper`, descending; None for no bound."""
        first_at, first_place = self._place_of(lower)
        at, place = self._end_of(upper)
        while at >= first_at and at >= 0:
            run = self._runs[at][:place] if place is not None else self._runs[at]
            yield from reversed(run[first_place:] if at == first_at else run)
            at, place = at - 1, None

    def _run_of(self, item: Item) -> int:
        """The run that holds an item, or would."""
        at = bisect_left(self._firsts, item)
        if at == len(self._firsts) or self._firsts[at] != item:
            at -= 1
        return max(at, 0)

    def _place_of(self, lower: Item | None) -> tuple[int, int]:
        if lower is None or not self._runs:
            return 0, 0
        at = self._run_of(lower)
        return at, bisect_left(self._runs[at], lower)

    def _end_of(self, upper: Item | None) -> tuple[int, int | None]:
        if upper is None or not self._runs:
            return len(self._runs) - 1, None
        at = self._run_of(upper)
        return at, bisect_left(self._runs[at], upper)
