// Keys and values.

import { type AlarmInfo, CodecError, StatefulActor } from "@telnyx/edge-runtime";

class Point {}

const orMissing = (value: unknown) => (value === undefined ? "missing" : value);

export class A extends StatefulActor {
  async fill(keys: string[]) {
    for (const key of keys) await this.ctx.storage.put(key, key);
  }

  async listed(options: any) {
    return [...(await this.ctx.storage.list(options)).keys()];
  }

  async listed_limit(limit: any) {
    try {
      return (await this.ctx.storage.list({ limit: limit ?? undefined })).size;
    } catch (error) {
      return error instanceof RangeError ? "refused" : String(error);
    }
  }

  async own_writes() {
    const { storage } = this.ctx;
    await storage.put("k", 5);
    const seen: unknown[] = [await storage.get("k"), await storage.delete("k")];
    seen.push(orMissing(await storage.get("k")), [...(await storage.list()).keys()]);
    return [...seen, await storage.delete("k")];
  }

  async get(key: string) {
    return orMissing(await this.ctx.storage.get(key));
  }

  async delete(key: string) {
    return await this.ctx.storage.delete(key);
  }

  async put(key: string, value: unknown) {
    await this.ctx.storage.put(key, value);
  }

  async null() {
    const { storage } = this.ctx;
    await storage.put("k", null);
    const seen = [orMissing(await storage.get("k")), await storage.delete("k")];
    return [...seen, orMissing(await storage.get("k")), await storage.delete("k")];
  }

  async reserved() {
    const { storage } = this.ctx;
    const refused = [];
    for (const key of ["__telnyx_a", "__telnyx_", "__telnyxa", "_telnyx_a"]) {
      try {
        await storage.put(key, 1);
      } catch {
        refused.push(key);
      }
    }
    await storage.setAlarm(Date.now() + 60_000);
    return [refused, [...(await storage.list()).keys()]];
  }

  async decommission(when_ms: number) {
    const { storage } = this.ctx;
    for (const key of "abc") await storage.put(key, 1);
    await storage.setAlarm(when_ms);
    await storage.deleteAll();
    return [[...(await storage.list()).keys()], await storage.getAlarm()];
  }

  async alarm(_info: AlarmInfo) {
    await this.ctx.storage.put("seen", [...(await this.ctx.storage.list()).keys()]);
  }

  async snapshot() {
    const value = { a: 1 };
    const writing = this.ctx.storage.put("k", value);
    value.a = 2;
    await writing;
    const first: any = await this.ctx.storage.get("k");
    first.a = 3;
    return await this.ctx.storage.get("k");
  }

  async echo(value: unknown) {
    await this.ctx.storage.put("echo", value);
    return value;
  }

  async refuses() {
    const circular: unknown[] = [];
    circular.push(circular);
    const bad: Record<string, unknown> = {
      function: () => 1,
      instance: new Point(),
      deep: [{ a: new Point() }],
      circular,
      promise: Promise.resolve(),
      undefined: undefined,
      error: new Error("x"),
    };
    const refused = [];
    await this.ctx.storage.put("k", "old");
    for (const [name, value] of Object.entries(bad)) {
      try {
        await this.ctx.storage.put("k", value);
      } catch (error) {
        if (error instanceof CodecError) refused.push(`${name} ${error.name}`);
      }
    }
    return [refused, await this.ctx.storage.get("k")];
  }

  async shared() {
    const part = { a: 1 };
    await this.ctx.storage.put("k", [part, part]);
    const [first, second]: any = await this.ctx.storage.get("k");
    first.a = 2;
    return second;
  }

  async bad_times() {
    await this.ctx.storage.setAlarm(Date.now() + 60_000);
    const wrong: Record<string, any> = {
      NaN: NaN,
      infinity: Infinity,
      text: "2027",
      "date without zone": new Date(2030, 0, 1),
      nothing: undefined,
    };
    const refused = [];
    for (const [name, when] of Object.entries(wrong)) {
      try {
        await this.ctx.storage.setAlarm(when);
      } catch (error) {
        if (error instanceof TypeError) refused.push(name);
      }
    }
    const due_at_ms = await this.ctx.storage.getAlarm();
    return [refused, due_at_ms && due_at_ms - Date.now()];
  }
}
