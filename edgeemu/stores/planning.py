"""A batch as statements for the state file, with every check and conversion behind it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import apsw

from edgeemu.core.journal import Recorded
from edgeemu.ids import InstanceId
from edgeemu.stores import packing
from edgeemu.stores.keys import KeyTable, Owner, Statements
from edgeemu.stores.packing import PackedEntry
from edgeemu.stores.port import Batch

KEYS = KeyTable("keys", "instance")
"""The keys of all instances that have no file of their own."""

_ROW = ", ".join(packing.ROW_COLUMNS)
_ENTRY = ", ".join(packing.ENTRY_COLUMNS)
_INSERT_ROW = (
    f"INSERT INTO instances ({_ROW}, id, type, name)"
    f" VALUES ({', '.join('?' * (len(packing.ROW_COLUMNS) + 3))})"
)
UPDATE_ROW = (
    f"UPDATE instances SET {', '.join(f'{name} = ?' for name in packing.ROW_COLUMNS)} WHERE id = ?"
)
RECORD = f"INSERT INTO journal ({_ENTRY}) VALUES ({', '.join('?' * len(packing.ENTRY_COLUMNS))})"
_PRUNE = "DELETE FROM journal WHERE seq <= ?"
_PUT_META = "REPLACE INTO meta (key, value) VALUES (?, ?)"
_DELETE_META = "DELETE FROM meta WHERE key = ?"


class Plan(NamedTuple):
    """A batch as statements.

    Attributes:
        statements: to run in order, in one transaction.
        ids: row numbers of the instances that it makes.
        entries: the journal entries, packed.
        recorded: the same as they then stand.
    """

    statements: Statements
    ids: dict[InstanceId, int]
    entries: list[PackedEntry]
    recorded: list[Recorded]

    def run(self, db: apsw.Connection) -> None:
        """Run the statements in the open transaction."""
        for sql, rows in self.statements:
            if len(rows) == 1:  # The usual turn: a quarter of what `executemany` takes.
                db.execute(sql, rows[0])
            else:
                db.executemany(sql, rows)


def plan_batch(
    batch: Batch,
    find_id: Callable[[InstanceId], int | None],
    *,
    id_last: int,
    seq: int,
    journal_entries_max: int,
) -> Plan:
    """The statements of a batch.

    Turns are folded, so that one statement of a kind serves them all: of each row and each
    key the last value counts, and clearing an instance discards what came before.

    Args:
        find_id: the row number of an instance that has one.
        id_last: the highest row number.
        seq: the number of the last journal entry.

    Raises:
        EdgeemuError: `E_ADDRESS_INVALID` or `E_KEY_INVALID`.
    """
    made: dict[InstanceId, int] = {}
    inserts: dict[int, tuple[Any, ...]] = {}
    updates: dict[int, tuple[Any, ...]] = {}
    cleared: dict[int, Owner] = {}
    writes: dict[int, dict[str, bytes | None]] = {}
    for turn in batch.turns:
        instance = turn.instance
        row_id = made.get(instance) or find_id(instance)
        row = packing.pack_row(turn.row)
        if row_id is None:
            row_id = made[instance] = id_last + len(made) + 1
        if instance in made:
            inserts[row_id] = (*row, row_id, *instance)
        else:
            updates[row_id] = (*row, row_id)
        if turn.cleared:
            cleared[row_id] = (row_id,)
            writes.pop(row_id, None)
        for key in turn.puts:
            packing.check_key(key)
        if turn.puts:
            writes.setdefault(row_id, {}).update(turn.puts)
    entries, recorded = packing.number_entries(batch, seq)
    statements: Statements = [
        (_INSERT_ROW, list(inserts.values())),
        (UPDATE_ROW, list(updates.values())),
        *KEYS.writes((((row_id,), keys) for row_id, keys in writes.items()), cleared.values()),
        (RECORD, entries),
        (_PRUNE, _prunings(seq, len(entries), journal_entries_max)),
        *meta_writes(batch.meta),
    ]
    return Plan([each for each in statements if each[1]], made, entries, recorded)


def meta_writes(meta: Mapping[str, Any]) -> Statements:
    """What writes the values of `read_meta` that change, or deletes one that is None."""
    return [
        (
            _PUT_META,
            [(key, packing.to_json(value)) for key, value in meta.items() if value is not None],
        ),
        (_DELETE_META, [(key,) for key, value in meta.items() if value is None]),
    ]


def _prunings(seq: int, entry_count: int, entries_max: int) -> list[tuple[Any, ...]]:
    last_gone = packing.last_pruned(seq_before=seq, seq=seq + entry_count, entries_max=entries_max)
    return [(last_gone,)] if last_gone else []
