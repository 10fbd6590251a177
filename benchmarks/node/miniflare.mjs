// `node miniflare.mjs WORKER STATE PORT`: serve the application with Miniflare, reload on change.
import { watch } from "node:fs";
import { dirname } from "node:path";
import { Miniflare } from "miniflare";

const [, , worker, state, port] = process.argv;
const options = {
  host: "127.0.0.1",
  port: Number(port),
  modules: true,
  modulesRoot: dirname(worker),
  scriptPath: worker,
  compatibilityDate: "2026-03-01",
  durableObjects: { BENCH: { className: "Bench", useSQLite: true } },
  durableObjectsPersist: state,
};
const miniflare = new Miniflare(options);
await miniflare.ready;
let changing = Promise.resolve();
let timer;
watch(dirname(worker), () => {
  clearTimeout(timer); // One save is several events, and a file may be empty between two of them.
  timer = setTimeout(() => {
    changing = changing.then(() => miniflare.setOptions(options)).catch(console.error);
  }, 10);
});
process.on("SIGTERM", () => miniflare.dispose().then(() => process.exit(0)));
