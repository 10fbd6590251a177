"""The documented patterns: session timeout, backoff, coalesced drain."""

from edgeemu import StatefulActor

IDLE_MS = 300_000


class Session(StatefulActor):
    """The sample of the platform's documentation, its strict comparison included."""

    async def touch(self):
        await self.ctx.storage.put("last_seen", self.ctx.now_ms())
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + IDLE_MS)

    async def alarm(self, info):
        last_seen = await self.ctx.storage.get("last_seen")
        if self.ctx.now_ms() - last_seen > IDLE_MS:
            await self.ctx.storage.delete_all()


class Backoff(StatefulActor):
    """Catches its own errors and re-arms itself."""

    async def begin(self, failures):
        await self.ctx.storage.put("failures", failures)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1_000)

    async def alarm(self, info):
        storage = self.ctx.storage
        tries = [*await storage.get("tries", []), [self.ctx.now_ms(), info.retry_count]]
        await storage.put("tries", tries)
        try:
            if len(tries) <= await storage.get("failures"):
                raise ConnectionError("down")
            await storage.put("done", True)
        except ConnectionError as error:
            await storage.put("error", str(error))
            await storage.set_alarm(self.ctx.now_ms() + 1_000 * 2 ** (len(tries) - 1))


class Drain(StatefulActor):
    """Many calls, one alarm, one batch."""

    async def enqueue(self, item):
        queue = await self.ctx.storage.get("queue", [])
        await self.ctx.storage.put("queue", [*queue, item])
        if await self.ctx.storage.get_alarm() is None:
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + 5_000)

    async def alarm(self, info):
        queue = await self.ctx.storage.get("queue", [])
        batches = await self.ctx.storage.get("batches", [])
        await self.ctx.storage.put("batches", [*batches, queue])
        await self.ctx.storage.delete("queue")


class Order(StatefulActor):
    """Appends to one log; `first` arms another one on its way."""

    async def arm(self, after_ms):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + after_ms)

    async def entries(self):
        return await self.ctx.storage.get("entries", [])

    async def append(self, name):
        await self.ctx.storage.put("entries", [*await self.entries(), name])

    async def alarm(self, info):
        await self.env.Order.id_from_name("log").append(self.ctx.id)
        if self.ctx.id == "arms-another":
            await self.env.Order.id_from_name("armed").arm(10)
