"""Fields that one turn sets and another reads: they are gone after an eviction."""

import ast
from collections.abc import Iterator, Mapping

from edgeemu.advice.source import (
    ACTOR_BASES,
    Finding,
    Function,
    Module,
    assigned_names,
    dotted,
)

_GUARDS = ("__getattr__", "__getattribute__", "__slots__")


def fields(module: Module) -> Iterator[Finding]:
    """Fields that a method reads and only other methods set, which no `__init__` does.

    It is silent about a class with bases that it cannot see, and where the code asks for the field
    by its name (`hasattr`, `getattr`), catches `AttributeError`, or calls the reader itself.
    """
    classes = {actor.name: actor for actor in module.actors}
    for actor in module.actors:
        body = _body_with_bases(actor, classes)
        if body is None:
            continue
        methods = {each.name: each for each in body if isinstance(each, Function)}
        given = set(methods) | assigned_names([each for each in body if _gives(each)])
        if given & set(_GUARDS):
            continue
        uses = {name: _uses_of_self(method) for name, method in methods.items()}
        named = {name for method in methods.values() for name in _asked_by_name(method)}
        called = {field for reads, _ in uses.values() for field in reads} & set(methods)
        at_first = _sets_in_all("__init__", uses)
        for name in [each.name for each in actor.body if isinstance(each, Function)]:
            if name.startswith("_") or name in called or _catches(methods[name]):
                continue
            own = _sets_in_all(name, uses)
            for field, node in uses[name][0].items():
                setters = sorted(other for other, (_, sets) in uses.items() if field in sets)
                if setters and field not in at_first | own | given | named:
                    message = (
                        f"`self.{field}` is set by `{setters[0]}`, in another turn and perhaps in "
                        "an earlier life of the instance"
                    )
                    fix = "keep it in self.ctx.storage, or set it in `__init__`"
                    yield node, "W_MEMORY_LOST", message, fix


def _body_with_bases(
    actor: ast.ClassDef, classes: Mapping[str, ast.ClassDef]
) -> list[ast.stmt] | None:
    """The statements of a class and of its bases in this module; None with a base elsewhere."""
    body = list(actor.body)
    for base in actor.bases:
        name = dotted(base).rpartition(".")[2]
        if name in classes and classes[name] is not actor:
            inherited = _body_with_bases(classes[name], classes)
            if inherited is None:
                return None
            body = [*inherited, *body]
        elif name not in ACTOR_BASES:
            return None
    return body


def _gives(statement: ast.stmt) -> bool:
    """Whether a statement of a class body gives a name a value."""
    return not isinstance(statement, ast.AnnAssign) or statement.value is not None


def _uses_of_self(method: Function) -> tuple[dict[str, ast.AST], set[str]]:
    """The fields that a method reads, each with its first place, and those that it sets."""
    own = method.args.args[0].arg if method.args.args else ""
    reads: dict[str, ast.AST] = {}
    sets: set[str] = set()
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and dotted(node.value) == own:
            if isinstance(node.ctx, ast.Load):
                reads.setdefault(node.attr, node)
            elif isinstance(node.ctx, ast.Store):
                sets.add(node.attr)
    return reads, sets


def _sets_in_all(name: str, uses: Mapping[str, tuple[dict[str, ast.AST], set[str]]]) -> set[str]:
    """The fields that a method sets, itself or through the methods of its own that it mentions."""
    found: set[str] = set()
    seen: set[str] = set()
    todo = [name]
    while todo:
        name = todo.pop()
        if name in uses and name not in seen:
            seen.add(name)
            reads, sets = uses[name]
            found |= sets
            todo += reads
    return found


def _asked_by_name(method: Function) -> Iterator[str]:
    """The fields that a method reaches through their names."""
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and dotted(node.func) in ("getattr", "hasattr", "setattr"):
            yield from (str(each.value) for each in node.args if isinstance(each, ast.Constant))


def _catches(method: Function) -> bool:
    return any(
        isinstance(node, ast.ExceptHandler)
        and (node.type is None or "Attr" in ast.unparse(node.type))
        for node in ast.walk(method)
    )
