"""What all hosts of one emulator share, and what their code reaches beside actors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import get_ident

from edgeemu.core.events import Ending, Failure, TurnKind
from edgeemu.core.profile import Profile
from edgeemu.core.ratelimits import RateCounts
from edgeemu.emulator.kv import KvStore
from edgeemu.emulator.services import Services
from edgeemu.emulator.sockets import Sockets
from edgeemu.engines.port import Answer, Place, Work
from edgeemu.engines.python.loop import EmulatorLoop
from edgeemu.ids import InstanceId
from edgeemu.stores.port import Store

RequestTurn = Callable[
    [InstanceId, TurnKind, Work, str, Callable[[Ending, Answer], None], int | None], None
]
"""Asks the shell for a turn: instance, kind, work, cause, what to do with the answer, caller."""

TaskFailed = Callable[[InstanceId | None, int, Failure, BaseException], None]

WarnOnce = Callable[[str, str, str | None, InstanceId | None, int | None, str | None], None]
"""Writes a warning: code, message, place, instance, turn, and what counts as one place."""


@dataclass(frozen=True, slots=True)
class Outside:
    """What lies outside of actors, and what their code reaches through bindings."""

    services: Services
    kv: KvStore
    rates: RateCounts


class Surroundings:
    """What all hosts of one emulator share."""

    outside: Outside
    """Given by whoever puts the emulator together."""

    def __init__(
        self,
        *,
        store: Store,
        now_ms: Callable[[], int],
        seed: int,
        loop: EmulatorLoop,
        request: RequestTurn,
        warn: WarnOnce,
        profile: Profile,
        task_failed: TaskFailed,
        sockets: Sockets,
    ) -> None:
        self.store = store
        self.now_ms = now_ms
        self.seed = seed
        self.loop = loop
        self.thread_id = get_ident()
        self.request = request
        self.warn = warn
        self.profile = profile
        self.task_failed = task_failed
        self.here: Place = lambda: None
        self.sockets = sockets
        self.strict = False
        self.unique_ids = False

    def follow(self, *, strict: bool, unique_ids: bool) -> None:
        """Go by these switches of the configuration from now on.

        Args:
            strict: whether what is only warned of otherwise is refused (U15, U25).
            unique_ids: whether `new_unique_id` works, which it does not on the platform (U16).
        """
        self.strict = strict
        self.unique_ids = unique_ids
