"""Which turns that ended in one breath of the loop go to the store together.

Promise: the order of turns and of journal entries stays, each entry goes with the turn that it
tells of or with a later one, and a turn that stands alone shares its batch with no other turn.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from edgeemu.core.journal import Entry
from edgeemu.stores.port import StoredTurn


class EndedTurn(NamedTuple):
    """A turn that waits to be kept.

    Attributes:
        stored: what it leaves.
        turn_id: its number.
        entries_count: how many journal entries waited when it ended, its own included.
    """

    stored: StoredTurn
    turn_id: int
    entries_count: int


class Part(NamedTuple):
    """What becomes one batch: turns, and the entries that go with them."""

    turns: Sequence[EndedTurn]
    entries: Sequence[Entry]

    def one_by_one(self) -> "list[Part]":
        """Each turn by itself, with the entries that tell of it; the first takes all others too."""
        parts: list[Part] = []
        others = {None} | {entry.turn for entry in self.entries}
        others -= {turn.turn_id for turn in self.turns}
        for turn in self.turns:
            mine = {turn.turn_id} | (others if not parts else set())
            parts.append(Part([turn], [entry for entry in self.entries if entry.turn in mine]))
        return parts


def split(
    turns: Sequence[EndedTurn],
    entries: Sequence[Entry],
    stands_alone: Callable[[StoredTurn], bool],
) -> list[Part]:
    """Turns and entries in as few parts as can be; none if there is nothing to keep."""
    runs: list[list[EndedTurn]] = []
    shared = False
    for turn in turns:
        alone = stands_alone(turn.stored)
        if shared and not alone:
            runs[-1].append(turn)
        else:
            runs.append([turn])
        shared = not alone
    if not runs:
        return [Part((), entries)] if entries else []
    parts: list[Part] = []
    begin = 0
    for run in runs:
        end = len(entries) if run is runs[-1] else run[-1].entries_count
        parts.append(Part(run, entries[begin:end]))
        begin = end
    return parts
