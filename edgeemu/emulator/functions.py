"""What the functions of a configuration are to the engines: their code, and what each is bound to.

Source: spec/telnyx-actors.md sections 2.2, 2.3 and 4.1.
"""

import json
from typing import Any

from edgeemu.config import Config, RespondConfig, ServiceConfig, is_script
from edgeemu.core.ratelimits import RateRule
from edgeemu.engines.javascript.project import At, ScriptActor, ScriptFunction, ScriptProject
from edgeemu.engines.languages import Code
from edgeemu.engines.port import PlainResponse, Service
from edgeemu.engines.python.bindings import (
    KvNamespace,
    RateLimit,
    ServiceBinding,
    Unsupported,
    unsupported_text,
)
from edgeemu.engines.python.context import Namespace, Secrets
from edgeemu.engines.python.loader import ActorSource
from edgeemu.engines.python.project import FunctionSource, Project, common_root
from edgeemu.units import SECOND_MS


def make_code(config: Config) -> Code:
    """The code of all functions that a configuration declares, by language."""
    functions = config.all_functions
    alone = len(functions) == 1
    actor_vars = config.dev.actor_vars
    root = common_root([function.root for function in functions.values()])
    python, scripts = [], []
    for name, function in functions.items():
        if _has_python(function):
            python.append(_source(name, function, root, alone=alone, actor_vars=actor_vars))
        if function.has_scripts:
            scripts.append(_script(name, function, alone=alone, actor_vars=actor_vars))
    services: dict[At, Service] = {}
    rates: dict[At, RateRule] = {}
    for name, function in functions.items():
        for side in ("actor", "front"):
            for binding, service in function.services.items():
                services[(name, side, binding)] = _service(binding, service)
            for limit in function.ratelimits:
                rule = RateRule(limit.scope, limit.limit, limit.period_s * SECOND_MS)
                rates[(name, side, limit.binding)] = rule
    project = Project(python, root, actor_vars=actor_vars)
    strict = config.limits.strict
    return Code(
        project, ScriptProject(root, scripts, strict, actor_vars, services, rates), alone=alone
    )


def _has_python(function: Config) -> bool:
    files = [function.main_path, *(actor.module_path for actor in function.actors)]
    return any(not is_script(file) for file in files)


def _source(
    name: str, function: Config, root: str, *, alone: bool, actor_vars: bool
) -> FunctionSource:
    bindings = _bindings(function, root)
    return FunctionSource(
        name=name,
        root=function.root,
        main=None if is_script(function.main_path) else function.main_path,
        actors=[
            ActorSource(actor.type, actor.module_path, alone or actor.module is not None)
            for actor in function.actors
            if not is_script(actor.module_path)
        ],
        actor_env={**(function.vars if actor_vars else {}), **bindings},
        front_env={**function.vars, **bindings},
        environment=function.environment,
    )


def _script(name: str, function: Config, *, alone: bool, actor_vars: bool) -> ScriptFunction:
    bindings = _described(function)
    variables = {key: {"kind": "var", "value": value} for key, value in function.vars.items()}
    return ScriptFunction(
        name=name,
        root=function.root,
        main=function.main_path if is_script(function.main_path) else None,
        actors=[
            ScriptActor(actor.type, actor.module_path, alone or actor.module is not None)
            for actor in function.actors
            if is_script(actor.module_path)
        ],
        actor_env={**(variables if actor_vars else {}), **bindings},
        front_env={**variables, **bindings},
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


def _described(function: Config) -> dict[str, dict[str, Any]]:
    """The same as data, for an engine that makes the objects itself."""
    bindings: dict[str, dict[str, Any]] = {
        actor.binding: {"kind": "actor", "type": actor.type} for actor in function.actors
    }
    for name, title in function.unsupported.items():
        bindings[name] = {"kind": "unsupported", "text": unsupported_text(name, title)}
    bindings |= {name: {"kind": "service"} for name in function.services}
    for name, namespace in function.kv.items():
        bindings[name] = {"kind": "kv", "namespace": namespace}
    bindings |= {limit.binding: {"kind": "rate"} for limit in function.ratelimits}
    bindings["SECRETS"] = {"kind": "secrets", "values": dict(function.secrets)}
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
