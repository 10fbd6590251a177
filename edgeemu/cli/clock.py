"""`clock`: the one clock of the emulated world, read and moved."""

from typing import Annotated

import typer

from edgeemu.cli.commands import Run, command, group, runner_of
from edgeemu.cli.values import ask_instant, parse_advance
from edgeemu.cli.words import clock_lines

app = group(
    "Read the emulated clock, stop it, and move it. Without a command it is read.",
    invoke_without_command=True,
)


def read_clock(ctx: typer.Context, run: Run) -> None:
    """Read the clock, unless a command follows."""
    if ctx.invoked_subcommand is None:
        _perform(run, "clock.read")


app.callback()(runner_of(read_clock))


@command(app, "read")
def read(run: Run) -> None:
    """Show the present instant and how time moves."""
    _perform(run, "clock.read")


@command(app, "freeze")
def freeze(run: Run) -> None:
    """Stop the time."""
    _perform(run, "clock.freeze")


@command(app, "resume")
def resume(run: Run) -> None:
    """Let time pass at the real pace, from the present instant."""
    _perform(run, "clock.resume")


@command(app, "advance")
def advance(
    run: Run,
    duration: Annotated[
        str, typer.Argument(metavar="DURATION", help="How far: 90s, 5m, 2h30m, 30d or 1500ms.")
    ],
) -> None:
    """Move forward, delivering every alarm that is due on the way, each at its own instant."""
    _perform(run, "clock.advance", duration_ms=parse_advance(duration))


@command(app, "set")
def set_clock(
    run: Run,
    instant: Annotated[
        str,
        typer.Argument(
            metavar="INSTANT",
            help="ISO 8601, milliseconds since the epoch, or +5m for five minutes from now.",
        ),
    ],
) -> None:
    """Jump to an instant: forward, what is overdue then fires; back, nothing fires twice."""
    with run.target() as target:
        instant_ms = ask_instant(target, instant)
        run.show(target.perform("clock.set", {"instant_ms": instant_ms}), clock_lines)


@command(app, "rate")
def set_rate(
    run: Run,
    rate: Annotated[
        str, typer.Argument(metavar="RATE", help="Virtual seconds for each real one: 60 or 60x.")
    ],
) -> None:
    """Let time pass at a rate."""
    from edgeemu.clock import parse_rate

    _perform(run, "clock.rate", rate=parse_rate(rate))


@command(app, "next")
def next_instant(run: Run) -> None:
    """Move to the next instant at which something is due, and run it."""
    _perform(run, "clock.next")


@command(app, "idle")
def until_idle(run: Run) -> None:
    """Move on until nothing is due any more."""
    _perform(run, "clock.idle")


def _perform(run: Run, operation: str, **params: object) -> None:
    run.show(run.perform(operation, **params), clock_lines)
