// Input until the terminal has acknowledged it: numbered once, sent again unchanged over a new socket or a new
// session, so that nothing typed is lost or doubled. Pure: who keeps it over a reload is not its business.

/** Waiting input above this is refused: a server that is away for long must not eat the page's memory. */
const WAITING_CHARS_MAX = 32 << 20;
/** Most input in one frame, decoded; the server takes 64 KiB. */
const INPUT_BYTES_MAX = 48 << 10;

export class Outbox {
  #clientId;
  #seq;
  #waiting;
  #chars;

  /** @param stored what `stored()` of an earlier page gave, or `{clientId}` for a new one */
  constructor({ clientId, seq = 0, waiting = [] }) {
    this.#clientId = clientId;
    this.#seq = seq;
    this.#waiting = waiting;
    this.#chars = waiting.reduce((sum, frame) => sum + frame.bytes.length, 0);
  }

  /** Frames to send now for `bytes` of input; null when too much waits already. */
  push(surfaceId, bytes) {
    if (this.#chars + bytes.length * 2 > WAITING_CHARS_MAX) return null;
    const frames = [];
    for (let at = 0; at < bytes.length; at += INPUT_BYTES_MAX) {
      const text = base64(bytes.subarray(at, at + INPUT_BYTES_MAX));
      frames.push({ type: "surfaceStdin", surfaceId, bytes: text, clientId: this.#clientId, clientSeq: ++this.#seq });
      this.#chars += text.length;
    }
    this.#waiting.push(...frames);
    return frames;
  }

  /** The terminal has this frame, and with it all before it: one socket keeps the order. */
  acknowledged(surfaceId, clientSeq) {
    this.#keep((frame) => frame.surfaceId !== surfaceId || frame.clientSeq > clientSeq);
  }

  /** Only these terminals are left. */
  retain(surfaceIds) {
    this.#keep((frame) => surfaceIds.has(frame.surfaceId));
  }

  get waiting() {
    return this.#waiting;
  }

  /** For a later page; null when it is more than `chars_max`. */
  stored(charsMax) {
    if (this.#chars > charsMax) return null;
    return { clientId: this.#clientId, seq: this.#seq, waiting: this.#waiting };
  }

  #keep(keeps) {
    this.#waiting = this.#waiting.filter(keeps);
    this.#chars = this.#waiting.reduce((sum, frame) => sum + frame.bytes.length, 0);
  }
}

/** RFC 4648 section 4, with padding. */
export function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

export function fromBase64(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
  return bytes;
}
