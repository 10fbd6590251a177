// What an error tells of other errors: its cause, and those that it stands for together.

import { uncurry } from "./primordials.js";

const DEPTH_MAX = 8;
const ERRORS_MAX = 16;

const raised = new WeakMap();
const getOf = uncurry(WeakMap.prototype.get);
const setOf = uncurry(WeakMap.prototype.set);

/** Note where an error arose that came out of a call of another actor; the same error back. */
export function noteRaised(error, place) {
  if (place) setOf(raised, error, place);
  return error;
}

/** Where an error arose, if it came out of a call of another actor, or null. */
export function raisedOf(error) {
  return getOf(raised, error) ?? null;
}

/** Each as `[how, name, message, stack, raised]`, in the order in which they are told. */
export function causesOf(thrown) {
  const found = [];
  try {
    gather(thrown, DEPTH_MAX, found);
  } catch {
    // An error that cannot be looked at tells no more.
  }
  return found;
}

function gather(thrown, depth, found) {
  if (!(thrown instanceof Error) || depth === 0) return;
  const several = thrown instanceof AggregateError ? [...thrown.errors] : [];
  const inner = several.map((error) => ["one of:", error]);
  if (Object.hasOwn(thrown, "cause")) inner.push(["caused by", thrown.cause]);
  for (const [how, error] of inner) {
    if (found.length >= ERRORS_MAX) return;
    const known = error instanceof Error;
    const parts = known ? [error.name, error.message, error.stack ?? ""] : ["", error, ""];
    found.push([how, ...parts.map((part) => String(part).toWellFormed()), raisedOf(error)]);
    gather(error, depth - 1, found);
  }
}
