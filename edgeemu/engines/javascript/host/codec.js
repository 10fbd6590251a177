// The codec of storage, calls and the journal: edgeemu/codec.py in JavaScript.
//
// Values become JSON in which what JSON lacks is an object with one key, a tag. Source:
// spec/telnyx-actors.md section 7.

import { Buffer } from "node:buffer";
import { isProxy } from "node:util/types";
import { CodecError } from "./errors.js";
import { arrayFrom, arrayMap, isArray, keys, startsWith } from "./primordials.js";

const DEPTH_MAX = 512;
const ARRAYS = new Map([
  [Int8Array, "b"],
  [Int16Array, "h"],
  [Uint16Array, "H"],
  [Int32Array, "i"],
  [Uint32Array, "I"],
  [BigInt64Array, "q"],
  [BigUint64Array, "Q"],
  [Float32Array, "f"],
  [Float64Array, "d"],
  [Uint8ClampedArray, "C"],
]);
const KINDS = Object.fromEntries([...ARRAYS].map(([kind, code]) => [code, kind]));
KINDS.B = Uint8Array;

/** The JSON structure with tags that stands for a value, sharing nothing with it. */
export function encode(value, { topUndefined = false } = {}) {
  if (value === undefined && !topUndefined) {
    throw new CodecError("value: undefined is not storable; use `delete` to remove a key");
  }
  return write(value, DEPTH_MAX, null);
}

/** The value that a JSON structure with tags stands for. */
export function decode(tagged) {
  return read(tagged);
}

// --- writing -----------------------------------------------------------------------------------

// A trail is where a part is: the trail of its container, the container, the step from there.
function refuse(trail, reason) {
  let path = "";
  for (; trail !== null; trail = trail[0]) path = trail[2] + path;
  if (path.length > 200) path = `${path.slice(0, 100)}...${path.slice(-100)}`;
  return new CodecError(`value${path}: ${reason}`);
}

function tooDeep(trail) {
  const levels = [];
  for (let each = trail; each !== null; each = each[0]) levels.unshift(each);
  const seen = new Set();
  for (const [around, container] of levels) {
    if (seen.has(container)) return refuse(around, "circular structure is not storable");
    seen.add(container);
  }
  return new CodecError(`value: nested deeper than ${DEPTH_MAX} levels`);
}

function write(value, depth, trail) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (Number.isSafeInteger(value) && !Object.is(value, -0)) return value;
      if (Number.isFinite(value) && !Number.isInteger(value)) return value;
      return { $float: Object.is(value, -0) ? "-0" : String(value) };
    case "undefined":
      return { $undefined: true };
    case "bigint":
      return { $bigint: String(value) };
    case "object":
      return value === null ? null : writeObject(value, depth, trail);
    default:
      throw refuse(trail, `${typeof value} is not storable`);
  }
}

function writeObject(value, depth, trail) {
  if (depth < 1) throw tooDeep(trail);
  if (isProxy(value)) throw refuse(trail, "a Proxy is not storable");
  const proto = Object.getPrototypeOf(value);
  if (proto === Object.prototype || proto === null) return writePlain(value, depth, trail);
  if (proto === Array.prototype) {
    return arrayFrom(value, (item, index) => write(item, depth - 1, [trail, value, `[${index}]`]));
  }
  const writeOne = WRITERS.get(proto);
  if (writeOne !== undefined) return writeOne(value, depth, trail);
  throw refuse(trail, `${unstorable(value, proto)} is not storable`);
}

/** How a value of each further kind is written, by its prototype: a subclass is refused. */
const WRITERS = new Map([
  [Date.prototype, (value) => ({ $date: Number.isNaN(+value) ? null : +value })],
  [Map.prototype, (value, depth, trail) => writeMap(value, depth - 2, trail)],
  [Set.prototype, writeSet],
  [RegExp.prototype, (value) => ({ $regexp: [value.source, value.flags] })],
  [ArrayBuffer.prototype, (value) => ({ $array: ["A", new Uint8Array(value).toBase64()] })],
  [DataView.prototype, (value) => ({ $array: ["V", bytesOf(value).toBase64()] })],
  [Uint8Array.prototype, (value) => ({ $bytes: bytesOf(value).toBase64() })],
  [Buffer.prototype, (value) => ({ $bytes: bytesOf(value).toBase64() })],
  ...[...ARRAYS].map(([kind, code]) => [
    kind.prototype,
    (value) => ({ $array: [code, bytesOf(value).toBase64()] }),
  ]),
]);

function bytesOf(view) {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

function writeSet(value, depth, trail) {
  const items = Array.from(value, (item) => write(item, depth - 2, [trail, value, "{element}"]));
  return { $set: items };
}

function unstorable(value, proto) {
  if (value instanceof Promise) return "Promise (await it first)";
  if (value instanceof Error) return "an Error (store its message)";
  const name = proto?.constructor?.name;
  return name ? `an instance of ${name}` : "this object";
}

function writePlain(value, depth, trail) {
  const names = keys(value);
  const likeTag = names.length === 1 && startsWith(names[0], "$");
  const tagged = {};
  for (const key of names) {
    const step = /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
    const item = write(value[key], depth - (likeTag ? 2 : 1), [trail, value, step]);
    if (key === "__proto__") {
      Object.defineProperty(tagged, key, { value: item, enumerable: true });
    } else tagged[key] = item;
  }
  return likeTag ? { $object: tagged } : tagged;
}

function writeMap(value, depth, trail) {
  if (depth < 1) throw tooDeep(trail);
  const pairs = [];
  for (const [key, item] of value) {
    const tagged = write(key, depth - 1, [trail, value, "{key}"]);
    pairs.push([tagged, write(item, depth - 1, [trail, value, `[${JSON.stringify(tagged)}]`])]);
  }
  return { $map: pairs };
}

// --- reading -----------------------------------------------------------------------------------

function read(tagged) {
  if (typeof tagged !== "object" || tagged === null) return tagged;
  if (isArray(tagged)) return arrayMap(tagged, read);
  let plain = tagged;
  const names = keys(tagged);
  if (names.length === 1 && startsWith(names[0], "$")) {
    if (names[0] !== "$object") return readTag(names[0], tagged[names[0]]);
    plain = tagged.$object;
  }
  const value = {};
  for (const key of keys(plain)) {
    const item = read(plain[key]);
    if (key === "__proto__") {
      const fixed = { value: item, enumerable: true, configurable: true, writable: true };
      Object.defineProperty(value, key, fixed);
    } else value[key] = item;
  }
  return value;
}

function readTag(tag, content) {
  switch (tag) {
    case "$date":
      return new Date(content === null ? NaN : content);
    case "$bytes":
      return Uint8Array.fromBase64(content);
    case "$array":
      return readArray(content[0], Uint8Array.fromBase64(content[1]).buffer);
    case "$undefined":
      return undefined;
    case "$float":
      return Number(content);
    case "$bigint":
      return BigInt(content);
    case "$regexp":
      return new RegExp(content[0], content[1]);
    case "$map":
      return new Map(arrayMap(content, ([key, item]) => [read(key), read(item)]));
    case "$set":
      return new Set(arrayMap(content, read));
    default:
      throw new CodecError(`stored value is damaged: unknown tag ${tag}`);
  }
}

function readArray(code, buffer) {
  if (code === "A") return buffer;
  if (code === "V") return new DataView(buffer);
  return new KINDS[code](buffer);
}
