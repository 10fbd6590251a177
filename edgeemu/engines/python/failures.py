"""Errors of Python actor code as the core and the journal know them."""

import traceback

from edgeemu.core.events import Failure
from edgeemu.core.traces import joined
from edgeemu.engines.python.containment import error_text
from edgeemu.engines.python.scope import Scope, is_project_file, relative_file
from edgeemu.engines.python.watchdog import HangInterrupt
from edgeemu.sdk.errors import ActorError, ActorHangError, raised_elsewhere

_TRACE_FRAMES_MAX = 12
"""Frames of the user's code that an error shows; of more, the outermost and the innermost."""


def failure_of(scope: Scope, error: BaseException, root: str) -> Failure:
    """An error that ended code of a turn, told for a project in the folder `root`."""
    if isinstance(error, HangInterrupt):
        shown = hang_error(error, root)
        return Failure(shown.name, str(shown), place_in(error, root))
    name = error.name if isinstance(error, ActorError) else type(error).__name__
    own = error is not scope.refused
    where = place_in(error, root) or (None if own else scope.refused_at)
    raised = raised_elsewhere(error)
    trace = joined(trace_of(error, root), raised)
    cause = None if raised else _caught(error)
    if cause is not None and (way := raised_elsewhere(cause)):
        told = f"  caused by {cause.name}: {cause}"
        trace = joined(f"{trace}\n{told}" if trace else told, way)
    raised_in = raised.place if raised else None
    return Failure(name, error_text(error), where, trace, own, raised_in)


def _caught(error: BaseException) -> ActorError | None:
    """The error of another actor that an error was raised from, or while it was handled."""
    seen = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
        if isinstance(found, ActorError):
            return found
    return None


def hang_error(error: HangInterrupt, root: str) -> ActorHangError:
    """What users are told of code that the watchdog stopped."""
    where = place_in(error, root)
    return ActorHangError(f"the code ran on without waiting and was stopped at {where}")


def place_in(error: BaseException, root: str) -> str | None:
    """The `file:line` of the innermost frame of the project in an error."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_project_file(frame.filename, root):
            return f"{relative_file(frame.filename, root)}:{frame.lineno}"
    return None


def trace_of(error: BaseException, root: str) -> str:
    """The frames of the project in an error, as text: the user's own first and only."""
    lines = []
    for frame in traceback.extract_tb(error.__traceback__):
        if is_project_file(frame.filename, root):
            file = relative_file(frame.filename, root)
            lines.append(f"  {file}:{frame.lineno} in {frame.name}\n    {frame.line}")
    left_out = len(lines) - _TRACE_FRAMES_MAX
    if left_out > 0:  # A recursion without end has a thousand, all alike.
        half = _TRACE_FRAMES_MAX // 2
        lines[half:-half] = [f"  ... {left_out} more"]
    lines += map(str, getattr(error, "__notes__", ()))
    return "\n".join(lines)
