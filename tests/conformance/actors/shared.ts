// Shared actors: the function that refers to `B`, and owns `A`.

import { StatefulActor } from "@telnyx/edge-runtime";

export class A extends StatefulActor<any> {
  async pass_on(n: number) {
    return await this.env.B.idFromName("x").add(n);
  }

  async bound(name: string) {
    return name in this.env;
  }
}

export default {
  async fetch(_request: Request, env: any) {
    return Response.json(await env.B.idFromName("x").total());
  },
};
