"""What drives an emulator until it dies, and a nursery that makes such processes quickly.

The nursery has imported everything and forks one child for each round, so a hundred deaths take
seconds. It reads one JSON line for each round and tells on stdout what the child was answered; the
line `{"op": "ended", "signal": N}` ends the round.
"""

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from edgeemu.config import load_config
from edgeemu.emulator import Emulator, Options, build, new_loop
from edgeemu.errors import EdgeemuError
from edgeemu.ids import InstanceId
from edgeemu.rng import Random, stream
from edgeemu.stores.sqlite import SqliteStore
from tests.crash.story import EVERY_MS

LEDGERS = 4
CALLERS = 3


def tell(**fields: Any) -> None:
    """Say that something was answered; one write, so that a line is whole or not there."""
    os.write(1, (json.dumps(fields) + "\n").encode())


class Numbers:
    """Numbers for `add`, none of which is ever used twice on one state."""

    def __init__(self, first: int) -> None:
        self._next = first

    def take(self) -> int:
        """The next one."""
        self._next += 1
        return self._next


async def drive(emulator: Emulator, random: Random, numbers: Numbers, steps: int) -> None:
    """Call from several sides while time is moved, `steps` times each."""

    async def call() -> None:
        for _ in range(steps):
            name = f"l{random.randrange(LEDGERS)}"
            if random.random() < 0.15:
                await emulator.call(InstanceId("Flaky", name), "arm")
                continue
            number = numbers.take()
            till = InstanceId("Till", name)
            if random.random() < 0.2:
                await emulator.call(till, "open")
                with suppress(EdgeemuError):
                    await emulator.call(till, "fail")
                continue
            instance = till if random.random() < 0.5 else InstanceId("Ledger", name)
            await emulator.call(instance, "add", [number])
            tell(op="add", actor=str(instance), number=number)

    async def move() -> None:
        for _ in range(steps):
            moved = await emulator.clock.advance(random.randrange(2 * EVERY_MS))
            tell(op="advance", now_ms=moved["now_ms"])

    await asyncio.gather(move(), *(call() for _ in range(CALLERS)))


async def play(emulator: Emulator, random: Random, numbers: Numbers, steps: int) -> None:
    """A short story in one line: write, deliver, fail, retry, evict, write again."""
    del random
    ledger, flaky = InstanceId("Ledger", "one"), InstanceId("Flaky", "one")
    for _ in range(steps):
        number = numbers.take()
        await emulator.call(ledger, "add", [number])
        tell(op="add", actor=str(ledger), number=number)
        await emulator.call(flaky, "arm")
        moved = await emulator.clock.advance(EVERY_MS + 10_000)
        tell(op="advance", now_ms=moved["now_ms"])
        await emulator.evict(None)


async def move_in(emulator: Emulator, random: Random, numbers: Numbers, steps: int) -> None:
    """An instance with keys and an alarm moves to a file of its own, and goes on there."""
    del random
    till = InstanceId("Till", "one")
    for _ in range(steps):
        await emulator.call(till, "open")
        for _ in range(2):
            number = numbers.take()
            await emulator.call(till, "add", [number])
            tell(op="add", actor=str(till), number=number)
        moved = await emulator.clock.advance(EVERY_MS + 10_000)
        tell(op="advance", now_ms=moved["now_ms"])


STORIES = {"drive": drive, "play": play, "move_in": move_in}


class Killer:
    """Ends this process before its `at`-th SQL statement; 0 lets it live."""

    def __init__(self, at: int) -> None:
        self._left = at

    def __call__(self, sql: str) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def live(order: dict[str, Any]) -> None:
    """One life of an emulator."""
    root = Path(order["root"])
    store = partial(SqliteStore, before_statement=Killer(order["kill_at"]))
    vars(build)["SqliteStore"] = store
    options = Options(state_dir=root / ".edgeemu", seed=1)
    emulator = await Emulator.open(load_config(root), options)
    random = stream(order["seed"], "crash", order["round"])
    story = STORIES[order["story"]]
    await story(emulator, random, Numbers(order["round"] * 10_000), order["steps"])
    await emulator.close()


def run_child(order: dict[str, Any]) -> None:
    """Live once, in the child; never return."""
    status = 1
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(live(order))
        status = 0
    finally:
        sys.stderr.flush()
        os._exit(status)


def main() -> None:
    """Run rounds until the orders end."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run_child(json.loads(line))
        tell(op="born", pid=child)
        _, status = os.waitpid(child, 0)
        ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        tell(op="ended", signal=ended, status=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
