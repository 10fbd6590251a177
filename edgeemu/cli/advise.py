"""Advice on the modules of a project: for `check`, and beside the live log of `dev`."""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from edgeemu.cli.render import Line
from edgeemu.errors import docs_link

if TYPE_CHECKING:
    from edgeemu.advice import Advice
    from edgeemu.config import Config

_TESTS = re.compile(r"^(test_|conftest\.)|\.(d|test|spec)\.\w+$")
"""Tests, and declarations of types."""

_SKIPPED_FOLDERS = {"__pycache__", "node_modules", "site-packages", "tests"}


def review(config: "Config", files: Collection[str] | None = None) -> Iterator["Advice"]:
    """Advice on the modules of all functions, in order of files and lines.

    Args:
        config: of the project.
        files: only on these, relative to the project; None for all.
    """
    from edgeemu.advice import review_source

    seen: set[Path] = set()
    for function in config.all_functions.values():
        for file in _project_modules(function):
            relative = Path(os.path.relpath(file, config.root))
            if file not in seen and (files is None or str(relative) in files):
                yield from review_source(relative, file.read_text("utf-8", "replace"))
            seen.add(file)


def advice_lines(advice: Sequence["Advice"]) -> list[Line]:
    """Advice as `dev` shows it between the lines of its log."""
    found: list[Line] = []
    for item in advice:
        place = f"  {item.file}:{item.line}  {item.code}: {item.message}"
        found += [[("advice", "warn"), place], f"          fix: {item.fix}"]
        found.append((f"          see {docs_link(item.code)}", "dim"))
    return found


def _project_modules(config: "Config") -> list[Path]:
    """The modules in the folders of `main` and the actors, without tests and environments."""
    starts = {config.main_path, *(actor.module_path for actor in config.actors)}
    found: set[Path] = set(starts)
    for folder in {start.parent for start in starts}:
        found.update(_modules(folder))
    return sorted(found)


def _modules(folder: Path) -> Iterator[Path]:
    from edgeemu.config.model import is_script

    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            skipped = path.name in _SKIPPED_FOLDERS or (path / "pyvenv.cfg").exists()
            if not skipped and not path.is_symlink():
                yield from _modules(path)
        elif not _TESTS.search(path.name) and (path.suffix == ".py" or is_script(path)):
            yield path
