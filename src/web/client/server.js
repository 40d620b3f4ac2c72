// Where the server is, and its HTTP API. The base path is whatever stands before this page's own path,
// so the page works behind any prefix.

const page = location.pathname;
const terminalPage = /^(.*\/)t\/([^/]+)$/.exec(page);

/** Base path with its slash at the end. */
export const base = terminalPage ? terminalPage[1] : page.slice(0, page.lastIndexOf("/") + 1);

/** The session that this page shows; null on other pages. */
export const sessionId = terminalPage ? decoded(terminalPage[2]) : null;

export class ApiError extends Error {
  /** @param {number} status of the answer; 0 when the server could not be reached */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Calls the API; the answer's JSON, or an ApiError. */
export async function call(method, path, body, headers = {}) {
  let response;
  try {
    response = await fetch(base + path, {
      method,
      headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      redirect: "error",
    });
  } catch {
    throw new ApiError(0, "The server cannot be reached.");
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, answer?.error ?? `The server answered ${response.status}.`);
  return answer;
}

export async function listTerminals() {
  return (await call("GET", "v1/terminals")).terminals;
}

/** The session's live terminal, made when there is none. */
export function createTerminal(session, { cols, rows }) {
  return call("POST", "v1/terminals", { sessionId: session, cwd: "~", cols, rows });
}

export function terminalUrl(session) {
  return `${base}t/${encodeURIComponent(session)}`;
}

/** `path` on this server as a websocket URL. */
export function socketUrl(path) {
  const url = new URL(path, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  return url;
}

/** `bytes` random bytes in hex. (crypto.randomUUID is missing on plain HTTP.) */
export function randomId(bytes) {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (b) => b.toString(16).padStart(2, "0")).join("");
}

function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
