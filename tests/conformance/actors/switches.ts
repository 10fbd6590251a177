// Names and sizes that the platform may not take, and what switches make of them.

import { StatefulActor } from "@telnyx/edge-runtime";

export class A extends StatefulActor<any> {
  async put_key(size: number, character: string) {
    return await this._kept(character.repeat(size), 1);
  }

  async put_value(size: number) {
    // The text of the value, and its two quotation marks.
    return await this._kept("k", "x".repeat(size - 2));
  }

  async put_value_in_transaction(size: number) {
    return await this.ctx.storage.transaction(async (txn) => {
      try {
        await txn.put("k", "x".repeat(size - 2));
      } catch {
        return "refused";
      }
      return "kept";
    });
  }

  async _kept(key: string, value: unknown) {
    try {
      await this.ctx.storage.put(key, value);
    } catch {
      return "refused";
    }
    return "kept";
  }

  async names(names: string[]) {
    const found = [];
    for (const name of names) {
      try {
        found.push(this.env.A.idFromName(name).id);
      } catch (error) {
        found.push(error instanceof TypeError ? "refused" : String(error));
      }
    }
    return found;
  }

  /** Two names: of what they are made, whether they differ, and whom they reach. */
  async unique() {
    const one = this.env.A.newUniqueId(), two = this.env.A.newUniqueId();
    await one.touch();
    const again = this.env.A.idFromName(one.id);
    const digits = /^[0-9a-f]*$/.test(one.id + two.id);
    return [one.id.length, digits, one.id !== two.id, await again.touched()];
  }

  async touch() {
    await this.ctx.storage.put("touched", true);
  }

  async touched() {
    return await this.ctx.storage.get("touched");
  }
}
