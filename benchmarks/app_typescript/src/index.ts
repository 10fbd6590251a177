// The application of the benchmarks in TypeScript: the same routes, the same writes.
import { StatefulActor } from "@telnyx/edge-runtime";

const VERSION = "v0";
const fired = { count: 0, last_ms: 0 };

interface State {
  count: number;
  every_ms: number;
}

export class Bench extends StatefulActor {
  async inc(): Promise<number> {
    const count = ((await this.ctx.storage.get<number>("count")) ?? 0) + 1;
    await this.ctx.storage.put("count", count);
    return count;
  }

  async puts(count: number) {
    for (let number = 0; number < count; number++) {
      await this.ctx.storage.put(`key${number % 100}`, number);
    }
  }

  async putOne(number: number) {
    await this.ctx.storage.put("key", number);
  }

  inserts(count: number) {
    const sql = this.ctx.storage.sql;
    sql.exec("CREATE TABLE IF NOT EXISTS lines (number INTEGER, text TEXT)");
    for (let number = 0; number < count; number++) {
      sql.exec("INSERT INTO lines VALUES (?, ?)", number, "some text");
    }
  }

  async arm(whenMs: number, everyMs: number) {
    await this.ctx.storage.put("state", { count: 0, every_ms: everyMs });
    await this.ctx.storage.setAlarm(whenMs || Date.now());
  }

  async alarm() {
    const state = (await this.ctx.storage.get<State>("state"))!;
    state.count += 1;
    await this.ctx.storage.put("state", state);
    if (state.every_ms) await this.ctx.storage.setAlarm(Date.now() + state.every_ms);
    fired.count += 1;
    fired.last_ms = Date.now();
  }
}

export default {
  async fetch(request: Request, env: any): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === "/version") return new Response(VERSION);
    if (url.pathname === "/fired") return Response.json(fired);
    const number = (name: string) => Number(url.searchParams.get(name));
    const stub = env.BENCH.idFromName(url.searchParams.get("name"));
    if (url.pathname === "/inc") return Response.json(await stub.inc());
    if (url.pathname === "/puts") await stub.puts(number("count"));
    else if (url.pathname === "/commits") {
      for (let each = 0; each < number("count"); each++) await stub.putOne(each);
    } else if (url.pathname === "/inserts") await stub.inserts(number("count"));
    else if (url.pathname === "/arm") await stub.arm(number("when_ms"), number("every_ms"));
    return new Response("ok");
  },
};
