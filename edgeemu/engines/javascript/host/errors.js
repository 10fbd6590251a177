// The errors that actor code and callers of stubs see. Source: spec/telnyx-actors.md section 16.1.

import { causesOf, raisedOf } from "./causes.js";
import { slice, wellFormed } from "./primordials.js";
import { rules } from "./rules.js";

function named(name) {
  const kind = {
    [name]: class extends Error {
      constructor(message) {
        super(message);
        Object.defineProperty(this, "name", { value: name, configurable: true, writable: true });
      }
    },
  }[name];
  return kind;
}

export const BlockConcurrencyTimeoutError = named("BlockConcurrencyTimeoutError");
export const ActorOutputGateError = named("ActorOutputGateError");
export const ActorMethodTimeoutError = named("ActorMethodTimeoutError");
export const ActorFetchTimeoutError = named("ActorFetchTimeoutError");
export const CodecError = named("CodecError");
export const SqlTransactionControlError = named("SqlTransactionControlError");
export const SqlAsyncTransactionError = named("SqlAsyncTransactionError");
export const SqlParameterTooLargeError = named("SqlParameterTooLargeError");

const known = {
  BlockConcurrencyTimeoutError,
  ActorOutputGateError,
  ActorMethodTimeoutError,
  ActorFetchTimeoutError,
  CodecError,
  SqlTransactionControlError,
  SqlAsyncTransactionError,
  SqlParameterTooLargeError,
  RangeError,
  TypeError,
};

/** The error that a name and a message describe, such as those that come from the emulator. */
export function errorNamed(name, message) {
  const kind = known[name];
  if (kind !== undefined) return new kind(message);
  const error = new Error(message);
  if (name !== "Error" && name !== "ActorError") error.name = name;
  return error;
}

const ours = new WeakSet();

/** Note that the runtime, not the user's code, throws `error`; the same error back. */
export function refuse(error) {
  ours.add(error);
  return error;
}

/** Whether `error` came from user code, so that a caller sees ActorMethodError (section 7). */
export function isOwn(error) {
  return !(typeof error === "object" && error !== null && ours.has(error));
}

/** An error, or whatever else was thrown, as plain data; it may lie, or throw when looked at. */
export function describe(thrown) {
  const plain = (typeof thrown !== "object" && typeof thrown !== "function") || thrown === null;
  if (plain) return { name: "Error", message: text(thrown), stack: "", own: true };
  return {
    name: text(look(thrown, "name") || "Error", NAME_CHARS_MAX),
    message: text(look(thrown, "message") ?? thrown),
    stack: text(look(thrown, "stack") ?? ""),
    own: isOwn(thrown),
    more: causesOf(thrown),
    raised: raisedOf(thrown),
  };
}

const NAME_CHARS_MAX = 200;

function look(holder, name) {
  try {
    return holder[name];
  } catch {
    return undefined;
  }
}

function text(value, charsMax = rules.errorCharsMax) {
  let found;
  try {
    found = String(value);
  } catch {
    found = `${typeof value === "function" ? "a function" : "an object"} that has no text`;
  }
  const cut = found.length > charsMax ? `${slice(found, 0, charsMax)}...` : found;
  return wellFormed(cut);
}
