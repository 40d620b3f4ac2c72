// The desk's pure parts: what a frame does to the state, what stands where, what is sent again. No browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { caps, matches } from "../../src/web/client/desk/commands.js";
import * as layout from "../../src/web/client/desk/layout.js";
import { cards, moved, sorted, surfaceOf } from "../../src/web/client/desk/model.js";
import { Outbox, base64, fromBase64 } from "../../src/web/client/desk/outbox.js";
import { fit } from "../../src/web/client/desk/palette.js";
import { Session } from "../../src/web/client/desk/session.js";
import { Store, nothing, reduce } from "../../src/web/client/desk/store.js";
import { View } from "../../src/web/client/desk/view.js";
import { TypeAhead } from "../../src/web/client/type-ahead.js";

const surface = (id, sessionId, more = {}) => ({ surfaceId: id, sessionId, cols: 80, rows: 24, cwd: "/srv", exited: false, createdAt: "1", ...more });
const pane = (session, more = {}) => ({ id: session, workspaceId: "w", title: "srv", resourceKind: "terminal", resourceId: session, ...more });
const hello = (more = {}) => ({
  type: "hello", sessionId: "s", seq: 0, settings: { theme: "obsidian" },
  snapshot: { workspaces: [], surfaces: [], panels: [], sidebar: {}, notifications: [], plans: [], autoContinueAudit: [], htKeys: [], ...more },
});
const after = (...frames) => frames.reduce(reduce, nothing);

test("what is typed early waits in order, up to a bound, without what a mouse or the focus says of the old terminal", () => {
  const early = new TypeAhead();
  assert.equal(early.isOn, false);
  early.begin();
  for (const data of ["a", "\x1b[<35;1;1M", "\x1b[M !!", "\x1b[I", "\x1b[O", "\x1b[A", "b"]) assert.equal(early.keep(data), true);
  early.begin();
  assert.equal(early.keep("x".repeat(64 << 10)), false);
  assert.equal(early.take(), "a\x1b[Ab");
  assert.deepEqual([early.isOn, early.take()], [false, ""]);
});

// ---- session ----

test("a session counts frames, and a hello begins another", () => {
  const session = new Session();
  assert.deepEqual(session.query(), {});
  assert.equal(session.take({ type: "hello", sessionId: "a", seq: 0 }).kind, "fresh");
  assert.equal(session.take({ type: "pong", seq: 1, nonce: "x" }).kind, "next");
  assert.deepEqual(session.query(), { resume: "a", seq: "1" });
  assert.equal(session.take({ type: "hello", sessionId: "b", seq: 0 }).kind, "fresh");
  assert.deepEqual(session.query(), { resume: "b", seq: "0" });
});

test("a frame that is missing or comes twice ends the session", () => {
  for (const seq of [3, 1, undefined]) {
    const session = new Session();
    session.take({ type: "hello", sessionId: "a", seq: 0 });
    session.take({ type: "x", seq: 1 });
    assert.equal(session.take({ type: "x", seq }).kind, "gap");
    assert.deepEqual(session.query(), {});
  }
  assert.equal(new Session().take({ type: "x", seq: 1 }).kind, "gap");
});

test("what a resume repeats is history, up to the answer to the first ping", () => {
  const session = new Session();
  session.opened("p1");
  session.take({ type: "hello", sessionId: "a", seq: 0 });
  assert.equal(session.take({ type: "surfaceStdout", seq: 1, snapshot: true }).history, true);
  assert.equal(session.take({ type: "surfaceStdout", seq: 2 }).history, false);
  session.opened("p2");
  assert.equal(session.take({ type: "surfaceStdout", seq: 3 }).history, true);
  assert.equal(session.take({ type: "pong", nonce: "p1", seq: 4 }).history, true, "repeated itself");
  session.take({ type: "pong", nonce: "p2", seq: 5 });
  assert.equal(session.take({ type: "surfaceStdout", seq: 6 }).history, false);
});

// ---- outbox ----

const bytes = (text) => new TextEncoder().encode(text);

test("input is kept until it is acknowledged, per terminal, in order", () => {
  const outbox = new Outbox({ clientId: "c" });
  outbox.push("one", bytes("a"));
  outbox.push("two", bytes("b"));
  outbox.push("one", bytes("c"));
  assert.deepEqual(outbox.waiting.map(({ surfaceId, clientSeq, clientId }) => [surfaceId, clientSeq, clientId]), [["one", 1, "c"], ["two", 2, "c"], ["one", 3, "c"]]);
  outbox.acknowledged("one", 1);
  assert.deepEqual(outbox.waiting.map(({ clientSeq }) => clientSeq), [2, 3]);
  outbox.acknowledged("one", 3);
  assert.deepEqual(outbox.waiting.map(({ clientSeq }) => clientSeq), [2], "another terminal's stays");
  outbox.retain(new Set(["one"]));
  assert.deepEqual(outbox.waiting, []);
});

test("a page after a reload goes on with the numbers and what waits", () => {
  const before = new Outbox({ clientId: "c" });
  before.push("one", bytes("typed"));
  const next = new Outbox(JSON.parse(JSON.stringify(before.stored(1000))));
  assert.deepEqual(next.waiting, before.waiting);
  assert.equal(next.push("one", bytes("x"))[0].clientSeq, 2);
  assert.equal(before.stored(2), null, "more than a page may store");
});

test("a large paste goes in frames that the server takes, and too much is refused", () => {
  const outbox = new Outbox({ clientId: "c" });
  const paste = new Uint8Array(200_000).map((_, n) => n);
  const frames = outbox.push("one", paste);
  assert.ok(frames.every((frame) => JSON.stringify(frame).length < 256 << 10));
  assert.deepEqual(Uint8Array.from(frames.flatMap((frame) => [...fromBase64(frame.bytes)])), paste);
  assert.equal(outbox.push("one", new Uint8Array(40 << 20)), null);
  assert.equal(outbox.waiting.length, frames.length);
});

test("base64 is that of the protocol", () => {
  assert.equal(base64(Uint8Array.of(0xff, 0, 0x80)), "/wCA");
  assert.equal(base64(bytes("é")), "w6k=");
  assert.deepEqual(fromBase64("w6k="), bytes("é"));
});

// ---- store ----

test("each frame changes its part of the state, and only that", () => {
  const start = after(hello({ surfaces: [surface("t", "s")], workspaces: [{ id: "w", panes: [] }], panels: [{ surfaceId: "t", id: "p", panel: { x: 1, type: "svg" } }] }));
  const one = (frame) => reduce(start, frame);
  assert.equal(one({ type: "surfaceResize", surfaceId: "t", cols: 100, rows: 30 }).surfaces.get("t").cols, 100);
  assert.equal(one({ type: "surfaceAttend", surfaceId: "t", attended: true }).surfaces.get("t").attended, true);
  assert.equal(one({ type: "surfaceExit", surfaceId: "t", exitCode: 3 }).surfaces.get("t").exitCode, 3);
  assert.deepEqual(one({ type: "surfaceMetadata", surfaceId: "t", metadata: { cwd: "/" } }).surfaces.get("t").metadata, { cwd: "/" });
  assert.equal(one({ type: "surfaceCreate", surface: surface("u", "s2") }).surfaces.size, 2);
  const closed = one({ type: "surfaceClose", surfaceId: "t" });
  assert.deepEqual([closed.surfaces.size, closed.panels.size], [0, 0]);
  assert.deepEqual(one({ type: "panelUpdate", surfaceId: "t", id: "p", panel: { x: 2 } }).panels.get("t").get("p"), { x: 2, type: "svg" });
  assert.equal(one({ type: "panelClear", surfaceId: "t", id: "p" }).panels.get("t").size, 0);
  assert.deepEqual(one({ type: "settingsSnapshot", settings: { theme: "x" } }).settings, { theme: "x" });
  for (const [type, name, field] of [["htKeysSeen", "keys", "htKeys"], ["plansSnapshot", "plans", "plans"], ["autoContinueAudit", "audit", "audit"], ["workspacesUpdate", "workspaces", "workspaces"]]) {
    assert.deepEqual(one({ type, [name]: ["new"] })[field], ["new"], type);
  }
  for (const frame of [{ type: "surfaceStdout", surfaceId: "t" }, { type: "ack" }, { type: "later" }, { type: "surfaceResize", surfaceId: "gone", cols: 1, rows: 1 }]) {
    assert.equal(one(frame), start, frame.type);
  }
  assert.equal(one({ type: "surfaceResize", surfaceId: "t", cols: 100, rows: 30 }).workspaces, start.workspaces);
});

test("the sidebar is merged: fields one by one, null removes, lines are new ones", () => {
  const update = (sidebar) => ({ type: "sidebarUpdate", sidebar });
  const state = after(hello(), update({ w: { status: { a: { text: "1" } } } }), update({ w: { status: { b: { text: "2" } }, progress: { value: 0.5 } } }), update({ w: { log: [{ message: "x" }] } }), update({ w: { log: [{ message: "y" }] } }));
  assert.deepEqual(state.sidebar.w, { status: { a: { text: "1" }, b: { text: "2" } }, progress: { value: 0.5 }, log: [{ message: "x" }, { message: "y" }] });
  const less = reduce(reduce(state, update({ w: { status: { a: null } } })), update({ w: { progress: null } }));
  assert.deepEqual([less.sidebar.w.status, less.sidebar.w.progress], [{ b: { text: "2" } }, null]);
  assert.deepEqual(reduce(less, update({ w: null })).sidebar, {});
});

test("a notification comes once and goes by its id", () => {
  const made = (id, title) => ({ type: "notificationCreate", notification: { id, title } });
  const state = after(hello(), made("1", "a"), made("2", "b"), made("1", "c"));
  assert.deepEqual(state.notifications.map(({ title }) => title), ["b", "c"]);
  assert.deepEqual(reduce(state, { type: "notificationDismiss", id: "2" }).notifications.map(({ id }) => id), ["1"]);
});

test("a hello forgets everything before it, and those who watch are told of changes only", () => {
  const store = new Store();
  const told = [];
  const end = store.watch((state, before) => told.push([before.surfaces.size, state.surfaces.size]));
  store.take(hello({ surfaces: [surface("t", "s")] }));
  store.take({ type: "surfaceStdout", surfaceId: "t" });
  store.take(hello());
  end();
  store.take(hello({ surfaces: [surface("t", "s")] }));
  assert.deepEqual(told, [[0, 1], [1, 0]]);
});

// ---- model ----

test("a row says what its terminal is, does and where", () => {
  const metadata = { pid: 1, foregroundPid: 2, cwd: "/srv/deep", tree: [{ pid: 2, argv: ["/usr/bin/vim", "x"], cpu: 1, rss: 2 }], listeningPorts: [{ port: 81 }, { port: 80 }, { port: 80 }], git: { branch: "main", head: "ab", ahead: 1, behind: 0, staged: 0, unstaged: 1, untracked: 0, conflicts: 0 } };
  const state = after(hello({ workspaces: [{ id: "w", name: "Work", panes: [pane("s", { liveTitle: "vim x" })] }], surfaces: [surface("t", "s", { metadata })] }));
  const [{ rows: [row] }] = cards(state, {});
  const { state: what, name, command, cwd, ports, branch } = row;
  assert.deepEqual({ what, name, command, cwd, ports }, { what: "running", name: "vim x", command: "vim", cwd: "/srv/deep", ports: [80, 81] });
  assert.deepEqual(branch, { name: "main", ahead: 1, behind: 0, dirty: true });
});

test("a name that a person gave stands before what the program says", () => {
  const rowOf = (fields) => cards(after(hello({ workspaces: [{ id: "w", name: "Work", panes: [pane("s", fields)] }], surfaces: [surface("t", "s")] })), {})[0].rows[0];
  assert.deepEqual([rowOf({ title: "api", liveTitle: "make" }).name, rowOf({ title: "api", liveTitle: "make" }).live], ["api", "make"]);
  assert.deepEqual([rowOf({ liveTitle: "make" }).name, rowOf({ liveTitle: "make" }).live], ["make", ""], "srv is where it started");
  assert.equal(rowOf({}).name, "srv");
});

test("a session's terminal is the live one, else the newest, else gone", () => {
  const state = after(hello({ workspaces: [{ id: "w", name: "W", panes: [pane("s"), pane("lost")] }], surfaces: [surface("old", "s", { exited: true, createdAt: "9" }), surface("new", "s")] }));
  assert.equal(surfaceOf(state, "s").surfaceId, "new");
  assert.deepEqual(cards(state, {})[0].rows.map(({ state }) => state), ["idle", "gone"]);
});

test("what was ordered comes first, the rest as it came", () => {
  assert.deepEqual(sorted(["a", "b", "c", "d"], ["d", "gone", "b"], (key) => key), ["d", "b", "a", "c"]);
  assert.deepEqual(moved(["a", "b", "c"], "c", { by: -1 }), ["a", "c", "b"]);
  assert.deepEqual(moved(["a", "b", "c"], "a", { by: -1 }), ["a", "b", "c"]);
  assert.deepEqual(moved(["a", "b", "c"], "a", { before: "c" }), ["b", "a", "c"]);
  assert.deepEqual(moved(["a", "b", "c"], "a", { before: null }), ["b", "c", "a"]);
});

// ---- layout ----

/** `a | (b / c)` as text: rows with |, columns with /, shares in percent. */
const drawn = (tree) => !tree ? "" : tree.children ? `(${tree.children.map((child, n) => `${drawn(child)}:${Math.round(tree.shares[n] * 100)}`).join(tree.direction === "row" ? " | " : " / ")})` : tree.session;
const three = layout.split(layout.split(layout.leaf("a"), "a", "row", "b"), "b", "column", "c");

test("a split puts the new one beside, and three in a row are one row", () => {
  assert.equal(drawn(three), "(a:50 | (b:50 / c:50):50)");
  assert.equal(drawn(layout.split(three, "a", "row", "d")), "(a:25 | d:25 | (b:50 / c:50):50)");
  assert.equal(drawn(layout.split(null, null, "row", "a")), "a");
  assert.deepEqual(layout.sessions(three), ["a", "b", "c"]);
});

test("what is removed leaves its room to its neighbours, and no split with one child", () => {
  assert.equal(drawn(layout.keep(three, (session) => session !== "b")), "(a:50 | c:50)");
  assert.equal(drawn(layout.keep(three, (session) => session !== "a")), "(b:50 / c:50)");
  assert.equal(layout.keep(layout.leaf("a"), () => false), null);
  const nested = layout.split(layout.split(three, "c", "row", "d"), "d", "row", "e");
  assert.equal(drawn(layout.keep(nested, (session) => session !== "b")), "(a:50 | c:25 | d:13 | e:13)");
  assert.equal(drawn(layout.replace(three, "c", "x")), "(a:50 | (b:50 / x:50):50)");
});

test("dividers move between their two panes and never close one", () => {
  assert.equal(drawn(layout.moveDivider(three, [], 0, 0.2)), "(a:70 | (b:50 / c:50):30)");
  assert.equal(drawn(layout.moveDivider(three, [1], 0, -9)), "(a:50 | (b:8 / c:92):50)");
});

test("places fill the whole, and the focus goes where one looks", () => {
  const { panes, dividers } = layout.places(three);
  assert.deepEqual(panes.map(({ session, x, y, width, height }) => [session, x, y, width, height]), [["a", 0, 0, 0.5, 1], ["b", 0.5, 0, 0.5, 0.5], ["c", 0.5, 0.5, 0.5, 0.5]]);
  assert.equal(dividers.length, 2);
  const to = (from, direction) => layout.neighbour(three, from, direction);
  assert.deepEqual([to("a", "right"), to("c", "left"), to("b", "down"), to("c", "up"), to("a", "left"), to("b", "right")], ["b", "a", "c", "b", null, null]);
  assert.deepEqual(layout.dividerNear(three, "b", "down"), { path: [1], at: 0 });
  assert.deepEqual(layout.dividerNear(three, "b", "left"), { path: [], at: 0 });
  assert.equal(layout.dividerNear(layout.leaf("a"), "a", "left"), null);
});

test("a stored layout is read back, and whatever else was stored does no harm", () => {
  assert.deepEqual(layout.parse(JSON.parse(JSON.stringify(three))), three);
  let deep = { session: "x" };
  for (let n = 0; n < 1000; n++) deep = { direction: "row", children: [deep, { session: `y${n}` }], shares: [1, 1] };
  for (const value of [null, 7, "x", [], {}, { direction: "row", children: [], shares: [] }, { direction: "up", children: [{ session: "a" }], shares: [1] }, { direction: "row", children: [{ session: "a" }], shares: [NaN] }, { session: 7 }]) {
    assert.equal(layout.parse(value), null, JSON.stringify(value));
  }
  assert.ok(layout.sessions(layout.parse(deep)).length <= 64);
  const twice = { direction: "row", children: [{ session: "a" }, { session: "a" }], shares: [1, 1] };
  assert.equal(drawn(layout.parse(twice)), "a");
});

// ---- view ----

function storage(stored) {
  const kept = { key: stored };
  return { getItem: (name) => kept[name] ?? null, setItem: (name, text) => (kept[name] = text) };
}

const workspace = (id, ...sessions) => ({ id, panes: sessions.map((session) => pane(session)) });

test("the layout outlives the page, and dead terminals drop out", () => {
  const kept = storage();
  const view = new View(kept, "key");
  view.show("w", "a");
  view.split("row", "b");
  view.split("column", "c");
  view.toggleZoom();
  view.order({ panes: { w: ["b", "a"] } });
  const again = new View(kept, "key");
  assert.deepEqual(again.state, view.state);
  assert.deepEqual([again.focused, again.visible], ["c", ["c"]]);
  again.prune([workspace("w", "a", "b")]);
  assert.deepEqual([again.focused, again.visible, drawn(again.desk.tree)], ["b", ["b"], "(a:50 | b:50)"]);
  again.prune([workspace("other")]);
  assert.deepEqual([again.state.workspace, again.visible, again.focused], ["other", [], null]);
  assert.deepEqual(again.state.order.panes, {});
});

test("a terminal is shown where it stands, else in place of the focused one", () => {
  const view = new View(storage(), "key");
  view.show("w", "a");
  view.split("row", "b");
  view.show("w", "a");
  assert.deepEqual([view.focused, drawn(view.desk.tree)], ["a", "(a:50 | b:50)"]);
  view.show("w", "c");
  assert.deepEqual([view.focused, drawn(view.desk.tree)], ["c", "(c:50 | b:50)"]);
  view.show("v", "a");
  assert.deepEqual([view.state.workspace, view.visible], ["v", ["a"]]);
  view.open("w");
  assert.equal(view.focused, "c", "each workspace has its own");
  view.unshow("c");
  assert.deepEqual([view.focused, view.visible], ["b", ["b"]]);
});

test("a storage that holds nonsense or refuses gives an empty desk", () => {
  for (const stored of ["", "{", "7", '{"desks":{"w":{"tree":7}},"order":{"panes":{"w":[1]},"workspaces":7}}', '{"desks":null}']) {
    assert.deepEqual(new View(storage(stored), "key").visible, [], stored);
  }
  const refusing = { getItem: () => { throw new Error("no"); }, setItem: () => { throw new Error("no"); } };
  const view = new View(refusing, "key");
  view.show("w", "a");
  assert.equal(view.focused, "a");
});

// ---- keys ----

const press = (key, code, modifiers) => ({ key, code, ctrlKey: false, altKey: false, shiftKey: false, metaKey: false, ...Object.fromEntries(modifiers.map((name) => [`${name}Key`, true])) });

test("keys are what they say on any layout, and a Mac's Option does not hide them", () => {
  assert.ok(matches("Ctrl+Shift+P", press("P", "KeyP", ["ctrl", "shift"]), false));
  assert.ok(matches("Ctrl+Shift+P", press("P", "KeyR", ["ctrl", "shift"]), false), "Dvorak");
  assert.ok(!matches("Ctrl+Shift+P", press("L", "KeyP", ["ctrl", "shift"]), false));
  assert.ok(!matches("Ctrl+Shift+P", press("p", "KeyP", ["ctrl"]), false));
  assert.ok(matches("Ctrl+Shift+P", press("P", "KeyP", ["meta", "shift"]), true));
  assert.ok(!matches("Ctrl+Shift+P", press("P", "KeyP", ["ctrl", "shift"]), true));
  assert.ok(matches("Alt+Shift+N", press("˜", "KeyN", ["alt", "shift"]), true));
  assert.ok(matches("Alt+Shift+Plus", press("+", "Equal", ["alt", "shift"]), false));
  assert.ok(matches("Alt+Shift+ArrowLeft", press("ArrowLeft", "ArrowLeft", ["alt", "shift"]), false));
  assert.ok(!matches("Alt+Shift+ArrowLeft", press("ArrowLeft", "ArrowLeft", ["alt", "shift", "ctrl"]), false));
  assert.deepEqual([caps("Ctrl+Shift+P", true), caps("Alt+Shift+ArrowLeft", false)], [["⌘", "⇧", "P"], ["Alt", "Shift", "←"]]);
});

test("the palette finds by letters in order, starts of words first", () => {
  const best = (typed, ...texts) => texts.map((text) => [fit(typed, text), text]).filter(([cost]) => cost !== null).sort(([a], [b]) => a - b).map(([, text]) => text);
  assert.deepEqual(best("sr", "Show or hide the sidebar", "Split right", "Split down"), ["Split right", "Show or hide the sidebar"]);
  assert.deepEqual(best("xyz", "Split right"), []);
  assert.deepEqual(best("", "b", "a").length, 2);
});

// ---- colours ----

const css = (name) => readFileSync(new URL(`../../src/web/client/${name}`, import.meta.url), "utf8");
const colors = [...`${css("page.css")}${css("desk/desk.css")}`.matchAll(/(--[\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)];
const tokens = new Map(colors.map(([, name, light, dark]) => [name, { light, dark }]));

function luminance(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

test("text is readable in both themes: WCAG AA, 4.5 to 1, on every ground it stands on", () => {
  const grounds = ["--ground", "--sheet", "--hover", "--chosen"];
  const pairs = [
    ...["--ink", "--faint", "--quiet"].flatMap((ink) => grounds.map((ground) => [ink, ground])),
    ...["--ink", "--faint"].map((ink) => [ink, "--chip"]),
    ...["--danger", "--running", "--warning", "--working", "--accent"].flatMap((ink) => ["--ground", "--sheet"].map((ground) => [ink, ground])),
    ["--accent", "--chip"], ["--on-accent", "--accent"], ["--warn-ink", "--warn-ground"],
  ];
  const poor = pairs.flatMap(([ink, ground]) => ["light", "dark"].map((scheme) => [`${ink} on ${ground}, ${scheme}`, contrast(tokens.get(ink)[scheme], tokens.get(ground)[scheme])])).filter(([, ratio]) => ratio < 4.5);
  assert.deepEqual(poor, []);
});

test("what shows the focus, and the state of a terminal, stands out 3 to 1", () => {
  for (const scheme of ["light", "dark"]) {
    for (const [mark, ground] of [["--accent", "--ground"], ["--accent", "--sheet"], ["--quiet", "--ground"], ["--running", "--ground"], ["--working", "--chosen"]]) {
      assert.ok(contrast(tokens.get(mark)[scheme], tokens.get(ground)[scheme]) >= 3, `${mark} on ${ground}, ${scheme}`);
    }
  }
});
