// Running a turn: making an object, calling its method, and telling how it ended.

import { ActorContext, StatefulActor } from "./context.js";
import { decode, encode } from "./codec.js";
import { CodecError, describe, errorNamed, refuse } from "./errors.js";
import { plainResponse, richRequest } from "./http.js";
import { project } from "./modules.js";
import { nearest } from "./names.js";
import { SafeMap } from "./primordials.js";
import { rules } from "./rules.js";
import { forgetSockets, runSocket } from "./sockets.js";
import {
  checkWrites,
  settleTransactions,
  stop,
  stopLeftovers,
  sweep,
  Turn,
  turns,
  warnOfLeft,
  within,
} from "./turns.js";
import { post } from "./wire.js";

/** The objects in memory, by type and name. */
const objects = new SafeMap();

const keyOf = ({ type, name }) => `${type}/${name}`;

/** Start a turn; how it ends is told later. */
export function start(id, work) {
  const [type, name] = work.instance ?? [];
  const instance = work.instance === null ? null : { type, name };
  const owner = instance === null ? undefined : project.classes.get(type)?.fn;
  const turn = new Turn(id, instance, work.function || owner);
  turns.set(id, turn);
  within(turn, null, run, turn, work);
}

/** Forget the object of an instance, and stop the work that its turns left behind. */
export function drop(type, name) {
  objects.delete(keyOf({ type, name }));
  forgetSockets({ type, name });
  stopLeftovers(type, name);
}

async function run(turn, work) {
  let told;
  try {
    told = ["done", turn.id, true, await perform(turn, work)];
  } catch (error) {
    told = ["done", turn.id, false, describe(error)];
  }
  turn.closed = true;
  if (turn.stopped) return;
  try {
    post(told);
  } catch (error) {
    post(["done", turn.id, false, describe(error)]); // What it gave is too large for JSON.
  }
  sweep(turn);
}

async function perform(turn, work) {
  if (work.kind === null) return front(turn, work);
  if (work.kind === "init") return initialise(turn);
  const target = objects.get(keyOf(turn.instance));
  if (target === undefined) throw errorNamed("ActorError", "the instance is not in memory");
  const answer = await codeEnds(turn, handle(turn, work, target));
  await settleTransactions(turn);
  checkWrites(turn);
  return answer;
}

async function codeEnds(turn, code) {
  try {
    return await code;
  } finally {
    await warnOfLeft(turn);
  }
}

async function handle(turn, work, target) {
  switch (work.kind) {
    case "alarm":
      await deliver(turn, work, target);
      return null;
    case "socket":
      await runSocket(turn.instance, target, work);
      return null;
    case "fetch":
      return await plainResponse(await target.fetch(richRequest(work.request)));
    default: {
      const result = await methodOf(target, work.method)(...decode(work.args));
      return encodeResult(work.method, result);
    }
  }
}

async function deliver(turn, work, target) {
  if (target.alarm === StatefulActor.prototype.alarm) {
    post(["no_handler", turn.id, target.constructor.name]);
  }
  const retryCount = work.retry_count;
  await target.alarm({ retryCount, isRetry: retryCount > 0 });
}

function encodeResult(method, result) {
  try {
    return encode(result, { topUndefined: true });
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    const told = error.message.replace(/^value/, `the result of ${method}`);
    throw refuse(new CodecError(told));
  }
}

async function initialise(turn) {
  const { instance } = turn;
  const found = project.classes.get(instance.type);
  if (found === undefined) {
    const text = `the project declares no actor type ${instance.type} any more`;
    throw errorNamed("ActorError", text);
  }
  turn.fn = found.fn;
  const { target } = await codeEnds(turn, construct(turn, found));
  await settleTransactions(turn);
  checkWrites(turn);
  if (!turn.stopped) objects.set(keyOf(instance), target);
  return null;
}

async function construct(turn, { made, env }) {
  turn.inConstructor = true;
  let target;
  try {
    target = new made(new ActorContext(turn.instance), env);
  } finally {
    turn.inConstructor = false;
  }
  for (const fn of turn.init) await fn();
  return { target }; // Inside another object: it may have a method `then`.
}

async function front(turn, work) {
  const found = project.fronts.get(work.function);
  if (typeof found?.fetch !== "function") {
    const text = "Not found: the main module has no fetch function";
    return plainResponse(new Response(text, { status: 404 }));
  }
  const code = async () => await found.fetch(richRequest(work.request), found.env);
  return await plainResponse(await codeEnds(turn, code()));
}

// --- dispatch (section 3.1) --------------------------------------------------------------------

const BY_THE_PLATFORM = {
  alarm: "the platform calls alarm when it is due: use `edgeemu alarms fire`",
  fetch: "fetch is called with a request, as stub.fetch(request)",
  webSocket: "webSocket is called for a request that asks for an upgrade",
};

function methodOf(target, name) {
  const { privatePrefix } = rules;
  if (name.startsWith(privatePrefix)) {
    const text = `${name} is private: a name that starts with ${privatePrefix} cannot be called ` +
      "through a stub";
    throw refuse(errorNamed("ActorPrivateMethodError", text));
  }
  const type = target.constructor.name;
  if (Object.hasOwn(BY_THE_PLATFORM, name)) {
    const text = `${name} of ${type} is no method for callers; ${BY_THE_PLATFORM[name]}`;
    throw refuse(errorNamed("ActorUnknownMethodError", text));
  }
  const known = methodsOf(target);
  if (!known.has(name)) {
    const near = nearest(name, known);
    const all = [...known].sort().join(", ") || "none";
    const hint = near === undefined ? `it has: ${all}` : `did you mean ${near}?`;
    const text = `${type} has no method ${name}; ${hint}`;
    throw refuse(errorNamed("ActorUnknownMethodError", text));
  }
  return target[name].bind(target);
}

function methodsOf(target) {
  const names = new Set();
  for (let each = target; each !== null; each = Object.getPrototypeOf(each)) {
    if (each === StatefulActor.prototype || each === Object.prototype) break;
    for (const [name, found] of Object.entries(Object.getOwnPropertyDescriptors(each))) {
      const callable = typeof found.value === "function" && name !== "constructor";
      if (callable && !name.startsWith(rules.privatePrefix) && !(name in BY_THE_PLATFORM)) {
        names.add(name);
      }
    }
  }
  return names;
}
