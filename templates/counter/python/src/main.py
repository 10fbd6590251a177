"""A number that survives: what an actor keeps in storage is there after any restart."""

from typing import Any

from edgeemu import Request, Response, StatefulActor


class Counter(StatefulActor):
    async def increment(self, by: int = 1) -> int:
        # Reading, adding and writing cannot be interleaved with another call: an instance runs
        # one turn at a time, and all that a turn writes is kept as one, or not at all.
        value = await self.ctx.storage.get("value", 0) + by
        await self.ctx.storage.put("value", value)
        return value

    async def value(self) -> int:
        return await self.ctx.storage.get("value", 0)

    async def reset(self) -> None:
        await self.ctx.storage.delete_all()


# GET /NAME reads a counter, POST /NAME adds one to it.
async def fetch(request: Request, env: Any) -> Response:
    name = request.path.strip("/")
    if not name:
        return Response("give a counter's name, such as /visits", status=404)
    counter = env.COUNTER.id_from_name(name)
    if request.method == "POST":
        return Response.json({"value": await counter.increment()})
    return Response.json({"value": await counter.value()})
