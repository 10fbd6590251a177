"""What a project is configured to be: frozen data, checked before it is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgeemu.clock import ClockMode
from edgeemu.limits import (
    BODY_BYTES_MAX,
    IDLE_EVICTION_MS_DEFAULT,
    IDLE_STEPS_MAX,
    IO_WAIT_MS_DEFAULT,
    JOURNAL_ENTRIES_MAX,
    LATENESS_MS_DEFAULT,
    STORM_COUNT_MAX,
    WATCHDOG_MS_DEFAULT,
)

HOST_DEFAULT = "127.0.0.1"
"""The address that `dev` binds: the loopback only, unless told (design D11)."""

PORT_DEFAULT = 8787
"""The port that `dev` binds (design section 1)."""


@dataclass(frozen=True, slots=True)
class ActorBinding:
    """One `[[actors]]` block.

    Attributes:
        binding: the property of `env` that holds the namespace.
        type: the class; two bindings may name one type and then share its instances.
        module: the file that defines the class, as written; None where that is `main`.
        module_path: that file.
    """

    binding: str
    type: str
    module: str | None
    module_path: Path


@dataclass(frozen=True, slots=True)
class ClockConfig:
    """How the emulated time starts.

    Attributes:
        mode: None where the state folder decides, or the real mode if that is new.
        start_ms: the instant at which a new clock starts; None for now.
        rate: virtual ms for each real one; set if and only if the mode is `ClockMode.RATE`.
        alarm_lateness_ms: between an alarm's due instant and its delivery.
    """

    mode: ClockMode | None = None
    start_ms: int | None = None
    rate: float | None = None
    alarm_lateness_ms: int = LATENESS_MS_DEFAULT


@dataclass(frozen=True, slots=True)
class DevConfig:
    """How `edgeemu dev` serves.

    Attributes:
        host: the address to bind.
        port: the port to bind; 0 lets the system choose.
        idle_eviction_ms: virtual idleness before an instance is dropped; None for never.
        actor_vars: whether actors see the plain variables and `os.environ` as functions do.
        new_unique_id: whether it works, which it does not on the platform (U16).
    """

    host: str = HOST_DEFAULT
    port: int = PORT_DEFAULT
    idle_eviction_ms: int | None = IDLE_EVICTION_MS_DEFAULT
    actor_vars: bool = False
    new_unique_id: bool = False


@dataclass(frozen=True, slots=True)
class RespondConfig:
    """The fixed answer of a service.

    Attributes:
        status: the HTTP status.
        headers: by name.
        body: the text to send; None where there is `json`, or no body.
        json: the value to send as JSON; None where there is `body`, or no body.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    json: Any = None


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """One `[services.NAME]`: `respond` (answer so) or `url` (forward to it), or both.

    Attributes:
        url: an address; its path, if it has one, goes before that of a request.
        respond: the answers in turn, the last one again and again; with both, nothing leaves.
    """

    url: str | None = None
    respond: tuple[RespondConfig, ...] = ()


@dataclass(frozen=True, slots=True)
class RateLimitConfig:
    """One `[[ratelimits]]` block.

    Attributes:
        binding: the property of `env`: `name` in upper case, with `_` for `-`.
        scope: limits of one scope count together: the `namespace_id`, or function and binding.
        limit: how often a key may pass within a period.
        period_s: virtual seconds.
    """

    binding: str
    scope: str
    limit: int
    period_s: int


@dataclass(frozen=True, slots=True)
class LimitsConfig:
    """The bounds that a project may set; see `edgeemu/limits.py` for what each one bounds.

    Attributes:
        strict: whether names and sizes that are only warned of otherwise are refused (U15, U25).
    """

    io_wait_ms: int = IO_WAIT_MS_DEFAULT
    watchdog_ms: int = WATCHDOG_MS_DEFAULT
    storm_count: int = STORM_COUNT_MAX
    idle_steps: int = IDLE_STEPS_MAX
    journal_entries: int = JOURNAL_ENTRIES_MAX
    body_bytes: int = BODY_BYTES_MAX
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    """One project.

    Attributes:
        root: the project's folder.
        source: the file that was read.
        name: the project's name; the folder's where none is given.
        main: the entry module as written.
        main_path: that file.
        platform: the name of the profile.
        compatibility_date: `YYYY-MM-DD`, or None.
        actors: the `[[actors]]` blocks in order.
        clock: how the emulated time starts.
        dev: how `edgeemu dev` serves.
        secrets: what `env.SECRETS.get(handle)` answers, by handle.
        secret_handles: the handles that the file declares, with a value or without.
        vars: plain values on `env` of the function, and in `os.environ`, by name.
        environment: what `os.environ` shows the function beyond the machine's own: variables and
            secrets.
        services: outside services, by the name of their binding.
        kv: KV namespaces by the name of their binding: each is kept under its `id`, or the name.
        ratelimits: the `[[ratelimits]]` blocks in order.
        unsupported: bindings that nothing here serves, by name: how the file declares them.
        functions: the further functions by name, each as it is configured itself; of their
            clock, server, limits, platform and seed, nothing counts.
        limits: bounds.
        seed: of all randomness; None to have one drawn.
        warnings: what the user should be told, one sentence each, with the file and line.
    """

    root: Path
    source: Path
    name: str
    main: str
    main_path: Path
    platform: str
    compatibility_date: str | None
    actors: tuple[ActorBinding, ...]
    clock: ClockConfig
    dev: DevConfig
    secrets: Mapping[str, str] = field(repr=False)
    secret_handles: tuple[str, ...]
    vars: Mapping[str, str]
    environment: Mapping[str, str] = field(repr=False)
    services: Mapping[str, ServiceConfig]
    kv: Mapping[str, str]
    ratelimits: tuple[RateLimitConfig, ...]
    unsupported: Mapping[str, str]
    functions: Mapping[str, "Config"]
    limits: LimitsConfig
    seed: int | None
    warnings: tuple[str, ...]

    @property
    def all_functions(self) -> "dict[str, Config]":
        """Every function on the emulator by name, the primary one first."""
        return {self.name: self, **self.functions}

    @property
    def has_scripts(self) -> bool:
        """Whether this function, or an actor of it, is written in TypeScript or JavaScript."""
        files = [self.main_path, *(actor.module_path for actor in self.actors)]
        return any(is_script(file) for file in files)

    @property
    def types_declared(self) -> list[str]:
        """The actor types that this function declares, sorted."""
        return sorted({actor.type for actor in self.actors})

    @property
    def types(self) -> list[str]:
        """The actor types that any function declares, sorted."""
        functions = self.all_functions.values()
        return sorted({name for function in functions for name in function.types_declared})


_SCRIPT_SUFFIXES = frozenset({".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"})


def is_script(path: Path) -> bool:
    """Whether a module is in TypeScript or JavaScript."""
    return path.suffix.lower() in _SCRIPT_SUFFIXES
