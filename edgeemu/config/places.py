"""Where things stand in a TOML file, and the errors that point there.

tomli gives values without positions, so the lines of tables and keys are found by a scan of the
text. The scan only serves messages: a key that it misses gets the line of its table.
"""

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, time
from typing import Any

from edgeemu.config.keys import SECRET_TABLE
from edgeemu.errors import Code, EdgeemuError

ValuePath = tuple[str | int, ...]
"""The way to a value: names of tables and keys, and indices into lists of tables."""

SHOWN_CHARS_MAX = 60
"""Characters of a value that a message repeats."""

FRAME_COLUMNS_MAX = 100
"""Columns of a line of the file that a code frame repeats."""

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")


def find_lines(text: str) -> dict[ValuePath, int]:
    """The line, from 1, on which each table and each key outside an inline table begins."""
    lines: dict[ValuePath, int] = {}
    counts: dict[ValuePath, int] = {}
    table: ValuePath = ()
    quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        inside = bool(quote)
        for found in re.findall(r'"""|\'\'\'', line):
            quote = "" if quote == found else quote or found
        if inside:
            continue
        if header := _HEADER.match(line):
            table = _indexed(_parts(header[2]), counts)
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                lines.setdefault(table, number)
                table = (*table, counts[table])
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            path = table
            for part in _parts(key[1]):
                path = (*path, part)
                lines.setdefault(path, number)
    return lines


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_PART, dotted)]


def _indexed(parts: list[str], counts: dict[ValuePath, int]) -> ValuePath:
    """The path of a table, whose parents may be lists: then it belongs to the last entry."""
    path: ValuePath = ()
    for part in parts[:-1]:
        path = (*path, part)
        if path in counts:
            path = (*path, counts[path])
    return (*path, parts[-1])


def code_frame(text: str, line: int, column: int) -> str:
    """A line of the file with its number, the line before it, and a mark under the column."""
    lines = text.splitlines() or [""]
    line = min(line, len(lines))
    width = len(str(line))
    rows = [
        f"{number:>{width}} | {lines[number - 1][:FRAME_COLUMNS_MAX]}".rstrip()
        for number in (line - 1, line)
        if number >= 1
    ]
    column = min(column, len(lines[line - 1]) + 1)
    if column <= FRAME_COLUMNS_MAX:
        rows.append(" " * width + " | " + " " * (column - 1) + "^")
    return "\n".join(rows)


def show(value: Any) -> str:
    """A value as TOML would write it, short enough for a message."""
    if isinstance(value, bool):
        shown = str(value).lower()
    elif isinstance(value, date | time):
        shown = value.isoformat()
    elif isinstance(value, str):
        shown = json.dumps(value, ensure_ascii=False)
    elif isinstance(value, dict):
        shown = "{" + ", ".join(f"{name} = {show(item)}" for name, item in value.items()) + "}"
    elif isinstance(value, list):
        shown = "[" + ", ".join(map(show, value)) + "]"
    else:
        shown = str(value)
    return shown if len(shown) <= SHOWN_CHARS_MAX else shown[: SHOWN_CHARS_MAX - 1] + "…"


def written(path: ValuePath) -> str:
    """A path as people write it, such as `actors[1].type`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`, if one is."""
    by_lower = {word.lower(): word for word in known}
    found = difflib.get_close_matches(name.lower(), list(by_lower), 1, 0.6)
    return by_lower[found[0]] if found else None


@dataclass(frozen=True)
class Places:
    """Where the values of one configuration come from.

    Attributes:
        file: the name of the file, for messages.
        lines: the line of each path in it.
        overridden: the paths that overrides, and not the file, have given.
        names_in_file: the paths that are written otherwise in the file than in `edgeemu.toml`.
    """

    file: str
    lines: dict[ValuePath, int] = field(default_factory=dict)
    overridden: frozenset[ValuePath] = frozenset()
    names_in_file: dict[ValuePath, ValuePath] = field(default_factory=dict)

    def is_overridden(self, path: ValuePath) -> bool:
        """Whether an override gave the value at `path`, or a table that it lies in."""
        return any(path[:length] in self.overridden for length in range(1, len(path) + 1))

    def name(self, path: ValuePath) -> str:
        """A path as the file writes it."""
        if not self.is_overridden(path):
            for start, replacement in self.names_in_file.items():
                if path[: len(start)] == start:
                    return written((*replacement, *path[len(start) :]))
        return written(path)

    def where(self, path: ValuePath) -> str:
        """The place of a path: file and line, or the override that gave it."""
        if self.is_overridden(path):
            return f"the override `{written(path)}`"
        for start, replacement in self.names_in_file.items():
            if path[: len(start)] == start:
                path = (*replacement, *path[len(start) :])
                break
        for length in range(len(path), 0, -1):
            if line := self.lines.get(path[:length]):
                return f"{self.file} line {line}"
        return self.file

    def missing_error(self, path: ValuePath, key: str, *, example: str) -> EdgeemuError:
        """`E_CONFIG_VALUE` for a table at `path` that lacks `key`."""
        return EdgeemuError(
            Code.CONFIG_VALUE,
            what=f"`{self.name((*path, key))}` is missing",
            why=f"{self.where(path)}; each such entry needs a `{key}`",
            fix=f"add a line like `{key} = {example}`",
        )

    def value_error(
        self, path: ValuePath, given: Any, *, why: str, fix: str, secret: bool | None = None
    ) -> EdgeemuError:
        """`E_CONFIG_VALUE` for the value at `path`; a secret is named by its type only."""
        hidden = SECRET_TABLE in path if secret is None else secret
        shown = f"a value of type {type(given).__name__}" if hidden else f"`{show(given)}`"
        return EdgeemuError(
            Code.CONFIG_VALUE,
            what=f"{shown} cannot be `{self.name(path)}`",
            why=f"{self.where(path)}; {why}",
            fix=fix,
        )
