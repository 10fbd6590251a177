"""Construction, initialisation, memory, and what an actor is told of itself."""

import asyncio

from edgeemu import StatefulActor


class A(StatefulActor):
    """Initialises slowly."""

    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        ctx.block_concurrency_while(self._prepare)

    async def _prepare(self):
        await asyncio.sleep(2)
        self.constructed = 1
        await self.ctx.storage.put("ready", 1)

    async def ready(self):
        return [await self.ctx.storage.get("ready"), self.ctx.now_ms()]


class B(StatefulActor):
    """Cannot be constructed while the key `broken` is there."""

    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        ctx.block_concurrency_while(self._prepare)

    async def _prepare(self):
        await self.ctx.storage.put("tried", 1)
        if await self.ctx.storage.get("broken"):
            raise ValueError("cannot start")

    async def hello(self):
        return "hello"


class C(StatefulActor):
    """Keeps one number in memory and one in storage."""

    async def inc(self):
        self.n = getattr(self, "n", 0) + 1
        n2 = await self.ctx.storage.get("n2", 0) + 1
        await self.ctx.storage.put("n2", n2)
        return [self.n, n2]

    async def who(self):
        return self.ctx.id

    async def arm(self, when_ms):
        await self.ctx.set_alarm(when_ms)
        return [await self.ctx.storage.get_alarm(), hasattr(self.ctx, "get_alarm")]


class D(StatefulActor):
    """Initialises for longer than it may."""

    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        ctx.block_concurrency_while(self._prepare)

    async def _prepare(self):
        if await self.ctx.storage.get("slow"):
            await asyncio.sleep(40)
            self.zombie = True

    async def hello(self):
        return getattr(self, "zombie", False)
