// A session that ends five minutes after it was last touched.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

const IDLE_MS = 5 * 60_000;

export class Session extends StatefulActor {
  // Called whenever the user does something: it pushes the end out by five minutes.
  async touch(): Promise<void> {
    const now = Date.now();
    await this.ctx.storage.put("lastSeen", now);
    // An actor has one alarm. Setting it replaces the one that was set before.
    await this.ctx.storage.setAlarm(now + IDLE_MS);
  }

  async endsAtMs(): Promise<number | null> {
    return await this.ctx.storage.getAlarm();
  }

  // Ends the session now. The alarm goes first: deleteAll does not clear it.
  async end(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  // Called when the alarm is due. It may be called twice for one alarm, so it looks again at what
  // is stored before it does anything.
  async alarm(_info: AlarmInfo): Promise<void> {
    const lastSeen = (await this.ctx.storage.get<number>("lastSeen")) ?? 0;
    // `>=`, not `>`: an alarm that comes at exactly its instant has found the session idle too.
    if (Date.now() - lastSeen >= IDLE_MS) {
      await this.ctx.storage.deleteAll();
    } else {
      // It was fired early, by hand. Without this line the session would never end.
      await this.ctx.storage.setAlarm(lastSeen + IDLE_MS);
    }
  }
}
