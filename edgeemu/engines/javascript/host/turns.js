// Turns: what runs, on whose behalf, and what it waits for.
//
// A turn lives from its start until its code has ended and nothing that it waits for is left. The
// context of asynchronous code tells which turn asks, however long after.

import { AsyncLocalStorage } from "node:async_hooks";
import { noteRaised } from "./causes.js";
import { ActorOutputGateError, describe, errorNamed, refuse } from "./errors.js";
import { place, placeIn, standing } from "./places.js";
import { ignore, indexOf, promiseThen, SafeMap, slice } from "./primordials.js";
import { rules } from "./rules.js";
import { post } from "./wire.js";

const { defineProperty } = Object;
const context = new AsyncLocalStorage();

/** Every turn that has not been forgotten, by number. */
export const turns = new SafeMap();

/** What code waits for, by ticket: settled by a message of the emulator. */
const tickets = new SafeMap();
let lastTicket = 0;

export class Turn {
  constructor(id, instance, fn) {
    this.id = id;
    this.instance = instance; // {type, name} or null for the function in front
    this.fn = fn; // the function whose code runs
    this.closed = false; // its code has ended: its storage can be used no more
    this.overtime = false; // its budget is over, though its code may run on
    this.stopped = false; // it is over: what it still waits for never comes
    this.inConstructor = false;
    this.init = [];
    this.failed = []; // writes that were refused, and transactions that failed
    this.watched = []; // calls of which it is seen whether they are awaited
    this.peeksLeft = rules.peekedWritesMax;
    this.plainCalls = 0; // functions around the code that cannot await
    this.transactions = [];
    this.openTransactions = new Set();
    this.waits = 0; // tickets that are out
    this.random = null;
  }
}

/** The turn whose code runs, or null at load. */
export function currentTurn() {
  return context.getStore()?.turn ?? null;
}

/** The number of the transaction in whose function the code runs, or null. */
export function currentTransaction() {
  return context.getStore()?.txn ?? null;
}

/** The turn whose code runs, which may still use its storage. */
export function openTurn() {
  const turn = currentTurn();
  if (turn === null) {
    throw errorNamed(
      "ActorError",
      "storage, alarms and stubs can be used inside a turn only: not while a module is loaded",
    );
  }
  if (turn.closed || turn.stopped || turn.overtime) {
    post(["late", turn.id, place(openTurn)]);
    throw errorNamed("ActorError", "the turn has ended: its storage can be used no more");
  }
  return turn;
}

/** Run a function in the context of a turn, or of one of its transactions. */
export function within(turn, txn, fn, ...args) {
  return context.run({ turn, txn }, fn, ...args);
}

/** Run a function outside of every turn. */
export function outside(fn) {
  return context.run(undefined, fn);
}

// --- tickets -----------------------------------------------------------------------------------

/**
 * A promise that a message of the emulator settles.
 *
 * @param turn whose code waits
 * @param read makes the value of what comes
 * @returns the number of the ticket and the promise
 */
export function ticket(turn, read = (value) => value) {
  const number = ++lastTicket;
  const { promise, resolve, reject } = Promise.withResolvers();
  const store = context.getStore();
  tickets.set(number, { turn, store, resolve, reject, read, asked: standing(ticket) });
  turn.waits += 1;
  ignore(promise); // A call that nobody awaits is told of by the emulator.
  return [number, promise];
}

/** A callback that a message of the emulator calls, once or, while it is kept, again. */
export function callback(turn, fn, { keep = false } = {}) {
  const number = ++lastTicket;
  tickets.set(number, { turn, store: context.getStore(), fn, keep, asked: standing(callback) });
  if (turn !== null) turn.waits += 1;
  return number;
}

/** Give up what a ticket stands for. */
export function forget(number) {
  const found = tickets.get(number);
  if (found === undefined) return false;
  tickets.delete(number);
  if (found.turn !== null) found.turn.waits -= 1;
  sweep(found.turn);
  return true;
}

/** The emulator has what a ticket waits for. */
export function settle(number, failed, value) {
  const found = tickets.get(number);
  if (found === undefined) return;
  if (!found.keep) forget(number);
  if (found.turn?.stopped) return;
  if (found.fn !== undefined) context.run(found.store, callBack, found, value);
  else if (failed) found.reject(arrived(value, found.asked));
  else {
    try {
      found.resolve(found.read(value));
    } catch (error) {
      found.reject(error);
    }
  }
}

function callBack({ turn, fn }, value) {
  try {
    fn(value);
  } catch (error) {
    unhandled(turn, error);
  }
}

/** Tell of an error that nobody catches. */
export function unhandled(turn, error) {
  post(["unhandled", turn?.id ?? null, describe(error)]);
}

/** Whether code of a turn runs, or of a module that is loaded. */
export function inCode() {
  return context.getStore() !== undefined;
}

/** An error that came from elsewhere, with the stack of the code that asked. */
function arrived({ name, message, raised }, asked) {
  const error = noteRaised(errorNamed(name, message), raised);
  const stack = `${asked.stack}`;
  const first = indexOf(stack, "\n    at ");
  const value = `${error.name}: ${message}${first < 0 ? "" : slice(stack, first)}`;
  defineProperty(error, "stack", { value, configurable: true, writable: true });
  return error;
}

/** The stack of the code that waits for a ticket. */
export function askedAt(number) {
  return tickets.get(number)?.asked.stack ?? "";
}

/** The budget of a turn is over. */
export function close(id) {
  const turn = turns.get(id);
  if (turn !== undefined) turn.overtime = true;
}

/** Nothing of a turn goes on any more. */
export function stop(id) {
  const turn = turns.get(id);
  if (turn === undefined) return;
  turn.stopped = true;
  for (const [number, each] of tickets) {
    if (each.turn === turn) tickets.delete(number);
  }
  turns.delete(id);
}

/** Stop what the turns of an instance that have ended left behind. */
export function stopLeftovers(type, name) {
  for (const turn of turns.values()) {
    const { instance } = turn;
    if (turn.closed && instance?.type === type && instance.name === name) stop(turn.id);
  }
}

/** Forget a turn whose code has ended and that waits for nothing. */
export function sweep(turn) {
  if (turn !== null && turn.closed && turn.waits === 0) {
    turns.delete(turn.id);
    post(["swept", turn.id]);
  }
}

// --- what nobody awaits ------------------------------------------------------------------------

/**
 * The promise of a call, which the turn warns of at the end of its code if nobody awaits it.
 *
 * Only a few calls of a turn are looked at: one that writes without end costs nothing more.
 *
 * @param what the call, as the warning shows it
 * @param code of the warning
 */
export function watched(turn, promise, what, code = "W_WRITE_NOT_AWAITED") {
  const saw = look(turn, what, code);
  return saw === null ? promise : watch(promise, saw);
}

function look(turn, what, code) {
  if (turn.peeksLeft === 0 || turn.inConstructor || turn.plainCalls > 0) return null;
  turn.peeksLeft -= 1;
  const call = { what, code, asked: standing(look), seen: false };
  turn.watched.push(call);
  return () => (call.seen = true);
}

/** Code of a turn has ended: this warns of what it called and did not await. */
export async function warnOfLeft(turn) {
  const calls = turn.watched.splice(0);
  await null; // What is awaited right now is seen in the next step.
  for (const { what, code, asked, seen } of calls) {
    if (seen) continue;
    const why = code === "W_CALL_NOT_AWAITED"
      ? "nobody sees how it ends"
      : "its error appears somewhere else";
    const text = `${what} is not awaited, so ${why}: write \`await\` before it`;
    post(["warn", turn.id, code, text, placeIn(asked.stack)]);
  }
}

/** The promise of a write that was refused: left alone, it fails the turn at its end. */
export function failedWrite(turn, error, what, code = "W_WRITE_NOT_AWAITED") {
  const promise = Promise.reject(error);
  ignore(promise);
  if (turn === null) return promise;
  const failed = { error, what: "write", seen: false };
  turn.failed.push(failed);
  return watchedFailure(turn, promise, failed, what, code);
}

/** The same for a promise whose failure, as it is told at the end of the turn, is `failed`. */
export function watchedFailure(turn, promise, failed, what, code = "W_WRITE_NOT_AWAITED") {
  const saw = look(turn, what, code);
  return watch(promise, () => {
    failed.seen = true;
    saw?.();
  });
}

/**
 * Have `seen` called when somebody awaits a promise, or looks at it in another way.
 *
 * That is seen because its `then` is its own, which `await` calls for a promise whose constructor
 * is not Promise.
 */
function watch(promise, seen) {
  Object.defineProperties(promise, {
    constructor: { value: Watched },
    then: {
      value(...args) {
        seen();
        return promiseThen(this, ...args);
      },
    },
  });
  return promise;
}

class Watched extends Promise {
  static get [Symbol.species]() {
    return Promise;
  }
}

/** A turn succeeds only if all of its writes do, awaited or not (section 6.1). */
export function checkWrites(turn) {
  for (const { error, what, seen } of turn.failed) {
    if (seen) continue;
    const { name, message } = describe(error);
    const told = `a ${what} that was not awaited failed: ${name}: ${message}`;
    throw refuse(new ActorOutputGateError(told));
  }
}

/** This waits until each transaction of a turn, awaited or not, has ended. */
export async function settleTransactions(turn) {
  while (turn.transactions.length > 0) {
    await Promise.allSettled(turn.transactions.splice(0));
    await warnOfLeft(turn);
  }
}
