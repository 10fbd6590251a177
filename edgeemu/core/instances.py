"""The life of an instance in memory: loading, idle, running, evicted, broken."""

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from edgeemu.core.events import Ending, Event, Turn, TurnKind
from edgeemu.core.rows import Alarm, Fault, InstanceRow
from edgeemu.errors import InvariantError
from edgeemu.ids import InstanceId

QUEUE_CHECKED_MAX = 64
"""Waiting turns that are looked through after each step; for a long queue: quadratic."""


class Life(StrEnum):
    """Where an instance is in its life (design section 4, `actors show`)."""

    LOADING = "loading"
    IDLE = "idle"
    RUNNING = "running"
    EVICTED = "evicted"
    BROKEN = "broken"
    """The last activation failed; the next turn tries again (U20)."""


class Drop(NamedTuple):
    """Why an object leaves the memory, and who or what led to it."""

    reason: str
    cause: str


@dataclass(slots=True)
class Socket:
    """What the core knows of one WebSocket of an instance.

    Attributes:
        opened_at_ms: when it was asked for.
        started: whether its handler has begun to take it.
        established: whether its handler has taken it.
        ended: whether it is closed, or being closed.
        waiting_count, waiting_bytes: of its events that wait for their turn.
    """

    id: int
    opened_at_ms: int
    started: bool = False
    established: bool = False
    ended: bool = False
    waiting_count: int = 0
    waiting_bytes: int = 0


@dataclass(slots=True)
class Instance:
    """What the core knows of one instance.

    Attributes:
        row: what is kept of it; None until it was read.
        waiting: events that wait for the row.
        queue: turns that wait, in order of arrival.
        running: the turn whose code runs or whose commit is under way.
        started_at_ms: when the running turn started.
        ending: how the running turn ended, while its commit is under way.
        ended_at_ms: when it ended.
        resident: whether its object is in memory.
        delivering: the alarm that the running turn delivers.
        fault: the planned fault that the running turn meets.
        alarm_queued: whether an alarm turn waits or runs.
        drop: why the object is to be dropped when the running turn has ended.
        idle_since_ms: since when no turn ran.
        sockets: its WebSockets by number, until the last turn of each has ended.
    """

    id: InstanceId
    row: InstanceRow | None = None
    waiting: list[Event] = field(default_factory=list)
    queue: deque[Turn] = field(default_factory=deque)
    running: Turn | None = None
    started_at_ms: int = 0
    ending: Ending | None = None
    ended_at_ms: int = 0
    resident: bool = False
    broken: bool = False
    delivering: Alarm | None = None
    fault: Fault | None = None
    alarm_queued: bool = False
    drop: Drop | None = None
    idle_since_ms: int = 0
    sockets: dict[int, Socket] = field(default_factory=dict)

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

    def check(self, *, delivers: bool, idles: bool) -> None:
        """Check what must hold after each step of the machine.

        Args:
            delivers: whether the machine counts it among those with an alarm turn.
            idles: whether the machine counts it among the idle ones.

        Raises:
            InvariantError: naming the promise that is broken.
        """
        running = self.running
        self._promise(delivers == self.alarm_queued, "the machine knows who has an alarm turn")
        self._promise(not idles or self.resident, "only who is in memory can be idle")
        if self.sockets:
            held = any(socket.started for socket in self.sockets.values())
            self._promise(self.resident or not held, "a socket keeps its instance in memory")
            self._promise(not idles, "who has a socket is not idle")
        if running is None:
            at_rest = self.resident and not self.queue and self.row is not None
            at_rest = at_rest and not self.sockets
            self._promise(idles or not at_rest, "who is in memory and has nothing to do is idle")
            runs_alarm = False
            self._promise(self.ending is None, "an ending belongs to a running turn")
        else:
            runs_alarm = running.kind is TurnKind.ALARM
            self._promise(self.row is not None, "nothing runs before the row is read")
        if len(self.queue) <= QUEUE_CHECKED_MAX:
            alarms = int(runs_alarm)
            for turn in self.queue:
                alarms += turn.kind is TurnKind.ALARM
            self._promise(alarms <= 1, "an alarm turn waits or runs at most once")
            self._promise(self.alarm_queued == bool(alarms), "alarm_queued tells whether one does")
        delivering = self.delivering
        if delivering is not None:
            self._promise(runs_alarm, "an alarm is delivering only in an alarm turn")
            by_hand = running is not None and running.generation is None
            self._promise(
                by_hand or self.started_at_ms >= delivering.eligible_at_ms,
                "a delivery never starts before its instant",
            )

    def _promise(self, holds: bool, promise: str) -> None:
        if not holds:
            raise InvariantError(f"{self.id}: {promise}")
