"""Keys: what is refused, what a list holds, and what a turn that fails leaves."""

from typing import Any

from edgeemu import StatefulActor
from edgeemu.sdk.errors import ActorError


class A(StatefulActor):
    async def fill(self, keys):
        for key in keys:
            await self.ctx.storage.put(key, key)

    async def get(self, key):
        return await self.ctx.storage.get(key, "missing")

    async def reserved(self):
        """What each call makes of a key of the runtime, while the runtime has an alarm to keep."""
        storage = self.ctx.storage
        await storage.set_alarm(self.ctx.now_ms() + 60_000)
        said: list[Any] = []
        for write in (lambda: storage.put("__telnyx_k", 1), lambda: storage.delete("__telnyx_k")):
            try:
                await write()
            except ActorError as error:
                said.append("__telnyx_" in str(error))
        said.append(await storage.get("__telnyx_k", "missing"))
        said.append(list(await storage.list(prefix="__telnyx_")))
        await storage.delete_all()
        return [*said, await storage.get_alarm() is not None]

    async def no_keys(self):
        """How many of the calls refuse what is no key."""
        storage, refused = self.ctx.storage, 0
        wrong: list[Any] = ["", 5, None, ["k"]]
        for key in wrong:
            for call in (storage.get, storage.delete, lambda key: storage.put(key, 1)):
                try:
                    await call(key)
                except TypeError:
                    refused += 1
        return refused

    async def merged(self):
        """Lists in the middle of a turn: what is stored, less and with what the turn wrote."""
        storage = self.ctx.storage
        await storage.put("b", "new")
        await storage.put("d", "changed")
        await storage.delete("a")
        whole = await storage.list()
        from_the_end = await storage.list(reverse=True, limit=2)
        await storage.delete_all()
        await storage.put("z", 1)
        return [list(whole.items()), list(from_the_end), list(await storage.list())]

    async def count_pages(self):
        """How many keys each page has, from one last key seen to the next."""
        sizes, last = [], None
        while page := await self.ctx.storage.list(start_after=last):
            sizes.append(len(page))
            last = list(page)[-1]
        return sizes

    async def everything_then_throw(self):
        storage = self.ctx.storage
        await storage.put("new", 1)
        await storage.delete("a")
        await storage.set_alarm(self.ctx.now_ms() + 5_000)
        await storage.delete_all()
        await storage.put("after", 1)
        raise ValueError("too late")

    async def clear_alarm_then_throw(self):
        await self.ctx.storage.delete_alarm()
        raise ValueError("too late")

    async def arm(self, after_ms):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + after_ms)

    async def forgives(self):
        """Catches what each failing write says, and goes on."""
        storage, said = self.ctx.storage, []
        soon: Any = "soon"
        for write in (
            lambda: storage.put("k", lambda: 1),
            lambda: storage.put("", 1),
            lambda: storage.put("__telnyx_k", 1),
            lambda: storage.set_alarm(soon),
        ):
            try:
                await write()
            except Exception:
                said.append("refused")
        await storage.put("k", 1)
        return said

    async def careless(self):
        """Leaves a failing write alone, between writes that are well."""
        await self.ctx.storage.put("before", 1)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 5_000)
        self.ctx.storage.put("k", lambda: 1)
        await self.ctx.storage.put("after", 1)
        return "looks well"

    async def alarm(self, info):
        if await self.ctx.storage.get("careful"):
            return
        await self.ctx.storage.put("ran", 1)
        self.ctx.storage.put("k", lambda: 1)


class B(StatefulActor):
    async def fill(self, keys):
        for key in keys:
            await self.ctx.storage.put(key, key)

    async def get(self, key):
        return await self.ctx.storage.get(key, "missing")
