// The mirror's socket: resumes its session where it was. It knows no terminal.

import { KeptSocket } from "../kept-socket.js";
import { base, randomId, socketUrl } from "../server.js";
import { Session } from "./session.js";

/** Close code of a refusal, also when another socket resumed this session. */
const POLICY = 1008;

export class MirrorLink extends KeptSocket {
  #session = new Session();
  #pinged = { nonce: null, at: 0 };

  /**
   * @param tell frame(frame, {history}), open({fresh}), and what a KeptSocket tells
   */
  constructor(tell) {
    super("v1/settings", tell);
    this.connect();
  }

  get url() {
    const url = socketUrl(`${base}ws`);
    for (const [name, value] of Object.entries(this.#session.query())) url.searchParams.set(name, value);
    return url;
  }

  /** False when there is no connection. */
  send(frame) {
    return super.send(JSON.stringify(frame));
  }

  connected() {
    this.sendPing();
    this.#session.opened(this.#pinged.nonce);
  }

  closed(code) {
    if (code === POLICY) this.#session.forget();
  }

  ping() {
    this.#pinged = { nonce: randomId(4), at: performance.now() };
    return { nonce: this.#pinged.nonce };
  }

  received(data) {
    const frame = JSON.parse(data);
    const { kind, history } = this.#session.take(frame);
    if (kind === "gap") return this.lost();
    const isFirst = !this.isOpen;
    if (isFirst) this.attached();
    const fresh = kind === "fresh";
    if (fresh) this.tell.frame(frame, { history });
    if (isFirst || fresh) this.tell.open({ fresh });
    if (frame.type === "pong" && frame.nonce === this.#pinged.nonce) this.measured(performance.now() - this.#pinged.at);
    if (!fresh) this.tell.frame(frame, { history });
  }
}
