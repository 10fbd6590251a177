"""Bindings: what an actor and the function reach on `env` beside actors."""

from edgeemu import Request, Response, StatefulActor


class A(StatefulActor):
    async def kv(self, method, *args, **options):
        return await getattr(self.env.CACHE, method)(*args)

    async def put(self, key, value, ttl=None):
        await self.env.CACHE.put(key, value, expiration_ttl=ttl, metadata={"ignored": True})

    async def get_json(self, key):
        try:
            return await self.env.CACHE.get(key, type="json")
        except ValueError:
            return "no JSON"

    async def page(self, prefix, limit, cursor):
        page = await self.env.CACHE.list(prefix=prefix, limit=limit, cursor=cursor)
        for item in page["keys"]:
            item["sizeBytes"], item["updatedAt"] = item.pop("size_bytes"), item.pop("updated_at")
        return page

    async def put_then_throw(self, key, value):
        await self.ctx.storage.put(key, value)
        await self.env.CACHE.put(key, value)
        raise ValueError("boom")

    async def limit(self, key):
        return (await self.env.PER_USER.limit(key=key))["success"]

    async def mail(self, url):
        response = await self.env.MAIL.fetch(url)
        return [response.status, await response.text()]

    async def mail_then_throw(self):
        await self.env.MAIL.fetch("https://mail.example/sent")
        raise ValueError("boom")


async def fetch(request, env):
    if request.path == "/kv":
        return Response(await env.CACHE.get("k") or "nothing")
    if request.path == "/limit":
        passes = (await env.PER_USER.limit(key="alice"))["success"]
        return Response("passes" if passes else "too often")
    answer = await env.MAIL.fetch(Request("https://mail.example/in?x=1", method="POST", body="hi"))
    return Response(await answer.text(), status=answer.status)
