// The entry module: an HTTP handler in front, and the actor classes that it ships.

import type { Env } from "@telnyx/edge-runtime";

export { Archive } from "./archive";
export { Outbox } from "./outbox";

// POST /NAME takes a JSON value in, GET /NAME says how many wait.
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const name = new URL(request.url).pathname.slice(1);
    if (name === "") {
      return new Response("give the name of an outbox, such as /events", { status: 404 });
    }
    const outbox = env.OUTBOX.idFromName(name);
    if (request.method === "POST") {
      return Response.json({ number: await outbox.add(await request.json()) }, { status: 202 });
    }
    return Response.json({ waiting: await outbox.waiting() });
  },
};
