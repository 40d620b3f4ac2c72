// The page of one terminal: joins the screen, the link and the outbox, and decides about sizes.
//
// The grid shown is always the PTY's, as the last `size` frame said. This page's own grid is what it asks
// for with `resize`; when the two are equal the size is taken to be ours, and only then are a program's
// queries answered. (Two pages of equal size both answer; the server takes the owner's only.)

import { Files, saveText } from "./files.js";
import { fitPage } from "./fit-page.js";
import { Keys, pasteFromClipboard } from "./keys.js";
import { Link } from "./link.js";
import { dress } from "./look.js";
import { askForToken } from "./login.js";
import { openMenu } from "./menu.js";
import { Notice } from "./notice.js";
import { Outbox } from "./outbox.js";
import { setWish, wish } from "./prefs.js";
import { Screen } from "./screen.js";
import { base, call, createTerminal, listTerminals, sessionId } from "./server.js";
import { TypeAhead } from "./type-ahead.js";

/** More output than this unparsed: the page is too slow for the program and lets the server skip. */
const UNPARSED_BYTES_HIGH = 4 << 20;
const UNPARSED_BYTES_LOW = 512 << 10;
/** A page without any output takes this much as it was; of a longer stream it asks for the screen instead. */
const REPLAY_BYTES_MAX = 256 << 10;
/** A cursor ahead of every stream: the server answers with a reset. */
const CURSOR_AHEAD = Number.MAX_SAFE_INTEGER;
/** A window that is being dragged asks for a size this often at most. */
const RESIZE_MS = 80;

const element = (id) => document.getElementById(id);
const notice = new Notice((text) => {
  element("notice").textContent = text ?? "";
  element("notice").hidden = text === null;
});
const screen = new Screen(element("screen"), {
  typed: (data) => type(keys.apply(data)),
  answered: (data) => ownsSize() && outbox?.input(data, false),
  title: (title) => setTitle(title),
  parsed: () => screen.unparsedBytes < UNPARSED_BYTES_LOW && !document.hidden && link?.resume(),
  used: () => use(),
  bell: () => document.hidden && markTitle("🔔"),
  files: (list) => files.send(list),
  key: (event) => onKey(event),
});
const keys = new Keys(element("keys"), screen, type);
const files = new Files(screen, () => terminalId);
let terminalId = null;
let link = null;
let outbox = null;
const early = new TypeAhead();
let ptyGrid = null;
let askedGrid = null;
let resizeTimer = 0;
let title = "";
let mark = "";
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let settings = null;

setTitle("");
fitPage();
const sizes = new ResizeObserver(askForSizeSoon);
sizes.observe(element("screen"));
// Cells become larger or smaller with another renderer, without a change of the box.
sizes.observe(screen.grid);
document.addEventListener("visibilitychange", onVisibility);
prefersDark.addEventListener("change", showSettings);
// Whoever changes them at the desk looks here afterwards.
addEventListener("focus", takeSettings);
element("take-over").addEventListener("click", () => {
  screen.focus();
  use();
});
// A page that leaves writes down what it still has; one that comes back takes it away again, so that a duplicated tab,
// which starts with a copy of the storage, never has another page's clientId.
addEventListener("pagehide", () => outbox?.store());
addEventListener("pageshow", (event) => event.persisted && outbox?.forget());
element("again").addEventListener("click", () => start({ fresh: true }));
element("more").addEventListener("click", () => openMenu(element("more"), "More", [
  { title: "Find…", keys: "Ctrl+Shift+F", run: () => screen.openSearch() },
  { title: "Paste", keys: "Ctrl+Shift+V", run: () => pasteFromClipboard(screen) },
  { title: "Send a file…", run: () => files.pick() },
  { title: "Save the text", run: () => save() },
  { title: "Clear", run: () => outbox?.push("clear") && screen.focus() },
  toggle("Bell sound", "bell-sound", () => {}),
  toggle("Screen reader", "screen-reader", (on) => screen.setScreenReader(on)),
]));
start({ fresh: false });

/** Attaches to the session's terminal; an ended one is shown as it ended unless a fresh one is wanted. */
async function start({ fresh }) {
  element("ended").hidden = true;
  early.begin();
  screen.focus();
  let terminal;
  try {
    const [terminals] = await Promise.all([fresh ? [] : listTerminals(), takeSettings()]);
    const known = terminals.find((terminal) => terminal.sessionId === sessionId);
    terminal = known?.exited
      ? { terminalId: known.id, websocketPath: `${base}v1/terminals/${known.id}/socket`, nextOutputSeq: 1 }
      : await createTerminal(sessionId, screen.ownGrid() ?? { cols: 80, rows: 24 });
  } catch (error) {
    if (error.status === 401) return askForToken(error.message);
    if (error.status !== 0) return showEnd(error.message);
    notice.trouble("The server cannot be reached. Trying again…");
    return void setTimeout(() => start({ fresh }), 2000);
  }
  attach(terminal);
}

function attach({ terminalId: id, websocketPath, nextOutputSeq }) {
  terminalId = id;
  link?.end();
  screen.clear();
  ptyGrid = askedGrid = null;
  outbox = new Outbox(terminalId, (text) => link?.send(text));
  const cursor = nextOutputSeq - 1 > REPLAY_BYTES_MAX ? CURSOR_AHEAD : 0;
  link = new Link(websocketPath, cursor, {
    open: opened,
    output: received,
    control: controlled,
    latency: showLatency,
    down: ({ restarting, error }) => {
      showLatency(null);
      notice.trouble(
        restarting ? "The server is restarting. Reconnecting…"
        : error?.status === 0 ? "The server cannot be reached. What you type is sent when it is back."
        : "Connection lost. What you type is sent when it is back.",
      );
    },
    refused: (error) => {
      if (error.status === 401) return askForToken(error.message);
      showEnd(error.status === 404 ? "This terminal is gone: it was closed, or its server was restarted." : error.message);
    },
  });
  outbox.push("focus");
  screen.focus();
  type(early.take());
}

/** The settings of everybody's pages, which this protocol does not tell: they are asked for when the page is opened,
 *  connected again, or looked at. */
async function takeSettings() {
  const told = await call("GET", "v1/settings").catch(() => settings);
  if (JSON.stringify(told) === JSON.stringify(settings)) return;
  settings = told;
  showSettings();
}

function showSettings() {
  if (settings) screen.setLook(dress(settings, prefersDark.matches));
}

function opened() {
  takeSettings();
  notice.trouble(null);
  outbox.sendAgain();
  askedGrid = null;
  askForSize();
}

function received(bytes, about) {
  screen.write(bytes, about);
  if (screen.unparsedBytes > UNPARSED_BYTES_HIGH) link.hold();
}

function controlled(frame) {
  switch (frame.type) {
    case "ack":
      return outbox.acknowledged(frame.clientSeq);
    case "size":
      ptyGrid = { cols: frame.cols, rows: frame.rows };
      screen.setGrid(ptyGrid);
      return showGrid();
    case "exit":
      link.end();
      return showEnd(howItEnded(frame));
    case "error":
      return notice.say(frame.message);
  }
}

function type(data) {
  const isTaken = outbox ? outbox.input(data) : !early.isOn || early.keep(data);
  if (!isTaken) notice.say("Too much is waiting to be sent; the last input was left out.");
}

/** A tap, a click, the focus: this page is the one being used. */
function use() {
  if (document.hidden || !link) return;
  askForSize();
  outbox.push("focus");
}

function askForSizeSoon() {
  clearTimeout(resizeTimer);
  resizeTimer = setTimeout(askForSize, RESIZE_MS);
}

function askForSize() {
  screen.fitFont();
  const grid = screen.ownGrid();
  if (!outbox || !grid || document.hidden || sameGrid(grid, askedGrid)) return showGrid();
  askedGrid = grid;
  outbox.push("resize", grid);
  showGrid();
}

function onVisibility() {
  if (!outbox) return;
  if (document.hidden) {
    askedGrid = null;
    outbox.push("hide");
  } else {
    markTitle("");
    takeSettings();
    if (screen.unparsedBytes < UNPARSED_BYTES_LOW) link.resume();
    askForSize();
  }
}

function ownsSize() {
  return sameGrid(ptyGrid, askedGrid);
}

function sameGrid(one, other) {
  return one !== null && other !== null && one.cols === other.cols && one.rows === other.rows;
}

/** Says so when the grid is another client's, and offers to take it over. */
function showGrid() {
  const isForeign = link?.isOpen && ptyGrid !== null && askedGrid !== null && !ownsSize();
  element("grid").hidden = element("take-over").hidden = !isForeign;
  if (isForeign) element("grid").textContent = `${ptyGrid.cols} × ${ptyGrid.rows} elsewhere`;
  element("screen").classList.toggle("foreign", Boolean(isForeign));
}

function setTitle(text) {
  title = text || sessionId;
  element("title").textContent = title;
  markTitle(mark);
}

/** What happened while the page was not looked at. */
function markTitle(by) {
  mark = by;
  document.title = mark ? `${mark} ${title}` : title;
}

/** The round trip, while there is one. */
function showLatency(ms) {
  element("latency").hidden = ms === null;
  if (ms !== null) element("latency").textContent = ms < 1 ? "<1 ms" : `${Math.round(ms)} ms`;
}

/** Tab and the like belong to the program: this leaves the terminal by keyboard. */
function onKey(event) {
  if (!event.ctrlKey || !event.shiftKey || event.key.toLowerCase() !== "m") return true;
  event.preventDefault();
  if (event.type === "keydown") {
    element("more").focus();
    element("more").click();
  }
  return false;
}

function toggle(title, name, act) {
  const isOn = wish(name, false);
  return {
    title,
    isOn,
    run: () => {
      setWish(name, !isOn);
      act(!isOn);
      screen.focus();
    },
  };
}

async function save() {
  try {
    await saveText(terminalId, title);
  } catch (error) {
    screen.say(error.message);
  }
}

function howItEnded({ exitCode, signal }) {
  if (signal) return `Ended by signal ${signal}.`;
  if (typeof exitCode === "number") return exitCode === 0 ? "Ended." : `Ended with code ${exitCode}.`;
  return "Ended.";
}

function showEnd(text) {
  link = outbox = null;
  early.take();
  notice.trouble(null);
  element("ended-text").textContent = text;
  element("ended").hidden = false;
  showLatency(null);
  element("grid").hidden = element("take-over").hidden = true;
  document.activeElement?.blur();
  element("again").focus();
}

// For the browser's console, and for tests that ask what is on the screen.
globalThis.wharf = { term: screen.term, screen };
