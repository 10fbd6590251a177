"""What is asked of the shell, and what it answers: plain data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from edgeemu.core.events import AlarmOutcome, Ending
from edgeemu.core.rows import AlarmWrite, Fault
from edgeemu.engines.port import Answer


@dataclass(frozen=True, slots=True)
class Edit:
    """A change from outside that takes its turn: keys, the alarm, planned faults."""

    puts: Mapping[str, bytes | None] | None = None
    clear: bool = False
    alarm: AlarmWrite | None = None
    plan: Callable[[tuple[Fault, ...]], tuple[Fault, ...]] | None = None


@dataclass(frozen=True, slots=True)
class TurnReply:
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
