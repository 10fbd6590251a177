// Where user code stands: `file:line`, relative to the project.

import { rules } from "./rules.js";

const { captureStackTrace } = Error;
const FRAMES_MAX = 50;
const HOST = new URL(".", import.meta.url).href;
const FRAME = /\(?(file:\/\/[^)\s]+):(\d+):\d+\)?$/;

/** The `file:line` of the user's code in a stack, its innermost frame first; null without one. */
export function placeIn(stack) {
  let first = null;
  for (const line of String(stack).split("\n")) {
    const found = FRAME.exec(line);
    if (found === null || found[1].startsWith(HOST)) continue;
    const place = `${relative(found[1])}:${found[2]}`;
    if (!found[1].includes("/node_modules/")) return place;
    first ??= place;
  }
  return first;
}

/** What tells where the code stands that called `called`; its `stack` is made when it is read. */
export function standing(called) {
  const at = {};
  captureStackTrace(at, called);
  return at;
}

/**
 * The place of the user's code that called into the runtime by its function `called`.
 *
 * Each frame of a stack costs its way through the source map, so few are looked at first.
 */
export function place(called) {
  const limit = Error.stackTraceLimit;
  let found = null;
  for (const frames of [2, FRAMES_MAX]) {
    Error.stackTraceLimit = frames;
    found = placeIn(standing(called).stack);
    if (found !== null && !found.includes("node_modules/")) break;
  }
  Error.stackTraceLimit = limit;
  return found;
}

/** The path of a file as users read it. */
export function relative(url) {
  return url.startsWith(rules.rootUrl)
    ? decodeURIComponent(url.slice(rules.rootUrl.length))
    : decodeURIComponent(new URL(url).pathname);
}
