"""One generation of JavaScript code in its process, and the turns that run in it."""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from edgeemu.core.timers import Timer
from edgeemu.engines.javascript.calls import HostCalls
from edgeemu.engines.javascript.child import Child
from edgeemu.engines.javascript.frames import FoundFunction
from edgeemu.engines.javascript.project import ScriptProject
from edgeemu.engines.port import Host, Result, Work


class Ticket(Struct):
    """What a turn waits for in JavaScript."""

    scope: "Scope | None"
    outside: bool = False
    timer: Timer | None = None


class Scope(Struct):
    """One turn in the child, from its start until nothing of it is left."""

    host: Host
    work: Work
    world: "Realm"
    done: Callable[[Result], None]
    took_ns: int = 0
    ended: bool = False
    stopped: bool = False
    result: Result | None = None
    tickets: dict[int, Ticket] = msgspec.field(default_factory=dict)


class Realm:
    """One generation of the project's code: a child process, and what it exports."""

    def __init__(self, child: Child, project: ScriptProject) -> None:
        self.child = child
        self.project = project
        self.functions: Sequence[FoundFunction] = ()
        self.scopes: dict[int, Scope] = {}
        self.tickets: dict[int, Ticket] = {}
        self.calls: HostCalls
        self.retired = False

    @property
    def classes(self) -> dict[str, str]:
        """The function that ships each actor type, the first of them."""
        found: dict[str, str] = {}
        for function in self.functions:
            for type_name in function.classes:
                found.setdefault(type_name, function.name)
        return found

    def exports_of(self, function: str, url: str) -> tuple[list[str], list[str]]:
        """The actor classes that a module exports, and what else it does."""
        for each in self.functions:
            if each.name == function:
                return each.exports.get(url, []), each.others.get(url, [])
        return [], []
