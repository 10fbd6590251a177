// Many calls, one alarm, one batch.
//
// Sending each item by itself would cost a request each. An `Outbox` collects them for ten seconds
// and then sends all that came in as one batch.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";
import type { Batch } from "./archive";

/** How long the first item of a batch waits for others. */
const WAIT_MS = 10_000;

/** How long a batch waits that could not be sent. */
const RETRY_MS = 60_000;

const BATCH_MAX = 100;

export class Outbox extends StatefulActor {
  /** Take an item in; its number. */
  async add(item: unknown): Promise<number> {
    const number = (await this.ctx.storage.get<number>("nextNumber")) ?? 1;
    // Leading zeros, because keys are ordered as text: "item/10" would come before "item/9".
    await this.ctx.storage.put(`item/${String(number).padStart(12, "0")}`, item);
    await this.ctx.storage.put("nextNumber", number + 1);
    // Only the first item sets the alarm. If each did, a busy outbox would never be emptied.
    if ((await this.ctx.storage.getAlarm()) === null) {
      await this.ctx.storage.setAlarm(Date.now() + WAIT_MS);
    }
    return number;
  }

  async waiting(): Promise<number> {
    return (await this.ctx.storage.list({ prefix: "item/", limit: 1_000 })).size;
  }

  async alarm(_info: AlarmInfo): Promise<void> {
    const found = await this.ctx.storage.list({ prefix: "item/", limit: BATCH_MAX });
    if (found.size === 0) return; // The alarm may be delivered once more after the batch was sent.
    const batch: Batch = [...found].map(([key, item]) => [Number(key.slice("item/".length)), item]);
    try {
      await this.env.ARCHIVE.idFromName(this.ctx.id).store(batch);
    } catch {
      // Failing here would lose the alarm after four attempts, and the items would stay.
      await this.ctx.storage.setAlarm(Date.now() + RETRY_MS);
      return;
    }
    for (const key of found.keys()) await this.ctx.storage.delete(key);
    // There may be more.
    if (found.size === BATCH_MAX) await this.ctx.storage.setAlarm(Date.now());
  }
}
