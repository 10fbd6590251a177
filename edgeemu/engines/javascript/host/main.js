// The host of TypeScript actors: takes messages of the emulator until it closes the wire.
//
// A message starts or resumes code. What that code can do without time, another turn or the
// outside is done when the engine has nothing left to run; then the next message is waited for.

import { describe } from "./errors.js";
import { load, whyNot } from "./modules.js";
import { placeIn } from "./places.js";
import { follow } from "./rules.js";
import { drop, start } from "./run.js";
import { askedAt, close, currentTurn, inCode, outside } from "./turns.js";
import { settle, stop, turns, unhandled } from "./turns.js";
import { next, post, rest, restAndListen } from "./wire.js";
import { install, setNow } from "./world.js";

const { exit, stderr } = Deno;
const setRealTimeout = setTimeout;
const QUIET_TICKS = 500;
const QUIET_TICKS_MIN = 2;
const INSPECTED = Deno.args.includes("inspect");
let loading = null;

/** What each message does; those that give true start or resume code. */
const MESSAGES = {
  load(rules, functions) {
    follow(rules);
    install();
    loading = load(functions).then(
      (found) => post(["loaded", found]),
      (error) => post(["load_failed", whyNot(error)]),
    );
    return true;
  },
  turn(id, work) {
    start(id, work);
    return true;
  },
  settle(number, failed, value) {
    settle(number, failed, value);
    return true;
  },
  drop(type, name) {
    drop(type, name);
    return false;
  },
  close(id) {
    close(id);
    return false;
  },
  stop(id) {
    stop(id);
    return false;
  },
  where(number) {
    post(["where", placeIn(askedAt(number))]);
    return true;
  },
};

function take(first) {
  try {
    for (let message = first; message !== null; message = next()) {
      const [nowMs, kind, ...args] = message;
      setNow(nowMs);
      if (outside(() => MESSAGES[kind](...args))) return;
    }
  } catch (error) {
    // What code of the project did to the language broke the host: another process is in order.
    stderr.writeSync(new TextEncoder().encode(describe(error).stack));
    exit(1);
  }
  exit(0);
}

addEventListener("beforeunload", (event) => {
  if (inCode() && placeIn(new Error().stack) !== null) return; // Code made the event.
  event.preventDefault();
  take(rest());
});

/**
 * The same with a debugger: while one is attached, the engine does not tell when it has nothing
 * left to run. What a turn waits for is known; for the rest it gets some real time.
 */
async function listen() {
  for (;;) {
    await loading;
    for (let tick = 0; tick < QUIET_TICKS; tick += 1) {
      const busy = [...turns.values()].some((turn) => !turn.closed && turn.waits === 0);
      if (!busy && tick < QUIET_TICKS - QUIET_TICKS_MIN) tick = QUIET_TICKS - QUIET_TICKS_MIN;
      await new Promise((resolve) => setRealTimeout(resolve, 1));
    }
    take(await restAndListen());
  }
}

if (INSPECTED) listen();

for (const [type, what] of [["unhandledrejection", "reason"], ["error", "error"]]) {
  addEventListener(type, (event) => {
    event.preventDefault();
    unhandled(currentTurn(), event[what]);
  });
}
