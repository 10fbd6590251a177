"""Calls that wait, in the end, for themselves (spec/telnyx-actors.md section 4.2, U17)."""

from collections.abc import Callable

from edgeemu.core.events import Turn
from edgeemu.ids import InstanceId


class WaitingCalls:
    """Who waits for whom among the turns that other turns asked for.

    A turn that waits in a queue waits for the one that runs before it; one that runs waits for
    those that it asked for. So two turns that ask for one another's instances are found too.

    Args:
        running_on: the turn that runs on an instance, if one does.
    """

    def __init__(self, running_on: Callable[[InstanceId], Turn | None]) -> None:
        self._running_on = running_on
        self._asked: dict[int, dict[int, Turn]] = {}

    def add(self, turn: Turn, parent: int | None) -> str | None:
        """A turn is asked for by another: the cycle that it closes, if it does.

        Args:
            turn: that is asked for.
            parent: the number of the turn that asks.

        Returns:
            The cycle as `A/x -> B/y -> A/x`.
        """
        if parent is None:
            return None
        cycle = self._cycle_of(turn, parent)
        self._asked.setdefault(parent, {})[turn.id] = turn
        return cycle

    def remove(self, turn: Turn, parent: int | None) -> None:
        """It has ended."""
        asked = self._asked.get(parent) if parent is not None else None
        if asked is not None and asked.pop(turn.id, None) is not None and not asked:
            del self._asked[parent]  # type: ignore[arg-type]

    def asked_by(self, turn: Turn) -> list[Turn]:
        """The turns that a turn has asked for and that have not ended."""
        return list(self._asked.get(turn.id, {}).values())

    def _cycle_of(self, turn: Turn, parent: int) -> str | None:
        seen: set[int] = set()
        paths = [(turn, [str(turn.instance)])]
        while paths:
            each, path = paths.pop()
            running = self._running_on(each.instance)
            if running is None or running.id in seen:
                continue
            seen.add(running.id)
            if running.id == parent:
                return " -> ".join([*path, str(turn.instance)])
            for asked in self.asked_by(running):
                paths.append((asked, [*path, str(asked.instance)]))
        return None
