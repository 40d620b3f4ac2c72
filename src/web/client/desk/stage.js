// The panes of the open workspace: where they stand, whose size their terminals have, and what comes and goes
// through them. All surfaces are fed; those that were shown once have a real terminal.

import { h, keyed } from "../dom.js";
import { wish } from "../prefs.js";
import { places } from "./layout.js";
import { SurfaceScreen, Pane } from "./pane.js";
import { fromBase64 } from "./outbox.js";

/** More output than this unparsed: the page is too slow for the programs and lets the server skip. */
const UNPARSED_BYTES_HIGH = 4 << 20;
const UNPARSED_BYTES_LOW = 512 << 10;
/** A window or divider that is being dragged asks for a size this often at most. */
const RESIZE_MS = 80;

export class Stage {
  element = document.getElementById("stage");
  #desk;
  #panes = new Map();
  #screens = new Map();
  #empty = document.getElementById("empty");
  /** Cells become larger or smaller with another renderer or font, without a change of the box. */
  #cells = new ResizeObserver(() => this.#fitSoon());
  #plates = h("div", { class: "stage-panes" });
  #dividers = h("div", { class: "stage-dividers" });
  /** Takes the keys while the terminal that they are for is not there yet. */
  #catcher = h("textarea", { class: "unseen", tabindex: "-1", "aria-label": "Input of the terminal that is being started", autocapitalize: "off", autocomplete: "off", spellcheck: "false" });
  /** A terminal that had the keyboard went; the one that comes in its place gets it. */
  #isKeyboardLost = false;
  #shown = new Set();
  #resizeTimer = 0;
  #narrow = matchMedia("(max-width: 720px)");

  constructor(desk) {
    this.#desk = desk;
    this.element.prepend(this.#plates, this.#dividers, this.#catcher);
    this.#catcher.addEventListener("keydown", (event) => this.#caught(event));
    this.#catcher.addEventListener("input", (event) => this.#caught(event));
    this.#catcher.addEventListener("compositionend", (event) => this.#caught(event));
    new ResizeObserver(() => this.#fitSoon()).observe(this.element);
    this.#narrow.addEventListener("change", () => desk.draw());
    document.addEventListener("visibilitychange", () => this.#onVisibility());
  }

  /** The Screen of the focused pane; null when there is none. */
  get screen() {
    return this.#screenOf(this.#desk.view.focused)?.screen ?? null;
  }

  /** The focused terminal's Files. */
  get files() {
    return this.#screenOf(this.#desk.view.focused)?.files ?? null;
  }

  /** A surface's Screen; null before it was first shown. */
  screenOf(surfaceId) {
    return this.#screens.get(surfaceId)?.screen ?? null;
  }

  /** The layer over a surface's terminal, for panels; null while that has no pane on the screen. */
  layerOf(surfaceId) {
    const row = this.#desk.rowOfSurface(surfaceId);
    return row ? (this.#panes.get(row.session)?.layer ?? null) : null;
  }

  /** Gives the focused terminal the keyboard. */
  grab() {
    this.#desk.settle();
    if (this.screen) this.screen.focus();
    else if (this.#desk.isStarting) this.#catcher.focus();
  }

  /** What this browser's user wishes has changed. */
  followWishes() {
    for (const { screen } of this.#screens.values()) screen?.setScreenReader(wish("screen-reader", false));
  }

  // ---- frames ----

  /** A frame that the store has taken already. */
  frame(frame, { history }) {
    switch (frame.type) {
      case "hello":
        for (const id of [...this.#screens.keys()]) if (!this.#desk.state.surfaces.has(id)) this.#end(id);
        return;
      case "surfaceStdout": {
        const bytes = fromBase64(frame.bytes);
        const screen = this.#of(frame.surfaceId);
        if (frame.snapshot) screen.snapshot({ cols: frame.cols, rows: frame.rows }, bytes);
        // Until it is said that clients answer, the server does.
        else screen.output(bytes, history || !this.#desk.state.surfaces.get(frame.surfaceId)?.attended);
        if (this.#unparsed() > UNPARSED_BYTES_HIGH) this.#desk.link.hold();
        return;
      }
      case "surfaceCreate":
        return this.#of(frame.surface.surfaceId).grid({ cols: frame.surface.cols, rows: frame.surface.rows });
      case "surfaceResize":
        return this.#of(frame.surfaceId).grid({ cols: frame.cols, rows: frame.rows });
      case "surfaceClose":
        return this.#end(frame.surfaceId);
    }
  }

  /** A connection is there (again): the server has forgotten what is shown here. */
  opened() {
    for (const screen of this.#screens.values()) screen.asked = null;
    this.#fit();
  }

  #of(surfaceId) {
    let screen = this.#screens.get(surfaceId);
    if (!screen) {
      screen = new SurfaceScreen(surfaceId, {
        typed: (data) => this.#desk.type(surfaceId, this.#desk.keys.apply(data)),
        answered: (data) => this.#owns(surfaceId) && this.#desk.answer(surfaceId, data),
        parsed: () => this.#parsed(),
        used: () => this.#used(surfaceId),
        opened: (screen) => this.#cells.observe(screen.grid),
      });
      this.#screens.set(surfaceId, screen);
    }
    return screen;
  }

  #end(surfaceId) {
    const ended = this.#screens.get(surfaceId);
    if (!ended) return;
    this.#isKeyboardLost ||= ended.box.contains(document.activeElement);
    if (ended.screen) this.#cells.unobserve(ended.screen.grid);
    ended.end();
    this.#screens.delete(surfaceId);
    if (this.#isKeyboardLost && this.#desk.isStarting) this.#catcher.focus();
  }

  /** Gives the focused terminal a keyboard that nobody else has taken meanwhile. */
  #findKeyboard() {
    const { activeElement } = document;
    const isFree = activeElement === document.body || activeElement === this.#catcher || activeElement.closest(".pane[hidden]");
    this.#isKeyboardLost = Boolean(isFree) && this.screen === null;
    if (isFree) this.screen?.focus();
  }

  #caught(event) {
    const { value } = this.#catcher;
    if (event.isComposing) return;
    if (event.type === "keydown") {
      if (event.key === "Backspace" && value === "") this.#desk.typeHere("\x7f");
      return;
    }
    this.#catcher.value = "";
    if (value) this.#desk.typeHere(value.replaceAll("\n", "\r"));
  }

  #unparsed() {
    let sum = 0;
    for (const screen of this.#screens.values()) sum += screen.unparsedBytes;
    return sum;
  }

  #parsed() {
    if (!document.hidden && this.#unparsed() < UNPARSED_BYTES_LOW) this.#desk.link.resume();
  }

  // ---- panes ----

  /** Draws the open workspace. */
  draw() {
    const { view } = this.#desk;
    const { tree, focused, zoomed } = view.desk;
    const { panes, dividers } = places(tree);
    const one = this.#narrow.matches || zoomed;
    const visible = one ? panes.filter((pane) => pane.session === focused).map(({ session }) => ({ session, x: 0, y: 0, width: 1, height: 1 })) : panes;
    const shown = visible.filter(({ session }) => this.#desk.rowOf(session));
    this.#shown = new Set(shown.map(({ session }) => session));
    const hasKeyboard = document.activeElement.closest(".pane-body") !== null;

    for (const [session, pane] of this.#panes) {
      if (this.#desk.rowOf(session)) continue;
      pane.element.remove();
      this.#panes.delete(session);
    }
    for (const place of shown) {
      const row = this.#desk.rowOf(place.session);
      const pane = this.#pane(place.session);
      const { style } = pane.element;
      style.left = `${place.x * 100}%`;
      style.top = `${place.y * 100}%`;
      style.width = `${place.width * 100}%`;
      style.height = `${place.height * 100}%`;
      const screen = row.surfaceId && this.#of(row.surfaceId);
      pane.put(screen);
      pane.element.hidden = false;
      pane.update(row, { focused: place.session === focused, zoomed, alone: panes.length === 1, foreign: this.#foreign(row) });
      screen?.open();
    }
    for (const [session, pane] of this.#panes) {
      pane.element.hidden = !this.#shown.has(session);
      if (pane.element.hidden) pane.element.classList.remove("focused");
    }
    if (hasKeyboard || this.#isKeyboardLost) this.#findKeyboard();
    this.#empty.hidden = shown.length > 0 || !this.#desk.isGreeted;

    keyed(this.#dividers, one ? [] : dividers, ({ path, at, direction }) => `${direction}${path.join(".")}/${at}`, () => this.#divider(), (element, divider) => {
      const isRow = divider.direction === "row";
      element.divider = divider;
      element.className = `divider ${isRow ? "upright" : "flat"}`;
      element.setAttribute("aria-orientation", isRow ? "vertical" : "horizontal");
      element.setAttribute("aria-valuenow", String(Math.round(divider.share * 100)));
      const { x, y, width, height } = divider.box;
      Object.assign(element.style, isRow
        ? { left: `${divider.position * 100}%`, top: `${y * 100}%`, height: `${height * 100}%`, width: "" }
        : { top: `${divider.position * 100}%`, left: `${x * 100}%`, width: `${width * 100}%`, height: "" });
    });
    this.#fitSoon();
  }

  #pane(session) {
    let pane = this.#panes.get(session);
    if (!pane) {
      const { actions, view } = this.#desk;
      const focus = () => view.focus(session);
      pane = new Pane(session, {
        takeOver: () => this.#takeOver(session),
        menu: (anchor) => (focus(), actions.terminalMenu(this.#desk.rowOf(session), anchor)),
        splitRight: () => (focus(), actions.newTerminal({ split: "row" })),
        splitDown: () => (focus(), actions.newTerminal({ split: "column" })),
        zoom: () => (focus(), view.toggleZoom(), this.grab()),
        sidebar: () => this.#desk.openDrawer(),
        again: () => actions.again(this.#desk.rowOf(session)),
        close: () => actions.close(this.#desk.rowOf(session)),
        used: focus,
      });
      this.#panes.set(session, pane);
      this.#plates.append(pane.element);
    }
    return pane;
  }

  #divider() {
    const element = h("div", { role: "separator", tabindex: "0", "aria-label": "Divider between panes", "aria-valuemin": "0", "aria-valuemax": "100" });
    const side = () => {
      const { direction, box } = element.divider;
      return direction === "row" ? this.#plates.clientWidth * box.width : this.#plates.clientHeight * box.height;
    };
    const move = (px) => this.#desk.view.moveDivider(element.divider.path, element.divider.at, px / side());
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      element.setPointerCapture(event.pointerId);
      const along = (event) => (element.divider.direction === "row" ? event.clientX : event.clientY);
      let last = along(event);
      element.onpointermove = (event) => {
        move(along(event) - last);
        last = along(event);
      };
      element.onpointerup = element.onpointercancel = () => (element.onpointermove = null);
    });
    element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -24, ArrowUp: -24, ArrowRight: 24, ArrowDown: 24 }[event.key];
      if (step === undefined || event.shiftKey) return;
      event.preventDefault();
      move(step);
    });
    element.addEventListener("dblclick", () => {
      const { share } = element.divider;
      move((0.5 - share) * side() * this.#pairShare(element.divider));
    });
    return element;
  }

  /** The part of its split that the two panes at a divider have together. */
  #pairShare({ path, at }) {
    let tree = this.#desk.view.desk.tree;
    for (const n of path) tree = tree.children[n];
    return tree.shares[at] + tree.shares[at + 1];
  }

  // ---- sizes ----

  #screenOf(session) {
    const row = this.#desk.rowOf(session);
    return row?.surfaceId ? (this.#screens.get(row.surfaceId) ?? null) : null;
  }

  #owns(surfaceId) {
    const { asked } = this.#of(surfaceId);
    const surface = this.#desk.state.surfaces.get(surfaceId);
    return asked !== null && surface !== undefined && asked.cols === surface.cols && asked.rows === surface.rows;
  }

  /** The PTY's grid when it is not the one that this page asked for. */
  #foreign({ surface }) {
    if (!surface || surface.exited || !this.#desk.link.isOpen || this.#of(surface.surfaceId).asked === null) return null;
    return this.#owns(surface.surfaceId) ? null : { cols: surface.cols, rows: surface.rows };
  }

  #takeOver(session) {
    this.#desk.view.focus(session);
    this.#fit();
    this.grab();
    const row = this.#desk.rowOf(session);
    if (row.surfaceId) this.#desk.link.send({ type: "surfaceFocus", surfaceId: row.surfaceId });
  }

  /** A click, a tap, the focus: this terminal is the one being used, here. */
  #used(surfaceId) {
    if (document.hidden) return;
    const row = this.#desk.rowOfSurface(surfaceId);
    if (row) this.#desk.view.focus(row.session);
    this.#fit();
    this.#desk.link.send({ type: "surfaceFocus", surfaceId });
  }

  #fitSoon() {
    clearTimeout(this.#resizeTimer);
    this.#resizeTimer = setTimeout(() => this.#fit(), RESIZE_MS);
  }

  /** Asks for the size of each terminal that is shown, and gives back that of those that no longer are. */
  #fit() {
    if (!this.#desk.link.isOpen) return;
    let changed = false;
    for (const [surfaceId, screen] of this.#screens) {
      const row = this.#desk.rowOfSurface(surfaceId);
      const isShown = !document.hidden && row !== null && this.#shown.has(row.session) && screen.screen !== null;
      if (!isShown) {
        if (screen.asked === null) continue;
        screen.asked = null;
        this.#desk.link.send({ type: "surfaceHide", surfaceId });
        continue;
      }
      screen.screen.fitFont();
      const grid = screen.ownGrid();
      if (grid === null || row.surface?.exited || (screen.asked?.cols === grid.cols && screen.asked.rows === grid.rows)) continue;
      screen.asked = grid;
      changed = true;
      this.#desk.link.send({ type: "surfaceResizeRequest", surfaceId, ...grid });
    }
    if (changed) this.#desk.draw();
  }

  #onVisibility() {
    this.#fit();
    this.#parsed();
  }
}
