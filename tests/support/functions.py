"""Two functions on one emulator, of which one owns an actor that the other refers to."""

from pathlib import Path
from textwrap import dedent

from edgeemu.config import Config, load_config

SHOP_TOML = """\
name = "shop"
main = "src/main.py"
[[actors]]
binding = "ORDER"
type = "Order"
[[actors]]
binding = "LEDGER"
type = "Account"
[functions.billing]
config = "../billing/telnyx.toml"
[vars]
PLACE = "shop"
[clock]
alarm_lateness_ms = 0
"""

SHOP = """\
from edgeemu import Response, StatefulActor
from src.helpers import NAME


class Order(StatefulActor):
    async def pay(self, cents):
        await self.ctx.storage.put("cents", cents)
        return await self.env.LEDGER.id_from_name("main").add(cents)

    async def bound(self):
        return sorted(vars(self.env))

    async def helper(self):
        from src.helpers import NAME as late
        return [NAME, late]


async def fetch(request, env):
    if request.path == "/balance":
        return Response.json(await env.LEDGER.id_from_name("main").balance())
    if request.path == "/books":
        return Response.json(await env.BOOKS.id_from_name("main").balance())
    return Response(f"{env.PLACE} {NAME}")
"""

BILLING_TOML = """\
name = "billing"
main = "src/main.py"
[[actors]]
binding = "ACCOUNT"
type = "Account"
[[secrets]]
binding = "KEY"
name = "billing-key"
[env_vars]
PLACE = "billing"
"""

BILLING = """\
import os
from edgeemu import Response, StatefulActor
from src.helpers import NAME


class Account(StatefulActor):
    async def add(self, cents):
        total = await self.ctx.storage.get("total", 0) + cents
        await self.ctx.storage.put("total", total)
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + 1_000)
        return total

    async def alarm(self, info):
        await self.ctx.storage.put("closed", self.ctx.now_ms())

    async def balance(self):
        return await self.ctx.storage.get("total", 0)

    async def secret(self):
        return await self.env.SECRETS.get("KEY")

    async def bound(self):
        return sorted(vars(self.env))

    async def variable(self, name):
        return os.environ.get(name)

    async def environment(self):
        os.environ["SET_HERE"] = "1"
        found = [dict(os.environ), os.environ.copy(), repr(os.environ), len(os.environ)]
        del os.environ["SET_HERE"]
        return [*found, "PATH" in os.environ, list(os.environ)]

    async def boom(self):
        raise ValueError("boom")

    async def helper(self):
        from src import late
        import src.helpers as again
        return [NAME, late.NAME, again.NAME]

    async def helper_by_name(self):
        import importlib
        from importlib import import_module
        import importlib.util
        found = [importlib.import_module("src.helpers"), import_module(".helpers", "src")]
        return [each.NAME for each in found] + [importlib.util.find_spec("json").name]


async def fetch(request, env):
    if request.path == "/balance":
        return Response.json(await env.ACCOUNT.id_from_name("main").balance())
    if request.path == "/boom":
        raise ValueError("boom")
    return Response(f"{env.PLACE} {NAME} {os.environ['PLACE']}")
"""


def write_functions(folder: Path, *, shop: str = SHOP, billing: str = BILLING) -> Config:
    """Write the two functions beside each other below `folder`; the primary one's configuration."""
    files = {
        "shop/edgeemu.toml": SHOP_TOML,
        "shop/src/main.py": shop,
        "shop/src/helpers.py": "NAME = 'shop helpers'\n",
        "billing/telnyx.toml": BILLING_TOML,
        "billing/.env": "billing-key=sk\n",
        "billing/src/main.py": billing,
        "billing/src/helpers.py": "NAME = 'billing helpers'\n",
        "billing/src/late.py": "from src.helpers import NAME as OWN\nNAME = OWN\n",
    }
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
    return load_config(folder / "shop")
