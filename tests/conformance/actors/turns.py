"""Turns: one at a time, atomic, budgeted."""

import asyncio

from edgeemu import Request, Response, StatefulActor
from edgeemu.sdk.errors import ActorFetchTimeoutError


class A(StatefulActor):
    async def fill(self, amount):
        await self.ctx.storage.put("balance", amount)

    async def debit(self, amount):
        balance = await self.ctx.storage.get("balance")
        await asyncio.sleep(0.010)
        if balance < amount:
            return {"ok": False, "balance": balance}
        await self.ctx.storage.put("balance", balance - amount)
        return {"ok": True, "balance": balance - amount}

    async def slow(self, seconds):
        await asyncio.sleep(seconds)
        return "done"

    async def put(self, key, value):
        await self.ctx.storage.put(key, value)

    async def get(self, key):
        return await self.ctx.storage.get(key, "missing")

    async def throws(self):
        await self.ctx.storage.put("k", 2)
        await self.ctx.storage.put("j", 9)
        raise ValueError("boom")

    async def unawaited(self):
        self.ctx.storage.put("k", 1)
        return "ok"

    async def forgiving(self):
        try:
            await self.ctx.storage.put("__telnyx_x", 1)
        except Exception as error:
            self.refused = str(error)
        await self.ctx.storage.put("k", 1)
        return 1

    async def careless(self):
        self.ctx.storage.put("__telnyx_x", 1)
        await self.ctx.storage.put("k", 1)
        return 1

    async def outer(self):
        await self.inner()

    async def inner(self):
        await self.ctx.storage.put("k", 1)

    async def stub(self):
        async def found():
            return self.env.A.id_from_name("y")

        return (await found()).id

    async def keep(self, value):
        value["a"] = 2
        self.kept = value
        return value

    async def kept_value(self):
        return self.kept

    async def copies(self):
        mine = {"a": 1}
        other = self.env.A.id_from_name("y")
        given = await other.keep(mine)
        given["a"] = 3
        return [mine, given, await other.kept_value()]

    async def send_function(self):
        await self.env.A.id_from_name("y").keep(lambda: 1)

    async def returns_function(self):
        await self.ctx.storage.put("k", 1)
        return lambda: 1

    async def remember(self):
        self.n = getattr(self, "n", 0) + 1
        await self.ctx.storage.put("n", self.n)
        return self.n

    async def overtime(self):
        await self.ctx.storage.put("k", 1)
        await asyncio.sleep(31)
        await self.ctx.storage.put("late", 1)
        return 1

    async def cycle(self):
        await self.ctx.storage.put("k", 1)
        return await self.env.A.id_from_name("x").remember()

    async def asks_slow(self, names):
        others = [self.env.A.id_from_name(name).slow(31) for name in names]
        await asyncio.gather(*others)

    async def arm(self):
        await self.ctx.storage.set_alarm(self.ctx.now_ms())

    async def alarm(self, info):
        """A delivery may take longer than the fetch that it waits for."""
        try:
            await self.env.B.id_from_name("y").fetch("http://b/slow")
        except ActorFetchTimeoutError as error:
            await self.ctx.storage.put("error", error.name)

    async def _hidden(self):
        return 1

    async def none(self):
        return None


class B(StatefulActor):
    async def put(self, key, value):
        await self.ctx.storage.put(key, value)

    async def get(self, key):
        return await self.ctx.storage.get(key, "missing")

    async def fetch(self, request: Request) -> Response:
        if request.path == "/slow":
            await asyncio.sleep(31)
        body = f"{request.method} {request.headers['x-sent']}"
        return Response(body, status=201, headers={"x-got": "yes"})


async def fetch(request, env):
    x, y = env.A.id_from_name("x"), env.B.id_from_name("y")
    if request.path == "/base":
        return await x.fetch(request)
    if request.path == "/own":
        answer = await y.fetch(Request("http://b/", method="PUT", headers={"x-sent": "1"}))
        return Response(f"{answer.headers['x-got']} {await answer.text()}", status=answer.status)
    if request.path == "/over":
        await x.put("k", 1)
        await asyncio.sleep(31)
    return Response("done")
