"""The life of an instance in memory: loading, idle, running, evicted, broken."""

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum

from edgeemu.core.events import Ending, Event, Turn, TurnKind
from edgeemu.core.rows import Alarm, Fault, InstanceRow
from edgeemu.errors import InvariantError
from edgeemu.ids import InstanceId


class Life(StrEnum):
    """Where an instance is in its life (design section 4, `actors show`)."""

    LOADING = "loading"
    IDLE = "idle"
    RUNNING = "running"
    EVICTED = "evicted"
    BROKEN = "broken"
    """The last activation failed; the next turn tries again (U20)."""


@dataclass(slots=True)
class Instance:
    """What the core knows of one instance.

    Attributes:
        row: what is kept of it; None until it was read.
        waiting: events that wait for the row.
        queue: turns that wait, in order of arrival.
        running: the turn whose code runs or whose commit is under way.
        ending: how the running turn ended, while its commit is under way.
        resident: whether its object is in memory.
        delivering: the alarm that the running turn delivers.
        fault: the planned fault that the running turn meets.
        alarm_queued: whether an alarm turn waits or runs.
        drop: why the object is to be dropped when the running turn has ended.
        idle_since_ms: since when no turn ran.
    """

    id: InstanceId
    row: InstanceRow | None = None
    waiting: list[Event] = field(default_factory=list)
    queue: deque[Turn] = field(default_factory=deque)
    running: Turn | None = None
    started_at_ms: int = 0
    ending: Ending | None = None
    resident: bool = False
    broken: bool = False
    delivering: Alarm | None = None
    fault: Fault | None = None
    alarm_queued: bool = False
    drop: str | None = None
    idle_since_ms: int = 0

    @property
    def life(self) -> Life:
        """Where it is in its life."""
        if self.running is not None and self.running.kind is TurnKind.INIT:
            return Life.LOADING
        if self.running is not None and self.running.kind is not TurnKind.EDIT:
            return Life.RUNNING
        if self.resident:
            return Life.IDLE
        return Life.BROKEN if self.broken else Life.EVICTED

    @property
    def stored(self) -> InstanceRow:
        """The row, which must have been read."""
        if self.row is None:
            raise InvariantError(f"{self.id} is used before its row was read")
        return self.row

    def check(self) -> None:
        """Check what must hold after each step of the machine.

        Raises:
            InvariantError: naming the promise that is broken.
        """
        alarms = sum(turn.kind is TurnKind.ALARM for turn in self.queue)
        running_alarm = self.running is not None and self.running.kind is TurnKind.ALARM
        promises = {
            "an alarm turn waits or runs at most once": alarms + running_alarm <= 1,
            "alarm_queued tells whether one does": self.alarm_queued
            == bool(alarms + running_alarm),
            "an alarm is delivering only in an alarm turn": (self.delivering is None)
            or running_alarm,
            "an ending belongs to a running turn": self.ending is None or self.running is not None,
            "nothing runs before the row is read": self.row is not None or self.running is None,
            "a delivery never starts before its instant": not running_alarm
            or self.delivering is None
            or (self.running is not None and self.running.generation is None)
            or self.started_at_ms >= self.delivering.eligible_at_ms,
        }
        for promise, holds in promises.items():
            if not holds:
                raise InvariantError(f"{self.id}: {promise}")
