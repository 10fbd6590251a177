"""`log`: the journal, oldest first, in the words of the live log of `dev`."""

from typing import Annotated, Any

import typer

from edgeemu.cli import complete, render
from edgeemu.cli.commands import Run, command, group
from edgeemu.cli.journal import entry_lines
from edgeemu.cli.values import is_instant, parse_since
from edgeemu.limits import JOURNAL_PAGE_MAX

app = group("The journal.")


@command(app, "log")
def log(
    run: Run,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with what happens, until Ctrl-C.")
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
) -> None:
    """Print the journal, oldest first."""
    with run.target() as target:
        params: dict[str, Any] = {} if actor is None else {"actor": actor}
        if since is not None:
            now_ms = 0 if is_instant(since) else int(target.perform("clock.read", {})["now_ms"])
            params["since_ms"] = parse_since(since, now_ms)
        if not follow:
            entries = target.perform("log", params)
            if run.as_json:
                render.data(entries)
            else:
                render.lines(line for entry in entries for line in entry_lines(entry))
            if len(entries) >= JOURNAL_PAGE_MAX:
                run.note(f"note: these are the newest {JOURNAL_PAGE_MAX:,} entries; see --since")
            return
        for entry in target.follow({"since_seq": 0, **params}):
            if run.as_json:
                render.data(entry, compact=True)
            else:
                render.lines(entry_lines(entry))
