"""What the functions of a configuration are to the TypeScript engine: plain data."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from edgeemu.core.ratelimits import RateRule
from edgeemu.engines.port import Service

At = tuple[str, str, str]
"""A binding: the function, `actor` or `front`, and its name."""


class ScriptActor(Struct, frozen=True):
    """An actor type that a function declares.

    Attributes:
        type: its name, which is also that of its class.
        file: the module that may export it.
        required: whether it must.
    """

    type: str
    file: Path
    required: bool


class ScriptFunction(Struct, frozen=True):
    """One function, as far as it is written in TypeScript or JavaScript.

    Attributes:
        name: of the function.
        root: its folder.
        main: its entry module; None where that is in another language.
        actors: types whose modules are in this language.
        actor_env, front_env: what `env` binds, as data: `{"kind": ...}` by name.
        environment: what `process.env` shows the function.
    """

    name: str
    root: Path
    main: Path | None
    actors: Sequence[ScriptActor]
    actor_env: Mapping[str, dict[str, Any]]
    front_env: Mapping[str, dict[str, Any]]
    environment: Mapping[str, str]


class ScriptProject(Struct, frozen=True):
    """All functions of one emulator.

    Attributes:
        root: the folder to which places are relative.
        functions: in order of the configuration.
        strict: whether what is only warned of otherwise is refused.
        actor_vars: whether actors see `process.env` as functions do.
        services, rates: what bindings stand for.
    """

    root: str
    functions: Sequence[ScriptFunction]
    strict: bool
    actor_vars: bool
    services: Mapping[At, Service]
    rates: Mapping[At, RateRule]

    def service_at(self, url: str) -> Service:
        """Where a `fetch` goes: to a configured service of the same origin, else to the address."""
        origin = origin_of(url)
        for service in self.services.values():
            if service.url is not None and origin_of(service.url) == origin:
                return Service(service.name, origin, service.answers)
        return Service("", origin)


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
