// Randomness: a stream of its own for each turn, seeded by the emulator.

import { Buffer } from "node:buffer";
import { define } from "./time.js";
import { rules } from "./rules.js";
import { currentTurn } from "./turns.js";
import { ask } from "./wire.js";

const QUOTA_BYTES = 65_536; // of the Web Cryptography standard
const INTEGERS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  BigInt64Array,
  BigUint64Array,
];

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
  if (turn.random === null) {
    const [how, seed] = ask(["random", turn.id]);
    turn.random = generator(how === "ok" ? seed : rules.seed); // Else the turn is over.
  }
  return turn.random();
}

function random() {
  return ((draw() >>> 5) * 67108864 + (draw() >>> 6)) / 9007199254740992;
}

function fill(view) {
  const bytes = ArrayBuffer.isView(view)
    ? new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
    : new Uint8Array(view);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = draw() & 255;
  return view;
}

function getRandomValues(array) {
  if (!INTEGERS.some((kind) => array instanceof kind)) {
    throw new DOMException("an integer typed array is wanted", "TypeMismatchError");
  }
  if (array.byteLength > QUOTA_BYTES) {
    const text = `the ArrayBufferView's byte length (${array.byteLength}) exceeds the number of ` +
      `bytes of entropy available via this API (${QUOTA_BYTES})`;
    throw new DOMException(text, "QuotaExceededError");
  }
  return fill(array);
}

function randomUUID() {
  const bytes = fill(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = bytes.toHex();
  const parts = [[0, 8], [8, 12], [12, 16], [16, 20], [20, 32]];
  return parts.map(([from, to]) => hex.slice(from, to)).join("-");
}

// --- node:crypto -------------------------------------------------------------------------------

function told(callback, make) {
  if (typeof callback !== "function") return make();
  queueMicrotask(() => callback(null, make()));
}

function randomBytes(size, callback) {
  if (!(Number.isInteger(size) && size >= 0 && size < 2 ** 31)) {
    throw new RangeError(`The value of "size" is out of range: ${size}`);
  }
  return told(callback, () => fill(Buffer.alloc(size)));
}

function randomInt(min, max, callback) {
  if (max === undefined || typeof max === "function") [min, max, callback] = [0, min, max];
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || max <= min) {
    throw new RangeError(`The value of "max" is out of range: ${max}`);
  }
  return told(callback, () => min + Math.floor(random() * (max - min)));
}

function randomFillSync(view, offset = 0, size = undefined) {
  const bytes = new Uint8Array(view.buffer ?? view, view.byteOffset ?? 0, view.byteLength);
  fill(bytes.subarray(offset, size === undefined ? undefined : offset + size));
  return view;
}

function randomFill(view, ...rest) {
  const callback = rest.pop();
  told(callback, () => randomFillSync(view, ...rest));
}

/** Take the place of the engine's own randomness. */
export function installRandom(builtin) {
  define(Math, { random });
  define(Crypto.prototype, { getRandomValues, randomUUID });
  const made = { randomBytes, randomInt, randomFillSync, randomFill, getRandomValues };
  define(builtin("node:crypto"), {
    ...made,
    randomUUID: () => randomUUID(),
    pseudoRandomBytes: randomBytes,
    webcrypto: crypto,
  });
}
