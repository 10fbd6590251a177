"""What becomes of turns whose process has ended in the middle."""

from edgeemu.core.events import Failure
from edgeemu.engines.javascript.child import ChildDied, EndedBy
from edgeemu.engines.port import Result
from edgeemu.limits import SCRIPT_HEAP_BYTES_MAX
from edgeemu.sdk.errors import ActorCrashedError, ActorError, ActorHangError


def death_result(died: ChildDied, where: str | None) -> Result:
    """How a turn ended in whose step the process did; `where` its code begins."""
    error: ActorError
    if died.ended_by is EndedBy.HANG:
        at = f"; it began at {where}" if where else ""
        error = ActorHangError(f"the code ran on without waiting and was stopped{at}")
    else:
        error = ActorCrashedError(death_reason(died))
    hung = died.ended_by is EndedBy.HANG
    return Result(failure=Failure(error.name, str(error), where), hung=hung, error=error)


def death_reason(died: ChildDied) -> str:
    """Why the process of TypeScript is gone, in words."""
    if died.ended_by is EndedBy.HANG:
        return "the process of TypeScript was stopped, because code in it ran on without waiting"
    if died.ended_by is EndedBy.MEMORY:
        return (
            "the process of TypeScript used more memory than it may, "
            f"{SCRIPT_HEAP_BYTES_MAX >> 20} MiB for all actors together, and was stopped"
        )
    return f"the process of TypeScript ended: {died}"
