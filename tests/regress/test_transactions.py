"""What Python code does with transactions that a scenario cannot say: tasks, timeouts, threads.

spec/telnyx-actors.md section 6.3.
"""

from pathlib import Path

import pytest

from edgeemu.emulator import Emulator
from edgeemu.errors import EdgeemuError
from tests.support.emulators import inst, run_with, write_project

SOURCE = """
class A(StatefulActor):
    async def cut_off(self):
        async def body(txn):
            await txn.put("in", 1)
            await asyncio.sleep(60)
        await self.ctx.storage.put("k", 1)
        try:
            async with asyncio.timeout(1):
                await self.ctx.storage.transaction(body)
        except TimeoutError:
            await self.ctx.storage.put("cut", 1)

    async def no_function(self):
        async def body(txn):
            pass
        waiting = body(None)
        try:
            await self.ctx.storage.transaction(waiting)
        except TypeError as error:
            return str(error)
        finally:
            waiting.close()

    async def plain(self):
        return await self.ctx.storage.transaction(lambda txn: txn.put("k", 1))

    async def hint(self, name):
        async def body(txn):
            try:
                getattr(txn, name)
            except AttributeError as error:
                return str(error)
        return await self.ctx.storage.transaction(body)

    async def in_a_thread(self):
        def begin():
            self.ctx.storage.transaction(self._body)
        await asyncio.to_thread(begin)

    async def _body(self, txn):
        await txn.put("in", 1)

    async def not_awaited(self):
        return bool(self.ctx.storage.transaction(self._body))

    async def twice(self):
        doing = self.ctx.storage.transaction(self._body)
        return [await doing, await doing]

    async def hangs(self):
        async def body(txn):
            await txn.put("in", 1)
            while True:
                pass
        await self.ctx.storage.transaction(body)

    async def throws_beside(self):
        async def body(txn):
            await txn.put("in", 1)
            await asyncio.sleep(5)
            await txn.put("late", 1)
        self.ctx.storage.transaction(body)
        await asyncio.sleep(1)
        raise ValueError("boom")

    async def asserts(self):
        async def body(txn):
            assert await txn.get("k") == 1, "k is missing"
        await self.ctx.storage.transaction(body)

    async def outlives(self):
        after = asyncio.Event()
        async def later():
            await after.wait()
            return await self.ctx.storage.transaction(lambda txn: txn.put("later", 1))
        async def body(txn):
            self.task = asyncio.create_task(later())
        await self.ctx.storage.transaction(body)
        after.set()
        await self.task
"""


async def failing(emulator: Emulator, method: str) -> EdgeemuError:
    with pytest.raises(EdgeemuError) as raised:
        await emulator.call(inst("A/x"), method)
    return raised.value


def keys(emulator: Emulator) -> list[str]:
    return list(emulator.storage.list(inst("A/x")))


def test_function_that_is_cut_off_has_failed(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        call = emulator.start_call(inst("A/x"), "cut_off")
        await emulator.clock.advance(1_000)
        with pytest.raises(EdgeemuError, match="a transaction failed: CancelledError"):
            await call.wait_result()
        assert keys(emulator) == ["cut", "k"]

    run_with(write_project(tmp_path, SOURCE), body)


def test_what_a_beginner_gets_wrong_is_told(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        x = inst("A/x")
        told = await emulator.call(x, "no_function")
        assert told == "transaction takes a function of one argument, not coroutine"
        assert "the call was not awaited" in (await failing(emulator, "not_awaited")).what
        assert "inside another" in await emulator.call(x, "hint", ["transaction"])
        assert "it has: delete, get, list, put" in await emulator.call(x, "hint", ["setAlarm"])
        assert "self.ctx.storage.set_alarm" in await emulator.call(x, "hint", ["setAlarm"])
        assert "did you mean put?" in await emulator.call(x, "hint", ["putt"])
        assert (await failing(emulator, "in_a_thread")).name == "ActorOutputGateError"
        assert keys(emulator) == []

    run_with(write_project(tmp_path, SOURCE), body)


def test_plain_function_will_do_and_its_result_can_be_awaited_twice(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        assert await emulator.call(inst("A/x"), "plain") is None
        assert await emulator.call(inst("A/x"), "twice") == [None, None]
        await emulator.call(inst("A/x"), "outlives")
        assert keys(emulator) == ["in", "k", "later"]

    run_with(write_project(tmp_path, SOURCE), body)


def test_endless_function_is_stopped_by_the_watchdog(tmp_path: Path) -> None:
    config = write_project(tmp_path, SOURCE, toml="[limits]\nwatchdog_ms = 50\n")

    async def body(emulator: Emulator) -> None:
        error = await failing(emulator, "hangs")
        assert error.name == "ActorHangError"
        assert "main.py:" in error.what
        assert keys(emulator) == []

    run_with(config, body)


def test_turn_that_throws_takes_its_running_transaction_along(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        call = emulator.start_call(inst("A/x"), "throws_beside")
        await emulator.clock.advance(60_000)
        with pytest.raises(EdgeemuError, match="ActorMethodError: boom"):
            await call.wait_result()
        assert keys(emulator) == []
        codes = [entry["code"] for entry in emulator.journal() if entry["kind"] == "warning"]
        assert codes == ["W_WRITE_NOT_AWAITED"]

    run_with(write_project(tmp_path, SOURCE), body)


def test_error_shows_the_line_of_the_function_and_what_was_kept(tmp_path: Path) -> None:
    async def body(emulator: Emulator) -> None:
        error = await failing(emulator, "asserts")
        assert error.name == "ActorOutputGateError"
        assert "a transaction failed: AssertionError: k is missing" in error.what
        assert error.fix is not None
        assert "nothing that the turn wrote was kept" in error.fix
        assert "assert await txn.get" in (error.detail or "")

    run_with(write_project(tmp_path, SOURCE), body)
