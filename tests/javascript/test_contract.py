"""What an entry module exports and reads, as the platform has it (sections 2.1 and 3.1)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeemu.config import load_config
from edgeemu.testing import EdgeemuFixture
from edgeemu.testing.settings import FixtureSettings

MANIFEST = """
name = "contract"
main = "src/index.ts"

[[actors]]
binding = "DESK"
type = "Desk"

[[secrets]]
binding = "KEY"
name = "KEY"
"""

INDEX = """
import { env, StatefulActor } from "@telnyx/edge-runtime";
import { greeting } from "./greeting";

export class Desk extends StatefulActor {
  async ask(who: string): Promise<string> {
    return `${greeting} ${who}, ${await helper()}`;
  }
  private files(): string {
    return "the keyword does not exist at run time";
  }
  _drawer(): string {
    return "closed";
  }
  #lock(): string {
    return "closed";
  }
}

// No actor and no handler: it has nothing but the module's own `env`.
async function helper(): Promise<string> {
  return await env.SECRETS.get("KEY");
}

export default {
  async fetch(request: Request): Promise<Response> {
    const named = Object.keys(env).sort().join(" ");
    return new Response(`${named} ${"DESK" in env} ${await env.DESK.idFromName("a").ask("you")}`);
  },
};
"""


@pytest.fixture
def edgeemu(tmp_path: Path) -> Iterator[EdgeemuFixture]:
    files = {
        "telnyx.toml": MANIFEST,
        ".env": "KEY=opensesame\n",
        "src/index.ts": INDEX,
        "src/greeting.ts": 'export const greeting: string = "hello";\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    fixture = EdgeemuFixture(load_config(tmp_path), FixtureSettings())
    yield fixture
    assert fixture.close() is None


def test_code_that_is_no_actor_reads_bindings_from_the_module(edgeemu: EdgeemuFixture) -> None:
    """Section 2.1: through the `env` that `@telnyx/edge-runtime` exports."""
    assert edgeemu.fetch("GET", "/").text == "DESK SECRETS true hello you, opensesame"


def test_entry_brings_the_modules_that_it_imports(edgeemu: EdgeemuFixture) -> None:
    """Section 2.1: the platform bundles them from `main`; the ending may be left out."""
    assert edgeemu.actor("Desk/a").ask("me") == "hello me, opensesame"


@pytest.mark.parametrize(
    ("method", "error"),
    [("files", None), ("_drawer", "PrivateMethod"), ("#lock", "UnknownMethod")],
)
def test_private_in_typescript_is_no_private_at_run_time(
    edgeemu: EdgeemuFixture, method: str, error: str | None
) -> None:
    """Section 3.1: the keyword hides nothing; `_` and `#` do."""
    call = edgeemu.actor("Desk/a").method(method)
    if error is None:
        assert call() == "the keyword does not exist at run time"
        return
    with pytest.raises(Exception, match=method) as raised:
        call()
    assert type(raised.value).__name__ == f"Actor{error}Error"
