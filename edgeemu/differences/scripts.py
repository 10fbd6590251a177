"""What TypeScript actors meet that is otherwise on the platform."""

from edgeemu import limits
from edgeemu.differences.rows import Difference

TYPESCRIPT: tuple[Difference, ...] = (
    Difference(
        "The JavaScript engine is not Node, though V8 too; its `node:` modules are its own",
        "Node",
        "it comes from PyPI, starts in 20 ms and can be kept from files and network",
    ),
    Difference(
        "Types are stripped and never checked, and modules are not bundled",
        "one file, bundled by esbuild",
        "a save is live at once; `tsc -p .` checks types",
    ),
    Difference(
        "`export { T } from` of a type needs `type T`, and `import x = require()` is no syntax",
        "esbuild leaves the first out, and takes the second",
        "each file is read by itself; `isolatedModules` in `tsconfig.json` says the same",
    ),
    Difference(
        "One `tsconfig.json` says how decorators and JSX of all functions are written down: that "
        "of the first function",
        "each folder's own",
        "the engine takes one for the whole process",
    ),
    Difference(
        "The module `@telnyx/edge-runtime` is built in, whatever npm has installed",
        "the installed version is bundled",
        "a project runs with no npm install; `Agent`, `mount` and the like are not in it",
    ),
    Difference(
        "Time stands still within one step, from where code goes on to where it waits next",
        "it moves",
        "a step sees one instant, so a run can be replayed",
    ),
    Difference(
        "Instances share one process and the variables of its modules; the code is loaded again "
        "only when it changes",
        "an instance has its own, and they go when it is torn down",
        "a process for each would take long; keep state in storage",
    ),
    Difference(
        "Code that runs on without waiting ends the process, so every instance in memory is made "
        "anew; the turn fails with `ActorHangError`, and nothing kept is lost",
        "the process of that one is killed",
        "JavaScript cannot be interrupted from outside without ending it",
    ),
    Difference(
        f"All instances together have {limits.SCRIPT_HEAP_BYTES_MAX >> 20} MiB of memory",
        "256 MB for each container, 512 MB at most",
        "they share one process",
    ),
    Difference(
        "`WebSocket` as a client, `EventSource`, `Worker`, `caches`, `localStorage`, and what "
        "opens a socket, a server or a process in `node:` modules fail at their first use",
        "Node's",
        "what leaves goes through the emulator, where it can be seen and made to fail: use `fetch`",
    ),
    Difference(
        "A `MessagePort` that is left open counts as code that runs: its turn ends as a hang",
        "it keeps the process alive",
        "the engine does not come to rest; close the port when you have the message",
    ),
    Difference(
        "Code that replaces `Promise`, `Map` or their methods may break later turns of all "
        "instances, until the code is loaded again",
        "those of its own process",
        "they share one process, and the emulator's part in it",
    ),
    Difference(
        "Generated keys (`crypto.subtle.generateKey`, `generateKeySync`) are random in each run, "
        "and `new File()` has the real time",
        "–",
        "the engine makes them itself",
    ),
    Difference(
        "A `call` that gives `undefined` prints nothing, `null` with `--json`, and is `None` in a "
        "test",
        "–",
        "JSON and Python have no `undefined`",
    ),
    Difference(
        "`edgeemu types` writes variables of `[env_vars]` into `Env` too, as `string`",
        "bindings only",
        "the function in front finds them on `env` here; an actor does not, as on the platform",
    ),
)
"""What follows from the engine, and from running all in one process."""
