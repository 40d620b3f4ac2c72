// The keys that a phone's keyboard lacks, in a bar that is swiped sideways. Ctrl and Alt stick until the next key;
// arrows repeat while they are held.

import { question } from "./dialog.js";
import { h } from "./dom.js";

/** Label, what it is called, and what it does: text to type, `{csi}` for keys that take modifiers, or a name. */
const KEYS = [
  ["Esc", "Escape", "\x1b"], ["Tab", "Tab", "\t"], ["Ctrl", "Ctrl", { sticky: "ctrl" }], ["Alt", "Alt", { sticky: "alt" }],
  ["←", "Left", { csi: "D" }], ["↓", "Down", { csi: "B" }], ["↑", "Up", { csi: "A" }], ["→", "Right", { csi: "C" }],
  ["|", "|", "|"], ["~", "~", "~"], ["/", "/", "/"], ["Paste", "Paste", { act: "paste" }],
  ["^C", "Interrupt", "\x03"], ["^D", "End of input", "\x04"], ["^Z", "Suspend", "\x1a"], ["^R", "Search history", "\x12"],
  ["-", "-", "-"], ["_", "_", "_"], ["\\", "Backslash", "\\"], ["`", "Backtick", "`"], ["$", "$", "$"], ["&", "&", "&"], ["*", "*", "*"],
  ["{", "{", "{"], ["}", "}", "}"], ["[", "[", "["], ["]", "]", "]"], ["<", "<", "<"], [">", ">", ">"],
  ["⇤", "Home", { csi: "H" }], ["⇥", "End", { csi: "F" }], ["⇞", "Page up", { tilde: 5 }], ["⇟", "Page down", { tilde: 6 }],
  ["Del", "Delete", { tilde: 3 }], ["⇧Tab", "Shift Tab", "\x1b[Z"],
];
const REPEAT_AFTER_MS = 400;
const REPEAT_EVERY_MS = 60;
/** A finger that moves further swipes the bar, in CSS pixels. */
const SWIPE_PX = 10;

export class Keys {
  #sticky = {};
  #screen;
  #type;
  #repeat = 0;

  /**
   * @param {HTMLElement} bar where the keys go
   * @param screen the Screen that has the modes and takes pastes
   * @param {(data: string) => void} type
   */
  constructor(bar, screen, type) {
    this.#screen = screen;
    this.#type = type;
    for (const [label, name, does] of KEYS) {
      const button = h("button", { type: "button", "aria-label": name, "aria-pressed": does.sticky ? "false" : null, text: label });
      if (does.sticky) this.#sticky[does.sticky] = button;
      if (does.csi || does.tilde) this.#repeatWhileHeld(button, does);
      // The text field keeps the focus, and so the phone its keyboard.
      button.addEventListener("pointerdown", (event) => event.preventDefault());
      button.addEventListener("click", () => this.#press(does));
      bar.append(button);
    }
  }

  /** What a typed character becomes while Ctrl or Alt sticks. */
  apply(data) {
    if (Array.from(data).length !== 1) return data;
    const { ctrl, alt } = this.#take();
    const key = ctrl ? controlled(data) : data;
    return alt ? `\x1b${key}` : key;
  }

  #isOn(name) {
    return this.#sticky[name].getAttribute("aria-pressed") === "true";
  }

  /** What sticks now; it does no longer. */
  #take() {
    const held = { ctrl: this.#isOn("ctrl"), alt: this.#isOn("alt") };
    for (const button of Object.values(this.#sticky)) button.setAttribute("aria-pressed", "false");
    return held;
  }

  #press(does) {
    if (does.sticky) return this.#sticky[does.sticky].setAttribute("aria-pressed", String(!this.#isOn(does.sticky)));
    if (does.act === "paste") return pasteFromClipboard(this.#screen);
    if (typeof does === "string") return this.#type(this.apply(does));
    const { ctrl, alt } = this.#take();
    // As xterm counts modifiers: 1, and 2 for Alt, 4 for Ctrl.
    const modifiers = 1 + (alt ? 2 : 0) + (ctrl ? 4 : 0);
    if (does.tilde) return this.#type(modifiers > 1 ? `\x1b[${does.tilde};${modifiers}~` : `\x1b[${does.tilde}~`);
    const application = this.#screen.term?.modes.applicationCursorKeysMode;
    this.#type(modifiers > 1 ? `\x1b[1;${modifiers}${does.csi}` : `\x1b${application ? "O" : "["}${does.csi}`);
  }

  #repeatWhileHeld(button, does) {
    let from = 0;
    const end = () => {
      clearTimeout(this.#repeat);
      clearInterval(this.#repeat);
    };
    button.addEventListener("pointerdown", ({ clientX }) => {
      end();
      from = clientX;
      this.#repeat = setTimeout(() => (this.#repeat = setInterval(() => this.#press(does), REPEAT_EVERY_MS)), REPEAT_AFTER_MS);
    });
    button.addEventListener("pointermove", ({ clientX }) => Math.abs(clientX - from) > SWIPE_PX && end());
    for (const type of ["pointerup", "pointercancel", "pointerleave"]) button.addEventListener(type, end);
    button.addEventListener("contextmenu", (event) => event.preventDefault());
  }
}

/** What a terminal sends for Ctrl with that character. */
function controlled(data) {
  const code = data.toUpperCase().charCodeAt(0);
  if (code >= 0x40 && code <= 0x5f) return String.fromCharCode(code & 0x1f);
  return { " ": "\0", "/": "\x1f", "?": "\x7f", "~": "\x1e", "|": "\x1c" }[data] ?? data;
}

/** Pastes what is on the clipboard; where a page may not read it, by the browser's own paste into a field. */
export async function pasteFromClipboard(screen) {
  try {
    await screen.paste(await navigator.clipboard.readText());
  } catch {
    pasteByHand(screen);
  }
}

async function pasteByHand(screen) {
  const field = h("textarea", { rows: "4", autocapitalize: "off", spellcheck: "false", autofocus: true });
  if (await question({ title: "Paste", yes: "Send" }, h("label", {}, "Paste here", field))) screen.paste(field.value);
  screen.focus();
}
