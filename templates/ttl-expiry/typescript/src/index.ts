// The entry module: an HTTP handler in front, and the actor classes that it ships.

import type { Env } from "@telnyx/edge-runtime";

export { CacheEntry } from "./cache-entry";

// PUT /KEY?ttl=SECONDS keeps the body, GET /KEY reads it, DELETE /KEY drops it.
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    const key = url.pathname.slice(1);
    if (key === "") return new Response("give a key, such as /motd", { status: 404 });
    const entry = env.ENTRY.idFromName(key);
    if (request.method === "PUT") {
      await entry.put(await request.text(), Number(url.searchParams.get("ttl") ?? "60"));
      return new Response(null, { status: 204 });
    }
    if (request.method === "DELETE") {
      await entry.drop();
      return new Response(null, { status: 204 });
    }
    const value = await entry.get();
    return value === null ? new Response("not there", { status: 404 }) : new Response(value);
  },
};
