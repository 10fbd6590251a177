"""Risky code in actor modules, found by reading them: what `edgeemu check` reports.

Promise: nothing is imported or run, and a finding is nearly always right. Where a rule cannot tell,
it stays silent. Every code has an entry in `docs/warnings.md`, and a test checks both directions.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

WARNINGS: dict[str, str] = {
    "W_BLOCKING_SLEEP": "`time.sleep` stops every actor, and emulated time does not pass in it.",
    "W_BLOCKING_IO": "A call that blocks on the network inside `async` code stops every actor.",
    "W_UNSEEDED_RANDOM": "Randomness that does not come from the seed makes a run unrepeatable.",
    "W_THREADS": "Threads and processes run beside the turn, out of reach of its clock and commit.",
    "W_SHARED_STATE": "A value that all instances share is changed, and is lost on eviction.",
    "W_ALARM_NOT_AWAITED": "An alarm call is not awaited, so its error appears somewhere else.",
    "W_ALARM_SECONDS": "An alarm is set in seconds or to a delay; it wants epoch milliseconds.",
    "W_ALARM_NAIVE": "An alarm is set from a date without a time zone.",
    "W_ALARM_IN_INIT": "The constructor sets the alarm, and so moves it whenever it runs again.",
    "W_REARM_THEN_RAISE": "The alarm handler re-arms and then raises, which undoes the re-arm.",
}
"""Every code, with one sentence that says what is wrong."""

INSTANT_MS_LEAST = 10**11
"""A number below this is no instant in ms that anybody means: it lies in 1973 (U48)."""

_SLEEPS = ("time.sleep",)
_BLOCKING_IO = (
    "requests.",
    "urllib.request.urlopen",
    "urllib.request.urlretrieve",
    "urllib3.request",
    "http.client.HTTPConnection",
    "http.client.HTTPSConnection",
    "socket.create_connection",
)
_HTTPX_CALLS = ("delete", "get", "head", "options", "patch", "post", "put", "request", "stream")
_UNSEEDED = ("random.", "secrets.", "uuid.uuid1", "uuid.uuid4", "os.urandom")
_THREADS = (
    "threading.Thread",
    "threading.Timer",
    "_thread.start_new_thread",
    "concurrent.futures.",
    "multiprocessing.",
    "subprocess.",
    "os.fork",
    "os.popen",
    "os.system",
    "asyncio.create_subprocess_",
)
_SECONDS = ("time.time", "time.monotonic")
_NAIVE_ALWAYS = ("datetime.datetime.utcnow", "datetime.datetime.utcfromtimestamp")
_NAIVE_WITHOUT_ZONE = ("datetime.datetime.now", "datetime.datetime.today")
_ACTOR_BASES = ("StatefulActor", "DurableObject")
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
_ROUNDING = ("int", "round", "math.floor", "math.ceil")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, order=True)
class Advice:
    """One finding.

    Attributes:
        line: from 1.
        code: one of `WARNINGS`.
        message: what is risky there.
        file: as the caller gave it, with `/` between.
        fix: what to write instead.
    """

    line: int
    code: str
    message: str
    file: str
    fix: str


def review_source(path: Path, text: str) -> list[Advice]:
    """The risky places of one Python module, in order of line.

    Args:
        path: how findings name the file; it is not read.
        text: the module. One that does not parse has no findings; loading it says why.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    module = _Module(tree)
    found: dict[tuple[int, str], Advice] = {}
    for rule in (_calls, _alarm_calls, _alarm_handlers, _shared_state):
        for node, code, message, fix in rule(module):
            line = getattr(node, "lineno", 1)
            found.setdefault((line, code), Advice(line, code, message, path.as_posix(), fix))
    return sorted(found.values())


_Finding = tuple[ast.AST, str, str, str]


class _Module:
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
        dotted = _dotted(node)
        head, _, rest = dotted.partition(".")
        if head not in self.imports:
            return ""
        return f"{self.imports[head]}.{rest}" if rest else self.imports[head]

    @cached_property
    def actors(self) -> list[ast.ClassDef]:
        """The classes that are actors, by the names of their bases, through classes in between."""
        classes = [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]
        names = set(_ACTOR_BASES)
        while True:
            found = [
                node
                for node in classes
                if any(_dotted(base).rpartition(".")[2] in names for base in node.bases)
            ]
            grown = names | {node.name for node in found}
            if grown == names:
                return found
            names = grown


def _dotted(node: ast.AST) -> str:
    """`a.b.c` for such an expression, and the empty string for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := _dotted(node.value)):
        return f"{owner}.{node.attr}"
    return ""


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a full name is one of these; a pattern that ends in `.` or `_` is a beginning."""
    return any(
        name.startswith(pattern) if pattern[-1] in "._" else name == pattern for pattern in patterns
    )


def _within(tree: ast.Module) -> Iterator[tuple[ast.AST, Function | None]]:
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


def _local_names(function: Function | None) -> set[str]:
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


# --- calls that block, draw or start something -------------------------------------------------


def _calls(module: _Module) -> Iterator[_Finding]:
    for node, function in _within(module.tree):
        if not isinstance(node, ast.Call):
            continue
        name = module.name(node.func)
        if not name or _dotted(node.func).partition(".")[0] in _local_names(function):
            continue
        if _matches(name, _SLEEPS):
            fix = "await asyncio.sleep(seconds), or set an alarm for later"
            yield node, "W_BLOCKING_SLEEP", f"`{name}` stops every actor while it waits", fix
        elif _is_unseeded(name, node):
            yield node, "W_UNSEEDED_RANDOM", f"`{name}` does not follow the seed", _random_fix(name)
        elif _matches(name, _THREADS):
            fix = "await the work in the turn, or let another actor do it"
            yield node, "W_THREADS", f"`{name}` runs beside the turn", fix
        elif isinstance(function, ast.AsyncFunctionDef) and _is_blocking_io(name):
            fix = "declare the service under [services.NAME] and await self.env.NAME.fetch(...)"
            message = f"`{name}` stops every actor until the answer is there"
            yield node, "W_BLOCKING_IO", message, fix


def _is_unseeded(name: str, call: ast.Call) -> bool:
    if name == "random.Random":
        return not call.args and not call.keywords
    return _matches(name, _UNSEEDED) and name not in {"random.seed", "secrets.compare_digest"}


def _random_fix(name: str) -> str:
    if name.startswith("uuid."):
        return "uuid.UUID(int=self.ctx.random.getrandbits(128), version=4)"
    if name.startswith("secrets.") or name == "os.urandom":
        return "self.ctx.random.randbytes(n), unless it guards a real secret"
    return f"self.ctx.random.{name.partition('.')[2] or 'random'}, in a method"


def _is_blocking_io(name: str) -> bool:
    module, _, member = name.rpartition(".")
    return _matches(name, _BLOCKING_IO) or (module == "httpx" and member in _HTTPX_CALLS)


# --- how alarms are set ------------------------------------------------------------------------


def _is_alarm_call(node: ast.AST, *names: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in (names or ("set_alarm",))
        and _dotted(node.func.value).rpartition(".")[2] in {"ctx", "storage"}
    )


def _alarm_calls(module: _Module) -> Iterator[_Finding]:
    for node, function in _within(module.tree):
        if isinstance(node, ast.Expr) and _is_alarm_call(node.value, "set_alarm", "delete_alarm"):
            assert isinstance(node.value, ast.Call)
            call = _dotted(node.value.func)
            if isinstance(function, ast.AsyncFunctionDef):
                yield node, "W_ALARM_NOT_AWAITED", f"`{call}` is not awaited", f"await {call}(...)"
        if not _is_alarm_call(node):
            continue
        assert isinstance(node, ast.Call)
        when = node.args[0] if node.args else next((word.value for word in node.keywords), None)
        if when is None:
            continue
        when = _resolve(when, function)
        number = _number(when)
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


def _resolve(node: ast.expr, function: Function | None) -> ast.expr:
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
        if isinstance(part, ast.Assign) and [_dotted(target) for target in part.targets] == [
            node.id
        ]:
            values.append(part.value)
    return values[0] if stores == 1 and values else node


def _number(node: ast.expr) -> float | None:
    """The value of an arithmetic expression of literals, or None for anything else."""
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(max(min(value, 1e300), -1e300))
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = _number(node.operand)
        return None if operand is None else -operand
    if isinstance(node, ast.BinOp):
        left, right = _number(node.left), _number(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
    return None


def _is_seconds(node: ast.expr, module: _Module, function: Function | None) -> bool:
    """Whether a sum contains a clock that counts seconds, and nothing multiplies it."""
    node = _resolve(node, function)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return any(_is_seconds(side, module, function) for side in (node.left, node.right))
    if not isinstance(node, ast.Call):
        return False
    if _matches(module.name(node.func), _SECONDS):
        return True
    if isinstance(node.func, ast.Attribute) and node.func.attr == "timestamp" and not node.args:
        return True
    rounds = _dotted(node.func) in _ROUNDING or module.name(node.func) in _ROUNDING
    return rounds and bool(node.args) and _is_seconds(node.args[0], module, function)


def _naive_date(node: ast.expr, module: _Module) -> str:
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
        naive = _matches(name, _NAIVE_ALWAYS)
        local = _matches(name, _NAIVE_WITHOUT_ZONE) and not part.args and not part.keywords
        if naive or (local and id(part) not in covered):
            return ast.unparse(part)
    return ""


def _alarm_handlers(module: _Module) -> Iterator[_Finding]:
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
                for node in ast.walk(method):
                    yield from _rearm_then_raise(node)


def _rearm_then_raise(node: ast.AST) -> Iterator[_Finding]:
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


# --- state that instances share ----------------------------------------------------------------


def _shared_state(module: _Module) -> Iterator[_Finding]:
    shared = _mutable_names(module.tree.body)
    top_level = _assigned_names(module.tree.body)
    for actor in module.actors:
        methods = [node for node in actor.body if isinstance(node, Function)]
        own = {
            _dotted(node)
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
            local = _local_names(method)
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


def _assigned_names(statements: list[ast.stmt]) -> set[str]:
    return {
        target.id
        for statement in statements
        for target in getattr(statement, "targets", [getattr(statement, "target", None)])
        if isinstance(target, ast.Name)
    }


def _mutable_names(statements: list[ast.stmt]) -> set[str]:
    """The names that a body binds to a list, a dict, a set or the like."""
    mutable = [
        statement
        for statement in statements
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _is_mutable(statement.value)
    ]
    return _assigned_names(list(mutable))


def _is_mutable(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Call):
        return _dotted(node.func).rpartition(".")[2] in _MUTABLE_CALLS
    return isinstance(
        node, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp
    )


def _changed_names(node: ast.AST) -> list[str]:
    """The names of things that a statement or a call changes in place."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return [_dotted(node.value)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return [_dotted(node.func.value)] if node.func.attr in _MUTATORS else []
    return []
