// One actor with one method.

import { StatefulActor } from "@telnyx/edge-runtime";

export class Greeter extends StatefulActor {
  // A public method can be called from outside: from the function in src/index.ts, from other
  // actors, from `edgeemu call` and from tests. One whose name starts with "_" or "#" cannot.
  async greet(who = "world"): Promise<string> {
    // `this.ctx.id` is the name of this instance: "bob" in `Greeter/bob`.
    return `Hello, ${who}. This is ${this.ctx.id}.`;
  }
}
