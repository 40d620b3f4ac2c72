// The one line at the top that says what is wrong, calmly: a drop that mends itself at once is not worth
// a word.

const PATIENCE_MS = 700;
/** Long enough to read a line. */
const PASSING_MS = 6_000;

export class Notice {
  #element = document.getElementById("notice");
  #timer = 0;

  /** Shows `text` unless clear() comes soon. */
  say(text) {
    if (!this.#element.hidden) return void (this.#element.textContent = text);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.sayNow(text), PATIENCE_MS);
  }

  sayNow(text) {
    clearTimeout(this.#timer);
    this.#element.textContent = text;
    this.#element.hidden = false;
  }

  /** Something that is over as soon as it has been read. */
  sayInPassing(text) {
    this.sayNow(text);
    this.#timer = setTimeout(() => this.clear(), PASSING_MS);
  }

  clear() {
    clearTimeout(this.#timer);
    this.#element.hidden = true;
  }
}
