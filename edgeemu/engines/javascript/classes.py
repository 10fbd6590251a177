"""An actor type whose class is not there, and why."""

import re
from pathlib import Path

from edgeemu.engines.javascript.project import ScriptActor
from edgeemu.errors import Code, EdgeemuError


def class_missing(
    actor: ScriptActor, exports: tuple[list[str], list[str]], root: str
) -> EdgeemuError:
    """`E_CLASS_MISSING` for a type whose class a module should export (U3).

    Args:
        actor: what the configuration declares.
        exports: the actor classes that the module exports, and what else it does.
        root: the folder to which places are relative.
    """
    actors, others = exports
    path = actor.file.resolve()
    file = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    name = actor.type
    what = f"{file} exports no class `{name}`"
    line = _line_of_class(path, name)
    if name in others:
        what = f"`{name}` in {file} is not an actor class"
        why = "an actor is a class that extends StatefulActor of @telnyx/edge-runtime"
    elif line is not None:
        why = f"class {name} is there, at line {line}, and is not exported"
    else:
        listed = ", ".join(actors) or "no actor class"
        why = f"[[actors]] declares the type `{name}`; the module exports: {listed}"
    fix = f"write `export class {name} extends StatefulActor` there, or mend `type` in [[actors]]"
    return EdgeemuError(Code.CLASS_MISSING, what=what, why=why, fix=fix)


def _line_of_class(file: Path, name: str) -> int | None:
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    opening = re.compile(rf"^\s*(abstract\s+)?class\s+{re.escape(name)}\b")
    return next((number for number, line in enumerate(lines, 1) if opening.match(line)), None)
