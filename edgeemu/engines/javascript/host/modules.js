// Loading the project's modules: what they import, and what they export.

import { registerHooks } from "node:module";
import { makeEnv } from "./bindings.js";
import { StatefulActor } from "./context.js";

const RUNTIME = new URL("./runtime.js", import.meta.url).href;
const JSON_NAME = /^[A-Za-z_$][\w$]*$/;

/** What was loaded: the front and the environment of each function, and the class of each type. */
export const project = { fronts: new Map(), classes: new Map(), envs: new Map() };

const BUILT_IN = new Map([["@telnyx/edge-runtime", RUNTIME]]);

registerHooks({
  resolve(specifier, context, next) {
    const found = BUILT_IN.get(specifier);
    return found === undefined ? next(specifier, context) : { url: found, shortCircuit: true };
  },
  load(url, context, next) {
    if (url.startsWith("file:") && /\.json(\?|$)/.test(url) && !url.includes("/node_modules/")) {
      return { format: "module", source: jsonModule(url), shortCircuit: true };
    }
    return next(url, context);
  },
});

function jsonModule(url) {
  const text = Deno.readTextFileSync(new URL(url));
  const value = JSON.parse(text);
  const names = typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.keys(value).filter((name) => JSON_NAME.test(name) && name !== "default")
    : [];
  const lines = names.map((name, index) =>
    `const v${index} = value[${JSON.stringify(name)}]; export { v${index} as ${name} };`
  );
  return `const value = ${text};\nexport default value;\n${lines.join("\n")}\n`;
}

/** Load every function; what was found, for the emulator to judge. */
export async function load(functions) {
  const found = [];
  for (const fn of functions) {
    const actorEnv = makeEnv(fn.name, "actor", fn.actor_env);
    const frontEnv = makeEnv(fn.name, "front", fn.front_env);
    project.envs.set(fn.name, frontEnv);
    const loaded = new Map();
    const told = { name: fn.name, front: false, exports: {}, classes: [] };
    for (const url of new Set([fn.main, ...fn.actors.map((actor) => actor.url)])) {
      if (url === null) continue;
      const module = await import(url);
      loaded.set(url, module);
      told.exports[url] = Object.keys(module).filter((name) => isActor(module[name]));
    }
    if (fn.main !== null) {
      const front = loaded.get(fn.main).default;
      project.fronts.set(fn.name, { fetch: front?.fetch?.bind(front), env: frontEnv });
      told.front = typeof front?.fetch === "function";
    }
    for (const { type, url } of fn.actors) {
      const made = loaded.get(url)[type];
      if (!isActor(made)) continue;
      told.classes.push(type);
      if (!project.classes.has(type)) {
        project.classes.set(type, { made, env: actorEnv, fn: fn.name });
      }
    }
    found.push(told);
  }
  return found;
}

function isActor(value) {
  return typeof value === "function" && value.prototype instanceof StatefulActor;
}

