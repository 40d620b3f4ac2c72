// The mirror's socket, kept alive: resumes where it was, backs off with jitter, measures the round trip. It knows
// frames and time, no terminal.

import { Backoff } from "../backoff.js";
import { ApiError, base, call, randomId, socketUrl } from "../server.js";
import { Session } from "./session.js";

/** How often the round trip is measured while the page is seen. */
const PING_MS = 5_000;
/** A server silent for this long after a ping is given up. */
const SILENCE_MS = 12_000;
/** From the upgrade to the first frame. */
const ATTACH_MS = 10_000;
/** Close code of a server that goes away. */
const GOING_AWAY = 1001;
/** Close code of a refusal, also when another socket resumed this session. */
const POLICY = 1008;

export class MirrorLink {
  #tell;
  #session = new Session();
  #socket = null;
  #open = false;
  #backoff = new Backoff();
  #timers = { retry: 0, ping: 0, silence: 0, attach: 0 };
  #held = false;
  #pinged = { nonce: null, at: 0 };
  #latency = null;

  /**
   * @param tell frame(frame, {history}), open({fresh}), down({restarting, error}), refused(error), latency(ms)
   */
  constructor(tell) {
    this.#tell = tell;
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return;
      this.hurry();
      this.#ping();
    });
  }

  /** What is sent now arrives, unless the connection drops. */
  get isOpen() {
    return this.#open;
  }

  /** False when there is no connection. */
  send(frame) {
    if (this.#open) this.#socket.send(JSON.stringify(frame));
    return this.#open;
  }

  /** Stops reading: a browser cannot slow a socket, so it is closed until resume() goes on from here. */
  hold() {
    this.#held = true;
    this.#drop();
  }

  resume() {
    if (!this.#held) return;
    this.#held = false;
    this.connect();
  }

  /** Tries now instead of at the end of the wait. */
  hurry() {
    if (this.#socket || this.#held || this.#timers.retry === 0) return;
    this.connect();
  }

  connect() {
    clearTimeout(this.#timers.retry);
    this.#timers.retry = 0;
    const url = socketUrl(`${base}ws`);
    for (const [name, value] of Object.entries(this.#session.query())) url.searchParams.set(name, value);
    const socket = new WebSocket(url);
    this.#socket = socket;
    this.#timers.attach = setTimeout(() => this.#lost({}), ATTACH_MS);
    socket.onopen = () => {
      const nonce = this.#ping();
      this.#session.opened(nonce);
    };
    socket.onmessage = (event) => this.#received(JSON.parse(event.data));
    socket.onclose = (event) => this.#lost({ code: event.code });
  }

  #received(frame) {
    this.#heard();
    const { kind, history } = this.#session.take(frame);
    if (kind === "gap") return this.#lost({});
    const isFirst = !this.#open;
    if (isFirst) {
      clearTimeout(this.#timers.attach);
      this.#open = true;
      this.#backoff.reset();
    }
    const fresh = kind === "fresh";
    if (fresh) this.#tell.frame(frame, { history });
    if (isFirst || fresh) this.#tell.open({ fresh });
    if (frame.type === "pong" && frame.nonce === this.#pinged.nonce) {
      const took = performance.now() - this.#pinged.at;
      this.#latency = this.#latency === null ? took : this.#latency + (took - this.#latency) / 4;
      this.#tell.latency(this.#latency);
    }
    if (!fresh) this.#tell.frame(frame, { history });
  }

  #ping() {
    clearTimeout(this.#timers.ping);
    if (this.#socket?.readyState !== WebSocket.OPEN) return null;
    this.#pinged = { nonce: randomId(4), at: performance.now() };
    this.#socket.send(JSON.stringify({ type: "ping", nonce: this.#pinged.nonce }));
    this.#timers.silence ||= setTimeout(() => this.#lost({}), SILENCE_MS);
    this.#timers.ping = setTimeout(() => document.hidden || this.#ping(), PING_MS);
    return this.#pinged.nonce;
  }

  #heard() {
    clearTimeout(this.#timers.silence);
    this.#timers.silence = 0;
  }

  #drop() {
    const socket = this.#socket;
    this.#socket = null;
    this.#open = false;
    this.#latency = null;
    this.#heard();
    clearTimeout(this.#timers.ping);
    clearTimeout(this.#timers.attach);
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  async #lost({ code }) {
    const attached = this.#open;
    this.#drop();
    if (code === POLICY) this.#session.forget();
    let error = null;
    if (!attached) {
      // A browser does not say why an upgrade failed; a plain request does.
      error = await call("GET", "v1/settings").then(() => null, (error) => error);
      if (this.#held || this.#socket) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) return this.#tell.refused(error);
    }
    this.#tell.down({ restarting: code === GOING_AWAY, error });
    this.#timers.retry = setTimeout(() => this.connect(), attached ? this.#backoff.next() / 4 : this.#backoff.next());
  }
}
