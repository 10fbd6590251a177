"""Shared actors: the function that owns `B`."""

from edgeemu import Response, StatefulActor


class B(StatefulActor):
    async def add(self, n):
        total = await self.ctx.storage.get("total", 0) + n
        await self.ctx.storage.put("total", total)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1_000)
        return total

    async def alarm(self, info):
        await self.ctx.storage.put("rang", True)

    async def total(self):
        return await self.ctx.storage.get("total", 0)

    async def bound(self, name):
        return hasattr(self.env, name)


async def fetch(request, env):
    return Response.json(await env.B.id_from_name("x").add(10))
