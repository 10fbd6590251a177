// Shared actors: the function that owns `B`.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

export class B extends StatefulActor<any> {
  async add(n: number) {
    const total = ((await this.ctx.storage.get<number>("total")) ?? 0) + n;
    await this.ctx.storage.put("total", total);
    await this.ctx.storage.setAlarm(Date.now() + 1_000);
    return total;
  }

  async alarm(_info: AlarmInfo) {
    await this.ctx.storage.put("rang", true);
  }

  async total() {
    return (await this.ctx.storage.get("total")) ?? 0;
  }

  async bound(name: string) {
    return name in this.env;
  }
}

export default {
  async fetch(_request: Request, env: any) {
    return Response.json(await env.B.idFromName("x").add(10));
  },
};
