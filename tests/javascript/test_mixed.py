"""Projects with actors in both languages: one clock, one journal, calls both ways."""

import asyncio
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from edgeemu.config import Config, load_config
from edgeemu.emulator import Emulator
from edgeemu.engines.port import PlainRequest
from edgeemu.errors import Code, EdgeemuError
from tests.support.emulators import inst, run_with

SCRIPT = """
import { env as mine, StatefulActor } from "@telnyx/edge-runtime";

export class Ts extends StatefulActor<any> {
  n = 0;

  async add(n: number) {
    this.n += 1;
    const total = ((await this.ctx.storage.get<number>("total")) ?? 0) + n;
    await this.ctx.storage.put("total", total);
    return [total, this.n];
  }

  async ask(name: string, method: string, ...args: unknown[]) {
    try {
      return await this.env.Py.idFromName(name)[method](...args);
    } catch (error: any) {
      return [error.name, error.message];
    }
  }

  async fail(text: string) {
    await this.ctx.storage.put("lost", 1);
    throw new TypeError(text);
  }

  async nap(seconds: number) {
    await new Promise((done) => setTimeout(done, seconds * 1_000));
    return Date.now();
  }

  async arm(after_ms: number) {
    await this.ctx.storage.setAlarm(Date.now() + after_ms);
  }

  async alarm() {
    await this.env.Py.idFromName("log").note(`Ts/${this.ctx.id}`);
  }

  async fetch(request: Request) {
    return new Response(`${await request.text()} ${request.headers.get("x-a")}`, { status: 201 });
  }

  async webSocket(ws: any) {
    ws.on("message", (data: string) => ws.send(`ts ${data}`));
  }
}

export default {
  async fetch(request: Request, env: any) {
    const [, kind, name] = new URL(request.url).pathname.split("/");
    if (kind === "bound") return Response.json(Object.keys(mine).sort());
    return await env[kind].idFromName(name).fetch(request);
  },
};
"""

PYTHON = """
import asyncio
from edgeemu import Response, StatefulActor

class Py(StatefulActor):
    async def add(self, n):
        self.n = getattr(self, "n", 0) + 1
        total = await self.ctx.storage.get("total", 0) + n
        await self.ctx.storage.put("total", total)
        return [total, self.n]

    async def ask(self, name, method, *args):
        try:
            return await getattr(self.env.Ts.id_from_name(name), method)(*args)
        except Exception as error:
            return [error.name, str(error)]

    async def fail(self, text):
        await self.ctx.storage.put("lost", 1)
        raise ValueError(text)

    async def nap(self, seconds):
        await asyncio.sleep(seconds)
        return self.ctx.now_ms()

    async def arm(self, after_ms):
        await self.ctx.storage.set_alarm(self.ctx.now_ms() + after_ms)

    async def alarm(self, info):
        await self.env.Py.id_from_name("log").note(f"Py/{self.ctx.id}")

    async def note(self, what):
        await self.ctx.storage.put("notes", [*await self.ctx.storage.get("notes", []), what])

    async def fetch(self, request):
        return Response(f"{await request.text()} {request.headers['x-a']}", status=201)

    async def web_socket(self, ws, request):
        ws.on("message", lambda data, is_binary: ws.send(f"py {data}"))

async def fetch(request, env):
    _, kind, name = request.path.split("/")
    return await getattr(env, kind).id_from_name(name).fetch(request)
"""

TS, PY = inst("Ts/x"), inst("Py/x")
MODULES = {"main.ts": "py/other.py", "main.py": "ts/other.ts"}


@pytest.fixture(params=list(MODULES))
def config(request: pytest.FixtureRequest, tmp_path: Path) -> Config:
    """A project in both languages, whose main module is in either."""
    return write_mixed(tmp_path, request.param)


def write_mixed(folder: Path, main: str) -> Config:
    other = MODULES[main]
    for name in (main, other):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(SCRIPT if name.endswith(".ts") else PYTHON)
    toml = f'name = "test"\nmain = "{main}"\n[clock]\nalarm_lateness_ms = 0\n'
    for type_name in ("Ts", "Py"):
        toml += f'[[actors]]\nbinding = "{type_name}"\ntype = "{type_name}"\n'
        if not main.endswith(type_name.lower()):
            toml += f'module = "{other}"\n'
    (folder / "edgeemu.toml").write_text(toml)
    return load_config(folder)


def file_of(config: Config, extension: str) -> Path:
    [file] = config.root.rglob(f"*.{extension}")
    return file


def test_calls_nest_through_both_languages(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        asked = await emulator.call(TS, "ask", ["x", "ask", "y", "ask", "y", "add", 3])
        assert asked == [3, 1]
        assert emulator.storage.get(inst("Py/y"), "total") == 3
        calls = [entry for entry in emulator.journal() if entry["kind"] == "call"]
        assert [entry["actor"] for entry in calls] == ["Py/y", "Ts/y", "Py/x", "Ts/x"]
        causes = [entry["cause"] for entry in calls]
        turns = [f"turn {entry['turn']}" for entry in calls]
        assert causes == [*turns[1:], "cli"]

    run_with(config, body)


def test_errors_cross_by_name_and_message(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        for asker, other in ((TS, inst("Py/y")), (PY, inst("Ts/y"))):
            assert await emulator.call(asker, "ask", ["y", "fail", "boom"]) == [
                "ActorMethodError",
                "boom",
            ]
            assert emulator.storage.list(other) == {}
            name, _ = await emulator.call(asker, "ask", ["y", "nothing"])
            assert name == "ActorUnknownMethodError"
            name, _ = await emulator.call(asker, "ask", ["y", "_hidden"])
            assert name == "ActorPrivateMethodError"
            napping = asyncio.ensure_future(emulator.call(asker, "ask", ["y", "nap", 29]))
            await emulator.clock.advance(29_000)
            assert await napping == emulator.clock.read()["now_ms"]

    run_with(config, body)


@pytest.mark.parametrize("first", ["Ts", "Py"])
def test_cycle_through_both_languages_is_found(config: Config, first: str) -> None:
    # U17, U18.
    async def body(emulator: Emulator) -> None:
        args = ["x", "ask", "x", "add", 1]
        cycle = asyncio.ensure_future(emulator.call(inst(f"{first}/x"), "ask", args))
        await emulator.run_present()
        [warned] = [entry for entry in emulator.journal() if entry["kind"] == "warning"]
        assert warned["code"] == "W_CALL_CYCLE"
        second = {"Ts": "Py", "Py": "Ts"}[first]
        assert f"{first}/x -> {second}/x -> {first}/x" in warned["message"]
        await emulator.clock.advance(30_000)
        with pytest.raises(EdgeemuError) as raised:
            await cycle
        assert raised.value.name == "ActorMethodTimeoutError"

    run_with(config, body)


def test_alarms_of_both_fire_in_one_order(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        for name, after_ms in (("c", 3), ("a", 2), ("b", 2)):
            await emulator.call(inst(f"Ts/{name}"), "arm", [after_ms])
            await emulator.call(inst(f"Py/{name}"), "arm", [after_ms])
        assert (await emulator.clock.advance(10))["succeeded"] == 6
        notes = emulator.storage.get(inst("Py/log"), "notes")
        assert notes == ["Py/a", "Py/b", "Ts/a", "Ts/b", "Py/c", "Ts/c"]

    run_with(config, body)


def test_requests_and_sockets_reach_either_language(config: Config) -> None:
    async def body(emulator: Emulator) -> None:
        for kind in ("Ts", "Py"):
            url = f"http://localhost/{kind}/x"
            response = await emulator.fetch(PlainRequest("POST", url, (("x-a", "b"),), b"body"))
            assert (response.status, response.body) == (201, b"body b")
            client = await emulator.connect(PlainRequest("GET", url, (), b""))
            client.send("hello")
            await emulator.run_present()
            assert list(client.received) == [f"{kind.lower()} hello"]

    run_with(config, body)


def test_module_offers_the_bindings_of_its_function(tmp_path: Path) -> None:
    # Section 2.1: `env` of the module is that which `fetch` is given.
    async def body(emulator: Emulator) -> bytes:
        request = PlainRequest("GET", "http://localhost/bound/", (), b"")
        return (await emulator.fetch(request)).body

    bound = run_with(write_mixed(tmp_path, "main.ts"), body)
    assert bound == b'["Py","SECRETS","Ts"]'


def replace_in(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("extension", "old", "new"),
    [
        ("ts", "return [total, this.n];", 'return [total, this.n, "new"];'),
        ("py", "return [total, self.n]", 'return [total, self.n, "new"]'),
    ],
)
def test_reload_of_one_language_leaves_the_other_right(
    config: Config, extension: str, old: str, new: str
) -> None:
    changed, other = (TS, PY) if extension == "ts" else (PY, TS)

    async def body(emulator: Emulator) -> None:
        for instance in (changed, other):
            await emulator.call(instance, "add", [1])
        replace_in(file_of(config, extension), old, new)
        emulator.reload()
        found: dict[Any, Any] = {}
        for instance in (changed, other):
            found[instance] = await emulator.call(instance, "add", [1])
        # Fields go with the code that made them, in either language; what is stored stays.
        assert found == {changed: [2, 1, "new"], other: [2, 1]}

    run_with(config, body)


@pytest.mark.parametrize("extension", ["ts", "py"])
def test_code_that_does_not_load_changes_neither_language(config: Config, extension: str) -> None:
    async def body(emulator: Emulator) -> None:
        for instance in (TS, PY):
            await emulator.call(instance, "add", [1])
        file_of(config, extension).write_text("class {")
        with pytest.raises(EdgeemuError) as raised:
            emulator.reload()
        assert raised.value.code is Code.PROJECT_SYNTAX
        for instance in (TS, PY):
            assert await emulator.call(instance, "add", [1]) == [2, 2]

    run_with(config, body)


# --- several functions -------------------------------------------------------------------------

OWNER = {
    "ts": """
        import { StatefulActor } from "@telnyx/edge-runtime";
        import { who } from "./lib";
        export class Shared extends StatefulActor<any> {
          who() { return [who, Object.keys(this.env).sort()]; }
        }
        export default { fetch: async () => new Response(who) };
    """,
    "py": """
        from edgeemu import Response, StatefulActor
        from lib import who
        class Shared(StatefulActor):
            def who(self):
                return [who, sorted(vars(self.env))]
        async def fetch(request, env):
            return Response(who)
    """,
}
REFERRER = {
    "ts": """
        import { env as mine, StatefulActor } from "@telnyx/edge-runtime";
        import { who } from "./lib";
        export class Own extends StatefulActor<any> {
          async ask() { return [who, await this.env.Shared.idFromName("x").who()]; }
        }
        export default {
          async fetch(_: Request, env: any) {
            const shared = (mine as any).Shared.idFromName("x");
            return Response.json([who, await shared.who()]);
          },
        };
    """,
    "py": """
        from edgeemu import Response, StatefulActor
        from lib import who
        class Own(StatefulActor):
            async def ask(self):
                return [who, await self.env.Shared.id_from_name("x").who()]
        async def fetch(request, env):
            return Response.json([who, await env.Shared.id_from_name("x").who()])
    """,
}
LIB = {"ts": 'export const who = "{}";', "py": 'who = "{}"'}


@pytest.mark.parametrize("owner", ["ts", "py"])
@pytest.mark.parametrize("referrer", ["ts", "py"])
def test_functions_share_an_actor_across_languages(
    tmp_path: Path, owner: str, referrer: str
) -> None:
    # Section 4.1; both functions have a module named `lib`.
    for folder, language, source, types in (
        ("first", referrer, REFERRER, ("Own", "Shared")),
        ("second", owner, OWNER, ("Shared",)),
    ):
        here = tmp_path / folder
        here.mkdir()
        (here / f"main.{language}").write_text(dedent(source[language]))
        (here / f"lib.{language}").write_text(LIB[language].format(folder))
        actors = "".join(f'[[actors]]\nbinding = "{name}"\ntype = "{name}"\n' for name in types)
        toml = f'name = "{folder}"\nmain = "main.{language}"\n{actors}'
        further = '[functions.second]\nconfig = "../second"\n' if folder == "first" else ""
        (here / "edgeemu.toml").write_text(toml + further)

    async def body(emulator: Emulator) -> None:
        shared = ["second", ["SECRETS", "Shared"]]
        assert await emulator.call(inst("Own/x"), "ask") == ["first", shared]
        request = PlainRequest("GET", "http://localhost/", (), b"")
        response = await emulator.fetch(request)
        assert b"".join(response.body.split()) == b'["first",["second",["SECRETS","Shared"]]]'
        assert (await emulator.fetch(request, function="second")).body == b"second"

    run_with(load_config(tmp_path / "first"), body)
