"""Loading a project's Python modules, again and again, beside what is loaded already.

Promise: a load that fails changes nothing. Source is always compiled afresh: a cached `.pyc` is
trusted by size and whole seconds, and would hide a save made in the same second.
"""

import builtins
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from edgeemu.engines.python.containment import error_text, raised_by_code
from edgeemu.engines.python.scope import is_project_file, relative_file
from edgeemu.engines.python.watchdog import HangInterrupt
from edgeemu.errors import Code, EdgeemuError
from edgeemu.sdk.actor import StatefulActor

_FRAME_LINES = 2
"""Lines of source shown above and below an error."""


Importer = Callable[..., ModuleType]
"""Has the signature of `__import__`."""


@dataclass(frozen=True, slots=True)
class ActorSource:
    """Where the class of an actor type is.

    Attributes:
        type: the name of the class.
        file: the module.
        required: whether the class must be there; a further function may own it otherwise.
    """

    type: str
    file: Path
    required: bool = True


@dataclass(frozen=True, slots=True)
class LoadedCode:
    """One generation of a function's code.

    Attributes:
        classes: actor type to class.
        front: the `fetch` function of `main`, if it has one.
        modules: every module of the function that was loaded, by name.
        main: the entry module; None where that is in another language.
    """

    classes: dict[str, type[Any]]
    front: Any
    modules: dict[str, ModuleType]
    main: ModuleType | None


class _FreshLoader(importlib.machinery.SourceFileLoader):
    """Compiles the source each time and leaves no `.pyc` behind.

    Args:
        fullname, path: of the module.
        importer: takes the place of `__import__` in the module; None for the usual one.
    """

    def __init__(self, fullname: str, path: str, importer: Importer | None = None) -> None:
        super().__init__(fullname, path)
        self._importer = importer

    def exec_module(self, module: ModuleType) -> None:
        if self._importer is not None:
            own = {**vars(builtins), "__import__": self._importer}
            module.__dict__["__builtins__"] = own
        super().exec_module(module)

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        data = self.get_data(path)
        if b"\0" in data:  # Python's own error for it differs by version, and names no place.
            line = data[: data.index(b"\0")].count(b"\n") + 1
            raise SyntaxError("a NUL byte is no source code", (path, line, None, None))
        return self.source_to_code(data, path)


class _Importlib(ModuleType):
    """`importlib` as the modules see it that find each other: with an `import_module` of theirs."""

    def __init__(self, import_module: Callable[..., ModuleType]) -> None:
        super().__init__("importlib", importlib.__doc__)
        self.import_module = import_module

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib, name)


class _ProjectFinder(importlib.abc.MetaPathFinder):
    """Finds modules of the project: under its root and beside `main`.

    Args:
        folders: where top-level modules may lie, in order.
        packages: folders without `__init__.py` that may be packages; any other such folder might
            hide an installed package of the same name.
    """

    importer: Importer | None = None
    """Takes the place of `__import__` in the modules that are found from now on."""

    def __init__(self, folders: Sequence[Path], packages: Sequence[str]) -> None:
        self._folders = [str(folder) for folder in folders]
        self._packages = frozenset(packages)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del target
        top = fullname.partition(".")[0]
        if path is None and (top in sys.stdlib_module_names or top == "edgeemu"):
            return None
        for folder in self._folders if path is None else path:
            loader: Any = partial(_FreshLoader, importer=self.importer)
            details = (loader, importlib.machinery.SOURCE_SUFFIXES)
            finder = importlib.machinery.FileFinder(folder, details)
            spec = finder.find_spec(fullname)
            if spec is None:
                continue
            if spec.loader is not None or path is not None or fullname in self._packages:
                return spec
        return None


class ProjectLoader:
    """Loads the modules of one function.

    Args:
        root: the function's folder.
        main: the entry module's file.
        actors: the actor types and the files of their classes.
        base: the folder to which places in messages are relative; None for `root`.
        published: whether `publish` will let its modules be found by whoever imports. Of several
            functions only one can have that, since two may have a module of one name; the modules
            of the others find each other by an `__import__` of their own.
    """

    def __init__(
        self,
        root: Path,
        main: Path | None,
        actors: Sequence[ActorSource],
        *,
        base: str | None = None,
        published: bool = True,
    ) -> None:
        self._root = root.resolve()
        self._main = None if main is None else main.resolve()
        self._actors = actors
        self._base = base
        self._published = published
        self._loading = False
        self._packages = self._package_names()
        first = self._main or next((actor.file.resolve() for actor in actors), self._root / "main")
        folders = list(dict.fromkeys([first.parent, self._root]))
        self._finder = _ProjectFinder(folders, self._packages)

    @property
    def root(self) -> str:
        """The folder to which places are relative, resolved."""
        return self._base or str(self._root)

    def load(self) -> LoadedCode:
        """Load everything afresh.

        Raises:
            EdgeemuError: `E_PROJECT_SYNTAX`, `E_PROJECT_IMPORT` or `E_CLASS_MISSING`.
        """
        modules: dict[str, ModuleType] = {}
        self._finder.importer = None if self._published else self._importer_of(modules)
        with self._isolated(modules):
            main = None if self._main is None else self._import(self._main)
            classes = {}
            for actor in self._actors:
                made = self._class_of(actor)
                if made is not None:
                    classes[actor.type] = made
            front = getattr(main, "fetch", None)
        return LoadedCode(classes, front, modules, main)

    def _importer_of(self, modules: dict[str, ModuleType]) -> Importer:
        """An `__import__` that finds the modules of one generation, whenever it is called."""

        def import_named(name: str, *args: Any, **named: Any) -> ModuleType:
            level = named.get("level", args[3] if len(args) > 3 else 0)
            found = within(name, level, partial(builtins.__import__, name, *args, **named))
            return library if found is importlib else found

        def import_module(name: str, package: str | None = None) -> ModuleType:
            level = 1 if name.startswith(".") else 0
            return within(name, level, partial(importlib.import_module, name, package))

        def within(name: str, level: int, find: Callable[[], ModuleType]) -> ModuleType:
            if self._loading or not self._may_be_ours(name, level, modules):
                return find()
            self._finder.importer = import_named
            with self._isolated(modules):
                return find()

        library = _Importlib(import_module)
        return import_named

    def _may_be_ours(self, name: str, level: int, modules: dict[str, ModuleType]) -> bool:
        top = name.partition(".")[0]
        if level > 0 or top in modules:
            return True
        found = sys.modules.get(top)
        installed = found is not None and not _is_fresh(found) and top not in self._packages
        return not installed and top not in sys.stdlib_module_names

    def publish(self, code: LoadedCode) -> None:
        """Let imports that run later, inside functions, find this generation."""
        self.withdraw()
        sys.modules.update(code.modules)
        sys.meta_path.append(self._finder)

    def withdraw(self) -> None:
        """Take what `publish` did back."""
        for name in self._project_modules():
            del sys.modules[name]
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)

    def _project_modules(self) -> dict[str, ModuleType]:
        prefix = str(self._root) + os.sep
        found = {}
        for name, module in list(sys.modules.items()):
            origin = getattr(getattr(module, "__spec__", None), "origin", None)
            if _is_fresh(module) and isinstance(origin, str) and origin.startswith(prefix):
                found[name] = module
        return found

    @contextmanager
    def _isolated(self, modules: dict[str, ModuleType]) -> Iterator[None]:
        """Import with `modules` alone of all modules of projects; afterwards all is as before.

        What has been imported by then is in `modules`, the packages above included.
        """
        before = {
            name: module
            for name, module in sys.modules.items()
            if _is_fresh(module) or name in self._packages
        }
        for name in before:
            del sys.modules[name]
        sys.modules.update(modules)
        meta_path, was_loading = list(sys.meta_path), self._loading
        sys.meta_path.insert(0, self._finder)
        self._loading = True
        try:
            yield
        finally:
            self._loading = was_loading
            sys.meta_path[:] = meta_path
            packages = {name: sys.modules[name] for name in self._packages if name in sys.modules}
            modules.update(packages | self._project_modules())
            for name in [*self._project_modules(), *self._packages]:
                sys.modules.pop(name, None)
            sys.modules.update(before)

    def _package_names(self) -> list[str]:
        """The packages above the entry modules, such as `src`: folders, so namespaces at most."""
        names: set[str] = set()
        mains = [] if self._main is None else [self._main]
        for file in (*mains, *(actor.file.resolve() for actor in self._actors)):
            parts = self._module_name(file).split(".")[:-1]
            names.update(".".join(parts[: count + 1]) for count in range(len(parts)))
        return sorted(names)

    def _module_name(self, file: Path) -> str:
        return ".".join(file.relative_to(self._root).with_suffix("").parts)

    def _import(self, file: Path) -> ModuleType:
        name = self._module_name(file)
        try:
            if not all(part.isidentifier() for part in name.split(".")):
                return self._import_alone(name, file)
            return importlib.import_module(name)
        except SyntaxError as error:
            raise self._syntax_error(error) from None
        except HangInterrupt:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not raised_by_code(error):
                raise
            raise self._import_error(error) from None

    def _import_alone(self, name: str, file: Path) -> ModuleType:
        """A module in folders whose names are no identifiers: it can have no relative imports."""
        if name in sys.modules:
            return sys.modules[name]
        loader = _FreshLoader(name, str(file), self._finder.importer)
        spec = importlib.util.spec_from_file_location(name, file, loader=loader)
        if spec is None:
            raise ImportError(f"cannot load {file}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        loader.exec_module(module)
        return module

    def _class_of(self, actor: ActorSource) -> type[Any] | None:
        module = self._import(actor.file.resolve())
        found = getattr(module, actor.type, None)
        if isinstance(found, type) and issubclass(found, StatefulActor):
            return found
        if found is not None or actor.required:
            raise self.class_missing(actor, module)
        return None

    def class_missing(self, actor: ActorSource, module: ModuleType | None) -> EdgeemuError:
        """`E_CLASS_MISSING` for a type whose class `module` should have (U3)."""
        file = relative_file(str(actor.file.resolve()), self.root)
        if getattr(module, actor.type, None) is not None:
            what = f"`{actor.type}` in {file} is not an actor class"
            why = "an actor is a class that derives from edgeemu.StatefulActor"
        else:
            what = f"{file} has no class `{actor.type}`"
            why = f"[[actors]] declares the type `{actor.type}`; the file has: {classes_in(module)}"
        return EdgeemuError(
            Code.CLASS_MISSING,
            what=what,
            why=why,
            fix=f"write `class {actor.type}(StatefulActor)` there, or mend `type` in [[actors]]",
        )

    def _syntax_error(self, error: SyntaxError) -> EdgeemuError:
        file = relative_file(error.filename or "?", self.root)
        return EdgeemuError(
            Code.PROJECT_SYNTAX,
            what=f"{file} has a syntax error at line {error.lineno}: {error.msg}",
            why="Python cannot read the file",
            fix=f"mend {file}:{error.lineno}",
            detail=code_frame(error.filename, error.lineno, error.offset),
        )

    def _import_error(self, error: BaseException) -> EdgeemuError:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if is_project_file(frame.filename, self.root)]
        frame = own[-1] if own else None
        where = "the project" if frame is None else relative_file(frame.filename, self.root)
        line = None if frame is None else frame.lineno
        name = type(error).__name__
        fix = "mend the line shown below"
        if isinstance(error, ModuleNotFoundError) and error.name:
            fix = f"install `{error.name}` beside edgeemu, or mend the import"
        return EdgeemuError(
            Code.PROJECT_IMPORT,
            what=f"{where}{'' if line is None else f' line {line}'} cannot be imported",
            why=f"{name}: {error_text(error)}",
            fix=fix,
            detail=code_frame(frame.filename if frame else None, line, None),
        )


def classes_in(module: ModuleType | None) -> str:
    """The actor classes in a module, in words."""
    found = sorted(
        name
        for name, value in ({} if module is None else vars(module)).items()
        if isinstance(value, type)
        and issubclass(value, StatefulActor)
        and value is not StatefulActor
    )
    return ", ".join(found) or "no actor class"


def _is_fresh(module: ModuleType) -> bool:
    """Whether a module is of a project, and not installed."""
    spec = getattr(module, "__spec__", None)
    return isinstance(getattr(spec, "loader", None), _FreshLoader)


def code_frame(filename: str | None, line: int | None, column: int | None) -> str | None:
    """A few numbered lines of source around a line, with a mark under a column (1 is the first)."""
    if filename is None or line is None:
        return None
    try:
        lines = Path(filename).read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    shown = []
    for number in range(max(1, line - _FRAME_LINES), min(len(lines), line + _FRAME_LINES) + 1):
        mark = ">" if number == line else " "
        shown.append(f"{mark} {number:4d} | {lines[number - 1]}")
        if number == line and column:
            shown.append(f"       | {' ' * (column - 1)}^")
    return "\n".join(shown) or None
