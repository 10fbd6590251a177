"""Risky code in actor modules, found by reading them: what `edgeemu check` reports.

Promise: nothing is imported or run, and a finding is nearly always right. Where a rule cannot tell,
it stays silent. Every code has an entry in `docs/warnings.md`, and a test checks both directions.
"""

import ast
from dataclasses import dataclass
from pathlib import Path

from edgeemu.advice.alarms import alarm_calls, alarm_handlers
from edgeemu.advice.awaits import awaits
from edgeemu.advice.calls import calls
from edgeemu.advice.fields import fields
from edgeemu.advice.scripts import scripts
from edgeemu.advice.source import Module
from edgeemu.advice.state import shared_state
from edgeemu.limits import ADVICE_CHARS_MAX
from edgeemu.script_text import Script

WARNINGS: dict[str, str] = {
    "W_BLOCKING_SLEEP": "`time.sleep` stops every actor, and emulated time does not pass in it.",
    "W_BLOCKING_IO": "A call that blocks on the network inside `async` code stops every actor.",
    "W_UNSEEDED_RANDOM": "Randomness that does not come from the seed makes a run unrepeatable.",
    "W_THREADS": "Threads and processes run beside the turn, out of reach of its clock and commit.",
    "W_SHARED_STATE": "A value that all instances share is changed, and is lost on eviction.",
    "W_ALARM_NOT_AWAITED": "An alarm call is not awaited, so its error appears somewhere else.",
    "W_WRITE_NOT_AWAITED": "A write is not awaited, so its error appears somewhere else.",
    "W_CALL_NOT_AWAITED": "A call of another actor is not awaited, so nobody sees how it ends.",
    "W_ALARM_SECONDS": "An alarm is set in seconds or to a delay; it wants epoch milliseconds.",
    "W_ALARM_NAIVE": "An alarm is set from a date without a time zone.",
    "W_ALARM_IN_INIT": "The constructor sets the alarm, and so moves it whenever it runs again.",
    "W_ALARM_SIGNATURE": "The alarm handler does not take the one argument that it is given.",
    "W_REARM_THEN_RAISE": "The alarm handler re-arms and then raises, which undoes the re-arm.",
    "W_MEMORY_LOST": "A field was read that no `__init__` sets: it went with an earlier life.",
}
"""Every code, with one sentence that says what is wrong."""


@dataclass(frozen=True, slots=True, order=True)
class Advice:
    """One finding.

    Attributes:
        line: from 1.
        code: one of `WARNINGS`.
        message: what is risky there.
        file: as the caller gave it, with `/` between.
        fix: what to write instead.
    """

    line: int
    code: str
    message: str
    file: str
    fix: str


def review_source(path: Path, text: str) -> list[Advice]:
    """The risky places of one module, in order of line.

    Args:
        path: how findings name the file, and by its ending in which language it is; it is not
            read.
        text: the module. One that does not parse has no findings; loading it says why. Nor has one
            in TypeScript that is too large to be written by hand.
    """
    if path.suffix != ".py":
        if len(text) > ADVICE_CHARS_MAX:
            return []
        places = {(line, code): more for line, code, *more in scripts(Script(text))}
        return sorted(
            Advice(line, code, message, path.as_posix(), fix)
            for (line, code), (message, fix) in places.items()
        )
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    module = Module(tree)
    found: dict[tuple[int, str], Advice] = {}
    for rule in (calls, awaits, alarm_calls, alarm_handlers, shared_state, fields):
        for node, code, message, fix in rule(module):
            line = getattr(node, "lineno", 1)
            found.setdefault((line, code), Advice(line, code, message, path.as_posix(), fix))
    return sorted(found.values())
