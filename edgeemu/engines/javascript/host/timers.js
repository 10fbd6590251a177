// Timers on the emulated clock, with the objects of Node.

import { define, now } from "./time.js";
import { callback, currentTurn, forget, unhandled } from "./turns.js";
import { post } from "./wire.js";

const DELAY_MS_MAX = 2 ** 31 - 1;
const PROMISIFIED = Symbol.for("nodejs.util.promisify.custom");
const { setImmediate: realImmediate, clearImmediate: clearRealImmediate } = globalThis;

/** Whole ms; 0 is due at this instant, when all that can run now has run. */
function delayOf(value, least) {
  const ms = Math.trunc(Number(value));
  return ms >= least && ms <= DELAY_MS_MAX ? ms : least;
}

const known = new Map();

class Timeout {
  #turn;
  #delayMs;
  #call;
  #ticket = null;
  #number;

  constructor(fn, delayMs, args, repeat) {
    this.#turn = currentTurn();
    this.#delayMs = delayMs;
    this.#call = () => {
      this.#ticket = null;
      if (repeat) this.#plan();
      fn.apply(this, args);
      if (this.#ticket === null) known.delete(this.#number);
    };
    this.#plan();
    this.#number = this.#ticket;
    known.set(this.#number, this);
  }

  #plan() {
    this.#ticket = callback(this.#turn, this.#call);
    post(["timer", this.#turn?.id ?? null, this.#ticket, now() + this.#delayMs]);
  }

  close() {
    known.delete(this.#number);
    if (this.#ticket !== null && forget(this.#ticket)) post(["clear_timer", this.#ticket]);
    this.#ticket = null;
    return this;
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
    if (this.#turn?.stopped) return this;
    this.close();
    this.#plan();
    known.set(this.#number, this);
    return this;
  }

  [Symbol.toPrimitive]() {
    return this.#number;
  }

  [Symbol.dispose]() {
    this.close();
  }
}

function timer(fn, delayMs, args, repeat) {
  if (typeof fn !== "function") {
    const error = new TypeError(`The "callback" argument must be of type function`);
    throw Object.assign(error, { code: "ERR_INVALID_ARG_TYPE" });
  }
  return new Timeout(fn, delayMs, args, repeat);
}

export function setTimeout(fn, delay, ...args) {
  return timer(fn, delayOf(delay, 0), args, false);
}

export function setInterval(fn, delay, ...args) {
  return timer(fn, delayOf(delay, 1), args, true);
}

/** Clear a timer, given as the object or as its number. */
export function clearTimeout(timeout) {
  const found = timeout instanceof Timeout ? timeout : known.get(Number(timeout));
  found?.close();
}

/** What runs once all else that can run now has; no time passes. */
export function setImmediate(fn, ...args) {
  const turn = currentTurn();
  if (typeof fn !== "function") return timer(fn, 0, args, false);
  return realImmediate(() => {
    if (turn?.stopped) return;
    try {
      fn(...args);
    } catch (error) {
      unhandled(turn, error);
    }
  });
}

const clearImmediate = (immediate) => clearRealImmediate(immediate);

// --- node:timers/promises ----------------------------------------------------------------------

function aborted(signal) {
  const options = { name: "AbortError", cause: signal.reason };
  return new DOMException("The operation was aborted", options);
}

function waiting(plan, value, { signal } = {}) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) throw aborted(signal);
    const clear = plan(() => resolve(value));
    signal?.addEventListener("abort", () => {
      clear();
      reject(aborted(signal));
    }, { once: true });
  });
}

function timeoutPromise(delay, value, options) {
  return waiting((fire) => {
    const made = setTimeout(fire, delay);
    return () => made.close();
  }, value, options);
}

function immediatePromise(value, options) {
  return waiting((fire) => {
    const made = setImmediate(fire);
    return () => clearImmediate(made);
  }, value, options);
}

async function* intervals(delay, value, options) {
  for (;;) yield await timeoutPromise(delayOf(delay, 1), value, options);
}

const promises = {
  setTimeout: timeoutPromise,
  setImmediate: immediatePromise,
  setInterval: intervals,
  scheduler: {
    wait: (delay, options) => timeoutPromise(delay, undefined, options),
    yield: () => immediatePromise(),
  },
};
Object.defineProperty(setTimeout, PROMISIFIED, { value: timeoutPromise });
Object.defineProperty(setImmediate, PROMISIFIED, { value: immediatePromise });

/** Take the place of the engine's own timers. */
export function installTimers(builtin) {
  const timers = {
    setTimeout,
    setInterval,
    setImmediate,
    clearTimeout,
    clearInterval: clearTimeout,
    clearImmediate,
  };
  define(globalThis, timers);
  define(builtin("node:timers"), { ...timers, promises });
  define(builtin("node:timers/promises"), promises);
  define(AbortSignal, {
    timeout(delay) {
      const controller = new AbortController();
      const text = "The operation was aborted due to timeout";
      setTimeout(() => controller.abort(new DOMException(text, "TimeoutError")), delay);
      return controller.signal;
    },
  });
}
