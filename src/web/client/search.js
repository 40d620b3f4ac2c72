// Finds text in a terminal and its scrollback. The bar lies over the screen's corner; the finding itself is
// loaded when it is first opened.

import { h } from "./dom.js";

/** Matches that are marked and counted. */
const COUNTED_MAX = 1000;
const COLORS = {
  dark: { matchBackground: "#4d4116", activeMatchBackground: "#8a5f00", activeMatchBorder: "#f0c14b" },
  light: { matchBackground: "#f6e3a1", activeMatchBackground: "#f0b429", activeMatchBorder: "#7a4d00" },
};

export class Search {
  #screen;
  #bar;
  #input;
  #count;
  #addon = null;
  #matchCase = false;

  constructor(screen) {
    this.#screen = screen;
    this.#bar = h("form", { class: "search", role: "search", hidden: true });
    this.#input = h("input", {
      type: "text", placeholder: "Find", "aria-label": "Find in the terminal", enterkeyhint: "search",
      autocomplete: "off", autocapitalize: "off", autocorrect: "off", spellcheck: "false",
    });
    this.#count = h("span", { class: "search-count", role: "status" });
    const matchCase = this.#button("Aa", "Match case", () => {
      this.#matchCase = !this.#matchCase;
      matchCase.setAttribute("aria-pressed", String(this.#matchCase));
      // The addon keeps what it found until the text is another.
      this.#addon?.clearDecorations();
      this.#find("previous", true);
    });
    matchCase.setAttribute("aria-pressed", "false");
    this.#bar.append(
      this.#input, this.#count, matchCase,
      this.#button("↑", "Previous match (Enter)", () => this.#find("previous")),
      this.#button("↓", "Next match (Shift+Enter)", () => this.#find("next")),
      this.#button("✕", "Close (Esc)", () => this.close()),
    );
    this.#input.addEventListener("input", () => this.#find("previous", true));
    this.#bar.addEventListener("submit", (event) => event.preventDefault());
    this.#bar.addEventListener("keydown", (event) => this.#key(event));
    screen.over.prepend(this.#bar);
  }

  async open() {
    this.#bar.hidden = false;
    const selected = this.#screen.term.getSelection();
    if (selected && !/[\r\n]/.test(selected)) this.#input.value = selected;
    this.#input.focus();
    this.#input.select();
    if (!this.#addon) {
      const loaded = await import("./vendor/search.mjs").catch(() => null);
      if (!loaded) {
        this.close();
        return this.#screen.say("The search could not be loaded: there is no connection.");
      }
      if (this.#addon) return;
      this.#addon = new loaded.SearchAddon({ highlightLimit: COUNTED_MAX });
      this.#screen.term.loadAddon(this.#addon);
      this.#addon.onDidChangeResults((found) => this.#showCount(found));
    }
    this.#find("previous", true);
  }

  close() {
    this.#bar.hidden = true;
    this.#addon?.clearDecorations();
    this.#screen.term.clearSelection();
    this.#screen.focus();
  }

  #key(event) {
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && event.target === this.#input) this.#find(event.shiftKey ? "next" : "previous");
    else if (event.key === "F3") this.#find(event.shiftKey ? "previous" : "next");
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #find(direction, incremental = false) {
    if (!this.#addon) return;
    const text = this.#input.value;
    if (text === "") {
      this.#addon.clearDecorations();
      this.#screen.term.clearSelection();
      this.#count.textContent = "";
      return;
    }
    const colors = COLORS[this.#screen.isDark ? "dark" : "light"];
    const decorations = { ...colors, matchOverviewRuler: colors.matchBackground, activeMatchColorOverviewRuler: colors.activeMatchBackground };
    const options = { caseSensitive: this.#matchCase, incremental, decorations };
    if (direction === "next") this.#addon.findNext(text, options);
    else this.#addon.findPrevious(text, options);
  }

  #showCount({ resultIndex, resultCount }) {
    const total = resultCount >= COUNTED_MAX ? `${COUNTED_MAX}+` : resultCount;
    this.#count.textContent =
      this.#input.value === "" ? "" :
      resultCount === 0 ? "None" :
      resultIndex < 0 ? `${total}` : `${resultIndex + 1} of ${total}`;
  }

  #button(text, label, act) {
    return h("button", { type: "button", class: "button quiet", title: label, "aria-label": label.replace(/ \(.*/, ""), text, onclick: act });
  }
}
