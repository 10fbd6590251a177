"""Shared actors: the function that refers to `B`, and owns `A`."""

from edgeemu import Response, StatefulActor


class A(StatefulActor):
    async def pass_on(self, n):
        return await self.env.B.id_from_name("x").add(n)

    async def bound(self, name):
        return hasattr(self.env, name)


async def fetch(request, env):
    return Response.json(await env.B.id_from_name("x").total())
