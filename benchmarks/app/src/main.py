"""The application of the benchmarks, as an edgeemu project. The other systems serve the same."""

from urllib.parse import parse_qs, urlsplit

from edgeemu import AlarmInfo, Request, Response, StatefulActor

VERSION = "v0"


class Fired:
    """Counts deliveries in this process, so that a benchmark can ask without waking anybody."""

    count = 0
    last_ms = 0


class Bench(StatefulActor):
    """One counter with an alarm."""

    async def inc(self) -> int:
        """Get, put, and with the end of the turn the commit."""
        count = await self.ctx.storage.get("count", 0) + 1
        await self.ctx.storage.put("count", count)
        return count

    async def puts(self, count: int) -> None:
        """Many awaited puts in one turn."""
        for number in range(count):
            await self.ctx.storage.put(f"key{number % 100}", number)

    async def put_one(self, number: int) -> None:
        """One put, so one commit."""
        await self.ctx.storage.put("key", number)

    def inserts(self, count: int) -> None:
        """Many inserts with SQL in one turn."""
        sql = self.ctx.storage.sql
        sql.exec("CREATE TABLE IF NOT EXISTS lines (number INTEGER, text TEXT)")
        for number in range(count):
            sql.exec("INSERT INTO lines VALUES (?, ?)", number, "some text")

    async def arm(self, when_ms: int, every_ms: int) -> None:
        """Arm the alarm: for now with 0; `every_ms` re-arms it at each delivery."""
        await self.ctx.storage.put("state", {"count": 0, "every_ms": every_ms})
        await self.ctx.storage.set_alarm(when_ms or self.ctx.now_ms())

    async def alarm(self, info: AlarmInfo) -> None:
        """Get, put, and re-arm where it was asked for."""
        state = await self.ctx.storage.get("state")
        state["count"] += 1
        await self.ctx.storage.put("state", state)
        if state["every_ms"]:
            await self.ctx.storage.set_alarm(self.ctx.now_ms() + state["every_ms"])
        Fired.count += 1
        Fired.last_ms = self.ctx.now_ms()


async def fetch(request: Request, env) -> Response:
    """Route a request of the load generator."""
    url = urlsplit(request.url)
    query = {key: values[0] for key, values in parse_qs(url.query).items()}
    if url.path == "/version":
        return Response(VERSION)
    if url.path == "/fired":
        return Response.json({"count": Fired.count, "last_ms": Fired.last_ms})
    stub = env.BENCH.id_from_name(query["name"])
    if url.path == "/inc":
        return Response.json(await stub.inc())
    if url.path == "/puts":
        await stub.puts(int(query["count"]))
    elif url.path == "/commits":
        for number in range(int(query["count"])):
            await stub.put_one(number)
    elif url.path == "/inserts":
        await stub.inserts(int(query["count"]))
    elif url.path == "/arm":
        await stub.arm(int(query["when_ms"]), int(query["every_ms"]))
    return Response("ok")
