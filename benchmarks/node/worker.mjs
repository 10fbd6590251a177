// The application of the benchmarks as a Durable Object: the same routes, the same writes.
import { DurableObject } from "cloudflare:workers";

const VERSION = "v0";
const fired = { count: 0, last_ms: 0 };

export class Bench extends DurableObject {
  async inc() {
    const count = ((await this.ctx.storage.get("count")) ?? 0) + 1;
    await this.ctx.storage.put("count", count);
    return count;
  }

  async puts(count) {
    for (let number = 0; number < count; number++) {
      await this.ctx.storage.put(`key${number % 100}`, number);
    }
  }

  async commits(count) {
    for (let number = 0; number < count; number++) {
      await this.ctx.storage.put("key", number);
      await this.ctx.storage.sync(); // Without it the runtime would commit many puts as one.
    }
  }

  inserts(count) {
    const sql = this.ctx.storage.sql;
    sql.exec("CREATE TABLE IF NOT EXISTS lines (number INTEGER, text TEXT)");
    for (let number = 0; number < count; number++) {
      sql.exec("INSERT INTO lines VALUES (?, ?)", number, "some text");
    }
  }

  async arm(whenMs, everyMs) {
    await this.ctx.storage.put("state", { count: 0, every_ms: everyMs });
    await this.ctx.storage.setAlarm(whenMs || Date.now());
  }

  async alarm() {
    const state = await this.ctx.storage.get("state");
    state.count += 1;
    await this.ctx.storage.put("state", state);
    if (state.every_ms) await this.ctx.storage.setAlarm(Date.now() + state.every_ms);
    fired.count += 1;
    fired.last_ms = Date.now();
  }
}

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    if (url.pathname === "/version") return new Response(VERSION);
    if (url.pathname === "/fired") return Response.json(fired);
    const number = (name) => Number(url.searchParams.get(name));
    const stub = env.BENCH.get(env.BENCH.idFromName(url.searchParams.get("name")));
    if (url.pathname === "/inc") return Response.json(await stub.inc());
    if (url.pathname === "/puts") await stub.puts(number("count"));
    else if (url.pathname === "/commits") await stub.commits(number("count"));
    else if (url.pathname === "/inserts") await stub.inserts(number("count"));
    else if (url.pathname === "/arm") await stub.arm(number("when_ms"), number("every_ms"));
    return new Response("ok");
  },
};
