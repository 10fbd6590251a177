// What a platform of actors does not offer: it fails at its first use, and says so.

import { define } from "./time.js";

function refusal(name) {
  return function () {
    throw new Error(
      `${name} is not offered to actors here: reach the outside with fetch, keep state in ` +
        "this.ctx.storage, and see docs/differences.md",
    );
  };
}

const GLOBALS = [
  "BroadcastChannel",
  "EventSource",
  "WebSocket",
  "Worker",
  "alert",
  "close",
  "confirm",
  "prompt",
];
const OBJECTS = ["caches", "localStorage", "sessionStorage"];
const MEMBERS = {
  "node:child_process": ["exec", "execFile", "execFileSync", "execSync", "fork", "spawn"],
  "node:cluster": ["fork"],
  "node:dgram": ["createSocket"],
  "node:dns": ["lookup", "resolve", "resolve4", "resolve6"],
  "node:dns/promises": ["lookup", "resolve", "resolve4", "resolve6"],
  "node:http": ["createServer", "get", "request"],
  "node:http2": ["connect", "createSecureServer", "createServer"],
  "node:https": ["createServer", "get", "request"],
  "node:net": ["connect", "createConnection", "createServer"],
  "node:tls": ["connect", "createServer"],
  "node:vm": ["compileFunction", "createContext", "runInContext", "runInNewContext"],
  "node:worker_threads": ["Worker"],
};
MEMBERS["node:child_process"].push("spawnSync");
const OF_DESCRIPTORS = ["close", "closeSync", "ftruncate", "ftruncateSync", "read", "readSync"];
OF_DESCRIPTORS.push("readv", "readvSync", "write", "writeSync", "writev", "writevSync");

/** The standard streams are the wire to the emulator. */
function keepWire(fs) {
  for (const name of OF_DESCRIPTORS) {
    const real = fs[name];
    if (typeof real !== "function") continue;
    define(fs, {
      [name](descriptor, ...args) {
        if (Number(descriptor) <= 2) refusal(`fs.${name} of a standard stream`)();
        return real.call(fs, descriptor, ...args);
      },
    });
  }
  for (const name of ["readFileSync", "readFile", "writeFileSync", "writeFile"]) {
    const real = fs[name];
    define(fs, {
      [name](file, ...args) {
        if (typeof file === "number" && file <= 2) refusal(`fs.${name} of a standard stream`)();
        return real.call(fs, file, ...args);
      },
    });
  }
}

const WIRE = new Set(["args", "exit", "stderr", "stdin", "stdout"]);
const SHIM = new Proxy(Deno, {
  get: (engine, name) => (WIRE.has(name) ? undefined : Reflect.get(engine, name)),
});
const FRAME_OF_ENGINE = /\((?:node|ext):/;

/**
 * Hide the engine from all code but its own modules of Node, which look for it when they are used,
 * also long after they were called: what is denied is then told as a refusal.
 */
function hideEngine() {
  Object.defineProperty(globalThis, "Deno", {
    configurable: true,
    enumerable: false,
    get: () => (FRAME_OF_ENGINE.test(new Error().stack.split("\n")[2] ?? "") ? SHIM : undefined),
  });
}

/** Take away what reaches around the host. */
export function refuseTheRest(builtin) {
  for (const name of GLOBALS) define(globalThis, { [name]: refusal(name) });
  for (const name of OBJECTS) {
    Object.defineProperty(globalThis, name, { configurable: true, get: refusal(name) });
  }
  for (const [module, names] of Object.entries(MEMBERS)) {
    const found = builtin(module);
    for (const name of names) define(found, { [name]: refusal(`${module}: ${name}`) });
  }
  keepWire(builtin("node:fs"));
  delete globalThis.nodeBootstrap;
  hideEngine();
}
