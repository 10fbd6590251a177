"""A function that owns no actor."""

from edgeemu import Response


async def fetch(request, env):
    return Response.json(await env.SHARED.id_from_name("a").echo(request.path))
