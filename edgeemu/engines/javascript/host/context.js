// What actor code holds in its hands: the base class, `ctx`, namespaces and stubs.
//
// Source: spec/telnyx-actors.md sections 3, 4 and 5.

import { decode, encode } from "./codec.js";
import { errorNamed } from "./errors.js";
import { place } from "./places.js";
import { rules } from "./rules.js";
import { plainRequest, richResponse } from "./http.js";
import { socketsOf } from "./sockets.js";
import { ActorStorage, answer } from "./storage.js";
import { currentTurn, openTurn, ticket, watched } from "./turns.js";
import { post } from "./wire.js";

/** The base of every actor. */
export class StatefulActor {
  constructor(ctx, env) {
    this.ctx = ctx;
    this.env = env;
  }

  async alarm(_info) {}

  async fetch(_request) {
    return new Response("Not found", { status: 404 });
  }
}

const storage = new ActorStorage();

/** `this.ctx`. */
export class ActorContext {
  #instance;

  constructor(instance) {
    this.#instance = instance;
  }

  get id() {
    return this.#instance.name;
  }

  get storage() {
    return storage;
  }

  setAlarm(when) {
    return storage.setAlarm(when);
  }

  blockConcurrencyWhile(fn) {
    const turn = openTurn();
    if (!turn.inConstructor) return fn();
    const { promise, resolve, reject } = Promise.withResolvers();
    promise.catch(() => {}); // Its failure is that of the activation.
    turn.init.push(async () => {
      try {
        resolve(await fn());
      } catch (error) {
        reject(error);
        throw error;
      }
    });
    return promise;
  }

  sockets() {
    return socketsOf(this.#instance);
  }

  count() {
    return this.sockets().length;
  }

  broadcast(data) {
    return this.sockets().filter((socket) => socket.sendNow(data)).length;
  }
}

// --- other actors ------------------------------------------------------------------------------

function callStub(instance, method, args) {
  try {
    if (method.startsWith(rules.privatePrefix)) {
      const text = `${method} is private: its name starts with ${rules.privatePrefix}`;
      throw errorNamed("ActorPrivateMethodError", text);
    }
    const turn = askingTurn();
    const tagged = encode(args);
    const [number, promise] = ticket(turn, decode);
    post(["call", turn.id, number, instance, method.toWellFormed(), tagged]);
    return watched(turn, promise, `stub.${method}`, "W_CALL_NOT_AWAITED");
  } catch (error) {
    return Promise.reject(error);
  }
}

async function fetchStub(instance, input, init) {
  const turn = askingTurn();
  const plain = await plainRequest(input, init);
  const [number, promise] = ticket(turn, richResponse);
  post(["fetch", turn.id, number, instance, plain]);
  return promise;
}

/** The turn that asks for something which is no part of it. */
export function askingTurn() {
  const turn = currentTurn();
  return turn === null || turn.stopped ? openTurn() : turn;
}

function makeStub(type, name) {
  const instance = [type, name];
  const known = {
    id: name,
    fetch: (input, init) => fetchStub(instance, input, init),
  };
  return new Proxy(known, {
    get(target, property) {
      if (typeof property === "symbol" || property === "then") return undefined;
      if (Object.hasOwn(target, property)) return target[property];
      return (...args) => callStub(instance, property, args);
    },
    set: () => false,
  });
}

/** `env.<BINDING>` of an actor type. */
export class ActorNamespace {
  #type;
  #odd;

  constructor(type) {
    this.#type = type;
    this.#odd = new RegExp(`[^${rules.nameCharacters}]`, "u");
  }

  idFromName(name, _options) {
    if (typeof name !== "string" || name.length < 1 || name.length > rules.nameCharsMax) {
      const text = `a name is a string of 1 to ${rules.nameCharsMax} characters: ${String(name)}`;
      throw new TypeError(text);
    }
    if (!name.isWellFormed()) throw new TypeError("a name cannot hold a lone surrogate");
    const turn = currentTurn();
    if (turn !== null && this.#odd.test(name)) {
      answer(["name", turn.id, name, place(this.idFromName)]);
    }
    return makeStub(this.#type, name);
  }

  newUniqueId(_options) {
    return makeStub(this.#type, answer(["unique_name", openTurn().id]));
  }
}

