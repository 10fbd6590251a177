"""How alarms are set."""

import ast
from collections.abc import Iterator

from edgeemu.advice.source import Finding, Function, Module, dotted, matches, resolve, within

INSTANT_MS_LEAST = 10**11
"""A number below this is no instant in ms that anybody means: it lies in 1973 (U48)."""

_SECONDS = ("time.time", "time.monotonic")
_NAIVE_ALWAYS = ("datetime.datetime.utcnow", "datetime.datetime.utcfromtimestamp")
_NAIVE_WITHOUT_ZONE = ("datetime.datetime.now", "datetime.datetime.today")
_ROUNDING = ("int", "round", "math.floor", "math.ceil")


def _is_alarm_call(node: ast.AST, *names: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in (names or ("set_alarm",))
        and dotted(node.func.value).rpartition(".")[2] in {"ctx", "storage"}
    )


def alarm_calls(module: Module) -> Iterator[Finding]:
    """Alarms that are set and not awaited, in seconds, or from a date without a zone."""
    for node, function in within(module.tree):
        if isinstance(node, ast.Expr) and _is_alarm_call(node.value, "set_alarm", "delete_alarm"):
            assert isinstance(node.value, ast.Call)
            call = dotted(node.value.func)
            if isinstance(function, ast.AsyncFunctionDef):
                yield node, "W_ALARM_NOT_AWAITED", f"`{call}` is not awaited", f"await {call}(...)"
        if not _is_alarm_call(node):
            continue
        assert isinstance(node, ast.Call)
        when = node.args[0] if node.args else next((word.value for word in node.keywords), None)
        if when is None:
            continue
        when = resolve(when, function)
        number = number_of(when)
        if number is not None and number < INSTANT_MS_LEAST:
            message = f"`{ast.unparse(when)}` is no instant of today in milliseconds"
            fix = "add a delay in ms to the time: self.ctx.now_ms() + 60_000"
            yield node, "W_ALARM_SECONDS", message, fix
        elif _is_seconds(when, module, function):
            message = f"`{ast.unparse(when)}` counts seconds, and an alarm wants milliseconds"
            yield node, "W_ALARM_SECONDS", message, "self.ctx.now_ms() + the delay in ms"
        elif naive := _naive_date(when, module):
            message = f"`{naive}` has no time zone, so it is another instant elsewhere"
            fix = "datetime.now(UTC), or self.ctx.now_ms() + the delay in ms"
            yield node, "W_ALARM_NAIVE", message, fix


def number_of(node: ast.expr) -> float | None:
    """The value of an arithmetic expression of literals, or None for anything else."""
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(max(min(value, 1e300), -1e300))
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = number_of(node.operand)
        return None if operand is None else -operand
    if isinstance(node, ast.BinOp):
        left, right = number_of(node.left), number_of(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
    return None


def _is_seconds(node: ast.expr, module: Module, function: Function | None) -> bool:
    """Whether a sum contains a clock that counts seconds, and nothing multiplies it."""
    node = resolve(node, function)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return any(_is_seconds(side, module, function) for side in (node.left, node.right))
    if not isinstance(node, ast.Call):
        return False
    if matches(module.name(node.func), _SECONDS):
        return True
    if isinstance(node.func, ast.Attribute) and node.func.attr == "timestamp" and not node.args:
        return True
    rounds = dotted(node.func) in _ROUNDING or module.name(node.func) in _ROUNDING
    return rounds and bool(node.args) and _is_seconds(node.args[0], module, function)


def _naive_date(node: ast.expr, module: Module) -> str:
    """The call in an expression that makes a date without a zone; empty if there is none.

    `.timestamp()` and `.astimezone()` read a local date rightly, but not one of `utcnow`.
    """
    converted = {
        id(part.func.value)
        for part in ast.walk(node)
        if isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in {"timestamp", "astimezone"}
    }
    covered = {
        id(inner) for part in ast.walk(node) if id(part) in converted for inner in ast.walk(part)
    }
    replaces_zone = any(
        isinstance(part, ast.keyword) and part.arg == "tzinfo" for part in ast.walk(node)
    )
    for part in ast.walk(node):
        if not isinstance(part, ast.Call) or replaces_zone:
            continue
        name = module.name(part.func)
        naive = matches(name, _NAIVE_ALWAYS)
        local = matches(name, _NAIVE_WITHOUT_ZONE) and not part.args and not part.keywords
        if naive or (local and id(part) not in covered):
            return ast.unparse(part)
    return ""


def alarm_handlers(module: Module) -> Iterator[Finding]:
    """Constructors that set the alarm blindly, and handlers that re-arm only to raise."""
    for actor in module.actors:
        for method in actor.body:
            if not isinstance(method, Function):
                continue
            if method.name == "__init__":
                nodes = list(ast.walk(method))
                asks = any(_is_alarm_call(node, "get_alarm") for node in nodes)
                for node in nodes:
                    if _is_alarm_call(node) and not asks:
                        message = "the constructor runs again after every eviction and restart"
                        fix = "set it only if await self.ctx.storage.get_alarm() is None"
                        yield node, "W_ALARM_IN_INIT", message, fix
            elif method.name == "alarm":
                if not method.decorator_list and not _takes_info(method.args):
                    message = f"`alarm({ast.unparse(method.args)})` cannot be called with its info"
                    fix = "async def alarm(self, info): ..."
                    yield method, "W_ALARM_SIGNATURE", message, fix
                for node in ast.walk(method):
                    yield from _rearm_then_raise(node)


def _takes_info(takes: ast.arguments) -> bool:
    """Whether a method can be called with one argument beside `self`."""
    positional = len(takes.posonlyargs) + len(takes.args)
    fits = positional - len(takes.defaults) <= 2 and (positional >= 2 or takes.vararg is not None)
    return fits and all(default is not None for default in takes.kw_defaults)


def _rearm_then_raise(node: ast.AST) -> Iterator[Finding]:
    for field in ("body", "orelse", "finalbody"):
        statements = getattr(node, field, None)
        if not isinstance(statements, list):
            continue
        rearmed = False
        for statement in statements:
            value = getattr(statement, "value", None)
            call = value.value if isinstance(value, ast.Await) else value
            if isinstance(statement, ast.Expr) and call is not None and _is_alarm_call(call):
                rearmed = True
            elif isinstance(statement, ast.Raise) and rearmed:
                message = "what the turn wrote, the new alarm included, is undone by this `raise`"
                fix = "record the error in storage, re-arm, and return"
                yield statement, "W_REARM_THEN_RAISE", message, fix
