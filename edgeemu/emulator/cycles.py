"""Calls that wait, in the end, for themselves (spec/telnyx-actors.md section 4.2, U17)."""

from collections.abc import Callable

from edgeemu.core.events import Turn

AskedBy = Callable[[int], tuple[Turn, int | None] | None]
"""A turn that has not ended, by its number, and the number of the turn that asked for it."""


def cycle_of(turn: Turn, parent: int | None, find: AskedBy) -> str | None:
    """The cycle that a new turn closes, as `A/x -> B/y -> A/x`, if it closes one.

    Args:
        turn: that is asked for.
        parent: the turn that asks.
        find: looks up the turns under way.
    """
    path = [str(turn.instance)]
    while parent is not None and (found := find(parent)) is not None:
        asking, parent = found
        path.append(str(asking.instance))
        if asking.instance == turn.instance:
            return " -> ".join(reversed(path))
    return None
