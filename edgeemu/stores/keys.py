"""The keys of instances in a table: of all instances together, or of the one that a file is for.

Values are UTF-8 and kept as text, so that people can read them; the casts copy bytes as they are,
where binding a `str` would decode and encode each value.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import apsw

from edgeemu.core.overlay import KeyRange
from edgeemu.stores import packing

Owner = tuple[()] | tuple[int]
"""The row number of the instance where a table has the keys of all; else nothing."""

Statements = list[tuple[str, list[tuple[Any, ...]]]]
"""SQL, and the bindings of each time that it runs."""


class KeyTable:
    """The statements of one table of keys.

    Args:
        table: its name.
        owner: the column that says whose a key is; None where all are of one instance.
    """

    def __init__(self, table: str, owner: str | None) -> None:
        whose = "" if owner is None else f"{owner} = ? AND "
        columns, marks = ("", "") if owner is None else (f"{owner}, ", "?, ")
        where = "" if owner is None else f" WHERE {owner} = ?"
        self.put = f"REPLACE INTO {table} ({columns}key, value) VALUES ({marks}?, CAST(? AS TEXT))"
        self.delete = f"DELETE FROM {table} WHERE {whose}key = ?"
        self.clear = f"DELETE FROM {table}{where}"
        self._read = f"SELECT CAST(value AS BLOB) FROM {table} WHERE {whose}key = ?"
        self._range = f"SELECT key, CAST(value AS BLOB) FROM {table} WHERE {whose}key >= ?"
        self._measure = (
            "SELECT count(*), coalesce(sum(octet_length(key) + octet_length(value)), 0)"
            f" FROM {table}{where}"
        )

    def read(self, db: apsw.Connection, owner: Owner, key: str) -> bytes | None:
        """The encoded value under a key."""
        value: bytes | None = db.execute(self._read, (*owner, key)).get
        return value

    def read_range(
        self, db: apsw.Connection, owner: Owner, keys: KeyRange
    ) -> list[tuple[str, bytes]]:
        """The entries in a range, in the range's order.

        Raises:
            EdgeemuError: `E_KEY_INVALID`.
        """
        lower, upper = packing.key_bounds(keys)
        sql, bindings = self._range, [*owner, lower]
        if upper is not None:
            sql += " AND key < ?"
            bindings.append(upper)
        sql += " ORDER BY key DESC" if keys.reverse else " ORDER BY key"
        if keys.limit is not None:
            sql += " LIMIT ?"
            bindings.append(max(keys.limit, 0))
        found: list[Any] = db.execute(sql, bindings).fetchall()
        return found

    def measure(self, db: apsw.Connection, owner: Owner) -> tuple[int, int]:
        """How many keys there are, and how many bytes keys (in UTF-8) and values take."""
        count, size_bytes = cast(tuple[int, int], db.execute(self._measure, owner).fetchone())
        return count, size_bytes

    def writes(
        self, changes: Iterable[tuple[Owner, Mapping[str, bytes | None]]], cleared: Iterable[Owner]
    ) -> Statements:
        """What writes the changes of each owner: values, or None where a key goes."""
        puts: list[tuple[Any, ...]] = []
        deletes: list[tuple[Any, ...]] = []
        for owner, keys in changes:
            for key, value in keys.items():
                if value is None:
                    deletes.append((*owner, key))
                else:
                    puts.append((*owner, key, value))
        return [(self.clear, list(cleared)), (self.delete, deletes), (self.put, puts)]
