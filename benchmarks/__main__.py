"""`python -m benchmarks`: measure the rows of the speed table, side by side."""

import argparse
import json
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.hosts import (
    Edgeemu,
    Floor,
    FrozenEdgeemu,
    FrozenFloor,
    FrozenScriptEdgeemu,
    Miniflare,
    NodeSystem,
    ScriptEdgeemu,
    System,
    Wrangler,
)
from benchmarks.report import Result, table
from benchmarks.rows import Row, all_rows

# These rows start what they measure, and must not share the machine with idle servers.
SELF_STARTING = frozenset({"start", "memory", "memory10k", "month", "test", "decade", "help"})

NODE_ROUNDS_MAX = 2
"""Rounds of the systems of npm: there for the order of magnitude, and the slowest by far."""


def measure(row: Row, systems: dict[str, System], *, quick: bool) -> Result:
    """Measure one row on every system in turn, round after round."""
    result = Result(row)
    for round_number in range(1 if quick else row.rounds):
        for name, take in row.measures.items():
            if name in result.failures or name not in systems:
                continue
            if isinstance(systems[name], NodeSystem) and round_number >= NODE_ROUNDS_MAX:
                continue
            say(f"{row.key}: {name}, round {round_number + 1}")
            try:
                with alone(systems, name):
                    figure = take(systems[name], quick)
            except (RuntimeError, OSError, ValueError, AssertionError) as error:
                result.failures[name] = str(error)
                say(f"{row.key}: {name} FAILED: {error}")
                continue
            result.samples.setdefault(name, []).append(figure)
    return result


@contextmanager
def alone(systems: dict[str, System], name: str) -> Iterator[None]:
    """Let one system have the machine: the others stand still meanwhile."""
    others = [system for other, system in systems.items() if other != name]
    for other in others:
        other.pause()
    try:
        yield
    finally:
        for other in others:
            other.resume()


def run(rows: list[Row], folder: Path, *, quick: bool, skipped: set[str]) -> list[Result]:
    """Measure rows: those that start their own processes first, the others on running servers."""
    kinds = (
        Edgeemu,
        ScriptEdgeemu,
        Floor,
        Miniflare,
        Wrangler,
        FrozenEdgeemu,
        FrozenScriptEdgeemu,
        FrozenFloor,
    )
    systems = {kind.name: kind(folder) for kind in kinds if kind.name not in skipped}
    absent = {name: why for name, system in systems.items() if (why := system.missing())}
    for name in skipped:
        absent[name] = "left out by --skip"
    for name, why in absent.items():
        say(f"!!! {name} IS NOT MEASURED: {why}")
        systems.pop(name, None)
    for system in systems.values():
        system.folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for row in rows:
        if row.key in SELF_STARTING:
            found[row.key] = measure(row, systems, quick=quick)
    try:
        for row in rows:
            if row.key not in SELF_STARTING:
                wanted = {name: system for name, system in systems.items() if name in row.measures}
                start_all(wanted, absent)
                running = {name: system for name, system in systems.items() if name not in absent}
                found[row.key] = measure(row, running, quick=quick)
    finally:
        for system in systems.values():
            system.stop()
    for row in rows:
        for name, why in absent.items():
            if name in row.measures:
                found[row.key].failures.setdefault(name, why)
    return [found[row.key] for row in rows]


def start_all(systems: dict[str, System], absent: dict[str, str]) -> None:
    """Start what does not run yet; what does not come up is reported and left out."""
    for name, system in systems.items():
        if system.port or name in absent:
            continue
        try:
            system.start()
        except (RuntimeError, OSError) as error:
            absent[name] = str(error)
            say(f"!!! {name} IS NOT MEASURED: {error}")


def raise_file_limit() -> None:
    """Let systems open what they want: workerd keeps three files for each live instance."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def say(text: str) -> None:
    """Talk on stderr; stdout is for the result."""
    print(f"benchmarks: {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Read the options, measure, report."""
    rows = all_rows()
    keys = [row.key for row in rows]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=keys, metavar="ROW", help=", ".join(keys)
    )
    parser.add_argument("--skip", action="append", default=[], metavar="SYSTEM")
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    options = parser.parse_args()
    wanted = [row for row in rows if not options.only or row.key in options.only]
    raise_file_limit()
    folder = Path(tempfile.mkdtemp(prefix="edgeemu-bench-"))
    try:
        results = run(wanted, folder, quick=options.quick, skipped=set(options.skip))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        print(json.dumps([result.as_json() for result in results], indent=2))
    else:
        print(table(results))


if __name__ == "__main__":
    main()
