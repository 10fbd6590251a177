"""The engines side by side: each piece of code runs in the one of its language, on one clock.

Promise: a load that fails changes nothing, whichever language is broken.
"""

from collections.abc import Callable
from dataclasses import dataclass

from edgeemu.core.events import TurnKind
from edgeemu.core.profile import Profile
from edgeemu.engines.javascript.classes import class_missing
from edgeemu.engines.javascript.project import ScriptProject
from edgeemu.engines.port import Host, Result, Waiting, Work
from edgeemu.engines.python.engine import PythonEngine
from edgeemu.engines.python.loop import EmulatorLoop, World
from edgeemu.engines.python.project import Project, two_owners
from edgeemu.ids import InstanceId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from edgeemu.engines.javascript.engine import JavaScriptEngine

OnLost = Callable[[list[InstanceId], str], None]
"""Told of the instances whose memory is lost, and why."""


@dataclass(frozen=True, slots=True)
class Code:
    """The code of all functions, by language.

    Attributes:
        python, scripts: of each language.
        alone: whether there is one function.
    """

    python: Project
    scripts: ScriptProject
    alone: bool


class Engines:
    """The engine of the emulator: hands each turn to that of its language.

    Args:
        loop, world: on which everything runs.
        code: of all functions.
        profile: the platform's rules.
        watchdog_ms: real ms that one step may take; 0 for no watchdog.
        seed: of the run.
        inspect: whether a debugger may attach to the engine of TypeScript.
        on_lost: see `OnLost`.
    """

    def __init__(
        self,
        *,
        loop: EmulatorLoop,
        world: World,
        code: Code,
        profile: Profile,
        watchdog_ms: int,
        seed: int,
        inspect: bool,
        on_lost: OnLost,
    ) -> None:
        self._loop = loop
        self._world = world
        self._code = code
        self._profile = profile
        self._watchdog_ms = watchdog_ms
        self._seed = seed
        self._inspect = inspect
        self._on_lost = on_lost
        self._python = PythonEngine(
            loop=loop, world=world, project=code.python, profile=profile, watchdog_ms=watchdog_ms
        )
        self._scripts: JavaScriptEngine | None = None

    # --- code ------------------------------------------------------------------------------

    def replace_code(self, code: Code) -> None:
        """Load from a changed configuration from now on."""
        self._code = code
        self._python.replace_project(code.python)
        if self._scripts is not None:
            self._scripts.replace_project(code.scripts)

    def load(self) -> None:
        """Load the project's source beside what is loaded; nothing changes for running code.

        Raises:
            EdgeemuError: with file, line and a code frame, if it does not load.
        """
        scripts = self._script_engine()
        elsewhere: dict[str, str] = {}
        if scripts is not None:
            for function in scripts.load():
                for type_name in function.classes:
                    first = elsewhere.setdefault(type_name, function.name)
                    if first != function.name:
                        scripts.unload()
                        raise two_owners(type_name, first, function.name)
        try:
            self._python.load(elsewhere)
            self._check_owners(elsewhere | self._python.loaded_types())
        except BaseException:
            if scripts is not None:
                scripts.unload()
            raise

    def swap(self) -> None:
        """Let everything that starts from now on use what was loaded last."""
        self._python.swap()
        if self._scripts is not None:
            self._scripts.swap()

    def owners(self) -> dict[str, str]:
        """The function that owns each actor type; empty while no code is loaded."""
        scripts = {} if self._scripts is None else self._scripts.types
        return {**scripts, **self._python.owners()}

    @property
    def debugger(self) -> str | None:
        """The `host:port` at which a debugger attaches to the code in use; None without one."""
        return None if self._scripts is None else self._scripts.debugger

    def _script_engine(self) -> "JavaScriptEngine | None":
        """The engine of TypeScript, made when there is such code: it takes time to import."""
        if self._scripts is None and self._code.scripts.functions:
            from edgeemu.engines.javascript.engine import JavaScriptEngine

            self._scripts = JavaScriptEngine(
                loop=self._loop,
                world=self._world,
                project=self._code.scripts,
                profile=self._profile,
                watchdog_ms=self._watchdog_ms,
                seed=self._seed,
                inspect=self._inspect,
                on_lost=self._on_lost,
            )
        return self._scripts

    def _check_owners(self, owners: dict[str, str]) -> None:
        """Each type that a function declares has a class somewhere (U3)."""
        for function in self._code.scripts.functions:
            for actor in function.actors:
                own = owners.get(actor.type) == function.name
                if actor.type not in owners or (actor.required and not own):
                    exports = self._exports(function.name, actor.file.resolve().as_uri())
                    raise class_missing(actor, exports, self._code.scripts.root)

    def _exports(self, function: str, url: str) -> tuple[list[str], list[str]]:
        """The actor classes that a module exports, and what else it does."""
        return ([], []) if self._scripts is None else self._scripts.exports_of(function, url)

    # --- turns -----------------------------------------------------------------------------

    def _engine_of(
        self, instance: InstanceId | None, work: Work
    ) -> "PythonEngine | JavaScriptEngine":
        scripts = self._scripts
        if scripts is None:
            return self._python
        if instance is None:
            return scripts if scripts.has_front(work.function) else self._python
        if work.kind is TurnKind.INIT:
            return scripts if instance.type in scripts.types else self._python
        return scripts if scripts.holds(instance) else self._python

    def start(self, host: Host, work: Work, done: Callable[[Result], None]) -> None:
        """Start a turn in the engine of its language."""
        self._engine_of(host.instance, work).start(host, work, done)

    def stop(self, turn_id: int) -> None:
        """Stop running the code of a turn."""
        self._python.stop(turn_id)
        if self._scripts is not None:
            self._scripts.stop(turn_id)

    def detach(self, turn_id: int) -> None:
        """Report no more for a turn whose budget is over."""
        self._python.detach(turn_id)
        if self._scripts is not None:
            self._scripts.detach(turn_id)

    def took_ns(self, turn_id: int) -> int:
        """Real nanoseconds that the code of a running turn took so far."""
        scripts = self._scripts
        return self._python.took_ns(turn_id) or (scripts.took_ns(turn_id) if scripts else 0)

    def here(self) -> str | None:
        """The `file:line` of the actor code that asks its host for something right now."""
        if self._scripts is not None and self._scripts.stepping:
            return self._scripts.here()
        return self._python.here()

    def begins_at(self, instance: InstanceId, method: str) -> str | None:
        """The `file:line` where a method of an instance in memory begins, if it can be told."""
        if self._scripts is not None and self._scripts.holds(instance):
            return self._scripts.begins_at(instance, method)
        return self._python.begins_at(instance, method)

    def drop(self, instance: InstanceId) -> None:
        """Forget the object of an instance, and stop the work that its turns left behind."""
        self._python.drop(instance)
        if self._scripts is not None:
            self._scripts.drop(instance)

    async def settle(self, limit_ms: int) -> bool:
        """This waits until no code can go on without time, another turn or the outside."""
        # JavaScript runs in steps of the loop, so the loop's rest is its own too.
        return await self._python.settle(limit_ms)

    def waiting(self, *, outside_only: bool = False) -> list[Waiting]:
        """What still runs and where it waits, in order of the turns."""
        found = self._python.waiting(outside_only=outside_only)
        if self._scripts is not None:
            found += self._scripts.waiting(outside_only=outside_only)
            found.sort(key=lambda each: each.turn_id)
        return found

    def close(self) -> None:
        """Stop everything."""
        if self._scripts is not None:
            self._scripts.close()
        self._python.close()
