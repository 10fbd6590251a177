// The name that somebody may have meant.

const MISSPELT_MAX = 2;

/** The known name that is nearly the one given, such as `setDown` for `set_down`. */
export function nearest(name, known) {
  const wanted = folded(name);
  let best;
  let least = Math.min(MISSPELT_MAX, Math.floor(wanted.length / 3)) + 1;
  for (const each of [...known].sort()) {
    const steps = distance(wanted, folded(each));
    if (steps < least) [best, least] = [each, steps];
  }
  return best;
}

function folded(name) {
  return name.replaceAll("_", "").toLowerCase();
}

/** How many characters must be put in, taken out or replaced. */
function distance(from, to) {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const here = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const replaced = above[column - 1] + (same ? 0 : 1);
      here.push(Math.min(replaced, above[column] + 1, here[column - 1] + 1));
    }
    above = here;
  }
  return above[to.length];
}
