"""What a turn has written so far: an overlay over the store that commits as one, or not at all.

Promise: a read inside the turn sees the turn's earlier writes; nothing outside sees any of them
before the turn is committed; an open turn blocks nobody.
"""

from collections.abc import Callable

from msgspec import Struct

from edgeemu.core.rows import AlarmWrite

ReadKey = Callable[[str], bytes | None]
"""Reads one key of the instance from the store."""


class KeyRange(Struct, frozen=True):
    """Which keys a `list` asks for. Order is by code point, which is UTF-8 byte order (U30).

    Attributes:
        lower: the first key that may appear, inclusive; None for no bound.
        upper: the first key that may not appear; None for no bound.
        prefix: what each key begins with.
        reverse: descending order; `limit` then takes from the high end.
        limit: entries at most.
    """

    lower: str | None = None
    upper: str | None = None
    prefix: str = ""
    reverse: bool = False
    limit: int | None = None

    def holds(self, key: str) -> bool:
        """Whether `key` lies in the range."""
        return (
            key.startswith(self.prefix)
            and (self.lower is None or key >= self.lower)
            and (self.upper is None or key < self.upper)
        )


ReadRange = Callable[[KeyRange], list[tuple[str, bytes]]]
"""Reads the keys in a range from the store, in the range's order."""


class TurnWrites:
    """The writes of one turn."""

    __slots__ = ("alarm", "cleared", "puts")

    def __init__(self) -> None:
        self.puts: dict[str, bytes | None] = {}
        """Key to encoded value; None where the key is deleted."""
        self.cleared = False
        """Whether the keys in the store are gone (`puts` then holds all there is)."""
        self.alarm: AlarmWrite | None = None
        """What the turn did to the alarm, if it did."""

    @property
    def any(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self.puts) or self.cleared or self.alarm is not None

    def get(self, key: str, read: ReadKey) -> bytes | None:
        """The encoded value that the turn sees under `key`."""
        if key in self.puts:
            return self.puts[key]
        return None if self.cleared else read(key)

    def put(self, key: str, data: bytes) -> None:
        """Write an encoded value."""
        self.puts[key] = data

    def delete(self, key: str, read: ReadKey) -> bool:
        """Delete a key; whether it was there."""
        existed = self.get(key, read) is not None
        if self.cleared:
            self.puts.pop(key, None)
        elif existed:
            self.puts[key] = None
        return existed

    def clear(self) -> None:
        """Delete every key; the alarm is no key and stays."""
        self.cleared = True
        self.puts.clear()

    def list(self, keys: KeyRange, read: ReadRange) -> list[tuple[str, bytes]]:
        """The entries in a range as the turn sees them, in the range's order."""
        own = {key: data for key, data in self.puts.items() if keys.holds(key)}
        if self.cleared:
            merged = own.items()
        else:
            if not own:
                return read(keys)
            # Of the stored entries, at most as many as the turn has own keys here can be hidden.
            limit = None if keys.limit is None else keys.limit + len(own)
            wider = KeyRange(keys.lower, keys.upper, keys.prefix, keys.reverse, limit)
            merged = ({**dict(read(wider)), **own}).items()
        found = sorted(
            ((key, data) for key, data in merged if data is not None), reverse=keys.reverse
        )
        return found if keys.limit is None else found[: keys.limit]
