// The desk: one page over the web mirror. This file joins its parts, and is what a further module gets:
//
//   desk.state, desk.store.watch((state, before) => ...)   all that the mirror told, see store.js
//   desk.cards, desk.rowOf(session), desk.rowOfSurface(id)  the same as it is shown, see model.js
//   desk.view                                               what only this browser sees, see view.js
//   desk.send(frame)                                        a client frame; false while there is no connection
//   desk.commands.add({id, title, group, keys?, run})       a command: keys, palette and cheat sheet at once
//   desk.stage.layerOf(surfaceId)                           an element over a terminal, or null
//   desk.stage.screenOf(surfaceId)                          its Screen, or null
//   desk.onDraw(() => ...)                                  called when anything of this is drawn anew
//   desk.say(text)                                          a passing line in the status bar
//
// A module exports one function of the desk and stands in MODULES.

import { fitPage } from "../fit-page.js";
import { Keys } from "../keys.js";
import { askForToken } from "../login.js";
import { base, randomId } from "../server.js";
import { TypeAhead } from "../type-ahead.js";
import { Actions } from "./actions.js";
import { autoContinue } from "./auto-continue.js";
import { addCommands } from "./bindings.js";
import { Commands } from "./commands.js";
import { MirrorLink } from "./link.js";
import { look } from "./look.js";
import { cards } from "./model.js";
import { notifications } from "./notifications.js";
import { Outbox, base64 } from "./outbox.js";
import { panels } from "./panels.js";
import { plans } from "./plans.js";
import { settings } from "./settings.js";
import { Sidebar } from "./sidebar.js";
import { Stage } from "./stage.js";
import { Status } from "./status.js";
import { Store } from "./store.js";
import { View } from "./view.js";

const MODULES = [look, panels, notifications, plans, autoContinue, settings];

/** What a reload carries over; browsers give sessionStorage about 5 million characters. */
const STORED_CHARS_MAX = 1 << 20;
/** The mirror tells what HTTP has answered within this time, or something is wrong. */
const UNTIL_MS = 5_000;
const OUTBOX_KEY = `wharf:desk-input:${base}`;

class Desk {
  store = new Store();
  view = new View({ getItem: (key) => localStorage.getItem(key), setItem: (key, text) => localStorage.setItem(key, text) }, `wharf:desk:${base}`);
  commands = new Commands();
  actions = new Actions(this);
  /** Whether a hello has come. */
  isGreeted = false;
  #cards = null;
  #rows = new Map();
  #drawers = new Set();
  #isDue = false;
  #early = new TypeAhead();
  #outbox = new Outbox(takeStored() ?? { clientId: `web-${randomId(16)}` });
  #encoder = new TextEncoder();

  constructor() {
    addCommands(this);
    this.link = new MirrorLink({
      frame: (frame, about) => this.#frame(frame, about),
      open: ({ fresh }) => this.#opened(fresh),
      down: (why) => this.#down(why),
      refused: (error) => this.#refused(error),
      latency: (ms) => this.status.latency(ms),
    });
    this.stage = new Stage(this);
    this.sidebar = new Sidebar(this);
    this.status = new Status(this);
    this.keys = new Keys(document.getElementById("keys"), focusedScreen(this.stage), (data) => this.typeHere(data));
    this.store.watch((state, before) => {
      this.#cards = null;
      if (state.workspaces !== before.workspaces) this.view.prune(state.workspaces);
      this.draw();
    });
    this.view.watch((state, before) => {
      if (state.order !== before.order) this.#cards = null;
      this.draw();
    });
    this.commands.listen(window);
    for (const start of MODULES) start(this);
    addEventListener("pagehide", () => store(this.#outbox.stored(STORED_CHARS_MAX)));
    // A page that comes back from the browser's cache still has it; a duplicated tab must not.
    addEventListener("pageshow", (event) => event.persisted && takeStored());
    document.getElementById("cover").addEventListener("click", () => this.closeDrawer());
    document.getElementById("first-terminal").addEventListener("click", () => this.actions.newTerminal());
    document.getElementById("open-drawer").addEventListener("click", () => this.openDrawer());
    fitPage();
    this.drawNow();
  }

  get state() {
    return this.store.state;
  }

  get cards() {
    if (this.#cards === null) {
      this.#cards = cards(this.state, this.view.state.order);
      this.#rows = new Map();
      for (const row of this.#cards.flatMap((card) => card.rows)) {
        const known = this.#rows.get(row.session);
        if (!known || row.workspaceId === this.view.state.workspace) this.#rows.set(row.session, row);
      }
    }
    return this.#cards;
  }

  cardOf(workspaceId) {
    return this.cards.find(({ id }) => id === workspaceId) ?? null;
  }

  rowOf(session) {
    return (this.cards && this.#rows.get(session)) ?? null;
  }

  rowOfSurface(surfaceId) {
    const surface = this.state.surfaces.get(surfaceId);
    const row = surface ? this.rowOf(surface.sessionId) : null;
    return row?.surfaceId === surfaceId ? row : null;
  }

  /** Sends a client frame; false while there is no connection. */
  send(frame) {
    return this.link.send(frame);
  }

  /** Input for a terminal: sent now or when there is a connection, once. */
  type(surfaceId, data) {
    const isTaken = this.#early.isOn ? this.#early.keep(data) : this.#put(surfaceId, data);
    if (!isTaken) this.say("Too much is waiting to be sent; the last input was left out.");
  }

  #put(surfaceId, data) {
    const frames = this.#outbox.push(surfaceId, this.#encoder.encode(data));
    for (const frame of frames ?? []) this.link.send(frame);
    return frames !== null;
  }

  /** The same for the focused terminal, or the one that is being started. */
  typeHere(data) {
    const surfaceId = this.rowOf(this.view.focused)?.surfaceId;
    if (surfaceId || this.isStarting) this.type(surfaceId, data);
  }

  /** A terminal is being started, and what is typed waits for it. */
  get isStarting() {
    return this.#early.isOn;
  }

  /** Until `start()` is done, what is typed waits for the session's terminal, which that starts. */
  async typeAhead(session, start) {
    const { activeElement } = document;
    this.#early.begin();
    this.stage.grab();
    try {
      await start();
    } catch (error) {
      activeElement.focus();
      if (this.#early.take()) error.message += " What you typed for it was left out.";
      throw error;
    }
    const text = this.#early.take();
    const row = this.rowOf(session);
    if (row?.surface && !row.surface.exited) this.type(row.surfaceId, text);
    else if (text) this.say("It is not there yet. What you typed for it was left out.");
  }

  /** A terminal's own reply to a query: worth nothing later. */
  answer(surfaceId, data) {
    this.link.send({ type: "surfaceStdin", surfaceId, bytes: base64(this.#encoder.encode(data)), claim: false });
  }

  /** Shows a terminal and gives it the keyboard. */
  show(row) {
    this.view.show(row.workspaceId, row.session);
    this.closeDrawer();
    // On a phone the focus would open the keyboard, over what was to be seen.
    if (!matchMedia("(pointer: coarse)").matches) this.stage.grab();
  }

  say(text) {
    this.status.notice.say(text);
  }

  /** Resolves when `holds()`, which is asked after each change; also when that takes too long. */
  until(holds) {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        end();
        this.drawNow();
        resolve();
      };
      const timer = setTimeout(done, UNTIL_MS);
      const end = this.store.watch(() => holds() && done());
      if (holds()) done();
    });
  }

  // ---- drawing ----

  onDraw(drawer) {
    this.#drawers.add(drawer);
  }

  /** Draws with the next frame of the screen. */
  draw() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => this.#isDue && this.drawNow());
  }

  /** Draws now what is due. */
  settle() {
    if (this.#isDue) this.drawNow();
  }

  drawNow() {
    this.#isDue = false;
    document.body.classList.toggle("without-sidebar", !this.view.sidebar);
    document.documentElement.style.setProperty("--pane-gap", `${this.state.settings.paneGap ?? 4}px`);
    this.sidebar.draw();
    this.stage.draw();
    this.status.draw();
    for (const drawer of this.#drawers) drawer();
    const row = this.rowOf(this.view.focused);
    document.body.classList.toggle("has-terminal", row !== null);
    document.title = row ? `${row.title} · wharf` : "wharf";
  }

  openDrawer() {
    document.body.classList.add("drawer");
    this.sidebar.focus();
  }

  closeDrawer() {
    document.body.classList.remove("drawer");
  }

  // ---- the connection ----

  #frame(frame, about) {
    if (frame.type === "ack") return this.#outbox.acknowledged(frame.surfaceId, frame.clientSeq);
    if (frame.type === "error") return this.say(frame.message);
    this.store.take(frame);
    this.stage.frame(frame, about);
    if (frame.type === "hello" || frame.type === "surfaceClose") this.#outbox.retain(new Set(this.state.surfaces.keys()));
  }

  #opened(fresh) {
    this.status.notice.trouble(null);
    for (const frame of this.#outbox.waiting) this.link.send(frame);
    if (fresh) this.#greeted();
    this.stage.opened();
  }

  #greeted() {
    const isFirst = !this.isGreeted;
    this.isGreeted = true;
    this.#cards = null;
    this.view.prune(this.state.workspaces);
    if (this.view.focused === null) {
      const card = this.cardOf(this.view.state.workspace);
      const row = card?.rows.find(({ surface }) => surface && !surface.exited) ?? this.cards.flatMap(({ rows }) => rows).find(({ surface }) => surface);
      if (row) this.view.show(row.workspaceId, row.session);
    }
    this.drawNow();
    if (!isFirst || document.querySelector("dialog[open]")) return;
    if (this.view.focused === null) document.getElementById("first-terminal").focus();
    else if (!matchMedia("(pointer: coarse)").matches) this.stage.grab();
  }

  #down({ restarting, error }) {
    this.status.notice.trouble(
      restarting ? "The server is restarting. What you type is kept."
      : error?.status === 0 ? "The server cannot be reached. What you type is kept."
      : "Connection lost. What you type is kept.",
    );
    this.draw();
  }

  #refused(error) {
    if (error.status === 401) return askForToken(error.message);
    this.status.notice.trouble(error.message);
  }
}

/** The Screen that the key bar types into: whichever has the focus. */
function focusedScreen(stage) {
  return {
    get term() {
      return stage.screen?.term;
    },
    paste: (text) => stage.screen?.paste(text),
    focus: () => stage.grab(),
  };
}

// A browser that forbids storage carries nothing over a reload, and does everything else.

function takeStored() {
  try {
    const stored = sessionStorage.getItem(OUTBOX_KEY);
    sessionStorage.removeItem(OUTBOX_KEY);
    return stored && JSON.parse(stored);
  } catch {
    return null;
  }
}

function store(stored) {
  try {
    if (stored) sessionStorage.setItem(OUTBOX_KEY, JSON.stringify(stored));
  } catch {
    // See above.
  }
}

const desk = new Desk();

// For the browser's console, and for tests that ask what is on the screen.
globalThis.wharf = {
  desk,
  get term() {
    return desk.stage.screen?.term;
  },
};
