"""What TypeScript code sees of the world: the emulated time, seeded chance, and no way out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeemu.emulator import Emulator
from edgeemu.engines.port import PlainRequest
from edgeemu.errors import EdgeemuError
from tests.support.emulators import T0_MS, frozen, inst, run_with
from tests.support.scripts import write_script

HEAD = """
import crypto, { randomBytes, randomInt, randomUUID } from "node:crypto";
import * as timers from "node:timers";
import { setTimeout as sleep } from "node:timers/promises";
import { performance as perf } from "node:perf_hooks";
import { promisify } from "node:util";
import process, { env as named } from "node:process";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const AT_LOAD = { now: Date.now(), random: Math.random(), stage: process.env.STAGE ?? null };
const nap = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
let kept: any = null;
"""


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., Any]:
    """What a method `run` with this body gives, and the journal of it."""

    def run(body: str, *, advance_ms: int = 0, toml: str = "", seed: int = 1) -> Any:
        source = f"{HEAD}\nexport class A extends StatefulActor {{ async run() {{\n{body}\n}} }}\n"
        config = write_script(tmp_path, source, toml=toml)

        async def story(emulator: Emulator) -> Any:
            call = emulator.start_call(inst("A/x"), "run")
            await emulator.run_present()
            if advance_ms:
                await emulator.clock.advance(advance_ms)
            result = await call.wait_result()
            return result, emulator.journal()

        return run_with(config, story, frozen(seed=seed, alone=True))

    return run


def test_time_stands_at_the_emulated_instant(ask: Any) -> None:
    found, _ = ask("""
      class Later extends Date {}
      const before = performance.now();
      const parts = new Intl.DateTimeFormat("en", { year: "numeric" }).formatToParts();
      return [Date.now(), +new Date(), +new Later(), Date(), isNaN(+new Date(undefined)),
        new Date() instanceof Date, new Intl.DateTimeFormat("en").format(), parts[0].value,
        Temporal.Now.instant().epochMilliseconds, performance.timeOrigin,
        performance.mark("m").startTime - before, perf.now() - before, AT_LOAD.now,
        new Date(2020, 0, 1).toISOString(), process.uptime() * 1000 - before];
    """)
    assert found[:3] == [T0_MS] * 3
    assert "Jan 01 2030" in found[3]
    assert found[4:8] == [True, True, "1/1/2030", "2030"]
    assert found[8:] == [T0_MS, T0_MS, 0, 0, T0_MS, "2020-01-01T00:00:00.000Z", 0]


def test_timers_follow_the_clock_and_have_the_objects_of_node(ask: Any) -> None:
    found, _ = ask(
        """
      const seen: any[] = [];
      const at = () => Date.now() - AT_LOAD.now;
      await new Promise((resolve) => setTimeout(resolve, 0));
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(at());
      const moved = setTimeout(() => seen.push(["refreshed", at()]), 1_000);
      const gone = setTimeout(() => seen.push("never"), 50);
      clearTimeout(+gone);
      await nap(600);
      moved.refresh();
      await sleep(500);
      seen.push(["sleep", at()]);
      let ticks = 0;
      const every = setInterval(() => { ticks += 1; if (ticks === 3) clearInterval(every); }, 100);
      await promisify(setTimeout)(1_000);
      seen.push(["ticks", ticks, at(), moved.hasRef(), timers.setTimeout === setTimeout]);
      seen.push(require("timers").setTimeout === setTimeout);
      const signal = AbortSignal.timeout(100);
      await nap(101);
      seen.push(signal.aborted, signal.reason.name);
      return seen;
    """,
        advance_ms=10_000,
    )
    assert found == [
        0,
        ["sleep", 1_100],
        ["refreshed", 1_600],
        ["ticks", 3, 2_100, True, True],
        True,
        True,
        "TimeoutError",
    ]


def test_randomness_is_that_of_the_seed_however_it_is_reached(ask: Any) -> None:
    body = """
      return [AT_LOAD.random, Math.random(), crypto.randomUUID(), randomUUID(),
        globalThis.crypto.randomUUID(), randomBytes(8).toString("hex"), randomInt(1_000_000),
        Array.from(globalThis.crypto.getRandomValues(new Uint16Array(4))),
        require("crypto").randomBytes(4).toString("hex"),
        crypto.webcrypto.getRandomValues(new Uint8Array(2)).length];
    """
    assert ask(body)[0] == ask(body)[0]
    assert ask(body)[0] != ask(body, seed=2)[0]
    refused, _ = ask("""
      const names = [];
      for (const wrong of [new Uint8Array(65537), new Float32Array(2)]) {
        try { globalThis.crypto.getRandomValues(wrong); } catch (e) { names.push(e.name); }
      }
      return names;
    """)
    assert refused == ["QuotaExceededError", "TypeMismatchError"]


def test_console_tells_the_journal_with_turn_and_instant(ask: Any) -> None:
    _, journal = ask(
        """
      console.log("n is %d", 7, { a: [1] });
      console.warn("careful");
      console.group("outer");
      console.error("two\\nlines");
      console.groupEnd();
      console.time("t");
      await nap(250);
      console.timeEnd("t");
      console.table([{ a: 1 }]);
      console.assert(1 > 2, "no");
      console.count();
      console.log({ get broken() { throw 1; } }, new Proxy({}, { get() { throw 1; } }));
      process.stdout.write("raw\\n");
      for (let i = 0; i < 3; i += 1) console.log("x".repeat(1_000_000));
    """,
        advance_ms=1_000,
    )
    lines = [entry for entry in journal if entry["kind"] == "printed"]
    assert {entry["actor"] for entry in lines} == {"A/x"}
    assert len({entry["turn"] for entry in lines}) == 1
    texts = [(entry["level"], entry["text"]) for entry in lines]
    assert texts[:5] == [
        ("info", "n is 7 { a: [ 1 ] }"),
        ("warn", "careful"),
        ("info", "outer"),
        ("error", "  two\n  lines"),
        ("info", "t: 250ms"),
    ]
    assert lines[4]["now_ms"] == T0_MS + 250
    assert "(index)" in texts[5][1]
    assert texts[6:8] == [("error", "Assertion failed: no"), ("info", "default: 1")]
    assert texts[9] == ("info", "raw")
    assert texts[-1] == ("warn", "... what else this turn prints is left out")


def test_process_shows_no_environment_in_actors_and_cannot_be_ended(ask: Any) -> None:
    found, journal = ask(
        """
      const ends: string[] = [];
      for (const name of ["exit", "abort", "kill"]) {
        try { (process as any)[name](); } catch (error) { ends.push((error as Error).message); }
      }
      process.env.MINE = "1";
      return [AT_LOAD.stage, process.env.STAGE ?? null, process.env.HOME ?? null,
        Object.keys(process.env), named.MINE, ends.length, process.cwd().length > 1,
        typeof process.memoryUsage().heapUsed, process.hrtime.bigint() >= 0n];
    """,
        toml='[vars]\nSTAGE = "test"\n',
    )
    assert found == ["test", None, None, ["MINE"], "1", 3, True, "number", True]
    warned = [entry for entry in journal if entry.get("code") == "W_ACTOR_ENV"]
    assert [entry["where"] for entry in warned] == ["main.ts:23"]


@pytest.mark.parametrize(
    "code",
    [
        'new WebSocket("ws://127.0.0.1:1")',
        "new Worker('data:text/javascript,1', { type: 'module' })",
        "new BroadcastChannel('x')",
        "new EventSource('http://127.0.0.1:1')",
        "localStorage.getItem('x')",
        "await caches.open('x')",
        "close()",
        'require("child_process").spawn("true")',
        '(await import("node:child_process")).execSync("true")',
        'require("net").connect(80, "127.0.0.1")',
        'require("http").get("http://127.0.0.1:1")',
        'new (require("worker_threads").Worker)("x")',
        'require("vm").runInNewContext("Date.now()")',
        'require("fs").readFileSync("/etc/passwd")',
        'require("fs").writeFileSync("made-by-an-actor", "x")',
        'require("fs").readFileSync(0)',
        'require("fs").writeSync(1, "no")',
        "process.binding('fs')",
        'await import("https://example.com/x.js")',
        'await import("jsr:@std/assert")',
        'await import("npm:left-pad")',
        'await import("data:text/javascript,import \\"https://example.com/x.js\\"")',
        "await import(HOST_FILE)",
        "Deno.exit()",
    ],
)
def test_what_reaches_around_the_host_fails(ask: Any, code: str) -> None:
    host = Path(__file__).parents[2] / "edgeemu/engines/javascript/host/wire.js"
    code = code.replace("HOST_FILE", json.dumps(host.as_uri()))
    found, _ = ask(f"try {{ {code}; return 'done'; }} catch (e) {{ return String(e.message); }}")
    assert found != "done"


def test_altered_builtins_hang_nothing(tmp_path: Path) -> None:
    source = """
    export class A extends StatefulActor {
      async alter() {
        (Array.prototype as any).map = null;
        (JSON as any).parse = (JSON as any).stringify = null;
        (Promise.prototype as any).then = null;
        (Map.prototype as any).get = (Map.prototype as any).set = null;
        (Object as any).keys = null;
        await this.ctx.storage.put("k", [1, { a: 2 }]);
        return await this.ctx.storage.get("k");
      }
      async load() { return await this.ctx.storage.get("k"); }
    }
    """

    async def story(emulator: Emulator) -> None:
        assert await emulator.call(inst("A/x"), "alter") == [1, {"a": 2}]
        assert await emulator.call(inst("A/x"), "load") == [1, {"a": 2}]

    run_with(write_script(tmp_path, source), story)


def test_errors_of_callbacks_are_told_with_their_turn(ask: Any) -> None:
    _, journal = ask(
        """
      Promise.reject(new Error("left"));
      setTimeout(() => { throw new Error("timer"); }, 10);
      queueMicrotask(() => { throw new Error("microtask"); });
      setImmediate(() => { throw new Error("immediate"); });
      await nap(20);
    """,
        advance_ms=100,
    )
    told = [entry for entry in journal if entry.get("code") == "W_TASK_FAILED"]
    assert {entry["message"].split(": ")[-1] for entry in told} == {
        "left",
        "timer",
        "microtask",
        "immediate",
    }
    assert {entry["actor"] for entry in told} == {"A/x"}


@pytest.mark.parametrize(
    ("code", "line"),
    [("await nap(5)", "await nap"), ("await new Promise(() => {})", "async run")],
)
def test_frozen_wait_names_the_line(ask: Any, code: str, line: str) -> None:
    with pytest.raises(EdgeemuError, match="E_FROZEN_WAIT") as caught:
        ask(code)
    assert "main.ts:" in caught.value.as_text()


def test_fetch_is_answered_by_a_service_of_its_origin(ask: Any) -> None:
    toml = """
    [services.PAY]
    url = "https://pay.example/v1"
    respond = [{ status = 302, headers = { location = "/b?x=1" } }, { json = { paid = true } }]
    """
    found, journal = ask(
        """
      const answer = await fetch("https://pay.example/a", { method: "POST", body: "x" });
      const data = await (await fetch("data:text/plain,hello")).text();
      let wrong = null;
      try { await fetch("ftp://pay.example/"); } catch (e) { wrong = [e.name, e.message]; }
      let aborted = null;
      const signal = AbortSignal.abort();
      try { await fetch("https://pay.example/", { signal }); } catch (e) { aborted = e.name; }
      return [answer.status, answer.url, answer.redirected, await answer.json(), data, wrong,
        aborted];
    """,
        toml=toml,
    )
    assert found == [
        200,
        "https://pay.example/b?x=1",
        True,
        {"paid": True},
        "hello",
        ["TypeError", "fetch failed"],
        "AbortError",
    ]
    sent = [entry for entry in journal if entry["kind"] == "service"]
    assert [(entry["service"], entry["method"]) for entry in sent] == [
        ("PAY", "POST /a"),
        ("PAY", "GET /b"),
    ]


def test_fetch_without_an_answer_is_a_type_error(tmp_path: Path) -> None:
    source = """
    export default {
      async fetch(request: Request) {
        try {
          await fetch("http://127.0.0.1:9/nobody");
        } catch (error: any) {
          return new Response(`${error.name}: ${error.message}: ${error.cause.message}`);
        }
        return new Response("answered");
      },
    };
    """

    async def story(emulator: Emulator) -> None:
        response = await emulator.fetch(PlainRequest("GET", "http://x/", (), b""))
        assert response.body.startswith(b"TypeError: fetch failed: fetch: http://127.0.0.1:9")

    run_with(write_script(tmp_path, source, types=()), story)


def test_files_of_the_project_can_be_read_and_no_other(tmp_path: Path) -> None:
    """The engine's modules of Node find what they need, also after an await; no code does."""
    source = """
import fs from "node:fs";
import fsp from "node:fs/promises";
const here = new URL("./main.ts", import.meta.url);
export class A extends StatefulActor {
  async reads() {
    const { size } = fs.statSync(here);
    return size === (await fsp.stat(here)).size && size === fs.readFileSync(here).length;
  }
  async denied() {
    const told = [];
    try { fs.readFileSync("/etc/passwd"); } catch (error) { told.push(error.name); }
    try { await fsp.readFile("/etc/passwd"); } catch (error) { told.push(error.name); }
    const file = new URL("./x.txt", here);
    try { fs.writeFileSync(file, "x"); } catch (error) { told.push(error.name); }
    return told;
  }
  async sees() {
    const found = await Promise.resolve(globalThis).then((all) => typeof all.Deno);
    return [typeof Deno, typeof Reflect.get(globalThis, "Deno"), found];
  }
}
"""

    async def story(emulator: Emulator) -> None:
        assert await emulator.call(inst("A/x"), "reads") is True
        assert await emulator.call(inst("A/x"), "denied") == ["NotCapable"] * 3
        assert await emulator.call(inst("A/x"), "sees") == ["undefined"] * 3

    run_with(write_script(tmp_path, source), story)


def test_errors_that_come_when_their_turn_has_ended_are_told_with_it(tmp_path: Path) -> None:
    source = """
export class A extends StatefulActor {
  async floating() { Promise.reject(new Error("floating")); return 1; }
  async unawaited() { this.boom(); return 1; }
  async boom() { await Promise.resolve(); throw new Error("unawaited"); }
  async later() { setTimeout(() => { throw new Error("later"); }, 1_000); return 1; }
  async puts() { setTimeout(() => this.ctx.storage.put("z", 1), 1_000); return 1; }
}
"""

    async def story(emulator: Emulator) -> None:
        for method in ("floating", "unawaited", "later", "puts"):
            await emulator.call(inst("A/x"), method)
        await emulator.clock.advance(2_000)
        warned = [entry for entry in emulator.journal() if entry["kind"] == "warning"]
        told = {(entry["code"], entry["turn"]) for entry in warned}
        assert {("W_TASK_FAILED", turn) for turn in (1, 3, 4)} <= told
        assert ("W_LATE_STORAGE", 5) in told
        assert emulator.storage.list(inst("A/x")) == {}

    run_with(write_script(tmp_path, source), story)
