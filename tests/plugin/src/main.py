"""An actor that does whatever the tests of the fixture need."""

# ruff: noqa: TID251 - written as users write: what actor code reads is the emulated time

import asyncio
import time

from edgeemu import ActorError, Request, Response, StatefulActor


class Box(StatefulActor):
    async def web_socket(self, ws, request):
        @ws.on("message")
        async def said(data, is_binary):
            if data == "boom":
                raise ValueError("no such words")
            if data == "later":
                await asyncio.sleep(60)
            self.ctx.broadcast(data)

        @ws.on("close")
        async def left(code):
            await self.ctx.storage.put("left", code)

        ws.send(request.headers.get("x-name", "stranger"))

    async def put(self, key, value):
        await self.ctx.storage.put(key, value)

    async def get(self, key):
        return await self.ctx.storage.get(key)

    async def echo(self, *values):
        return list(values)

    async def mail(self):
        return (await self.env.MAIL.fetch("/")).status

    async def secret(self, handle):
        return await self.env.SECRETS.get(handle)

    async def arm(self, delay_ms, how="work"):
        await self.ctx.storage.put("how", how)
        await self.ctx.set_alarm(self.ctx.now_ms() + delay_ms)

    async def arm_at(self, when_ms):
        await self.ctx.set_alarm(when_ms)

    async def break_down(self, text="broken"):
        raise ValueError(text)

    async def check(self, value):
        assert value == 1, f"{value} is not 1"

    async def nap(self, seconds):
        await asyncio.sleep(seconds)
        return "rested"

    async def times(self):
        return [time.time() * 1_000, self.ctx.now_ms()]

    async def draw(self):
        return self.ctx.random.random()

    async def evict(self, word):
        return f"a method: {word}"

    async def ask(self, name, method, *args):
        """Call another box, and catch what it raises."""
        try:
            return await getattr(self.env.BOX.id_from_name(name), method)(*args)
        except ActorError as error:
            return f"caught {error}"

    async def pass_on(self, name, method, *args):
        """Call another box, and catch nothing."""
        return await getattr(self.env.BOX.id_from_name(name), method)(*args)

    async def alarm(self, info):
        how = await self.ctx.storage.get("how", "work")
        if how == "raise":
            raise ValueError("the alarm broke")
        if how == "raise once" and not info.is_retry:
            raise ValueError("the alarm broke once")
        if how == "check":
            await self.check(2)
        if how == "again":
            await self.ctx.set_alarm(self.ctx.now_ms() + 60_000)
        count = await self.ctx.storage.get("alarms", 0)
        await self.ctx.storage.put("alarms", count + 1)


async def fetch(request: Request, env):
    if request.path == "/room":
        if request.headers.get("upgrade") != "websocket":
            return Response("a WebSocket, please", status=426)
        return await env.BOX.id_from_name("room").fetch(request)
    if request.path == "/raise":
        raise ValueError("the front broke")
    if request.path == "/check":
        raise AssertionError("the front differs")
    if request.path == "/caught":
        return Response(await env.BOX.id_from_name("front").ask("other", "break_down"))
    return Response.json(
        {
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "type": request.headers.get("content-type"),
            "body": await request.text(),
        },
        status=201,
        headers={"X-Seen": "yes"},
    )
