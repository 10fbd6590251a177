// The entry module: an HTTP handler in front, and the actor classes that it ships.

import type { Env } from "@telnyx/edge-runtime";

export { Account } from "./account";

// GET /NAME is the balance. POST /NAME/credit and POST /NAME/debit take
// {"cents": 500, "paymentId": "p1"}.
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const [name, action, ...rest] = new URL(request.url).pathname.slice(1).split("/");
    const known = action === undefined || action === "credit" || action === "debit";
    if (!name || !known || rest.length > 0) {
      return new Response("GET /NAME, POST /NAME/credit or POST /NAME/debit", { status: 404 });
    }
    const account = env.ACCOUNT.idFromName(name);
    if (action === undefined) return Response.json({ balance: await account.balance() });
    const { cents, paymentId } = (await request.json()) as { cents: number; paymentId?: string };
    try {
      const balance = action === "credit"
        ? await account.credit(cents, paymentId)
        : await account.debit(cents, paymentId);
      return Response.json({ balance });
    } catch (error) {
      // Of an error in an actor its caller sees the message, not the class.
      if (!(error instanceof Error) || !error.message.startsWith("insufficient funds")) throw error;
      return Response.json({ error: error.message }, { status: 409 });
    }
  },
};
