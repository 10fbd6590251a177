"""WebSockets: what a client says is what the actor does."""

import asyncio

from edgeemu import Response, StatefulActor


class A(StatefulActor):
    async def web_socket(self, ws, request):
        how = request.query.get("how")
        ws.on("message", lambda data, is_binary: self._said(ws, data, is_binary))
        ws.on("error", lambda error: self._note("error"))
        ws.on("close", lambda code: self._note(f"close {code}"))
        await self._note("open")
        if how == "throws":
            ws.send("sent before")
            raise ValueError("boom")
        if how == "headers":
            names = ",".join(sorted(name.lower() for name in request.headers))
            ws.send(f"{request.method} {request.path} {names} {ws.protocol}")
        if how == "slow":
            await asyncio.sleep(40)
        if how == "nap":
            await asyncio.sleep(10)

    async def _said(self, ws, data, is_binary):
        what, _, rest = ("binary" if is_binary else data).partition(" ")
        await self._note(what[:10])
        if what == "throws":
            ws.send("sent before")
            raise ValueError("boom")
        if what == "binary":
            ws.send(data)
        if what == "count":
            ws.send(f"{self.ctx.count()} {len(self.ctx.sockets())}")
        if what == "all":
            ws.send(f"to {self.ctx.broadcast(rest)}")
        if what == "nap":
            await asyncio.sleep(10)
            await self._note("rested")
        if what == "slow":
            await asyncio.sleep(40)
        if what == "close":
            code = int(rest) if rest else None
            ws.close(code, "said so" if code else "")
            ws.send("too late")
        if what == "echo":
            ws.send(rest)

    async def _note(self, what):
        seen = await self.ctx.storage.get("seen", [])
        await self.ctx.storage.put("seen", [*seen, what])

    async def note(self, what):
        await self._note(what)

    async def arm(self, in_ms):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + in_ms)

    async def alarm(self, info):
        await self._note("alarm")
        self.ctx.broadcast("alarm")


class B(StatefulActor):
    async def note(self, what):
        await self.ctx.storage.put("noted", what)


async def fetch(request, env):
    if request.headers.get("upgrade") != "websocket":
        return Response("a WebSocket, please", status=426)
    if request.path == "/nobody":
        return Response("who are you?", status=401)
    _, kind, name = request.path.split("/")
    return await getattr(env, kind).id_from_name(name).fetch(request)
