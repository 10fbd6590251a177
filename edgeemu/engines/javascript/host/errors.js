// The errors that actor code and callers of stubs see. Source: spec/telnyx-actors.md section 16.1.

import { causesOf } from "./causes.js";

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

/** An error, or whatever else was thrown, as plain data. */
export function describe(thrown) {
  if (typeof thrown !== "object" || thrown === null) {
    return { name: "Error", message: wellFormed(text(thrown)), stack: "", own: true };
  }
  return {
    name: wellFormed(text(thrown.name || "Error")),
    message: wellFormed(text(thrown.message ?? thrown)),
    stack: wellFormed(text(thrown.stack ?? "")),
    own: isOwn(thrown),
    more: causesOf(thrown),
  };
}

function wellFormed(value) {
  return value.toWellFormed();
}

function text(value) {
  try {
    return String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}
