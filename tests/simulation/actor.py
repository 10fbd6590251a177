"""The actor of the simulation: it does what it is told, and asserts what it can see by itself."""

import asyncio
from contextlib import suppress

from edgeemu import StatefulActor
from edgeemu.sdk.errors import SqlError


class A(StatefulActor):
    async def _see(self):
        now_ms = self.ctx.now_ms()
        last_ms = await self.ctx.storage.get("now", 0)
        assert now_ms >= last_ms, f"time went back from {last_ms} to {now_ms}"
        await self.ctx.storage.put("now", now_ms)

    async def put(self, key, value):
        await self._see()
        await self.ctx.storage.put(key, value)

    async def delete(self, key):
        await self._see()
        return await self.ctx.storage.delete(key)

    async def arm(self, after_ms):
        await self._see()
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + after_ms)

    async def clear(self):
        await self._see()
        await self.ctx.storage.delete_alarm()

    def _row(self, key, value):
        query = "CREATE TABLE IF NOT EXISTS rows (key PRIMARY KEY, value);"
        query += "REPLACE INTO rows VALUES (?, ?)"
        self.ctx.storage.sql.exec(query, key, value)

    async def row(self, key, value):
        await self._see()
        self._row(key, value)

    async def row_undone(self, key, value):
        self._row("kept", value)

        def part():
            self._row(key, value)
            raise ValueError("on purpose")

        await self._see()
        with suppress(ValueError):
            self.ctx.storage.transaction_sync(part)

    async def row_throws(self, key, value):
        self._row(key, value)
        await self.throws(key, value)

    async def rows(self):
        try:
            found = self.ctx.storage.sql.exec("SELECT key, value FROM rows")
        except SqlError:
            return {}
        return {row["key"]: row["value"] for row in found}

    async def throws(self, key, value):
        await self.ctx.storage.put(key, value)
        await self.ctx.storage.delete("plan")
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 5)
        raise ValueError("on purpose")

    async def transact(self, key, value, how):
        # What stands beside the transaction is kept where its failure is caught.
        await self._see()
        await self.ctx.storage.put("before", value)

        async def body(txn):
            await txn.put(key, value)
            existed = await txn.delete("before")
            assert existed and await txn.get("before") is None
            if how != "lands":
                raise ValueError("on purpose")
            return await txn.get(key)

        given = await self._caught(body) if how == "caught" else await self._whole(body)
        await self.ctx.storage.put("after", value)
        return given

    async def _whole(self, body):
        return await self.ctx.storage.transaction(body)

    async def _caught(self, body):
        try:
            await self.ctx.storage.transaction(body)
        except ValueError:
            return "the caller sees an error instead"

    async def slow(self, key, value, row):
        if row:
            self._row(key, value)
        await self.ctx.storage.put(key, value)
        await self.ctx.storage.delete_alarm()
        await asyncio.sleep(5)

    async def look(self):
        return [await self.ctx.storage.list(), await self.ctx.storage.get_alarm()]

    async def alarm(self, info):
        seen = await self.ctx.storage.get_alarm()
        assert seen is None, f"an alarm inside its delivery: {seen}"
        await self._see()
        runs = await self.ctx.storage.get("runs", 0)
        await self.ctx.storage.put("runs", runs + 1)
        plan = await self.ctx.storage.get("plan", {})
        if plan.get("row"):
            self._row("runs", runs + 1)
        if plan.get("rearm_ms") is not None:
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + plan["rearm_ms"])
        if info.retry_count < plan.get("throws", 0):

            async def body(txn):
                await txn.put("runs", -1)
                raise ValueError(f"attempt {info.retry_count}")

            await (self._caught if plan["caught"] else self._whole)(body)
