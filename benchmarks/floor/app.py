"""The application of the benchmarks on the floor: plain coroutines that are given the host."""

import json
from typing import Any

VERSION = "v0"


class Bench:
    """One counter with an alarm."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage

    async def inc(self) -> int:
        """Get and put."""
        count = (await self.storage.get("count") or 0) + 1
        await self.storage.put("count", count)
        return count

    async def puts(self, count: int) -> None:
        """Many awaited puts in one turn."""
        for number in range(count):
            await self.storage.put(f"key{number % 100}", number)

    async def put_one(self, number: int) -> None:
        """One put."""
        await self.storage.put("key", number)

    async def inserts(self, count: int) -> None:
        """Many inserts with SQL in one turn."""
        sql = self.storage.sql()
        sql.execute("CREATE TABLE IF NOT EXISTS lines (number INTEGER, text TEXT)")
        for number in range(count):
            sql.execute("INSERT INTO lines VALUES (?, ?)", (number, "some text"))
        sql.commit()

    async def arm(self, when_ms: int, every_ms: int) -> None:
        """Arm the alarm."""
        await self.storage.put("state", {"count": 0, "every_ms": every_ms})
        self.storage.set_alarm(when_ms or self.storage.now_ms())

    async def alarm(self) -> None:
        """Get, put, and re-arm where it was asked for."""
        state = await self.storage.get("state")
        state["count"] += 1
        await self.storage.put("state", state)
        if state["every_ms"]:
            self.storage.set_alarm(self.storage.now_ms() + state["every_ms"])


async def handle(host: Any, path: str, query: dict[str, str]) -> str:
    """Answer a request of the load generator."""
    if path == "/version":
        return VERSION
    if path == "/fired":
        return json.dumps({"count": host.fired_count, "last_ms": host.fired_last_ms})
    if path == "/advance":
        return json.dumps(await host.advance(int(query["duration_ms"])))
    name = query["name"]
    if path == "/inc":
        return json.dumps(await host.turn(name, lambda actor: actor.inc()))
    if path == "/puts":
        await host.turn(name, lambda actor: actor.puts(int(query["count"])))
    elif path == "/commits":
        for number in range(int(query["count"])):
            await host.turn(name, lambda actor, number=number: actor.put_one(number))
    elif path == "/inserts":
        await host.turn(name, lambda actor: actor.inserts(int(query["count"])))
    elif path == "/arm":
        when_ms, every_ms = int(query["when_ms"]), int(query["every_ms"])
        await host.turn(name, lambda actor: actor.arm(when_ms, every_ms))
    return "ok"
