"""Starting over: takes the state out of a state folder, and nothing else."""

import shutil
from contextlib import suppress
from pathlib import Path

from edgeemu.errors import Code, EdgeemuError
from edgeemu.stores.lock import StateLock

STATE_NAMES = (
    "state.sqlite",
    "state.sqlite-wal",
    "state.sqlite-shm",
    "state.sqlite-journal",
    "sql",
)
"""What a state folder holds of the actors, the clock and the journal (design D5)."""


def clear_state(folder: Path) -> list[str]:
    """Delete the state in a folder; the names that were deleted.

    Files that edgeemu did not make are left alone, so that a folder named by mistake loses nothing.

    Args:
        folder: the state folder; one that does not exist holds no state.

    Raises:
        EdgeemuError: `E_STATE_IN_USE` while another process has it open, `E_STATE_UNWRITABLE`.
    """
    found = [folder / name for name in STATE_NAMES if (folder / name).exists()]
    if not found:
        return []
    lock = StateLock(folder)
    try:
        for path in found:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    except OSError as error:
        raise EdgeemuError(
            Code.STATE_UNWRITABLE,
            what=f"the state in `{folder}` cannot be deleted",
            why=error.strerror or str(error),
            fix="make the folder writable, or give another one: edgeemu dev --state-dir DIR",
        ) from None
    finally:
        with suppress(OSError):
            lock.close()
    return [path.name for path in found]
