// Loading the project's modules: what they import, and what they export.

import { registerHooks, stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";
import { makeEnv } from "./bindings.js";
import { StatefulActor } from "./context.js";
import { describe } from "./errors.js";
import { SafeMap } from "./primordials.js";
import { loadingFor } from "./process.js";
import { find, Unresolved, unresolvedIn, withEngine } from "./resolve.js";

const { readTextFileSync } = Deno;
const { getBuiltinModule } = process;
const HOST = new URL(".", import.meta.url).href;
const MADE = ".made.json";
const TYPESCRIPT_OF_PACKAGE = /\/node_modules\/.*\.[mc]?tsx?$/;
const CODE = /(\.[mc]?[jt]sx?|\/[^./]*)$/;

const RUNTIME = new URL("./runtime.js", import.meta.url).href;
const JSON_NAME = /^[A-Za-z_$][\w$]*$/;

/** What was loaded: the front and the environment of each function, and the class of each type. */
export const project = {
  fronts: new SafeMap(),
  classes: new SafeMap(),
  envs: new SafeMap(),
};

/** Which module imports which, by URL, in the order in which they were found. */
const imports = [];

const BUILT_IN = new Map([["@telnyx/edge-runtime", RUNTIME]]);

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL, conditions } = context;
    const builtIn = BUILT_IN.get(specifier);
    if (builtIn !== undefined) return { url: builtIn, shortCircuit: true };
    if (!parentURL?.startsWith("file:") || parentURL.startsWith(HOST)) {
      return next(specifier, context);
    }
    // A bundler takes what is meant for bundlers; a package that is required gets no such module.
    const required = conditions.includes("require");
    const holding = required ? conditions : conditions.concat("module");
    const url = withEngine(() => find(specifier, parentURL, holding));
    if (url === null) return withEngine(() => nodeModule(specifier, context, next));
    if (url.startsWith(HOST)) throw new Unresolved("denied", specifier, fileURLToPath(parentURL));
    imports.push([parentURL, url]);
    const asData = required || context.importAttributes?.type === "json";
    return { url: asData ? url : named(url, specifier, parentURL), shortCircuit: true };
  },
  load(url, context, next) {
    if (!url.startsWith("file:") || !url.endsWith(".json") || url.startsWith(HOST)) {
      return withEngine(() => next(url, context));
    }
    const file = fileURLToPath(url.replace(MADE, ""));
    const text = withEngine(() => readTextFileSync(file)).replace(/^\uFEFF/, "");
    if (!url.endsWith(MADE)) return { format: "json", source: text, shortCircuit: true };
    return { format: "module", source: madeModule(file, text), shortCircuit: true };
  },
});

/** A module of Node, made now, while the engine finds itself under its global name. */
function nodeModule(specifier, context, next) {
  getBuiltinModule(specifier);
  return next(specifier, context);
}

/**
 * A URL under which the engine takes the file from the hook above, whatever the file is.
 *
 * It has no use for JSON without an attribute and for plain text, which the platform's bundler
 * takes, and none for the TypeScript of a package, such as one of the same workspace, copied.
 */
function named(url, specifier, parentUrl) {
  if (/\.(json|txt)$/.test(url) || TYPESCRIPT_OF_PACKAGE.test(url)) return url + MADE;
  if (CODE.test(url)) return url;
  throw new Unresolved("loader", specifier, fileURLToPath(parentUrl), /[^.]*$/.exec(url)[0]);
}

function madeModule(file, text) {
  if (file.endsWith(".txt")) return `export default ${JSON.stringify(text)};`;
  if (file.endsWith(".json")) return jsonModule(file, text);
  return withEngine(() => stripTypeScriptTypes(text, { mode: "transform" }));
}

function jsonModule(file, text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Unresolved("json", file, file, error.message);
  }
  const names = typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.keys(value).filter((name) => JSON_NAME.test(name) && name !== "default")
    : [];
  const lines = names.map((name, index) =>
    `const v${index} = value[${JSON.stringify(name)}]; export { v${index} as ${name} };`
  );
  // Parsed once more, for an object literal would take `__proto__` for the prototype.
  const parsed = `JSON.parse(${JSON.stringify(text)})`;
  return `const value = ${parsed};\nexport default value;\n${lines.join("\n")}\n`;
}

/** Why a load failed, for the emulator to tell: the import that led nowhere, and all others. */
export function whyNot(error) {
  const paths = imports.map((pair) => pair.map((url) => fileURLToPath(url.replace(MADE, ""))));
  return { ...describe(error), unresolved: unresolvedIn(error), imports: paths };
}

const UNPREPARED = /^Loading unprepared module: (file:\S+?), imported from: /;

/** The engine says of a file that it cannot read only this; asked for it alone, it says why. */
async function unprepared(error) {
  const found = UNPREPARED.exec(error?.message);
  if (found !== null) await import(found[1]);
  throw error;
}

/** Load every function; what was found, for the emulator to judge. */
export async function load(functions) {
  const found = [];
  for (const fn of functions) {
    loadingFor(fn);
    const actorEnv = makeEnv(fn.name, "actor", fn.actor_env);
    const frontEnv = makeEnv(fn.name, "front", fn.front_env);
    project.envs.set(fn.name, frontEnv);
    const loaded = new Map();
    const told = { name: fn.name, front: false, exports: {}, others: {}, classes: [] };
    for (const url of new Set([fn.main, ...fn.actors.map((actor) => actor.url)])) {
      if (url === null) continue;
      const module = await import(url).catch(unprepared);
      loaded.set(url, module);
      const names = Object.keys(module);
      told.exports[url] = names.filter((name) => isActor(module[name]));
      told.others[url] = names.filter((name) => !isActor(module[name]));
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

