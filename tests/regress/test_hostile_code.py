"""Actor code that tries to end the process, the loop or its own report fails its turn, no more."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from edgeemu.emulator import Emulator
from edgeemu.engines.python.containment import error_text, raised_by_code
from edgeemu.errors import Code, EdgeemuError
from tests.support.emulators import frozen, inst, run_with, write_project

SOURCE = """
import sys
import threading
import time


class Mute(Exception):
    def __str__(self):
        raise ValueError("no words")


def interrupt():
    raise KeyboardInterrupt


class Fragile(StatefulActor):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        raise KeyboardInterrupt

    async def touch(self): ...


class A(StatefulActor):
    async def mute(self):
        raise Mute

    async def interrupts(self):
        raise KeyboardInterrupt

    async def interrupts_in_group(self):
        async with asyncio.TaskGroup() as group:
            group.create_task(self.interrupts())

    async def stops_loop(self):
        asyncio.get_running_loop().stop()

    async def calls_back(self, how):
        called = {"interrupt": interrupt, "exit": sys.exit}[how]
        asyncio.get_running_loop().call_soon(lambda: called())
        await asyncio.sleep(0)
        return "still here"

    async def looks_in_callback(self):
        seen = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(lambda: seen.set_result(time.time()))
        return await seen

    async def spins(self):
        while True:
            await asyncio.sleep(0)

    async def leaves_thread(self):
        asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)
        return "left"

    async def leaves_tasks(self, count):
        self.tasks = [asyncio.create_task(asyncio.sleep(i + 1)) for i in range(count)]

    async def ping(self):
        return "pong"


async def fetch(request, env):
    raise KeyboardInterrupt
"""

X = inst("A/x")


def _failure(tmp_path: Path, method: str, *args: Any, instance: str = "A/x") -> EdgeemuError:
    """The error of a call; that the emulator answers afterwards is checked as well."""

    async def story(emulator: Emulator) -> EdgeemuError:
        with pytest.raises(EdgeemuError) as caught:
            await emulator.call(inst(instance), method, args)
        assert await emulator.call(inst("A/y"), "ping") == "pong"
        return caught.value

    config = write_project(tmp_path, SOURCE, types=("A", "Fragile"))
    error: EdgeemuError = run_with(config, story)
    return error


def test_error_whose_text_fails_ends_its_turn(tmp_path: Path) -> None:
    error = _failure(tmp_path, "mute")
    assert error.code is Code.ACTOR_FAILED
    assert "its __str__ raised ValueError" in error.what


@pytest.mark.parametrize("method", ["interrupts", "interrupts_in_group"])
def test_keyboard_interrupt_of_actor_fails_its_turn(tmp_path: Path, method: str) -> None:
    assert _failure(tmp_path, method).code is Code.ACTOR_FAILED


def test_keyboard_interrupt_of_constructor_fails_its_turn(tmp_path: Path) -> None:
    error = _failure(tmp_path, "touch", instance="Fragile/x")
    assert "actor code cannot end the process" in error.what


def test_actor_cannot_stop_the_loop(tmp_path: Path) -> None:
    assert "cannot stop the event loop" in _failure(tmp_path, "stops_loop").what


@pytest.mark.parametrize("how", ["interrupt", "exit"])
def test_callback_cannot_end_the_process(tmp_path: Path, how: str) -> None:
    config = write_project(tmp_path, SOURCE, types=("A", "Fragile"))
    assert run_with(config, lambda emulator: emulator.call(X, "calls_back", [how])) == "still here"


def test_callback_sees_the_emulated_time(tmp_path: Path) -> None:
    config = write_project(tmp_path, SOURCE, types=("A", "Fragile"))

    async def story(emulator: Emulator) -> None:
        seen = await emulator.call(X, "looks_in_callback")
        assert seen * 1_000 == emulator.clock.read()["now_ms"]

    run_with(config, story)


def test_call_that_spins_on_a_frozen_clock_is_given_up(tmp_path: Path) -> None:
    toml = "[limits]\nio_wait_ms = 50\n"
    config = write_project(tmp_path, SOURCE, types=("A", "Fragile"), toml=toml)

    async def story(emulator: Emulator) -> None:
        with pytest.raises(EdgeemuError) as caught:
            await emulator.call(X, "spins")
        assert caught.value.code is Code.IO_WAIT
        assert "A/x never waits at main.py" in caught.value.what
        await emulator.evict(X, crash=True)

    run_with(config, story, frozen(alone=True))


def test_command_ends_although_a_thread_of_an_actor_goes_on(tmp_path: Path) -> None:
    write_project(tmp_path, SOURCE, types=("A", "Fragile"))
    command = [sys.executable, "-m", "edgeemu", "call", "A/x", "leaves_thread"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stdout) == (0, b"left" + os.linesep.encode()), done.stderr


def test_module_that_interrupts_is_an_import_error(tmp_path: Path) -> None:
    config = write_project(tmp_path, "raise KeyboardInterrupt")

    async def story(emulator: Emulator) -> None:
        del emulator

    with pytest.raises(EdgeemuError) as caught:
        run_with(config, story)
    assert caught.value.code is Code.PROJECT_IMPORT


def test_interrupt_of_a_signal_is_no_error_of_code() -> None:
    try:
        threading.Event().wait(timeout="no number")  # type: ignore[arg-type]
    except TypeError as error:
        assert not raised_by_code(error)
    assert not raised_by_code(KeyboardInterrupt())
    assert error_text(ValueError("text")) == "text"


def test_many_tasks_left_behind_end_in_no_time(tmp_path: Path) -> None:
    config = write_project(tmp_path, SOURCE, types=("A", "Fragile"))

    async def story(emulator: Emulator) -> None:
        await emulator.call(
            X, "leaves_tasks", [500]
        )  # Once, 20 took five seconds, each more twice.
        await emulator.clock.advance(600_000)
        assert await emulator.evict(X) in ([], ["A/x"])
        assert await emulator.call(X, "ping") == "pong"

    run_with(config, story)
