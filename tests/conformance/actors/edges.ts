// Alarms among other turns, instances that work, and errors as actors see them.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

const sleep = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1_000));

/** Logs its turns in the order in which they ran. */
export class A extends StatefulActor {
  async arm(after_ms: number) {
    await this.ctx.storage.setAlarm(Date.now() + after_ms);
  }

  async arm_at(when_ms: number) {
    await this.ctx.storage.setAlarm(when_ms);
    return await this.ctx.storage.getAlarm();
  }

  async log(word: string) {
    const words = (await this.ctx.storage.get<string[]>("log")) ?? [];
    await this.ctx.storage.put("log", [...words, word]);
  }

  async busy(seconds: number, word: string) {
    await sleep(seconds);
    await this.log(word);
  }

  async busy_then_arm(seconds: number, after_ms: number) {
    await sleep(seconds);
    await this.arm(after_ms);
  }

  async plan(plan: unknown) {
    await this.ctx.storage.put("plan", plan);
  }

  async alarm(info: AlarmInfo) {
    const plan: any = (await this.ctx.storage.get("plan")) ?? {};
    if (plan.sleep_s) await sleep(plan.sleep_s);
    if (info.retryCount < (plan.throws ?? 0)) throw new Error(`attempt ${info.retryCount}`);
    await this.log(`alarm ${info.retryCount}`);
  }
}

/** Records that expire: one alarm, at the expiry that comes first. */
export class Ttl extends StatefulActor {
  async keep(name: string, ttl_ms: number) {
    await this.ctx.storage.put(name, Date.now() + ttl_ms);
    await this._arm();
  }

  async _arm() {
    const expiries = [...(await this.ctx.storage.list<number>()).values()];
    if (expiries.length > 0) await this.ctx.storage.setAlarm(Math.min(...expiries));
  }

  async alarm(_info: AlarmInfo) {
    for (const [name, expires_ms] of await this.ctx.storage.list<number>()) {
      if (expires_ms <= Date.now()) await this.ctx.storage.delete(name);
    }
    await this._arm();
  }
}

/** Calls others from its alarm, which may take longer than they may, and notes their errors. */
export class Caller extends StatefulActor<any> {
  async arm() {
    await this.ctx.storage.setAlarm(Date.now());
  }

  async alarm(_info: AlarmInfo) {
    const target = this.env.Callee.idFromName("x");
    const slow = this.env.Slow.idFromName("x");
    const calls: [string, () => Promise<unknown>, string][] = [
      ["method", () => target.throws(), "boom"],
      ["gate", () => target.careless(), "function"],
      ["private", () => target._hidden(), "_hidden"],
      ["unknown", () => target.nothing(), "nothing"],
      ["argument", () => target.echo(() => 1), "function"],
      ["result", () => target.gives_function(), "function"],
      ["method timeout", () => target.sleeps(), "30000 ms"],
      ["fetch", () => target.fetch("http://x/throws"), "boom"],
      ["fetch timeout", () => target.fetch("http://x/sleeps"), "30000 ms"],
      ["init timeout", () => slow.echo(), "30000 ms"],
      ["init", () => this.env.Broken.idFromName("x").echo(), "boom"],
    ];
    for (const [label, made, word] of calls) {
      try {
        await made();
      } catch (error: any) {
        await this.ctx.storage.put(label, [error.name, error.message.includes(word)]);
      }
    }
  }
}

export class Callee extends StatefulActor<any> {
  async throws() {
    throw new Error("boom");
  }

  async careless() {
    this.ctx.storage.put("k", () => 1);
  }

  async _hidden() {
    return 1;
  }

  async echo(value: unknown = null) {
    return value;
  }

  async gives_function() {
    return () => 1;
  }

  async sleeps() {
    await sleep(31);
  }

  async fetch(request: Request) {
    if (new URL(request.url).pathname === "/throws") throw new Error("boom");
    await sleep(31);
    return new Response("late");
  }
}

export class Slow extends Callee {
  constructor(ctx: any, env: any) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(() => sleep(31));
  }
}

export class Broken extends Callee {
  constructor(ctx: any, env: any) {
    super(ctx, env);
    throw new Error("boom");
  }
}
