"""Actor code lives on virtual time, the tool on real time, on one loop; and nothing hangs it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeemu.clock import wait_event_real_ms
from edgeemu.emulator import Emulator
from edgeemu.errors import Code, EdgeemuError
from tests.support.emulators import T0_MS, inst, run_with, write_project

LIMITS = "[limits]\nio_wait_ms = 2000\nwatchdog_ms = 100\n"


def play(tmp_path: Path, source: str, body: Callable[[Emulator], Any]) -> Any:
    """Run `body` with an emulator for the methods in `source`, which are those of class A."""
    text = "import threading, time\nclass A(StatefulActor):\n" + source
    return run_with(write_project(tmp_path, text, toml=LIMITS), body)


async def timed(emulator: Emulator, method: str, *args: Any) -> tuple[Any, int]:
    """Call a method while the clock is advanced by a minute: its result and its virtual ms."""
    task = asyncio.ensure_future(emulator.call(inst("A/x"), method, args))
    await emulator.clock.advance(60_000)
    assert task.done()
    result = await task
    entry = [entry for entry in emulator.journal() if entry["kind"] == "call"][-1]
    return result, entry["duration_ms"]


WAYS = {
    "sleep": ("await asyncio.sleep(1.5)", 1_500),
    "sleep rounded up": ("await asyncio.sleep(0.0001)", 1),
    "gather": ("await asyncio.gather(asyncio.sleep(1), asyncio.sleep(3))", 3_000),
    "wait_for": (
        "try: await asyncio.wait_for(asyncio.sleep(20), 2)\n        except TimeoutError: pass",
        2_000,
    ),
    "timeout": (
        "try:\n"
        "            async with asyncio.timeout(2.25): await asyncio.sleep(20)\n"
        "        except TimeoutError: pass",
        2_250,
    ),
    "timeout_at": (
        "try:\n"
        "            async with asyncio.timeout_at(asyncio.get_running_loop().time() + 4):\n"
        "                await asyncio.Event().wait()\n"
        "        except TimeoutError: pass",
        4_000,
    ),
    "task group": (
        "async with asyncio.TaskGroup() as group:\n"
        "            for seconds in (1, 2, 5): group.create_task(asyncio.sleep(seconds))",
        5_000,
    ),
    "call_later": (
        "loop = asyncio.get_running_loop()\n"
        "        done = loop.create_future()\n"
        "        loop.call_later(7, done.set_result, 1)\n"
        "        await done",
        7_000,
    ),
    "call_at and an event": (
        "loop, event = asyncio.get_running_loop(), asyncio.Event()\n"
        "        loop.call_at(loop.time() + 8, event.set)\n"
        "        await event.wait()",
        8_000,
    ),
    "cancelled timer": (
        "loop = asyncio.get_running_loop()\n"
        "        loop.call_later(9, print, 'never').cancel()\n"
        "        await asyncio.sleep(1)",
        1_000,
    ),
    "queue": (
        "queue = asyncio.Queue()\n"
        "        async def feed():\n"
        "            await asyncio.sleep(2)\n"
        "            await queue.put(1)\n"
        "        feeding = asyncio.create_task(feed())\n"
        "        await queue.get()",
        2_000,
    ),
    "as_completed": (
        "for each in asyncio.as_completed([asyncio.sleep(1), asyncio.sleep(2)]): await each",
        2_000,
    ),
    "shield": ("await asyncio.shield(asyncio.sleep(3))", 3_000),
}


@pytest.mark.parametrize(("body", "took_ms"), WAYS.values(), ids=WAYS.keys())
def test_waits_of_actor_code_take_virtual_time(tmp_path: Path, body: str, took_ms: int) -> None:
    source = f"    async def go(self):\n        {body}\n"
    _, duration_ms = play(tmp_path, source, lambda emulator: timed(emulator, "go"))
    assert duration_ms == took_ms


def test_actor_code_sees_its_instant_in_every_task(tmp_path: Path) -> None:
    source = """
    async def go(self):
        async def look(seconds):
            await asyncio.sleep(seconds)
            loop = asyncio.get_running_loop()
            return [self.ctx.now_ms(), time.time() * 1000, loop.time() * 1000,
                    time.monotonic() * 1000]
        return await asyncio.gather(look(1), look(2))
"""
    seen, _ = play(tmp_path, source, lambda emulator: timed(emulator, "go"))
    assert seen == [[T0_MS + 1_000] * 4, [T0_MS + 2_000] * 4]


def test_timers_of_the_tool_stay_real_while_the_clock_is_frozen(tmp_path: Path) -> None:
    source = "    async def go(self):\n        await asyncio.sleep(1)\n"

    async def body(emulator: Emulator) -> None:
        waiting = asyncio.ensure_future(emulator.call(inst("A/x"), "go"))
        # Three milliseconds of the machine: the tool's own timer fires, the actor's does not.
        assert not await wait_event_real_ms(asyncio.Event(), 3)
        assert not waiting.done()
        await emulator.clock.advance(1_000)
        await waiting

    play(tmp_path, source, body)


def test_timers_that_the_tool_sets_in_the_middle_of_a_step_are_real(tmp_path: Path) -> None:
    """A live log shows a warning a moment after it arose, though its turn waits on virtual time."""

    async def body(emulator: Emulator) -> None:
        await emulator.call(inst("A/x"), "warn_and_nap", [0])
        emulator.flush()
        told = asyncio.Event()
        emulator.watch(lambda batch: told.set())
        emulator.warn("W_CONFIG", "what is planned before the step is over with this")
        await wait_event_real_ms(told, 5_000)
        told.clear()
        napping = emulator.start_call(inst("A/x"), "warn_and_nap", [20])
        await wait_event_real_ms(told, 5_000)
        assert told.is_set(), "the journal was not written out"
        await emulator.clock.advance(60_000)
        await napping.wait_result()

    play(
        tmp_path,
        "    async def warn_and_nap(self, seconds):\n"
        "        if seconds:\n"
        "            self.ctx.storage.set_alarm(1_900_000_000)\n"
        "        await asyncio.sleep(seconds)\n",
        body,
    )


def test_tasks_that_a_turn_leaves_behind_belong_to_the_move(tmp_path: Path) -> None:
    source = """
    async def go(self):
        async def later():
            await asyncio.sleep(5)
            self.seen = self.ctx.now_ms()
        self.task = asyncio.create_task(later())
    async def look(self):
        return self.seen
"""

    async def body(emulator: Emulator) -> Any:
        await emulator.call(inst("A/x"), "go")
        await emulator.clock.advance(10_000)
        return await emulator.call(inst("A/x"), "look")

    assert play(tmp_path, source, body) == T0_MS + 5_000


@pytest.mark.parametrize(
    "body",
    [
        "await asyncio.to_thread(work)",
        "await loop.run_in_executor(None, work)",
        "await asyncio.gather(loop.run_in_executor(None, work), asyncio.sleep(0))",
        "await asyncio.wait([loop.run_in_executor(None, work)])",
        "await asyncio.wait_for(loop.run_in_executor(None, work), 30)",
        "await asyncio.shield(loop.run_in_executor(None, work))",
    ],
)
def test_thread_holds_the_time(tmp_path: Path, body: str) -> None:
    # The thread is let go by the test, which has by then asked the clock to move.
    source = f"""
    gate = threading.Event()
    async def go(self):
        loop = asyncio.get_running_loop()
        def work():
            self.gate.wait(5)
        {body}
        return self.ctx.now_ms()
"""

    async def check(emulator: Emulator) -> Any:
        gate = emulator._parts.engine._python._class_of(inst("A/x")).gate
        task = asyncio.ensure_future(emulator.call(inst("A/x"), "go"))
        moving = asyncio.ensure_future(emulator.clock.advance(60_000))
        await wait_event_real_ms(asyncio.Event(), 5)
        assert not moving.done()
        assert emulator.clock.read()["now_ms"] == T0_MS
        gate.set()
        await moving
        return await task

    assert play(tmp_path, source, check) == T0_MS


def test_socket_holds_the_time(tmp_path: Path) -> None:
    source = """
    async def go(self, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        line = await reader.readline()
        writer.close()
        await writer.wait_closed()
        return [line.decode(), self.ctx.now_ms()]
"""

    async def check(emulator: Emulator) -> Any:
        let_go = asyncio.Event()

        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await let_go.wait()
            writer.write(b"hello\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        task = asyncio.ensure_future(emulator.call(inst("A/x"), "go", [port]))
        moving = asyncio.ensure_future(emulator.clock.advance(60_000))
        await wait_event_real_ms(asyncio.Event(), 10)
        assert not moving.done()
        let_go.set()
        await moving
        server.close()
        await server.wait_closed()
        return await task

    assert play(tmp_path, source, check) == ["hello\n", T0_MS]


def stuck(tmp_path: Path, source: str, limits: str = "io_wait_ms = 20\n") -> EdgeemuError:
    """The error of an advance that a turn holds for too long."""

    async def body(emulator: Emulator) -> None:
        task = asyncio.ensure_future(emulator.call(inst("A/x"), "go"))
        try:
            await emulator.clock.advance(1_000)
        finally:
            emulator._parts.engine._python._class_of(inst("A/x")).gate.set()
            await emulator.evict(None, crash=True)
            await asyncio.gather(task, return_exceptions=True)

    text = "import threading\nclass A(StatefulActor):\n    gate = threading.Event()\n" + source
    config = write_project(tmp_path, text, toml=f"[limits]\n{limits}")
    with pytest.raises(EdgeemuError) as raised:
        run_with(config, body)
    return raised.value


def test_wait_on_the_outside_is_bounded_and_its_line_named(tmp_path: Path) -> None:
    error = stuck(
        tmp_path,
        "    async def go(self):\n        await asyncio.to_thread(self.gate.wait, 5)\n",
    )
    assert error.code is Code.IO_WAIT
    assert error.what.startswith("A/x (turn 1) waits on the outside at main.py:")


def test_code_that_never_rests_is_bounded(tmp_path: Path) -> None:
    error = stuck(
        tmp_path,
        "    async def go(self):\n        while True:\n            await asyncio.sleep(0)\n",
    )
    assert error.code is Code.IO_WAIT
    assert "A/x (turn 1) never waits at main.py:" in error.what


def test_endless_loop_is_ended_by_the_watchdog_and_the_emulator_lives_on(tmp_path: Path) -> None:
    # spec/telnyx-actors.md U14: budgets are virtual, and this real bound stands beside them.
    source = """
    async def go(self):
        await self.ctx.storage.put("k", 1)
        while True:
            pass
    async def hello(self):
        return await self.ctx.storage.get("k", "nothing")
"""

    async def body(emulator: Emulator) -> Any:
        with pytest.raises(EdgeemuError) as raised:
            await emulator.call(inst("A/x"), "go")
        assert raised.value.name == "ActorHangError"
        assert "main.py:" in str(raised.value)
        told = [entry["code"] for entry in emulator.journal() if entry["kind"] == "warning"]
        assert told == ["W_BLOCKED_LOOP"]
        return await emulator.call(inst("A/x"), "hello")

    assert play(tmp_path, source, body) == "nothing"


def test_watchdog_gets_through_code_that_catches_everything_it_may(tmp_path: Path) -> None:
    source = """
    async def go(self):
        while True:
            try:
                while True:
                    pass
            except Exception:
                pass
"""

    async def body(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError) as raised:
            await emulator.call(inst("A/x"), "go")
        assert raised.value.name == "ActorHangError"

    play(tmp_path, source, body)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_watchdog_comes_again_where_its_interrupt_was_swallowed(tmp_path: Path) -> None:
    """Python swallows what is raised in a `__del__`, or in a callback of its collector."""
    source = """
    async def go(self):
        class Spins:
            def __del__(self):
                while True:
                    pass
        Spins()
        while True:
            pass
"""

    async def body(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError) as raised:
            await emulator.call(inst("A/x"), "go")
        assert raised.value.name == "ActorHangError"

    play(tmp_path, source, body)


def test_cancelled_turn_is_a_failure(tmp_path: Path) -> None:
    source = """
    async def go(self):
        asyncio.current_task().cancel()
        await asyncio.sleep(1)
"""

    async def body(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError) as raised:
            await emulator.call(inst("A/x"), "go")
        assert raised.value.name == "ActorMethodError"
        assert "CancelledError" in raised.value.why

    play(tmp_path, source, body)


def test_storage_outside_of_a_turn_is_refused(tmp_path: Path) -> None:
    source = """
    async def go(self):
        try:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, lambda: self.ctx.now_ms())
        except Exception as error:
            return str(error)
"""
    told, _ = play(tmp_path, source, lambda emulator: timed(emulator, "go"))
    assert "inside a turn only" in told
