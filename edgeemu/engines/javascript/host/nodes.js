// The modules of Node in which members are replaced, as every way of importing them finds them.
//
// `require` and default imports give the object in which they are replaced. The names that an
// `import` takes were bound before, so it gets a module of ours, made of that object.

import { registerHooks } from "node:module";
import process from "node:process";
import { withEngine } from "./resolve.js";

const MADE = new URL("./node/", import.meta.url).href;
const SUFFIX = ".made.json"; // For other names the engine looks at the file itself.
const HOST = new URL(".", import.meta.url).href;
const NAME = /^[A-Za-z_$][\w$]*$/;
const changed = new Map([["node:process", process]]);

registerHooks({
  resolve(specifier, context, next) {
    const name = specifier.startsWith("node:") ? specifier : `node:${specifier}`;
    const mine = context.parentURL?.startsWith(HOST) || context.conditions.includes("require");
    if (mine || !changed.has(name)) return next(specifier, context);
    return { url: MADE + name.slice("node:".length) + SUFFIX, shortCircuit: true };
  },
  load(url, context, next) {
    if (!url.startsWith(MADE)) return next(url, context);
    const name = `node:${url.slice(MADE.length, -SUFFIX.length)}`;
    const names = Object.keys(membersOf(name)).filter((key) => NAME.test(key));
    const lines = names.filter((key) => key !== "default").map((key, index) =>
      `const v${index} = all.${key}; export { v${index} as ${key} };`
    );
    const from = `import { builtin, membersOf } from ${JSON.stringify(import.meta.url)};`;
    const given = JSON.stringify(name);
    const source = `${from}\nconst all = membersOf(${given});\n` +
      `export default builtin(${given});\n${lines.join("\n")}\n`;
    return { format: "module", source, shortCircuit: true };
  },
});

const { getBuiltinModule } = process;

/** Its members now: some are made when they are read, and look for the engine then. */
export function membersOf(name) {
  return withEngine(() => ({ ...changed.get(name) }));
}

/** The object of a module of Node, in which members can be replaced. */
export function builtin(name) {
  if (!changed.has(name)) changed.set(name, getBuiltinModule(name));
  return changed.get(name);
}
