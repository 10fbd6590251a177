// The world that actor code sees: virtual time, seeded randomness, and no way around the host.

import { rules } from "./rules.js";
import { callback, currentTurn, forget } from "./turns.js";
import { ask, post } from "./wire.js";

let nowMs = 0;

/** The emulated instant, until the next message. */
export function setNow(ms) {
  nowMs = ms;
}

// --- time --------------------------------------------------------------------------------------

const RealDate = Date;

function virtualDate() {
  function VirtualDate(...args) {
    if (new.target === undefined) return new RealDate(nowMs).toString();
    return Reflect.construct(RealDate, args.length === 0 ? [nowMs] : args, new.target);
  }
  Object.setPrototypeOf(VirtualDate, RealDate);
  Object.defineProperties(VirtualDate, {
    name: { value: "Date" },
    length: { value: 7 },
    prototype: { value: RealDate.prototype },
    now: { value: () => nowMs, writable: true, configurable: true },
  });
  RealDate.prototype.constructor = VirtualDate;
  return VirtualDate;
}

const DELAY_MS_MAX = 2 ** 31 - 1;

function delayOf(value) {
  const ms = Math.trunc(Number(value));
  return ms >= 1 && ms <= DELAY_MS_MAX ? ms : 1;
}

class Timeout {
  #ticket;
  #cleared = false;

  constructor(fn, delayMs, args, repeat) {
    const turn = currentTurn();
    const call = () => {
      if (this.#cleared) return;
      if (repeat) this.#plan(turn, call, delayMs);
      fn(...args);
    };
    this.#plan(turn, call, delayMs);
  }

  #plan(turn, call, delayMs) {
    this.#ticket = callback(turn, call);
    post(["timer", turn?.id ?? null, this.#ticket, nowMs + delayMs]);
  }

  clear() {
    this.#cleared = true;
    if (forget(this.#ticket)) post(["clear_timer", this.#ticket]);
  }

  ref() {
    return this;
  }

  unref() {
    return this;
  }

  hasRef() {
    return true;
  }

  refresh() {
    return this;
  }

  [Symbol.dispose]() {
    this.clear();
  }
}

function timer(fn, delay, args, repeat) {
  if (typeof fn !== "function") throw new TypeError("a timer calls a function");
  return new Timeout(fn, delayOf(delay), args, repeat);
}

function clearTimer(timeout) {
  if (timeout instanceof Timeout) timeout.clear();
}

// --- randomness --------------------------------------------------------------------------------

let atLoad = null;

/** xoshiro128**, seeded by the emulator for each turn. */
function generator(seed) {
  const s = Uint32Array.from(seed);
  return () => {
    const mixed = Math.imul(s[1], 5);
    const result = Math.imul((mixed << 7) | (mixed >>> 25), 9) >>> 0;
    const t = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 11) | (s[3] >>> 21);
    return result;
  };
}

function draw() {
  const turn = currentTurn();
  if (turn === null) return (atLoad ??= generator(rules.seed))();
  turn.random ??= generator(ask(["random", turn.id])[1]);
  return turn.random();
}

function random() {
  return ((draw() >>> 5) * 67108864 + (draw() >>> 6)) / 9007199254740992;
}

function getRandomValues(array) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = draw() & 255;
  return array;
}

function randomUUID() {
  const bytes = getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = bytes.toHex();
  const parts = [[0, 8], [8, 12], [12, 16], [16, 20], [20, 32]];
  return parts.map(([from, to]) => hex.slice(from, to)).join("-");
}

// --- in place of what the engine has -----------------------------------------------------------

function define(holder, members) {
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(holder, name, { value, writable: true, configurable: true });
  }
}

/** Take the place of what would reach around the host. */
export function install() {
  define(globalThis, {
    Date: virtualDate(),
    setTimeout: (fn, delay, ...args) => timer(fn, delay, args, false),
    setInterval: (fn, delay, ...args) => timer(fn, delay, args, true),
    setImmediate: (fn, ...args) => timer(fn, 1, args, false),
    clearTimeout: clearTimer,
    clearInterval: clearTimer,
    clearImmediate: clearTimer,
  });
  define(performance, { now: () => nowMs - rules.loadedAtMs });
  define(Math, { random });
  define(crypto, { getRandomValues, randomUUID });
  for (const level of ["debug", "log", "info", "warn", "error"]) {
    define(console, { [level]: (...args) => print(level, args) });
  }
  delete globalThis.Deno;
}

const inspect = Deno.inspect;

function print(level, args) {
  const text = args.map((arg) => (typeof arg === "string" ? arg : inspect(arg))).join(" ");
  post(["print", currentTurn()?.id ?? null, level, text.toWellFormed()]);
}

