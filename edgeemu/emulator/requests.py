"""What is asked of the shell, and what it answers: plain data."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from edgeemu.core.events import AlarmOutcome, Ending
from edgeemu.core.rows import AlarmWrite, Fault
from edgeemu.emulator.hosts import TurnHost
from edgeemu.engines.port import Answer


class Edit(Struct, frozen=True):
    """A change from outside that takes its turn: keys, the alarm, planned faults, SQL.

    Attributes:
        run: does something with the host of the turn; it raises nothing.
    """

    puts: Mapping[str, bytes | None] | None = None
    clear: bool = False
    alarm: AlarmWrite | None = None
    plan: Callable[[tuple[Fault, ...]], tuple[Fault, ...]] | None = None
    run: Callable[[TurnHost], None] | None = None


class TurnReply(Struct, frozen=True):
    """How a turn ended, for whoever asked for it.

    Attributes:
        refused: why it did not take place, if it did not.
        error: the engine's own error object, where there is one.
    """

    ending: Ending | None = None
    answer: Answer = None
    alarm: AlarmOutcome | None = None
    refused: str | None = None
    error: BaseException | None = None
