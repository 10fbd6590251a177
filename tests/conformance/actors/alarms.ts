// Alarms: delivery, retries, replacement, lateness.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

const sleep = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1_000));

/** Records each delivery; the keys `throws`, `rearm` and `sleep` say what the handler does. */
export class A extends StatefulActor {
  async arm(after_ms: number) {
    await this.ctx.storage.setAlarm(Date.now() + after_ms);
  }

  async arm_at(when_ms: number) {
    await this.ctx.storage.setAlarm(when_ms);
  }

  async clear() {
    await this.ctx.storage.deleteAlarm();
    return await this.ctx.storage.getAlarm();
  }

  async when() {
    return await this.ctx.storage.getAlarm();
  }

  async plan(plan: unknown) {
    await this.ctx.storage.put("plan", plan);
  }

  async past(when_ms: number) {
    await this.ctx.storage.setAlarm(when_ms);
    await this.ctx.storage.put("k", 1);
    await sleep(1);
    return (await this.ctx.storage.get("runs")) ?? [];
  }

  async busy(seconds: number, clear: boolean) {
    await sleep(seconds);
    if (clear) await this.ctx.storage.deleteAlarm();
  }

  async alarm(info: AlarmInfo) {
    const { storage } = this.ctx;
    const plan: any = (await storage.get("plan")) ?? {};
    const run: any = { at: Date.now(), retry: info.retryCount, is_retry: info.isRetry };
    if (plan.look) run.alarm = await storage.getAlarm();
    const runs = [...((await storage.get<any[]>("runs")) ?? []), run];
    if (plan.rearm_ms !== undefined && runs.length < (plan.runs_max ?? 1_000_000)) {
      await storage.setAlarm(Date.now() + plan.rearm_ms);
      if (plan.look) run.then = await storage.getAlarm();
    }
    if (plan.clear) await storage.deleteAlarm();
    await storage.put("runs", runs);
    if (plan.sleep_s) await sleep(plan.sleep_s);
    if (info.retryCount < (plan.throws ?? 0)) throw new Error(`attempt ${info.retryCount}`);
  }

  async info() {
    return await this.ctx.storage.get("info");
  }
}

/** Has no handler. */
export class B extends StatefulActor {
  async arm(after_ms: number) {
    await this.ctx.storage.setAlarm(Date.now() + after_ms);
  }
}

/** Records all there is in the info of a delivery. */
export class C extends StatefulActor {
  async arm(after_ms: number) {
    await this.ctx.storage.setAlarm(Date.now() + after_ms);
  }

  async alarm(info: AlarmInfo) {
    await this.ctx.storage.put("info", Object.keys(info).sort());
  }
}
