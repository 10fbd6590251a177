"""`log`: the journal, oldest first, in the words of the live log of `dev`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeemu.cli import complete, render
from edgeemu.cli.commands import Run, command, group
from edgeemu.cli.journal import entry_lines
from edgeemu.cli.missing import note_missing
from edgeemu.cli.pages import read_log
from edgeemu.cli.values import is_instant, parse_since
from edgeemu.errors import Code, EdgeemuError
from edgeemu.limits import JOURNAL_PAGE_MAX

if TYPE_CHECKING:
    from edgeemu.api.client import Target

app = group("The journal.")


FOLLOW_FROM = 10
"""Entries that `log --follow` begins with."""


@command(app, "log")
def log(
    run: Run,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help=f"The last {FOLLOW_FROM} entries, and what happens until Ctrl-C."
        ),
    ] = False,
    actor: Annotated[
        str | None,
        typer.Option(
            "--actor", metavar="ACTOR", help="Only this instance.", autocompletion=complete.actors
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="WHEN", help="Only from this instant on, or 10m for ten minutes ago."
        ),
    ] = None,
    last: Annotated[
        int | None, typer.Option("-n", "--last", metavar="N", help="Only the last N entries.")
    ] = None,
) -> None:
    """Print the journal, oldest first."""
    with run.target() as target:
        params: dict[str, Any] = {} if actor is None else {"actor": actor}
        if since is not None:
            now_ms = 0 if is_instant(since) else int(target.perform("clock.read", {})["now_ms"])
            params["since_ms"] = parse_since(since, now_ms)
        if follow:
            shown = FOLLOW_FROM if last is None and since is None else last
            _follow(run, target, params, shown)
            return
        entries = read_log(target, params) if last is None else _last(target, params, last)
        if run.as_json:
            render.data(entries)
        else:
            render.lines(line for entry in entries for line in entry_lines(entry))
        if not entries and actor is not None:
            note_missing(run, target, actor)


def _follow(run: Run, target: "Target", params: dict[str, Any], last: int | None) -> None:
    """Print entries as they come, after the last ones of before; None for all of those."""
    since_seq = 0
    if last is not None and target.is_server:
        # The newest of all comes first: where few entries match, the stream starts behind it too.
        newest = _last(target, {}, 1)
        before = _last(target, params, last)
        for entry in before:
            _show(run, entry)
        since_seq = max((entry["seq"] for entry in [*newest, *before]), default=0)
    for entry in target.follow({**params, "since_seq": since_seq}):
        _show(run, entry)


def _show(run: Run, entry: dict[str, Any]) -> None:
    if run.as_json:
        render.data(entry, compact=True)
    else:
        render.lines(entry_lines(entry))


def _last(target: "Target", params: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The newest entries that match, oldest first."""
    if not 0 <= count <= JOURNAL_PAGE_MAX:
        raise EdgeemuError(
            Code.NUMBER_INVALID,
            what=f"`{count}` cannot be the value of --last",
            why=f"it is a count of entries, from 0 to {JOURNAL_PAGE_MAX}",
            fix="give a number in that range, or an instant with --since",
        )
    found: list[dict[str, Any]] = target.perform("log", {**params, "limit": max(count, 1)})
    return found[-count:] if count else []
