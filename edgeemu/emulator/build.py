"""Putting an emulator together from a configuration: store, clock, core, engine."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from edgeemu.clock import ClockMode, ClockState, EmulatorClock, RealClock, SystemClock
from edgeemu.config import Config
from edgeemu.core.events import EvictRequested
from edgeemu.core.machine import Machine
from edgeemu.core.profile import PROFILES
from edgeemu.core.ratelimits import RateCounts
from edgeemu.emulator.functions import make_code
from edgeemu.emulator.kv import KvStore
from edgeemu.emulator.position import META_POSITION, next_turn_id
from edgeemu.emulator.services import Services
from edgeemu.emulator.shell import Shell
from edgeemu.emulator.surroundings import Outside
from edgeemu.engines.languages import Engines
from edgeemu.engines.python.loop import EmulatorLoop
from edgeemu.ids import InstanceId
from edgeemu.limits import STATE_LOCK_WAIT_MS
from edgeemu.rng import check_seed, draw_seed, stream
from edgeemu.stores.memory import MemoryStore
from edgeemu.stores.port import Batch, Store
from edgeemu.stores.problems import damaged
from edgeemu.stores.sqlite import SqliteStore
from edgeemu.stores.sqlite_file import STATE_FILE

META_SEED = "seed"
META_CLOCK_CONFIG = "clock_config"


@dataclass(frozen=True, slots=True)
class Options:
    """How to open an emulator, beside its configuration.

    Attributes:
        state_dir: where the state is kept; None keeps it in memory.
        mode, rate: how the clock moves; None leaves it as kept or configured.
        start_ms: where the clock starts; an existing clock only moves forward.
        seed: of the run; None for the kept, the configured or a drawn one.
        alone: whether nobody else can move the clock, so that a turn that waits on a frozen one
            can never go on.
        evict_always: drop instances after every turn.
        inspect: whether a debugger may attach to the engine of TypeScript.
        check: whether to check the core's invariants after each step.
        cause: who opens it, as the journal names who moves the clock: `cli` or `test`.
        real: the real clock.
    """

    state_dir: Path | None = None
    mode: ClockMode | None = None
    rate: float | None = None
    start_ms: int | None = None
    seed: int | None = None
    alone: bool = False
    evict_always: bool = False
    inspect: bool = False
    check: bool = True
    cause: str = "cli"
    real: RealClock | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """What an emulator is made of.

    Attributes:
        notices: what the user should know about how it was opened.
    """

    config: Config
    store: Store
    clock: EmulatorClock
    shell: Shell
    engine: Engines
    seed: int
    notices: tuple[str, ...]


def build(config: Config, options: Options, loop: EmulatorLoop) -> Parts:
    """Open the state and put everything together; no code of the project is loaded yet.

    Raises:
        EdgeemuError: `E_STATE_IN_USE`, `E_STATE_DAMAGED`, `E_STATE_NEWER`, `E_STATE_UNWRITABLE`.
    """
    store: Store
    if options.state_dir is None:
        store = MemoryStore(journal_entries_max=config.limits.journal_entries)
    else:
        store = SqliteStore(
            options.state_dir,
            lock_wait_ms=STATE_LOCK_WAIT_MS,
            journal_entries_max=config.limits.journal_entries,
        )
    try:
        return _assemble(config, options, loop, store)
    except BaseException:
        store.close()
        raise


def _assemble(config: Config, options: Options, loop: EmulatorLoop, store: Store) -> Parts:
    position = store.read_meta(META_POSITION)
    if position is not None and options.state_dir is not None:
        _check_position(position, options.state_dir)
    seed = _choose_seed(config, options, store)
    clock, notices = _make_clock(config, options, store, position)
    store.use_clock(clock.now_ms)
    profile = PROFILES[config.platform]
    machine = Machine(
        profile=profile,
        lateness_ms=config.clock.alarm_lateness_ms,
        idle_eviction_ms=config.dev.idle_eviction_ms,
        jitter=stream(seed, "retry_jitter"),
        turn_id=next_turn_id(position, store),
        evict_always=options.evict_always,
        check=options.check,
    )
    shell = Shell(machine=machine, store=store, clock=clock, loop=loop, seed=seed)
    engine = Engines(
        loop=loop,
        world=shell,
        code=make_code(config),
        profile=profile,
        watchdog_ms=config.limits.watchdog_ms,
        seed=seed,
        inspect=options.inspect,
        on_lost=partial(_memory_lost, shell),
    )
    shell.engine = engine
    shell.around.here = engine.here
    kv = KvStore(store, clock.now_ms)
    services = Services(
        loop=loop,
        record=shell.record,
        now_ms=clock.now_ms,
        wait_ms=config.limits.io_wait_ms,
        body_bytes_max=config.limits.body_bytes,
    )
    shell.around.outside = Outside(services, kv, RateCounts())
    shell.around.follow(strict=config.limits.strict, unique_ids=config.dev.new_unique_id)
    meta = {
        META_SEED: seed,
        META_CLOCK_CONFIG: _clock_config(config),
        META_POSITION: shell.position.read(),
    }
    store.apply(Batch(real_at_ms=clock.real_ms(), meta=meta))
    shell.position.note_kept(meta, 0)
    notices += _local_notices(config)
    return Parts(config, store, clock, shell, engine, seed, tuple(notices))


def _memory_lost(shell: Shell, instances: list[InstanceId], reason: str) -> None:
    """The process in which instances were in memory died: as where a host fails."""
    for instance in instances:
        now_ms, cause = shell.clock.now_ms(), f"engine: {reason}"
        shell.dispatch(EvictRequested(now_ms, instance, True, cause))


def _local_notices(config: Config) -> list[str]:
    """What a developer should know of the bindings that only look like the platform's."""
    functions = config.all_functions.values()
    kinds = []
    if any(function.kv for function in functions):
        kinds.append("KV namespaces")
    if any(function.ratelimits for function in functions):
        kinds.append("rate limits")
    told = " and ".join(kinds)
    return [f"{told} are local: docs/bindings.md says what they lack"] if kinds else []


def _check_position(position: Any, folder: Path) -> None:
    """Refuse a kept clock that no edgeemu wrote.

    Raises:
        EdgeemuError: `E_STATE_DAMAGED`.
    """
    kinds: dict[str, Any] = dict.fromkeys(("now_ms", "real_at_ms", "turn_id"), int)
    kinds |= {"mode": str, "rate": int | float}
    whole = isinstance(position, dict) and all(
        isinstance(position.get(name), kind) for name, kind in kinds.items()
    )
    if not whole or position["mode"] not in list(ClockMode):
        raise damaged(folder / STATE_FILE, "it does not say where the clock was left")


def _choose_seed(config: Config, options: Options, store: Store) -> int:
    for seed in (options.seed, store.read_meta(META_SEED), config.seed):
        if seed is not None:
            return check_seed(int(seed))
    return draw_seed()


def _clock_config(config: Config) -> str:
    return f"{config.clock.mode} {config.clock.rate} {config.clock.start_ms}"


def _make_clock(
    config: Config, options: Options, store: Store, position: dict[str, Any] | None
) -> tuple[EmulatorClock, list[str]]:
    """The clock where it was left; what is asked for now, or newly configured, comes on top."""
    notices = []
    state = None
    if position is not None:
        mode = ClockMode(position["mode"])
        state = ClockState(mode, position["rate"], position["now_ms"], position["real_at_ms"])
    clock = EmulatorClock(options.real or SystemClock(), state)
    fresh = state is None
    changed = store.read_meta(META_CLOCK_CONFIG) != _clock_config(config)
    mode_now, rate = options.mode, options.rate
    if mode_now is None and rate is not None:
        mode_now = ClockMode.RATE
    if mode_now is None and (fresh or changed) and config.clock.mode is not None:
        mode_now, rate = config.clock.mode, config.clock.rate
    if mode_now is not None and (mode_now is not clock.mode or rate not in (None, clock.rate)):
        clock.set_mode(mode_now, rate or 1.0)
    start_ms = options.start_ms
    if start_ms is None and (fresh or changed):
        start_ms = config.clock.start_ms
    if start_ms is not None:
        if fresh:
            clock.set_to(start_ms)
        elif start_ms > clock.now_ms():
            clock.move_to(start_ms)
        elif start_ms < clock.now_ms():
            notices.append(
                "the start instant is ignored: the kept clock is there already or later "
                "(use `edgeemu clock set`, or `edgeemu dev --fresh`)"
            )
    return clock, notices
