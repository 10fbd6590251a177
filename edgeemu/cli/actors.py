"""`actors` and `evict`: which instances there are, and which are in memory."""

from typing import Annotated

import typer

from edgeemu.cli import complete, render
from edgeemu.cli.calls import Actor
from edgeemu.cli.commands import Run, command, group
from edgeemu.cli.words import actor_lines, actor_table
from edgeemu.errors import Code, EdgeemuError

app = group("Instances.")
actors = group("List the instances of the actors, and look at one.")
app.add_typer(actors, name="actors")


@command(actors, "list")
def list_actors(
    run: Run,
    type: Annotated[
        str | None, typer.Option("--type", metavar="T", help="Only instances of this actor.")
    ] = None,
) -> None:
    """List the instances that exist: state, alarm, size and last turn of each."""
    found = run.perform("actors.list", type=type)
    if not found:
        run.note("no instances exist yet; `edgeemu call` makes one")
    run.show(found, actor_table)


@command(actors, "show")
def show_actor(run: Run, actor: Actor) -> None:
    """Show one instance: state, alarm, size, last turn and last error."""
    run.show(run.perform("actors.show", actor=actor), actor_lines)


@command(app, "evict")
def evict(
    run: Run,
    actor: Annotated[
        str | None,
        typer.Argument(metavar="ACTOR", help="The instance.", autocompletion=complete.actors),
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="Every instance.")] = False,
    crash: Annotated[
        bool, typer.Option("--crash", help="In the middle of a turn, whose writes are lost.")
    ] = False,
) -> None:
    """Drop instances from memory, as the platform does."""
    if (actor is None) is not all:
        raise EdgeemuError(
            Code.USAGE,
            what="`evict` takes an ACTOR or --all" + (", not both" if all else ""),
            why="it drops one instance, or every one",
            fix="write `edgeemu evict Type/name` or `edgeemu evict --all`",
        )
    found = run.perform("evict", actor=actor, crash=crash)
    if run.as_json:
        render.data(found)
        return
    render.lines(f"evicted {name}" for name in found["evicted"])
    if not found["evicted"]:
        run.note("nothing was in memory" if all else f"{actor} was not in memory")
