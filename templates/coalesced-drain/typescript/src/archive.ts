// Where batches go. It stands in for a service of somebody else.

import { StatefulActor } from "@telnyx/edge-runtime";

/** Items, each with its number. */
export type Batch = [number: number, item: unknown][];

export class Archive extends StatefulActor {
  async store(batch: Batch): Promise<void> {
    // A batch may arrive twice, and the second time with more in it: its sender can crash after it
    // was received. Numbers only grow, so the highest one tells what is here already.
    let lastNumber = (await this.ctx.storage.get<number>("lastNumber")) ?? 0;
    const fresh = batch.filter(([number]) => number > lastNumber);
    if (fresh.length === 0) return;
    for (const [number, item] of fresh) {
      await this.ctx.storage.put(`item/${String(number).padStart(12, "0")}`, item);
      lastNumber = number;
    }
    await this.ctx.storage.put("lastNumber", lastNumber);
    await this.ctx.storage.put("batches", (await this.batches()) + 1);
  }

  async items(): Promise<unknown[]> {
    return [...(await this.ctx.storage.list({ prefix: "item/", limit: 1_000 })).values()];
  }

  async batches(): Promise<number> {
    return (await this.ctx.storage.get<number>("batches")) ?? 0;
  }
}
