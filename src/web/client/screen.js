// xterm.js, and the two things it cannot know: which output is history, whose queries must not be answered
// again, and that the grid is the PTY's, which may be another client's size. What people do with a terminal
// besides typing (find, copy, paste, follow links, touch) has modules of its own, which are given the Screen.

import { Unicode11Addon } from "./vendor/unicode11.mjs";
import { WebLinksAddon } from "./vendor/web-links.mjs";
import { Terminal } from "./vendor/xterm.mjs";
import { Bell } from "./bell.js";
import { copy, pasteInto, serveClipboard } from "./clipboard.js";
import { linkHandler, openLink } from "./links.js";
import { wish } from "./prefs.js";
import { Search } from "./search.js";
import { darkTheme, lightTheme } from "./theme.js";
import { Toasts } from "./toast.js";
import { Touch } from "./touch.js";

const FONT = 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace';
const FONT_PX = 14;
/** Below this nobody reads; a larger grid is cropped and scrolled. */
const FONT_PX_MIN = 8;
/** Scrollback in the page; the server keeps 1,000 lines by default, live output may add to it. */
const SCROLLBACK_LINES = 5000;
/** Kept free at the right for the scroll bar, in CSS pixels. */
const SCROLL_BAR_PX = 14;
/** WCAG AA for text; programs choose colours for backgrounds that they cannot know. */
const CONTRAST_MIN = 4.5;
/** As the server accepts. */
const SIDE_MAX = 2000;

export class Screen {
  /** Bytes given to xterm.js that it has not parsed yet. */
  unparsedBytes = 0;
  /** Where what lies over the screen goes, at its top. */
  over;
  #term;
  #box;
  #unparsed = [];
  #answering = false;
  #cell = null;
  #fontPx = FONT_PX;
  #tell;
  #toasts;
  #search = null;
  #bell;
  #scheme = "system";
  #colors = null;
  #prefersDark = matchMedia("(prefers-color-scheme: dark)");
  #followScheme = () => (this.#term.options.theme = this.#theme());

  /**
   * @param {HTMLElement} box what the grid must fit into
   * @param tell typed(data), answered(data), title(text), parsed(), used(); and, if wanted: bell(), files(list) for
   * pasted ones, key(event), which gets each key first and keeps it by returning false
   */
  constructor(box, tell) {
    this.#box = box;
    this.#tell = tell;
    box.classList.add("screen-box");
    this.over = document.createElement("div");
    this.over.className = "screen-over";
    box.append(this.over);
    this.#toasts = new Toasts(this.over);
    this.#bell = new Bell(box);
    this.#term = new Terminal({
      allowProposedApi: true, // for the addons
      fontFamily: FONT,
      fontSize: FONT_PX,
      // Glyphs that are wider than their cells would cover the next one.
      rescaleOverlappingGlyphs: true,
      minimumContrastRatio: CONTRAST_MIN,
      scrollback: SCROLLBACK_LINES,
      screenReaderMode: wish("screen-reader", false),
      theme: this.#theme(),
      macOptionIsMeta: true,
      linkHandler: linkHandler(this),
    });
    this.#term.loadAddon(new Unicode11Addon());
    this.#term.unicode.activeVersion = "11";
    this.#term.loadAddon(new WebLinksAddon((_, uri) => openLink(uri, uri)));
    this.#term.open(box);
    this.#prefersDark.addEventListener("change", this.#followScheme);
    this.#useGpu();
    this.#markAnswers();
    this.#showImagesSoon();
    serveClipboard(this);
    this.#term.onData((data) => this.#said(data));
    this.#term.onBinary((data) => tell.typed(data));
    this.#term.onTitleChange((title) => tell.title(title));
    this.#term.onBell(() => this.#rang());
    this.#term.attachCustomKeyEventHandler((event) => this.#key(event));
    box.addEventListener("pointerdown", () => tell.used());
    this.#term.textarea.addEventListener("focus", () => tell.used());
    box.addEventListener("paste", (event) => this.#pasted(event), true);
    // A program that wants the mouse gets its right button too; else the browser's menu copies and pastes.
    box.addEventListener("contextmenu", (event) => {
      if (this.#term.modes.mouseTrackingMode !== "none" && !event.shiftKey) event.preventDefault();
    });
    new Touch(this);
  }

  get term() {
    return this.#term;
  }

  get box() {
    return this.#box;
  }

  /** What the grid is drawn in. */
  get grid() {
    return this.#term.element.querySelector(".xterm-screen");
  }

  /** Size of a cell as it is shown, in CSS pixels. */
  get cell() {
    const { width, height } = this.grid.getBoundingClientRect();
    return { width: width / this.#term.cols, height: height / this.#term.rows };
  }

  /** Whether the output that is being parsed was seen before: what it asks for was done then. */
  get isHistory() {
    return Boolean(this.#unparsed[0]);
  }

  get isDark() {
    return this.#scheme === "system" ? this.#prefersDark.matches : this.#scheme === "dark";
  }

  /** How it looks: `scheme` is "system", "dark" or "light", `colors` a theme of xterm.js in place of the scheme's own, or
   *  null. What is left out stays. */
  setLook({ scheme = this.#scheme, colors = this.#colors, fontPx = this.#fontPx, fontFamily = this.#term.options.fontFamily }) {
    this.#scheme = scheme;
    this.#colors = colors;
    this.#term.options.theme = this.#theme();
    if (fontFamily) this.#term.options.fontFamily = fontFamily;
    this.#fontPx = fontPx;
    this.#term.options.fontSize = fontPx;
    this.#cell = null;
    this.fitFont();
  }

  /** For people who hear the terminal: its text is kept where a screen reader finds it. */
  setScreenReader(on) {
    this.#term.options.screenReaderMode = on;
  }

  /** The grid that fits the box at the usual font size; null while the box is not shown. */
  ownGrid() {
    this.#measure();
    if (!this.#cell || this.#box.clientWidth === 0) return null;
    const side = (px, cell) => Math.min(SIDE_MAX, Math.max(2, Math.floor(px / cell)));
    return {
      cols: side(this.#box.clientWidth - SCROLL_BAR_PX, this.#cell.width),
      rows: side(this.#box.clientHeight, this.#cell.height),
    };
  }

  /** Takes the PTY's grid, after the output before it has been parsed, in a font that lets it fit. */
  setGrid({ cols, rows }) {
    this.#term.write("", () => {
      this.#term.resize(cols, rows);
      this.fitFont();
    });
  }

  fitFont() {
    this.#measure();
    if (!this.#cell) return;
    const { cols, rows } = this.#term;
    const room = Math.min(
      (this.#box.clientWidth - SCROLL_BAR_PX) / (cols * this.#cell.width),
      this.#box.clientHeight / (rows * this.#cell.height),
    );
    const px = room >= 1 ? this.#fontPx : Math.max(FONT_PX_MIN, Math.floor(this.#fontPx * room * 2) / 2);
    if (this.#term.options.fontSize !== px) this.#term.options.fontSize = px;
  }

  write(bytes, { history }) {
    this.unparsedBytes += bytes.length;
    this.#unparsed.push(history);
    this.#term.write(bytes, () => {
      this.#unparsed.shift();
      this.unparsedBytes -= bytes.length;
      this.#tell.parsed();
    });
  }

  /** An empty screen for another terminal. */
  clear() {
    this.#term.write("\x18\x1bc");
  }

  focus() {
    this.#term.focus();
  }

  end() {
    this.#prefersDark.removeEventListener("change", this.#followScheme);
    this.#term.dispose();
  }

  /** Types the text as a paste; asks first when it would press Enter in a program that cannot tell. */
  async paste(text) {
    await pasteInto(this.#term, text);
    this.focus();
  }

  /** Copies what is selected; false when nothing is. */
  copySelection() {
    const text = this.#term.getSelection();
    if (text === "") return false;
    copy(text).then((copied) => copied || this.say("The browser does not let this page copy."));
    return true;
  }

  openSearch() {
    this.#search ??= new Search(this);
    return this.#search.open();
  }

  /** Says it in the screen's corner, in passing; `offer` adds a button `{label, act}`. */
  say(text, offer) {
    this.#toasts.say(text, offer);
  }

  /** Something under way, see Toasts. */
  progress(text, cancel) {
    return this.#toasts.progress(text, cancel);
  }

  #theme() {
    return this.#colors ?? (this.isDark ? darkTheme : lightTheme);
  }

  #rang() {
    if (this.isHistory) return;
    this.#bell.ring();
    this.#tell.bell?.();
  }

  // Instead of xterm.js, which pastes whatever comes.
  #pasted(event) {
    if (this.over.contains(event.target)) return;
    event.preventDefault();
    event.stopPropagation();
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length > 0 && this.#tell.files) this.#tell.files(files);
    else this.paste(event.clipboardData?.getData("text/plain") ?? "");
  }

  // xterm.js gives keys and its replies to queries through the same event. A reply comes while a query's
  // handler runs, and these handlers run just before the built-in ones. Both are over before the browser
  // delivers another key, so a microtask ends the mark.
  #markAnswers() {
    const mark = () => {
      this.#answering = true;
      queueMicrotask(() => (this.#answering = false));
      return false;
    };
    const { parser } = this.#term;
    for (const id of [
      { final: "c" }, { prefix: ">", final: "c" }, { prefix: "=", final: "c" }, // device attributes
      { final: "n" }, { prefix: "?", final: "n" }, // status, cursor position
      { intermediates: "$", final: "p" }, { prefix: "?", intermediates: "$", final: "p" }, // modes
      { prefix: ">", final: "q" }, { final: "t" }, { prefix: "?", final: "S" }, // version, window, graphics
    ]) parser.registerCsiHandler(id, mark);
    for (const id of [4, 10, 11, 12]) parser.registerOscHandler(id, mark); // colours
    for (const id of [{ intermediates: "$", final: "q" }, { intermediates: "+", final: "q" }]) {
      parser.registerDcsHandler(id, mark); // settings, capabilities
    }
  }

  #said(data) {
    const isFocusReport = data === "\x1b[I" || data === "\x1b[O";
    if (!this.#answering && !isFocusReport) return this.#tell.typed(data);
    if (!(this.#answering && this.isHistory)) this.#tell.answered(data);
  }

  #key(event) {
    if (this.#tell.key?.(event) === false) return false;
    if (event.type !== "keydown") return true;
    const key = event.key.toLowerCase();
    const ctrl = event.ctrlKey && !event.altKey && !event.metaKey;
    // A Mac's browser copies and pastes by itself; elsewhere Ctrl+C is the interrupt, unless something is selected.
    if (ctrl && key === "c" && (event.shiftKey || this.#term.hasSelection())) {
      event.preventDefault();
      if (this.copySelection() && !event.shiftKey) this.#term.clearSelection();
      return false;
    }
    // The browser's own, which gives a paste event.
    if (ctrl && event.shiftKey && key === "v") return false;
    if (key === "f" && ((ctrl && event.shiftKey) || (event.metaKey && !event.ctrlKey))) {
      event.preventDefault();
      this.openSearch();
      return false;
    }
    return true;
  }

  // Their handlers come before those that mark answers, which must come first.
  #showImagesSoon() {
    const soon = globalThis.requestIdleCallback ?? ((act) => setTimeout(act, 200));
    soon(async () => {
      try {
        const { showImages } = await import("./images.js");
        showImages(this.#term);
        this.#markAnswers();
      } catch {
        // The network went, or the terminal was closed meanwhile: it goes on without images.
      }
    });
  }

  async #useGpu() {
    // A phone's grid is small, and its browser takes contexts away from pages in the background.
    if (matchMedia("(pointer: coarse)").matches) return;
    try {
      const { WebglAddon } = await import("./vendor/webgl.mjs");
      const gpu = new WebglAddon();
      gpu.onContextLoss(() => gpu.dispose());
      this.#term.loadAddon(gpu);
    } catch {
      // Without WebGL 2 xterm.js goes on with its DOM renderer.
    }
  }

  #measure() {
    if (this.#term.options.fontSize !== this.#fontPx) return;
    const { cell } = this;
    if (cell.width > 0) this.#cell = cell;
  }
}
