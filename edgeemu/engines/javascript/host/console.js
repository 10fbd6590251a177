// `console`: each line is told to the emulator, which knows the instance and the instant.

import { Console } from "node:console";
import { Writable } from "node:stream";
import { formatWithOptions, inspect } from "node:util";
import { slice, wellFormed } from "./primordials.js";
import { rules } from "./rules.js";
import { define, now } from "./time.js";
import { currentTurn } from "./turns.js";
import { post } from "./wire.js";

const OUTSIDE = { printed: 0, indent: "" };
const counts = new Map();
const started = new Map();

/** Tell one line, or several at once; a turn may print so much and no more. */
export function print(level, text) {
  const turn = currentTurn() ?? OUTSIDE;
  turn.printed ??= 0;
  if (turn.printed > rules.printedCharsMax) return;
  turn.printed += text.length + 1;
  let told = text.length > rules.lineCharsMax ? `${slice(text, 0, rules.lineCharsMax)}...` : text;
  if (turn.indent) told = turn.indent + told.replaceAll("\n", `\n${turn.indent}`);
  post(["print", turn.id ?? null, level, wellFormed(told)]);
  if (turn.printed > rules.printedCharsMax && turn !== OUTSIDE) {
    post(["print", turn.id, "warn", "... what else this turn prints is left out"]);
  }
}

function shown(args) {
  try {
    return formatWithOptions({ colors: false, depth: 4 }, ...args);
  } catch {
    return "[a value that cannot be shown]";
  }
}

function table(data, columns) {
  let text = "";
  const stdout = new Writable({
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  new Console({ stdout, stderr: stdout, colorMode: false }).table(data, columns);
  print("info", text.trimEnd());
}

function timed(label, rest, end) {
  if (!started.has(label)) return print("warn", `Timer '${label}' does not exist`);
  print("info", shown([`${label}: ${now() - started.get(label)}ms`, ...rest]));
  if (end) started.delete(label);
}

function group(...args) {
  if (args.length > 0) print("info", shown(args));
  const turn = currentTurn() ?? OUTSIDE;
  turn.indent = (turn.indent ?? "") + "  ";
}

function groupEnd() {
  const turn = currentTurn() ?? OUTSIDE;
  turn.indent = (turn.indent ?? "").slice(2);
}

function trace(...args) {
  const at = {};
  Error.captureStackTrace(at, trace);
  const stack = String(at.stack).split("\n").slice(1).join("\n");
  print("error", `Trace: ${shown(args)}\n${stack}`);
}

const members = {
  table,
  trace,
  group,
  groupCollapsed: group,
  groupEnd,
  dir: (value, options) => print("info", inspect(value, { customInspect: false, ...options })),
  dirxml: (...args) => print("info", shown(args)),
  assert(condition, ...args) {
    if (condition) return;
    const text = args.length > 0 ? `Assertion failed: ${shown(args)}` : "Assertion failed";
    print("error", text);
  },
  count(label = "default") {
    counts.set(label, (counts.get(label) ?? 0) + 1);
    print("info", `${label}: ${counts.get(label)}`);
  },
  countReset: (label = "default") => void counts.delete(label),
  time: (label = "default") => void started.set(label, now()),
  timeLog: (label = "default", ...rest) => timed(label, rest, false),
  timeEnd: (label = "default") => timed(label, [], true),
  clear: () => {},
  profile: () => {},
  profileEnd: () => {},
  timeStamp: () => {},
};
for (const [name, level] of [["log", "info"], ["info", "info"], ["debug", "debug"]]) {
  members[name] = (...args) => print(level, shown(args));
}
for (const level of ["warn", "error"]) members[level] = (...args) => print(level, shown(args));

/** Take the place of what prints on the standard streams. */
export function installConsole(builtin) {
  define(console, members);
  define(builtin("node:console"), members);
}
