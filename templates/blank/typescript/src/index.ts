// The entry module: an HTTP handler in front, and the actor classes that it ships.

import type { Env } from "@telnyx/edge-runtime";

export { Greeter } from "./greeter";

// Every HTTP request comes in here. `env.GREETER` is the binding of telnyx.toml.
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    const name = url.pathname.slice(1) || "nobody";
    const greeter = env.GREETER.idFromName(name);
    return new Response(await greeter.greet(url.searchParams.get("who") ?? "world"));
  },
};
