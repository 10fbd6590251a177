"""Keys and values."""

from datetime import UTC, datetime, timedelta
from typing import Any

from edgeemu import StatefulActor
from edgeemu.codec import UNDEFINED
from edgeemu.sdk.errors import CodecError


class Point:
    pass


class A(StatefulActor):
    async def fill(self, keys):
        for key in keys:
            await self.ctx.storage.put(key, key)

    async def listed(self, options):
        start_after = options.pop("startAfter", None)
        return list(await self.ctx.storage.list(start_after=start_after, **options))

    async def listed_limit(self, limit):
        try:
            return len(await self.ctx.storage.list(limit=limit))
        except ValueError:
            return "refused"

    async def own_writes(self):
        storage = self.ctx.storage
        await storage.put("k", 5)
        seen = [await storage.get("k"), await storage.delete("k")]
        seen += [await storage.get("k", "missing"), list(await storage.list())]
        return [*seen, await storage.delete("k")]

    async def get(self, key):
        return await self.ctx.storage.get(key, "missing")

    async def delete(self, key):
        return await self.ctx.storage.delete(key)

    async def put(self, key, value):
        await self.ctx.storage.put(key, value)

    async def null(self):
        storage = self.ctx.storage
        await storage.put("k", None)
        seen = [await storage.get("k", "missing"), await storage.delete("k")]
        return [*seen, await storage.get("k", "missing"), await storage.delete("k")]

    async def reserved(self):
        storage = self.ctx.storage
        refused = []
        for key in ("__telnyx_a", "__telnyx_", "__telnyxa", "_telnyx_a"):
            try:
                await storage.put(key, 1)
            except Exception:
                refused.append(key)
        await storage.set_alarm(self.ctx.now_ms() + 60_000)
        return [refused, list(await storage.list())]

    async def decommission(self, when_ms):
        storage = self.ctx.storage
        for key in "abc":
            await storage.put(key, 1)
        await storage.set_alarm(when_ms)
        await storage.delete_all()
        return [list(await storage.list()), await storage.get_alarm()]

    async def alarm(self, info):
        await self.ctx.storage.put("seen", list(await self.ctx.storage.list()))

    async def snapshot(self):
        value = {"a": 1}
        writing = self.ctx.storage.put("k", value)
        value["a"] = 2
        await writing
        first = await self.ctx.storage.get("k")
        first["a"] = 3
        return await self.ctx.storage.get("k")

    async def echo(self, value):
        await self.ctx.storage.put("echo", value)
        return value

    async def refuses(self):
        circular: list = []
        circular.append(circular)

        async def promise():
            pass

        waiting = promise()
        bad = {
            "function": lambda: 1,
            "instance": Point(),
            "deep": [{"a": Point()}],
            "circular": circular,
            "promise": waiting,
            "undefined": UNDEFINED,
            "error": ValueError("x"),
        }
        refused = []
        await self.ctx.storage.put("k", "old")
        for name, value in bad.items():
            try:
                await self.ctx.storage.put("k", value)
            except CodecError as error:
                refused.append(f"{name} {error.name}")
        waiting.close()
        return [refused, await self.ctx.storage.get("k")]

    async def shared(self):
        part = {"a": 1}
        await self.ctx.storage.put("k", [part, part])
        first, second = await self.ctx.storage.get("k")
        first["a"] = 2
        return second

    async def bad_times(self):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 60_000)
        wrong: dict[str, Any] = {
            "NaN": float("nan"),
            "infinity": float("inf"),
            "text": "2027",
            "date without zone": datetime(2030, 1, 1),
            "nothing": None,
        }
        refused = []
        for name, when in wrong.items():
            try:
                await self.ctx.storage.set_alarm(when)
            except TypeError:
                refused.append(name)
        due_at_ms = await self.ctx.storage.get_alarm()
        return [refused, due_at_ms and due_at_ms - self.ctx.now_ms()]

    async def aware(self):
        moment = datetime(2030, 1, 1, tzinfo=UTC) + timedelta(microseconds=1_500)
        await self.ctx.storage.set_alarm(moment)
        return await self.ctx.storage.get_alarm()
