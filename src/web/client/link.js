// One terminal's socket, kept alive: protocol 2, reconnecting from where it was, measuring the round trip.
// It knows frames and time, no screen.

import { Backoff } from "./backoff.js";
import { ApiError, call, socketUrl } from "./server.js";

const OUTPUT = 1;
const RESET = 2;

/** How often the round trip is measured while the page is seen: sooner at first, when a page is busy starting. */
const PING_MS = 5_000;
const PING_FIRST_MS = 700;
const PINGS_FIRST = 4;
/** A server silent for this long after a ping is given up. */
const SILENCE_MS = 12_000;
/** The whole attach, from the upgrade to `ready`. */
const ATTACH_MS = 10_000;
/** Close code of a server that goes away. */
const GOING_AWAY = 1001;

/**
 * What the link tells its owner:
 *   output(bytes, {seq, reset, history})   bytes of the stream, in order
 *   open()                                 after `ready`: everything may be sent
 *   control(frame)                         size, ack, exit, error
 *   down({restarting, error})              the socket is gone; the link tries again by itself
 *   refused(error)                         401, 404 ...: trying again is useless
 *   latency(ms)                            the round trip, smoothed
 */
export class Link {
  #path;
  #tell;
  #socket = null;
  #ready = false;
  #cursor = 0;
  #head = 0;
  #srtt = null;
  #backoff = new Backoff();
  #timers = { retry: 0, ping: 0, silence: 0, attach: 0 };
  #pings = 0;
  #held = false;
  #ended = false;

  /** @param {number} cursor the last output that the page has: 0 for none */
  constructor(websocketPath, cursor, tell) {
    this.#path = websocketPath;
    this.#cursor = cursor;
    this.#tell = tell;
    this.hurry = this.hurry.bind(this);
    this.onVisibility = this.onVisibility.bind(this);
    addEventListener("online", this.hurry);
    document.addEventListener("visibilitychange", this.onVisibility);
    this.#connect();
  }

  /** Attached: what is sent now arrives, unless the connection drops. */
  get isOpen() {
    return this.#ready;
  }

  send(text) {
    if (this.#ready) this.#socket.send(text);
  }

  /** Stops reading: a browser cannot slow a socket, so it is closed until resume() takes up the cursor. */
  hold() {
    this.#held = true;
    this.#drop();
  }

  resume() {
    if (!this.#held) return;
    this.#held = false;
    this.#connect();
  }

  end() {
    this.#ended = true;
    removeEventListener("online", this.hurry);
    document.removeEventListener("visibilitychange", this.onVisibility);
    clearTimeout(this.#timers.retry);
    this.#drop();
  }

  /** Tries now instead of at the end of the wait. */
  hurry() {
    if (this.#socket || this.#held || this.#ended) return;
    clearTimeout(this.#timers.retry);
    this.#connect();
  }

  onVisibility() {
    if (document.hidden) return;
    this.hurry();
    this.#ping();
  }

  #connect() {
    const url = socketUrl(this.#path);
    url.searchParams.set("protocol", "2");
    url.searchParams.set("lastOutputSeq", String(this.#cursor));
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    this.#timers.attach = setTimeout(() => this.#lost({}), ATTACH_MS);
    socket.onmessage = (event) => this.#received(event.data);
    socket.onclose = (event) => this.#lost({ code: event.code });
  }

  #received(data) {
    this.#heard();
    if (typeof data !== "string") return this.#output(data);
    const frame = JSON.parse(data);
    if (frame.type === "ready") {
      clearTimeout(this.#timers.attach);
      this.#head = frame.head;
      this.#ready = true;
      this.#backoff.reset();
      this.#tell.open();
      this.#ping();
    } else if (frame.type === "pong") {
      const took = performance.now() - frame.t;
      // A busy page makes some answers look late, none early.
      const gain = took < this.#srtt ? 1 / 2 : 1 / 8;
      this.#srtt = this.#srtt === null ? took : this.#srtt + (took - this.#srtt) * gain;
      this.#tell.latency?.(this.#srtt);
    } else {
      if (frame.type === "exit") this.#cursor = frame.seq;
      this.#tell.control(frame);
    }
  }

  #output(buffer) {
    const view = new DataView(buffer);
    const reset = view.getUint8(0) === RESET;
    if (!reset && view.getUint8(0) !== OUTPUT) return;
    const seq = Number(view.getBigUint64(1));
    const bytes = new Uint8Array(buffer, 9);
    this.#cursor = seq;
    // A frame may begin as history and end live: `seq` counts bytes, so it can be cut at the head.
    const live = reset ? 0 : Math.min(bytes.length, Math.max(0, seq - this.#head));
    const old = bytes.length - live;
    if (old > 0) this.#tell.output(bytes.subarray(0, old), { reset, history: true });
    if (live > 0) this.#tell.output(bytes.subarray(old), { reset, history: false });
  }

  #ping() {
    clearTimeout(this.#timers.ping);
    if (!this.#ready || document.hidden) return;
    const ping = { type: "ping", t: performance.now(), ...(this.#srtt === null ? {} : { srtt: this.#srtt }) };
    this.#socket.send(JSON.stringify(ping));
    this.#timers.silence ||= setTimeout(() => this.#lost({}), SILENCE_MS);
    this.#pings += 1;
    this.#timers.ping = setTimeout(() => this.#ping(), this.#pings < PINGS_FIRST ? PING_FIRST_MS : PING_MS);
  }

  #heard() {
    clearTimeout(this.#timers.silence);
    this.#timers.silence = 0;
  }

  #drop() {
    const socket = this.#socket;
    this.#socket = null;
    this.#ready = false;
    this.#heard();
    clearTimeout(this.#timers.ping);
    clearTimeout(this.#timers.attach);
    if (!socket) return;
    socket.onmessage = socket.onclose = null;
    socket.close();
  }

  async #lost({ code }) {
    const attached = this.#ready;
    this.#drop();
    // A browser does not say why an upgrade failed; a plain request does.
    let error = null;
    if (!attached) {
      const id = this.#path.split("/").at(-2);
      error = await call("GET", `v1/terminals/${id}`).then(() => null, (error) => error);
      if (this.#ended || this.#held || this.#socket) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) {
        this.#ended = true;
        return this.#tell.refused(error);
      }
    }
    this.#tell.down({ restarting: code === GOING_AWAY, error });
    this.#timers.retry = setTimeout(() => this.#connect(), attached ? this.#backoff.next() / 4 : this.#backoff.next());
  }
}
