// The entry module: an HTTP handler in front, and the actor classes that it ships.

import type { Env } from "@telnyx/edge-runtime";

export { Scheduler } from "./scheduler";

interface Wanted {
  timer: string;
  seconds: number;
  text?: string;
  repeat?: boolean;
}

// POST /NAME with {"timer": "tea", "seconds": 180, "text": "drink it"} sets a timer,
// DELETE /NAME?timer=tea takes it back, GET /NAME shows what is set and what ran.
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    const name = url.pathname.slice(1);
    if (name === "") {
      return new Response("give the name of a scheduler, such as /kitchen", { status: 404 });
    }
    const scheduler = env.SCHEDULER.idFromName(name);
    if (request.method === "POST") {
      const { timer, seconds, text, repeat } = (await request.json()) as Wanted;
      await scheduler.schedule(timer, seconds, text, repeat);
    } else if (request.method === "DELETE") {
      await scheduler.cancel(url.searchParams.get("timer") ?? "");
    }
    return Response.json({ pending: await scheduler.pending(), ran: await scheduler.ran() });
  },
};
