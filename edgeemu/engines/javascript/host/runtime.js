// The module `@telnyx/edge-runtime`. Source: spec/telnyx-actors.md sections 2 and 16.1.

import { project } from "./modules.js";
import { currentTurn } from "./turns.js";

export { StatefulActor } from "./context.js";
export {
  ActorFetchTimeoutError,
  ActorMethodTimeoutError,
  ActorOutputGateError,
  BlockConcurrencyTimeoutError,
  CodecError,
  SqlAsyncTransactionError,
  SqlParameterTooLargeError,
  SqlTransactionControlError,
} from "./errors.js";

/** The bindings of the function whose code asks, for code that is no actor (section 2.1). */
export const env = new Proxy({}, {
  get: (_, name) => bindings()[name],
  has: (_, name) => name in bindings(),
  ownKeys: () => Reflect.ownKeys(bindings()),
  getOwnPropertyDescriptor(_, name) {
    const found = Object.getOwnPropertyDescriptor(bindings(), name);
    return found && { ...found, configurable: true };
  },
});

function bindings() {
  const fn = currentTurn()?.fn;
  const found = fn ? project.envs.get(fn) : project.envs.values().next().value;
  return found ?? {};
}
