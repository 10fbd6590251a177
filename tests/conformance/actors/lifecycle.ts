// Construction, initialisation, memory, and what an actor is told of itself.

import { StatefulActor } from "@telnyx/edge-runtime";

const sleep = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1_000));

/** Initialises slowly. */
export class A extends StatefulActor {
  constructed = 0;

  constructor(ctx: any, env: any) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(async () => {
      await sleep(2);
      this.constructed = 1;
      await this.ctx.storage.put("ready", 1);
    });
  }

  async ready() {
    return [await this.ctx.storage.get("ready"), Date.now()];
  }
}

/** Cannot be constructed while the key `broken` is there. */
export class B extends StatefulActor {
  constructor(ctx: any, env: any) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(async () => {
      await this.ctx.storage.put("tried", 1);
      if (await this.ctx.storage.get("broken")) throw new Error("cannot start");
    });
  }

  async hello() {
    return "hello";
  }
}

/** Keeps one number in memory and one in storage. */
export class C extends StatefulActor {
  n?: number;

  async inc() {
    this.n = (this.n ?? 0) + 1;
    const n2 = ((await this.ctx.storage.get<number>("n2")) ?? 0) + 1;
    await this.ctx.storage.put("n2", n2);
    return [this.n, n2];
  }

  async who() {
    return this.ctx.id;
  }

  async arm(when_ms: number) {
    await this.ctx.setAlarm(when_ms);
    return [await this.ctx.storage.getAlarm(), "getAlarm" in this.ctx];
  }
}

/** Initialises for longer than it may. */
export class D extends StatefulActor {
  zombie?: boolean;

  constructor(ctx: any, env: any) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(async () => {
      if (await this.ctx.storage.get("slow")) {
        await sleep(40);
        this.zombie = true;
      }
    });
  }

  async hello() {
    return this.zombie ?? false;
  }
}
