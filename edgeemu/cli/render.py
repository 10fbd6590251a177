"""The only place that prints: data on stdout, talk and errors on stderr, one JSON document.

Promise: colour carries no meaning of its own and appears on a terminal only, never with `NO_COLOR`.
Control characters of names and messages are shown, not sent to the terminal. A reader that closes
the pipe ends nothing: what is written afterwards goes nowhere.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from edgeemu.errors import Code, EdgeemuError

Piece = str | tuple[str, str]
"""Text, or text and a style of `STYLES`."""
Line = Piece | Sequence[Piece]
"""One line of output: one piece, or a list of them."""

STYLES = {"good": "green", "bad": "bold red", "warn": "yellow", "dim": "dim", "bold": "bold"}
"""What the styles look like on a terminal."""

_ESCAPED = {code: f"\\x{code:02x}" for code in (*range(32), 127, *range(128, 160))}
_ESCAPED |= {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}


def visible(text: str) -> str:
    """A text on one line, with its control characters spelt out."""
    return text if text.isprintable() else text.translate(_ESCAPED)


def data(value: Any, *, compact: bool = False) -> None:
    """Print a value as one JSON document on stdout.

    Args:
        value: JSON-safe.
        compact: on one line, for a stream of documents.
    """
    _write(sys.stdout, json_text(value, compact=compact) + "\n")


def json_text(value: Any, *, compact: bool = False) -> str:
    """A value as JSON that stdout can carry."""
    import json

    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not unicode, indent=None if compact else 2)
    # A lone surrogate of a name has no UTF-8; its JSON escape says the same.
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def lines(found: Iterable[Line]) -> None:
    """Print lines of data on stdout."""
    _print(sys.stdout, found)


def talk(*found: Line) -> None:
    """Tell the user something on stderr."""
    _print(sys.stderr, found)


def text(value: str) -> None:
    """Print a text on stdout just as it is, and end its line."""
    _write(sys.stdout, value if value.endswith("\n") else value + "\n")


def raw(content: bytes) -> None:
    """Write bytes to stdout just as they are."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except OSError as failure:
        _give_up(sys.stdout, failure)


def error(found: EdgeemuError, *, as_json: bool) -> None:
    """Show an error: JSON on stdout, or three lines and their detail on stderr."""
    if as_json and found.code is not Code.OUTPUT_UNWRITABLE:
        data(found.as_json())
    else:
        _print(sys.stderr, error_lines(found))


def error_lines(found: EdgeemuError) -> list[Line]:
    """An error as the lines of `EdgeemuError.as_text`."""
    shown: list[Line] = [
        [(f"error[{found.code.text}]:", "bad"), f" {found.what}"],
        [("why:", "bold"), f" {found.why}"],
        [("fix:", "bold"), f" {found.fix}"],
    ]
    if found.detail:
        shown += ["", *found.detail.splitlines()]
    return shown


def plain(line: Line) -> str:
    """A line without its styles, with its control characters spelt out."""
    return visible("".join(content for content, _ in _pieces(line)))


def is_styled(stream: TextIO) -> bool:
    """Whether output to a stream may have colour."""
    if not stream.isatty():  # First, for a live log asks with each line.
        return False
    return os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def _pieces(line: Line) -> list[tuple[str, str]]:
    if isinstance(line, str):
        return [(line, "")]
    if isinstance(line, tuple) and len(line) == 2 and line[1] in STYLES:
        return [(str(line[0]), str(line[1]))]
    found: list[tuple[str, str]] = []
    for part in line:
        if isinstance(part, str):
            found.append((part, ""))
        else:
            found += _pieces(part)
    return found


def _print(stream: TextIO, found: Iterable[Line]) -> None:
    show = _styled if is_styled(stream) else plain
    content = "".join(show(line) + "\n" for line in found)
    if content:
        _write(stream, content)


def _styled(line: Line) -> str:
    # Rendering by style alone is a hundred times faster than by a console, and a long advance
    # writes thousands of lines.
    from rich.color import ColorSystem
    from rich.style import Style

    return "".join(
        Style.parse(STYLES.get(style, "")).render(
            visible(content), color_system=ColorSystem.STANDARD
        )
        for content, style in _pieces(line)
    )


def _write(stream: TextIO, content: str) -> None:
    try:
        try:
            stream.write(content)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(content.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except OSError as failure:
        _give_up(stream, failure)


def _give_up(stream: TextIO, failure: OSError) -> None:
    """Write no more; only a reader who has gone, and talk that nobody can get, are no error.

    Raises:
        EdgeemuError: `E_OUTPUT_UNWRITABLE` for data.
    """
    _mute(stream)
    if stream is sys.stdout and not isinstance(failure, BrokenPipeError):
        raise EdgeemuError(
            Code.OUTPUT_UNWRITABLE,
            what="the output of this command could not be written",
            why=f"the system says: {failure.strerror or failure}",
            fix="free some space where the output goes; what the command did stays done",
        ) from None


def _mute(stream: TextIO) -> None:
    """Let the rest of the output go nowhere, so that nothing fails at the end either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
