"""The alarms that fire first, kept in memory so that moving time need not ask the store each time.

Promise: `due` answers exactly as the store does. The window holds every pending alarm up to its
horizon; what the store kept is noted here afterwards, so a write that failed changes nothing. It is
read again when it runs dry, and a start reads no more than one window, whatever is on disk.

Tried and dropped: all alarms in memory (a start would cost more with each instance on disk).
"""

from bisect import bisect_left, insort

from edgeemu.core.rows import Alarm
from edgeemu.ids import InstanceId
from edgeemu.limits import SCHEDULE_WINDOW_ALARMS
from edgeemu.stores.port import DueAlarm, Store

_Place = tuple[int, InstanceId]
"""When an alarm fires and whose it is: the order of deliveries."""


class Schedule:
    """The pending alarms of one store in the order in which they fire."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loaded = False
        self._places: list[_Place] = []
        self._alarms: dict[InstanceId, DueAlarm] = {}
        self._horizon: _Place | None = None
        """Up to where the window is complete; None if it holds all there is."""

    def note(self, instance: InstanceId, alarm: Alarm | None) -> None:
        """The store now keeps `alarm` for an instance, or none."""
        if not self._loaded:
            return
        before = self._alarms.pop(instance, None)
        if before is not None:
            place = (before.alarm.fire_at_ms, instance)
            del self._places[bisect_left(self._places, place)]
        if alarm is None:
            return
        place = (alarm.fire_at_ms, instance)
        if self._horizon is not None and place > self._horizon:
            return
        self._alarms[instance] = DueAlarm(instance, alarm)
        insort(self._places, place)
        if len(self._places) > 2 * SCHEDULE_WINDOW_ALARMS:
            for _, far in self._places[SCHEDULE_WINDOW_ALARMS:]:
                del self._alarms[far]
            del self._places[SCHEDULE_WINDOW_ALARMS:]
            self._horizon = self._places[-1]

    def due(
        self, *, fire_by_ms: int | None, eligible_by_ms: int | None = None, limit: int
    ) -> list[DueAlarm]:
        """The pending alarms that fire first, ordered by (fire_at_ms, type, name).

        Args:
            fire_by_ms: only those that fire at or before this instant; None for all.
            eligible_by_ms: only those whose next attempt is due at or before this instant.
            limit: how many at most.
        """
        found, complete = self._look(fire_by_ms, eligible_by_ms, limit)
        if not complete and limit <= SCHEDULE_WINDOW_ALARMS:
            self._read()
            found, complete = self._look(fire_by_ms, eligible_by_ms, limit)
        if complete:
            return found
        return self._store.due(fire_by_ms=fire_by_ms, eligible_by_ms=eligible_by_ms, limit=limit)

    def _look(
        self, fire_by_ms: int | None, eligible_by_ms: int | None, limit: int
    ) -> tuple[list[DueAlarm], bool]:
        """What the window knows of an answer, and whether that is all of it."""
        found: list[DueAlarm] = []
        if not self._loaded:
            return found, False
        for fire_at_ms, instance in self._places:
            if len(found) >= limit or (fire_by_ms is not None and fire_at_ms > fire_by_ms):
                return found, True
            due = self._alarms[instance]
            if eligible_by_ms is None or due.alarm.eligible_at_ms <= eligible_by_ms:
                found.append(due)
        return found, len(found) >= limit or self._horizon is None or self._beyond(fire_by_ms)

    def _beyond(self, fire_by_ms: int | None) -> bool:
        """Whether nothing behind the horizon can fire by then."""
        return (
            fire_by_ms is not None and self._horizon is not None and (self._horizon[0] > fire_by_ms)
        )

    def _read(self) -> None:
        """Read the first alarms from the store."""
        alarms = self._store.due(fire_by_ms=None, limit=SCHEDULE_WINDOW_ALARMS)
        self._places = [(due.alarm.fire_at_ms, due.instance) for due in alarms]
        self._alarms = {due.instance: due for due in alarms}
        self._horizon = self._places[-1] if len(alarms) == SCHEDULE_WINDOW_ALARMS else None
        self._loaded = True
