"""What the local-development cases need."""

import asyncio

from edgeemu import StatefulActor


class A(StatefulActor):
    """Arms, counts, re-arms to now until `runs_max`."""

    async def arm(self, after_ms, runs_max=1):
        await self.ctx.storage.put("runs_max", runs_max)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + after_ms)

    async def erase(self):
        await self.ctx.storage.delete_all()

    async def alarm(self, info):
        count = await self.ctx.storage.get("count", 0) + 1
        await self.ctx.storage.put("count", count)
        if count < await self.ctx.storage.get("runs_max", 1):
            await self.ctx.storage.set_alarm(self.ctx.now_ms())


class Named(StatefulActor):
    """Loads a value slowly before anything else, and writes it with its own name."""

    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        ctx.block_concurrency_while(self._load)

    async def _load(self):
        await asyncio.sleep(0.005)
        self.loaded = "value"
        made = await self.ctx.storage.get("made", 0) + 1
        await self.ctx.storage.put("made", made)

    async def arm(self, when_ms, failures=0):
        await self.ctx.storage.put("failures", failures)
        await self.ctx.storage.set_alarm(when_ms)

    async def alarm(self, info):
        if info.retry_count < await self.ctx.storage.get("failures"):
            raise ValueError(f"{self.loaded} {self.ctx.id} {info.retry_count}")
        await self.ctx.storage.put("seen", [self.loaded, self.ctx.id, info.retry_count])


class Seeded(StatefulActor):
    """Reads its keys in the constructor."""

    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        ctx.block_concurrency_while(self._load)

    async def _load(self):
        self.found = await self.ctx.storage.list()

    async def found_keys(self):
        return self.found

    async def store(self, values):
        for key, value in values.items():
            await self.ctx.storage.put(key, value)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 3_600_000)
