// How long to wait before the next attempt: doubling up to ten seconds, with jitter, so that many pages do
// not come back to a restarted server in lockstep.

const FIRST_MS = 250;
const LAST_MS = 10_000;

export class Backoff {
  #failures = 0;

  reset() {
    this.#failures = 0;
  }

  next() {
    const ceiling = Math.min(LAST_MS, FIRST_MS * 2 ** this.#failures++);
    return ceiling * (0.5 + Math.random() / 2);
  }
}
