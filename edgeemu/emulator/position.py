"""Where the clock and the numbering of turns stand, as the store keeps it for the next start.

Promise: after a restart, also after `kill -9`, time has not gone back behind what was kept and no
turn number is given twice. It need not be written with each turn for that, which would cost a page
more in each commit: a real clock is found again from any one moment of it, and turn numbers are
taken in blocks. Numbers of a block that a killed process left unused stay unused.
"""

from collections.abc import Mapping
from typing import Any

from edgeemu.clock import ClockMode, EmulatorClock
from edgeemu.core.machine import Machine
from edgeemu.limits import POSITION_AGE_MS, TURN_IDS_RESERVED

META_POSITION = "position"
"""Where the store keeps the clock and the number of the next turn."""


class Position:
    """The position of one clock and one machine, and what of it the store knows already."""

    def __init__(self, clock: EmulatorClock, machine: Machine) -> None:
        self._clock = clock
        self._machine = machine
        self._kept: dict[str, Any] | None = None

    def read(self, *, reserved: int = 0) -> dict[str, Any]:
        """The position now; `reserved` turn numbers from the next one on count as given."""
        state = self._clock.save()
        return {
            "mode": state.mode.value,
            "rate": state.rate,
            "now_ms": state.now_ms,
            "real_at_ms": state.real_at_ms,
            "turn_id": self._machine.next_turn_id + reserved,
        }

    def news(self) -> dict[str, Any]:
        """What a batch has to keep beside its turns: nothing, where the kept position will do."""
        kept = self._kept
        if kept is not None and self._machine.next_turn_id <= kept["turn_id"]:
            state = self._clock.save()
            same_mode = state.mode.value == kept["mode"] and state.rate == kept["rate"]
            passed_ms = state.now_ms - kept["now_ms"]
            stands = passed_ms == 0
            if state.mode is ClockMode.REAL:
                # A wall clock that is stepped back makes the emulated time wait: both must agree.
                stands = passed_ms == state.real_at_ms - kept["real_at_ms"] < POSITION_AGE_MS
            if same_mode and stands:
                return {}
        return {META_POSITION: self.read(reserved=TURN_IDS_RESERVED)}

    def note_kept(self, meta: Mapping[str, Any]) -> None:
        """The store has kept what `news` or `last` said."""
        self._kept = meta.get(META_POSITION, self._kept)

    def last(self) -> dict[str, Any]:
        """What to keep at the end: nothing, where the kept position is exact.

        A clock at a rate does not run while nothing does, so it stays where it stands.
        """
        kept = self._kept
        exact = kept is None or kept["turn_id"] == self._machine.next_turn_id
        if exact and self._clock.mode is not ClockMode.RATE:
            return {}
        return {META_POSITION: self.read()}
