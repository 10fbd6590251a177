"""What to try next: a call that the project at hand can take."""

import ast
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
    for actor in config.actors:
        try:
            tree = ast.parse(actor.module_path.read_text("utf-8", "replace"))
        except (OSError, SyntaxError, ValueError):
            continue
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name == actor.type:
                method = _first_method(node)
                if method:
                    return f"edgeemu call {actor.type}/alice {method}"
    return FALLBACK


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
