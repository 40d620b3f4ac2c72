// xterm.js, and the two things it cannot know: which output is history, whose queries must not be answered
// again, and that the grid is the PTY's, which may be another client's size.

import { Unicode11Addon } from "./vendor/unicode11.mjs";
import { WebLinksAddon } from "./vendor/web-links.mjs";
import { Terminal } from "./vendor/xterm.mjs";
import { darkTheme, lightTheme } from "./theme.js";

const FONT_PX = 14;
/** Below this nobody reads; a larger grid is cropped and scrolled. */
const FONT_PX_MIN = 8;
/** Scrollback in the page; the server keeps 1,000 lines by default, live output may add to it. */
const SCROLLBACK_LINES = 5000;
/** Kept free at the right for the scroll bar, in CSS pixels. */
const SCROLL_BAR_PX = 14;
/** As the server accepts. */
const SIDE_MAX = 2000;

export class Screen {
  /** Bytes given to xterm.js that it has not parsed yet. */
  unparsedBytes = 0;
  #term;
  #box;
  #unparsed = [];
  #answering = false;
  #cell = null;
  #tell;

  /**
   * @param {HTMLElement} box what the grid must fit into
   * @param tell typed(data), answered(data), title(text), parsed(), used()
   */
  constructor(box, tell) {
    this.#box = box;
    this.#tell = tell;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const theme = () => (dark.matches ? darkTheme : lightTheme);
    this.#term = new Terminal({
      allowProposedApi: true, // for the Unicode addon
      fontFamily: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace',
      fontSize: FONT_PX,
      scrollback: SCROLLBACK_LINES,
      theme: theme(),
      macOptionIsMeta: true,
      linkHandler: { activate: (_, uri) => openLink(uri, true) },
    });
    this.#term.loadAddon(new Unicode11Addon());
    this.#term.unicode.activeVersion = "11";
    this.#term.loadAddon(new WebLinksAddon((_, uri) => openLink(uri, false)));
    this.#term.open(box);
    dark.addEventListener("change", () => (this.#term.options.theme = theme()));
    this.#useGpu();
    this.#markAnswers();
    this.#term.onData((data) => this.#said(data));
    this.#term.onBinary((data) => tell.typed(data));
    this.#term.onTitleChange((title) => tell.title(title));
    this.#term.attachCustomKeyEventHandler((event) => this.#key(event));
    box.addEventListener("pointerdown", () => tell.used());
    this.#term.textarea.addEventListener("focus", () => tell.used());
    this.#panByTouch();
  }

  get term() {
    return this.#term;
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
    const px = room >= 1 ? FONT_PX : Math.max(FONT_PX_MIN, Math.floor(FONT_PX * room * 2) / 2);
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

  paste(text) {
    this.#term.paste(text);
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
      { prefix: ">", final: "q" }, { final: "t" }, // version, window
    ]) parser.registerCsiHandler(id, mark);
    for (const id of [4, 10, 11, 12]) parser.registerOscHandler(id, mark); // colours
    for (const id of [{ intermediates: "$", final: "q" }, { intermediates: "+", final: "q" }]) {
      parser.registerDcsHandler(id, mark); // settings, capabilities
    }
  }

  #said(data) {
    const isFocusReport = data === "\x1b[I" || data === "\x1b[O";
    if (!this.#answering && !isFocusReport) return this.#tell.typed(data);
    const isHistory = this.#answering && this.#unparsed[0];
    if (!isHistory) this.#tell.answered(data);
  }

  /** Ctrl+Shift+C copies, as in other terminals; the browser itself would open its tools. */
  #key(event) {
    if (event.type === "keydown" && event.ctrlKey && event.shiftKey && event.code === "KeyC") {
      event.preventDefault();
      document.execCommand("copy");
      return false;
    }
    return true;
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
    if (this.#term.options.fontSize !== FONT_PX) return;
    const screen = this.#term.element.querySelector(".xterm-screen");
    const { width, height } = screen.getBoundingClientRect();
    if (width === 0) return;
    this.#cell = { width: width / this.#term.cols, height: height / this.#term.rows };
  }

  // xterm.js knows the wheel but no touch: a finger that moves is told to it as a wheel, which scrolls,
  // or reaches the program as arrows or mouse reports.
  #panByTouch() {
    let y = null;
    this.#box.addEventListener("touchstart", (event) => (y = event.touches.length === 1 ? event.touches[0].clientY : null), { passive: true });
    this.#box.addEventListener("touchmove", (event) => {
      if (y === null) return;
      const { clientX, clientY } = event.touches[0];
      const deltaY = y - clientY;
      if (Math.abs(deltaY) < 4) return;
      y = clientY;
      event.preventDefault();
      const wheel = { deltaY, deltaMode: 0, clientX, clientY, bubbles: true, cancelable: true };
      this.#term.element.querySelector(".xterm-screen").dispatchEvent(new WheelEvent("wheel", wheel));
    }, { passive: false });
  }
}

/** A program's link may show one text and lead elsewhere, so such a one is shown before it is opened. */
function openLink(uri, ask) {
  let url;
  try {
    url = new URL(uri);
  } catch {
    return;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return;
  if (ask && !confirm(`Open this link?\n\n${url.href}`)) return;
  open(url.href, "_blank", "noopener,noreferrer");
}
