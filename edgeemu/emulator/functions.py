"""What the functions of a configuration are to the engine: their code, and what each is bound to.

Source: spec/telnyx-actors.md sections 2.2, 2.3 and 4.1.
"""

from typing import Any

from edgeemu.config import Config
from edgeemu.engines.python.bindings import Unsupported
from edgeemu.engines.python.context import Namespace, Secrets
from edgeemu.engines.python.loader import ActorSource
from edgeemu.engines.python.project import FunctionSource, Project, common_root


def make_project(config: Config) -> Project:
    """The code of all functions that a configuration declares."""
    functions = config.all_functions
    alone = len(functions) == 1
    actor_vars = config.dev.actor_vars
    root = common_root([function.root for function in functions.values()])
    sources = [
        _source(name, function, root, alone=alone, actor_vars=actor_vars)
        for name, function in functions.items()
    ]
    return Project(sources, actor_vars=actor_vars)


def _source(
    name: str, function: Config, root: str, *, alone: bool, actor_vars: bool
) -> FunctionSource:
    bindings = _bindings(function, root)
    return FunctionSource(
        name=name,
        root=function.root,
        main=function.main_path,
        actors=[
            ActorSource(actor.type, actor.module_path, alone or actor.module is not None)
            for actor in function.actors
        ],
        actor_env={**(function.vars if actor_vars else {}), **bindings},
        front_env={**function.vars, **bindings},
        environment=function.environment,
    )


def _bindings(function: Config, root: str) -> dict[str, Any]:
    """What `env` binds in a function and in the actors that it owns; places are below `root`."""
    bindings: dict[str, Any] = {
        actor.binding: Namespace(actor.type, root) for actor in function.actors
    }
    bindings |= {name: Unsupported(name, title) for name, title in function.unsupported.items()}
    for name in function.services:
        bindings[name] = Unsupported(name, f"[services.{name}]")
    for name in function.kv:
        bindings[name] = Unsupported(name, f"[storage.kv.{name}]")
    for limit in function.ratelimits:
        bindings[limit.binding] = Unsupported(limit.binding, "[[ratelimits]]")
    bindings["SECRETS"] = Secrets(function.secrets)
    return bindings
