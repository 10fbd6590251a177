"""The tree of commands. A group is imported when one of its commands is run, or listed."""

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from edgeemu.cli import render
from edgeemu.cli.commands import ProjectOption, StateDirOption, group

MODULES = {
    "new": "project",
    "dev": "dev",
    "call": "calls",
    "fetch": "calls",
    "connect": "calls",
    "actors": "actors",
    "alarms": "alarms",
    "storage": "storage",
    "kv": "kv",
    "clock": "clock",
    "evict": "actors",
    "log": "log",
    "check": "project",
    "types": "project",
    "explain": "explain",
}
"""Each command, in the order of `--help`, and the module of this package that declares it."""


class LazyGroup(TyperGroup):
    """Finds commands by name and imports only the one that is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands."""
        return list(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, or None."""
        if cmd_name not in MODULES:
            return None
        module = import_module(f"edgeemu.cli.{MODULES[cmd_name]}")
        declared = typer.main.get_command(module.app)
        # A module with several commands of the top level declares them in one app.
        commands = getattr(declared, "commands", {})
        return commands.get(cmd_name, declared)


def _print_version(asked: bool) -> None:
    if asked:
        from edgeemu import __version__

        render.text(f"edgeemu {__version__}")
        raise typer.Exit


def make_command() -> Any:
    """The command `edgeemu`."""
    app = group(
        "A local emulator for stateful edge actors with alarms, on a clock that you control.",
        completion=True,
        cls=LazyGroup,
    )

    @app.callback()
    def edgeemu(
        ctx: typer.Context,
        project: ProjectOption = None,
        state_dir: StateDirOption = None,
        version: Annotated[
            bool,
            typer.Option(
                "--version",
                "-V",
                help="Print the version and exit.",
                is_eager=True,
                callback=_print_version,
            ),
        ] = False,
    ) -> None:
        given = {"project": project, "state_dir": state_dir}
        ctx.obj = {key: value for key, value in given.items() if value}

    return typer.main.get_command(app)
