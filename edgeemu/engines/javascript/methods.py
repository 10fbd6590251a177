"""Where a method stands in the source: V8 tells of no function where it begins."""

import re
from pathlib import Path

from edgeemu.engines.javascript.project import ScriptFunction, ScriptProject

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
        if file is not None:
            line = _line_in(file, type_name, method)
            return None if line is None else f"{_relative(file, project.root)}:{line}"
    return None


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
    begin: int = 0
    if class_name is not None:
        begin = next((index for index, line in enumerate(lines) if opening.search(line)), 0)
    definition = re.compile(
        rf"(?:^|[{{}};,])\s*{_MODIFIERS}(?:function\s*)?\*?\s*"
        rf"[\"']?{re.escape(method)}[\"']?\s*[(<=:]"
    )
    order = [*range(begin, len(lines)), *range(begin)]  # A base class may stand above.
    found = next((index for index in order if definition.search(lines[index])), None)
    if found is None and class_name is None:
        return None
    return (begin if found is None else found) + 1
