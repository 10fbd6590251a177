"""All functions of one emulator: their code side by side, and which of them owns which actor.

Promise: a load that fails changes nothing, whichever function is broken. Two functions may have
modules of one name: each function's imports find its own, at load and later.

Emulates: shared actors. Source: spec/telnyx-actors.md section 4.1.
"""

import os
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeemu.engines.python.environ import ScopedEnviron, Shown
from edgeemu.engines.python.loader import ActorSource, LoadedCode, ProjectLoader, classes_in
from edgeemu.errors import Code, EdgeemuError


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """Where the code of one function is, and what it is bound to.

    Attributes:
        name: of the function.
        root: its folder.
        main: its entry module; None where that is in another language.
        actors: the actor types that it declares, but for those of modules in another language.
        actor_env: what `self.env` binds in the actors that it owns.
        front_env: what `env` binds in its `fetch`.
        environment: what `os.environ` shows it beyond the machine's own.
    """

    name: str
    root: Path
    main: Path | None
    actors: Sequence[ActorSource]
    actor_env: Mapping[str, Any]
    front_env: Mapping[str, Any]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OwnedClass:
    """The class of an actor type, and what belongs to the function that owns it."""

    made: type[Any]
    function: str
    env: Mapping[str, Any]
    environ: Shown


@dataclass(frozen=True, slots=True)
class Front:
    """The `fetch` of a function, None where it has none, and its bindings."""

    fetch: Any
    env: Mapping[str, Any]
    environ: Shown


@dataclass(frozen=True, slots=True)
class LoadedProject:
    """One generation of the code of all functions.

    Attributes:
        classes: by actor type.
        fronts: by function.
        code: by function.
    """

    classes: Mapping[str, OwnedClass]
    fronts: Mapping[str, Front]
    code: Mapping[str, LoadedCode]


class Project:
    """Loads the functions of one emulator, of which the first is the primary one.

    Args:
        functions: in order of the configuration, those that have Python in them.
        root: the folder to which places are relative.
        actor_vars: whether actors see `os.environ` as functions do.
    """

    def __init__(
        self, functions: Sequence[FunctionSource], root: str, *, actor_vars: bool = False
    ) -> None:
        self._functions = functions
        self.root = root
        self._loaders = {
            each.name: ProjectLoader(
                each.root, each.main, each.actors, base=self.root, published=index == 0
            )
            for index, each in enumerate(functions)
        }
        self._environs = {each.name: Shown(each.environment, machine=True) for each in functions}
        self._actor_environs = {
            each.name: self._environs[each.name]
            if actor_vars
            else Shown({}, machine=False, elsewhere=each.environment)
            for each in functions
        }

    def load(
        self, environ: ScopedEnviron, elsewhere: Mapping[str, str] | None = None
    ) -> LoadedProject:
        """Load everything afresh.

        Args:
            environ: what `os.environ` is.
            elsewhere: the function that ships each type which another language has.

        Raises:
            EdgeemuError: as `ProjectLoader.load`; also `E_CLASS_MISSING` for a type that nobody
                owns (U3) and `E_CLASS_OWNERS` for one that two functions ship.
        """
        code: dict[str, LoadedCode] = {}
        for each in self._functions:
            with environ.importing(self._environs[each.name]):
                code[each.name] = self._loaders[each.name].load()
        fronts = {
            each.name: Front(code[each.name].front, each.front_env, self._environs[each.name])
            for each in self._functions
            if each.main is not None
        }
        return LoadedProject(self._owned(code, elsewhere or {}), fronts, code)

    def publish(self, loaded: LoadedProject) -> None:
        """Let imports that run later, inside functions, find this generation."""
        # Of a generation that an older configuration loaded, the names may be others.
        primary = next(iter(loaded.code.values()), None)
        if primary is None or not self._functions:
            return
        self._loaders[self._functions[0].name].publish(primary)

    def withdraw(self) -> None:
        """Take what `publish` did back."""
        if self._functions:
            self._loaders[self._functions[0].name].withdraw()

    def _owned(
        self, code: Mapping[str, LoadedCode], elsewhere: Mapping[str, str]
    ) -> dict[str, OwnedClass]:
        owned: dict[str, OwnedClass] = {}
        for each in self._functions:
            for type_name, made in code[each.name].classes.items():
                other = owned.get(type_name)
                first = elsewhere.get(type_name) if other is None else other.function
                if first is not None:
                    raise two_owners(type_name, first, each.name)
                environ = self._actor_environs[each.name]
                owned[type_name] = OwnedClass(made, each.name, each.actor_env, environ)
        for each in self._functions:
            for actor in each.actors:
                if actor.type not in owned and actor.type not in elsewhere:
                    raise self._no_owner(each, actor, code)
        return owned

    def _no_owner(
        self, function: FunctionSource, actor: ActorSource, code: Mapping[str, LoadedCode]
    ) -> EdgeemuError:
        if len(self._functions) == 1:
            return self._loaders[function.name].class_missing(actor, code[function.name].main)
        found = "; ".join(
            f"`{each.name}`: {classes_in(code[each.name].main)}" for each in self._functions
        )
        return EdgeemuError(
            Code.CLASS_MISSING,
            what=f"no function ships the class `{actor.type}`",
            why=f"`{function.name}` declares the type in [[actors]]; actor classes in the main "
            f"module of {found}",
            fix=f"write `class {actor.type}(StatefulActor)` in the function that owns it, and "
            "declare the same `type` there",
        )


def two_owners(type_name: str, first: str, second: str) -> EdgeemuError:
    """`E_CLASS_OWNERS`: an error that names both functions."""
    return EdgeemuError(
        Code.CLASS_OWNERS,
        what=f"two functions ship the class `{type_name}`",
        why=f"`{first}` and `{second}` declare the type, and both have the class in their code; "
        "a type has one owner, and every other function only refers to it",
        fix="delete the class, or its import, in one of them; its [[actors]] block reaches the "
        "other's instances",
    )


def common_root(roots: Sequence[Path]) -> str:
    """The folder to which places in the code are relative, and under which a file is the user's.

    Where that would take in Python itself (functions in far corners of the disk), the primary
    function's folder: then the others' places are shown with their whole path or not at all.
    """
    roots = [root.resolve() for root in roots]
    try:
        common = os.path.commonpath(roots)
    except ValueError:  # Two drives of Windows.
        return str(roots[0])
    library = Path(sysconfig.get_paths()["stdlib"])
    return str(roots[0]) if library.is_relative_to(common) and len(roots) > 1 else common
