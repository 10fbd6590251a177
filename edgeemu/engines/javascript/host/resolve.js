// Finding the module that an import names, as the platform's bundler (esbuild) does for Node.
//
// Source: spec/telnyx-actors.md section 2.1. The engine's own way differs: it knows no aliases of
// tsconfig.json, no main file of a folder inside a package, and no TypeScript in node_modules.

import { builtinModules, isBuiltin } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { relative } from "./places.js";
import { rules } from "./rules.js";

const engine = Deno;
const { readTextFileSync, realPathSync, statSync } = engine;
const PACKAGES = "/node_modules/";
const EXTENSIONS = [".tsx", ".ts", ".jsx", ".js", ".json"];
const EXTENSIONS_OF_PACKAGES = [".jsx", ".js", ".tsx", ".ts", ".json"];
const WRITTEN_FOR = { ".js": [".ts", ".tsx"], ".jsx": [".ts", ".tsx"], ".mjs": [".mts"] };
WRITTEN_FOR[".cjs"] = [".cts"];
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/**
 * Call a function of the engine, which looks for itself under its global name.
 *
 * Code of the project does not find it there; none of it runs meanwhile.
 */
export function withEngine(fn) {
  const hidden = Object.getOwnPropertyDescriptor(globalThis, "Deno");
  if (hidden.value !== undefined) return fn();
  Object.defineProperty(globalThis, "Deno", { value: engine, configurable: true });
  try {
    return fn();
  } finally {
    Object.defineProperty(globalThis, "Deno", hidden);
  }
}

let last = null;

/** What is known of the import of which `error` tells, if it tells of one that leads nowhere. */
export function unresolvedIn(error) {
  const tells = last !== null && String(error?.message).includes(last.message);
  return tells ? last.told : null;
}

/** An import that leads nowhere; the emulator says it in full where a load fails of it. */
export class Unresolved extends Error {
  constructor(reason, specifier, importer, more = null) {
    const who = relative(pathToFileURL(importer).href);
    super(`cannot find ${JSON.stringify(specifier)}, which ${who} imports`);
    this.name = "Error";
    this.told = { reason, specifier, importer, more };
    last = this;
  }
}

/**
 * The URL of the module that `specifier` names, or null for one that the engine itself has.
 *
 * @param parentUrl of the module that imports it
 * @param conditions of `exports` that hold, such as "import" or "require"
 */
export function find(specifier, parentUrl, conditions) {
  const importer = fileURLToPath(parentUrl);
  const fail = (reason, more) => new Unresolved(reason, specifier, importer, more);
  if (specifier.startsWith("file:")) {
    return urlOf(located(fileURLToPath(specifier), importer, fail));
  }
  if (/^(\.{0,2}\/|\.{1,2}$)/.test(specifier)) {
    return urlOf(located(joined(folderOf(importer), specifier), importer, fail));
  }
  const aliased = importer.includes(PACKAGES) ? null : byAlias(specifier, importer);
  if (aliased !== null) return urlOf(aliased);
  if (specifier.startsWith("node:") || builtinModules.includes(specifier)) {
    if (isBuiltin(specifier)) return null;
    throw fail("builtin");
  }
  if (SCHEME.test(specifier)) throw fail("scheme");
  return urlOf(ofPackage(specifier, importer, conditions, fail));
}

function urlOf(path) {
  return pathToFileURL(realPathSync(path)).href;
}

// --- files ---------------------------------------------------------------------------------------

function kindOf(path) {
  try {
    return statSync(path).isDirectory ? "folder" : "file";
  } catch (error) {
    return error.name === "NotCapable" ? "denied" : null;
  }
}

const folderOf = (path) => path.slice(0, path.lastIndexOf("/")) || "/";

function joined(folder, relative) {
  const parts = relative.startsWith("/") ? [] : folder.split("/").slice(1);
  for (const part of relative.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return `/${parts.join("/")}${/(^|\/)\.{0,2}$/.test(relative) ? "/" : ""}`;
}

function located(path, importer, fail) {
  const found = fileOrFolder(path, importer) ??
    (/[?#]/.test(path) ? fileOrFolder(path.replace(/[?#].*$/, ""), importer) : null);
  if (found !== null) return found;
  throw fail(kindOf(path) === "denied" ? "denied" : "file", path);
}

function fileOrFolder(path, importer) {
  return (path.endsWith("/") ? null : fileAt(path, importer)) ?? mainOf(path.replace(/\/$/, ""));
}

function fileAt(path, importer) {
  if (kindOf(path) === "file") return path;
  const dot = path.lastIndexOf(".");
  const written = WRITTEN_FOR[path.slice(dot)] ?? [];
  const extensions = importer.includes(PACKAGES) ? EXTENSIONS_OF_PACKAGES : EXTENSIONS;
  const tried = [
    ...extensions.map((extension) => path + extension),
    ...written.map((extension) => path.slice(0, dot) + extension),
  ];
  return tried.find((each) => kindOf(each) === "file") ?? null;
}

function mainOf(folder) {
  if (kindOf(folder) !== "folder") return null;
  const described = packageIn(folder);
  for (const main of [described?.main, described?.module]) {
    if (typeof main !== "string") continue;
    const path = joined(folder, `./${main}`);
    const found = fileAt(path.replace(/\/$/, ""), folder) ?? fileAt(`${path}/index`, folder);
    if (found !== null) return found;
  }
  return fileAt(`${folder}/index`, folder);
}

// --- aliases of tsconfig.json --------------------------------------------------------------------

function byAlias(specifier, importer) {
  for (const { folder, base, paths } of rules.aliases) {
    if (!importer.startsWith(folder)) continue;
    for (const path of aliasTargets(specifier, paths)) {
      const found = fileOrFolder(path, importer);
      if (found !== null) return found;
    }
    const found = base === null ? null : fileOrFolder(`${base}/${specifier}`, importer);
    if (found !== null && !isBuiltin(specifier)) return found;
  }
  return null;
}

function aliasTargets(specifier, paths) {
  const found = bestPattern(specifier, Object.keys(paths));
  return found === null ? [] : paths[found.key].map((path) => path.replace("*", () => found.star));
}

/** The key that matches a name: itself, or the `*` pattern with the longest beginning. */
function bestPattern(name, keys) {
  if (keys.includes(name)) return { key: name, star: "" };
  let best = null;
  for (const key of keys) {
    const star = key.indexOf("*");
    if (star < 0 || name.length < key.length - 1) continue;
    const [head, tail] = [key.slice(0, star), key.slice(star + 1)];
    if (!name.startsWith(head) || !name.endsWith(tail)) continue;
    const better = best === null || star > best.key.indexOf("*");
    if (better) best = { key, star: name.slice(star, name.length - tail.length) };
  }
  return best;
}

// --- packages ------------------------------------------------------------------------------------

const described = new Map();

function packageIn(folder) {
  if (!described.has(folder)) {
    let found = null;
    try {
      found = JSON.parse(readTextFileSync(`${folder}/package.json`));
    } catch {
      // There is none, or it says nothing that could be read.
    }
    described.set(folder, found);
  }
  return described.get(folder);
}

function* above(path) {
  for (let folder = folderOf(path);; folder = folderOf(folder)) {
    yield folder;
    if (folder === "/") return;
  }
}

function ofPackage(specifier, importer, conditions, fail) {
  const own = [...above(importer)].find((folder) => packageIn(folder) !== null);
  if (specifier.startsWith("#")) {
    const imports = own === undefined ? null : packageIn(own).imports;
    return ofTable(own, imports ?? {}, specifier, conditions, fail, importer);
  }
  const [, name, rest] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(specifier) ?? [null, specifier, ""];
  const subpath = rest.replace(/\/$/, "");
  if (own !== undefined && packageIn(own).name === name && packageIn(own).exports) {
    return ofExports(own, subpath, conditions, fail, importer);
  }
  for (const folder of above(importer)) {
    if (folder.endsWith("/node_modules")) continue;
    const place = `${folder}/node_modules/${name}`;
    if (kindOf(place) !== "folder") continue;
    if (packageIn(place)?.exports) return ofExports(place, subpath, conditions, fail, importer);
    const found = fileOrFolder(`${place}${subpath}`, importer);
    if (found !== null) return found;
    throw fail("file", `${place}${subpath}`);
  }
  throw fail("package", name);
}

function ofExports(folder, subpath, conditions, fail, importer) {
  const { exports } = packageIn(folder);
  const whole = typeof exports === "string" || Array.isArray(exports) ||
    !Object.keys(exports).some((key) => key.startsWith("."));
  const table = whole ? { ".": exports } : exports;
  return ofTable(folder, table, `.${subpath}`, conditions, fail, importer);
}

function ofTable(folder, table, key, conditions, fail, importer) {
  const found = bestPattern(key, Object.keys(table));
  const target = found === null ? null : chosen(table[found.key], conditions);
  if (typeof target !== "string") throw fail("export", Object.keys(table));
  const named = target.replaceAll("*", () => found.star);
  if (!named.startsWith("./")) return ofPackage(named, `${folder}/-`, conditions, fail);
  const path = joined(folder, named);
  return fileAt(path, importer) ?? located(path, importer, fail);
}

/** What a target of `exports` or `imports` comes to under the conditions that hold. */
function chosen(target, conditions) {
  if (typeof target === "string" || target === null) return target;
  if (Array.isArray(target)) {
    return target.map((each) => chosen(each, conditions)).find((each) => each) ?? null;
  }
  for (const [condition, inner] of Object.entries(target)) {
    if (condition !== "default" && !conditions.includes(condition)) continue;
    const found = chosen(inner, conditions);
    if (found !== undefined) return found;
  }
  return undefined;
}
