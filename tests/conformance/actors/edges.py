"""Alarms among other turns, instances that work, and errors as actors see them."""

import asyncio

from edgeemu import Response, StatefulActor
from edgeemu.sdk.errors import ActorError


class A(StatefulActor):
    """Logs its turns in the order in which they ran."""

    async def arm(self, after_ms):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + after_ms)

    async def arm_at(self, when_ms):
        await self.ctx.storage.set_alarm(when_ms)
        return await self.ctx.storage.get_alarm()

    async def log(self, word):
        words = await self.ctx.storage.get("log", [])
        await self.ctx.storage.put("log", [*words, word])

    async def busy(self, seconds, word):
        await asyncio.sleep(seconds)
        await self.log(word)

    async def busy_then_arm(self, seconds, after_ms):
        await asyncio.sleep(seconds)
        await self.arm(after_ms)

    async def plan(self, plan):
        await self.ctx.storage.put("plan", plan)

    async def alarm(self, info):
        plan = await self.ctx.storage.get("plan", {})
        await asyncio.sleep(plan.get("sleep_s", 0))
        if info.retry_count < plan.get("throws", 0):
            raise ValueError(f"attempt {info.retry_count}")
        await self.log(f"alarm {info.retry_count}")


class Ttl(StatefulActor):
    """Records that expire: one alarm, at the expiry that comes first."""

    async def keep(self, name, ttl_ms):
        await self.ctx.storage.put(name, self.ctx.now_ms() + ttl_ms)
        await self._arm()

    async def _arm(self):
        expiries = (await self.ctx.storage.list()).values()
        if expiries:
            await self.ctx.storage.set_alarm(min(expiries))

    async def alarm(self, info):
        for name, expires_ms in (await self.ctx.storage.list()).items():
            if expires_ms <= self.ctx.now_ms():
                await self.ctx.storage.delete(name)
        await self._arm()


class Caller(StatefulActor):
    """Calls others from its alarm, which may take longer than they may, and notes their errors."""

    async def arm(self):
        await self.ctx.storage.set_alarm(self.ctx.now_ms())

    async def alarm(self, info):
        target = self.env.Callee.id_from_name("x")
        slow = self.env.Slow.id_from_name("x")
        calls = {
            "method": (target.throws, "boom"),
            "gate": (target.careless, "function"),
            "private": (target._hidden, "_hidden"),
            "unknown": (target.nothing, "nothing"),
            "argument": (lambda: target.echo(lambda: 1), "function"),
            "result": (target.gives_function, "function"),
            "method timeout": (target.sleeps, "30000 ms"),
            "fetch": (lambda: target.fetch("http://x/throws"), "boom"),
            "fetch timeout": (lambda: target.fetch("http://x/sleeps"), "30000 ms"),
            "init timeout": (slow.echo, "30000 ms"),
            "init": (self.env.Broken.id_from_name("x").echo, "boom"),
        }
        for label, (made, word) in calls.items():
            try:
                await made()
            except ActorError as error:
                await self.ctx.storage.put(label, [error.name, word in str(error)])


class Callee(StatefulActor):
    async def throws(self):
        raise ValueError("boom")

    async def careless(self):
        self.ctx.storage.put("k", lambda: 1)

    async def _hidden(self):
        return 1

    async def echo(self, value=None):
        return value

    async def gives_function(self):
        return lambda: 1

    async def sleeps(self):
        await asyncio.sleep(31)

    async def fetch(self, request):
        if request.path == "/throws":
            raise ValueError("boom")
        await asyncio.sleep(31)
        return Response("late")


class Slow(Callee):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        ctx.block_concurrency_while(lambda: asyncio.sleep(31))


class Broken(Callee):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        raise ValueError("boom")
