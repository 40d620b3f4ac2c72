// The keys that a phone's keyboard lacks. Ctrl sticks until the next key.

const KEYS = [
  ["Esc", "\x1b"], ["Tab", "\t"], ["Ctrl"], ["←", "D"], ["↓", "B"], ["↑", "A"], ["→", "C"],
  ["|", "|"], ["~", "~"], ["/", "/"], ["Paste"],
];
const NAMES = { "←": "Left", "↓": "Down", "↑": "Up", "→": "Right" };

export class Keys {
  #ctrl;
  #screen;
  #type;

  /**
   * @param {HTMLElement} bar where the keys go
   * @param screen the Screen that has the modes and takes pastes
   * @param {(data: string) => void} type
   */
  constructor(bar, screen, type) {
    this.#screen = screen;
    this.#type = type;
    for (const [label, code] of KEYS) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.setAttribute("aria-label", NAMES[label] ?? label);
      // The text field keeps the focus, and so the phone its keyboard.
      button.addEventListener("pointerdown", (event) => event.preventDefault());
      button.addEventListener("click", () => this.#press(label, code));
      bar.append(button);
      if (label === "Ctrl") this.#ctrl = button;
    }
    this.#ctrl.setAttribute("aria-pressed", "false");
  }

  /** What a typed character becomes while Ctrl sticks. */
  apply(data) {
    if (!this.#isCtrl || data.length !== 1) return data;
    this.#setCtrl(false);
    const code = data.toUpperCase().charCodeAt(0);
    if (code >= 0x40 && code <= 0x5f) return String.fromCharCode(code & 0x1f);
    return { " ": "\0", "/": "\x1f", "?": "\x7f", "~": "\x1e", "|": "\x1c" }[data] ?? data;
  }

  get #isCtrl() {
    return this.#ctrl.getAttribute("aria-pressed") === "true";
  }

  #setCtrl(on) {
    this.#ctrl.setAttribute("aria-pressed", String(on));
  }

  async #press(label, code) {
    if (label === "Ctrl") return this.#setCtrl(!this.#isCtrl);
    if (label === "Paste") return this.#paste();
    if (!(label in NAMES)) return this.#type(this.apply(code));
    const application = this.#screen.term.modes.applicationCursorKeysMode;
    this.#type(this.#isCtrl ? `\x1b[1;5${code}` : `\x1b${application ? "O" : "["}${code}`);
    this.#setCtrl(false);
  }

  async #paste() {
    try {
      this.#screen.paste(await navigator.clipboard.readText());
    } catch {
      // Refused, or plain HTTP, where a page has no clipboard: the browser's own paste into a field works.
      this.#pasteByHand();
    }
  }

  #pasteByHand() {
    const dialog = document.createElement("dialog");
    dialog.className = "paste";
    dialog.innerHTML = `<form method="dialog"><label>Paste here <textarea rows="4" autocapitalize="off" spellcheck="false"></textarea></label>
      <button class="button" value="">Cancel</button> <button class="button primary" value="send">Send</button></form>`;
    dialog.addEventListener("close", () => {
      const text = dialog.querySelector("textarea").value;
      dialog.remove();
      if (dialog.returnValue === "send" && text) this.#screen.paste(text);
      this.#screen.focus();
    });
    document.body.append(dialog);
    dialog.showModal();
  }
}
