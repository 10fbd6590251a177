// The other side. It stands in for a service of somebody else, and may be down.

import { StatefulActor } from "@telnyx/edge-runtime";

export class Inbox extends StatefulActor {
  async receive(deliveryId: string, text: string): Promise<void> {
    if (await this.ctx.storage.get<boolean>("down")) {
      throw new Error(`the inbox of ${this.ctx.id} is down`);
    }
    // A delivery may arrive twice: its sender can crash after it was received and before it could
    // note that. Under its own id it is kept once.
    await this.ctx.storage.put(`mail/${deliveryId}`, text);
  }

  async messages(): Promise<string[]> {
    return [...(await this.ctx.storage.list<string>({ prefix: "mail/" })).values()];
  }

  async setDown(down: boolean): Promise<void> {
    await this.ctx.storage.put("down", down);
  }
}
