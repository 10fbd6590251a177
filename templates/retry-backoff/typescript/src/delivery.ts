// Work that must be done although the other side may be down for hours.
//
// The platform retries an alarm that fails three times, about a second apart, and then forgets it
// without a word. That outlasts no real outage. So the handler below never fails: it catches,
// records, and sets the alarm again, for a delay of its own choice. When it gives up it says so, in
// storage.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

/** The wait after the first failure, the second, and so on; one more, and it is given up. */
const BACKOFF_MS = [60_000, 5 * 60_000, 30 * 60_000, 2 * 60 * 60_000];

export interface Job {
  to: string;
  text: string;
  state: "waiting" | "delivered" | "given_up";
  failures: number;
  lastError: string | null;
}

/** One message on its way. Its name is the id under which the other side knows it. */
export class Delivery extends StatefulActor {
  async send(to: string, text: string): Promise<Job> {
    const known = await this.ctx.storage.get<Job>("job");
    if (known !== undefined) return known; // A caller that asks twice gets one delivery.
    const job: Job = { to, text, state: "waiting", failures: 0, lastError: null };
    await this.ctx.storage.put("job", job);
    await this.ctx.storage.setAlarm(Date.now());
    return job;
  }

  async status(): Promise<Job | null> {
    return (await this.ctx.storage.get<Job>("job")) ?? null;
  }

  // For whoever looks after deliveries that were given up, once the cause is mended.
  async tryAgain(): Promise<void> {
    const job = await this.ctx.storage.get<Job>("job");
    if (job?.state !== "given_up") return;
    await this.ctx.storage.put("job", { ...job, state: "waiting", failures: 0 });
    await this.ctx.storage.setAlarm(Date.now());
  }

  async alarm(_info: AlarmInfo): Promise<void> {
    const job = await this.ctx.storage.get<Job>("job");
    // The alarm may be delivered once more after the work is done.
    if (job?.state !== "waiting") return;
    try {
      await this.env.INBOX.idFromName(job.to).receive(this.ctx.id, job.text);
    } catch (error) {
      await this.#noteFailure(job, error instanceof Error ? error.message : String(error));
      return;
    }
    await this.ctx.storage.put("job", { ...job, state: "delivered" });
  }

  async #noteFailure(job: Job, lastError: string): Promise<void> {
    const delayMs = BACKOFF_MS[job.failures];
    const state = delayMs === undefined ? "given_up" : "waiting";
    await this.ctx.storage.put("job", { ...job, state, failures: job.failures + 1, lastError });
    if (delayMs !== undefined) await this.ctx.storage.setAlarm(Date.now() + delayMs);
  }
}
