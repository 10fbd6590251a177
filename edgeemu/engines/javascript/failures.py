"""Errors of JavaScript code as the core and the journal know them."""

import linecache
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from edgeemu.core.events import Failure
from edgeemu.core.traces import joined
from edgeemu.engines.javascript.child import HOST
from edgeemu.engines.javascript.frames import Described
from edgeemu.sdk.errors import error_named

_FRAME = re.compile(
    r"^\s*at (?:(?P<name>.*?) \()?(?P<url>file://[^)\s]+?):(?P<line>\d+):(?P<column>\d+)\)?$"
)
_TRACE_FRAMES_MAX = 12
_HOST_URL = HOST.as_uri()


def failure_of(error: Described, root: str) -> Failure:
    """An error that ended code of a turn, told for a project in the folder `root`."""
    frames = user_frames(error.stack, root)
    parts = [joined(_trace(frames, root), error.raised)]
    for how, name, message, stack, raised in error.more:
        inner = user_frames(stack, root)
        frames = frames or inner
        parts += [
            f"  {how} {f'{name}: ' if name else ''}{message}",
            joined(_trace(inner, root), raised),
        ]
    where = f"{frames[0][0]}:{frames[0][1]}" if frames else None
    trace = "\n".join(part for part in parts if part)
    raised_in = error.raised.place if error.raised else None
    return Failure(error.name, error.message, where, trace, error.own, raised_in)


class StackPlace(NamedTuple):
    """Where one frame of a stack stands; lines and columns begin at 1."""

    path: Path
    line: int
    column: int
    name: str


def stack_places(stack: str) -> list[StackPlace]:
    """The frames of a stack outside of the host, the innermost first."""
    found = []
    for text in stack.splitlines():
        match = _FRAME.match(text)
        if match is not None and not match["url"].startswith(_HOST_URL):
            path = Path(unquote(urlsplit(match["url"]).path))
            name = match["name"] or "the module"
            found.append(StackPlace(path, int(match["line"]), int(match["column"]), name))
    return found


def error_of(failure: Failure) -> Exception:
    """The error as a test in Python sees it: an assertion that failed is one of the test's own."""
    if failure.name != "AssertionError":
        return error_named(failure.name, failure.message)
    error = AssertionError(failure.message.strip())
    error.add_note(failure.trace or "in TypeScript")
    return error


def user_frames(stack: str, root: str) -> list[tuple[str, int, str]]:
    """The frames of the project in a stack: file, line and function, the innermost first."""
    return [
        (place.path.relative_to(root).as_posix(), place.line, place.name)
        for place in stack_places(stack)
        if place.path.is_relative_to(root) and "node_modules" not in place.path.parts
    ]


def _trace(frames: list[tuple[str, int, str]], root: str) -> str:
    """The user's own frames as text, the outermost first, as for Python."""
    lines = []
    for file, line, name in reversed(frames):
        linecache.checkcache(str(Path(root) / file))
        source = linecache.getline(str(Path(root) / file), line).strip()
        name = name.removeprefix("async ")
        lines.append(f"  {file}:{line} in {name}\n    {source}")
    left_out = len(lines) - _TRACE_FRAMES_MAX
    if left_out > 0:  # A recursion without end has a thousand, all alike.
        half = _TRACE_FRAMES_MAX // 2
        lines[half:-half] = [f"  ... {left_out} more"]
    return "\n".join(lines)
