// The entry module: an HTTP handler in front, with a variable, a secret and a rate limit.

import type { Env } from "@telnyx/edge-runtime";

export { ChatRoom } from "./room";

const TEXT_CHARS_MAX = 500;

// GET /ROOM: a page of messages, or a WebSocket. POST /ROOM?user=NAME says the body.
// DELETE /ROOM with the moderator's key clears the room.
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const name = pathname.replace(/^\/+|\/+$/g, "");
    if (name === "") return new Response("give a room, such as /lobby", { status: 404 });
    const room = env.ROOM.idFromName(name);
    if (request.headers.get("upgrade")?.toLowerCase() === "websocket") {
      // What the stub gives is returned as it is: from then on the client talks to the actor.
      const headers = new Headers(request.headers);
      headers.set("x-motto", env.MOTTO);
      return await room.fetch(new Request(request, { headers }));
    }
    if (request.method === "POST") return await say(request, env, name);
    if (request.method === "DELETE") {
      const key = await env.SECRETS.get("MODERATOR_KEY");
      if (!(await isSame(request.headers.get("x-key") ?? "", key))) {
        return new Response("only a moderator clears a room", { status: 403 });
      }
      await room.clear();
      return new Response(null, { status: 204 });
    }
    const before = searchParams.get("before") ?? "";
    if (!/^\d{0,15}$/.test(before)) {
      return new Response("`before` is the `next` of a page", { status: 400 });
    }
    return Response.json(await room.history(before === "" ? null : Number(before)));
  },
};

async function say(request: Request, env: Env, name: string): Promise<Response> {
  const user = new URL(request.url).searchParams.get("user") ?? "";
  const text = await request.text();
  if (user === "" || text === "" || [...text].length > TEXT_CHARS_MAX) {
    return new Response("say who you are, and 1 to 500 characters", { status: 400 });
  }
  const { success } = await env.PER_USER.limit({ key: user });
  if (!success) return new Response("slow down", { status: 429 });
  const key = request.headers.get("idempotency-key");
  const id = await env.ROOM.idFromName(name).say(user, text, key);
  return Response.json({ id }, { status: 201 });
}

// Whether two texts are the same, in a time that tells nothing about where they differ.
async function isSame(given: string, expected: string): Promise<boolean> {
  const [one, other] = await Promise.all([given, expected].map(digest));
  return one!.every((byte, index) => byte === other![index]);
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}
