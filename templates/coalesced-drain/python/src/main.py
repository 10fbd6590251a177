"""Many calls, one alarm, one batch.

Sending each item by itself would cost a request each. An `Outbox` collects them for ten seconds and
then sends all that came in as one batch.
"""

from typing import Any

from edgeemu import ActorError, AlarmInfo, Request, Response, StatefulActor

WAIT_MS = 10_000
"""How long the first item of a batch waits for others."""

RETRY_MS = 60_000
"""How long a batch waits that could not be sent."""

BATCH_MAX = 100


class Outbox(StatefulActor):
    async def add(self, item: Any) -> int:
        """Take an item in; its number."""
        number = await self.ctx.storage.get("next_number", 1)
        # Leading zeros, because keys are ordered as text: "item/10" would come before "item/9".
        await self.ctx.storage.put(f"item/{number:012d}", item)
        await self.ctx.storage.put("next_number", number + 1)
        # Only the first item sets the alarm. If each did, a busy outbox would never be emptied.
        if await self.ctx.storage.get_alarm() is None:
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + WAIT_MS)
        return number

    async def waiting(self) -> int:
        return len(await self.ctx.storage.list(prefix="item/", limit=1_000))

    async def alarm(self, info: AlarmInfo) -> None:
        found = await self.ctx.storage.list(prefix="item/", limit=BATCH_MAX)
        if not found:  # The alarm may be delivered once more after the batch was sent.
            return
        batch = [[int(key.removeprefix("item/")), item] for key, item in found.items()]
        archive = self.env.ARCHIVE.id_from_name(self.ctx.id)
        try:
            await archive.store(batch)
        except ActorError:
            # Failing here would lose the alarm after four attempts, and the items would stay.
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + RETRY_MS)
            return
        for key in found:
            await self.ctx.storage.delete(key)
        if len(found) == BATCH_MAX:  # There may be more.
            await self.ctx.storage.set_alarm(self.ctx.now_ms())


class Archive(StatefulActor):
    """Where batches go. It stands in for a service of somebody else."""

    async def store(self, batch: list[list[Any]]) -> None:
        # A batch may arrive twice, and the second time with more in it: its sender can crash after
        # it was received. Numbers only grow, so the highest one tells what is here already.
        last_number = await self.ctx.storage.get("last_number", 0)
        new = [(number, item) for number, item in batch if number > last_number]
        if not new:
            return
        for number, item in new:
            await self.ctx.storage.put(f"item/{number:012d}", item)
        await self.ctx.storage.put("last_number", new[-1][0])
        batches = await self.ctx.storage.get("batches", 0)
        await self.ctx.storage.put("batches", batches + 1)

    async def items(self) -> list[Any]:
        return list((await self.ctx.storage.list(prefix="item/", limit=1_000)).values())

    async def batches(self) -> int:
        return await self.ctx.storage.get("batches", 0)


# POST /NAME takes a JSON value in, GET /NAME says how many wait.
async def fetch(request: Request, env: Any) -> Response:
    name = request.path.strip("/")
    if not name:
        return Response("give the name of an outbox, such as /events", status=404)
    outbox = env.OUTBOX.id_from_name(name)
    if request.method == "POST":
        return Response.json({"number": await outbox.add(await request.json())}, status=202)
    return Response.json({"waiting": await outbox.waiting()})
