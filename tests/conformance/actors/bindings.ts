// Bindings: what an actor and the function reach on `env` beside actors.

import { StatefulActor } from "@telnyx/edge-runtime";

export class A extends StatefulActor<any> {
  async kv(method: string, ...args: unknown[]) {
    return await this.env.CACHE[method](...args);
  }

  async put(key: string, value: string, ttl?: number) {
    await this.env.CACHE.put(key, value, { expirationTtl: ttl, metadata: { ignored: true } });
  }

  async get_json(key: string) {
    try {
      return await this.env.CACHE.get(key, { type: "json" });
    } catch (error) {
      return error instanceof SyntaxError ? "no JSON" : String(error);
    }
  }

  async page(prefix: string, limit: number, cursor?: string) {
    return await this.env.CACHE.list({ prefix, limit, cursor });
  }

  async put_then_throw(key: string, value: string) {
    await this.ctx.storage.put(key, value);
    await this.env.CACHE.put(key, value);
    throw new Error("boom");
  }

  async limit(key: string) {
    return (await this.env.PER_USER.limit({ key })).success;
  }

  async mail(url: string) {
    const response = await this.env.MAIL.fetch(url);
    return [response.status, await response.text()];
  }

  async mail_then_throw() {
    await this.env.MAIL.fetch("https://mail.example/sent");
    throw new Error("boom");
  }
}

export default {
  async fetch(request: Request, env: any) {
    const { pathname } = new URL(request.url);
    if (pathname === "/kv") return new Response((await env.CACHE.get("k")) ?? "nothing");
    if (pathname === "/limit") {
      const { success } = await env.PER_USER.limit({ key: "alice" });
      return new Response(success ? "passes" : "too often");
    }
    const asked = new Request("https://mail.example/in?x=1", { method: "POST", body: "hi" });
    const answer = await env.MAIL.fetch(asked);
    return new Response(await answer.text(), { status: answer.status });
  },
};
