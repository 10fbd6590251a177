// Transactions: what lands together, what a failure undoes, and what the turn then ends as.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

const sleep = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1_000));
const orMissing = (value: unknown) => (value === undefined ? "missing" : value);
const keysOf = (map: Map<string, unknown>) => [...map.keys()];

export class A extends StatefulActor {
  async transfer() {
    const { storage } = this.ctx;
    await storage.put("kept", 1);
    const given = await storage.transaction(async (txn) => {
      await txn.put("a", 1);
      await txn.put("gone", 2);
      const seen: unknown[] = [await txn.get("a"), await txn.delete("gone")];
      seen.push(orMissing(await txn.get("gone")), await txn.get("kept"), keysOf(await txn.list()));
      seen.push(orMissing(await storage.get("a")), keysOf(await storage.list({ prefix: "a" })));
      return seen;
    });
    return [given, await storage.get("a")];
  }

  /** What a list shows while some keys are stored, some of the turn, some of the buffer. */
  async pages() {
    const { storage } = this.ctx;
    await storage.put("b", 1);
    await storage.delete("d");
    const shown = await storage.transaction(async (txn) => {
      await txn.put("c", 1);
      await txn.delete("a");
      const lists = [keysOf(await txn.list()), keysOf(await txn.list({ limit: 2, reverse: true }))];
      return [...lists, await txn.delete("a"), await txn.delete("b")];
    });
    return [shown, keysOf(await storage.list())];
  }

  async fail(caught: boolean, rearm_ms: number | null) {
    const { storage } = this.ctx;
    await storage.put("before", 1);
    try {
      await storage.transaction(async (txn) => {
        await txn.put("in", 1);
        await storage.put("beside", 1);
        if (rearm_ms !== null) await storage.setAlarm(Date.now() + rearm_ms);
        throw new Error("boom");
      });
    } catch (error) {
      if (!caught) throw error;
    }
    await storage.put("after", 1);
    return "not seen";
  }

  async fail_then_raise() {
    try {
      await this.fail_inside();
    } catch {
      throw new Error("other");
    }
  }

  async fail_inside() {
    await this.ctx.storage.transaction(async (txn) => {
      await txn.put("in", 1);
      throw new Error("boom");
    });
  }

  /** The transaction is not awaited, and takes its time. */
  async left_alone(fails: boolean) {
    await this.ctx.storage.put("k", 1);
    this.ctx.storage.transaction(async (txn) => {
      await txn.put("in", 1);
      await sleep(1);
      if (fails) throw new Error("boom");
      await txn.put("late", 1);
    });
    return "ok";
  }

  async surface() {
    return await this.ctx.storage.transaction(async (txn: any) => {
      const names = ["deleteAll", "setAlarm", "getAlarm", "deleteAlarm", "sql", "transaction"];
      return names.filter((name) => {
        try {
          return txn[name] !== undefined;
        } catch {
          return false;
        }
      });
    });
  }

  /** The refusal of the inner one, which the outer one survives. */
  async nested(in_task: boolean) {
    const { storage } = this.ctx;
    const refused = async () => {
      try {
        await storage.transaction(async (txn) => await txn.put("inner", 1));
      } catch (error: any) {
        return error.message;
      }
    };
    return await storage.transaction(async (txn) => {
      await txn.put("outer", 1);
      return await (in_task ? Promise.resolve().then(refused) : refused());
    });
  }

  async side_by_side() {
    const { storage } = this.ctx;
    const body = async (txn: any, key: string, seconds: number) => {
      await txn.put(key, 1);
      await sleep(seconds);
      return [key, keysOf(await txn.list())];
    };
    return await Promise.all([
      storage.transaction((txn) => body(txn, "a", 1)),
      storage.transaction((txn) => body(txn, "b", 2)),
    ]);
  }

  async used_late() {
    const kept: any[] = [], refused: string[] = [];
    await this.ctx.storage.transaction(async (txn) => {
      kept.push(txn);
      await txn.put("a", 1);
    });
    for (const use of [() => kept[0].get("a"), () => kept[0].put("b", 1), () => kept[0].list()]) {
      try {
        await use();
      } catch (error: any) {
        refused.push(error.message);
      }
    }
    return refused;
  }

  async reserved() {
    return await this.ctx.storage.transaction(async (txn) => {
      const refused = [];
      for (const write of [() => txn.put("__telnyx_a", 1), () => txn.delete("__telnyx_a")]) {
        try {
          await write();
        } catch (error: any) {
          refused.push(error.message.includes("__telnyx_"));
        }
      }
      await txn.put("a", 1);
      return refused;
    });
  }

  async bad_write_left_alone() {
    await this.ctx.storage.put("k", 1);
    await this.ctx.storage.transaction(async (txn) => {
      txn.put("__telnyx_a", 1);
      await txn.put("a", 1);
    });
    return "not seen";
  }

  async bad_write_of_a_task() {
    const write = async () => {
      await null;
      this.ctx.storage.put("__telnyx_a", 1);
      this.ctx.storage.put("a", 1);
    };
    write(); // That nobody awaits it is the point.
    await null;
    return "not seen";
  }

  async too_long() {
    this.ctx.storage.transaction(async (txn) => {
      await txn.put("in", 1);
      await sleep(40);
    });
    return "not seen";
  }

  async arm(after_ms: number, plan: unknown) {
    await this.ctx.storage.put("plan", plan);
    await this.ctx.storage.setAlarm(Date.now() + after_ms);
  }

  async alarm(info: AlarmInfo) {
    const { storage } = this.ctx;
    const plan: any = await storage.get("plan");
    const tries = (await storage.get<number[]>("tries")) ?? [];
    await storage.put("tries", [...tries, info.retryCount]);
    if (info.retryCount < plan.fails) {
      try {
        await this.fail_inside();
      } catch {
        await storage.put("caught", 1);
      }
    }
    if (plan.rearm_ms !== undefined && info.retryCount === 0) {
      await storage.put("plan", { fails: 0 });
      await storage.setAlarm(Date.now() + plan.rearm_ms);
    }
    if (plan.clear) await storage.deleteAlarm();
  }

  async fetch(_request: Request) {
    try {
      await this.fail_inside();
    } catch {
      await this.ctx.storage.put("caught", 1);
    }
    return new Response("not seen");
  }
}

/** Begins a transaction in its constructor, or in what it wants awaited there. */
export class B extends StatefulActor {
  constructor(ctx: any, env: any) {
    super(ctx, env);
    if (ctx.id === "constructor") ctx.storage.transaction((txn: any) => this._prepare(txn));
    else ctx.blockConcurrencyWhile(() => this._initialise());
  }

  async _prepare(txn: any) {
    await txn.put("prepared", ((await txn.get("prepared")) ?? 0) + 1);
    if (await this.ctx.storage.get("broken")) throw new Error("cannot prepare");
  }

  async _initialise() {
    const tried = (await this.ctx.storage.get<number>("tried")) ?? 0;
    await this.ctx.storage.put("tried", tried + 1);
    try {
      await this.ctx.storage.transaction((txn) => this._prepare(txn));
    } catch {
      await this.ctx.storage.setAlarm(Date.now() + 60_000);
    }
  }

  async hello() {
    return await this.ctx.storage.get("prepared");
  }
}

export default {
  async fetch(request: Request, env: any) {
    return await env.A.idFromName("x").fetch(request);
  },
};
