"""What no store can hold fails the turn that wants it, not the store: time goes on."""

from tests.support.emulators import inst, run_with, write_project

SOURCE = """
    class A(StatefulActor):
        async def arm(self):
            await self.ctx.set_alarm(self.ctx.now_ms())

        async def alarm(self, info: AlarmInfo):
            await self.ctx.storage.put("half\\ud800", 1)
"""


def test_key_that_cannot_be_stored_in_an_alarm(tmp_path):
    async def body(emulator):
        await emulator.call(inst("A/x"), "arm")
        moved = await emulator.clock.advance(3_600_000)
        assert (moved["succeeded"], moved["gave_up"]) == (0, 1)
        assert emulator.storage.list(inst("A/x")) == {}

    run_with(write_project(tmp_path, SOURCE), body)
