// Short words over a screen's corner: what was copied, what is on its way. They go by themselves.

import { element } from "./dialog.js";

/** Long enough to read a line. */
const PASSING_MS = 4_000;
/** Long enough to find the button. */
const OFFERED_MS = 12_000;
/** More would cover the screen; the oldest goes. */
const TOASTS_MAX = 5;

export class Toasts {
  #host;

  /** @param {HTMLElement} over the corner */
  constructor(over) {
    this.#host = element("div", "", "toasts");
    this.#host.setAttribute("role", "status");
    over.append(this.#host);
  }

  /** Says it in passing; `offer` adds a button `{label, act}`. */
  say(text, offer = null) {
    const toast = this.#add(text);
    const gone = setTimeout(() => toast.remove(), offer ? OFFERED_MS : PASSING_MS);
    if (!offer) return;
    this.#button(toast, offer.label, () => {
      clearTimeout(gone);
      toast.remove();
      offer.act();
    });
  }

  /** Something under way: `at(0..1)`, then `end()`. `cancel` is called by its button. */
  progress(text, cancel) {
    const toast = this.#add(text);
    const bar = document.createElement("progress");
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", text);
    toast.append(bar);
    this.#button(toast, "Cancel", cancel);
    return { at: (share) => (bar.value = share), end: () => toast.remove() };
  }

  #add(text) {
    const toast = element("div", "", "toast");
    toast.append(element("span", text));
    this.#host.append(toast);
    if (this.#host.childElementCount > TOASTS_MAX) this.#host.firstElementChild.remove();
    return toast;
  }

  #button(toast, label, act) {
    const button = element("button", label, "button");
    button.type = "button";
    button.addEventListener("click", act);
    toast.append(button);
  }
}
