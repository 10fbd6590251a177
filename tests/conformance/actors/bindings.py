"""Bindings: what an actor and the function reach on `env` beside actors."""

from edgeemu import Request, Response, StatefulActor


class A(StatefulActor):
    async def kv(self, method, *args, **options):
        return await getattr(self.env.CACHE, method)(*args)

    async def put(self, key, value, ttl=None):
        await self.env.CACHE.put(key, value, expiration_ttl=ttl, metadata={"ignored": True})

    async def get_json(self, key):
        return await self.env.CACHE.get(key, type="json")

    async def page(self, prefix, limit, cursor):
        return await self.env.CACHE.list(prefix=prefix, limit=limit, cursor=cursor)

    async def put_then_throw(self, key, value):
        await self.ctx.storage.put(key, value)
        await self.env.CACHE.put(key, value)
        raise ValueError("boom")

    async def limit(self, key):
        return (await self.env.PER_USER.limit(key=key))["success"]

    async def mail(self, path):
        response = await self.env.MAIL.fetch(path)
        return [response.status, await response.text()]

    async def mail_then_throw(self):
        await self.env.MAIL.fetch("/sent")
        raise ValueError("boom")


async def fetch(request, env):
    if request.path == "/kv":
        return Response(await env.CACHE.get("k") or "nothing")
    if request.path == "/limit":
        return Response.json(await env.PER_USER.limit(key="alice"))
    answer = await env.MAIL.fetch(Request("https://mail.example/in?x=1", method="POST", body="hi"))
    return Response(await answer.text(), status=answer.status)
