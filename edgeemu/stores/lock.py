"""At most one process has a state folder open, and the death of that process frees it.

The lock is an exclusive transaction on an empty database of its own: SQLite asks each operating
system for a lock that the kernel drops when the process ends, however it ends. A file that merely
exists would outlive a killed process, and the lock of `state.sqlite` itself would keep a `sqlite3`
shell from looking at the state while `dev` runs.
"""

import os
from contextlib import suppress
from pathlib import Path

import apsw

from edgeemu.stores import problems

LOCK_FILE = "lock"
PID_FILE = "lock.pid"


class StateLock:
    """The right to use a state folder, held from construction to `close`.

    Args:
        folder: the state folder, which exists.
        wait_ms: real milliseconds to wait for another process to let go; 0 for not at all.

    Raises:
        EdgeemuError: `E_STATE_IN_USE` if another holds it, `E_STATE_UNWRITABLE` if the system
            refuses, `E_STATE_DAMAGED` if the lock file is not one.
    """

    def __init__(self, folder: Path, *, wait_ms: int = 0) -> None:
        self._pid_path = folder / PID_FILE
        path = folder / LOCK_FILE
        if path.is_dir():
            raise problems.damaged(path, "it is a folder, and a file is expected")
        held = False
        connection: apsw.Connection | None = None
        try:
            connection = apsw.Connection(str(path))
            connection.set_busy_timeout(wait_ms)
            connection.execute("BEGIN EXCLUSIVE")
            self._pid_path.write_text(f"{os.getpid()}\n", encoding="ascii")
            held = True
        except apsw.BusyError:
            raise problems.in_use(folder, _read_pid(self._pid_path)) from None
        except (apsw.NotADBError, apsw.CorruptError) as error:
            raise problems.damaged(path, f"SQLite says: {error}") from error
        except (apsw.Error, OSError) as error:
            raise problems.unwritable(path, str(error)) from error
        finally:
            if connection is not None and not held:
                connection.close(True)
        self._connection: apsw.Connection | None = connection

    def close(self) -> None:
        """Let others have the folder; once is enough."""
        if self._connection is None:
            return
        # The note goes first: after the lock it might be the next holder's.
        with suppress(OSError):
            self._pid_path.unlink(missing_ok=True)
        self._connection.close(True)
        self._connection = None


def _read_pid(path: Path) -> int | None:
    """The process that noted itself as the holder; None if the note is missing or unreadable."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
