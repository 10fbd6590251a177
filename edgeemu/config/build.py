"""From checked values to a `Config`: the rules between keys, and with the project's files.

The grammar of names is checked key by key before; here stand uniqueness, reserved names, modules,
and keys that exclude each other. Source: spec/telnyx-actors.md section 2.2.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeemu.clock import ClockMode
from edgeemu.config.bindings import check_bindings, read_kv, read_ratelimits, read_services
from edgeemu.config.files import normal_path
from edgeemu.config.keys import KEYS_BY_PATH, SECRET_TABLE
from edgeemu.config.model import (
    ActorBinding,
    ClockConfig,
    Config,
    DevConfig,
    LimitsConfig,
    is_script,
)
from edgeemu.config.places import Places, ValuePath
from edgeemu.core.profile import PROFILES
from edgeemu.errors import Code, EdgeemuError

PYTHON_SUFFIX = ".py"
"""The ending of a module that runs."""


@dataclass(frozen=True)
class Sources:
    """Where a configuration comes from.

    Attributes:
        root: the project's folder.
        source: the file that was read.
        places: where its values stand.
        env: secrets from `.env` and the like, by handle.
        handles: of the secrets that the file declares elsewhere than in its own table.
        env_file: everything in those files, by name.
        bindings: further names on `env`, each with the path that declares it.
        unsupported: those of them that nothing here serves, each with its table.
        functions: the further functions by name.
        is_primary: whether this is no further function itself.
        warnings: what the reading found.
    """

    root: Path
    source: Path
    places: Places
    env: Mapping[str, str]
    handles: Collection[str]
    env_file: Mapping[str, str]
    bindings: list[tuple[str, ValuePath]]
    unsupported: Mapping[str, str]
    functions: Mapping[str, Config]
    is_primary: bool
    warnings: list[str]


def build_config(values: dict[str, Any], sources: Sources) -> Config:
    """The configuration that `values` describe.

    Args:
        values: in the shape of `edgeemu.toml`, each read by its kind.
        sources: where they come from.

    Raises:
        EdgeemuError: `E_CONFIG_VALUE`, `E_CONFIG_UNSUPPORTED` or `E_MAIN_MISSING`.
    """
    platform = values.get("platform", "telnyx")
    if platform not in PROFILES:
        raise EdgeemuError(
            Code.CONFIG_UNSUPPORTED,
            what=f"the platform `{platform}` is not there yet",
            why=f"{sources.places.where(('platform',))}; this version has "
            + ", ".join(f"`{name}`" for name in PROFILES),
            fix='write `platform = "telnyx"`, or leave the line out',
        )
    main = values.get("main")
    if main is None:
        raise EdgeemuError(
            Code.MAIN_MISSING,
            what=f"{sources.places.file} names no `main`",
            why=f"{sources.source} must say which module answers requests",
            fix=f'add a line like `main = "{_example(sources)}"` at the top of the file',
        )
    main_path = _module_path(main, ("main",), sources)
    actors = _actors(values.get("actors", []), main_path, sources)
    places = sources.places
    services = read_services(values.get("services", {}), places)
    name = values.get("name") or name_of_folder(sources.root)
    ratelimits = read_ratelimits(values.get("ratelimits", []), name, places)
    kv = read_kv(values.get("storage", {}).get("kv", {}), places)
    variables = values.get("vars", {})
    bindings: list[tuple[str, ValuePath]] = [
        (actor.binding, ("actors", index, "binding")) for index, actor in enumerate(actors)
    ]
    bindings += [(binding, ("services", binding)) for binding in services]
    bindings += [(binding, ("storage", "kv", binding)) for binding in kv]
    bindings += [
        (limit.binding, ("ratelimits", index, "name")) for index, limit in enumerate(ratelimits)
    ]
    bindings += sources.bindings
    check_bindings(bindings, places)
    secrets = _secrets(values.get(SECRET_TABLE, {}), sources)
    return Config(
        root=sources.root,
        source=sources.source,
        name=name,
        main=main,
        main_path=main_path,
        platform=platform,
        compatibility_date=values.get("compatibility_date"),
        actors=actors,
        clock=_clock(values.get("clock", {}), sources.places),
        dev=DevConfig(**values.get("dev", {})),
        secrets=secrets,
        secret_handles=(*dict.fromkeys([*sources.handles, *values.get(SECRET_TABLE, {})]),),
        vars=variables,
        environment={**sources.env_file, **secrets, **variables},
        services=services,
        kv=kv,
        ratelimits=ratelimits,
        unsupported=sources.unsupported,
        functions=sources.functions,
        limits=LimitsConfig(**values.get("limits", {})),
        seed=values.get("seed"),
        warnings=(*sources.warnings, *_warnings(actors, variables, bindings, sources)),
    )


def _example(sources: Sources) -> str:
    """A `main` as such a file would have it."""
    return "src/main.py" if sources.source.name == "edgeemu.toml" else "src/index.ts"


def _module_path(given: str, path: ValuePath, sources: Sources) -> Path:
    """The file of a module, which is there, inside the project, and in a known language."""
    where = sources.places.where(path)
    key = sources.places.name(path)
    target = normal_path(sources.root / given)
    suffix = target.suffix.lower()
    problem = ""
    if Path(given).is_absolute() or not target.is_relative_to(sources.root):
        problem = f"it lies outside the project, {sources.root}"
    elif not given or target == sources.root:
        problem = "it names no file"
    elif target.is_dir():
        problem = f"{target} is a folder"
    elif not target.is_file():
        problem = f"there is no file {target}"
    elif suffix != PYTHON_SUFFIX and not is_script(target):
        problem = f"a module's name ends in {PYTHON_SUFFIX}, .ts or .js"
    if problem:
        raise EdgeemuError(
            Code.MAIN_MISSING,
            what=f"`{given}` cannot be `{key}`",
            why=f"{where}: {problem}",
            fix=f"let `{key}` name a Python or TypeScript file by its path from {sources.root}",
        )
    return target


def _actors(
    entries: list[dict[str, Any]], main_path: Path, sources: Sources
) -> tuple[ActorBinding, ...]:
    actors: list[ActorBinding] = []
    for index, entry in enumerate(entries):
        here: ValuePath = ("actors", index)
        for key in ("binding", "type"):
            if key not in entry:
                raise sources.places.missing_error(
                    here, key, example=KEYS_BY_PATH[f"actors.{key}"].example
                )
        module = entry.get("module")
        module_path = (
            main_path if module is None else _module_path(module, (*here, "module"), sources)
        )
        for other in actors:
            if other.type == entry["type"] and other.module_path != module_path:
                raise sources.places.value_error(
                    (*here, "type"),
                    entry["type"],
                    why=f"{other.module_path} defines this type already, for `{other.binding}`",
                    fix="name the same `module` in both blocks, or give one class another name",
                )
        actors.append(ActorBinding(entry["binding"], entry["type"], module, module_path))
    return tuple(actors)


def _clock(given: dict[str, Any], places: Places) -> ClockConfig:
    """The clock; of `mode` and `rate`, one that was overridden decides over one in the file."""
    mode = ClockMode(given["mode"]) if "mode" in given else None
    rate = given.get("rate")
    by_override = {key: places.is_overridden(("clock", key)) for key in ("mode", "rate")}
    if rate is not None and mode not in {None, ClockMode.RATE}:
        if by_override["mode"] == by_override["rate"]:
            raise places.value_error(
                ("clock", "mode"),
                given["mode"],
                why=f"{places.where(('clock', 'rate'))} gives the rate {rate:g}, and a clock "
                'with a rate has the mode "rate"',
                fix='delete one of the two, or write `mode = "rate"`',
            )
        if by_override["mode"]:
            rate = None
        else:
            mode = None
    if mode is ClockMode.RATE and rate is None:
        raise places.value_error(
            ("clock", "mode"),
            given["mode"],
            why="this mode needs a `rate`: virtual seconds for each real one",
            fix="add `rate = 60` below [clock]",
        )
    lateness = {key: given[key] for key in ("alarm_lateness_ms",) if key in given}
    return ClockConfig(
        mode=mode if rate is None else ClockMode.RATE,
        start_ms=given.get("start"),
        rate=rate,
        **lateness,
    )


def _secrets(given: dict[str, str], sources: Sources) -> dict[str, str]:
    overridden = {
        name: value
        for name, value in given.items()
        if sources.places.is_overridden((SECRET_TABLE, name))
    }
    return {**given, **sources.env, **overridden}


def _warnings(
    actors: tuple[ActorBinding, ...],
    variables: Mapping[str, str],
    bindings: list[tuple[str, ValuePath]],
    sources: Sources,
) -> list[str]:
    places = sources.places
    warnings = []
    if not actors and sources.is_primary:
        warnings.append(f"{places.file} declares no [[actors]], so there is nothing to call")
    names = {name for name, _ in bindings}
    warnings += [
        f"{places.where(('vars', name))}: the variable `{name}` is shadowed by the binding of "
        "that name"
        for name in variables
        if name in names
    ]
    return warnings


def name_of_folder(root: Path) -> str:
    """A legal name for a project that has none: its folder's, as far as that will do."""
    return re.sub(r"[^A-Za-z0-9]+", "-", root.name)[:64].strip("-") or "edgeemu"
