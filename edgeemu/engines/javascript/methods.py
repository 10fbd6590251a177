"""Where a method stands in the source: V8 tells of no function where it begins."""

import os
import re
from pathlib import Path

from edgeemu.engines.javascript.project import ScriptFunction, ScriptProject
from edgeemu.limits import SCRIPT_FILES_SEARCHED_MAX

_SUFFIXES = (".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs")
_MODIFIERS = r"(?:(?:public|private|protected|override|async|static|readonly|export)\s+)*"


def method_place(
    project: ScriptProject, function: str | None, type_name: str | None, method: str
) -> str | None:
    """The `file:line` where a method begins, as far as a look at the text tells.

    Args:
        project: that is searched.
        function: whose main module is meant; None for that which declares the type.
        type_name: the class; None for the function in front.
        method: its name.
    """
    for each in project.functions:
        file = _file_of(each, type_name) if function in (None, each.name) else None
        if file is None:
            continue
        for source in [file, *(_others(each.root, file) if type_name else ())]:
            line = _line_in(source, type_name, method)
            if line is not None:
                return f"{_relative(source, project.root)}:{line}"
        return None
    return None


def _others(root: Path, main: Path) -> list[Path]:
    """The modules of a function beside the one that exports the class, which may come from them."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name[0] != "." and name != "node_modules")
        paths = (Path(folder) / name for name in sorted(names))
        found += [path for path in paths if path.suffix in _SUFFIXES and path != main]
        if len(found) > SCRIPT_FILES_SEARCHED_MAX:
            break
    return found[:SCRIPT_FILES_SEARCHED_MAX]


def _file_of(function: ScriptFunction, type_name: str | None) -> Path | None:
    if type_name is None:
        return function.main
    return next((actor.file for actor in function.actors if actor.type == type_name), None)


def _relative(file: Path, root: str) -> str:
    file = file.resolve()
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.as_posix()


def _line_in(file: Path, class_name: str | None, method: str) -> int | None:
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return None
    opening = re.compile(rf"\bclass\s+{re.escape(class_name or '')}\b")
    begin = 0
    if class_name is not None:
        found = next((index for index, line in enumerate(lines) if opening.search(line)), None)
        if found is None:
            return None
        begin = found
    definition = re.compile(
        rf"(?:^|[{{}};,])\s*{_MODIFIERS}(?:function\s*)?\*?\s*"
        rf"[\"']?{re.escape(method)}[\"']?\s*[(<=:]"
    )
    order = [*range(begin, len(lines)), *range(begin)]  # A base class may stand above.
    found = next((index for index in order if definition.search(lines[index])), None)
    if found is None and class_name is None:
        return None
    return (begin if found is None else found) + 1
