"""A small project for tests of the API and of hot reload: one of everything that can go wrong."""

from pathlib import Path

from edgeemu.config import Config
from tests.support.emulators import write_project

SOURCE = """
class A(StatefulActor):
    async def touch(self):
        await self.ctx.storage.put("seen", self.ctx.now_ms())
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 60_000)

    async def alarm(self, info):
        if await self.ctx.storage.get("broken"):
            raise ValueError("broken")
        await self.ctx.storage.put("fired", self.ctx.now_ms())

    async def echo(self, *values):
        return list(values)

    async def boom(self):
        raise ValueError("boom")

    async def nap(self, ms):
        await asyncio.sleep(ms / 1_000)
        return "rested"

    async def web_socket(self, ws, request):
        ws.on("message", ws.send)

    async def shout_to_all(self, text):
        return self.ctx.broadcast(text)

    async def shout(self):
        print("an actor's own words")


async def fetch(request, env):
    if request.path == "/boom":
        raise ValueError("boom")
    if request.path == "/ws":
        return await env.A.id_from_name("x").fetch(request)
    if request.path == "/nap":
        return Response(await env.A.id_from_name("front").nap(60_000))
    if request.path == "/status":
        status = int(request.query["code"])
        return Response("not for 204", status=status)
    if request.path == "/headers":
        fields = {"x-kept": "yes", "Connection": "close", "Content-Length": "999"}
        return Response("four", headers=fields)
    if request.path == "/bad":
        return Response("x", headers={"x-broken": "a\\r\\nset-cookie: b"})
    if request.path == "/long":
        return Response("x" * 2_000)
    seen = {name: value for name, value in request.headers.items() if name.startswith("x-")}
    body = (await request.bytes()).hex()[:32]
    return Response.json(
        {"method": request.method, "url": request.url, "headers": seen, "body": body}
    )
"""


def write_api_project(folder: Path, toml: str = "[limits]\nbody_bytes = 1000\n") -> Config:
    """The project in `folder`."""
    return write_project(folder, SOURCE, toml=toml)
