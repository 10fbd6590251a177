// The host of TypeScript actors: takes messages of the emulator until it closes the wire.
//
// A message starts or resumes code. What that code can do without time, another turn or the
// outside is done when the engine has nothing left to run; then the next message is waited for.

import { describe } from "./errors.js";
import { load, whyNot } from "./modules.js";
import { placeIn } from "./places.js";
import { follow } from "./rules.js";
import { drop, start } from "./run.js";
import { askedAt, close, currentTurn, outside, settle, stop } from "./turns.js";
import { next, post, rest } from "./wire.js";
import { install, setNow } from "./world.js";

const { exit } = Deno;

/** What each message does; those that give true start or resume code. */
const MESSAGES = {
  load(rules, functions) {
    follow(rules);
    install();
    load(functions).then(
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

function take() {
  for (let message = rest(); message !== null; message = next()) {
    const [nowMs, kind, ...args] = message;
    setNow(nowMs);
    if (outside(() => MESSAGES[kind](...args))) return;
  }
  exit(0);
}

addEventListener("beforeunload", (event) => {
  event.preventDefault();
  take();
});

addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  post(["unhandled", currentTurn()?.id ?? null, describe(event.reason)]);
});
