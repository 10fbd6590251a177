"""SQLite's idea of the present: `'now'`, `CURRENT_TIMESTAMP` and `unixepoch()` follow our clock.

SQLite asks the file system layer (VFS) of a connection for the time. Ours hands everything else on
to the default one, which costs about one microsecond of a commit's sixteen.
"""

from collections.abc import Callable

import apsw

_EPOCH_JULIAN_MS = 210_866_760_000_000
"""Milliseconds from the beginning of the Julian day numbers to 1970-01-01."""

_DAY_MS = 86_400_000


class VirtualTime(apsw.VFS):
    """The file system layer of the connections whose time is emulated: `vfs=virtual_time.name`.

    Args:
        now_ms: the emulated instant, in ms since the epoch.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.name = f"edgeemu-{id(self):x}"
        self._now_ms = now_ms
        super().__init__(self.name, "")

    def xCurrentTime(self) -> float:
        """The Julian day number."""
        return self.xCurrentTimeInt64() / _DAY_MS

    def xCurrentTimeInt64(self) -> int:
        """The Julian day number, in ms."""
        return self._now_ms() + _EPOCH_JULIAN_MS
