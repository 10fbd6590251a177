"""Where the clock and the numbering of turns stand, as the store keeps it for the next start.

Promise: after a restart, also after `kill -9`, time has not gone back behind what was kept, and the
turns are numbered on from the last one that was. It need not be written with each turn for that,
which would cost a page more in each commit: a real clock is found again from any one moment of it,
and the last turns from their entries in the journal, of which there are few since it was written.
"""

from collections.abc import Mapping
from typing import Any

from edgeemu.clock import ClockMode, EmulatorClock
from edgeemu.core.machine import Machine
from edgeemu.limits import POSITION_AGE_MS, POSITION_ENTRIES_MAX
from edgeemu.stores.port import Store

META_POSITION = "position"
"""Where the store keeps the clock and the number of the next turn."""


class Position:
    """The position of one clock and one machine, and what of it the store knows already."""

    def __init__(self, clock: EmulatorClock, machine: Machine) -> None:
        self._clock = clock
        self._machine = machine
        self._kept: dict[str, Any] | None = None
        self._entries_since = 0

    def read(self) -> dict[str, Any]:
        """The position now."""
        state = self._clock.save()
        return {
            "mode": state.mode.value,
            "rate": state.rate,
            "now_ms": state.now_ms,
            "real_at_ms": state.real_at_ms,
            "turn_id": self._machine.next_turn_id,
        }

    def news(self, entry_count: int) -> dict[str, Any]:
        """What a batch keeps beside its turns and entries: nothing where the kept one will do."""
        kept = self._kept
        if kept is not None and self._entries_since + entry_count <= POSITION_ENTRIES_MAX:
            state = self._clock.save()
            same_mode = state.mode.value == kept["mode"] and state.rate == kept["rate"]
            passed_ms = state.now_ms - kept["now_ms"]
            stands = passed_ms == 0
            if state.mode is ClockMode.REAL:
                # A wall clock that is stepped back makes the emulated time wait: both must agree.
                stands = passed_ms == state.real_at_ms - kept["real_at_ms"] < POSITION_AGE_MS
            if same_mode and stands:
                return {}
        return {META_POSITION: self.read()}

    def note_kept(self, meta: Mapping[str, Any], entry_count: int) -> None:
        """A batch of so many entries, with what `news` said, is kept."""
        self._entries_since += entry_count
        if META_POSITION in meta:
            self._kept = meta[META_POSITION]
            self._entries_since = 0


def next_turn_id(position: Mapping[str, Any] | None, store: Store) -> int:
    """The number of the next turn: behind that of the kept position and of each turn since."""
    kept = position["turn_id"] if position else 1
    return max(kept, store.newest_turn(POSITION_ENTRIES_MAX) + 1)
