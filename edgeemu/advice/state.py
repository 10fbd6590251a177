"""State that instances share."""

import ast
from collections.abc import Iterator

from edgeemu.advice.source import Finding, Function, Module, assigned_names, dotted, local_names

_MUTABLE_CALLS = ("dict", "list", "set", "Counter", "OrderedDict", "defaultdict", "deque")
_MUTATORS = {
    "add",
    "append",
    "appendleft",
    "clear",
    "discard",
    "extend",
    "insert",
    "pop",
    "popitem",
    "popleft",
    "remove",
    "setdefault",
    "update",
}


def shared_state(module: Module) -> Iterator[Finding]:
    """Values of the module or of a class that an actor changes."""
    shared = _mutable_names(module.tree.body)
    top_level = assigned_names(module.tree.body)
    for actor in module.actors:
        methods = [node for node in actor.body if isinstance(node, Function)]
        own = {
            dotted(node)
            for method in methods
            for node in ast.walk(method)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        }
        of_class = {
            owner + name: name
            for name in _mutable_names(actor.body)
            for owner in ("self.", "cls.", f"{actor.name}.")
            if f"self.{name}" not in own
        }
        for method in methods:
            local = local_names(method)
            targets = {name: name for name in shared - local} | of_class
            for node in ast.walk(method):
                if isinstance(node, ast.Global):
                    changed = [name for name in node.names if name in top_level]
                else:
                    changed = [targets[name] for name in _changed_names(node) if name in targets]
                for name in changed:
                    message = f"`{name}` is shared by all instances, and gone after an eviction"
                    fix = "keep it in self.ctx.storage; a cache of one instance, in `__init__`"
                    yield node, "W_SHARED_STATE", message, fix


def _mutable_names(statements: list[ast.stmt]) -> set[str]:
    """The names that a body binds to a list, a dict, a set or the like."""
    mutable = [
        statement
        for statement in statements
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _is_mutable(statement.value)
    ]
    return assigned_names(list(mutable))


def _is_mutable(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Call):
        return dotted(node.func).rpartition(".")[2] in _MUTABLE_CALLS
    return isinstance(
        node, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp
    )


def _changed_names(node: ast.AST) -> list[str]:
    """The names of things that a statement or a call changes in place."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return [dotted(node.value)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return [dotted(node.func.value)] if node.func.attr in _MUTATORS else []
    return []
