"""`alarms`: what is due and when, and every way to move it."""

from typing import Annotated, Any, Literal

import typer

from edgeemu.cli import render
from edgeemu.cli.calls import Actor
from edgeemu.cli.commands import Run, command, group
from edgeemu.cli.journal import entry_lines, when
from edgeemu.cli.render import Line
from edgeemu.cli.values import is_instant, parse_when
from edgeemu.cli.words import alarm_table, fired_lines
from edgeemu.errors import ExitStatus

app = group("See what is due and why, fire it, make it fail, move it.")

How = Literal["throw", "timeout", "crash-before-commit", "crash-after-commit"]


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
    how: Annotated[How, typer.Option("--how", help="In which way they fail.")] = "throw",
    now: Annotated[bool, typer.Option("--now", help="Deliver the alarm at once, too.")] = False,
) -> int:
    """Make the next deliveries of an instance's alarm fail."""
    given = {} if error is None else {"error": error}
    found = run.perform("alarms.fail", actor=actor, times=times, how=how, now=now, **given)
    if now:
        return _show_fired(run, found)

    def words(plan: dict[str, Any]) -> list[Line]:
        count = plan["times"]
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
        now_ms = 0 if is_instant(when) else int(target.perform("clock.read", {})["now_ms"])
        when_ms = parse_when(when, now_ms)
        found = target.perform("alarms.set", {"actor": actor, "when_ms": when_ms})
    run.show(found, lambda alarm: [_set_words(alarm)] if alarm else [])


def _set_words(alarm: dict[str, Any]) -> Line:
    return f"{alarm['actor']} is due at {alarm['due_at']} ({when(alarm['due_in_ms'])})"


@command(app, "clear")
def clear_alarm(run: Run, actor: Actor) -> None:
    """Clear the alarm of an instance from outside; the instance is not woken."""
    found = run.perform("alarms.clear", actor=actor)
    words = "the alarm of {} is cleared" if found["cleared"] else "{} had no alarm"
    run.show(found, lambda cleared: [words.format(cleared["actor"])])


@command(app, "history")
def show_history(run: Run, actor: Actor) -> None:
    """Tell what became of the alarms of an instance: each set, delivery, retry and give-up."""
    found = run.perform("alarms.history", actor=actor)
    if not found:
        run.note(f"{actor} never had an alarm")
    run.show(found, lambda entries: [line for entry in entries for line in entry_lines(entry)])


@command(app, "why")
def explain_alarm(run: Run, actor: Actor) -> None:
    """Explain in words why the alarm of an instance did or did not fire."""
    run.show(run.perform("alarms.why", actor=actor), list)


def _show_fired(run: Run, fired: dict[str, Any]) -> int:
    if run.as_json:
        render.data(fired)
    else:
        render.lines(fired_lines(fired))
    return ExitStatus.OK if fired["outcome"] == "succeeded" else ExitStatus.ACTOR_FAILED
