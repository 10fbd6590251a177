// The same, changed: after a hot reload.

import { StatefulActor } from "@telnyx/edge-runtime";

export class A extends StatefulActor {}

export class B extends StatefulActor {
  async hello() {
    return "hello from the new code";
  }
}

export class C extends StatefulActor {
  n?: number;

  async inc() {
    this.n = (this.n ?? 0) + 1;
    const n2 = ((await this.ctx.storage.get<number>("n2")) ?? 0) + 1;
    await this.ctx.storage.put("n2", n2);
    return [this.n, n2, "new"];
  }
}

export class D extends StatefulActor {}
