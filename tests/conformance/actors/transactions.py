"""Transactions: what lands together, what a failure undoes, and what the turn then ends as."""

import asyncio

from edgeemu import Response, StatefulActor


class Error(Exception):
    """Goes by the name that errors have in the other language, too."""


class A(StatefulActor):
    async def transfer(self):
        storage = self.ctx.storage
        await storage.put("kept", 1)

        async def body(txn):
            await txn.put("a", 1)
            await txn.put("gone", 2)
            seen = [await txn.get("a"), await txn.delete("gone"), await txn.get("gone", "missing")]
            seen += [await txn.get("kept"), list(await txn.list())]
            return [*seen, await storage.get("a", "missing"), list(await storage.list(prefix="a"))]

        given = await storage.transaction(body)
        return [given, await storage.get("a")]

    async def pages(self):
        """What a list shows while some keys are stored, some of the turn, some of the buffer."""
        storage = self.ctx.storage
        await storage.put("b", 1)
        await storage.delete("d")

        async def body(txn):
            await txn.put("c", 1)
            await txn.delete("a")
            shown = [list(await txn.list()), list(await txn.list(limit=2, reverse=True))]
            return [*shown, await txn.delete("a"), await txn.delete("b")]

        return [await storage.transaction(body), list(await storage.list())]

    async def fail(self, caught, rearm_ms):
        storage = self.ctx.storage
        await storage.put("before", 1)

        async def body(txn):
            await txn.put("in", 1)
            await storage.put("beside", 1)
            if rearm_ms is not None:
                await storage.set_alarm(self.ctx.now_ms() + rearm_ms)
            raise Error("boom")

        try:
            await storage.transaction(body)
        except Error:
            if not caught:
                raise
        await storage.put("after", 1)
        return "not seen"

    async def fail_then_raise(self):
        try:
            await self.fail_inside()
        except Error:
            raise Error("other") from None

    async def fail_inside(self):
        async def body(txn):
            await txn.put("in", 1)
            raise Error("boom")

        await self.ctx.storage.transaction(body)

    async def left_alone(self, fails):
        """The transaction is not awaited, and takes its time."""

        async def body(txn):
            await txn.put("in", 1)
            await asyncio.sleep(1)
            if fails:
                raise Error("boom")
            await txn.put("late", 1)

        await self.ctx.storage.put("k", 1)
        self.ctx.storage.transaction(body)
        return "ok"

    async def surface(self):
        storage = self.ctx.storage

        async def body(txn):
            names = ["delete_all", "set_alarm", "get_alarm", "delete_alarm", "sql", "transaction"]
            return [name for name in names if hasattr(txn, name)]

        return await storage.transaction(body)

    async def nested(self, in_task):
        """The refusal of the inner one, which the outer one survives."""
        storage = self.ctx.storage

        async def inner(txn):
            await txn.put("inner", 1)

        async def refused():
            try:
                await storage.transaction(inner)
            except Exception as error:
                return str(error)

        async def body(txn):
            await txn.put("outer", 1)
            return await (asyncio.create_task(refused()) if in_task else refused())

        return await storage.transaction(body)

    async def side_by_side(self):
        storage = self.ctx.storage

        async def body(txn, key, seconds):
            await txn.put(key, 1)
            await asyncio.sleep(seconds)
            return [key, list(await txn.list())]

        return await asyncio.gather(
            storage.transaction(lambda txn: body(txn, "a", 1)),
            storage.transaction(lambda txn: body(txn, "b", 2)),
        )

    async def used_late(self):
        kept = []

        async def body(txn):
            kept.append(txn)
            await txn.put("a", 1)

        await self.ctx.storage.transaction(body)
        refused = []
        for use in (lambda: kept[0].get("a"), lambda: kept[0].put("b", 1), kept[0].list):
            try:
                await use()
            except Exception as error:
                refused.append(str(error))
        return refused

    async def reserved(self):
        async def body(txn):
            refused = []
            for write in (lambda: txn.put("__telnyx_a", 1), lambda: txn.delete("__telnyx_a")):
                try:
                    await write()
                except Exception as error:
                    refused.append("__telnyx_" in str(error))
            await txn.put("a", 1)
            return refused

        return await self.ctx.storage.transaction(body)

    async def bad_write_left_alone(self):
        async def body(txn):
            txn.put("__telnyx_a", 1)
            await txn.put("a", 1)

        await self.ctx.storage.put("k", 1)
        await self.ctx.storage.transaction(body)
        return "not seen"

    async def bad_write_of_a_task(self):
        async def write():
            self.ctx.storage.put("__telnyx_a", 1)
            self.ctx.storage.put("a", 1)

        asyncio.create_task(write())  # noqa: RUF006 - that nobody awaits it is the point
        await asyncio.sleep(0)
        return "not seen"

    async def too_long(self):
        async def body(txn):
            await txn.put("in", 1)
            await asyncio.sleep(40)

        self.ctx.storage.transaction(body)
        return "not seen"

    async def arm(self, after_ms, plan):
        await self.ctx.storage.put("plan", plan)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + after_ms)

    async def alarm(self, info):
        storage = self.ctx.storage
        plan = await storage.get("plan")
        await storage.put("tries", [*await storage.get("tries", []), info.retry_count])
        if info.retry_count < plan["fails"]:
            try:
                await self.fail_inside()
            except Error:
                await storage.put("caught", 1)
        if plan.get("rearm_ms") is not None and info.retry_count == 0:
            await storage.put("plan", {"fails": 0})
            await storage.set_alarm(self.ctx.now_ms() + plan["rearm_ms"])
        if plan.get("clear"):
            await storage.delete_alarm()

    async def fetch(self, request):
        try:
            await self.fail_inside()
        except Error:
            await self.ctx.storage.put("caught", 1)
        return Response("not seen")


class B(StatefulActor):
    """Begins a transaction in its constructor, or in what it wants awaited there."""

    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        if ctx.id == "constructor":
            ctx.storage.transaction(self._prepare)
        else:
            ctx.block_concurrency_while(self._initialise)

    async def _prepare(self, txn):
        await txn.put("prepared", await txn.get("prepared", 0) + 1)
        if await self.ctx.storage.get("broken"):
            raise Error("cannot prepare")

    async def _initialise(self):
        await self.ctx.storage.put("tried", await self.ctx.storage.get("tried", 0) + 1)
        try:
            await self.ctx.storage.transaction(self._prepare)
        except Error:
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + 60_000)

    async def hello(self):
        return await self.ctx.storage.get("prepared")


async def fetch(request, env):
    return await env.A.id_from_name("x").fetch(request)
