"""What a project's `tsconfig.json` says to the platform's bundler, and so to us.

esbuild honours aliases (`paths`, `baseUrl`), `extends`, and how decorators and JSX are written
down; what else stands there is for the type checker.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from edgeemu.engines.javascript.project import ScriptFunction

_PASSED_ON = (
    "experimentalDecorators",
    "emitDecoratorMetadata",
    "jsx",
    "jsxFactory",
    "jsxFragmentFactory",
    "jsxImportSource",
)
_JSX = ("react", "react-jsx", "react-jsxdev")
_EXTENDS_MAX = 16
# A string, or what JSON does not have: comments, and a comma before a closing bracket.
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=\s*[]}])', re.DOTALL)


class Aliases(Struct, frozen=True):
    """How modules of one folder name others without a path.

    Attributes:
        folder: whose modules they count for; it ends with a slash.
        base: the folder of `baseUrl`; None without one.
        paths: whole paths for each pattern.
    """

    folder: str
    base: str | None
    paths: dict[str, list[str]]


class TsConfig(Struct, frozen=True):
    """What counts of all files: aliases, and options of the compiler."""

    aliases: Sequence[Aliases]
    options: dict[str, Any]


def read_tsconfig(functions: Sequence[ScriptFunction]) -> TsConfig:
    """The settings of each function's nearest `tsconfig.json`; the first says how code is written.

    A file that cannot be read says nothing: the type checker, which is not ours, tells of it.
    """
    aliases: list[Aliases] = []
    options: dict[str, Any] = {}
    for function in functions:
        file = _nearest(function)
        if file is None:
            continue
        found = _options(file, _EXTENDS_MAX)
        aliases.append(
            Aliases(f"{file.parent}/", found.pop("baseUrl", None), found.pop("paths", {}))
        )
        options = {**found, **options}
    if options.get("jsx") not in _JSX:
        options.pop("jsx", None)
    return TsConfig(sorted(aliases, key=lambda each: -len(each.folder)), options)


def _nearest(function: ScriptFunction) -> Path | None:
    """The `tsconfig.json` of a function: beside its code, or above it in its folder."""
    root = function.root.resolve()
    file = function.main or next((actor.file for actor in function.actors), root / "-")
    folders = [file.resolve().parent, *file.resolve().parents[1:]]
    for folder in folders:
        if (folder / "tsconfig.json").is_file():
            return folder / "tsconfig.json"
        if folder == root:
            break
    return None


def _options(file: Path, depth: int) -> dict[str, Any]:
    """The options of one file over those that it extends; paths are whole."""
    try:
        read = json.loads(_TOKEN.sub(_kept, file.read_text("utf-8-sig")))
    except (OSError, ValueError):
        return {}
    if not isinstance(read, dict):
        return {}
    found: dict[str, Any] = {}
    extended = read.get("extends", [])
    for name in extended if isinstance(extended, list) else [extended]:
        other = _extended(file.parent, name) if isinstance(name, str) and depth else None
        found |= {} if other is None else _options(other, depth - 1)
    own = read.get("compilerOptions")
    own = own if isinstance(own, dict) else {}
    found |= {name: own[name] for name in _PASSED_ON if name in own}
    base = own.get("baseUrl")
    if isinstance(base, str):
        found["baseUrl"] = _whole(file.parent, base)
    if isinstance(own.get("paths"), dict):
        folder = Path(found.get("baseUrl", file.parent))
        found["paths"] = {
            pattern: [_whole(folder, path) for path in targets if isinstance(path, str)]
            for pattern, targets in own["paths"].items()
            if isinstance(targets, list)
        }
    return found


def _kept(token: "re.Match[str]") -> str:
    return token[0] if token[0].startswith('"') else ""


def _whole(folder: Path, path: str) -> str:
    return str(Path(f"{folder}/{path}" if not path.startswith("/") else path).resolve())


def _extended(folder: Path, name: str) -> Path | None:
    """The file that `extends` names: a path, or one in a package above."""
    roots = [folder] if name.startswith((".", "/")) else []
    roots = roots or [above / "node_modules" for above in (folder, *folder.parents)]
    for root in roots:
        for path in (root / name, root / f"{name}.json", root / name / "tsconfig.json"):
            if path.is_file():
                return path
    return None
