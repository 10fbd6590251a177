// What the configuration binds on `env`. Source: spec/telnyx-actors.md sections 2.3 and 12.

import { ActorNamespace, askingTurn } from "./context.js";
import { errorNamed } from "./errors.js";
import { plainRequest, richResponse } from "./http.js";
import { answer } from "./storage.js";
import { ticket } from "./turns.js";
import { post } from "./wire.js";

const MAKERS = {
  actor: (binding) => new ActorNamespace(binding.type),
  var: (binding) => binding.value,
  secrets: (binding) => new Secrets(binding.values),
  service: (binding, at) => new ServiceBinding(at),
  kv: (binding) => new KvNamespace(binding.namespace),
  rate: (_, at) => new RateLimit(at),
  unsupported: (binding) => unsupported(binding.text),
};

/** The `env` of a function, or of the actors that it owns. */
export function makeEnv(fn, side, bindings) {
  const env = {};
  for (const [name, binding] of Object.entries(bindings)) {
    env[name] = MAKERS[binding.kind](binding, [fn, side, name]);
  }
  return Object.freeze(env);
}

class Secrets {
  #values;

  constructor(values) {
    this.#values = values;
  }

  async get(handle) {
    if (Object.hasOwn(this.#values, handle)) return this.#values[handle];
    throw errorNamed("Error", `there is no secret '${handle}': give it a value in .env`);
  }
}

class ServiceBinding {
  #at;

  constructor(at) {
    this.#at = at;
  }

  async fetch(input, init) {
    const turn = askingTurn();
    const plain = await plainRequest(input, init);
    const [number, promise] = ticket(turn, richResponse);
    post(["send", turn.id, number, this.#at, plain]);
    return promise;
  }
}

/** `env.<NAME>` of `[storage.kv.<NAME>]`: text by key, shared by all, outside of every turn. */
class KvNamespace {
  #namespace;

  constructor(namespace) {
    this.#namespace = namespace;
  }

  async get(key, options = {}) {
    const type = typeof options === "string" ? options : options?.type ?? "text";
    if (type !== "text" && type !== "json") {
      throw new TypeError(`type is "text" or "json", not ${String(type)}`);
    }
    const value = this.#ask("get", key);
    if (type === "text" || value === null) return value;
    return value === "" ? null : JSON.parse(value);
  }

  async put(key, value, options = {}) {
    this.#ask("put", key, value, options?.expirationTtl ?? null);
  }

  async delete(key) {
    this.#ask("delete", key);
  }

  async list({ prefix = "", limit = null, cursor = null } = {}) {
    return this.#ask("list", prefix, limit, cursor);
  }

  #ask(operation, ...args) {
    const plain = args.map((value) => (typeof value === "string" ? value.toWellFormed() : value));
    return answer(["kv", askingTurn().id, operation, this.#namespace, plain]);
  }
}

class RateLimit {
  #at;

  constructor(at) {
    this.#at = at;
  }

  async limit(options) {
    const key = options?.key;
    if (typeof key !== "string") throw new TypeError(`a key is a string, not ${typeof key}`);
    return { success: answer(["allow", askingTurn().id, this.#at, key.toWellFormed()]) };
  }
}

function unsupported(text) {
  const fail = () => {
    throw errorNamed("Error", text);
  };
  return new Proxy(function () {}, {
    get(_, property) {
      return typeof property === "symbol" || property === "then" ? undefined : fail();
    },
    apply: fail,
  });
}
