"""`actors` and `evict`: which instances there are, and which are in memory."""

from typing import Annotated

import typer

from edgeemu.cli import complete
from edgeemu.cli.calls import Actor
from edgeemu.cli.commands import Run, command, group
from edgeemu.cli.missing import full_name
from edgeemu.cli.words import actor_lines, actor_table
from edgeemu.errors import Code, EdgeemuError

_NO_MEMORY = (
    "no server runs, so every command makes its instances anew from storage and drops them at its "
    "end; with `edgeemu dev` they stay in memory"
)

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
    with run.target() as target:
        found = target.perform("actors.show", {"actor": actor})
        waits = None
        if found["state"] == "running" and not run.as_json:
            waiting = target.perform("status", {})["waiting"]
            own = (turn["where"] for turn in waiting if turn["actor"] == found["actor"])
            waits = next(own, None)
    run.show(found, lambda shown: actor_lines(shown, waits))


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
    with run.target() as target:
        found = target.perform("evict", {"actor": actor, "crash": crash})
        if not found["evicted"]:
            who = "nothing" if actor is None or run.as_json else full_name(target, actor)[0]
            run.note(f"{who} was not in memory" if actor else "nothing was in memory")
            if not target.is_server:
                run.note(_NO_MEMORY)
    run.show(found, lambda shown: [f"evicted {name}" for name in shown["evicted"]])
