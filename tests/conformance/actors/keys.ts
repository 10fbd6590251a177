// Keys: what is refused, what a list holds, and what a turn that fails leaves.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

export class A extends StatefulActor {
  async fill(keys: string[]) {
    for (const key of keys) await this.ctx.storage.put(key, key);
  }

  async get(key: string) {
    return (await this.ctx.storage.get(key)) ?? "missing";
  }

  /** What each call makes of a key of the runtime, while the runtime has an alarm to keep. */
  async reserved() {
    const { storage } = this.ctx;
    await storage.setAlarm(Date.now() + 60_000);
    const said: unknown[] = [];
    const writes = [() => storage.put("__telnyx_k", 1), () => storage.delete("__telnyx_k")];
    for (const write of writes) {
      try {
        await write();
      } catch (error: any) {
        said.push(error.message.includes("__telnyx_"));
      }
    }
    said.push((await storage.get("__telnyx_k")) ?? "missing");
    said.push([...(await storage.list({ prefix: "__telnyx_" })).keys()]);
    await storage.deleteAll();
    return [...said, (await storage.getAlarm()) !== null];
  }

  /** How many of the calls refuse what is no key. */
  async no_keys() {
    const { storage } = this.ctx;
    let refused = 0;
    const wrong: any[] = ["", 5, null, ["k"]];
    for (const key of wrong) {
      const calls = [() => storage.get(key), () => storage.delete(key), () => storage.put(key, 1)];
      for (const call of calls) {
        try {
          await call();
        } catch (error) {
          if (error instanceof TypeError) refused += 1;
        }
      }
    }
    return refused;
  }

  /** Lists in the middle of a turn: what is stored, less and with what the turn wrote. */
  async merged() {
    const { storage } = this.ctx;
    await storage.put("b", "new");
    await storage.put("d", "changed");
    await storage.delete("a");
    const whole = await storage.list();
    const fromTheEnd = await storage.list({ reverse: true, limit: 2 });
    await storage.deleteAll();
    await storage.put("z", 1);
    return [[...whole], [...fromTheEnd.keys()], [...(await storage.list()).keys()]];
  }

  /** How many keys each page has, from one last key seen to the next. */
  async count_pages() {
    const sizes = [];
    let last: string | undefined;
    for (;;) {
      const page = await this.ctx.storage.list({ startAfter: last });
      if (page.size === 0) return sizes;
      sizes.push(page.size);
      last = [...page.keys()].at(-1);
    }
  }

  async everything_then_throw() {
    const { storage } = this.ctx;
    await storage.put("new", 1);
    await storage.delete("a");
    await storage.setAlarm(Date.now() + 5_000);
    await storage.deleteAll();
    await storage.put("after", 1);
    throw new Error("too late");
  }

  async clear_alarm_then_throw() {
    await this.ctx.storage.deleteAlarm();
    throw new Error("too late");
  }

  async arm(after_ms: number) {
    await this.ctx.storage.setAlarm(Date.now() + after_ms);
  }

  /** Catches what each failing write says, and goes on. */
  async forgives() {
    const { storage } = this.ctx, said = [], soon: any = "soon";
    const writes = [
      () => storage.put("k", () => 1),
      () => storage.put("", 1),
      () => storage.put("__telnyx_k", 1),
      () => storage.setAlarm(soon),
    ];
    for (const write of writes) {
      try {
        await write();
      } catch {
        said.push("refused");
      }
    }
    await storage.put("k", 1);
    return said;
  }

  /** Leaves a failing write alone, between writes that are well. */
  async careless() {
    await this.ctx.storage.put("before", 1);
    await this.ctx.storage.setAlarm(Date.now() + 5_000);
    this.ctx.storage.put("k", () => 1);
    await this.ctx.storage.put("after", 1);
    return "looks well";
  }

  async alarm(_info: AlarmInfo) {
    if (await this.ctx.storage.get("careful")) return;
    await this.ctx.storage.put("ran", 1);
    this.ctx.storage.put("k", () => 1);
  }
}

export class B extends StatefulActor {
  async fill(keys: string[]) {
    for (const key of keys) await this.ctx.storage.put(key, key);
  }

  async get(key: string) {
    return (await this.ctx.storage.get(key)) ?? "missing";
  }
}
