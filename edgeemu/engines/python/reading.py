"""What the code of an actor tells about itself when it is read: lines to warn of, found on the way.

Nothing here runs code or changes what it does. It is asked only at a few places of each turn, or
after an error.
"""

import dis
import inspect
import sys
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any

from edgeemu.engines.python.scope import Scope, is_ours, place_of, relative_file
from edgeemu.sdk.actor import StatefulActor

_CODES_REMEMBERED_MAX = 1_024
_DISCARDING: dict[int, tuple[CodeType, frozenset[int]]] = {}
"""By the identity of a code object, which is kept with it: hashing one costs more than all else."""


def note_discarded(scope: Scope, what: str, code: str, root: str) -> None:
    """Warn where the line of the actor's code that calls throws the awaitable away.

    Only in `async` code, for other code cannot await; and only a few times in a turn.

    Args:
        scope: whose turn it is.
        what: the call, as the warning shows it.
        code: of the warning.
        root: the folder of the project.
    """
    scope.peeks_left -= 1
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_ours(frame.f_code):
        frame = frame.f_back
    if frame is None or not frame.f_code.co_flags & inspect.CO_COROUTINE:
        return
    known = _DISCARDING.get(id(frame.f_code))
    if frame.f_lasti in (_discarding(frame.f_code) if known is None else known[1]):
        text = (
            f"{what} is not awaited, so its error appears somewhere else: write `await` before it"
        )
        if code == "W_CALL_NOT_AWAITED":
            text = f"{what} is not awaited, so nobody sees how it ends: write `await` before it"
        scope.host.warn(code, text, place_of(frame, root))


def _discarding(code: CodeType) -> frozenset[int]:
    """The offsets of calls in a function whose result is thrown away at once."""
    found: set[int] = set()
    for here, following in pairwise(dis.get_instructions(code)):
        if here.opname.startswith("CALL") and following.opname == "POP_TOP":
            # While it is called, a frame may stand anywhere in the cache behind the instruction.
            found.update(range(here.offset, following.offset, 2))
    if len(_DISCARDING) >= _CODES_REMEMBERED_MAX:
        _DISCARDING.clear()
    _DISCARDING[id(code)] = (code, frozenset(found))
    return _DISCARDING[id(code)][1]


def lost_field(target: Any, error: BaseException, root: str) -> str | None:
    """What to say where an actor reads a field that another turn had set in an earlier life.

    That is one that a method sets and no `__init__` does: an object made anew does not have it.

    Args:
        target: the object of the actor.
        error: that ended the turn.
        root: the folder of the project.
    """
    if not isinstance(error, AttributeError) or error.obj is not target or target is None:
        return None
    field = error.name or ""
    setters = []
    for base in type(target).__mro__:
        for name, value in vars(base).items() if base not in (StatefulActor, object) else ():
            code = getattr(inspect.unwrap(value) if callable(value) else None, "__code__", None)
            line = None if code is None else _line_that_sets(code, field)
            if code is not None and line is not None:
                if name == "__init__":
                    return None
                setters.append(f"{name} ({relative_file(code.co_filename, root)}:{line})")
    if not setters:
        return None
    return (
        f"self.{field} is not there: only {' and '.join(setters)} sets it, and has not run since "
        "the instance was last made; fields are a cache that goes with each eviction: keep it in "
        "self.ctx.storage, or set it in __init__"
    )


def _line_that_sets(code: CodeType, field: str) -> int | None:
    """The line of a method that sets `self.field`."""
    own = code.co_varnames[:1]
    line = None
    before: dis.Instruction | None = None
    for here in dis.get_instructions(code):
        line = here.positions.lineno if here.positions is not None else line
        on_self = before is not None and before.opname.startswith("LOAD_FAST")
        if here.opname == "STORE_ATTR" and here.argval == field and on_self and before is not None:
            named = before.argval if isinstance(before.argval, tuple) else (before.argval,)
            if own and own[0] in named[-1:]:
                return line
        before = here
    return None


def begins_at(target: Any, method: str, root: str) -> str | None:
    """The `file:line` where a method of an object begins; None for one that is no function."""
    name = "__init__" if method == "init" else method
    function = getattr(type(target), name, None)
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    if code is None or is_ours(code):
        return None
    return f"{relative_file(code.co_filename, root)}:{code.co_firstlineno}"
