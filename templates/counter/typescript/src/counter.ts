// A number that survives: what an actor keeps in storage is there after any restart.

import { StatefulActor } from "@telnyx/edge-runtime";

export class Counter extends StatefulActor {
  async increment(by = 1): Promise<number> {
    // Reading, adding and writing cannot be interleaved with another call: an instance runs one
    // turn at a time, and all that a turn writes is kept as one, or not at all.
    const value = (await this.value()) + by;
    await this.ctx.storage.put("value", value);
    return value;
  }

  async value(): Promise<number> {
    return (await this.ctx.storage.get<number>("value")) ?? 0;
  }

  async reset(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}
