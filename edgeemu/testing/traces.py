"""Tracebacks as a test should see them: its own frames and the actor's, none of edgeemu's."""

from types import TracebackType

from edgeemu.engines.python.scope import is_ours, is_project_file
from edgeemu.errors import Code, EdgeemuError
from edgeemu.sdk.errors import ActorError


def is_told(error: BaseException) -> bool:
    """Whether an error says by itself what is wrong, so that edgeemu's frames tell nothing more."""
    if isinstance(error, EdgeemuError):
        return error.code is not Code.INTERNAL
    return isinstance(error, ActorError)


def hide_own_frames(error: BaseException, root: str) -> None:
    """Take edgeemu's frames out of the traceback of an error, and out of its causes.

    Args:
        error: that reached a test; one that `is_told`.
        root: the folder of the project.
    """
    error.__traceback__ = _shown(error.__traceback__, root, user=True)
    while (cause := error.__cause__) is not None:
        cause.__traceback__ = _shown(cause.__traceback__, root, user=False)
        if cause.__traceback__ is None:  # Nothing of the user's took part: it is said already.
            error.__cause__ = None
            break
        error = cause
    error.__suppress_context__ = True


def _shown(found: TracebackType | None, root: str, *, user: bool) -> TracebackType | None:
    """The frames of the user, and of the libraries that the user called.

    Args:
        found: the traceback.
        root: the folder of the project.
        user: whether the outermost frame is, or was called by, code of the user.
    """
    kept = []
    while found is not None:
        code = found.tb_frame.f_code
        user = not is_ours(code) and (user or is_project_file(code.co_filename, root))
        if user:
            kept.append(found)
        found = found.tb_next
    shown = None
    for each in reversed(kept):
        shown = TracebackType(shown, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return shown
