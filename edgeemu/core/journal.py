"""The ordered record of everything that happened: what an entry holds and which kinds there are."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from edgeemu.ids import InstanceId


class Kind(StrEnum):
    """What an entry of the journal tells."""

    STARTED = "started"
    STOPPED = "stopped"
    INIT = "init"
    CALL = "call"
    FETCH = "fetch"
    ALARM = "alarm"
    SOCKET = "socket"
    EDIT = "edit"
    FRONT = "front"
    SERVICE = "service"
    ALARM_SET = "alarm_set"
    ALARM_CLEARED = "alarm_cleared"
    ALARM_RETRY = "alarm_retry"
    ALARM_GIVEN_UP = "alarm_given_up"
    ALARM_STALE = "alarm_stale"
    FAULT_PLANNED = "fault_planned"
    EVICTED = "evicted"
    SOCKET_OPENED = "socket_opened"
    SOCKET_CLOSED = "socket_closed"
    CLOCK = "clock"
    RELOAD = "reload"
    RELOAD_FAILED = "reload_failed"
    PRINTED = "printed"
    WARNING = "warning"
    GAP = "gap"
    """It is not kept, but told in place of entries that are gone: the journal has a bound."""


class Entry(Struct, frozen=True):
    """One thing that happened.

    Attributes:
        kind: what.
        now_ms: the emulated instant.
        instance: to whom, if to one instance.
        turn: in which turn, if in one.
        cause: what led to it: `cli`, `http`, `test`, `turn 12`, `alarm of turn 12`, `time`,
            `reload`, `fault`, `emulator`.
        data: what belongs to the kind, JSON-safe.
    """

    kind: Kind
    now_ms: int
    instance: InstanceId | None = None
    turn: int | None = None
    cause: str = ""
    data: Mapping[str, Any] = {}


class Recorded(Struct, frozen=True):
    """An entry as it stands in the journal: with its number and the real time (ms, epoch)."""

    seq: int
    real_at_ms: int
    entry: Entry

    def as_json(self) -> dict[str, Any]:
        """This entry as `edgeemu log --json` shows it."""
        entry = self.entry
        return {
            "seq": self.seq,
            "kind": entry.kind.value,
            "now_ms": entry.now_ms,
            "real_at_ms": self.real_at_ms,
            "actor": None if entry.instance is None else str(entry.instance),
            "turn": entry.turn,
            "cause": entry.cause,
            **entry.data,
        }
