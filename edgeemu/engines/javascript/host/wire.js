// The wire to the emulator: lines of JSON on the standard streams, in lockstep.
//
// The engine runs only between a message that it was sent and its report that nothing is left to
// run. What needs no answer is gathered and goes out with the next thing that does.

const { stdin, stdout } = Deno;
const { parse, stringify } = JSON;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const chunk = new Uint8Array(1 << 16);
const GATHERED_CHARS_MAX = 1 << 16;

let gathered = "";
let unread = "";

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
  post(frame);
  flush();
  return parse(readLine());
}

/** Tell that nothing is left to run, and wait for the next message; null at the end of all. */
export function rest() {
  gathered += '["idle"]\n';
  flush();
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
  const bytes = encoder.encode(gathered);
  gathered = "";
  for (let sent = 0; sent < bytes.length;) sent += stdout.writeSync(bytes.subarray(sent));
}

function readLine() {
  for (let end = unread.indexOf("\n"), from = 0;; end = unread.indexOf("\n", from)) {
    if (end >= 0) {
      const line = unread.slice(0, end);
      unread = unread.slice(end + 1);
      return line;
    }
    from = unread.length;
    const count = stdin.readSync(chunk);
    if (count === null) return null;
    unread += decoder.decode(chunk.subarray(0, count), { stream: true });
  }
}
