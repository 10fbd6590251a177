// The documented patterns: session timeout, backoff, coalesced drain.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

const IDLE_MS = 300_000;

/** The sample of the platform's documentation, its strict comparison included. */
export class Session extends StatefulActor {
  async touch() {
    await this.ctx.storage.put("last_seen", Date.now());
    await this.ctx.storage.setAlarm(Date.now() + IDLE_MS);
  }

  async alarm(_info: AlarmInfo) {
    const last_seen = (await this.ctx.storage.get<number>("last_seen"))!;
    if (Date.now() - last_seen > IDLE_MS) await this.ctx.storage.deleteAll();
  }
}

/** Catches its own errors and re-arms itself. */
export class Backoff extends StatefulActor {
  async begin(failures: number) {
    await this.ctx.storage.put("failures", failures);
    await this.ctx.storage.setAlarm(Date.now() + 1_000);
  }

  async alarm(info: AlarmInfo) {
    const { storage } = this.ctx;
    const tries = [...((await storage.get<any[]>("tries")) ?? []), [Date.now(), info.retryCount]];
    await storage.put("tries", tries);
    try {
      if (tries.length <= (await storage.get<number>("failures"))!) throw new Error("down");
      await storage.put("done", true);
    } catch (error: any) {
      await storage.put("error", error.message);
      await storage.setAlarm(Date.now() + 1_000 * 2 ** (tries.length - 1));
    }
  }
}

/** Many calls, one alarm, one batch. */
export class Drain extends StatefulActor {
  async enqueue(item: unknown) {
    const queue = (await this.ctx.storage.get<unknown[]>("queue")) ?? [];
    await this.ctx.storage.put("queue", [...queue, item]);
    if ((await this.ctx.storage.getAlarm()) === null) {
      await this.ctx.storage.setAlarm(Date.now() + 5_000);
    }
  }

  async alarm(_info: AlarmInfo) {
    const queue = (await this.ctx.storage.get("queue")) ?? [];
    const batches = (await this.ctx.storage.get<unknown[]>("batches")) ?? [];
    await this.ctx.storage.put("batches", [...batches, queue]);
    await this.ctx.storage.delete("queue");
  }
}

/** Appends to one log; `first` arms another one on its way. */
export class Order extends StatefulActor<any> {
  async arm(after_ms: number) {
    await this.ctx.storage.setAlarm(Date.now() + after_ms);
  }

  async entries(): Promise<string[]> {
    return (await this.ctx.storage.get<string[]>("entries")) ?? [];
  }

  async append(name: string) {
    await this.ctx.storage.put("entries", [...await this.entries(), name]);
  }

  async alarm(_info: AlarmInfo) {
    await this.env.Order.idFromName("log").append(this.ctx.id);
    if (this.ctx.id === "arms-another") await this.env.Order.idFromName("armed").arm(10);
  }
}
