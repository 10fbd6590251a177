"""The actor of the simulation: it does what it is told, and asserts what it can see by itself."""

import asyncio
from contextlib import suppress

from edgeemu import StatefulActor
from edgeemu.sdk.errors import SqlError

TABLES = """
    CREATE TABLE IF NOT EXISTS rows (key PRIMARY KEY, value);
    CREATE TABLE IF NOT EXISTS ledger (number PRIMARY KEY, now_ms)
"""
REPLACE = "REPLACE INTO rows VALUES (?, ?)"
ADD_ONE = "UPDATE rows SET value = value + 1"


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

    # --- SQL -------------------------------------------------------------------------------

    def _sql(self, query, *bindings):
        return self.ctx.storage.sql.exec(f"{TABLES};{query}", *bindings)

    async def edit(self, how, key, value):
        """One of several ways to write rows; a part that is undone alone, or fails, is caught."""
        await self._see()
        if how == "replace":
            self._sql(REPLACE, key, value)
        elif how == "add":
            self._sql("UPDATE rows SET value = value + ? WHERE key = ?", value, key)
        elif how == "remove":
            self._sql("DELETE FROM rows WHERE key = ?", key)
        elif how == "several":
            self._sql(f"{ADD_ONE}; DELETE FROM rows WHERE value > 9; {REPLACE}", key, value)
        elif how == "breaks":
            with suppress(SqlError):
                self._sql(f"{ADD_ONE}; INSERT INTO nowhere VALUES (1)")
        elif how == "undone":
            self._sql(REPLACE, "kept", value)
            with suppress(ValueError):
                self.ctx.storage.transaction_sync(lambda: self._part(key, value))
        elif how == "nested":
            self.ctx.storage.transaction_sync(lambda: self._whole_part(key, value))

    def _part(self, key, value):
        self._sql(f"DELETE FROM rows; {REPLACE}", key, value)
        raise ValueError("on purpose")

    def _whole_part(self, key, value):
        self._sql(REPLACE, key, value)
        with suppress(ValueError):
            self.ctx.storage.transaction_sync(lambda: self._part("kept", value))
        self._sql(REPLACE, "kept", value)

    async def edit_throws(self, key, value):
        self._sql(f"DELETE FROM ledger; {ADD_ONE}; {REPLACE}", key, value)
        await self.throws(key, value)

    # --- turns that write in every way -----------------------------------------------------

    async def enter(self, after_ms, how):
        """One entry of the ledger, and the alarm; `how` the transaction or the turn ends."""
        await self._see()
        number = await self._enter()
        if after_ms is None:
            await self.ctx.storage.delete_alarm()
        else:
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + after_ms)

        async def body(txn):
            await txn.put("landed", number)
            if how in ("caught", "fails"):
                raise ValueError("on purpose")

        await (self._caught if how == "caught" else self._whole)(body)
        if how == "throws":
            raise ValueError("on purpose")
        return number

    async def _enter(self):
        """Keys and SQL know of the same entries, or half a turn was kept."""
        number = await self.ctx.storage.get("count", 0) + 1
        (kept,) = self._sql("SELECT count(*) AS entries, max(number) AS last FROM ledger")
        there = {"entries": number - 1, "last": number - 1 or None}
        assert kept == there, f"half a turn: {kept} in SQL, {there} in the keys"
        self._sql("INSERT INTO ledger VALUES (?, ?)", number, self.ctx.now_ms())
        await self.ctx.storage.put("count", number)
        return number

    async def wipe(self, throws):
        """Every key goes, and with the count the ledger; rows and alarm stay."""
        await self._see()
        if await self.ctx.storage.get("count", 0):
            self._sql("DELETE FROM ledger")
        await self.ctx.storage.delete_all()
        await self._see()
        if throws:
            raise ValueError("on purpose")

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

        async def next_body(txn):
            await txn.put("after", value)

        given = await self._caught(body) if how == "caught" else await self._whole(body)
        await self._whole(next_body)
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
            self._sql(REPLACE, key, value)
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
            await self._enter()
        if plan.get("rearm_ms") is not None:
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + plan["rearm_ms"])
        if info.retry_count < plan.get("throws", 0):

            async def body(txn):
                await txn.put("runs", -1)
                raise ValueError(f"attempt {info.retry_count}")

            await (self._caught if plan["caught"] else self._whole)(body)
