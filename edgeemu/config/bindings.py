"""Bindings beside actors: services, KV namespaces, rate limits; and the rules of their names.

Source: spec/telnyx-actors.md section 2.2.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from edgeemu.config.keys import KEYS_BY_PATH
from edgeemu.config.kinds import IDENTIFIER_KIND, RefusedError
from edgeemu.config.model import RateLimitConfig, RespondConfig, ServiceConfig
from edgeemu.config.places import Places, ValuePath
from edgeemu.errors import Code, EdgeemuError

RESERVED_BINDING = "SECRETS"
"""`env.SECRETS` is always there, since any project may have an `.env`."""


def read_services(given: Mapping[str, dict[str, Any]], places: Places) -> dict[str, ServiceConfig]:
    """The `[services.NAME]` tables.

    Raises:
        EdgeemuError: `E_CONFIG_VALUE`.
    """
    return {name: _service(service, ("services", name), places) for name, service in given.items()}


def _service(given: dict[str, Any], path: ValuePath, places: Places) -> ServiceConfig:
    _check_name(path[-1], path, places, example="PAYMENTS")
    overridden = {key: value for key, value in given.items() if places.is_overridden((*path, key))}
    if "respond" not in overridden:  # A test that gives an address means to reach it.
        given = overridden or given
    if not given:
        raise EdgeemuError(
            Code.CONFIG_VALUE,
            what=f"`{places.name(path)}` needs `url` or `respond`",
            why=f"{places.where(path)}; `url` forwards requests, `respond` answers them",
            fix='add a line like `url = "http://127.0.0.1:9000"`',
        )
    url = given.get("url")
    if "respond" not in given:
        return ServiceConfig(url=url)
    answers = given["respond"]
    if not isinstance(answers, list):
        return ServiceConfig(url, (_respond(answers, (*path, "respond"), places),))
    here = (*path, "respond")
    if not answers:
        raise places.value_error(
            here, answers, why="a service has an answer at least", fix="write `respond = [{}]`"
        )
    return ServiceConfig(
        url, tuple(_respond(answer, (*here, index), places) for index, answer in enumerate(answers))
    )


def _respond(given: dict[str, Any], path: ValuePath, places: Places) -> RespondConfig:
    if "body" in given and "json" in given:
        raise EdgeemuError(
            Code.CONFIG_VALUE,
            what=f"`{places.name(path)}` has both `body` and `json`",
            why=f"{places.where(path)}; an answer has one body",
            fix="delete one of the two",
        )
    return RespondConfig(**given)


def read_kv(given: Mapping[str, dict[str, str]], places: Places) -> dict[str, str]:
    """The `[storage.kv.NAME]` tables: binding to the namespace, which is the `id` or the name.

    Raises:
        EdgeemuError: `E_CONFIG_VALUE` for a name that is no identifier.
    """
    for name in given:
        _check_name(name, ("storage", "kv", name), places, example="CACHE")
    return {name: store.get("id") or name for name, store in given.items()}


def read_ratelimits(
    given: Sequence[dict[str, Any]], function: str, places: Places
) -> tuple[RateLimitConfig, ...]:
    """The `[[ratelimits]]` blocks of a function.

    Raises:
        EdgeemuError: `E_CONFIG_VALUE` for a missing key or a handle that gives no identifier.
    """
    found = []
    for index, entry in enumerate(given):
        here: ValuePath = ("ratelimits", index)
        for key in ("name", "limit", "period"):
            if key not in entry:
                example = KEYS_BY_PATH[f"ratelimits.{key}"].example
                raise places.missing_error(here, key, example=example)
        binding = entry["name"].upper().replace("-", "_")
        _check_name(binding, (*here, "name"), places, example="per-user")
        scope = entry.get("namespace_id") or f"{function}/{binding}"
        found.append(RateLimitConfig(binding, scope, entry["limit"], entry["period"]))
    return tuple(found)


def _check_name(name: Any, path: ValuePath, places: Places, *, example: str) -> None:
    try:
        IDENTIFIER_KIND.read(name)
    except RefusedError:
        raise places.value_error(
            path,
            name,
            why=f"a name on `env` is {IDENTIFIER_KIND.expected}",
            fix=f"rename it to such as `{example}`",
        ) from None


def check_bindings(bindings: list[tuple[str, ValuePath]], places: Places) -> None:
    """Refuse a name that is reserved, or that two bindings of any kind have.

    Raises:
        EdgeemuError: `E_CONFIG_VALUE`.
    """
    seen: dict[str, ValuePath] = {}
    for name, path in bindings:
        if name == RESERVED_BINDING:
            raise places.value_error(
                path,
                name,
                why=f"`env.{RESERVED_BINDING}` holds the secrets",
                fix="choose another name for the binding",
                secret=False,
            )
        if name in seen:
            raise places.value_error(
                path,
                name,
                why=f"{places.where(seen[name])} uses this name already, and `env.{name}` can "
                "be one thing only",
                fix="choose another name for one of the bindings",
                secret=False,
            )
        seen[name] = path
