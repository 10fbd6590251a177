// `fetch` of actor code: it leaves through the emulator, like a request to a service.

import { plainRequest, richResponse } from "./http.js";
import { askingTurn } from "./context.js";
import { define } from "./time.js";
import { ignore } from "./primordials.js";
import { ticket } from "./turns.js";
import { post } from "./wire.js";

const REDIRECTS_MAX = 20; // of the Fetch standard
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const NOT_FOR_OTHERS = ["authorization", "cookie", "proxy-authorization"];
const realFetch = globalThis.fetch;

function failed(cause) {
  return new TypeError("fetch failed", { cause });
}

/** The promise of a value, or of the reason why a signal was aborted meanwhile. */
function unlessAborted(promise, signal) {
  if (signal.aborted) {
    ignore(promise);
    return Promise.reject(signal.reason);
  }
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    promise.finally(() => signal.removeEventListener("abort", abort)).then(resolve, reject);
  });
}

async function exchange(plain, signal) {
  const turn = askingTurn();
  const [number, promise] = ticket(turn, richResponse);
  post(["reach", turn.id, number, plain]);
  try {
    return await unlessAborted(promise, signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw failed(error);
  }
}

/** The request that follows a redirect, as the Fetch standard changes it. */
function redirected([method, url, headers, body], status, location) {
  const target = new URL(location, url);
  if (!/^https?:$/.test(target.protocol)) {
    throw failed(new Error(`a redirect to ${target.protocol}`));
  }
  const asGet = status === 303 ? method !== "HEAD" : status <= 302 && method === "POST";
  const dropped = asGet ? ["content-type", "content-length", "content-encoding"] : [];
  if (target.origin !== new URL(url).origin) dropped.push(...NOT_FOR_OTHERS);
  const kept = headers.filter(([name]) => !dropped.includes(name.toLowerCase()));
  if (target.hash === "") target.hash = new URL(url).hash;
  return [asGet ? "GET" : method, target.href, kept, asGet ? "" : body];
}

async function fetchOutside(input, init) {
  const request = new Request(input, init);
  const { signal, redirect } = request;
  signal.throwIfAborted();
  const { protocol } = new URL(request.url);
  if (protocol === "data:" || protocol === "blob:") return realFetch(request);
  if (protocol !== "http:" && protocol !== "https:") {
    throw failed(new Error(`the scheme ${protocol} is not supported`));
  }
  let plain = await unlessAborted(plainRequest(request), signal);
  for (let hops = 0; hops <= REDIRECTS_MAX; hops += 1) {
    const response = await exchange(plain, signal);
    const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
    if (location === null || redirect === "manual") return seenAt(response, plain[1], hops > 0);
    if (redirect === "error") throw failed(new Error("unexpected redirect"));
    plain = redirected(plain, response.status, location);
  }
  throw failed(new Error("redirect count exceeded"));
}

function seenAt(response, url, hopped) {
  const address = new URL(url);
  address.hash = "";
  Object.defineProperties(response, {
    url: { value: address.href, configurable: true },
    redirected: { value: hopped, configurable: true },
  });
  return response;
}

/** Take the place of the engine's own `fetch`. */
export function installFetch() {
  define(globalThis, { fetch: (input, init) => fetchOutside(input, init) });
}
