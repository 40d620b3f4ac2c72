// Short words over a screen's corner: what was copied, what is on its way. They go by themselves.

import { h } from "./dom.js";

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
    this.#host = h("div", { class: "toasts", role: "status" });
    over.append(this.#host);
  }

  /** Says it in passing; `offer` adds a button `{label, act}`. */
  say(text, offer = null) {
    const toast = this.#add(text);
    toast.timer = setTimeout(() => toast.remove(), offer ? OFFERED_MS : PASSING_MS);
    if (offer) toast.append(button(offer.label, () => (this.#remove(toast), offer.act())));
  }

  /** Something under way: `at(0..1)`, then `end()`. `cancel` is called by its button. */
  progress(text, cancel) {
    const toast = this.#add(text);
    const bar = h("progress", { max: "1", value: "0", "aria-label": text });
    toast.append(bar, button("Cancel", cancel));
    return { at: (share) => (bar.value = share), end: () => toast.remove() };
  }

  #add(text) {
    const toast = h("div", { class: "toast" }, h("span", { text }));
    this.#host.append(toast);
    if (this.#host.childElementCount > TOASTS_MAX) this.#remove(this.#host.firstElementChild);
    return toast;
  }

  // A program may say more in a second than its timers would let go.
  #remove(toast) {
    clearTimeout(toast.timer);
    toast.remove();
  }
}

function button(label, act) {
  return h("button", { type: "button", class: "button", text: label, onclick: act });
}
