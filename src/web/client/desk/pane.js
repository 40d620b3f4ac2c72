// One pane: a session's terminal with its head, what is said about its end, and a layer for what stands over it.

import { h, iconButton, setAttribute, setText } from "../dom.js";
import { Files } from "../files.js";
import { Screen } from "../screen.js";
import { howItEnded } from "./model.js";

/** Output of a terminal that was never shown is kept as it came up to here; above it, it is parsed out of sight. */
const PENDING_BYTES_MAX = 1 << 20;
/** The same for its pieces: a small one costs much more than its bytes. */
const PENDING_PIECES_MAX = 16 << 10;
/** As the server clamps what a mirror client asks for. */
const COLS = [10, 500];
const ROWS = [4, 500];

/** The terminal of one surface: bytes until it is first shown, a Screen from then on. */
export class SurfaceScreen {
  screen = null;
  /** Files to and from the terminal's machine; null before there is a Screen. */
  files = null;
  box = h("div", { class: "pane-screen" });
  /** What this page last asked for: its own grid, while it shows the surface. */
  asked = null;
  #pending = [];
  #pendingBytes = 0;
  #surfaceId;
  #tell;

  /** @param tell typed(data), answered(data), parsed(), used(), opened(screen) */
  constructor(surfaceId, tell) {
    this.#surfaceId = surfaceId;
    this.#tell = tell;
  }

  get unparsedBytes() {
    return this.screen?.unparsedBytes ?? 0;
  }

  /** A snapshot: this grid, and all there is on it. */
  snapshot(grid, bytes) {
    this.#pending = [];
    this.#pendingBytes = 0;
    this.grid(grid);
    this.output(bytes, true);
  }

  grid(grid) {
    if (this.screen) this.screen.setGrid(grid);
    else this.#keep({ grid });
  }

  output(bytes, history) {
    if (this.screen) this.screen.write(bytes, { history });
    else this.#keep({ bytes, history });
  }

  #keep(piece) {
    this.#pending.push(piece);
    this.#pendingBytes += piece.bytes?.length ?? 0;
    if (this.#pendingBytes <= PENDING_BYTES_MAX && this.#pending.length <= PENDING_PIECES_MAX) return;
    if (!this.box.isConnected) aside().append(this.box);
    this.open();
  }

  /** The box stands in the page: from now on there is a real terminal in it. */
  open() {
    if (this.screen) return;
    this.screen = new Screen(this.box, {
      typed: (data) => this.#tell.typed(data),
      answered: (data) => this.#tell.answered(data),
      title: () => {},
      parsed: () => this.#tell.parsed(),
      used: () => this.#tell.used(),
      files: (list) => this.files.send(list),
    });
    this.files = new Files(this.screen, () => this.#surfaceId);
    for (const { grid, bytes, history } of this.#pending) {
      if (grid) this.screen.setGrid(grid);
      else this.screen.write(bytes, { history });
    }
    this.#pending = [];
    this.#tell.opened(this.screen);
  }

  /** The grid that fits, as the server would have it; null while it is not shown. */
  ownGrid() {
    const grid = this.screen?.ownGrid() ?? null;
    return grid && { cols: clamp(grid.cols, COLS), rows: clamp(grid.rows, ROWS) };
  }

  end() {
    this.screen?.end();
    this.box.remove();
  }
}

/** Where terminals stand that no pane shows; laid out, since an emulator measures its cells. */
function aside() {
  return document.querySelector(".aside") ?? document.body.appendChild(h("div", { class: "aside", inert: true, "aria-hidden": "true" }));
}

function clamp(n, [least, most]) {
  return Math.min(most, Math.max(least, n));
}

/** The element around a session's terminal. */
export class Pane {
  #title = h("h2", { class: "pane-title" });
  #live = h("span", { class: "pane-live" });
  #dot = h("span", { class: "dot" });
  #grid = h("span", { class: "pane-grid", hidden: true });
  #takeOver;
  #end = h("div", { class: "pane-end", role: "status", hidden: true });
  #endText = h("span", {});
  /** What stands over the terminal: panels, overlays. It lets the pointer through where it is empty. */
  layer = h("div", { class: "pane-layer" });
  body = h("div", { class: "pane-body" }, this.layer);

  /** @param on takeOver(), menu(anchor), splitRight(), splitDown(), zoom(), sidebar(), again(), close(), used() */
  constructor(session, on) {
    this.session = session;
    this.#takeOver = h("button", { type: "button", class: "button small", hidden: true, onclick: on.takeOver, text: "Use this size" });
    const more = iconButton("more", "Terminal menu", { "aria-haspopup": "menu" });
    more.addEventListener("click", () => on.menu(more));
    this.head = h("header", { class: "pane-head" },
      iconButton("sidebar", "Workspaces", { class: "narrow-only", onclick: on.sidebar }),
      this.#dot, this.#title, this.#live, this.#grid, this.#takeOver,
      iconButton("right", "Split right", { class: "wide-only", onclick: on.splitRight }),
      iconButton("down", "Split down", { class: "wide-only", onclick: on.splitDown }),
      iconButton("zoom", "Zoom", { class: "wide-only zoom", onclick: on.zoom }),
      more,
    );
    this.head.addEventListener("dblclick", (event) => event.target.closest("button") || on.zoom());
    this.#end.append(this.#endText,
      h("button", { type: "button", class: "button small primary", onclick: on.again, text: "Start again" }),
      h("button", { type: "button", class: "button small", onclick: on.close, text: "Remove" }),
    );
    this.element = h("section", { class: "pane", "data-session": session }, this.head, this.body, this.#end);
    this.element.addEventListener("pointerdown", on.used);
  }

  /** @param foreign the PTY's grid when it is another client's, else null */
  update(row, { focused, zoomed, alone, foreign }) {
    setText(this.#title, row.name);
    setText(this.#live, row.live);
    setAttribute(this.#title, "title", row.title);
    setAttribute(this.#dot, "class", `dot is-${row.state}`);
    setAttribute(this.element, "aria-label", row.title);
    this.element.classList.toggle("focused", focused);
    this.element.classList.toggle("alone", alone);
    const zoom = this.head.querySelector(".zoom");
    setAttribute(zoom, "aria-pressed", String(zoomed));
    zoom.hidden = alone && !zoomed;
    this.#grid.hidden = this.#takeOver.hidden = foreign === null;
    if (foreign) setText(this.#grid, `${foreign.cols} × ${foreign.rows} elsewhere`);
    this.body.classList.toggle("foreign", foreign !== null);
    const over = row.state === "ended" || row.state === "gone";
    this.#end.hidden = !over;
    if (over) {
      setText(this.#endText, row.state === "ended" ? `${howItEnded(row.surface)}.` : "This terminal is gone: it was closed, or its server was restarted.");
    }
  }

  /** Puts a terminal into it, in place of the one before. */
  put(surfaceScreen) {
    if (surfaceScreen === null || surfaceScreen.box.parentElement === this.body) return;
    for (const box of this.body.querySelectorAll(".pane-screen")) box.remove();
    this.body.prepend(surfaceScreen.box);
  }
}
