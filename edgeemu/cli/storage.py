"""`storage`: keys and SQL of an instance, seen and edited from outside without waking it."""

from typing import Annotated

import typer

from edgeemu.cli import complete, render
from edgeemu.cli.calls import Actor, read_args
from edgeemu.cli.commands import Run, command, group
from edgeemu.cli.missing import note_missing, note_sql
from edgeemu.cli.values import parse_value, read_document
from edgeemu.cli.words import count, sql_table, storage_table, value_text

app = group("See and edit keys and SQL of an instance without waking it.")

Key = Annotated[
    str,
    typer.Argument(
        metavar="KEY", help="The key.", autocompletion=complete.keys, show_default=False
    ),
]


@command(app, "list")
def list_keys(
    run: Run,
    actor: Actor,
    prefix: Annotated[
        str, typer.Option("--prefix", metavar="P", help="Only keys that begin so.")
    ] = "",
) -> None:
    """List the keys of an instance with their values."""
    with run.target() as target:
        found = target.perform("storage.list", {"actor": actor, "prefix": prefix})
        if not found:
            begin = f" that begin with `{prefix}`" if prefix else ""
            note_missing(run, target, actor, "{} has no keys" + begin)
        if not run.as_json:
            note_sql(run, target, actor)
    run.show(found, storage_table)


@command(app, "get")
def get_value(run: Run, actor: Actor, key: Key) -> None:
    """Print the value under a key."""
    found = run.perform("storage.get", actor=actor, key=key)
    if run.as_json:
        render.data(found)
    else:
        render.text(value_text(found))


@command(app, "put")
def put_value(
    run: Run,
    actor: Actor,
    key: Key,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="JSON if it parses, else text.")],
) -> None:
    """Write a value; an instance that never ran finds it in its first constructor."""
    parsed, doubt = parse_value(value)
    if doubt:
        run.note(f"note: `{value}` is stored as text, since it is not JSON: {doubt}")
    found = run.perform("storage.put", actor=actor, key=key, value=parsed)
    run.show(found, lambda put: [f"{put['actor']} has a new value under `{put['key']}`"])


@command(app, "delete")
def delete_key(run: Run, actor: Actor, key: Key) -> None:
    """Delete a key."""
    found = run.perform("storage.delete", actor=actor, key=key)
    words = "`{key}` of {actor} is deleted" if found["deleted"] else "{actor} had no key `{key}`"
    run.show(found, lambda deleted: [words.format(**deleted)])


@command(app, "sql")
def run_sql(
    run: Run,
    actor: Actor,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One statement or several.")],
    params: Annotated[
        list[str] | None,
        typer.Argument(metavar="PARAM", help="For each ? one: JSON if it parses, else text."),
    ] = None,
) -> None:
    """Run SQL on the database of an instance; print the rows of the last statement.

    All statements are kept, or none. A PARAM may carry a tag, as {"$bytes": "aGk="}.
    """
    given = read_args(run, params or [])
    rows = run.perform("storage.sql", actor=actor, query=query, params=given)
    if not rows:
        run.note("the statement gave no rows")
    run.show(rows, sql_table)


@command(app, "export")
def export_keys(run: Run, actor: Actor) -> None:
    """Print the keys and the alarm of an instance as one JSON document."""
    document = run.perform("storage.export", actor=actor)
    if document.get("sql_left_out"):
        run.note(f"note: the SQL database of {document['actor']} is not part of the document")
    render.data(document)


@command(app, "import")
def import_keys(
    run: Run,
    actor: Actor,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What `export` printed; - for stdin.")
    ] = "-",
) -> None:
    """Replace the keys and the alarm of an instance by those of an exported document."""
    document = read_document(file)
    found = run.perform("storage.import", actor=actor, document=document)
    run.show(found, lambda done: [f"{done['actor']} now has {count(done['keys'], 'key')}"])
