// Written by `edgeemu types` from telnyx.toml: do not edit it, but run the command again.

import type { ActorNamespace } from "@telnyx/edge-runtime";

declare module "@telnyx/edge-runtime" {
  interface Env {
    ROOM: ActorNamespace<import("./src/index").ChatRoom>;
    SECRETS: { get(binding: "MODERATOR_KEY"): Promise<string> };
    PER_USER: { limit(options: { key: string }): Promise<{ success: boolean }> };
    MOTTO: string;
  }
}
