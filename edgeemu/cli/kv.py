"""`kv`: the texts in a KV namespace, seen and edited from outside."""

from typing import Annotated

import typer

from edgeemu.cli import render
from edgeemu.cli.commands import Run, command, group
from edgeemu.cli.words import count, table

app = group("See and edit the texts in a KV namespace.")

Namespace = Annotated[
    str,
    typer.Argument(metavar="NAMESPACE", help="Its name on `env`, or its id.", show_default=False),
]
Key = Annotated[str, typer.Argument(metavar="KEY", help="The key.", show_default=False)]


@command(app, "list")
def list_keys(
    run: Run,
    namespace: Namespace,
    prefix: Annotated[
        str, typer.Option("--prefix", metavar="P", help="Only keys that begin so.")
    ] = "",
) -> None:
    """List the keys of a namespace, without their texts."""
    found = run.perform("kv.list", namespace=namespace, prefix=prefix)
    if not found:
        begin = f" that begin with `{prefix}`" if prefix else ""
        run.note(f"the namespace {namespace} has no keys{begin}")
    head = ["KEY", "SIZE", "WRITTEN", "EXPIRES"]
    run.show(
        found,
        lambda rows: (
            table(
                head,
                [
                    [
                        row["name"],
                        count(row["size_bytes"], "byte"),
                        row["updated_at"],
                        row["expires_at"] or "never",
                    ]
                    for row in rows
                ],
            )
            if rows
            else []
        ),
    )


@command(app, "get")
def get_text(run: Run, namespace: Namespace, key: Key) -> None:
    """Print the text under a key."""
    found = run.perform("kv.get", namespace=namespace, key=key)
    if run.as_json:
        render.data(found)
    else:
        render.text(found)


@command(app, "put")
def put_text(
    run: Run,
    namespace: Namespace,
    key: Key,
    value: Annotated[str, typer.Argument(metavar="TEXT", help="What to keep, as it is.")],
    ttl: Annotated[
        str | None,
        typer.Option("--ttl", metavar="D", help="How long it lives, such as 90s or 30d."),
    ] = None,
) -> None:
    """Write a text."""
    from edgeemu.units import parse_duration

    ttl_s = None if ttl is None else parse_duration(ttl) / 1_000
    found = run.perform("kv.put", namespace=namespace, key=key, value=value, expiration_ttl=ttl_s)
    run.show(found, lambda put: [f"{put['namespace']} has a new text under `{put['key']}`"])


@command(app, "delete")
def delete_key(run: Run, namespace: Namespace, key: Key) -> None:
    """Delete a key."""
    found = run.perform("kv.delete", namespace=namespace, key=key)
    words = (
        "`{key}` of {namespace} is deleted"
        if found["deleted"]
        else "{namespace} had no key `{key}`"
    )
    run.show(found, lambda deleted: [words.format(**deleted)])
