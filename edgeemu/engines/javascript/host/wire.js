// The wire to the emulator: lines of JSON on the standard streams, in lockstep.
//
// The engine runs only between a message that it was sent and its report that nothing is left to
// run. What needs no answer is gathered and goes out with the next thing that does.

import { indexOf, parse, slice, stringify } from "./primordials.js";

const { stdin, stdout } = Deno;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const chunk = new Uint8Array(1 << 16);
const GATHERED_CHARS_MAX = 1 << 16;

let gathered = "";
let owed = 0; // answers that were asked for and not yet read
let outgoing = null;
let sent = 0;
let filled = 0; // bytes of the chunk that are not yet decoded
let head = ""; // of a line whose end is not there yet
let unread = "";

// Where recursion fills the stack, any call in here may throw. What was begun is then finished by
// the next use of the wire, so that each question still gets its own answer.

/** Tell the emulator something that it does not answer. */
export function post(frame) {
  postText(stringify(frame));
}

/** The same for a frame that is JSON text already. */
export function postText(line) {
  gathered += line + "\n";
  if (gathered.length > GATHERED_CHARS_MAX) flush();
}

/** Ask the emulator something and wait for its answer: nothing else runs meanwhile. */
export function ask(frame) {
  gathered += stringify(frame) + "\n";
  owed += 1;
  flush();
  return parse(readAnswer());
}

/** Tell that nothing is left to run, and wait for the next message; null at the end of all. */
export function rest() {
  gathered += '["idle"]\n';
  flush();
  readAnswer();
  return next();
}

/** The same without holding the engine, so that a debugger gets a word in. */
export async function restAndListen() {
  gathered += '["idle"]\n';
  flush();
  if (!unread.includes("\n")) {
    const count = await stdin.read(chunk);
    if (count === null) return null;
    unread += decoder.decode(chunk.subarray(0, count), { stream: true });
  }
  return next();
}

/** The next message, without a report. */
export function next() {
  const line = readLine();
  return line === null ? null : parse(line);
}

function flush() {
  while (outgoing !== null || gathered !== "") {
    if (outgoing === null) {
      outgoing = encoder.encode(gathered);
      gathered = "";
      sent = 0;
    }
    while (sent < outgoing.length) sent += stdout.writeSync(outgoing.subarray(sent));
    outgoing = null;
  }
}

/** The answer to the last question; those that nobody waits for any more are passed over. */
function readAnswer() {
  let line = null;
  while (owed > 0) {
    line = readLine();
    owed -= 1;
  }
  return line;
}

function readLine() {
  for (;;) {
    const end = indexOf(unread, "\n");
    if (end >= 0) {
      const line = head + slice(unread, 0, end);
      const left = slice(unread, end + 1);
      head = "";
      unread = left;
      return line;
    }
    head += unread;
    unread = "";
    filled ||= stdin.readSync(chunk) ?? 0;
    if (filled === 0) return null;
    unread = decoder.decode(chunk.subarray(0, filled), { stream: true });
    filled = 0;
  }
}
