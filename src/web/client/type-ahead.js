// What is typed while a terminal is being started, kept for that one.

/** Most text that waits. */
const EARLY_CHARS_MAX = 64 << 10;
/** What a pointer or the focus makes a terminal send is not for another one. */
const MOUSE_OR_FOCUS = /^\x1b\[(?:[<M]|[IO]$)/;

export class TypeAhead {
  #text = null;

  /** A terminal is being started (still, or once more). */
  begin() {
    this.#text ??= "";
  }

  get isOn() {
    return this.#text !== null;
  }

  /** Keeps it; false when too much waits already. */
  keep(data) {
    if (MOUSE_OR_FOCUS.test(data)) return true;
    if (this.#text.length + data.length > EARLY_CHARS_MAX) return false;
    this.#text += data;
    return true;
  }

  /** Ends it: what was kept. */
  take() {
    const text = this.#text ?? "";
    this.#text = null;
    return text;
  }
}
