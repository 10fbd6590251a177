"""Calls that block, draw or start something."""

import ast
from collections.abc import Iterator

from edgeemu.advice.source import Finding, Module, dotted, local_names, matches, within

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


def calls(module: Module) -> Iterator[Finding]:
    """Calls of functions that an actor had better leave alone."""
    for node, function in within(module.tree):
        if not isinstance(node, ast.Call):
            continue
        name = module.name(node.func)
        if not name or dotted(node.func).partition(".")[0] in local_names(function):
            continue
        if matches(name, _SLEEPS):
            fix = "await asyncio.sleep(seconds), or set an alarm for later"
            yield node, "W_BLOCKING_SLEEP", f"`{name}` stops every actor while it waits", fix
        elif _is_unseeded(name, node):
            yield node, "W_UNSEEDED_RANDOM", f"`{name}` does not follow the seed", _random_fix(name)
        elif matches(name, _THREADS):
            fix = "await the work in the turn, or let another actor do it"
            yield node, "W_THREADS", f"`{name}` runs beside the turn", fix
        elif isinstance(function, ast.AsyncFunctionDef) and _is_blocking_io(name):
            fix = "declare the service under [services.NAME] and await self.env.NAME.fetch(...)"
            message = f"`{name}` stops every actor until the answer is there"
            yield node, "W_BLOCKING_IO", message, fix


def _is_unseeded(name: str, call: ast.Call) -> bool:
    if name == "random.Random":
        return not call.args and not call.keywords
    return matches(name, _UNSEEDED) and name not in {"random.seed", "secrets.compare_digest"}


def _random_fix(name: str) -> str:
    if name.startswith("uuid."):
        return "uuid.UUID(int=self.ctx.random.getrandbits(128), version=4)"
    if name.startswith("secrets.") or name == "os.urandom":
        return "self.ctx.random.randbytes(n), unless it guards a real secret"
    return f"self.ctx.random.{name.partition('.')[2] or 'random'}, in a method"


def _is_blocking_io(name: str) -> bool:
    module, _, member = name.rpartition(".")
    return matches(name, _BLOCKING_IO) or (module == "httpx" and member in _HTTPX_CALLS)
