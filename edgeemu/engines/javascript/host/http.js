// Requests and responses as plain data, which is what crosses to the emulator: bodies in base64.

/** A request as the emulator takes it. */
export async function plainRequest(input, init) {
  const request = input instanceof Request && init === undefined ? input : new Request(input, init);
  const body = request.body === null ? "" : new Uint8Array(await request.arrayBuffer()).toBase64();
  return [request.method, request.url, [...request.headers], body];
}

/** A request as actor code sees it. */
export function richRequest([method, url, headers, body]) {
  const bodied = method !== "GET" && method !== "HEAD" && body !== "";
  const init = { method, headers: kept(headers) };
  if (bodied) init.body = Uint8Array.fromBase64(body);
  return new Request(url, init);
}

/** A response as the emulator takes it. */
export async function plainResponse(response) {
  if (!(response instanceof Response)) {
    const kind = response === null ? "null" : response?.constructor?.name ?? typeof response;
    throw new TypeError(
      `fetch must return a Response, not ${kind}; for JSON return Response.json(value)`,
    );
  }
  const upgrade = upgrades.get(response) ?? null;
  if (upgrade !== null) return [101, [...response.headers], "", upgrade];
  const body = response.body === null ? "" : new Uint8Array(await response.arrayBuffer());
  return [response.status, [...response.headers], body === "" ? "" : body.toBase64(), null];
}

const NO_BODY = new Set([101, 204, 205, 304]);
const upgrades = new WeakMap();

/** A response as actor code sees it. */
export function richResponse([status, headers, body, upgrade]) {
  if (upgrade !== null) {
    const response = new Response(null, { headers: kept(headers) });
    Object.defineProperty(response, "status", { value: 101 });
    upgrades.set(response, upgrade);
    return response;
  }
  const bytes = NO_BODY.has(status) ? null : Uint8Array.fromBase64(body);
  return new Response(bytes, { status, headers: kept(headers) });
}

function kept(pairs) {
  const headers = new Headers();
  for (const [name, value] of pairs) headers.append(name, value);
  return headers;
}
