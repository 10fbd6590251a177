// What the local-development cases need.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

/** Arms, counts, re-arms to now until `runs_max`. */
export class A extends StatefulActor {
  async arm(after_ms: number, runs_max = 1) {
    await this.ctx.storage.put("runs_max", runs_max);
    await this.ctx.storage.setAlarm(Date.now() + after_ms);
  }

  async erase() {
    await this.ctx.storage.deleteAll();
  }

  async alarm(_info: AlarmInfo) {
    const count = ((await this.ctx.storage.get<number>("count")) ?? 0) + 1;
    await this.ctx.storage.put("count", count);
    const runs_max = (await this.ctx.storage.get<number>("runs_max")) ?? 1;
    if (count < runs_max) await this.ctx.storage.setAlarm(Date.now());
  }
}

/** Loads a value slowly before anything else, and writes it with its own name. */
export class Named extends StatefulActor {
  loaded?: string;

  constructor(ctx: any, env: any) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(async () => {
      await new Promise((done) => setTimeout(done, 5));
      this.loaded = "value";
      const made = ((await this.ctx.storage.get<number>("made")) ?? 0) + 1;
      await this.ctx.storage.put("made", made);
    });
  }

  async arm(when_ms: number, failures = 0) {
    await this.ctx.storage.put("failures", failures);
    await this.ctx.storage.setAlarm(when_ms);
  }

  async alarm(info: AlarmInfo) {
    if (info.retryCount < (await this.ctx.storage.get<number>("failures"))!) {
      throw new Error(`${this.loaded} ${this.ctx.id} ${info.retryCount}`);
    }
    await this.ctx.storage.put("seen", [this.loaded, this.ctx.id, info.retryCount]);
  }
}

/** Reads its keys in the constructor. */
export class Seeded extends StatefulActor {
  found?: Map<string, unknown>;

  constructor(ctx: any, env: any) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(async () => {
      this.found = await this.ctx.storage.list();
    });
  }

  async found_keys() {
    return Object.fromEntries(this.found!);
  }

  async store(values: Record<string, unknown>) {
    for (const [key, value] of Object.entries(values)) await this.ctx.storage.put(key, value);
    await this.ctx.storage.setAlarm(Date.now() + 3_600_000);
  }
}
