// One terminal's socket: protocol 2, reconnecting from where it was. It knows no screen.

import { KeptSocket } from "./kept-socket.js";
import { socketUrl } from "./server.js";

const OUTPUT = 1;
const RESET = 2;

/**
 * What the link tells its owner, besides what a KeptSocket does:
 *   output(bytes, {seq, reset, history})   bytes of the stream, in order
 *   open()                                 after `ready`: everything may be sent
 *   control(frame)                         size, ack, exit, error
 */
export class Link extends KeptSocket {
  #path;
  #cursor;
  #head = 0;

  /** @param {number} cursor the last output that the page has: 0 for none */
  constructor(websocketPath, cursor, tell) {
    super(`v1/terminals/${websocketPath.split("/").at(-2)}`, tell);
    this.#path = websocketPath;
    this.#cursor = cursor;
    this.connect();
  }

  get url() {
    const url = socketUrl(this.#path);
    url.searchParams.set("protocol", "2");
    url.searchParams.set("lastOutputSeq", String(this.#cursor));
    return url;
  }

  received(data) {
    if (typeof data !== "string") return this.#output(data);
    const frame = JSON.parse(data);
    if (frame.type === "ready") {
      this.#head = frame.head;
      this.attached();
      this.tell.open();
      this.sendPing();
    } else if (frame.type === "pong") {
      this.measured(performance.now() - frame.t);
    } else {
      if (frame.type === "exit") this.#cursor = frame.seq;
      this.tell.control(frame);
    }
  }

  ping() {
    return { t: performance.now(), ...(this.srtt === null ? {} : { srtt: this.srtt }) };
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
    if (old > 0) this.tell.output(bytes.subarray(0, old), { reset, history: true });
    if (live > 0) this.tell.output(bytes.subarray(old), { reset, history: false });
  }
}
