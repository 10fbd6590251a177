"""A value with a time to live: one actor for each key of a cache."""

from datetime import UTC, datetime, timedelta
from typing import Any

from edgeemu import AlarmInfo, Request, Response, StatefulActor


class CacheEntry(StatefulActor):
    # Keeps a value for some seconds. Putting again replaces it and starts its time anew.
    async def put(self, value: Any, ttl_seconds: float) -> None:
        # `datetime.now` shows the emulated time here, and the platform's time in production.
        expires_at = datetime.now(UTC) + timedelta(seconds=ttl_seconds)
        await self.ctx.storage.put("value", value)
        await self.ctx.storage.put("expires_at", expires_at)
        await self.ctx.storage.set_alarm(expires_at)

    async def get(self) -> Any:
        # An alarm may be a little late, or wait for its retry. The reader does not depend on it:
        # what has expired is gone for him, deleted or not.
        if await self._is_expired():
            return None
        return await self.ctx.storage.get("value")

    # Deletes the value now. The alarm goes first: delete_all does not clear it.
    async def drop(self) -> None:
        await self.ctx.storage.delete_alarm()
        await self.ctx.storage.delete_all()

    # Frees the space. It may be called twice for one alarm, or by hand, so it looks again.
    async def alarm(self, info: AlarmInfo) -> None:
        if await self._is_expired():
            await self.ctx.storage.delete_all()
        else:
            await self.ctx.storage.set_alarm(await self.ctx.storage.get("expires_at"))

    async def _is_expired(self) -> bool:
        expires_at = await self.ctx.storage.get("expires_at")
        return expires_at is None or datetime.now(UTC) >= expires_at


# PUT /KEY?ttl=SECONDS keeps the body, GET /KEY reads it, DELETE /KEY drops it.
async def fetch(request: Request, env: Any) -> Response:
    key = request.path.strip("/")
    if not key:
        return Response("give a key, such as /motd", status=404)
    entry = env.ENTRY.id_from_name(key)
    if request.method == "PUT":
        await entry.put(await request.text(), float(request.query.get("ttl", "60")))
        return Response(status=204)
    if request.method == "DELETE":
        await entry.drop()
        return Response(status=204)
    value = await entry.get()
    return Response("not there", status=404) if value is None else Response(value)
