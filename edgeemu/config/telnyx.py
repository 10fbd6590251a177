"""`telnyx.toml` read as it is: turned into the shape of `edgeemu.toml`, with warnings.

Emulates: the manifest of Telnyx Edge Compute. Source: spec/telnyx-actors.md section 2.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from edgeemu.config.keys import TABLES
from edgeemu.config.places import Places, ValuePath, nearest

FILE = "telnyx.toml"
"""The name of the platform's own manifest."""

_STORES = {"kv": ("id",), "cloudstorage": ("bucket_name", "region"), "sqldb": ("id",)}
_KNOWN: dict[str, tuple[str, ...]] = {
    "": (
        "name",
        "main",
        "compatibility_date",
        "actors",
        "secrets",
        "telnyx",
        "storage",
        "ratelimits",
        "env_vars",
        "edge_compute",
    ),
    "actors": ("binding", "type"),
    "secrets": ("binding", "name"),
    "telnyx": ("binding",),
    "storage": tuple(_STORES),
    "ratelimits": ("name", "limit", "period", "namespace_id"),
    **{f"storage.{kind}": keys for kind, keys in _STORES.items()},
}

NAMES_IN_FILE: dict[ValuePath, ValuePath] = {("vars",): ("env_vars",)}
"""Where `telnyx.toml` says the same as `edgeemu.toml` by another name."""


@dataclass
class Manifest:
    """What a `telnyx.toml` says.

    Attributes:
        document: in the shape of `edgeemu.toml`, unchecked.
        secrets: handle to the name that holds its value.
        unsupported: names on `env` that nothing here serves, each with its table.
        bindings: those names, each with the path that declares it.
        warnings: one sentence each.
    """

    document: dict[str, Any] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    unsupported: dict[str, str] = field(default_factory=dict)
    bindings: list[tuple[str, ValuePath]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_manifest(given: Mapping[str, Any], places: Places) -> Manifest:
    """This turns the document of a `telnyx.toml` into the shape of `edgeemu.toml`.

    Args:
        given: the document.
        places: where its parts stand.

    Raises:
        EdgeemuError: `E_CONFIG_VALUE` where a table has the wrong shape.

    Differs: keys that nobody knows are warnings, not errors (U2).
    """
    manifest = Manifest()
    _warn_of_unknown(given, "", (), manifest, places)
    for key in ("name", "main", "compatibility_date"):
        if key in given:
            manifest.document[key] = given[key]
    if "env_vars" in given:
        manifest.document["vars"] = given["env_vars"]
    if "actors" in given:
        actors = _entries(given, "actors", places)
        for index, actor in enumerate(actors):
            _warn_of_unknown(actor, "actors", ("actors", index), manifest, places)
        manifest.document["actors"] = [
            {key: actor[key] for key in _KNOWN["actors"] if key in actor} for actor in actors
        ]
    for index, secret in enumerate(_entries(given, "secrets", places)):
        here: ValuePath = ("secrets", index)
        _warn_of_unknown(secret, "secrets", here, manifest, places)
        handle, name = (_name(secret, key, here, places) for key in _KNOWN["secrets"])
        manifest.secrets[handle] = name
    _read_other_bindings(given, manifest, places)
    return manifest


def _read_other_bindings(given: Mapping[str, Any], manifest: Manifest, places: Places) -> None:
    """KV namespaces and rate limits, and the bindings that nothing here serves."""
    if "telnyx" in given:
        client = _table(given["telnyx"], ("telnyx",), places)
        _warn_of_unknown(client, "telnyx", ("telnyx",), manifest, places)
        name = _name(client, "binding", ("telnyx",), places)
        _take_unsupported(name, "[telnyx]", ("telnyx",), manifest, places)
    storage = _table(given.get("storage", {}), ("storage",), places)
    _warn_of_unknown(storage, "storage", ("storage",), manifest, places)
    for kind, keys in _STORES.items():
        for name, store in _table(storage.get(kind, {}), ("storage", kind), places).items():
            here: ValuePath = ("storage", kind, name)
            _warn_of_unknown(_table(store, here, places), f"storage.{kind}", here, manifest, places)
            values = {key: _name(store, key, here, places) for key in keys}
            if kind == "kv":
                manifest.document.setdefault("storage", {}).setdefault("kv", {})[name] = values
            else:
                _take_unsupported(name, f"[storage.{kind}.{name}]", here, manifest, places)
    limits = _entries(given, "ratelimits", places)
    for index, limit in enumerate(limits):
        _warn_of_unknown(limit, "ratelimits", ("ratelimits", index), manifest, places)
    if limits:
        manifest.document["ratelimits"] = [
            {key: limit[key] for key in _KNOWN["ratelimits"] if key in limit} for limit in limits
        ]


def _take_unsupported(
    name: str, title: str, path: ValuePath, manifest: Manifest, places: Places
) -> None:
    manifest.unsupported[name] = title
    manifest.bindings.append((name, path))
    manifest.warnings.append(
        f"{places.where(path)}: edgeemu does not emulate {title}: `env.{name}` fails when it is "
        "used (docs/differences.md)"
    )


def _warn_of_unknown(
    given: Mapping[str, Any], table: str, path: ValuePath, manifest: Manifest, places: Places
) -> None:
    for name in given:
        if name in _KNOWN[table]:
            continue
        near = nearest(name, _KNOWN[table])
        if near:
            hint = f"; did you mean `{near}`?"
        elif name in TABLES.get(table, ()):
            hint = "; settings of edgeemu itself stand in an edgeemu.toml beside it"
        else:
            hint = ""
        manifest.warnings.append(
            f"{places.where((*path, name))}: unknown key `{name}` is ignored{hint}"
        )


def _entries(given: Mapping[str, Any], name: str, places: Places) -> list[Mapping[str, Any]]:
    entries = given.get(name, [])
    if isinstance(entries, list):
        return [_table(entry, (name, index), places) for index, entry in enumerate(entries)]
    raise places.value_error(
        (name,),
        entries,
        why=f"`{name}` is a list of tables",
        fix=f"write [[{name}]] with two brackets on each side, once for each entry",
    )


def _table(given: Any, path: ValuePath, places: Places) -> Mapping[str, Any]:
    if isinstance(given, dict):
        return given
    name = places.name(path)
    raise places.value_error(
        path, given, why=f"`{name}` is a table", fix=f"write [{name}], and its keys below it"
    )


def _name(given: Mapping[str, Any], key: str, path: ValuePath, places: Places) -> str:
    value = given.get(key)
    if isinstance(value, str) and value:
        return value
    if key in given:
        raise places.value_error(
            (*path, key), value, why="it should be a string", fix=f'write it like `{key} = "NAME"`'
        )
    raise places.missing_error(path, key, example='"NAME"')
