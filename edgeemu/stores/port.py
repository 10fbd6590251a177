"""The port of a store: where keys, alarms, the journal and the clock are kept.

Promise: a batch is applied whole or not at all, and once `apply` returned it survives the death of
the process. All calls are synchronous: both stores answer in microseconds, and a call that waits
would let another turn see half a state.

SQL of actors does not wait in an overlay as keys do: it runs in a transaction that the store begins
when a turn first asks for the database, and that ends with the turn. `apply` commits it beside the
rest of the turn where `StoredTurn.sql` says so; what is not kept is undone by `rollback_sql`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from edgeemu.core.journal import Entry, Recorded
from edgeemu.core.overlay import KeyRange
from edgeemu.core.rows import Alarm, InstanceRow, PastAlarm
from edgeemu.ids import InstanceId
from edgeemu.stores.database import Database


class StoredTurn(Struct, frozen=True):
    """What one turn leaves behind.

    Attributes:
        instance: whose turn it was.
        row: the whole row of the instance, which replaces the one before.
        puts: key to encoded value, or to None where the key is deleted.
        cleared: whether every key that the store holds goes first.
        sql: whether the open SQL transaction of the instance is committed with it.
    """

    instance: InstanceId
    row: InstanceRow
    puts: Mapping[str, bytes | None] = {}
    cleared: bool = False
    sql: bool = False


class Batch(Struct, frozen=True):
    """What is applied as one.

    Attributes:
        turns: in order.
        entries: for the journal, in order; the store numbers them on.
        real_at_ms: the wall clock, for the entries.
        meta: values of `read_meta` that change.
    """

    turns: Sequence[StoredTurn] = ()
    entries: Sequence[Entry] = ()
    real_at_ms: int = 0
    meta: Mapping[str, Any] = {}


class DueAlarm(Struct, frozen=True):
    """A pending alarm as the schedule sees it."""

    instance: InstanceId
    alarm: Alarm


class EndedAlarm(Struct, frozen=True):
    """The last alarm of an instance that was delivered to its end or given up."""

    instance: InstanceId
    past: PastAlarm


class Store(Protocol):
    """Where the state of a project is kept.

    Names and keys may hold any characters but a lone surrogate, which UTF-8 cannot hold: every
    method that is given one raises `E_ADDRESS_INVALID` or `E_KEY_INVALID`. In other text (an
    error's message, an entry's data) a lone surrogate is kept written out as `\\udXXX`. On disk,
    every method may also raise `E_STATE_DAMAGED` or `E_STATE_UNWRITABLE`.
    """

    def load(self, instance: InstanceId) -> InstanceRow:
        """The row of an instance; an empty one if it does not exist yet."""

    def read(self, instance: InstanceId, key: str) -> bytes | None:
        """The encoded value under a key."""

    def read_range(self, instance: InstanceId, keys: KeyRange) -> list[tuple[str, bytes]]:
        """The entries in a range, in the range's order."""

    def measure(self, instance: InstanceId) -> tuple[int, int]:
        """How many keys an instance has, and how many bytes keys and values take."""

    def use_clock(self, now_ms: Callable[[], int]) -> None:
        """Let SQL of actors take its present (ms since the epoch) from here; called once, first."""

    def sql(self, instance: InstanceId) -> Database:
        """The SQL database of an instance, made at its first use.

        Its transaction is open: the first ask of a turn begins it, and each ask until `apply` or
        `rollback_sql` ends it gives the same.
        """

    def rollback_sql(self, instance: InstanceId) -> None:
        """Undo what the turn of an instance did in SQL, if its transaction is open."""

    def measure_sql(self, instance: InstanceId) -> int:
        """How many bytes the SQL database of an instance takes; 0 if it has none."""

    def stands_alone(self, turn: StoredTurn) -> bool:
        """Whether a turn is applied in a batch without other turns, for its commit is its own."""

    def apply(self, batch: Batch) -> list[Recorded]:
        """Apply a batch whole or not at all; its journal entries as they stand now.

        Raises:
            EdgeemuError: `E_STATE_UNWRITABLE` when the state cannot be written; after any error
                the batch may be tried again.
        """

    def due(
        self, *, fire_by_ms: int | None, eligible_by_ms: int | None = None, limit: int
    ) -> list[DueAlarm]:
        """The pending alarms that fire first, ordered by (fire_at_ms, type, name).

        Args:
            fire_by_ms: only those that fire at or before this instant; None for all.
            eligible_by_ms: only those whose next attempt is due at or before this instant.
            limit: how many at most.
        """

    def alarms(self, *, type_name: str | None, limit: int) -> list[DueAlarm]:
        """The pending alarms, ordered by (eligible_at_ms, type, name)."""

    def ended_alarms(self, *, type_name: str | None, limit: int) -> list[EndedAlarm]:
        """The last ended alarm of each instance that has one, newest end first, then type, name."""

    def instances(
        self, *, type_name: str | None = None, prefix: str = "", limit: int
    ) -> list[tuple[InstanceId, InstanceRow]]:
        """The instances that exist, ordered by (type, name); `prefix` is of the name."""

    def journal(
        self,
        *,
        since_seq: int = 0,
        since_ms: int | None = None,
        instance: InstanceId | None = None,
        oldest_first: bool = False,
        limit: int,
    ) -> list[Recorded]:
        """Entries that match, in order of their numbers: the newest `limit` of them.

        Args:
            since_seq: only those with a greater number.
            since_ms: only those at or after this emulated instant.
            instance: only those of this instance.
            oldest_first: take the oldest `limit` instead: a page, of which the last number is
                the `since_seq` of the next one.
            limit: how many at most.
        """

    def newest_turn(self, entries: int) -> int:
        """The greatest number of a turn among the newest `entries` of the journal; 0 for none."""

    def read_meta(self, key: str) -> Any:
        """A JSON-safe value that a batch kept under `key`, or None."""

    def close(self) -> None:
        """Let go of everything; nothing may be called afterwards."""
