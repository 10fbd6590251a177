"""What belongs to one turn of Python actor code: its host, its tasks, its failed writes."""

import os
import sys
import weakref
from asyncio import Task
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from edgeemu.engines.port import Host
from edgeemu.limits import PEEKED_WRITES_MAX
from edgeemu.sdk.errors import ActorError

if TYPE_CHECKING:
    from edgeemu.engines.python.environ import Shown

_PACKAGE = str(Path(__file__).parents[2])
_INSTALLED = frozenset({"site-packages", "dist-packages", "node_modules", "venv"})


class Scope:
    """One turn of actor code, from its start until the last task that it left behind has ended.

    Attributes:
        host: what the code may ask for.
        tasks: the tasks that run its code.
        transports: the network connections that it opened.
        outside: the futures that it made and that the outside world resolves.
        failed: writes that were refused, and transactions that failed.
        transactions: the tasks of transactions that the turn has not waited for yet.
        failed_tasks: tasks that it started and that ended with an error.
        environ: what `os.environ` shows its code; None for what it shows everybody else.
        init: functions that the constructor wants run before the first turn.
        in_constructor: whether the constructor runs right now.
        peeks_left: of how many more writes it is looked whether they are awaited.
    """

    __slots__ = (
        "__weakref__",
        "environ",
        "failed",
        "failed_tasks",
        "host",
        "in_constructor",
        "init",
        "main",
        "outside",
        "peeks_left",
        "refused",
        "refused_at",
        "stopped",
        "tasks",
        "took_ns",
        "transactions",
        "transports",
    )

    def __init__(self, host: Host, environ: "Shown | None" = None) -> None:
        self.host = host
        self.environ = environ
        self.tasks: dict[Task[Any], None] = {}
        # Made with the first of them: a weak set costs as much as the rest of a scope.
        self.transports: weakref.WeakSet[Any] | None = None
        self.outside: weakref.WeakSet[Any] | None = None
        self.failed: list[FailedWrite] = []
        self.transactions: list[Task[None]] = []
        self.failed_tasks: list[Task[Any]] = []
        self.init: list[Callable[[], Awaitable[Any]]] = []
        self.in_constructor = False
        self.main: Task[Any] | None = None
        self.stopped = False
        self.peeks_left = PEEKED_WRITES_MAX
        self.refused: Exception | None = None
        self.refused_at: str | None = None
        self.took_ns = 0

    def refuse(self, error: Exception, at: str | None = None) -> Exception:
        """Note that the runtime, not the user's code, raises `error`; the same error back.

        Args:
            error: which one.
            at: the `file:line` of the user's code that has to do with it.
        """
        self.refused, self.refused_at = error, at
        return error


class FailedWrite:
    """A write that was refused: awaiting it raises; left alone, it fails the turn at its end.

    Attributes:
        error: why.
        what: it is a `write` or a `transaction`.
        seen: whether somebody awaited it.
    """

    __slots__ = ("error", "seen", "what")

    def __init__(self, error: BaseException, what: str = "write", *, seen: bool = False) -> None:
        self.error = error
        self.what = what
        self.seen = seen

    def __await__(self) -> Any:
        self.seen = True
        yield from ()  # A generator is what `await` wants; this one has nothing to wait for.
        raise self.error


current: ContextVar[Scope | None] = ContextVar("edgeemu_scope", default=None)
"""The turn whose code runs in this context; None everywhere outside actor code."""


def current_scope() -> Scope:
    """The turn whose code runs here.

    Raises:
        ActorError: when no turn runs here, as in a thread or at import.
    """
    scope = current.get()
    if scope is None:
        raise ActorError(
            "storage, alarms and stubs can be used inside a turn only: "
            "not at import, nor in a thread of your own"
        )
    return scope


def caller_place(root: str) -> str | None:
    """The `file:line` of the user's code that called into edgeemu, relative to the project."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code):
        frame = frame.f_back
    return None if frame is None else place_of(frame, root)


def is_ours(code: CodeType) -> bool:
    """Whether a function belongs to edgeemu."""
    return code.co_filename.startswith(_PACKAGE)


def place_of(frame: FrameType, root: str) -> str:
    """The `file:line` of a frame, relative to the project where it lies inside."""
    return f"{relative_file(frame.f_code.co_filename, root)}:{frame.f_lineno}"


@lru_cache(maxsize=4_096)
def is_project_file(filename: str, root: str) -> bool:
    """Whether a file is the user's own: inside the project, and neither installed nor edgeemu's.

    A virtual environment usually lies inside the project, and edgeemu in it.
    """
    path = Path(filename)
    if filename.startswith(_PACKAGE + os.sep) or not path.is_relative_to(root):
        return False
    folders = path.relative_to(root).parts[:-1]
    return not any(part.startswith(".") or part in _INSTALLED for part in folders)


def relative_file(filename: str, root: str) -> str:
    """A file as users know it: relative to the project where it lies inside, with slashes."""
    inside = filename.removeprefix(root + "/").removeprefix(root + "\\")
    return inside.replace("\\", "/")
