// What a person can do here, each with its name and its keys: one list for the keyboard, the palette, the cheat
// sheet and the menus. Only Ctrl+Shift and Alt+Shift are used (Cmd+Shift and Option+Shift on a Mac), since all
// other keys belong to the programs in the terminals.

const isMac = /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? "");

export class Commands {
  #commands = new Map();

  /** @param command {id, title, group, keys?, run(), enabled?()}; `keys` such as "Ctrl+Shift+P", "Alt+Shift+ArrowLeft" */
  add(command) {
    this.#commands.set(command.id, command);
  }

  get all() {
    return [...this.#commands.values()];
  }

  get(id) {
    return this.#commands.get(id);
  }

  run(id) {
    const command = this.#commands.get(id);
    if (command && (command.enabled?.() ?? true)) command.run();
  }

  /** Takes the keys of commands before a terminal sees them. */
  listen(target) {
    target.addEventListener("keydown", (event) => {
      if (!event.shiftKey || event.isComposing || document.querySelector("dialog[open]")) return;
      const command = this.all.find((command) => command.keys && matches(command.keys, event));
      if (!command) return;
      event.preventDefault();
      event.stopPropagation();
      if (!event.repeat || command.repeats) this.run(command.id);
    }, { capture: true });
  }
}

/** Whether a keydown is these keys. Letters go by what is typed, so that each layout has them where it says; but
 *  Option on a Mac types other characters, and then the place of the key counts. */
export function matches(keys, event, mac = isMac) {
  const parts = keys.split("+");
  const key = parts.pop();
  const wants = (name) => parts.includes(name);
  const primary = mac ? event.metaKey : event.ctrlKey;
  const other = mac ? event.ctrlKey : event.metaKey;
  if (other || primary !== wants("Ctrl") || event.altKey !== wants("Alt") || event.shiftKey !== wants("Shift")) return false;
  if (key.length > 1 && !CODES[key]) return event.key === key;
  const typed = event.key.toUpperCase();
  if (/^[A-Z]$/.test(key) && /^[A-Z]$/.test(typed)) return typed === key;
  return event.code === (CODES[key] ?? `Key${key}`);
}

const CODES = { Plus: "Equal", Minus: "Minus", "[": "BracketLeft", "]": "BracketRight", "/": "Slash" };
const NAMES = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Plus: "+", Minus: "−" };
const MAC = { Ctrl: "⌘", Alt: "⌥", Shift: "⇧" };

/** The caps of the keys, as they are written on this machine. */
export function caps(keys, mac = isMac) {
  return keys.split("+").map((part) => (mac && MAC[part]) || NAMES[part] || part);
}

/** The same as one text, for tooltips. */
export function spoken(keys, mac = isMac) {
  return caps(keys, mac).join(mac ? "" : "+");
}
