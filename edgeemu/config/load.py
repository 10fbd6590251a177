"""From a folder to a `Config`: which file counts, and what wins over what."""

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edgeemu.config import telnyx
from edgeemu.config.build import Sources, build_config
from edgeemu.config.files import (
    OWN_FILE,
    exists,
    normal_path,
    parse_toml,
    read_env_files,
    read_text,
)
from edgeemu.config.keys import ANY_NAME, LIST_TABLES, TABLES, join
from edgeemu.config.model import Config
from edgeemu.config.places import Places, ValuePath, find_lines, written
from edgeemu.config.tables import read_document
from edgeemu.errors import Code, EdgeemuError

WRANGLER_FILES = ("wrangler.toml", "wrangler.json", "wrangler.jsonc")
"""Configurations of the Cloudflare profile, which is not there yet."""

FILES = (OWN_FILE, telnyx.FILE, *WRANGLER_FILES)
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
            a table of values stands for its keys. None as a value changes nothing.

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
    if source.name in WRANGLER_FILES:
        raise EdgeemuError(
            Code.CONFIG_UNSUPPORTED,
            what=f"{source.name} cannot be read yet",
            why=f"{source} is a configuration for the profile `cloudflare`, which this version "
            "does not have; it has `telnyx`",
            fix=f'write an {OWN_FILE} beside it, with platform = "telnyx" and a Python `main`',
        )
    text = read_text(source)
    document = parse_toml(text, source)
    lines = find_lines(text)
    env = read_env_files(root)
    manifest = telnyx.Manifest(document=document)
    names_in_file: dict[ValuePath, ValuePath] = {}
    if source.name == telnyx.FILE:
        manifest = telnyx.read_manifest(document, Places(source.name, lines))
        env = {handle: env[name] for handle, name in manifest.secrets.items() if name in env}
        names_in_file = telnyx.NAMES_IN_FILE
    document, overridden = _with_overrides(manifest.document, overrides or {})
    places = Places(source.name, lines, overridden, names_in_file)
    values = read_document(document, places)
    sources = Sources(root, source, places, env, manifest.bindings, manifest.warnings)
    return build_config(values, sources)


def _no_project(what: str, why: str) -> EdgeemuError:
    return EdgeemuError(
        Code.CONFIG_MISSING,
        what=what,
        why=why,
        fix="make a project with `edgeemu new NAME`, or go to the folder of one",
    )


def _with_overrides(
    document: dict[str, Any], overrides: Mapping[str, Any]
) -> tuple[dict[str, Any], frozenset[ValuePath]]:
    """The document with the overrides in it, and the paths that they gave."""
    document = copy.deepcopy(document)
    paths: set[ValuePath] = set()
    for dotted, given in overrides.items():
        for names, value in _leaves(tuple(dotted.split(".")), given):
            if value is None:
                continue
            table = document
            for name in names[:-1]:
                inner = table.setdefault(name, {})
                if not isinstance(inner, dict):
                    raise EdgeemuError(
                        Code.CONFIG_UNKNOWN_KEY,
                        what=f"unknown key `{written(names)}` in an override",
                        why=f"`{name}` is no table, so an override cannot reach into it",
                        fix=f"override `{name}` as a whole",
                    )
                table = inner
            table[names[-1]] = value
            paths.add(names)
    return document, frozenset(paths)


def _leaves(names: tuple[str, ...], given: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The single keys that an override gives: a table stands for the keys in it."""
    table = ""
    for name in names:
        inner = join(table, name)
        table = inner if inner in TABLES else join(table, ANY_NAME)
    if isinstance(given, Mapping) and table in TABLES and table not in LIST_TABLES:
        for name, value in given.items():
            yield from _leaves((*names, str(name)), value)
    else:
        yield names, given
