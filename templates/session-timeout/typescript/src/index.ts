// The entry module: an HTTP handler in front, and the actor classes that it ships.

import type { Env } from "@telnyx/edge-runtime";

export { Session } from "./session";

// POST /NAME touches a session, GET /NAME says when it ends, DELETE /NAME ends it.
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const name = new URL(request.url).pathname.slice(1);
    if (name === "") return new Response("give a session's name, such as /alice", { status: 404 });
    const session = env.SESSION.idFromName(name);
    if (request.method === "POST") await session.touch();
    else if (request.method === "DELETE") await session.end();
    return Response.json({ endsAtMs: await session.endsAtMs() });
  },
};
