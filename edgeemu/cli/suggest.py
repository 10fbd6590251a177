"""What to try next: a call that the project at hand can take."""

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from edgeemu.errors import EdgeemuError

if TYPE_CHECKING:
    from edgeemu.config import Config

FALLBACK = "edgeemu actors list"


def example_call(root: Path) -> str:
    """A command that works on the project in a folder, for people who have just made it."""
    from edgeemu.config import load_config

    try:
        return call_of(load_config(root))
    except EdgeemuError:
        return FALLBACK


def call_of(config: "Config") -> str:
    """A call of the first actor, or `FALLBACK` where no method of it can be called as it is."""
    from edgeemu.config.model import is_script

    for actor in config.actors:
        find = _in_script if is_script(actor.module_path) else _in_python
        try:
            method = find(actor.module_path, actor.type)
        except (OSError, SyntaxError, ValueError):
            continue
        if method:
            return f"edgeemu call {actor.type}/alice {method}"
    return FALLBACK


def _in_python(module: Path, type_name: str) -> str | None:
    for node in ast.parse(module.read_text("utf-8", "replace")).body:
        if isinstance(node, ast.ClassDef) and node.name == type_name:
            return _first_method(node)
    return None


_METHOD = re.compile(r"^ +(?:public )?(?:async )?([a-zA-Z]\w*)\(([^()]*)\)[^;]*\{$", re.MULTILINE)
_NOT_CALLABLE = {"alarm", "catch", "constructor", "fetch", "for", "if", "switch", "webSocket"}


def _in_script(module: Path, type_name: str) -> str | None:
    """The same in TypeScript, as it is usually laid out; the class may lie in a file beside."""
    for path in (module, *sorted(module.parent.glob("*" + module.suffix))):
        text = path.read_text("utf-8", "replace")
        found = re.search(rf"^export (?:default )?class {type_name}\b", text, re.MULTILINE)
        if found is None:
            continue
        body = text[found.end() :].partition("\n}")[0]
        for name, parameters in _METHOD.findall(body):
            required = [each for each in parameters.split(",") if each.strip()]
            if name not in _NOT_CALLABLE and all(re.search(r"[=?]", each) for each in required):
                return str(name)
    return None


def _first_method(node: ast.ClassDef) -> str | None:
    """The first public method that needs no arguments."""
    for item in node.body:
        if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        public = not item.name.startswith("_") and item.name not in ("alarm", "fetch")
        required = len(item.args.posonlyargs + item.args.args) - len(item.args.defaults)
        if public and required == 1 and not item.decorator_list and item.args.vararg is None:
            return item.name
    return None
