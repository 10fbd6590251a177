"""The types that TypeScript projects get: they say what the runtime has, and code fits them.

Source: spec/telnyx-actors.md, sections 2.1 and 14.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from edgeemu.cli.main import main
from edgeemu.config import load_config
from edgeemu.engines.javascript.child import HOST
from edgeemu.errors import EdgeemuError
from edgeemu.scaffold import create_project, list_templates
from edgeemu.typings import ENV_FILE, RUNTIME_FILE, env_types, write_typings

RUNTIME = Path(write_typings.__code__.co_filename).with_name("edge-runtime.d.ts").read_text()

TEMPLATES = [each.name for each in list_templates() if "typescript" in each.languages]

MANIFEST = """
name = "probe"
main = "src/index.ts"

[[actors]]
binding = "ROOM"
type = "Room"

[[actors]]
binding = "FAR"
type = "Far"

[[secrets]]
binding = "API"
name = "API_KEY"

[[secrets]]
binding = "MAIL"
name = "MAIL_KEY"

[telnyx]
binding = "CLIENT"

[storage.kv.CACHE]
id = "00000000-0000-0000-0000-000000000000"

[storage.sqldb.ORDERS]
id = "00000000-0000-0000-0000-000000000000"

[[ratelimits]]
name = "per-user"
limit = 3
period = 60

[env_vars]
MODE = "x"
"""

INDEX = """
import { StatefulActor, env, CodecError } from "@telnyx/edge-runtime";
import type {
  ActorContext, ActorNamespace, ActorStub, ActorWebSocket, Env, IdFromNameOptions,
} from "@telnyx/edge-runtime";

export class Room extends StatefulActor {
  #names = new Map<string, string>();

  constructor(ctx: ActorContext, env: Env) {
    super(ctx, env);
    void ctx.blockConcurrencyWhile(async () => {
      this.#names = await ctx.storage.list<string>({ prefix: "name/", limit: 10 });
    });
  }
  async count() {
    const { sql } = this.ctx.storage;
    const [row] = sql.exec<{ n: number }>("SELECT ? AS n", 1).toArray();
    for (const each of sql.exec("SELECT 1 AS n")) void each.n;
    return await this.ctx.storage.transaction(async (txn) => {
      await txn.put("n", row!.n);
      return row!.n + this.#names.size;
    });
  }
  joined(a: number, b?: string): string {
    return `${a}${b}`;
  }
  async alarm() {
    const text: string = await this.env.ROOM.idFromName("x").joined(1);
    const key: string = await this.env.SECRETS.get("API");
    this.ctx.broadcast(text + key);
  }
  async webSocket(ws: ActorWebSocket) {
    ws.on("message", (data: string) => ws.send(data));
  }
  _hidden() {}
}

class Old extends StatefulActor<{ ROOM: ActorNamespace<Room> }> {
  async go(n: number) {
    return { n, at: new Date(), count: await this.env.ROOM.idFromName("q").count() };
  }
}

// As projects wrote it before namespaces had a type parameter.
type RoomStub = ActorStub & Pick<Room, "count" | "joined">;
interface RoomNamespace extends ActorNamespace {
  idFromName(name: string, options?: IdFromNameOptions): RoomStub;
}

interface OwnEnv { ROOM: RoomNamespace; OLD: ActorNamespace<Old>; ANY: ActorNamespace }

export default {
  async fetch(request: Request, own: OwnEnv): Promise<Response> {
    const count: number = await own.ROOM.idFromName("a").count();
    const { at } = await own.OLD.idFromName("a").go(count);
    const other = await own.ANY.idFromName("a").anything(at.getTime());
    const room = env.ROOM.idFromName("b", { locationHint: "eu" });
    // @ts-expect-error: a private method
    room._hidden();
    // @ts-expect-error: a method of the platform's
    room.alarm();
    // @ts-expect-error: an argument of another type
    await room.joined("a");
    // @ts-expect-error: no secret of that name is declared
    await env.SECRETS.get("NOPE");
    // @ts-expect-error: an instant is a number
    await new Old(null!, null!).ctx.storage.setAlarm(new Date());
    if (other instanceof CodecError) throw other;
    const kept: { id: string } | null = await env.CACHE.get<{ id: string }>("k", { type: "json" });
    const text: string | null = await env.CACHE.get("k");
    const { success } = await env.PER_USER.limit({ key: "k" });
    const { status } = await room.fetch(request);
    const far = await env.FAR.idFromName("x").anything();
    return Response.json([kept, text, success, status, env.MODE.length, far]);
  },
};
"""


def write_probe(folder: Path) -> Path:
    create_project("probe", template="blank", language="typescript", parent=folder)
    path = folder / "probe"
    (path / "telnyx.toml").write_text(MANIFEST)
    (path / "src/index.ts").write_text(INDEX)
    return path


@pytest.fixture(scope="session")
def tsc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiler, which checks types and writes nothing."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not there, so the types are NOT checked by the compiler")
    folder = tmp_path_factory.mktemp("compiler")
    (folder / "package.json").write_text("{}")
    try:
        subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", "typescript@5"],
            cwd=folder,
            capture_output=True,
            timeout=120,
            check=True,
        )
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"npm reaches no registry, so the compiler does NOT check the types: {error}")
    return folder / "node_modules/.bin/tsc"


def check_types(tsc: Path, project: Path) -> str:
    done = subprocess.run([tsc, "-p", project], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_type_checks_without_npm(tsc: Path, tmp_path: Path, name: str) -> None:
    path = create_project(name, template=name, language="typescript", parent=tmp_path).path
    write_typings(load_config(path))
    assert check_types(tsc, path) == ""


@pytest.mark.slow
def test_code_that_uses_everything_type_checks(tsc: Path, tmp_path: Path) -> None:
    path = write_probe(tmp_path)
    write_typings(load_config(path))
    assert check_types(tsc, path) == ""


@pytest.mark.slow
def test_the_types_of_an_installed_package_come_first(tsc: Path, tmp_path: Path) -> None:
    path = write_probe(tmp_path)
    write_typings(load_config(path))
    package = path / "node_modules/@telnyx/edge-runtime"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"types": "index.d.ts"}')
    (package / "index.d.ts").write_text("export interface Env {}\nexport class StatefulActor {}\n")
    assert "has no exported member 'CodecError'" in check_types(tsc, path)


def test_the_types_name_what_the_runtime_exports() -> None:
    runtime = (HOST / "runtime.js").read_text()
    listed = re.findall(r"export \{([^}]*)\}", runtime)
    exported = {name.strip() for names in listed for name in names.split(",") if name.strip()}
    exported |= set(re.findall(r"export const (\w+)", runtime))
    declared = set(re.findall(r"export declare (?:class|const) (\w+)", RUNTIME))
    assert declared == exported
    assert "StatefulActor" in declared


def test_each_kind_of_binding_has_its_type(tmp_path: Path) -> None:
    assert env_types(load_config(write_probe(tmp_path))) == {
        "ROOM": 'ActorNamespace<import("./src/index").Room>',
        "FAR": "ActorNamespace",
        "SECRETS": '{ get(binding: "API" | "MAIL"): Promise<string> }',
        "CACHE": "KvNamespace",
        "PER_USER": "{ limit(options: { key: string }): Promise<{ success: boolean }> }",
        "CLIENT": 'import("telnyx").default',
        "ORDERS": "SqlDatabase",
        "MODE": "string",
    }


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_bindings_of_a_template_are_those_it_ships(tmp_path: Path, name: str) -> None:
    path = create_project(name, template=name, language="typescript", parent=tmp_path).path
    shipped = (path / ENV_FILE).read_text()
    assert shipped.count("ActorNamespace<import(") == len(load_config(path).actors)
    write_typings(load_config(path))
    assert (path / ENV_FILE).read_text() == shipped


def test_the_command_writes_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_probe(tmp_path)
    assert main(["types", "--project", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        f"wrote {ENV_FILE}: 8 bindings",
        '  env.ROOM: ActorNamespace<import("./src/index").Room>',
    ]
    assert (path / RUNTIME_FILE).read_text() == RUNTIME
    assert main(["types", "--project", str(path), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["files"] == [ENV_FILE, RUNTIME_FILE]
    assert len(found["bindings"]) == 8


def test_a_project_without_typescript_has_no_types(tmp_path: Path) -> None:
    path = create_project("plain", parent=tmp_path).path
    with pytest.raises(EdgeemuError, match="no TypeScript"):
        write_typings(load_config(path))
    assert not (path / ENV_FILE).exists()
