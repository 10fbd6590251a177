"""The same, changed: after a hot reload."""

from edgeemu import StatefulActor


class A(StatefulActor):
    pass


class B(StatefulActor):
    async def hello(self):
        return "hello from the new code"


class C(StatefulActor):
    async def inc(self):
        self.n = getattr(self, "n", 0) + 1
        n2 = await self.ctx.storage.get("n2", 0) + 1
        await self.ctx.storage.put("n2", n2)
        return [self.n, n2, "new"]


class D(StatefulActor):
    pass
