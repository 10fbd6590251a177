// Where user code stands: `file:line`, relative to the project.

import { rules } from "./rules.js";

const HOST = new URL(".", import.meta.url).href;
const FRAME = /\(?(file:\/\/[^)\s]+):(\d+):\d+\)?$/;

/** The `file:line` of the user's code in a stack, its innermost frame first; null without one. */
export function placeIn(stack) {
  for (const line of stack.split("\n")) {
    const found = FRAME.exec(line);
    if (found === null || found[1].startsWith(HOST)) continue;
    return `${relative(found[1])}:${found[2]}`;
  }
  return null;
}

/** The place of the user's code that called into the runtime. */
export function place() {
  return placeIn(new Error().stack);
}

/** The path of a file as users read it. */
export function relative(url) {
  return url.startsWith(rules.rootUrl)
    ? decodeURIComponent(url.slice(rules.rootUrl.length))
    : decodeURIComponent(new URL(url).pathname);
}
