"""Why a project in TypeScript does not load, with file, line and a code frame."""

import json
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import unquote, urlsplit

from edgeemu.engines.javascript.child import ChildDied
from edgeemu.engines.javascript.failures import stack_places
from edgeemu.engines.javascript.frames import Unresolved, WhyNot
from edgeemu.engines.javascript.project import ScriptProject
from edgeemu.engines.python.loader import code_frame
from edgeemu.errors import Code, EdgeemuError

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_AT = re.compile(r"\bat (?P<url>file://\S+?):(?P<line>\d+):(?P<column>\d+)")
_MISSING_EXPORT = re.compile(r"does not provide an export named '(?P<name>[^']*)'")
_CIRCULAR = ("before initialization", "Class extends value undefined")


def load_error(project: ScriptProject, failed: WhyNot | ChildDied | None) -> EdgeemuError:
    """Why the project does not load: `E_PROJECT_SYNTAX` or `E_PROJECT_IMPORT`."""
    if isinstance(failed, WhyNot):
        root = Path(project.root)
        if failed.unresolved is not None:
            return _unresolved(failed.unresolved, root)
        message = _COLOUR.sub("", failed.message)
        found = _AT.search(message)
        if found is not None:
            return _unreadable(message, found, root)
        return _raised(failed, message, root)
    if failed is None or failed.hung:
        return EdgeemuError(
            Code.PROJECT_IMPORT,
            what="the project does not finish loading",
            why="a module runs on, or awaits what never comes, at its top level",
            fix="look for a loop or an await outside of functions, or raise watchdog_ms under "
            "[limits]",
        )
    return EdgeemuError(
        Code.PROJECT_IMPORT,
        what="the JavaScript engine ended while it loaded the project",
        why=str(failed),
        fix="see what it says; `deno --version` should answer",
    )


def shown_path(path: str | Path, root: Path) -> str:
    """A path as users read it: relative to the project where it lies there."""
    path = Path(path)
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _raised(failed: WhyNot, message: str, root: Path) -> EdgeemuError:
    """A module raised an error at its top level."""
    places = stack_places(failed.stack)
    own = [place for place in places if "node_modules" not in place.path.parts]
    place = next(iter([*own, *places]), None)
    why = f"{failed.name}: {message}"
    fix = "mend the line shown below"
    if place is None:
        return EdgeemuError(
            Code.PROJECT_IMPORT,
            what="the project does not load",
            why=f"a module threw {why}",
            fix="throw an Error, whose stack says where",
        )
    circle = _circle(failed.imports, root) if any(it in message for it in _CIRCULAR) else None
    if circle is not None:
        why += f"; modules import each other in a circle: {circle}"
        fix = "move what they need of each other into a module that imports neither"
    return EdgeemuError(
        Code.PROJECT_IMPORT,
        what=f"{shown_path(place.path, root)} line {place.line} cannot be imported",
        why=why,
        fix=fix,
        detail=code_frame(str(place.path), place.line, place.column),
    )


def _unreadable(message: str, found: "re.Match[str]", root: Path) -> EdgeemuError:
    """A file that is not the language, or imports what another does not export."""
    path = Path(unquote(urlsplit(found["url"]).path))
    line, column = int(found["line"]), int(found["column"])
    file = shown_path(path, root)
    text = message.splitlines()[0][: found.start()].strip()
    text = text.removeprefix("SyntaxError: ")
    detail = code_frame(str(path), line, column)
    missing = _MISSING_EXPORT.search(text)
    if missing is not None:
        name = missing["name"]
        return EdgeemuError(
            Code.PROJECT_IMPORT,
            what=f"{file} line {line} cannot be imported",
            why=text,
            fix=f"export `{name}` there; if it is a type, write `type {name}` here",
            detail=detail,
        )
    return EdgeemuError(
        Code.PROJECT_SYNTAX,
        what=f"{file} has a syntax error at line {line}: {text}",
        why="TypeScript cannot read the file"
        if ".ts" in path.suffix
        else "JavaScript cannot read the file",
        fix=f"mend {file}:{line}",
        detail=detail,
    )


# --- imports that lead nowhere -----------------------------------------------------------------


def _unresolved(found: Unresolved, root: Path) -> EdgeemuError:
    importer = Path(found.importer)
    if found.reason == "json":
        return _broken_json(importer, str(found.more), root)
    line, column = _place_of(importer, found.specifier)
    why, fix = _WHYS.get(found.reason, _no_file)(found, importer, root)
    at = f"{shown_path(importer, root)}{'' if line is None else f' line {line}'}"
    return EdgeemuError(
        Code.PROJECT_IMPORT,
        what=f"{at} imports {json.dumps(found.specifier, ensure_ascii=False)}, which is not found",
        why=why,
        fix=fix,
        detail=code_frame(str(importer), line, column),
    )


def _broken_json(file: Path, message: str, root: Path) -> EdgeemuError:
    line = column = None
    try:
        json.loads(file.read_text("utf-8-sig", "replace"))
    except OSError:
        pass
    except json.JSONDecodeError as error:  # JavaScript does not say where.
        line, column, message = error.lineno, error.colno, error.msg
    return EdgeemuError(
        Code.PROJECT_SYNTAX,
        what=f"{shown_path(file, root)} is no JSON: {message}",
        why="a module imports it",
        fix="mend the file" if line is None else "mend the line shown below",
        detail=code_frame(str(file), line, column),
    )


def _no_file(found: Unresolved, importer: Path, root: Path) -> tuple[str, str]:
    path = Path(str(found.more))
    names = _names_in(path.parent)
    near = get_close_matches(path.stem, {Path(name).stem for name in names}, 1)
    shown = shown_path(path, root)
    if not names:
        return f"there is no folder {shown_path(path.parent, root)}", "mend the path"
    why = f"there is no {shown}, with or without .ts, .tsx, .js, .jsx or .json, and no such folder"
    if not near:
        return f"{why} with an index", "write the file, or mend the path"
    start, _, _ = found.specifier.rpartition("/")
    return f"{why} with an index", f'perhaps "{start}/{near[0]}" is meant'


def _no_package(found: Unresolved, importer: Path, root: Path) -> tuple[str, str]:
    name = str(found.more)
    file = next((each for each in _above(importer, "package.json") if each.is_file()), None)
    wanted = _dependencies(file)
    if file is not None and name in wanted:
        where = shown_path(file.parent, root)
        there = "" if where == "." else f" in {where}"
        return (
            f"package.json asks for it, and node_modules has no {name}",
            f"run npm install{there}",
        )
    near = get_close_matches(name, wanted, 1, 0.7)
    why = f"no node_modules beside or above the file has a package {name}"
    if near:
        return why, f"perhaps `{near[0]}` is meant; or run `npm install {name}`"
    return why, f"run `npm install {name}`, or mend the import"


def _no_export(found: Unresolved, importer: Path, root: Path) -> tuple[str, str]:
    known = found.more if isinstance(found.more, list) else []
    listed = ", ".join(known[:12]) or "nothing"
    return f"the package has no such entry; its package.json names: {listed}", "import one of these"


def _no_builtin(found: Unresolved, importer: Path, root: Path) -> tuple[str, str]:
    return "Node has no module of this name", "see https://nodejs.org/api for those that it has"


def _no_scheme(found: Unresolved, importer: Path, root: Path) -> tuple[str, str]:
    scheme, _, rest = found.specifier.partition(":")
    if scheme in ("http", "https"):
        why = "the platform bundles what lies in the project, and takes no module from the network"
        return why, "install the package with npm, and import it by its name"
    if scheme in ("npm", "jsr"):
        return "the platform's bundler knows packages by their names only", f'import "{rest}"'
    return f"`{scheme}:` modules belong to another platform", "use what this one has instead"


def _no_loader(found: Unresolved, importer: Path, root: Path) -> tuple[str, str]:
    why = f"the platform's bundler has no loader for .{found.more}: it takes code, JSON and .txt"
    return why, "put the text into a .ts, .json or .txt file"


def _no_right(found: Unresolved, importer: Path, root: Path) -> tuple[str, str]:
    return (
        f"{found.more} lies outside of the project, where its code may not read",
        "move it into the project, or make both parts of one npm workspace",
    )


_WHYS = {
    "package": _no_package,
    "export": _no_export,
    "builtin": _no_builtin,
    "scheme": _no_scheme,
    "loader": _no_loader,
    "denied": _no_right,
}


def _place_of(importer: Path, specifier: str) -> tuple[int | None, int | None]:
    """Line and column where a file names a module."""
    try:
        lines = importer.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None, None
    for number, line in enumerate(lines, 1):
        for quote in ('"', "'", "`"):
            column = line.find(f"{quote}{specifier}{quote}")
            if column >= 0:
                return number, column + 1
    return None, None


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir())
    except OSError:
        return []


def _above(file: Path, name: str) -> Iterable[Path]:
    return (folder / name for folder in file.parents)


def _dependencies(file: Path | None) -> list[str]:
    try:
        read = json.loads(file.read_text("utf-8")) if file is not None else {}
    except (OSError, ValueError):
        return []
    tables = [read.get(key) for key in ("dependencies", "devDependencies", "peerDependencies")]
    return [name for table in tables if isinstance(table, dict) for name in table]


def _circle(imports: Sequence[tuple[str, str]], root: Path) -> str | None:
    """The shortest circle of imports in the project, as text; None without one."""
    outgoing: dict[str, list[str]] = {}
    for importer, imported in imports:
        outgoing.setdefault(importer, []).append(imported)
    best: list[str] | None = None
    for start in outgoing:
        ways, seen = [[start]], {start}
        while ways:
            way = ways.pop(0)
            if best is not None and len(way) >= len(best):
                break
            for following in outgoing.get(way[-1], []):
                if following == start:
                    best = [*way, start]
                    ways = []
                    break
                if following not in seen:
                    seen.add(following)
                    ways.append([*way, following])
    return None if best is None else " → ".join(shown_path(each, root) for each in best)
