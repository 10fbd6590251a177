"""`docs/cli.md`, written from `--help`: `python -m edgeemu.cli.reference > docs/cli.md`.

Promise: the same text on every machine, whatever its terminal.
"""

from collections.abc import Iterator
from typing import Any

import typer

from edgeemu.cli import render
from edgeemu.cli.app import make_command

COLUMNS = 90
"""The width of the help in the reference."""

_INTRODUCTION = """\
# Command line

This page is written from `--help`; `python -m edgeemu.cli.reference > docs/cli.md` writes it anew.

- An instance is written `Type/name`; where the project has one type, the name alone will do.
- Durations: `90s`, `5m`, `2h30m`, `30d`, `1500ms`. Instants: ISO 8601, or milliseconds since the
  epoch.
- Data goes to stdout, everything else to stderr. With `--json`, stdout is one JSON document, and
  an error is one too: `{"error": {"code", "what", "why", "fix"}}`; see [errors.md](errors.md).
- Exit status: 0 fine; 1 the actor failed; 2 the command or the set-up was wrong; 3 a bug in
  edgeemu; 130 after Ctrl-C.
- With `edgeemu dev` running, commands talk to it. Without, they open the project's state
  themselves, with the clock where it was left; only commands that run or move something fire what
  is overdue.
- Colour appears on a terminal only, and never where `NO_COLOR` is set.
"""


def cli_reference() -> str:
    """The reference of all commands, as Markdown."""
    root = make_command()
    parts = [_INTRODUCTION]
    for path, text in _helps(root, "edgeemu", None):
        parts.append(f"## {path}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def _helps(command: Any, name: str, parent: Any) -> Iterator[tuple[str, str]]:
    context = typer.Context(command, info_name=name, parent=parent, terminal_width=COLUMNS)
    text = command.get_help(context)
    yield context.command_path, "\n".join(line.rstrip() for line in text.splitlines())
    if hasattr(command, "list_commands"):
        for child in command.list_commands(context):
            yield from _helps(command.get_command(context, child), child, context)


if __name__ == "__main__":
    render.text(cli_reference())
