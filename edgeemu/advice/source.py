"""A module of the user's as the rules see it: its tree, its imports, its actors, its functions."""

import ast
from collections.abc import Iterator
from functools import cached_property

ACTOR_BASES = ("StatefulActor", "DurableObject")
"""The base classes of actors."""

Function = ast.FunctionDef | ast.AsyncFunctionDef

Finding = tuple[ast.AST, str, str, str]
"""Where, the code of the warning, what is risky there, and what to write instead."""


class Module:
    """A parsed module, and the names that its imports gave."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.imports: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    head = alias.name.partition(".")[0]
                    self.imports[alias.asname or head] = alias.name if alias.asname else head
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def name(self, node: ast.AST) -> str:
        """The full name of an imported thing, such as `time.sleep`; empty for anything else."""
        head, _, rest = dotted(node).partition(".")
        if head not in self.imports:
            return ""
        return f"{self.imports[head]}.{rest}" if rest else self.imports[head]

    @cached_property
    def actors(self) -> list[ast.ClassDef]:
        """The classes that are actors, by the names of their bases, through classes in between."""
        classes = [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]
        names = set(ACTOR_BASES)
        while True:
            found = [
                node
                for node in classes
                if any(dotted(base).rpartition(".")[2] in names for base in node.bases)
            ]
            grown = names | {node.name for node in found}
            if grown == names:
                return found
            names = grown


def dotted(node: ast.AST) -> str:
    """`a.b.c` for such an expression, and the empty string for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value)):
        return f"{owner}.{node.attr}"
    return ""


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a full name is one of these; a pattern that ends in `.` or `_` is a beginning."""
    return any(
        name.startswith(pattern) if pattern[-1] in "._" else name == pattern for pattern in patterns
    )


def within(tree: ast.Module) -> Iterator[tuple[ast.AST, Function | None]]:
    """Every node that runs, with the function it stands in.

    The body of `if __name__ == "__main__":` is left out: the emulator never runs it.
    """
    stack: list[tuple[ast.AST, Function | None]] = [(tree, None)]
    while stack:
        node, function = stack.pop()
        if isinstance(node, ast.If) and "__name__" in {
            part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)
        }:
            continue
        yield node, function
        inner = node if isinstance(node, Function) else function
        stack.extend((child, inner) for child in ast.iter_child_nodes(node))


def local_names(function: Function | None) -> set[str]:
    """The names that a function binds itself: parameters and assignments, less its `global`s."""
    if function is None:
        return set()
    names: set[str] = set()
    shared: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Global):
            shared.update(node.names)
    return names - shared


def resolve(node: ast.expr, function: Function | None) -> ast.expr:
    """The value of a local variable that is assigned once, and any other expression itself."""
    if not isinstance(node, ast.Name) or function is None:
        return node
    stores = 0
    values: list[ast.expr] = []
    for part in ast.walk(function):
        if isinstance(part, ast.Name) and part.id == node.id and isinstance(part.ctx, ast.Store):
            stores += 1
        if isinstance(part, ast.arg) and part.arg == node.id:
            stores += 1
        if isinstance(part, ast.Assign) and [dotted(target) for target in part.targets] == [
            node.id
        ]:
            values.append(part.value)
    return values[0] if stores == 1 and values else node


def assigned_names(statements: list[ast.stmt]) -> set[str]:
    """The names that statements bind by an assignment."""
    return {
        target.id
        for statement in statements
        for target in getattr(statement, "targets", [getattr(statement, "target", None)])
        if isinstance(target, ast.Name)
    }
