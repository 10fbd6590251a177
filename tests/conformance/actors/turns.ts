// Turns: one at a time, atomic, budgeted.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

const sleep = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1_000));

export class A extends StatefulActor<any> {
  n?: number;
  kept: unknown;
  refused?: string;

  async fill(amount: number) {
    await this.ctx.storage.put("balance", amount);
  }

  async debit(amount: number) {
    const balance = (await this.ctx.storage.get<number>("balance"))!;
    await sleep(0.010);
    if (balance < amount) return { ok: false, balance };
    await this.ctx.storage.put("balance", balance - amount);
    return { ok: true, balance: balance - amount };
  }

  async slow(seconds: number) {
    await sleep(seconds);
    return "done";
  }

  async put(key: string, value: unknown) {
    await this.ctx.storage.put(key, value);
  }

  async get(key: string) {
    return (await this.ctx.storage.get(key)) ?? "missing";
  }

  async throws() {
    await this.ctx.storage.put("k", 2);
    await this.ctx.storage.put("j", 9);
    throw new Error("boom");
  }

  async unawaited() {
    this.ctx.storage.put("k", 1);
    return "ok";
  }

  async forgiving() {
    try {
      await this.ctx.storage.put("__telnyx_x", 1);
    } catch (error: any) {
      this.refused = error.message;
    }
    await this.ctx.storage.put("k", 1);
    return 1;
  }

  async careless() {
    this.ctx.storage.put("__telnyx_x", 1);
    await this.ctx.storage.put("k", 1);
    return 1;
  }

  async outer() {
    await this.inner();
  }

  async inner() {
    await this.ctx.storage.put("k", 1);
  }

  async stub() {
    const found = async () => this.env.A.idFromName("y");
    return (await found()).id;
  }

  async keep(value: any) {
    value.a = 2;
    this.kept = value;
    return value;
  }

  async kept_value() {
    return this.kept;
  }

  async copies() {
    const mine = { a: 1 };
    const other = this.env.A.idFromName("y");
    const given = await other.keep(mine);
    given.a = 3;
    return [mine, given, await other.kept_value()];
  }

  async send_function() {
    await this.env.A.idFromName("y").keep(() => 1);
  }

  async returns_function() {
    await this.ctx.storage.put("k", 1);
    return () => 1;
  }

  async remember() {
    this.n = (this.n ?? 0) + 1;
    await this.ctx.storage.put("n", this.n);
    return this.n;
  }

  async overtime() {
    await this.ctx.storage.put("k", 1);
    await sleep(31);
    await this.ctx.storage.put("late", 1);
    return 1;
  }

  async cycle() {
    await this.ctx.storage.put("k", 1);
    return await this.env.A.idFromName("x").remember();
  }

  async asks_slow(names: string[]) {
    await Promise.all(names.map((name) => this.env.A.idFromName(name).slow(31)));
  }

  async arm() {
    await this.ctx.storage.setAlarm(Date.now());
  }

  /** A delivery may take longer than the fetch that it waits for. */
  async alarm(_info: AlarmInfo) {
    try {
      await this.env.B.idFromName("y").fetch("http://b/slow");
    } catch (error: any) {
      await this.ctx.storage.put("error", error.name);
    }
  }

  async _hidden() {
    return 1;
  }

  async none() {}
}

export class B extends StatefulActor {
  async put(key: string, value: unknown) {
    await this.ctx.storage.put(key, value);
  }

  async get(key: string) {
    return (await this.ctx.storage.get(key)) ?? "missing";
  }

  async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname === "/slow") await sleep(31);
    const body = `${request.method} ${request.headers.get("x-sent")}`;
    return new Response(body, { status: 201, headers: { "x-got": "yes" } });
  }
}

export default {
  async fetch(request: Request, env: any) {
    const x = env.A.idFromName("x"), y = env.B.idFromName("y");
    const { pathname } = new URL(request.url);
    if (pathname === "/base") return await x.fetch(request);
    if (pathname === "/own") {
      const asked = new Request("http://b/", { method: "PUT", headers: { "x-sent": "1" } });
      const answer = await y.fetch(asked);
      const body = `${answer.headers.get("x-got")} ${await answer.text()}`;
      return new Response(body, { status: answer.status });
    }
    if (pathname === "/over") {
      await x.put("k", 1);
      await sleep(31);
    }
    return new Response("done");
  },
};
