// Written by `edgeemu types` from telnyx.toml: do not edit it, but run the command again.

import type { ActorNamespace } from "@telnyx/edge-runtime";

declare module "@telnyx/edge-runtime" {
  interface Env {
    OUTBOX: ActorNamespace<import("./src/index").Outbox>;
    ARCHIVE: ActorNamespace<import("./src/index").Archive>;
  }
}
