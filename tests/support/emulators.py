"""Opening an emulator for a source text, the same way in every test: frozen, seeded, alone."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

from edgeemu.clock import ClockMode
from edgeemu.config import Config, load_config
from edgeemu.emulator import Emulator, Options, new_loop
from edgeemu.ids import InstanceId
from edgeemu.units import parse_instant

T0_MS = parse_instant("2030-01-01T00:00:00Z")
"""Where the clock of a test stands at first."""

PRELUDE = "import asyncio\nfrom edgeemu import AlarmInfo, Request, Response, StatefulActor\n"
"""What a source text of a test need not say itself."""


def write_project(
    folder: Path,
    source: str,
    *,
    types: Sequence[str] = ("A",),
    lateness_ms: int = 0,
    toml: str = "",
    main: str = "main.py",
) -> Config:
    """Write a project with one module into `folder`; its configuration.

    Args:
        folder: made if it is not there.
        source: of the module; it may be indented.
        types: actor types; each is bound under its own name.
        lateness_ms: of alarms.
        toml: further tables for `edgeemu.toml`.
        main: the name of the module's file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    prelude = PRELUDE if main.endswith(".py") else ""
    (folder / main).write_text(prelude + dedent(source))
    actors = "".join(f'[[actors]]\nbinding = "{name}"\ntype = "{name}"\n' for name in types)
    clock = f"[clock]\nalarm_lateness_ms = {lateness_ms}\n"
    head = f'name = "test"\nmain = "{main}"\n'
    (folder / "edgeemu.toml").write_text(f"{head}{actors}{clock}{dedent(toml)}")
    return load_config(folder)


def frozen(state_dir: Path | None = None, **options: Any) -> Options:
    """Options of a test: a frozen clock at `T0_MS`, seed 1, all checks on."""
    given = {"mode": ClockMode.FROZEN, "start_ms": T0_MS, "seed": 1, **options}
    return Options(state_dir=state_dir, **given)


@asynccontextmanager
async def opened(config: Config, options: Options | None = None) -> AsyncIterator[Emulator]:
    """An emulator for the length of a block."""
    emulator = await Emulator.open(config, options or frozen())
    try:
        yield emulator
    finally:
        await emulator.close()


def run(body: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on a loop that can serve an emulator; its result."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(body)


def run_with(
    config: Config,
    body: Callable[[Emulator], Coroutine[Any, Any, Any]],
    options: Options | None = None,
) -> Any:
    """Open an emulator, run `body` with it, close it; the result of `body`."""

    async def main() -> Any:
        async with opened(config, options) as emulator:
            return await body(emulator)

    return run(main())


def inst(address: str) -> InstanceId:
    """The instance of `Type/name`."""
    type_name, _, name = address.partition("/")
    return InstanceId(type_name, name)


async def settle(emulator: Emulator) -> None:
    """This waits until nothing can go on without time: for turns that were started, not awaited."""
    await emulator.run_present()
