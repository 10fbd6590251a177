// WebSockets as actor code sees them: the `ws` of `webSocket(ws, req)`, like one of Node's `ws`.
//
// Source: spec/telnyx-actors.md section 11.

import { errorNamed, refuse } from "./errors.js";
import { place } from "./places.js";
import { richRequest } from "./http.js";
import { answer } from "./storage.js";
import { currentTurn, openTurn } from "./turns.js";
import { post } from "./wire.js";

const EVENTS = ["message", "close", "error"];

/** The sockets of every instance in memory, until each has had its last event. */
const known = new Map();

const keyOf = ({ type, name }) => `${type}/${name}`;

/** The instance has left the memory. */
export function forgetSockets(instance) {
  known.delete(keyOf(instance));
}

/** The sockets of an instance that are open now, oldest first. */
export function socketsOf(instance) {
  const mine = known.get(keyOf(instance));
  if (mine === undefined || mine.size === 0) return [];
  const open = answer(["sockets", openTurn().id]);
  return open.filter((number) => mine.has(number)).map((number) => mine.get(number));
}

function plainMessage(data) {
  if (typeof data === "string") {
    if (data.isWellFormed()) return ["text", data];
    throw new TypeError("a text frame cannot hold a lone surrogate, half a character");
  }
  if (data instanceof ArrayBuffer) return ["binary", new Uint8Array(data).toBase64()];
  if (ArrayBuffer.isView(data)) {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    return ["binary", bytes.toBase64()];
  }
  throw new TypeError("a message is a string or bytes; for JSON send JSON.stringify(value)");
}

/** The turn on whose behalf something leaves at once: also one whose storage is closed. */
function sendingTurn() {
  const turn = currentTurn();
  return turn === null || turn.stopped ? openTurn() : turn;
}

/** One WebSocket, open or not. */
class ActorSocket {
  #number;
  #protocol;
  #listeners = { message: [], close: [], error: [] };
  #taking = true;

  constructor(number, protocol) {
    this.#number = number;
    this.#protocol = protocol;
  }

  get protocol() {
    return this.#protocol;
  }

  get bufferedAmount() {
    return answer(["unsent", sendingTurn().id, this.#number]);
  }

  on(event, listener) {
    if (!EVENTS.includes(event)) {
      throw new RangeError(`a socket has the events message, close and error, not ${event}`);
    }
    if (typeof listener !== "function") throw new TypeError("a listener is a function");
    if (!this.#taking) {
      throw errorNamed(
        "Error",
        "listeners are registered before webSocket returns: this is too late",
      );
    }
    this.#listeners[event].push(listener);
    return this;
  }

  send(data) {
    if (!this.sendNow(data)) {
      const text = "a message was sent on a WebSocket that is closed, so it went nowhere";
      post(["warn", sendingTurn().id, "W_SOCKET_CLOSED", text, place(this.send)]);
    }
  }

  /** Send at once; whether the socket is open. */
  sendNow(data) {
    const message = plainMessage(data);
    return answer(["socket_send", sendingTurn().id, this.#number, ...message]);
  }

  close(code = null, reason = "") {
    if (code !== null && !Number.isInteger(code)) {
      throw new TypeError(`a close code is a whole number, not ${String(code)}`);
    }
    const told = String(reason);
    if (!told.isWellFormed()) throw new RangeError("a reason cannot hold a lone surrogate");
    answer(["socket_close", sendingTurn().id, this.#number, code, told]);
  }

  /** Call what was registered for an event. */
  async heard(event, args) {
    for (const listener of this.#listeners[event]) await listener.apply(this, args);
  }

  /** `webSocket()` has returned. */
  settled() {
    this.#taking = false;
  }
}

/** Run what an actor wants done for one event of a socket. */
export async function runSocket(instance, target, work) {
  const { socket: number, part } = work.socket;
  const key = keyOf(instance);
  if (!known.has(key)) known.set(key, new Map());
  const mine = known.get(key);
  if (part === "open") return openSocket(mine, number, target, work);
  const socket = mine.get(number);
  if (socket === undefined) return;
  if (part === "close") mine.delete(number);
  await socket.heard(part, argumentsOf(work.socket));
}

/** What to say of a method that was probably meant to be `webSocket`; null without one. */
function misnamed(target) {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(target));
  const meant = /^(on|handle)?_?web_?socket$/i;
  const near = names.find((name) => name !== "webSocket" && meant.test(name));
  const has = `${target.constructor.name} has ${near}`;
  return near === undefined ? null : `${has}; did you mean webSocket(ws, request)?`;
}

async function openSocket(mine, number, target, work) {
  const socket = new ActorSocket(number, work.protocol);
  mine.set(number, socket);
  try {
    if (typeof target.webSocket !== "function") {
      const error = errorNamed("ActorError", work.no_handler);
      const hint = misnamed(target);
      if (hint !== null) error.cause = hint; // The message is the platform's.
      throw refuse(error);
    }
    await target.webSocket(socket, richRequest(work.request));
  } catch (error) {
    mine.delete(number);
    throw error;
  } finally {
    socket.settled();
  }
}

function argumentsOf({ part, text, data, code, reason }) {
  if (part === "close") return [code];
  if (part === "error") return [errorNamed("Error", reason)];
  return text ? [data, false] : [Uint8Array.fromBase64(data).buffer, true];
}
