// Fingers on a terminal. xterm.js knows mice only: here a finger scrolls, with momentum, and a long press
// selects a word, which two handles extend.

import { copy } from "./clipboard.js";
import { h } from "./dom.js";

const LONG_PRESS_MS = 450;
/** A finger that moved less than this rests, in CSS pixels. */
const REST_PX = 8;
/** Momentum: what is left of the speed after each millisecond, and the speed, in pixels a millisecond, that ends it. */
const KEPT = 0.996;
const SLOWEST = 0.03;
/** A selection dragged beyond the screen scrolls it so often. */
const EDGE_MS = 60;

export class Touch {
  #screen;
  #box;
  /** The finger: where it was last, and when, and how fast. */
  #finger = null;
  #press = 0;
  #coast = 0;
  #edge = 0;
  /** Scrolled by less than a line. */
  #rest = 0;
  /** Ends of the selection while it can be extended: cells `{x, y}` of the buffer, both inside. */
  #ends = null;
  #handles;
  #copy;

  constructor(screen) {
    this.#screen = screen;
    this.#box = screen.box;
    this.#handles = ["start", "end"].map((end) => this.#handle(end));
    this.#copy = h("button", { type: "button", class: "button primary touch-copy", hidden: true, text: "Copy", onclick: () => this.#copySelection() });
    screen.over.append(this.#copy);
    const listen = (type, act, options) => this.#box.addEventListener(type, act, options);
    listen("touchstart", (event) => this.#down(event), { passive: true });
    listen("touchmove", (event) => this.#move(event), { passive: false });
    listen("touchend", (event) => this.#up(event), { passive: false });
    listen("touchcancel", () => this.#cancel());
    // The browser's own menu of a long press would lie over the selection.
    listen("contextmenu", (event) => this.#finger && event.preventDefault(), true);
    const { term } = screen;
    term.onRender(() => this.#place());
    term.onSelectionChange(() => term.hasSelection() || this.#end());
    term.onResize(() => this.#end());
  }

  #down(event) {
    this.#stopCoasting();
    clearTimeout(this.#press);
    this.#finger = null;
    if (event.touches.length !== 1 || this.#screen.over.contains(event.target)) return;
    const { clientX: x, clientY: y } = event.touches[0];
    this.#finger = { x, y, fromX: x, fromY: y, at: event.timeStamp, speed: 0, does: "nothing" };
    this.#press = setTimeout(() => this.#selectWord(x, y), LONG_PRESS_MS);
  }

  #move(event) {
    const finger = this.#finger;
    if (!finger) return;
    const { clientX: x, clientY: y } = event.touches[0];
    if (finger.does === "nothing") {
      if (Math.hypot(x - finger.fromX, y - finger.fromY) < REST_PX) return;
      clearTimeout(this.#press);
      // A grid wider than the page is panned by the browser.
      const pans = Math.abs(x - finger.fromX) > Math.abs(y - finger.fromY) && this.#box.scrollWidth > this.#box.clientWidth;
      if (pans) return void (this.#finger = null);
      finger.does = "scroll";
    }
    event.preventDefault();
    if (finger.does === "select") {
      this.#extend("end", x, y);
    } else {
      const passed = Math.max(1, event.timeStamp - finger.at);
      finger.speed = 0.7 * ((finger.y - y) / passed) + 0.3 * finger.speed;
      this.#scroll(finger.y - y, x, y);
    }
    Object.assign(finger, { x, y, at: event.timeStamp });
  }

  #up(event) {
    clearTimeout(this.#press);
    clearInterval(this.#edge);
    const finger = this.#finger;
    this.#finger = null;
    if (!finger) return;
    // After a selection no click follows, which would take it away and open the keyboard.
    if (finger.does === "select") event.preventDefault();
    else if (finger.does === "nothing" && this.#ends) this.#screen.term.clearSelection();
    const rested = event.timeStamp - finger.at > 60;
    if (finger.does === "scroll" && !rested) this.#coastFrom(finger);
  }

  #cancel() {
    clearTimeout(this.#press);
    clearInterval(this.#edge);
    this.#finger = null;
  }

  #coastFrom({ x, y, speed }) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    let last = performance.now();
    const step = (now) => {
      const passed = Math.max(0, now - last);
      last = now;
      this.#scroll(speed * passed, x, y);
      speed *= KEPT ** passed;
      this.#coast = Math.abs(speed) > SLOWEST ? requestAnimationFrame(step) : 0;
    };
    if (Math.abs(speed) > SLOWEST) this.#coast = requestAnimationFrame(step);
  }

  #stopCoasting() {
    cancelAnimationFrame(this.#coast);
    this.#coast = 0;
    this.#rest = 0;
  }

  #scroll(px, x, y) {
    const { term } = this.#screen;
    this.#rest += px / this.#screen.cell.height;
    const lines = Math.trunc(this.#rest);
    if (lines === 0) return;
    this.#rest -= lines;
    if (term.buffer.active.type === "normal" && term.modes.mouseTrackingMode === "none") return term.scrollLines(lines);
    // The program scrolls: it gets a wheel's reports, or arrows.
    const wheel = { deltaY: Math.sign(lines), deltaMode: 1, clientX: x, clientY: y, bubbles: true, cancelable: true };
    for (let n = 0; n < Math.min(Math.abs(lines), term.rows); n++) {
      this.#screen.grid.dispatchEvent(new WheelEvent("wheel", wheel));
    }
  }

  /** The cell under a point, kept inside of the screen. */
  #cellAt(x, y) {
    const { term, cell } = this.#screen;
    const rect = this.#screen.grid.getBoundingClientRect();
    const within = (n, last) => Math.min(last, Math.max(0, Math.floor(n)));
    return {
      x: within((x - rect.left) / cell.width, term.cols - 1),
      y: term.buffer.active.viewportY + within((y - rect.top) / cell.height, term.rows - 1),
    };
  }

  #selectWord(x, y) {
    const { term } = this.#screen;
    const at = this.#cellAt(x, y);
    const line = term.buffer.active.getLine(at.y);
    if (!this.#finger || !line) return;
    // The second half of a wide character has no text of its own.
    const inWord = (column) => {
      const cell = line.getCell(column);
      return cell && (cell.getWidth() === 0 || !/^[\s"'`()[\]{}<>|,;]?$/.test(cell.getChars()));
    };
    let [from, to] = [at.x, at.x];
    if (inWord(at.x)) {
      while (from > 0 && inWord(from - 1)) from -= 1;
      while (to < term.cols - 1 && inWord(to + 1)) to += 1;
    }
    this.#finger.does = "select";
    this.#ends = { start: { x: from, y: at.y }, end: { x: to, y: at.y } };
    navigator.vibrate?.(8);
    this.#show();
  }

  /** Moves one end; the other stays, on whichever side. */
  #extend(end, x, y) {
    this.#ends[end] = this.#cellAt(x, y);
    this.#show();
    clearInterval(this.#edge);
    const rect = this.#box.getBoundingClientRect();
    const beyond = y < rect.top + 4 ? -1 : y > rect.bottom - 4 ? 1 : 0;
    if (beyond === 0) return;
    this.#edge = setInterval(() => {
      this.#screen.term.scrollLines(beyond);
      this.#ends[end] = this.#cellAt(x, y);
      this.#show();
    }, EDGE_MS);
  }

  #inOrder() {
    const { start, end } = this.#ends;
    return start.y < end.y || (start.y === end.y && start.x <= end.x) ? [start, end] : [end, start];
  }

  #show() {
    const [first, last] = this.#inOrder();
    const { term } = this.#screen;
    const ends = this.#ends;
    term.select(first.x, first.y, (last.y - first.y) * term.cols + last.x - first.x + 1);
    this.#ends = ends; // selecting anew ends the selection before
    this.#place();
  }

  #end() {
    this.#ends = null;
    for (const part of [...this.#handles, this.#copy]) part.hidden = true;
  }

  /** Puts the handles and the button beside the selection. */
  #place() {
    if (!this.#ends) return;
    const { term, cell, over } = this.#screen;
    const grid = this.#screen.grid.getBoundingClientRect();
    const from = over.getBoundingClientRect();
    const [first, last] = this.#inOrder();
    const top = (end) => grid.top - from.top + (end.y - term.buffer.active.viewportY) * cell.height;
    const left = (x) => grid.left - from.left + x * cell.width;
    const seen = (end) => end.y >= term.buffer.active.viewportY && end.y < term.buffer.active.viewportY + term.rows;
    const [start, end] = this.#handles;
    // Each handle keeps the end it was made for, whichever comes first now.
    const swapped = first !== this.#ends.start;
    for (const [part, place, x] of [[swapped ? end : start, first, first.x], [swapped ? start : end, last, last.x + 1]]) {
      part.hidden = !seen(place);
      part.style.left = `${left(x)}px`;
      part.style.top = `${top(place) + cell.height}px`;
    }
    this.#copy.hidden = false;
    const above = top(first) - 46;
    this.#copy.style.top = `${above >= 0 ? above : Math.min(top(last) + cell.height + 34, this.#box.clientHeight - 44)}px`;
    this.#copy.style.left = `${Math.min(Math.max(4, left((first.x + last.x) / 2) - 34), this.#box.clientWidth - 84)}px`;
  }

  #handle(end) {
    const handle = h("div", { class: "touch-handle", hidden: true });
    handle.addEventListener("touchmove", (event) => {
      event.preventDefault();
      // The finger lies on the handle, which hangs below its cell.
      const { clientX, clientY } = event.touches[0];
      if (this.#ends) this.#extend(end, clientX, clientY - this.#screen.cell.height);
    }, { passive: false });
    handle.addEventListener("touchend", (event) => {
      event.preventDefault();
      clearInterval(this.#edge);
    });
    this.#screen.over.append(handle);
    return handle;
  }

  async #copySelection() {
    const copied = await copy(this.#screen.term.getSelection());
    this.#screen.say(copied ? "Copied" : "The browser does not let this page copy.");
    this.#screen.term.clearSelection();
  }
}
