"""One actor with one method, and a function in front that lets HTTP reach it."""

from typing import Any

from edgeemu import Request, Response, StatefulActor


class Greeter(StatefulActor):
    # A method whose name does not start with "_" can be called from outside: from the function
    # below, from other actors, from `edgeemu call` and from tests.
    async def greet(self, who: str = "world") -> str:
        # `self.ctx.id` is the name of this instance: "bob" in `Greeter/bob`.
        return f"Hello, {who}. This is {self.ctx.id}."


# Every HTTP request comes in here. `env.GREETER` is the binding of edgeemu.toml.
async def fetch(request: Request, env: Any) -> Response:
    name = request.path.strip("/") or "nobody"
    greeter = env.GREETER.id_from_name(name)
    return Response(await greeter.greet(request.query.get("who", "world")))
