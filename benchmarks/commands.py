"""Rows that are measured as whole commands, from the start of a process to its end."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.floor.host import Host
from benchmarks.hosts import HERE, ROOT, Edgeemu, System, edgeemu_command

_MONTH_INSTANCES = 200
_DAY_MS = 86_400_000
_T0_MS = 1_893_456_000_000


def timed(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> float:
    """Seconds that a command takes.

    Raises:
        RuntimeError: with its output, if it fails.
    """
    given = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=given, capture_output=True, check=False)
    took_s = time.perf_counter() - started
    if done.returncode:
        output = (done.stdout + done.stderr).decode(errors="replace")[-1_000:]
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{output}")
    return took_s


def help_text(system: System, quick: bool) -> float:
    """`edgeemu --help`."""
    del quick
    return timed([edgeemu_command(), "--help"], system.folder)


def list_alarms(system: System, quick: bool) -> float:
    """`edgeemu alarms list --json` against the running server."""
    del quick
    return timed([edgeemu_command(), "alarms", "list", "--json", "--type", "Bench"], system.folder)


# --- thirty days ---------------------------------------------------------------------------------


def month(system: System, quick: bool) -> float:
    """Thirty days of instances that re-arm every day, without a server."""
    folder = fresh_folder(system, "month")
    days = 3 if quick else 30
    if system.name == "floor":
        asyncio.run(_arm_floor(folder))
        command = [sys.executable, "-m", "benchmarks.floor", "--state", ".", "--start-ms"]
        return timed([*command, str(_T0_MS), "--advance-ms", str(days * _DAY_MS)], folder)
    _copy(system, folder)
    arm_edgeemu(folder)
    return timed([edgeemu_command(), "clock", "advance", f"{days}d", "--json"], folder)


async def _arm_floor(folder: Path) -> None:
    host = Host(folder, HERE / "floor" / "app.py", _T0_MS)
    for number in range(_MONTH_INSTANCES):
        when_ms = _T0_MS + _DAY_MS + number * 1_000
        await host.turn(f"i{number}", lambda actor, when_ms=when_ms: actor.arm(when_ms, _DAY_MS))


def arm_edgeemu(folder: Path) -> None:
    """Arm the instances in the project's own state, on a frozen clock."""
    from edgeemu.clock import ClockMode
    from edgeemu.config import load_config
    from edgeemu.emulator import Emulator, Options, new_loop
    from edgeemu.ids import InstanceId

    async def arm() -> None:
        options = Options(
            state_dir=folder / ".edgeemu", mode=ClockMode.FROZEN, start_ms=_T0_MS, seed=1
        )
        emulator = await Emulator.open(load_config(folder), options)
        for number in range(_MONTH_INSTANCES):
            when_ms = _T0_MS + _DAY_MS + number * 1_000
            await emulator.call(InstanceId("Bench", f"i{number}"), "arm", [when_ms, _DAY_MS])
        await emulator.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(arm())


# --- tests ---------------------------------------------------------------------------------------

_EDGEEMU_TEST = """
def test_alarm(edgeemu):
    actor = edgeemu.actor("Bench/alice")
    actor.arm(0, {every_ms})
    moved = edgeemu.clock.advance("{duration}")
    assert moved.succeeded == {deliveries}
"""

_FLOOR_TEST = """
import asyncio
from pathlib import Path
from benchmarks.floor.host import Host

APP = Path({app!r})

def test_alarm(tmp_path):
    async def story():
        host = Host(tmp_path, APP, {start_ms})
        await host.turn("alice", lambda actor: actor.arm(0, {every_ms}))
        assert await host.advance({duration_ms}) == {deliveries}

    asyncio.run(story())
"""


def trivial_test(system: System, quick: bool) -> float:
    """One test of one alarm."""
    del quick
    return _test(system, every_ms=0, days=1, deliveries=1)


def decade_test(system: System, quick: bool) -> float:
    """A test of ten years of a subscription that is renewed every 30 days."""
    del quick
    return _test(system, every_ms=30 * _DAY_MS, days=3_650, deliveries=122)


def _test(system: System, *, every_ms: int, days: int, deliveries: int) -> float:
    folder = fresh_folder(system, "test")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_bench.py"]
    # As in a project that has installed what it uses and nothing else.
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    if system.name == "floor":
        text = _FLOOR_TEST.format(
            app=str(HERE / "floor" / "app.py"),
            start_ms=_T0_MS,
            every_ms=every_ms,
            duration_ms=days * _DAY_MS,
            deliveries=deliveries,
        )
    else:
        _copy(system, folder)
        command[4:4] = ["-p", "edgeemu.pytest_plugin"]
        text = _EDGEEMU_TEST.format(every_ms=every_ms, duration=f"{days}d", deliveries=deliveries)
    (folder / "test_bench.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    timed(command, folder, environment)  # The first run writes bytecode.
    return timed(command, folder, environment)


def _copy(system: System, folder: Path) -> None:
    assert isinstance(system, Edgeemu)
    system.copy_to(folder)


def fresh_folder(system: System, name: str) -> Path:
    """An empty folder for one measurement."""
    folder = system.folder.with_name(f"{system.name}-{name}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
