// A websocket that is kept: attached in time, pinged while the page is seen, given up when it is silent, and tried again
// with back-off. It knows frames no more than that; the two protocols are its heirs.

import { Backoff } from "./backoff.js";
import { ApiError, call } from "./server.js";

/** How often the round trip is measured while the page is seen: sooner at first, when a page is busy starting. */
const PING_MS = 5_000;
const PING_FIRST_MS = 700;
const PINGS_FIRST = 4;
/** A server silent for this long after a ping is given up. */
const SILENCE_MS = 12_000;
/** The whole attach, from the upgrade to the protocol's first frame. */
const ATTACH_MS = 10_000;
/** Close code of a server that goes away. */
const GOING_AWAY = 1001;

/**
 * What it tells its owner, besides what its heir does:
 *   down({restarting, error})   the socket is gone; another one is tried by itself
 *   refused(error)              401, 404 ...: trying again is useless
 *   latency(ms)                 the round trip, smoothed
 *
 * An heir calls connect() once it is made, and has `url`, `received(data)`, `ping()`, which gives what goes into a ping,
 * and, if wanted, `connected()` and `closed(code)`.
 */
export class KeptSocket {
  tell;
  /** The round trip in milliseconds, smoothed; null before it was measured. */
  srtt = null;
  #probe;
  #socket = null;
  #isOpen = false;
  #isHeld = false;
  #isEnded = false;
  #pings = 0;
  #backoff = new Backoff();
  #timers = { retry: 0, ping: 0, silence: 0, attach: 0 };

  /** @param {string} probe path of a plain request that says why there is no socket */
  constructor(probe, tell) {
    this.#probe = probe;
    this.tell = tell;
    addEventListener("online", this.#hurry);
    document.addEventListener("visibilitychange", this.#onVisibility);
  }

  /** Attached: what is sent now arrives, unless the connection drops. */
  get isOpen() {
    return this.#isOpen;
  }

  /** False when there is no connection. */
  send(text) {
    if (this.#isOpen) this.#socket.send(text);
    return this.#isOpen;
  }

  /** Stops reading: a browser cannot slow a socket, so it is closed until resume() goes on from there. */
  hold() {
    this.#isHeld = true;
    this.#drop();
  }

  resume() {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.connect();
  }

  end() {
    this.#isEnded = true;
    removeEventListener("online", this.#hurry);
    document.removeEventListener("visibilitychange", this.#onVisibility);
    clearTimeout(this.#timers.retry);
    this.#drop();
  }

  connect() {
    const socket = new WebSocket(this.url);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    this.#timers.attach = setTimeout(() => this.lost(), ATTACH_MS);
    socket.onopen = () => this.connected?.();
    socket.onmessage = ({ data }) => {
      this.#heard();
      this.received(data);
    };
    socket.onclose = ({ code }) => this.lost(code);
  }

  /** The protocol's first frame has come. */
  attached() {
    clearTimeout(this.#timers.attach);
    this.#isOpen = true;
    this.#backoff.reset();
  }

  sendPing() {
    clearTimeout(this.#timers.ping);
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#socket.send(JSON.stringify({ type: "ping", ...this.ping() }));
    this.#timers.silence ||= setTimeout(() => this.lost(), SILENCE_MS);
    this.#pings += 1;
    this.#timers.ping = setTimeout(() => document.hidden || this.sendPing(), this.#pings < PINGS_FIRST ? PING_FIRST_MS : PING_MS);
  }

  /** A ping's answer took so long. */
  measured(ms) {
    // A busy page makes some answers look late, none early.
    const gain = ms < this.srtt ? 1 / 2 : 1 / 8;
    this.srtt = this.srtt === null ? ms : this.srtt + (ms - this.srtt) * gain;
    this.tell.latency(this.srtt);
  }

  /** Gives this socket up and tries another. */
  async lost(code) {
    const wasOpen = this.#isOpen;
    this.#drop();
    this.closed?.(code);
    let error = null;
    if (!wasOpen) {
      // A browser does not say why an upgrade failed; a plain request does.
      error = await call("GET", this.#probe).then(() => null, (error) => error);
      if (this.#isEnded || this.#isHeld || this.#socket) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) {
        this.end();
        return this.tell.refused(error);
      }
    }
    this.tell.down({ restarting: code === GOING_AWAY, error });
    this.#timers.retry = setTimeout(() => this.connect(), wasOpen ? this.#backoff.next() / 4 : this.#backoff.next());
  }

  /** Tries now instead of at the end of the wait. */
  #hurry = () => {
    if (this.#socket || this.#isHeld || this.#isEnded) return;
    clearTimeout(this.#timers.retry);
    this.connect();
  };

  #onVisibility = () => {
    if (document.hidden) return;
    this.#hurry();
    this.sendPing();
  };

  #heard() {
    clearTimeout(this.#timers.silence);
    this.#timers.silence = 0;
  }

  #drop() {
    const socket = this.#socket;
    this.#socket = null;
    this.#isOpen = false;
    this.#heard();
    clearTimeout(this.#timers.ping);
    clearTimeout(this.#timers.attach);
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }
}
