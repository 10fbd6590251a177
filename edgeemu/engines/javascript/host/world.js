// The world that actor code sees: virtual time, seeded randomness, and no way around the host.

import { installConsole } from "./console.js";
import { builtin } from "./nodes.js";
import { installFetch } from "./outside.js";
import { installProcess } from "./process.js";
import { installRandom } from "./random.js";
import { refuseTheRest } from "./refused.js";
import { installTime } from "./time.js";
import { installTimers } from "./timers.js";

export { setNow } from "./time.js";

/** Take the place of what would reach around the host. */
export function install() {
  installTime();
  installTimers(builtin);
  installRandom(builtin);
  installConsole(builtin);
  installProcess();
  builtin("node:perf_hooks");
  installFetch();
  refuseTheRest(builtin);
}
