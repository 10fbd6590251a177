"""Where an error arose that came out of a call of another actor, told along the calls.

A caller sees name and message alone, as on the platform; whoever develops it sees the way there.
"""

from edgeemu.core.events import Failure
from edgeemu.sdk.errors import Raised

_LINES_MAX = 48
"""Lines of a way that are told; of more, the outermost and the innermost."""


def raised_of(failure: Failure, what: str) -> Raised | None:
    """What a caller is to know of a turn that failed; None if no code of the project failed.

    Args:
        failure: how it ended.
        what: the turn, such as `deposit of Account/q`.
    """
    if not (failure.own or failure.where or failure.raised_in):
        return None
    where = f" at {failure.where}" if failure.where else ""
    way = _shortened(f"  in {what}:\n{failure.trace}" if failure.trace else "")
    return Raised(failure.raised_in or f"{what}{where}", way)


def joined(trace: str, raised: Raised | None) -> str:
    """The frames of a caller, and the way that the error had come before it reached them."""
    way = "" if raised is None else raised.way
    return "\n".join(part for part in (trace, way) if part)


def _shortened(way: str) -> str:
    lines = way.splitlines()
    left_out = len(lines) - _LINES_MAX
    if left_out <= 0:
        return way
    half = _LINES_MAX // 2
    return "\n".join([*lines[:half], f"  ... {left_out} lines more", *lines[-half:]])
