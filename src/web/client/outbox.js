// Client frames until the server has acknowledged them (terminal protocol, "Client frames"): numbered once,
// sent again unchanged after a reconnect, so that nothing typed is lost or doubled. They also outlive a
// reload, in sessionStorage.

import { randomId } from "./server.js";

/** Waiting text above this is refused: a server that is away for long must not eat the page's memory. */
const WAITING_CHARS_MAX = 32 << 20;
/** What a reload carries over; browsers give sessionStorage about 5 million characters. */
const STORED_CHARS_MAX = 1 << 20;
/** Longest input in one frame, well below what the server takes in one message. */
const INPUT_CHARS_MAX = 64 << 10;

export class Outbox {
  #key;
  #clientId;
  #seq = 0;
  #waiting = [];
  #chars = 0;
  #send;

  /**
   * @param {string} terminalId the terminal that the frames are for
   * @param {(text: string) => void} send puts a frame on the wire, or drops it when there is none
   */
  constructor(terminalId, send) {
    this.#key = `wharf:${terminalId}`;
    this.#send = send;
    this.#takeOver();
  }

  /** Numbers a frame and sends it. False when too much waits already. */
  push(type, body = {}) {
    const seq = this.#seq + 1;
    const text = JSON.stringify({ type, clientId: this.#clientId, clientSeq: seq, ...body });
    if (this.#chars + text.length > WAITING_CHARS_MAX) return false;
    this.#seq = seq;
    this.#chars += text.length;
    this.#waiting.push({ seq, text });
    this.#send(text);
    return true;
  }

  /** Text for the program; `claim` is false for a reply that the terminal itself makes. */
  input(data, claim = true) {
    let taken = true;
    for (let at = 0; at < data.length && taken; ) {
      let end = Math.min(at + INPUT_CHARS_MAX, data.length);
      // Not between the halves of a surrogate pair: each frame is UTF-8 of its own.
      if (end < data.length && /[\uD800-\uDBFF]/.test(data[end - 1])) end -= 1;
      taken = this.push("input", { data: data.slice(at, end), ...(claim ? {} : { claim: false }) });
      at = end;
    }
    return taken;
  }

  /** The server has this frame, and with it all before it: one socket keeps the order. */
  acknowledged(seq) {
    while (this.#waiting.length > 0 && this.#waiting[0].seq <= seq) {
      this.#chars -= this.#waiting.shift().text.length;
    }
  }

  sendAgain() {
    for (const frame of this.#waiting) this.#send(frame.text);
  }

  /** Takes over what the page before a reload left. */
  #takeOver() {
    const stored = sessionStorage.getItem(this.#key);
    this.forget();
    const left = stored && JSON.parse(stored);
    this.#clientId = left?.clientId ?? `web-${randomId(16)}`;
    this.#seq = left?.seq ?? 0;
    this.#waiting = left?.waiting ?? [];
    this.#chars = this.#waiting.reduce((sum, frame) => sum + frame.text.length, 0);
  }

  /** Writes down what a reload takes over. */
  store() {
    if (this.#chars > STORED_CHARS_MAX) return;
    const left = { clientId: this.#clientId, seq: this.#seq, waiting: this.#waiting };
    sessionStorage.setItem(this.#key, JSON.stringify(left));
  }

  forget() {
    sessionStorage.removeItem(this.#key);
  }
}
