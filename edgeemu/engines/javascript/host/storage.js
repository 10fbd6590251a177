// `ctx.storage`: keys, SQL and the alarm. Source: spec/telnyx-actors.md sections 6, 8 and 9.
//
// A write is told and not waited for; a read is one round trip. Every write of a turn commits as
// one, at its end.

import { decode, encode } from "./codec.js";
import { CodecError, errorNamed, SqlAsyncTransactionError } from "./errors.js";
import { place } from "./places.js";
import { rules } from "./rules.js";
import {
  currentTransaction,
  failedWrite,
  openTurn,
  watched,
  watchedFailure,
  within,
} from "./turns.js";
import { ask, post, postText } from "./wire.js";

const { stringify } = JSON;
const NOT_STORED = Symbol();

/** The answer of the emulator to a question, or its error thrown. */
export function answer(frame) {
  const [how, value, message] = ask(frame);
  if (how === "ok") return value;
  throw errorNamed(value, message);
}

function checkKey(key) {
  if (typeof key !== "string") throw new TypeError(`a key is a string, not ${typeof key}`);
  if (key.length < 1 || key.length > rules.keyCharsMax) {
    throw new TypeError(`a key has from 1 to ${rules.keyCharsMax} characters, not ${key.length}`);
  }
  if (!key.isWellFormed()) {
    throw new TypeError("a key cannot hold a lone surrogate, half a character");
  }
}

function checkWriteKey(key) {
  checkKey(key);
  if (key.startsWith(rules.reservedKeyPrefix)) {
    const text = `keys that begin with ${rules.reservedKeyPrefix} belong to the runtime: '${key}'`;
    throw errorNamed("ActorError", text);
  }
}

function encodeFor(key, value) {
  try {
    return encode(value);
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    throw new CodecError(error.message.replace(/^value/, `the value of '${key}'`));
  }
}

/** Tell of a write: with its place where it is so large that it may be warned of. */
function postPut(turn, key, txn, text) {
  const large = text.length > rules.valueCharsPlain || key.length > rules.keyCharsPlain;
  const where = large ? `,${stringify(place())}` : "";
  postText(`["put",${turn.id},${stringify(key)},${txn},${text}${where}]`);
}

/** The turn that asks, or null where the error of asking outside of one is on its way. */
function tryTurn() {
  try {
    return openTurn();
  } catch {
    return null;
  }
}

/** The keys as a turn, or one of its transactions, sees and writes them. */
class Keys {
  #txn;

  constructor(txn) {
    this.#txn = txn;
  }

  get(key) {
    try {
      checkKey(key);
      const found = answer(["get", openTurn().id, key, this.#txn]);
      return Promise.resolve(found === null ? undefined : decode(found[0]));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  put(key, value) {
    let turn = null;
    try {
      turn = openTurn();
      this.#checkOpen(turn);
      checkWriteKey(key);
      const encoded = encodeFor(key, value);
      if (rules.strict) answer(["try_put", turn.id, key, this.#txn, encoded]);
      else postPut(turn, key, this.#txn, stringify(encoded));
    } catch (error) {
      return failedWrite(turn, error, "storage.put");
    }
    return watched(turn, Promise.resolve(), "storage.put");
  }

  /** A write is told only, so what the emulator would refuse is refused here. */
  #checkOpen(turn) {
    if (this.#txn !== null && !turn.openTransactions.has(this.#txn)) {
      const text = "the transaction has ended: it can be used inside its function only";
      throw errorNamed("ActorError", text);
    }
  }

  delete(key) {
    let turn = null;
    try {
      turn = openTurn();
      checkWriteKey(key);
      const was = answer(["delete", turn.id, key, this.#txn]);
      return watched(turn, Promise.resolve(was), "storage.delete");
    } catch (error) {
      return failedWrite(turn, error, "storage.delete");
    }
  }

  list(options = {}) {
    try {
      const range = rangeOf(options);
      const where = range.limit === null ? place(this.list) : null;
      const found = answer(["list", openTurn().id, range, where, this.#txn]);
      return Promise.resolve(new Map(found.map(([key, value]) => [key, decode(value)])));
    } catch (error) {
      return Promise.reject(error);
    }
  }
}

function rangeOf(options) {
  const { prefix = "", start = null, startAfter = null, end = null } = options ?? {};
  const { reverse = false, limit = null } = options ?? {};
  if (limit !== null && !(Number.isInteger(limit) && limit >= 1 && limit <= rules.listLimitMax)) {
    throw new RangeError(`limit is a whole number from 1 to ${rules.listLimitMax}: ${limit}`);
  }
  for (const bound of [prefix, start, startAfter, end]) {
    if (bound !== null && typeof bound !== "string") {
      throw new TypeError(`a bound of list is a string, not ${typeof bound}`);
    }
  }
  const made = { prefix, start, start_after: startAfter, end, reverse: Boolean(reverse), limit };
  for (const name of ["prefix", "start", "start_after", "end"]) {
    made[name] = made[name]?.toWellFormed() ?? null;
  }
  return made;
}

const OF_THE_TURN = ["deleteAll", "setAlarm", "getAlarm", "deleteAlarm", "sql", "transactionSync"];

/** `txn`: the keys in the function of a transaction, and nothing else (section 6.3). */
class Transaction extends Keys {}

for (const name of OF_THE_TURN) {
  Object.defineProperty(Transaction.prototype, name, {
    get() {
      throw new TypeError(
        `txn has no ${name}; this.ctx.storage.${name} belongs to the turn, and a transaction ` +
          "that fails does not undo it",
      );
    },
  });
}
Object.defineProperty(Transaction.prototype, "transaction", {
  get() {
    throw new TypeError("txn has no transaction: one cannot begin inside another");
  },
});

async function runTransaction(turn, number, fn) {
  turn.openTransactions.add(number);
  try {
    const value = await within(turn, number, fn, new Transaction(number));
    if (!turn.closed && !turn.stopped) answer(["commit", turn.id, number]);
    return [value, NOT_STORED];
  } catch (error) {
    post(["roll_back", turn.id, number, described(error)]);
    return [undefined, error];
  } finally {
    turn.openTransactions.delete(number);
  }
}

function described(error) {
  const { name, message } = error ?? {};
  return [String(name ?? "Error").toWellFormed(), String(message ?? error).toWellFormed()];
}

/** `ctx.storage`. */
export class ActorStorage extends Keys {
  sql = new ActorSql();

  constructor() {
    super(null);
  }

  deleteAll() {
    let turn = null;
    try {
      turn = openTurn();
      post(["clear", turn.id, place(ActorStorage.prototype.deleteAll)]);
    } catch (error) {
      return failedWrite(turn, error, "storage.deleteAll");
    }
    return watched(turn, Promise.resolve(), "storage.deleteAll");
  }

  transaction(fn) {
    const turn = tryTurn();
    try {
      openTurn();
      if (typeof fn !== "function") {
        throw new TypeError(`transaction takes a function, not ${typeof fn}`);
      }
      const number = answer(["begin", turn.id, currentTransaction()]);
      const running = runTransaction(turn, number, fn);
      turn.transactions.push(running);
      return transactionPromise(turn, running);
    } catch (error) {
      return failedWrite(turn, error, "storage.transaction");
    }
  }

  transactionSync(fn) {
    const turn = openTurn();
    if (typeof fn !== "function") {
      throw new TypeError(`transactionSync takes a function, not ${typeof fn}`);
    }
    answer(["savepoint", turn.id]);
    let value;
    turn.plainCalls += 1;
    try {
      value = fn();
      if (typeof value?.then === "function") {
        Promise.resolve(value).catch(() => {});
        throw new SqlAsyncTransactionError(
          "transactionSync takes a plain function that awaits nothing: its SQL was not kept; " +
            "for keys there is transaction",
        );
      }
    } catch (error) {
      answer(["rollback_to", turn.id]);
      throw error;
    } finally {
      turn.plainCalls -= 1;
    }
    answer(["release", turn.id]);
    return value;
  }

  setAlarm(when) {
    let turn = null;
    try {
      turn = openTurn();
      post(["alarm", turn.id, instantOf(when), when, place(ActorStorage.prototype.setAlarm)]);
    } catch (error) {
      return failedWrite(turn, error, "setAlarm", "W_ALARM_NOT_AWAITED");
    }
    return watched(turn, Promise.resolve(), "setAlarm", "W_ALARM_NOT_AWAITED");
  }

  getAlarm() {
    try {
      return Promise.resolve(answer(["get_alarm", openTurn().id]));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  deleteAlarm() {
    let turn = null;
    try {
      turn = openTurn();
      post(["alarm", turn.id, null, 0, place(ActorStorage.prototype.deleteAlarm)]);
    } catch (error) {
      return failedWrite(turn, error, "deleteAlarm", "W_ALARM_NOT_AWAITED");
    }
    return watched(turn, Promise.resolve(), "deleteAlarm", "W_ALARM_NOT_AWAITED");
  }
}

/** A transaction's value, or the error that its function threw; looked at or not, it is noted. */
function transactionPromise(turn, running) {
  const failed = { error: null, what: "transaction", seen: false };
  const promise = running.then(([value, error]) => {
    if (error === NOT_STORED) return value;
    failed.error = error;
    turn.failed.push(failed);
    throw error;
  });
  // The record must be there before the turn looks, whoever awaits what.
  turn.transactions.push(promise.catch(() => {}));
  return watchedFailure(turn, promise, failed, "storage.transaction");
}

function instantOf(when) {
  if (typeof when !== "number") {
    throw new TypeError(`setAlarm takes milliseconds since the epoch, not ${kindOf(when)}`);
  }
  if (!Number.isFinite(when) || Math.abs(when) > rules.instantMsMax) {
    throw new TypeError(`setAlarm takes a finite instant up to ${rules.instantMsMax} ms: ${when}`);
  }
  return Math.floor(when);
}

function kindOf(value) {
  if (value === null) return "null";
  return typeof value === "object" ? `a ${value.constructor?.name ?? "object"}` : typeof value;
}

// --- SQL ---------------------------------------------------------------------------------------

/** The rows of a query, in a single pass. */
class SqlCursor {
  #columns;
  #rows;
  #next = 0;

  constructor(columns, rows) {
    this.#columns = columns;
    this.#rows = rows;
  }

  *[Symbol.iterator]() {
    while (this.#next < this.#rows.length) yield this.#take();
  }

  #take() {
    const values = this.#rows[this.#next];
    this.#next += 1;
    const row = {};
    for (let index = 0; index < values.length; index += 1) {
      const value = decode(values[index]);
      if (typeof value === "bigint") {
        throw new RangeError("Value is too large to be represented as a JavaScript number");
      }
      row[this.#columns[index]] = value instanceof Uint8Array ? value.buffer : value;
    }
    return row;
  }

  toArray() {
    return [...this];
  }
}

/** `ctx.storage.sql`. */
class ActorSql {
  exec(query, ...bindings) {
    const turn = openTurn();
    if (typeof query !== "string") throw new TypeError("exec takes a string of SQL");
    if (!query.isWellFormed()) throw new TypeError("SQL cannot hold a lone surrogate");
    const [columns, rows] = answer(["sql", turn.id, query, bindings.map(bindable)]);
    return new SqlCursor(columns, rows);
  }
}

function bindable(value) {
  if (value === undefined) throw new TypeError("undefined cannot be bound: SQL has null");
  if (typeof value === "boolean") return value ? 1 : 0;
  if (value === null || typeof value === "bigint" || typeof value === "number") {
    return encode(value);
  }
  if (typeof value === "string") {
    if (!value.isWellFormed()) throw new TypeError("a bound text cannot hold a lone surrogate");
    return value;
  }
  if (value instanceof ArrayBuffer) return { $bytes: new Uint8Array(value).toBase64() };
  if (ArrayBuffer.isView(value)) {
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    return { $bytes: bytes.toBase64() };
  }
  throw new TypeError(`${kindOf(value)} cannot be bound: null, number, string or bytes`);
}
