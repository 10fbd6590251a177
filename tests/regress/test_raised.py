"""An error that comes out of a call of another actor says in which actor, and where, it arose."""

from pathlib import Path
from typing import Any

import pytest

from edgeemu.emulator import Emulator
from edgeemu.engines.port import PlainRequest
from edgeemu.errors import EdgeemuError
from tests.support.emulators import inst, run_with, write_project

PYTHON = """
class Cart(StatefulActor):
    async def nested(self):
        return await self.env.Account.id_from_name("q").middle()

    async def wraps(self):
        try:
            await self.env.Account.id_from_name("q").middle()
        except Exception as error:
            raise LookupError("no money") from error

    async def sees(self):
        try:
            await self.env.Account.id_from_name("q").middle()
        except Exception as error:
            return [error.name, str(error)]

class Account(StatefulActor):
    async def middle(self):
        await self.env.Account.id_from_name("r").deposit()

    async def deposit(self):
        raise ValueError("negative")

async def fetch(request, env):
    await env.Cart.id_from_name("a").nested()
"""
SCRIPT = """
import { StatefulActor } from "@telnyx/edge-runtime";

export class Cart extends StatefulActor<any> {
  async nested() {
    return await this.env.Account.idFromName("q").middle();
  }
  async wraps() {
    try {
      await this.env.Account.idFromName("q").middle();
    } catch (error) {
      throw new Error("no money", { cause: error });
    }
  }
  async sees() {
    try {
      await this.env.Account.idFromName("q").middle();
    } catch (error: any) {
      return [error.name, error.message];
    }
  }
}

export class Account extends StatefulActor<any> {
  async middle() {
    await this.env.Account.idFromName("r").deposit();
  }
  async deposit() {
    throw new Error("negative");
  }
}

export default {
  async fetch(request: Request, env: any) {
    await env.Cart.idFromName("a").nested();
  },
};
"""
CART = inst("Cart/a")
TYPES = ("Cart", "Account")

LANGUAGES = pytest.mark.parametrize(
    ("main", "source", "raises"),
    [("main.py", PYTHON, 'raise ValueError("negative")'), ("main.ts", SCRIPT, 'Error("negative")')],
    ids=["python", "typescript"],
)


@LANGUAGES
def test_failure_names_the_actor_that_raised_it(
    tmp_path: Path, main: str, source: str, raises: str
) -> None:
    async def story(emulator: Emulator) -> tuple[list[EdgeemuError], Any, list[Any]]:
        failed = []
        for method in ("nested", "wraps"):
            with pytest.raises(EdgeemuError) as caught:
                await emulator.call(CART, method)
            failed.append(caught.value)
        seen = await emulator.call(CART, "sees")
        await emulator.fetch(PlainRequest("GET", "http://localhost/", (), b""))
        return failed, seen, emulator.journal()

    (nested, wraps), seen, journal = run_with(
        write_project(tmp_path, source, types=TYPES, main=main), story
    )
    line = next(at for at, text in _lines(tmp_path / main) if raises in text)
    place = f"deposit of Account/r at {main}:{line}"
    assert seen == ["ActorMethodError", "negative"]  # What actor code sees is the platform's.
    assert (nested.name, nested.message) == ("ActorMethodError", "negative")
    assert nested.why == f"ActorMethodError was raised in {place}"
    assert nested.fix.startswith(f"see {main}:{line} ")
    told = nested.detail or ""
    order = [f"in {name}" for name in ("middle of Account/q:", "deposit of Account/r:")]
    assert [told.count(head) for head in order] == [1, 1]
    assert told.index("nested") < told.index(order[0]) < told.index(order[1])
    assert told.index(order[1]) < told.index(f"{main}:{line}")
    assert "no money" in wraps.what
    assert order[1] in (wraps.detail or "")
    assert place not in wraps.why  # It raised an error of its own.
    front = next(entry for entry in journal if entry["kind"] == "front")
    assert order[1] in front["error"]["trace"]


def _lines(path: Path) -> list[tuple[int, str]]:
    return list(enumerate(path.read_text().splitlines(), 1))
