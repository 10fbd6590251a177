"""Rows that are measured through a server: requests, alarms, reloads, memory."""

import asyncio
import itertools
import json
import time
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

from benchmarks.hosts import Edgeemu, NodeSystem, System
from benchmarks.load import Load, ask, control

ADVANCE_INSTANCES = 200
ADVANCE_EVERY_MS = 30_000
"""Below the idle time after which an instance leaves the memory: the floor has no eviction. The row
of thirty days is the one in which every delivery wakes its instance."""

_DAY_MS = 86_400_000
_T = TypeVar("_T")
_numbers = itertools.count(1)
"""Makes names that no measurement before has used."""


_BOUND_S = 240
"""Seconds that one measurement may take: a system that has died must not stop the others."""


def _bounded(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a measurement.

    Raises:
        TimeoutError: if it does not end.
    """

    async def run() -> _T:
        return await asyncio.wait_for(work, _BOUND_S)

    return asyncio.run(run())


def _is_slow(system: System) -> bool:
    """Whether a full count of instances would take minutes: npm's make a file for each."""
    return isinstance(system, NodeSystem)


def start(system: System, quick: bool) -> float:
    """Start the system afresh, on top of whatever else is measured."""
    del quick
    probe = type(system)(system.folder.parent / "start")
    try:
        return probe.start()
    finally:
        probe.stop()


def reload(system: System, quick: bool) -> float:
    """Save a file, and ask until the new code answers."""
    del quick
    version = f"v{next(_numbers)}"
    system.change_source(version)
    started = time.perf_counter()
    while time.perf_counter() - started < 20:
        try:
            if ask(system.port, "/version").decode() == version:
                return time.perf_counter() - started
        except (OSError, RuntimeError):
            pass  # Some systems refuse requests while they change over.
        time.sleep(0.002)
    raise RuntimeError("the new code was not live within 20 s")


def inc_alone(system: System, quick: bool) -> float:
    """Requests a second over one connection."""
    return _bounded(_rate(system, 1, quick))


def inc_many(system: System, quick: bool) -> float:
    """Requests a second over 32 connections to 32 instances."""
    return _bounded(_rate(system, 32, quick))


async def _rate(system: System, connections: int, quick: bool) -> float:
    paths = itertools.cycle([f"/inc?name=inc{number}" for number in range(connections)])
    async with Load(system.port, connections) as load:
        await load.rate(paths, 0.2 if quick else 0.4)
        return await load.rate(paths, 0.5 if quick else 1.5)


def puts(system: System, quick: bool) -> float:
    """Awaited puts a second inside one turn."""
    return _per_second(system, "/puts?name=puts", 5_000 if quick else 20_000)


def commits(system: System, quick: bool) -> float:
    """Puts a second of which each is committed before the next.

    On Telnyx what a turn writes commits with its end, so here each put is a call of its own.
    """
    return _per_second(system, "/commits?name=commits", 500 if quick else 3_000)


def inserts(system: System, quick: bool) -> float:
    """Inserts with SQL a second inside one turn."""
    return _per_second(system, "/inserts?name=inserts", 20_000 if quick else 100_000)


def _per_second(system: System, path: str, count: int) -> float:
    ask(system.port, f"{path}&count={count // 10}")
    started = time.perf_counter()
    ask(system.port, f"{path}&count={count}")
    return count / (time.perf_counter() - started)


def arm_now(system: System, quick: bool) -> float:
    """New instances a second that arm an alarm for now, until the last one has fired."""
    return _bounded(_arm_now(system, 200 if quick or _is_slow(system) else 1_000))


async def _arm_now(system: System, count: int) -> float:
    async with Load(system.port, 32) as load:
        before = (await _fired(load))["count"]
        started_ms = time.time_ns() / 1_000_000
        await load.run_all(_arm_paths(count, when_ms=0))
        last_ms = await _wait_fired(load, before + count)
        return count / max(last_ms - started_ms, 1.0) * 1_000


def due_at_once(system: System, quick: bool) -> float:
    """Deliveries a second of alarms that are all due at one instant."""
    return _bounded(_due_at_once(system, 1_000 if quick or _is_slow(system) else 10_000))


async def _due_at_once(system: System, count: int) -> float:
    async with Load(system.port, 32) as load:
        # How far away the instant has to be, so that all are armed by then.
        started = time.perf_counter()
        await load.run_all(_arm_paths(200, when_ms=_far_ms()))
        seconds = (time.perf_counter() - started) / 200 * count * 1.5 + 1.0
        before = (await _fired(load))["count"]
        due_ms = time.time_ns() // 1_000_000 + int(seconds * 1_000)
        await load.run_all(_arm_paths(count, when_ms=due_ms))
        if time.time_ns() // 1_000_000 > due_ms:
            raise RuntimeError("arming took longer than was expected from the first instances")
        last_ms = await _wait_fired(load, before + count)
        return count / max(last_ms - due_ms, 1.0) * 1_000


def _far_ms() -> int:
    return time.time_ns() // 1_000_000 + 365 * _DAY_MS


def _arm_paths(count: int, *, when_ms: int, every_ms: int = 0) -> Iterator[str]:
    group = next(_numbers)
    for number in range(count):
        yield f"/arm?name=arm{group}-{number}&when_ms={when_ms}&every_ms={every_ms}"


async def _fired(load: Load) -> dict[str, int]:
    answer: dict[str, int] = json.loads(await load.get("/fired"))
    return answer


async def _wait_fired(load: Load, count: int) -> float:
    deadline = time.perf_counter() + 120
    while (answer := await _fired(load))["count"] < count:
        if time.perf_counter() > deadline:
            raise RuntimeError(f"{answer['count']} of {count} alarms had fired after 120 s")
        await asyncio.sleep(0.02)
    return answer["last_ms"]


# --- virtual time --------------------------------------------------------------------------------


def advance_edgeemu(system: System, quick: bool) -> float:
    """Deliveries a second while `clock advance` moves over hours."""
    assert isinstance(system, Edgeemu)
    token = system.token()
    now_ms = control(system.port, token, "clock.read", {})["now_ms"]

    def move(duration_ms: int) -> int:
        params = {"duration_ms": duration_ms}
        answer = control(system.port, token, "clock.advance", params)
        return int(answer["succeeded"])

    return _advanced(system, now_ms, quick, move)


def advance_floor(system: System, quick: bool) -> float:
    """The same on the virtual clock of the floor."""

    def move(duration_ms: int) -> int:
        return int(ask(system.port, f"/advance?duration_ms={duration_ms}"))

    return _advanced(system, 1_893_456_000_000, quick, move)


_armed: set[int] = set()


def _advanced(system: System, now_ms: int, quick: bool, move: Any) -> float:
    if system.port not in _armed:  # Once for a server: they re-arm themselves.
        _armed.add(system.port)
        _bounded(_arm_spread(system, now_ms))
        move(3 * ADVANCE_EVERY_MS)
    started = time.perf_counter()
    delivered = move((3 if quick else 20) * ADVANCE_EVERY_MS)
    took_s = time.perf_counter() - started
    if delivered < ADVANCE_INSTANCES:
        raise RuntimeError(f"only {delivered} alarms were delivered")
    return delivered / took_s


async def _arm_spread(system: System, now_ms: int) -> None:
    """Instances whose alarms fall on instants of their own, spread over the hour."""
    gap_ms = ADVANCE_EVERY_MS // ADVANCE_INSTANCES
    async with Load(system.port) as load:
        for number in range(ADVANCE_INSTANCES):
            when_ms = now_ms + ADVANCE_EVERY_MS + number * gap_ms
            path = f"/arm?name=virtual{number}&when_ms={when_ms}&every_ms={ADVANCE_EVERY_MS}"
            await load.get(path)


# --- memory --------------------------------------------------------------------------------------


def memory_at_rest(system: System, quick: bool) -> float:
    """Megabytes of a system that has answered one request."""
    del quick
    return _in_fresh(system, _nothing)


def memory_with_instances(system: System, quick: bool) -> float:
    """Megabytes of a system right after 10,000 instances were touched."""
    return _in_fresh(system, lambda fresh: _touch(fresh, 1_000 if quick else 10_000))


def _in_fresh(system: System, work: Any) -> float:
    fresh = type(system)(system.folder.parent / "memory")
    fresh.start()
    try:
        _bounded(work(fresh))
        return fresh.memory_mb()
    finally:
        fresh.stop()


async def _nothing(system: System) -> None:
    del system


def _touch(system: System, count: int) -> Coroutine[Any, Any, None]:
    async def touch() -> None:
        async with Load(system.port, 32) as load:
            await load.run_all(f"/inc?name=live{number}" for number in range(count))

    return touch()
