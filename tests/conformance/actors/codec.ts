// Values that cannot travel, each in three places: stored, as an argument, as a result.

import { CodecError, StatefulActor } from "@telnyx/edge-runtime";

class Point {
  x = 1;
}

class Colour {
  static RED = new Colour();
}

function circular() {
  const first: any[] = [];
  first.push({ again: [first] });
  return first;
}

const BAD: Record<string, () => unknown> = {
  function: () => circular,
  closure: () => () => 1,
  class: () => Point,
  instance: () => new Point(),
  "instance inside": () => ({ list: [1, { deep: new Point() }] }),
  "instance as a key": () => new Map([[new Point(), 1]]),
  "instance in a set": () => new Set([new Point()]),
  circular,
  promise: () => new Promise(() => {}),
  "promise inside": () => ({ p: Promise.resolve(1) }),
  stream: () => new ReadableStream(),
  generator: () => [1].values(),
  error: () => new Error("x"),
  symbol: () => Symbol("x"),
  enumeration: () => Colour.RED,
  "weak set": () => new WeakSet(),
  // What only this language has.
  "weak map": () => new WeakMap(),
  "weak reference": () => new WeakRef({}),
  proxy: () => new Proxy({}, {}),
  "proxy of an array": () => new Proxy([], {}),
  blob: () => new Blob(["x"]),
  url: () => new URL("http://localhost/"),
  headers: () => new Headers(),
  request: () => new Request("http://localhost/"),
  "symbol inside": () => ({ a: [Symbol.iterator] }),
  "boxed number": () => Object(1),
  "boxed string": () => Object("x"),
  "subclass of Map": () => new (class extends Map {})(),
  "subclass of Array": () => new (class extends Array {})(),
  "subclass of Date": () => new (class extends Date {})(),
  "shared memory": () => new SharedArrayBuffer(8),
  global: () => globalThis,
};

export class A extends StatefulActor<any> {
  /** What is not refused with a CodecError, or changes what was stored before. */
  async stores(names: string[]) {
    const wrong = [];
    await this.ctx.storage.put("k", "old");
    for (const name of names) {
      try {
        await this.ctx.storage.put("k", BAD[name]());
        wrong.push(name);
      } catch (error) {
        const told = error instanceof CodecError && error.name === "CodecError";
        if (!told || (await this.ctx.storage.get("k")) !== "old") wrong.push(name);
      }
    }
    return wrong;
  }

  /** What is not refused as an argument. */
  async sends(names: string[]) {
    const wrong = [], other = this.env.B.idFromName("y");
    for (const name of names) {
      try {
        await other.takes(1, BAD[name]());
        wrong.push(name);
      } catch (error: any) {
        if (error.name !== "CodecError") wrong.push(name);
      }
    }
    return wrong;
  }

  /** What is not refused as a result. */
  async receives(names: string[]) {
    const wrong = [], other = this.env.B.idFromName("y");
    for (const name of names) {
      try {
        await other.gives(name);
        wrong.push(name);
      } catch (error: any) {
        if (error.name !== "CodecError") wrong.push(name);
      }
    }
    return wrong;
  }

  /** Undefined alone: refused as a value, sent as an argument and as a result. */
  async undefined() {
    let refused = false;
    try {
      await this.ctx.storage.put("k", undefined);
    } catch (error) {
      refused = error instanceof CodecError;
    }
    const echoed = await this.env.B.idFromName("y").echo(undefined);
    return [refused, echoed === undefined];
  }

  /** The bytes of a buffer and of a view into one, as they come back. */
  async buffers() {
    const there = new TextEncoder().encode("there");
    await this.ctx.storage.put("buffer", new TextEncoder().encode("hi"));
    await this.ctx.storage.put("view", there.subarray(1, 3));
    const found = [];
    for (const key of ["buffer", "view"]) found.push([...await this.ctx.storage.get<any>(key)]);
    return found;
  }

  /** An integral number looks the same however it was written. */
  async whole_number() {
    await this.ctx.storage.put("k", 5.0);
    await this.ctx.storage.put("l", 5);
    const first = await this.ctx.storage.get("k"), second = await this.ctx.storage.get("l");
    return [first, second, String(first) === String(second)];
  }
}

export class B extends StatefulActor {
  async takes(first: unknown, _second: unknown) {
    await this.ctx.storage.put("taken", first);
  }

  async gives(name: string) {
    await this.ctx.storage.put("k", name);
    await this.ctx.storage.setAlarm(Date.now() + 1_000);
    return BAD[name]();
  }

  async echo(value: unknown) {
    return value;
  }
}
