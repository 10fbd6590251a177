"""`docs/differences.md`, written from the table: `python -m edgeemu.cli.differences > docs/…`."""

from collections.abc import Iterable, Iterator, Sequence

from edgeemu.cli import render
from edgeemu.differences import (
    BINDINGS,
    CHAPTERS,
    DATABASE,
    MISSING,
    PYTHON,
    SOCKETS,
    TIME,
    TYPESCRIPT,
    Chapter,
    Difference,
    Missing,
)

_HEAD = """\
# Differences

Where edgeemu knowingly differs from the platform, what it does not do yet, and what it does where
the platform says nothing. What is not supported fails loudly, at load or at first use. This page is
written from `edgeemu/differences/`; `python -m edgeemu.cli.differences > docs/differences.md`
writes it anew."""

_MISSING = """\
## Not emulated in this version

The numbers in brackets are choices from further below that come with it."""

_CHOICES = """\
## Where the platform says nothing

The documentation of Telnyx Stateful Actors leaves these questions open, and edgeemu chose. Names
are those of Python actors. A choice is no promise of the platform: do not let your code depend on
it. Where the last column names a setting, that changes it; `[…]` is a table of
[edgeemu.toml](../edgeemu.toml). Code and tests cite the numbers."""


def page() -> str:
    """The page, as Markdown."""
    parts = [
        _HEAD,
        _MISSING,
        _table(("What", "What happens"), map(_missing, MISSING)),
        "## Python actors",
        _differences(PYTHON),
        "## TypeScript actors",
        _differences(TYPESCRIPT),
        "## SQL databases",
        _differences(DATABASE),
        "## KV namespaces and rate limits",
        _differences(BINDINGS),
        "## WebSockets",
        _differences(SOCKETS),
        "## Time and alarms",
        _differences(TIME),
        _CHOICES,
        *_chapters(CHAPTERS),
    ]
    return "\n\n".join(parts) + "\n"


def _missing(row: Missing) -> Sequence[str]:
    waits = f" ({', '.join(f'U{number}' for number in row.choices)})" if row.choices else ""
    return row.what + waits, row.happens


def _differences(rows: Iterable[Difference]) -> str:
    head = ("Here", "On the platform", "Why")
    return _table(head, ((row.here, row.platform, row.why) for row in rows))


def _chapters(chapters: Iterable[Chapter]) -> Iterator[str]:
    for chapter in chapters:
        yield f"### {chapter.title}"
        rows = [(choice.id, choice.topic, choice.here, choice.change) for choice in chapter.choices]
        # A column that is empty from top to bottom tells nothing.
        settable = any(choice.change for choice in chapter.choices)
        head = ("Number", "What is open", "What edgeemu does", "Changed by")
        width = 4 if settable else 3
        yield _table(head[:width], (row[:width] for row in rows))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    render.text(page())
