"""The errors of a state folder: each names the file and a way out that deletes nothing unasked."""

from pathlib import Path

from edgeemu.errors import Code, EdgeemuError


def damaged(path: Path, cause: str, folder: Path | None = None) -> EdgeemuError:
    """`E_STATE_DAMAGED`: what lies at `path`, in the state folder `folder`, cannot be used."""
    return EdgeemuError(
        Code.STATE_DAMAGED,
        what=f"the state in `{path}` is damaged",
        why=f"{cause}; nothing was deleted or repaired",
        fix=f"move the folder {folder or path.parent} aside to keep it,"
        " or start over without its state: edgeemu dev --fresh",
    )


def newer(path: Path, *, version: int, version_known: int) -> EdgeemuError:
    """`E_STATE_NEWER`: a later edgeemu wrote the state in `path`."""
    return EdgeemuError(
        Code.STATE_NEWER,
        what=f"the state in `{path}` was written by a newer edgeemu",
        why=f"its schema has version {version}, and this edgeemu knows versions up to"
        f" {version_known}; the state was left as it is",
        fix="upgrade with `pip install --upgrade edgeemu`,"
        " or use another folder: edgeemu dev --state-dir DIR",
    )


def unwritable(path: Path, cause: str, folder: Path | None = None) -> EdgeemuError:
    """`E_STATE_UNWRITABLE`: the system refuses to read or write the state in `path`."""
    return EdgeemuError(
        Code.STATE_UNWRITABLE,
        what=f"the state in `{path}` cannot be written",
        why=f"the system says: {cause}",
        fix=f"make {folder or path.parent} a folder that you may write to, on a disk with free"
        " space, or use another one: edgeemu dev --state-dir DIR",
    )


def held_by_other_program(path: Path) -> EdgeemuError:
    """`E_STATE_UNWRITABLE`: something that is not edgeemu keeps the file at `path` locked."""
    return EdgeemuError(
        Code.STATE_UNWRITABLE,
        what=f"the state in `{path}` cannot be written",
        why="another program, such as a `sqlite3` shell, has a transaction open in it",
        fix="end that transaction or program, and try again",
    )


def in_use(folder: Path, pid: int | None) -> EdgeemuError:
    """`E_STATE_IN_USE`: another process, `pid` if it is known, has the state folder open."""
    holder = "another process" if pid is None else f"process {pid}"
    return EdgeemuError(
        Code.STATE_IN_USE,
        what=f"the state folder `{folder}` is in use",
        why=f"{holder} has it open, and two at a time would overwrite each other's state",
        fix="stop that process, or use another folder: edgeemu dev --state-dir DIR",
    )
