// The entry module: an HTTP handler in front, and the actor classes that it ships.

import type { Env } from "@telnyx/edge-runtime";

export { Delivery } from "./delivery";
export { Inbox } from "./inbox";

// POST /ID with {"to": "bob", "text": "hello"} sends a message, GET /ID says what became of it.
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const id = new URL(request.url).pathname.slice(1);
    if (id === "") return new Response("give the id of a delivery, such as /m1", { status: 404 });
    const delivery = env.DELIVERY.idFromName(id);
    if (request.method === "POST") {
      const { to, text } = (await request.json()) as { to: string; text: string };
      return Response.json(await delivery.send(to, text), { status: 202 });
    }
    const job = await delivery.status();
    return job === null ? new Response("not known", { status: 404 }) : Response.json(job);
  },
};
