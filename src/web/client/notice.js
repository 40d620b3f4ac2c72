// What there is to say of the connection, calmly: a drop that mends itself at once is not worth a word.

const PATIENCE_MS = 700;
/** Long enough to read a line. */
const PASSING_MS = 6_000;

export class Notice {
  #show;
  #trouble = null;
  #passing = null;
  #troubleTimer = 0;
  #passingTimer = 0;

  /** @param {(text: string | null, isTrouble: boolean) => void} show */
  constructor(show) {
    this.#show = show;
  }

  /** Trouble, shown unless it is over soon; null when it is. */
  trouble(text) {
    clearTimeout(this.#troubleTimer);
    const set = () => {
      this.#trouble = text;
      this.#draw();
    };
    if (text === null || this.#trouble !== null) set();
    else this.#troubleTimer = setTimeout(set, PATIENCE_MS);
  }

  /** Something that is over as soon as it has been read. */
  say(text) {
    clearTimeout(this.#passingTimer);
    this.#passing = text;
    this.#passingTimer = setTimeout(() => {
      this.#passing = null;
      this.#draw();
    }, PASSING_MS);
    this.#draw();
  }

  #draw() {
    this.#show(this.#trouble ?? this.#passing, this.#trouble !== null);
  }
}
