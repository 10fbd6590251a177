"""From a folder to a `Config`: which file counts, and what wins over what."""

import copy
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from edgeemu.config import telnyx
from edgeemu.config.build import Sources, build_config, name_of_folder
from edgeemu.config.files import (
    OWN_FILE,
    exists,
    normal_path,
    parse_toml,
    read_env_files,
    read_text,
)
from edgeemu.config.keys import (
    ANY_NAME,
    KEYS_BY_PATH,
    LIST_TABLES,
    ONE_OR_MANY_TABLES,
    SECRET_TABLE,
    TABLES,
    join,
)
from edgeemu.config.kinds import PROJECT_NAME, PROJECT_NAME_WORDS
from edgeemu.config.model import Config
from edgeemu.config.places import Places, ValuePath, find_lines, nearest, written
from edgeemu.config.tables import read_document
from edgeemu.errors import Code, EdgeemuError

WRANGLER_FILES = ("wrangler.toml", "wrangler.json", "wrangler.jsonc")
"""Configurations of the Cloudflare profile, which is not there yet."""

CLASSIC_FILE = "func.toml"
"""The manifest of the platform's older kind of project, which cannot declare actors."""

FILES = (OWN_FILE, telnyx.FILE, *WRANGLER_FILES, CLASSIC_FILE)
"""The files that make a folder a project; an earlier one wins over a later one."""


def find_project(start: Path) -> Path:
    """The nearest folder, from `start` upwards, that holds a configuration.

    Args:
        start: a folder, or a file in it.

    Raises:
        EdgeemuError: `E_CONFIG_MISSING` if there is none up to the root of the disk.
    """
    start = normal_path(start)
    if not exists(start):
        raise _no_project(f"`{start}` does not exist", "a project is a folder that is there")
    for folder in (start, *start.parents):
        if any(exists(folder / name) for name in FILES):
            return folder
    raise _no_project(
        f"there is no project at `{start}`",
        f"neither it nor a folder above it holds {OWN_FILE} or {telnyx.FILE}",
    )


def load_config(root: Path, *, overrides: Mapping[str, Any] | None = None) -> Config:
    """The configuration of the project in the folder `root`.

    `edgeemu.toml` wins over `telnyx.toml`. Secrets: `.dev.vars` wins over `.env`, which wins over
    the table `[secrets]`. An override wins over every file.

    Args:
        root: the project's folder.
        overrides: values by key, such as `{"clock.mode": "frozen"}`, checked like the file's own;
            a table of values stands for its keys, and an entry such as one service is replaced as a
            whole. None as a value changes nothing.

    Raises:
        EdgeemuError: `E_CONFIG_MISSING`, `E_CONFIG_SYNTAX`, `E_CONFIG_UNKNOWN_KEY`,
            `E_CONFIG_VALUE`, `E_CONFIG_UNSUPPORTED`, `E_MAIN_MISSING` or `E_FILE_UNREADABLE`.
    """
    root = normal_path(root)
    source = next((root / name for name in FILES if exists(root / name)), None)
    if source is None:
        raise _no_project(
            f"`{root}` is not a project", f"it holds neither {OWN_FILE} nor {telnyx.FILE}"
        )
    return _load(source, source.name, overrides or {})


def _load(
    source: Path, shown: str, overrides: Mapping[str, Any], primary: Path | None = None
) -> Config:
    """The configuration in one file.

    Args:
        source: the file.
        shown: its name in messages.
        overrides: values by key.
        primary: the root of the primary function, where this is a further one.
    """
    if source.name in WRANGLER_FILES or source.name == CLASSIC_FILE:
        raise _unsupported_file(source, shown)
    root = source.parent
    text = read_text(source)
    document = parse_toml(text, source, shown)
    lines = find_lines(text)
    env_file = read_env_files(root)
    env = env_file
    manifest = telnyx.Manifest(document=document)
    names_in_file: dict[ValuePath, ValuePath] = {}
    if source.name == telnyx.FILE:
        manifest = telnyx.read_manifest(document, Places(shown, lines))
        env = {handle: env[name] for handle, name in manifest.secrets.items() if name in env}
        names_in_file = telnyx.NAMES_IN_FILE
    document, overridden = _with_overrides(manifest.document, overrides, env)
    places = Places(shown, lines, overridden, names_in_file)
    values = read_document(document, places)
    warnings = manifest.warnings
    functions: dict[str, Config] = {}
    if primary is None:
        own_name = values.get("name") or name_of_folder(root)
        functions = _load_functions(values.get("functions", {}), own_name, root, places)
    else:
        warnings += _unheard(values, places)
    sources = Sources(
        root=root,
        source=source,
        places=places,
        env=env,
        handles=manifest.secrets,
        env_file=env_file,
        bindings=manifest.bindings,
        unsupported=manifest.unsupported,
        functions=functions,
        is_primary=primary is None,
        warnings=warnings,
    )
    return build_config(values, sources)


def _load_functions(
    given: Mapping[str, Mapping[str, str]], own_name: str, root: Path, places: Places
) -> dict[str, Config]:
    """The further functions, each from its own file (spec/telnyx-actors.md section 4.1)."""
    functions: dict[str, Config] = {}
    for name, entry in given.items():
        here: ValuePath = ("functions", name)
        if "config" not in entry:
            raise places.missing_error(here, "config", example='"../billing/telnyx.toml"')
        if name == own_name or not PROJECT_NAME.fullmatch(name):
            taken = "the primary function has this name" if name == own_name else ""
            raise places.value_error(
                here,
                name,
                why=taken or f"the name of a function, as part of a URL, is {PROJECT_NAME_WORDS}",
                fix="choose another name for the table",
            )
        source = _source_of(entry["config"], (*here, "config"), root, places)
        functions[name] = _load(source, os.path.relpath(source, root), {}, root)
    return functions


def _source_of(given: str, path: ValuePath, root: Path, places: Places) -> Path:
    """The configuration that a function names: a file, or the one in a folder."""
    target = normal_path(root / given)
    if target.is_dir():
        found = next((target / name for name in FILES if exists(target / name)), None)
        problem = f"{target} holds neither {OWN_FILE} nor {telnyx.FILE}"
    else:
        found = target if target.is_file() and target.name in FILES else None
        problem = f"there is no {OWN_FILE} or {telnyx.FILE} at {target}"
    if found is not None and found.parent == root:
        found, problem = None, "it is the folder of the primary function"
    if found is None:
        raise places.value_error(
            path,
            given,
            why=problem,
            fix=f"name the {OWN_FILE} or {telnyx.FILE} of the function, by its path from {root}",
        )
    return found


_PRIMARY_ONLY = ("clock", "dev", "limits", "seed", "functions")


def _unheard(values: Mapping[str, Any], places: Places) -> list[str]:
    """What the file of a further function sets in vain."""
    return [
        f"{places.where((key,))}: `{key}` counts in the primary function only, so it is ignored"
        for key in _PRIMARY_ONLY
        if values.get(key) not in (None, {})
    ]


def _unsupported_file(source: Path, shown: str) -> EdgeemuError:
    if source.name == CLASSIC_FILE:
        return EdgeemuError(
            Code.CONFIG_UNSUPPORTED,
            what=f"{shown} is the manifest of a classic project",
            why=f"{source}: a classic project cannot declare actors",
            fix=f"write a {telnyx.FILE} or an {OWN_FILE} beside it, with `main` and [[actors]]",
        )
    return EdgeemuError(
        Code.CONFIG_UNSUPPORTED,
        what=f"{shown} cannot be read yet",
        why=f"{source} is a configuration for the profile `cloudflare`, which this version "
        "does not have; it has `telnyx`",
        fix=f'write an {OWN_FILE} beside it, with platform = "telnyx" and a `main`',
    )


def _no_project(what: str, why: str) -> EdgeemuError:
    return EdgeemuError(
        Code.CONFIG_MISSING,
        what=what,
        why=why,
        fix="make a project with `edgeemu new NAME`, or go to the folder of one",
    )


def _with_overrides(
    document: dict[str, Any], overrides: Mapping[str, Any], env: Collection[str] = ()
) -> tuple[dict[str, Any], frozenset[ValuePath]]:
    """The document with the overrides in it, and the paths that they gave.

    Args:
        document: what the file says.
        overrides: values by key.
        env: the secrets that env files give.
    """
    document = copy.deepcopy(document)
    paths: set[ValuePath] = set()
    for dotted, given in overrides.items():
        for names, value in _leaves(tuple(dotted.split(".")), given):
            if value is None:
                continue
            table = document
            for at, name in enumerate(names[:-1]):
                _check_entry(names[: at + 1], (*table, *env) if names[0] == SECRET_TABLE else table)
                inner = table.setdefault(name, {})
                if not isinstance(inner, dict):
                    whole = written(names[: at + 1])
                    raise EdgeemuError(
                        Code.CONFIG_UNKNOWN_KEY,
                        what=f"unknown key `{written(names)}` in an override",
                        why=f"`{whole}` is no table, so an override cannot reach into it",
                        fix=f"override `{whole}` as a whole",
                    )
                table = inner
            _check_entry(names, (*table, *env) if names[0] == SECRET_TABLE else table)
            table[names[-1]] = value
            paths.add(names)
    return document, frozenset(paths)


def _check_entry(names: tuple[str, ...], known: Collection[str]) -> None:
    """Refuse an override of an entry that is not there where one of nearly that name is.

    A test may add an entry, such as a service. A name that is nearly one that is there was meant
    to be that one: the entry that it would add stands in for nothing, and nobody would notice.
    """
    near = None if names[-1] in known else nearest(names[-1], known)
    if near is None or not _table_of(names).endswith(ANY_NAME):
        return
    raise EdgeemuError(
        Code.CONFIG_UNKNOWN_KEY,
        what=f"unknown key `{written(names)}` in an override",
        why=f"the configuration has `{written((*names[:-1], near))}`, and nothing of that name",
        fix=f"write `{written((*names[:-1], near))}`; if you mean a further one, "
        "declare it in the configuration",
    )


def _table_of(names: tuple[str, ...]) -> str:
    """The path of a key or table as `KEYS_BY_PATH` and `TABLES` have it."""
    table = ""
    for name in names:
        inner = join(table, name)
        table = inner if inner in TABLES or inner in KEYS_BY_PATH else join(table, ANY_NAME)
    return table


def _leaves(names: tuple[str, ...], given: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The single values that an override gives: a table of our own stands for the keys in it.

    An entry that the user named, such as a service, is replaced as a whole: what it had before,
    such as a list of answers, need not fit beside what is given.
    """
    table = _table_of(names)
    merges = table in TABLES and table not in LIST_TABLES | ONE_OR_MANY_TABLES
    if isinstance(given, Mapping) and merges and not table.endswith(ANY_NAME):
        for name, value in given.items():
            yield from _leaves((*names, str(name)), value)
    else:
        yield names, given
