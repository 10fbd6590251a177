// `process`, as far as actor code has one: no environment in actors, no way to end the process.

import process from "node:process";
import { Readable, Writable } from "node:stream";
import { print } from "./console.js";
import { place } from "./places.js";
import { SafeMap } from "./primordials.js";
import { withEngine } from "./resolve.js";
import { rules } from "./rules.js";
import { define, sinceLoad } from "./time.js";
import { currentTurn } from "./turns.js";
import { post } from "./wire.js";

const { memoryUsage } = process;

/** The variables of each function, and what its code set itself; those of actors. */
const functions = new SafeMap();
const actors = {};
let loading = null;

/** Which function's modules are loaded now: they see its variables. */
export function loadingFor({ name, environment }) {
  if (!functions.has(name)) functions.set(name, { ...environment });
  loading = name;
}

function seen() {
  const turn = currentTurn();
  if (turn !== null && turn.instance !== null && !rules.actorVars) return actors;
  return functions.get(turn === null ? loading : turn.fn) ?? {};
}

function read(name) {
  const shown = seen();
  if (Object.hasOwn(shown, name)) return shown[name];
  const turn = currentTurn();
  if (shown === actors && Object.hasOwn(functions.get(turn.fn) ?? {}, name)) {
    const text = `the variable ${name} is read in an actor, where the environment is empty, as ` +
      "on the platform: use `await this.env.SECRETS.get(...)`, or pass the value with the call";
    post(["warn", turn.id, "W_ACTOR_ENV", text, place(read)]);
  }
  return undefined;
}

const env = new Proxy({}, {
  get: (_, name) => (typeof name === "string" ? read(name) : undefined),
  has: (_, name) => Object.hasOwn(seen(), name),
  set(_, name, value) {
    seen()[name] = String(value);
    return true;
  },
  deleteProperty: (_, name) => delete seen()[name],
  ownKeys: () => Reflect.ownKeys(seen()),
  defineProperty: (_, name, { value }) => Reflect.set(seen(), name, String(value)),
  getOwnPropertyDescriptor(_, name) {
    if (!Object.hasOwn(seen(), name)) return undefined;
    return { value: seen()[name], enumerable: true, configurable: true, writable: true };
  },
});

function refused(name) {
  return () => {
    throw new Error(`process.${name} is not offered to actors: their process is the emulator's`);
  };
}

function hrtime(since) {
  const ms = sinceLoad();
  const [seconds, nanos] = [Math.floor(ms / 1_000), (ms % 1_000) * 1_000_000];
  if (since === undefined) return [seconds, nanos];
  const left = (seconds - since[0]) * 1_000_000_000 + nanos - since[1];
  return [Math.floor(left / 1_000_000_000), left % 1_000_000_000];
}
hrtime.bigint = () => BigInt(sinceLoad()) * 1_000_000n;

function printing(level) {
  return new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      print(level, String(chunk).replace(/\n$/, ""));
      done();
    },
  });
}

/** Some members cannot be defined anew, but each can be set or left. */
function set(holder, members) {
  for (const [name, value] of Object.entries(members)) {
    const found = Object.getOwnPropertyDescriptor(holder, name);
    if (found?.configurable ?? true) define(holder, { [name]: value });
    else if (found.writable || found.set !== undefined) holder[name] = value;
  }
}

/** Take the place of what tells of the real process, or ends it. */
export function installProcess() {
  const ends = ["exit", "reallyExit", "abort", "kill", "chdir", "dlopen", "binding", "setuid"];
  set(process, {
    ...Object.fromEntries([...ends, "setgid"].map((name) => [name, refused(name)])),
    env,
    hrtime,
    memoryUsage: () => withEngine(memoryUsage),
    uptime: () => sinceLoad() / 1_000,
    cwd: () => rules.rootPath,
    argv: ["node", rules.rootPath],
    argv0: "node",
    execArgv: [],
    execPath: "node",
    title: "node",
    pid: 1,
    ppid: 0,
    stdin: Readable.from([]),
    stdout: printing("info"),
    stderr: printing("error"),
  });
}
