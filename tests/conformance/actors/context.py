"""What an actor is and holds: its base class, context, namespaces, stubs, and who may call what."""

import asyncio
import re

from edgeemu import Response, StatefulActor
from edgeemu.sdk.errors import ActorError

MADE: list[str] = []
"""The instances that were constructed since this module was loaded."""


def here(name):
    """A name of the platform in the spelling of Python."""
    return re.sub("([A-Z])", r"_\1", name).lower()


class Base(StatefulActor):
    """Stands between the platform's class and the user's."""

    async def inherited(self):
        return "inherited"

    async def overridden(self):
        return "base"


class A(Base):
    kind = "a class attribute"

    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        self.field = [1]
        self.given = [ctx is self.ctx, env is self.env, ctx.id]
        MADE.append(ctx.id)

    @property
    def shown(self):
        return "a property"

    @staticmethod
    async def static():
        return "static"

    async def overridden(self):
        return "own"

    def plain(self):
        return "not async"

    async def no_result(self):
        self.field.append(2)

    async def told(self):
        """What the constructor was given."""
        return self.given

    async def secret(self, handle):
        return await self.env.SECRETS.get(handle)

    async def bound(self, names):
        """Which of these the environment has."""
        return [name for name in names if hasattr(self.env, name)]

    async def made(self):
        return MADE

    async def _hidden(self):
        return 1

    async def members(self, names):
        """Which of these the context has."""
        return [name for name in names if hasattr(self.ctx, here(name))]

    async def storage_members(self, names):
        return [name for name in names if hasattr(self.ctx.storage, here(name))]

    async def blocks(self, fails):
        async def prepare():
            await self.ctx.storage.put("inside", 1)
            await asyncio.sleep(1)
            if fails:
                raise ValueError("not prepared")
            return "prepared"

        await self.ctx.storage.put("before", 1)
        return [await self.ctx.block_concurrency_while(prepare), self.ctx.now_ms()]

    async def addresses(self):
        """Names instances and calls none."""
        stubs = [
            self.env.A.id_from_name("y"),
            self.env.A.id_from_name("tenant:room", location_hint="eu"),
            self.env.A.id_from_name("+15551234567", location_hint="anywhere"),
        ]
        try:
            stubs[0].id = "z"
            writable = True
        except AttributeError:
            writable = False
        return [[stub.id for stub in stubs], writable, hasattr(self.env.A, "get")]

    async def no_names(self):
        """How many of these are refused as names."""
        refused = 0
        for name in ("", None, 5, ["y"]):
            try:
                self.env.A.id_from_name(name)
            except TypeError:
                refused += 1
        return refused

    async def unique(self):
        try:
            self.env.A.new_unique_id()
        except Exception as error:
            return "known defect" in str(error)
        return "made"

    async def then(self):
        """A stub looks like no awaitable, so it can be returned from an async function."""
        stub = self.env.A.id_from_name("y")
        return hasattr(stub, "__await__")

    async def asks(self, method):
        """A name that is judged where the instance is, not where it is asked for."""
        stub = self.env.A.id_from_name("y")
        asked = getattr(stub, method)
        try:
            return await asked()
        except ActorError as error:
            return error.name


class B(StatefulActor):
    """Constructed by hand nowhere, and without any handler."""


class C(StatefulActor):
    """Cannot be constructed while the key `broken` is there."""

    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        ctx.block_concurrency_while(self._load)

    async def _load(self):
        self.loaded = await self.ctx.storage.get("broken", "missing")
        if self.loaded is True:
            raise ValueError("broken")

    async def alarm(self, info):
        await self.ctx.storage.put("ran", [info.retry_count, self.loaded])

    async def fetch(self, request):
        return Response(f"{request.path} {self.loaded}")


async def fetch(request, env):
    if request.path == "/throws":
        await env.A.id_from_name("x").plain()
        raise ValueError("not for the client")
    if request.path == "/greets":
        return Response(env.GREETING)
    found = {"/b": env.B, "/c": env.C}[request.path].id_from_name("x")
    return await found.fetch(request)
