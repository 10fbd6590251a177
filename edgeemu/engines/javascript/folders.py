"""Which folders the JavaScript engine may read: the project, and where its packages lie."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from edgeemu.engines.javascript.project import ScriptProject


def readable_folders(project: ScriptProject) -> list[Path]:
    """The folders of all functions, their workspace, and what lies outside and is linked to.

    Package managers install above a function that is one of several (npm, yarn), and link to where
    a package really lies (pnpm, `npm link`, dependencies by path).
    """
    found: dict[Path, None] = {}
    for root in (Path(project.root), *(function.root for function in project.functions)):
        root = root.resolve()
        found[root] = None
        workspace = next((each for each in root.parents if _is_workspace(each)), None)
        if workspace is not None:
            found[workspace] = None
        for folder in (root, *root.parents):
            packages = folder / "node_modules"
            if packages.is_dir():
                found[packages.resolve()] = None
                found |= dict.fromkeys(_links(packages))
    return [
        path
        for path in found
        if not any(path != each and path.is_relative_to(each) for each in found)
    ]


def linked_sources(root: Path) -> list[Path]:
    """Folders outside of a function's own that its packages link to as source: its workspace's."""
    root = root.resolve()
    found = dict.fromkeys(
        real
        for folder in (root, *root.parents)
        for real in _links(folder / "node_modules")
        if "node_modules" not in real.parts and not real.is_relative_to(root)
    )
    return list(found)


def _is_workspace(folder: Path) -> bool:
    if (folder / "pnpm-workspace.yaml").is_file():
        return True
    try:
        described = json.loads((folder / "package.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(described, dict) and "workspaces" in described


def _links(packages: Path) -> Iterator[Path]:
    """Where the linked packages of a `node_modules` lie, and their own packages."""
    for entry in _entries(packages):
        if entry.name.startswith("@") and not entry.is_symlink():
            yield from _links(Path(entry.path))
        elif entry.is_symlink() and entry.is_dir():
            real = Path(entry.path).resolve()
            yield real
            if real.parent.name == "node_modules":
                yield real.parent  # pnpm lays the dependencies of a package beside it.


def _entries(folder: Path) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []
