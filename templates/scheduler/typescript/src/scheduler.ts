// Several timers on the one alarm that an actor has.
//
// Timers are kept in storage, in the order in which they are due, and the alarm is always set for
// the first of them. When it is delivered, everything that is due by then runs.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

/** Timers that run in one turn; what is left runs in the next. */
const BATCH_MAX = 100;

interface Timer {
  dueAtMs: number;
  text: string;
  everyMs: number | null;
}

export class Scheduler extends StatefulActor {
  /** Set a timer, or set it anew; when it is due, in ms since the epoch. */
  async schedule(name: string, seconds: number, text = "", repeat = false): Promise<number> {
    const delayMs = Math.round(seconds * 1_000);
    if (!(delayMs > 0)) {
      throw new Error(`a timer is due after more than 0 seconds, not ${seconds}`);
    }
    await this.#remove(name);
    const dueAtMs = Date.now() + delayMs;
    await this.#insert(name, { dueAtMs, text, everyMs: repeat ? delayMs : null });
    await this.#setAlarm();
    return dueAtMs;
  }

  /** Take a timer back; whether it was there. */
  async cancel(name: string): Promise<boolean> {
    const wasThere = (await this.#remove(name)) !== undefined;
    await this.#setAlarm();
    return wasThere;
  }

  /** The timers that are set, soonest first: name to due instant. */
  async pending(): Promise<Record<string, number>> {
    const found = await this.ctx.storage.list<string>({ prefix: "due/", limit: 1_000 });
    return Object.fromEntries([...found].map(([key, name]) => [name, dueAtMsOf(key)]));
  }

  /** What ran so far, in order. */
  async ran(): Promise<string[]> {
    return [...(await this.ctx.storage.list<string>({ prefix: "ran/", limit: 1_000 })).values()];
  }

  async alarm(_info: AlarmInfo): Promise<void> {
    const end = dueKey(Date.now() + 1, "");
    const due = await this.ctx.storage.list<string>({ prefix: "due/", end, limit: BATCH_MAX });
    for (const [key, name] of due) await this.#run(name, dueAtMsOf(key));
    await this.#setAlarm();
  }

  async #run(name: string, dueAtMs: number): Promise<void> {
    const timer = await this.#remove(name);
    if (timer === undefined) return;
    // What a timer does: here, it writes a line. If it did something outside, such as sending a
    // mail, a crash could make it happen twice; its name and due instant would tell the other side
    // that it is the same one.
    await this.ctx.storage.put(`ran/${padded(dueAtMs)}/${name}`, timer.text || name);
    const { everyMs } = timer;
    if (everyMs !== null) {
      // The next one after now: what was missed while nothing ran is not made up for.
      const missed = Math.floor((Date.now() - dueAtMs) / everyMs);
      await this.#insert(name, { ...timer, dueAtMs: dueAtMs + (missed + 1) * everyMs });
    }
  }

  async #insert(name: string, timer: Timer): Promise<void> {
    await this.ctx.storage.put(`timer/${name}`, timer);
    await this.ctx.storage.put(dueKey(timer.dueAtMs, name), name);
  }

  async #remove(name: string): Promise<Timer | undefined> {
    const timer = await this.ctx.storage.get<Timer>(`timer/${name}`);
    if (timer === undefined) return undefined;
    await this.ctx.storage.delete(`timer/${name}`);
    await this.ctx.storage.delete(dueKey(timer.dueAtMs, name));
    return timer;
  }

  /** Set the alarm for the first timer, or clear it where there is none. */
  async #setAlarm(): Promise<void> {
    const [first] = (await this.ctx.storage.list({ prefix: "due/", limit: 1 })).keys();
    if (first !== undefined) await this.ctx.storage.setAlarm(dueAtMsOf(first));
    else if ((await this.ctx.storage.getAlarm()) !== null) await this.ctx.storage.deleteAlarm();
  }
}

// Keys are ordered as text, so an instant has leading zeros.
function padded(instantMs: number): string {
  return String(instantMs).padStart(13, "0");
}

function dueKey(dueAtMs: number, name: string): string {
  return `due/${padded(dueAtMs)}/${name}`;
}

function dueAtMsOf(key: string): number {
  return Number(key.split("/")[1]);
}
