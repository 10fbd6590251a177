// What an actor is and holds: its base class, context, namespaces, stubs, and who may call what.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

/** The instances that were constructed since this module was loaded. */
const MADE: string[] = [];

const sleep = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1_000));

/** Stands between the platform's class and the user's. */
class Base extends StatefulActor<any> {
  async inherited() {
    return "inherited";
  }

  async overridden() {
    return "base";
  }
}

export class A extends Base {
  static kind = "a class attribute";
  field = [1];
  given: unknown[];

  constructor(ctx: any, env: any) {
    super(ctx, env);
    this.given = [ctx === this.ctx, env === this.env, ctx.id];
    MADE.push(ctx.id);
  }

  get shown() {
    return "a property";
  }

  async static() {
    return "static";
  }

  async overridden() {
    return "own";
  }

  plain() {
    return "not async";
  }

  async no_result() {
    this.field.push(2);
  }

  /** What the constructor was given. */
  async told() {
    return this.given;
  }

  async secret(handle: string) {
    return await this.env.SECRETS.get(handle);
  }

  /** Which of these the environment has. */
  async bound(names: string[]) {
    return names.filter((name) => name in this.env);
  }

  async made() {
    return MADE;
  }

  async _hidden() {
    return 1;
  }

  /** Which of these the context has. */
  async members(names: string[]) {
    return names.filter((name) => name in this.ctx);
  }

  async storage_members(names: string[]) {
    return names.filter((name) => name in this.ctx.storage);
  }

  async blocks(fails: boolean) {
    const prepare = async () => {
      await this.ctx.storage.put("inside", 1);
      await sleep(1);
      if (fails) throw new Error("not prepared");
      return "prepared";
    };
    await this.ctx.storage.put("before", 1);
    return [await this.ctx.blockConcurrencyWhile(prepare), Date.now()];
  }

  /** Names instances and calls none. */
  async addresses() {
    const stubs = [
      this.env.A.idFromName("y"),
      this.env.A.idFromName("tenant:room", { locationHint: "eu" }),
      this.env.A.idFromName("+15551234567", { locationHint: "anywhere" }),
    ];
    let writable = true;
    try {
      stubs[0].id = "z";
    } catch {
      writable = false;
    }
    return [stubs.map((stub) => stub.id), writable, "get" in this.env.A];
  }

  /** How many of these are refused as names. */
  async no_names() {
    let refused = 0;
    for (const name of ["", null, 5, ["y"]]) {
      try {
        this.env.A.idFromName(name);
      } catch (error) {
        if (error instanceof TypeError) refused += 1;
      }
    }
    return refused;
  }

  async unique() {
    try {
      this.env.A.newUniqueId();
    } catch (error: any) {
      return error.message.includes("known defect");
    }
    return "made";
  }

  /** A stub looks like no awaitable, so it can be returned from an async function. */
  async then() {
    const stub = this.env.A.idFromName("y");
    return stub.then !== undefined || "then" in stub;
  }

  /** A name that is judged where the instance is, not where it is asked for. */
  async asks(method: string) {
    const stub = this.env.A.idFromName("y");
    try {
      return await stub[method]();
    } catch (error: any) {
      return error.name;
    }
  }
}

/** Constructed by hand nowhere, and without any handler. */
export class B extends StatefulActor {}

/** Cannot be constructed while the key `broken` is there. */
export class C extends StatefulActor {
  loaded: unknown;

  constructor(ctx: any, env: any) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(() => this._load());
  }

  async _load() {
    this.loaded = (await this.ctx.storage.get("broken")) ?? "missing";
    if (this.loaded === true) throw new Error("broken");
  }

  async alarm(info: AlarmInfo) {
    await this.ctx.storage.put("ran", [info.retryCount, this.loaded]);
  }

  async fetch(request: Request) {
    return new Response(`${new URL(request.url).pathname} ${this.loaded}`);
  }
}

export default {
  async fetch(request: Request, env: any) {
    const { pathname } = new URL(request.url);
    if (pathname === "/throws") {
      await env.A.idFromName("x").plain();
      throw new Error("not for the client");
    }
    if (pathname === "/greets") return new Response(env.GREETING);
    const found = ({ "/b": env.B, "/c": env.C } as any)[pathname].idFromName("x");
    return await found.fetch(request);
  },
};
