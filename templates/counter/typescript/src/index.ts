// The entry module: an HTTP handler in front, and the actor classes that it ships.

import type { Env } from "@telnyx/edge-runtime";

export { Counter } from "./counter";

// GET /NAME reads a counter, POST /NAME adds one to it.
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const name = new URL(request.url).pathname.slice(1);
    if (name === "") return new Response("give a counter's name, such as /visits", { status: 404 });
    const counter = env.COUNTER.idFromName(name);
    if (request.method === "POST") return Response.json({ value: await counter.increment() });
    return Response.json({ value: await counter.value() });
  },
};
