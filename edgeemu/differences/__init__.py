"""Where edgeemu differs from the platform, as one table: `docs/differences.md` is written from it.

Promise: each choice that the fact sheet spec/telnyx-actors.md leaves open has a row here, under its
number. Whoever decides or changes one changes the row; `python -m edgeemu.cli.differences >
docs/differences.md` writes the page. Numbers come from the profile and from the limits, so that
the table cannot lag behind them.
"""

from edgeemu.differences.alarms import ALARMS, LIFE
from edgeemu.differences.calls import CALLS, CONTEXT, PROJECT
from edgeemu.differences.known import BINDINGS, DATABASE, MISSING, PYTHON, SOCKETS, TIME
from edgeemu.differences.rows import Chapter, Choice, Difference, Missing
from edgeemu.differences.scripts import TYPESCRIPT
from edgeemu.differences.storage import KEYS, SQL, TRANSACTIONS, VALUES

__all__ = ["BINDINGS", "CHAPTERS", "CHOICES", "DATABASE", "MISSING", "PYTHON", "SOCKETS", "TIME"]
__all__ += ["TYPESCRIPT", "Chapter", "Choice", "Difference", "Missing"]

CHAPTERS: tuple[Chapter, ...] = (
    PROJECT,
    CALLS,
    CONTEXT,
    KEYS,
    TRANSACTIONS,
    VALUES,
    ALARMS,
    SQL,
    LIFE,
)
"""The open points of spec/telnyx-actors.md, by subject."""

CHOICES: tuple[Choice, ...] = tuple(choice for chapter in CHAPTERS for choice in chapter.choices)
"""All of them."""
