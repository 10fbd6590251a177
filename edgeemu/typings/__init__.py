"""Types for TypeScript projects: those of the runtime, and those of the project's own bindings.

Emulates: `types` of the vendor's tool, which writes `telnyx-env.d.ts`. Source:
spec/telnyx-actors.md sections 2.1 and 14.

Promise: the files are whole or as they were, and nothing is loaded or run for them.
"""

import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from edgeemu.config import Config
from edgeemu.config.model import ActorBinding, is_script
from edgeemu.errors import Code, EdgeemuError

ENV_FILE = "telnyx-env.d.ts"
"""Beside the configuration: the types of what `env` binds."""

RUNTIME_FILE = ".edgeemu/types/edge-runtime.d.ts"
"""From the root of the function: the types of `@telnyx/edge-runtime`."""

_RUNTIME = Path(__file__).with_name("edge-runtime.d.ts")
_NOT_EMULATED = {
    "[telnyx]": 'import("telnyx").default',
    "[storage.sqldb": "SqlDatabase",
    "[storage.cloudstorage": "CloudStorageBucket",
}
_IMPORTED = ("ActorNamespace", "CloudStorageBucket", "KvNamespace", "SqlDatabase")
"""The types that the package of the vendor has too; the others are written out."""

_RATE_LIMIT = "{ limit(options: { key: string }): Promise<{ success: boolean }> }"
_SERVICE = "{ fetch(input: Request | string | URL, init?: RequestInit): Promise<Response> }"


@dataclass(frozen=True, slots=True)
class Typings:
    """The types of one function.

    Attributes:
        root: its folder.
        bindings: the type of each name on `env`, as TypeScript.
        files: what was written, each by its path from `root`.
    """

    root: Path
    bindings: Mapping[str, str]
    files: tuple[str, ...]


def write_typings(config: Config) -> list[Typings]:
    """This writes the types of every function that has TypeScript or JavaScript in it.

    Raises:
        EdgeemuError: `E_USAGE` where there is none, `E_FOLDER_UNWRITABLE`.
    """
    functions = [each for each in config.all_functions.values() if _is_typed(each)]
    if not functions:
        raise EdgeemuError(
            Code.USAGE,
            what="the project has no TypeScript in it",
            why=f"{config.source} names modules in Python only",
            fix="make one that has: edgeemu new NAME --language typescript",
        )
    return [_write(function) for function in functions]


def _is_typed(function: Config) -> bool:
    modules = [function.main_path, *(actor.module_path for actor in function.actors)]
    return any(is_script(module) for module in modules)


def _write(function: Config) -> Typings:
    bindings = env_types(function)
    texts = {
        ENV_FILE: env_text(bindings, function.source.name),
        RUNTIME_FILE: _RUNTIME.read_text(encoding="utf-8"),
    }
    for name, text in texts.items():
        path = function.root / name
        try:
            _replace(path, text)
        except OSError as error:
            raise EdgeemuError(
                Code.FOLDER_UNWRITABLE,
                what=f"`{path}` cannot be written",
                why=error.strerror or str(error),
                fix=f"make {path.parent} a folder that you may write to",
            ) from None
    return Typings(function.root, bindings, tuple(texts))


def _replace(path: Path, text: str) -> None:
    """Write a file whole; one that says the same already is left alone, so that nobody reloads."""
    if path.is_file() and path.read_text(encoding="utf-8", errors="replace") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        os.close(handle)
        Path(draft).write_text(text, encoding="utf-8")
        # A temporary file is for its owner only; this one is a source file like others.
        Path(draft).chmod(0o644)
        Path(draft).replace(path)
    finally:
        with suppress(FileNotFoundError):
            Path(draft).unlink()


# --- what `env` binds --------------------------------------------------------------------------


def env_types(function: Config) -> dict[str, str]:
    """The type of each name on `env` of a function, as TypeScript, in order of the kinds."""
    found = {actor.binding: _namespace(actor, function) for actor in function.actors}
    if function.secret_handles:
        handles = " | ".join(f'"{_escaped(handle)}"' for handle in function.secret_handles)
        found["SECRETS"] = f"{{ get(binding: {handles}): Promise<string> }}"
    found |= dict.fromkeys(function.kv, "KvNamespace")
    found |= {limit.binding: _RATE_LIMIT for limit in function.ratelimits}
    found |= dict.fromkeys(function.services, _SERVICE)
    for name, table in function.unsupported.items():
        kind = next((each for title, each in _NOT_EMULATED.items() if table.startswith(title)), "")
        found[name] = kind or "any"
    for name in function.vars:
        found.setdefault(name, "string")
    return found


def env_text(bindings: Mapping[str, str], source: str) -> str:
    """The text of `telnyx-env.d.ts`.

    Args:
        bindings: as `env_types` gives them.
        source: the name of the configuration.
    """
    used = [name for name in _IMPORTED if any(kind.startswith(name) for kind in bindings.values())]
    imports = f'import type {{ {", ".join(used)} }} from "@telnyx/edge-runtime";' if used else ""
    members = [f"    {_property(name)}: {kind};" for name, kind in bindings.items()]
    lines = [
        f"// Written by `edgeemu types` from {source}: do not edit it, but run the command again.",
        "",
        imports or "export {};",
        "",
        'declare module "@telnyx/edge-runtime" {',
        "  interface Env {",
        *members,
        "  }",
        "}",
        "",
    ]
    return "\n".join(lines)


def _namespace(actor: ActorBinding, function: Config) -> str:
    """The namespace of an actor type, with its class where the function ships it."""
    module = actor.module_path
    if not is_script(module) or not _exports(module, actor.type):
        return "ActorNamespace"
    relative = Path(os.path.relpath(module, function.root)).as_posix()
    stem, suffix = relative.rsplit(".", 1)
    ending = {"mts": ".mjs", "cts": ".cjs", "mjs": ".mjs", "cjs": ".cjs"}.get(suffix, "")
    path = stem if stem.startswith("../") else f"./{stem}"
    return f'ActorNamespace<import("{_escaped(path)}{ending}").{actor.type}>'


def _exports(module: Path, name: str) -> bool:
    """Whether a module seems to export a name; a reference bundle ships no class (section 4.1)."""
    try:
        text = module.read_text("utf-8", "replace")
    except OSError:
        return False
    text = re.sub(r"/\*.*?\*/|(?m:^\s*//[^\n]*)", "", text, flags=re.DOTALL)
    own = re.escape(name)
    return bool(
        re.search(rf"\bexport\s+(?:abstract\s+)?(?:class|const|let|var)\s+{own}\b", text)
        or re.search(rf"\bexport\s*\{{[^}}]*\b{own}\b[^}}]*\}}", text)
        or re.search(r"\bexport\s*\*", text)
    )


def _property(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_$][\w$]*", name) else f'"{_escaped(name)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
