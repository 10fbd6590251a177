"""What to say where a command found nothing: perhaps the instance was never touched."""

from typing import TYPE_CHECKING

from edgeemu.cli.commands import Run
from edgeemu.errors import Code, EdgeemuError

if TYPE_CHECKING:
    from edgeemu.api.client import Target


def note_missing(run: Run, target: "Target", actor: str, otherwise: str | None = None) -> None:
    """Say that an instance does not exist; or, if it does, something else.

    Args:
        run: of the command; with `--json` nothing is said.
        target: that found nothing.
        actor: as it was typed.
        otherwise: what to say of an instance that exists; `{}` stands for its full name.
    """
    if run.as_json:
        return
    name, exists = full_name(target, actor)
    if not exists:
        run.note(f"(there is no instance {name} yet)")
    elif otherwise is not None:
        run.note(otherwise.replace("{}", name))


def full_name(target: "Target", actor: str) -> tuple[str, bool]:
    """`Type/name` of an instance that was typed, and whether it exists."""
    try:
        return str(target.perform("actors.show", {"actor": actor})["actor"]), True
    except EdgeemuError as error:
        if error.code is not Code.INSTANCE_UNKNOWN:
            raise
    # An export of what is not there is empty, and names it.
    return str(target.perform("storage.export", {"actor": actor})["actor"]), False


def note_sql(run: Run, target: "Target", actor: str) -> None:
    """Say of an instance whose keys are listed that it has a database too."""
    name, exists = full_name(target, actor)
    if exists and target.perform("actors.show", {"actor": name})["sql_bytes"]:
        query = "SELECT name FROM sqlite_master"
        run.note(f"{name} has SQL data too: see `edgeemu storage sql {name} '{query}'`")
