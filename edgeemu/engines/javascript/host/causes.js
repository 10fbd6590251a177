// What an error tells of other errors: its cause, and those that it stands for together.

const DEPTH_MAX = 8;
const ERRORS_MAX = 16;

/** Each as `[how, name, message, stack]`, in the order in which they are told. */
export function causesOf(thrown) {
  const found = [];
  try {
    gather(thrown, DEPTH_MAX, found);
  } catch {
    // An error that cannot be looked at tells no more.
  }
  return found;
}

function gather(thrown, depth, found) {
  if (!(thrown instanceof Error) || depth === 0) return;
  const several = thrown instanceof AggregateError ? [...thrown.errors] : [];
  const inner = several.map((error) => ["one of:", error]);
  if (Object.hasOwn(thrown, "cause")) inner.push(["caused by", thrown.cause]);
  for (const [how, error] of inner) {
    if (found.length >= ERRORS_MAX) return;
    const known = error instanceof Error;
    const parts = known ? [error.name, error.message, error.stack ?? ""] : ["", error, ""];
    found.push([how, ...parts.map((part) => String(part).toWellFormed())]);
    gather(error, depth - 1, found);
  }
}
