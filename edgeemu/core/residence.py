"""Which instances are in memory, and how they leave it: by a command, by idleness, by new code."""

from collections import OrderedDict
from collections.abc import Callable, Iterator

from edgeemu.core.events import (
    CodeReplaced,
    DropInstance,
    Effects,
    Ending,
    EvictRequested,
    Failure,
    HostStopping,
    Outcome,
    Record,
    StopTurn,
    TimePassed,
    TurnEnded,
    TurnKind,
)
from edgeemu.core.instances import Drop, Instance, Life
from edgeemu.core.journal import Entry, Kind
from edgeemu.core.profile import SocketPolicy
from edgeemu.core.sockets import SocketRules
from edgeemu.ids import InstanceId

_CRASH = Failure("ActorCrashedError", "the instance was lost in the middle of the turn")


class Residence:
    """The part of the machine that knows who is in memory.

    Args:
        idle_eviction_ms: virtual idleness after which an instance is dropped; None for never.
        policy: what sockets may do.
        take_turn_id: gives the number of a new turn.
    """

    def __init__(
        self,
        idle_eviction_ms: int | None,
        policy: SocketPolicy,
        take_turn_id: Callable[[], int],
    ) -> None:
        self.idle_eviction_ms = idle_eviction_ms
        self._sockets = SocketRules(policy, take_turn_id)
        self._instances: dict[InstanceId, Instance] = {}
        self._idle: OrderedDict[InstanceId, None] = OrderedDict()

    def find(self, instance: InstanceId) -> Instance | None:
        """What is known of an instance that is awake or has something waiting; only to look at."""
        return self._instances.get(instance)

    def known(self) -> Iterator[Instance]:
        """Every instance that is awake or has something waiting; only to look at."""
        return iter(list(self._instances.values()))

    def _on_turn_ended(self, event: TurnEnded, out: Effects) -> None:
        raise NotImplementedError

    def _on_evict_requested(self, event: EvictRequested, out: Effects) -> None:
        instance = self._instances.get(event.instance)
        if instance is None:
            return
        if instance.running is None or instance.running.kind is TurnKind.EDIT:
            if instance.resident:
                self._drop(instance, Drop("evict", event.cause), event.now_ms, out)
                self._forget_if_unused(instance)
            return
        instance.drop = Drop("crash" if event.crash else "evict", event.cause)
        if event.crash and instance.ending is None:
            turn = instance.running
            out.append(StopTurn(turn))
            ending = Ending(Outcome.CRASHED, _CRASH)
            self._on_turn_ended(TurnEnded(event.now_ms, turn.id, ending), out)

    def _on_time_passed(self, event: TimePassed, out: Effects) -> None:
        if self.idle_eviction_ms is None:
            return
        while self._idle:
            instance = self._instances[next(iter(self._idle))]
            drop_at_ms = instance.idle_since_ms + self.idle_eviction_ms
            if drop_at_ms > event.now_ms:
                return
            self._drop(instance, Drop("idle", "time"), drop_at_ms, out)
            self._forget_if_unused(instance)

    def _on_code_replaced(self, event: CodeReplaced, out: Effects) -> None:
        for instance in self.known():
            if instance.running is not None and instance.running.kind is not TurnKind.EDIT:
                instance.drop = instance.drop or Drop("reload", "reload")
            elif instance.resident:
                self._drop(instance, Drop("reload", "reload"), event.now_ms, out)
                self._forget_if_unused(instance)

    def _on_host_stopping(self, event: HostStopping, out: Effects) -> None:
        for instance in self.known():
            self._sockets.dropped(instance, Drop("stop", "emulator"), event.now_ms, out)
            self._note_idleness(instance)

    def _drop(self, instance: Instance, drop: Drop, now_ms: int, out: Effects) -> None:
        instance.drop = None
        instance.resident = False
        self._idle.pop(instance.id, None)
        self._sockets.dropped(instance, drop, now_ms, out)
        out.append(DropInstance(instance.id, drop.reason))
        data = {"reason": drop.reason}
        out.append(Record(Entry(Kind.EVICTED, now_ms, instance.id, cause=drop.cause, data=data)))

    def _note_idleness(self, instance: Instance) -> None:
        """Keep the idle ones in the order in which they became so, which is that of their drops."""
        if not instance.resident or instance.sockets or instance.life is not Life.IDLE:
            self._idle.pop(instance.id, None)
        elif instance.id not in self._idle:
            self._idle[instance.id] = None

    def _forget_if_unused(self, instance: Instance) -> None:
        """An instance that is nowhere in memory and waits for nothing needs no place here."""
        unused = instance.running is None and not instance.queue and not instance.waiting
        if unused and not instance.resident and not instance.broken:
            self._instances.pop(instance.id, None)
