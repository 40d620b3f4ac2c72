// Where one page is in the mirror's stream of frames: which session it has, the number of the last frame that it
// has processed, and whether what comes now is a repetition. Pure: no socket, no clock.

export class Session {
  /** `sessionId` of the last hello; null before the first one. */
  id = null;
  /** Number of the last processed frame. */
  seq = 0;
  /** Frames up to the answer to this ping may be repeated ones, whose queries were answered already. */
  #barrier = null;

  /** What goes into the query of the next connection. */
  query() {
    return this.id === null ? {} : { resume: this.id, seq: String(this.seq) };
  }

  /** A socket is open that asked for this session: its first ping has `nonce`. */
  opened(nonce) {
    this.#barrier = this.id === null ? null : nonce;
  }

  /**
   * Takes one frame. `fresh`: a hello, forget everything; `next`: process it; `gap`: it is not the one that must
   * follow, so this session is lost and the next connection begins a new one.
   * @returns {{kind: "fresh" | "next" | "gap", history: boolean}}
   */
  take(frame) {
    if (frame.type === "hello") {
      this.id = frame.sessionId;
      this.seq = frame.seq;
      this.#barrier = null;
      return { kind: "fresh", history: true };
    }
    if (this.id === null || frame.seq !== this.seq + 1) {
      this.forget();
      return { kind: "gap", history: true };
    }
    this.seq = frame.seq;
    if (frame.type === "pong" && frame.nonce === this.#barrier) this.#barrier = null;
    return { kind: "next", history: this.#barrier !== null || frame.snapshot === true };
  }

  forget() {
    this.id = null;
    this.seq = 0;
    this.#barrier = null;
  }
}
