"""What a statement of SQL gives, as it crosses between store, host and engine."""

from typing import Any, NamedTuple


class SqlRows(NamedTuple):
    """What the last statement of an `exec` gave.

    Attributes:
        columns: their names; empty where no row came.
        rows: all of them, with int, float, str, bytes and None in them.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
