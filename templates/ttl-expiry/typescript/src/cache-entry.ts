// A value with a time to live: one actor for each key of a cache.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

export class CacheEntry extends StatefulActor {
  // Keeps a value for some seconds. Putting again replaces it and starts its time anew.
  async put(value: string, ttlSeconds: number): Promise<void> {
    // `Date.now` shows the emulated time here, and the platform's time in production.
    const expiresAt = Date.now() + ttlSeconds * 1_000;
    await this.ctx.storage.put("value", value);
    await this.ctx.storage.put("expiresAt", expiresAt);
    await this.ctx.storage.setAlarm(expiresAt);
  }

  async get(): Promise<string | null> {
    // An alarm may be a little late, or wait for its retry. The reader does not depend on it: what
    // has expired is gone for him, deleted or not.
    const expiresAt = await this.#expiresAt();
    if (expiresAt === undefined || Date.now() >= expiresAt) return null;
    return (await this.ctx.storage.get<string>("value")) ?? null;
  }

  // Deletes the value now. The alarm goes first: deleteAll does not clear it.
  async drop(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  // Frees the space. It may be called twice for one alarm, or by hand, so it looks again.
  async alarm(_info: AlarmInfo): Promise<void> {
    const expiresAt = await this.#expiresAt();
    if (expiresAt === undefined || Date.now() >= expiresAt) await this.ctx.storage.deleteAll();
    else await this.ctx.storage.setAlarm(expiresAt);
  }

  async #expiresAt(): Promise<number | undefined> {
    return await this.ctx.storage.get<number>("expiresAt");
  }
}
