"""What the functions of a configuration are to the engine: their code, and what each is bound to.

Source: spec/telnyx-actors.md sections 2.2, 2.3 and 4.1.
"""

import json
from typing import Any

from edgeemu.config import Config, RespondConfig, ServiceConfig
from edgeemu.core.ratelimits import RateRule
from edgeemu.engines.port import PlainResponse, Service
from edgeemu.engines.python.bindings import KvNamespace, RateLimit, ServiceBinding, Unsupported
from edgeemu.engines.python.context import Namespace, Secrets
from edgeemu.engines.python.loader import ActorSource
from edgeemu.engines.python.project import FunctionSource, Project, common_root
from edgeemu.units import SECOND_MS


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
    bindings |= {
        name: ServiceBinding(_service(name, service)) for name, service in function.services.items()
    }
    bindings |= {name: KvNamespace(namespace) for name, namespace in function.kv.items()}
    for limit in function.ratelimits:
        rule = RateRule(limit.scope, limit.limit, limit.period_s * SECOND_MS)
        bindings[limit.binding] = RateLimit(rule)
    bindings["SECRETS"] = Secrets(function.secrets)
    return bindings


def _service(name: str, service: ServiceConfig) -> Service:
    return Service(name, service.url, tuple(_answer(respond) for respond in service.respond))


def _answer(respond: RespondConfig) -> PlainResponse:
    headers = {key.lower(): value for key, value in respond.headers.items()}
    if respond.json is not None:
        body, kind = json.dumps(respond.json, ensure_ascii=False), "application/json"
    else:
        body, kind = respond.body or "", "text/plain;charset=UTF-8"
    headers = {"content-type": kind, **headers} if body else headers
    return PlainResponse(respond.status, tuple(headers.items()), body.encode())
