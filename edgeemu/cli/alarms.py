"""`alarms`: what is due and when, and every way to move it."""

from typing import Annotated, Any

import typer

from edgeemu.cli import render
from edgeemu.cli.calls import Actor
from edgeemu.cli.commands import Run, command, group
from edgeemu.cli.journal import entry_lines
from edgeemu.cli.journal import when as left_words
from edgeemu.cli.missing import note_missing
from edgeemu.cli.render import Line
from edgeemu.cli.values import ask_instant, parse_when
from edgeemu.cli.words import alarm_table, fired_lines
from edgeemu.errors import Code, EdgeemuError, ExitStatus

app = group("See what is due and why, fire it, make it fail, move it.")

HOWS = ("throw", "timeout", "crash-before-commit", "crash-after-commit")


@command(app, "list")
def list_alarms(
    run: Run,
    type: Annotated[
        str | None, typer.Option("--type", metavar="T", help="Only alarms of this actor.")
    ] = None,
    all: Annotated[
        bool, typer.Option("--all", help="Those that are done or were given up, too.")
    ] = False,
) -> None:
    """List the pending alarms, soonest first: due when, which attempt, set by which line."""
    found = run.perform("alarms.list", type=type, ended=all)
    if not found:
        run.note("no alarm was ever set" if all else "no alarms are pending")
    run.show(found, alarm_table)


@command(app, "fire")
def fire_alarm(run: Run, actor: Actor) -> int:
    """Deliver the alarm of an instance now, by the real path; the clock stays."""
    return _show_fired(run, run.perform("alarms.fire", actor=actor))


@command(app, "fail")
def fail_alarm(
    run: Run,
    actor: Actor,
    times: Annotated[int, typer.Option("--times", metavar="N", help="How many deliveries.")] = 1,
    error: Annotated[
        str | None, typer.Option("--error", metavar="MSG", help="The message of the error.")
    ] = None,
    how: Annotated[
        str,
        typer.Option(
            "--how",
            metavar="HOW",
            help=f"In which way they fail: {', '.join(HOWS)}.",
            autocompletion=lambda: list(HOWS),
        ),
    ] = "throw",
    now: Annotated[bool, typer.Option("--now", help="Deliver the alarm at once, too.")] = False,
) -> int:
    """Make the next deliveries of an instance's alarm fail."""
    if how not in HOWS:
        raise EdgeemuError(
            Code.USAGE,
            what=f"a delivery cannot fail in the way `{how}`",
            why=f"--how is one of: {', '.join(HOWS)}",
            fix="give one of these, or leave --how out for an error that the handler throws",
        )
    given = {} if error is None else {"error": error}
    found = run.perform("alarms.fail", actor=actor, times=times, how=how, now=now, **given)
    if now:
        return _show_fired(run, found)

    def words(plan: dict[str, Any]) -> list[Line]:
        count = plan["times"]
        if not count:
            return [f"no delivery to {plan['actor']} is planned to fail any more"]
        which = "next delivery" if count == 1 else f"next {count} deliveries"
        return [f"the {which} to {plan['actor']} will fail ({plan['how']}: {plan['error']})"]

    run.show(found, words)
    return ExitStatus.OK


@command(app, "set")
def set_alarm(
    run: Run,
    actor: Actor,
    when: Annotated[
        str, typer.Argument(metavar="WHEN", help="An instant, or +5m for five minutes from now.")
    ],
) -> None:
    """Set the alarm of an instance from outside; the instance is not woken."""
    with run.target() as target:
        when_ms = ask_instant(target, when)
        found = target.perform("alarms.set", {"actor": actor, "when_ms": when_ms})
    # With a clock that runs, a part of the time that was typed has passed by now.
    typed_ms = parse_when(when, 0) if when.strip().startswith("+") else None
    run.show(found, lambda alarm: [_set_words(alarm, typed_ms)] if alarm else [])


def _set_words(alarm: dict[str, Any], typed_ms: int | None) -> Line:
    left_ms = alarm["due_in_ms"] if typed_ms is None else typed_ms
    return f"{alarm['actor']} is due at {alarm['due_at']} ({left_words(left_ms)})"


@command(app, "clear")
def clear_alarm(run: Run, actor: Actor) -> None:
    """Clear the alarm of an instance from outside; the instance is not woken."""
    found = run.perform("alarms.clear", actor=actor)
    words = "the alarm of {} is cleared" if found["cleared"] else "{} had no alarm"
    run.show(found, lambda cleared: [words.format(cleared["actor"])])


@command(app, "history")
def show_history(run: Run, actor: Actor) -> None:
    """Tell what became of the alarms of an instance: each set, delivery, retry and give-up."""
    with run.target() as target:
        found = target.perform("alarms.history", {"actor": actor})
        if not found:
            note_missing(run, target, actor, "{} never had an alarm")
    run.show(found, lambda entries: [line for entry in entries for line in entry_lines(entry)])


@command(app, "why")
def explain_alarm(run: Run, actor: Actor) -> None:
    """Explain in words why the alarm of an instance did or did not fire."""
    with run.target() as target:
        found = target.perform("alarms.why", {"actor": actor})
        if len(found) <= 1:
            note_missing(run, target, actor)
    run.show(found, list)


def _show_fired(run: Run, fired: dict[str, Any]) -> int:
    if run.as_json:
        render.data(fired)
    else:
        render.lines(fired_lines(fired))
    return ExitStatus.OK if fired["outcome"] == "succeeded" else ExitStatus.ACTOR_FAILED
