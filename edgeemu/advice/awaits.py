"""Calls that are not awaited although their errors come only through the `await`."""

import ast
from collections.abc import Iterator

from edgeemu.advice.source import Finding, Function, Module, dotted, resolve, within

_WRITES = ("put", "delete", "delete_all", "transaction")
_STUB_MAKERS = ("id_from_name", "new_unique_id")


def awaits(module: Module) -> Iterator[Finding]:
    """Writes, and calls of other actors, that stand alone on their line in `async` code."""
    for node, function in within(module.tree):
        if not isinstance(node, ast.Expr) or not isinstance(function, ast.AsyncFunctionDef):
            continue
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        shown = f"{ast.unparse(call.func)}(...)"
        if call.func.attr in _WRITES and _is_storage(call.func.value, function):
            message = f"`{shown}` is not awaited: if it fails, the turn fails at its end"
            yield node, "W_WRITE_NOT_AWAITED", message, f"await {shown}"
        elif _is_stub(call.func.value, function):
            message = f"`{shown}` is not awaited, so nobody sees how it ends"
            yield node, "W_CALL_NOT_AWAITED", message, f"await {shown}"


def _is_storage(node: ast.expr, function: Function) -> bool:
    return dotted(resolve(node, function)).endswith("ctx.storage")


def _is_stub(node: ast.expr, function: Function) -> bool:
    made = resolve(node, function)
    return (
        isinstance(made, ast.Call)
        and isinstance(made.func, ast.Attribute)
        and made.func.attr in _STUB_MAKERS
    )
