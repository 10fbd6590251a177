"""A session that ends five minutes after it was last touched."""

from typing import Any

from edgeemu import AlarmInfo, Request, Response, StatefulActor

IDLE_MS = 5 * 60_000


class Session(StatefulActor):
    # Called whenever the user does something: it pushes the end out by five minutes.
    async def touch(self) -> None:
        now_ms = self.ctx.now_ms()
        await self.ctx.storage.put("last_seen", now_ms)
        # An actor has one alarm. Setting it replaces the one that was set before.
        await self.ctx.storage.set_alarm(now_ms + IDLE_MS)

    async def ends_at_ms(self) -> int | None:
        return await self.ctx.storage.get_alarm()

    # Ends the session now. The alarm goes first: delete_all does not clear it.
    async def end(self) -> None:
        await self.ctx.storage.delete_alarm()
        await self.ctx.storage.delete_all()

    # Called when the alarm is due. It may be called twice for one alarm, so it looks again at what
    # is stored before it does anything.
    async def alarm(self, info: AlarmInfo) -> None:
        last_seen_ms = await self.ctx.storage.get("last_seen", 0)
        # `>=`, not `>`: an alarm that comes at exactly its instant has found the session idle too.
        if self.ctx.now_ms() - last_seen_ms >= IDLE_MS:
            await self.ctx.storage.delete_all()
        else:
            # It was fired early, by hand. Without this line the session would never end.
            await self.ctx.storage.set_alarm(last_seen_ms + IDLE_MS)


# POST /NAME touches a session, GET /NAME says when it ends, DELETE /NAME ends it.
async def fetch(request: Request, env: Any) -> Response:
    name = request.path.strip("/")
    if not name:
        return Response("give a session's name, such as /alice", status=404)
    session = env.SESSION.id_from_name(name)
    if request.method == "POST":
        await session.touch()
    elif request.method == "DELETE":
        await session.end()
    return Response.json({"ends_at_ms": await session.ends_at_ms()})
