// What a person does at the desk, on a computer and on a phone, and what must come of it.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import {
  desktop, home, lines, openDesk, phone, picture, run, script, serve, serveEachTest, server, startProxy, tab,
  until, untilLine, untilMatch, untilOwnSize, untilText,
} from "./harness.mjs";

/** The device attributes, with or without images, which are loaded a moment later. */
const REPLY = /^got \$'\\E\[\?(1;2|62;4;9;22)'$/;

serveEachTest();

const visible = (page) => page.locator(".pane:not([hidden])");
const untilPanes = (page, count) => page.waitForFunction((count) => document.querySelectorAll(".pane:not([hidden])").length === count, count);
const untilRows = (page, count) => page.waitForFunction((count) => document.querySelectorAll(".row").length === count, count);
const rowNames = (page) => page.locator(".row-name").allTextContents();
const untilFocused = (page, title) => page.waitForFunction((title) => document.querySelector(".pane.focused:not([hidden]) .pane-title")?.textContent === title, title);
const focused = (page) => page.evaluate(() => wharf.desk.view.focused);
const key = (page, keys) => page.keyboard.press(keys);
const named = async (page, name) => {
  await key(page, "Alt+Shift+R");
  await page.getByRole("textbox", { name: "Name" }).fill(name);
  await key(page, "Enter");
  await untilFocused(page, name);
};
const grid = (page) => page.evaluate(() => `${wharf.term.cols}x${wharf.term.rows}`);
const newTerminal = async (page) => {
  const before = await focused(page);
  await key(page, "Alt+Shift+N");
  await page.waitForFunction((before) => wharf.desk.view.focused !== before, before);
  await untilLine(page, "$");
};
const splitRight = async (page) => {
  const before = await focused(page);
  await key(page, "Alt+Shift+Equal");
  await page.waitForFunction((before) => wharf.desk.view.focused !== before, before);
  await untilLine(page, "$");
};
const splitDown = async (page) => {
  const before = await focused(page);
  await key(page, "Alt+Shift+Minus");
  await page.waitForFunction((before) => wharf.desk.view.focused !== before, before);
  await untilLine(page, "$");
};

// ---- workspaces and terminals ----

test("an empty desk offers a terminal, and Enter starts a real shell", async () => {
  const page = await tab();
  await page.goto(server.url);
  await page.waitForFunction(() => document.activeElement?.id === "first-terminal");
  await key(page, "Enter");
  await untilLine(page, "$");
  await run(page, "echo $((6 * 7)) $TERM");
  await untilLine(page, "42 xterm-256color");
});

test("the sidebar shows the live title, what a terminal is doing, where it stands and its ports", async () => {
  const page = await openDesk();
  await run(page, "printf '\\033]2;⠋ compiling\\007'; mkdir -p deep/er; cd deep/er; python3 -m http.server 0 --bind 127.0.0.1");
  await untilText(page, ".row-name", "compiling");
  await page.waitForSelector(".row .dot.is-working");
  await page.locator(".row .chip", { hasText: /^er$/ }).waitFor();
  const port = page.locator(".row a.chip");
  await port.waitFor();
  const link = new URL(await port.getAttribute("href"));
  assert.equal((await fetch(link)).status, 200, "the link leads to the program");
  assert.equal(await port.getAttribute("rel"), "noopener noreferrer");
  await key(page, "Control+c");
  await run(page, "printf '\\033]2;\\007'; PROMPT_COMMAND=; PS1='> '; sleep 1000");
  await page.waitForSelector(".row .dot.is-running");
  await untilText(page, ".fact.command", "sleep");
  await key(page, "Control+c");
  await page.waitForSelector(".row .dot.is-idle");
});

test("a terminal in a repository shows the branch, and that there are changes", async () => {
  const page = await openDesk();
  await run(page, "git init -q -b harbour . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && cd . && touch new");
  await page.locator(".row .chip", { hasText: "harbour*" }).waitFor();
  await untilText(page, ".fact.branch", "harbour");
});

test("terminals that are gone stand behind a button when they are many, and can be removed at once", async () => {
  const page = await openDesk();
  for (const name of ["a", "b", "c", "d"]) await script("PUT", `/v1/workspaces/default/panes/${name}`, { title: name, resourceKind: "terminal", resourceId: name });
  await page.getByRole("button", { name: "4 that are gone" }).click();
  await untilRows(page, 5);
  await page.getByRole("button", { name: "Menu of Default" }).click();
  await page.getByRole("menuitem", { name: "Remove ended terminals" }).click();
  await untilRows(page, 1);
  await page.waitForFunction(() => document.querySelector(".more-rows").hidden);
});

test("a directory is pinned by its chip, new terminals start there, and a second press unpins it", async () => {
  const page = await openDesk();
  await run(page, "mkdir site; cd site");
  const chip = page.locator(".row button.chip", { hasText: /^site$/ });
  await chip.click();
  await page.locator(".card > .chips .chip", { hasText: "site" }).waitFor();
  await page.waitForFunction(() => document.querySelector(".row button.chip").getAttribute("aria-pressed") === "true");
  await page.click(".pane:not([hidden]) .pane-screen");
  await run(page, "cd /");
  await page.locator(".row button.chip", { hasText: /^\/$/ }).waitFor();
  await newTerminal(page);
  await run(page, "pwd");
  await untilLine(page, join(home, "site"));
  await page.locator(".card > .chips .chip").click();
  await page.waitForFunction(() => document.querySelector(".card > .chips").childElementCount === 0);
});

test("status, progress and log of scripts stand on the workspace's card, and go", async () => {
  const page = await openDesk();
  await script("PUT", "/v1/workspaces/default/status/tests", { text: "12 passed", icon: "✓", color: "#3a3" });
  await script("PUT", "/v1/workspaces/default/progress", { value: 0.4, label: "Building" });
  await script("POST", "/v1/workspaces/default/log", { message: "compiled in 3 s", level: "success", source: "make" });
  await untilText(page, ".pill", "12 passed");
  await untilText(page, ".card-progress", "Building · 40 %");
  assert.equal(await page.locator("progress").evaluate((bar) => bar.value), 0.4);
  await untilText(page, ".log.success", "compiled in 3 s");
  await script("DELETE", "/v1/workspaces/default/status/tests");
  await script("DELETE", "/v1/workspaces/default/progress");
  await page.waitForFunction(() => document.querySelector(".pill") === null && document.querySelector(".card-progress").hidden);
});

test("a terminal is renamed and closed; one that runs a program asks first", async () => {
  const page = await openDesk();
  await named(page, "builds");
  assert.deepEqual(await rowNames(page), ["builds"]);
  await page.reload();
  await untilFocused(page, "builds");
  await untilLine(page, "$");
  await run(page, "sleep 1000");
  await page.waitForSelector(".row .dot.is-running");
  await page.getByRole("button", { name: "Close builds" }).click();
  await untilText(page, "dialog p", "sleep is running in it.");
  await key(page, "Escape");
  await untilRows(page, 1);
  await page.click(".pane:not([hidden]) .pane-screen");
  await key(page, "Alt+Shift+X");
  await page.getByRole("button", { name: "Close it" }).click();
  await untilRows(page, 0);
  await page.waitForSelector("#empty:not([hidden])");
  assert.deepEqual((await script("GET", "/v1/terminals")).terminals.filter(({ exited }) => !exited), []);
});

test("terminals are put in order by keys and by dragging, and stay so over a reload", async () => {
  const page = await openDesk();
  for (const name of ["one", "two", "three"]) {
    if (name !== "one") await newTerminal(page);
    await named(page, name);
  }
  await key(page, "Alt+Shift+S");
  await page.waitForFunction(() => document.activeElement.className === "row-main");
  await key(page, "Alt+ArrowUp");
  await key(page, "Alt+ArrowUp");
  assert.deepEqual(await rowNames(page), ["three", "one", "two"]);
  await page.locator(".row", { hasText: "two" }).dragTo(page.locator(".row", { hasText: "three" }), { targetPosition: { x: 60, y: 3 } });
  await page.waitForFunction(() => document.querySelector(".row-name").textContent === "two");
  await page.reload();
  await untilRows(page, 3);
  assert.deepEqual(await rowNames(page), ["two", "three", "one"]);
});

test("workspaces are made, named, filled by dragging, and deleted with what runs in them", async () => {
  const page = await openDesk();
  await named(page, "wanderer");
  await key(page, "Alt+Shift+W");
  await page.getByRole("textbox", { name: "Name" }).fill("Site");
  await key(page, "Enter");
  await untilText(page, ".card.open .card-name", "Site");
  await page.waitForSelector("#empty:not([hidden])");
  await page.locator(".row").dragTo(page.locator(".card", { hasText: "Site" }).locator(".none"));
  await page.locator(".card", { hasText: "Site" }).locator(".row", { hasText: "wanderer" }).waitFor();
  await untilRows(page, 1);
  await page.locator(".row-main").click();
  await untilFocused(page, "wanderer");
  await page.getByRole("button", { name: "Menu of Site" }).click();
  await page.getByRole("menuitem", { name: "Rename…" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Web");
  await key(page, "Enter");
  await page.getByRole("button", { name: "Menu of Web" }).click();
  await page.getByRole("menuitem", { name: "Delete workspace…" }).click();
  await untilText(page, "dialog p", "“wanderer” is closed with it.");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 1);
  assert.deepEqual((await script("GET", "/v1/terminals")).terminals.filter(({ exited }) => !exited), []);
});

test("a shell that exits says its code and can be started again; one that was closed elsewhere says so", async () => {
  const page = await openDesk();
  await run(page, "echo last words; exit 3");
  await untilText(page, ".pane-end", "Ended with code 3.");
  await untilLine(page, "last words");
  await page.getByRole("button", { name: "Start again" }).click();
  await run(page, "echo fresh");
  await untilLine(page, "fresh");
  const [{ id }] = (await script("GET", "/v1/terminals")).terminals.filter(({ exited }) => !exited);
  await script("DELETE", `/v1/terminals/${id}`);
  await untilText(page, ".pane-end", "This terminal is gone");
});

test("what is typed while a terminal is being started is for that one", async () => {
  const page = await openDesk();
  await named(page, "old");
  for (const start of ["Alt+Shift+N", "Alt+Shift+Equal"]) {
    await key(page, start);
    await run(page, "echo $((6 * 7))");
    await untilLine(page, "42");
  }
  await page.locator(".row-main", { hasText: "old" }).click();
  await untilFocused(page, "old");
  assert.deepEqual(await lines(page), ["$"]);
});

test("a terminal that is started has the keyboard from the press of the button on, in whatever order the network tells of it", async () => {
  const page = await openDesk();
  const name = () => page.evaluate(() => wharf.desk.rowOf(wharf.desk.view.focused)?.surfaceId ?? null);
  let release;
  let before;
  await page.route("**/v1/terminals", async (route) => {
    if (before) await before;
    const answer = await route.fetch();
    await new Promise((resolve) => (release = resolve));
    await route.fulfill({ response: answer });
  });
  // The mirror shows it before HTTP has answered.
  const old = await name();
  await run(page, "exit 3");
  await untilText(page, ".pane-end", "Ended with code 3.");
  await page.getByRole("button", { name: "Start again" }).click();
  await page.waitForFunction((old) => wharf.desk.stage.screenOf(wharf.desk.rowOf(wharf.desk.view.focused).surfaceId)?.term.element.isConnected && wharf.desk.rowOf(wharf.desk.view.focused).surfaceId !== old, old);
  await page.keyboard.type("echo fresh");
  await until("HTTP is about to answer", () => release);
  release();
  await key(page, "Enter");
  await untilLine(page, "fresh");
  // One that is gone has no screen to type into.
  await script("DELETE", `/v1/terminals/${await name()}`);
  await untilText(page, ".pane-end", "This terminal is gone");
  let go;
  before = new Promise((resolve) => (go = resolve));
  release = null;
  await page.getByRole("button", { name: "Start again" }).click();
  await page.keyboard.type("echo two wo");
  await key(page, "Backspace");
  await page.keyboard.type("ords\n");
  go();
  await until("HTTP is about to answer", () => release);
  release();
  await untilLine(page, "two words");
  // Closed by a script while somebody types: whoever starts it again elsewhere, the keys are for the new one.
  await page.unroute("**/v1/terminals");
  const { sessionId } = (await script("GET", "/v1/terminals")).terminals.find(({ exited }) => !exited);
  await script("DELETE", `/v1/terminals/${await name()}`);
  await untilText(page, ".pane-end", "This terminal is gone");
  await script("POST", "/v1/terminals", { sessionId, cwd: home, cols: 80, rows: 24 });
  await untilLine(page, "$");
  await run(page, "echo still mine");
  await untilLine(page, "still mine");
});

test("the first terminal of an empty desk takes what is typed while it is being started", async () => {
  const page = await tab();
  await page.goto(server.url);
  await page.waitForFunction(() => document.activeElement?.id === "first-terminal");
  let go;
  const asked = new Promise((resolve) => (go = resolve));
  await page.route("**/v1/terminals", async (route) => {
    await asked;
    await route.continue();
  });
  await key(page, "Enter");
  await run(page, "echo one two");
  go();
  await untilLine(page, "one two");
  await untilRows(page, 1);
});

// ---- panes ----

test("panes are split, focused, zoomed and hidden by keys", async () => {
  const page = await openDesk();
  await named(page, "left");
  await splitRight(page);
  await named(page, "right");
  await splitDown(page);
  await named(page, "below");
  await untilPanes(page, 3);
  for (const [arrow, name] of [["ArrowUp", "right"], ["ArrowLeft", "left"], ["ArrowRight", "right"], ["ArrowDown", "below"]]) {
    await key(page, `Alt+Shift+${arrow}`);
    await untilFocused(page, name);
  }
  await run(page, "echo typed below");
  await untilLine(page, "typed below");
  await key(page, "Alt+Shift+Z");
  await untilPanes(page, 1);
  await key(page, "Alt+Shift+Z");
  await untilPanes(page, 3);
  await key(page, "Alt+Shift+Q");
  await untilPanes(page, 2);
  await untilRows(page, 3);
  await page.locator(".row-main", { hasText: "below" }).click();
  await untilLine(page, "typed below");
});

test("a divider is dragged, or moved by keys, and the programs learn their size", async () => {
  const page = await openDesk();
  await splitRight(page);
  await untilPanes(page, 2);
  const width = () => visible(page).last().evaluate((pane) => pane.getBoundingClientRect().width);
  const before = await width();
  const divider = page.getByRole("separator");
  const box = await divider.boundingBox();
  await page.mouse.move(box.x + 4, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x - 150, box.y + 200, { steps: 6 });
  await page.mouse.up();
  await page.waitForFunction((width) => Math.abs(document.querySelectorAll(".pane:not([hidden])")[1].getBoundingClientRect().width - width) < 8, before + 154);
  await divider.focus();
  const share = await divider.getAttribute("aria-valuenow");
  await key(page, "ArrowRight");
  await page.waitForFunction((share) => Number(document.querySelector("[role=separator]").getAttribute("aria-valuenow")) > Number(share), share);
  await untilOwnSize(page);
  await visible(page).last().locator(".pane-screen").click();
  await run(page, "stty size");
  await untilLine(page, (await grid(page)).split("x").reverse().join(" "));
});

test("the layout survives a reload, and a terminal that died meanwhile drops out", async () => {
  const page = await openDesk();
  await named(page, "left");
  await splitRight(page);
  await named(page, "right");
  await splitDown(page);
  await named(page, "below");
  await page.getByRole("separator").first().focus();
  await key(page, "ArrowLeft");
  await page.waitForFunction(() => document.querySelector("[role=separator]").getAttribute("aria-valuenow") !== "50");
  const boxes = () => visible(page).evaluateAll((panes) => panes.map((pane) => [pane.querySelector(".pane-title").textContent, ...["left", "top", "width", "height"].map((side) => Math.round(parseFloat(pane.style[side])))]).sort());
  const before = await boxes();
  await page.reload();
  await untilPanes(page, 3);
  await untilFocused(page, "below");
  assert.deepEqual(await boxes(), before);

  const elsewhere = await openDesk();
  await elsewhere.getByRole("button", { name: "Close right" }).click();
  await untilRows(elsewhere, 2);
  await untilPanes(page, 2);
  await page.reload();
  await untilPanes(page, 2);
  assert.deepEqual((await boxes()).map(([name]) => name), ["below", "left"]);
});

test("a terminal that was hidden while it printed has everything when it is shown", async () => {
  const page = await openDesk();
  await named(page, "first");
  const other = await openDesk();
  await newTerminal(other);
  await named(other, "busy");
  await run(other, "seq 1 200000; seq 1 30; echo all of it");
  await untilLine(other, "all of it");
  const before = await picture(other);
  // What nobody looks at is not kept for ever as it came.
  await page.waitForSelector(".aside .pane-screen", { state: "attached" });
  await page.locator(".row-main", { hasText: "busy" }).click();
  await untilLine(page, "all of it");
  assert.deepEqual((await lines(page)).slice(-3), ["30", "all of it", "$"]);
  await page.waitForFunction(() => wharf.term.buffer.active.baseY > 0);
  assert.deepEqual((await picture(page)).cells, before.cells);
});

// ---- sizes ----

test("two browsers on one terminal: the one being used has the size, the other can take it over", async () => {
  const wide = await openDesk();
  await untilOwnSize(wide);
  const wideGrid = await grid(wide);
  const isForeign = (page, foreign) => page.waitForFunction((foreign) => (document.querySelector(".pane.focused .pane-grid").hidden === !foreign), foreign);
  const small = await openDesk({ viewport: { width: 620, height: 420 } });
  await isForeign(wide, true);
  await untilOwnSize(small);
  await until("both show one grid", async () => (await grid(wide)) === (await grid(small)));
  await wide.getByRole("button", { name: "Use this size" }).click();
  await isForeign(wide, false);
  await isForeign(small, true);
  assert.equal(await grid(wide), wideGrid);
  await run(wide, "stty size");
  await untilLine(small, wideGrid.split("x").reverse().join(" "));
  await small.click(".pane.focused .pane-screen");
  await small.keyboard.type("x");
  await isForeign(small, false);
  await isForeign(wide, true);
  // A tab in the background gives the size back, and takes nothing when it is seen again; so does a pane put away.
  const hide = (hidden) => small.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  await hide(true);
  await isForeign(wide, false);
  await hide(false);
  await isForeign(small, true);
  await small.keyboard.type("y");
  await isForeign(small, false);
  await isForeign(wide, true);
  await key(small, "Alt+Shift+Q");
  await isForeign(wide, false);
});

test("a program's query is answered once, by the page whose size it has, and never for history", async () => {
  const page = await openDesk();
  const other = await openDesk({ viewport: { width: 620, height: 420 } });
  await page.click(".pane.focused .pane-screen");
  await run(page, "stty -echo; printf '\\033[c'; IFS= read -rd c reply; stty echo; printf 'got %q\\n' \"$reply\"");
  await untilMatch(page, REPLY);
  await untilMatch(other, REPLY);
  await page.reload();
  await untilMatch(page, REPLY);
  await page.click(".pane.focused .pane-screen");
  await run(page, "echo typed");
  await untilLine(page, "typed");
  assert.deepEqual((await lines(page)).slice(-3), ["$ echo typed", "typed", "$"]);
});

// ---- the network ----

test("what is typed while connections are cut arrives once and in order", async () => {
  const proxy = await startProxy(server.port);
  const page = await openDesk(desktop, proxy.url);
  await run(page, "stty -echo; cat > typed; echo saved");
  await page.waitForFunction(() => !wharf.term.buffer.active.getLine(wharf.term.buffer.active.cursorY).translateToString(true).startsWith("$"));
  // Every fifth chunk from the browser is lost, or arrives without its acknowledgement.
  let chunks = 0;
  let cuts = 0;
  proxy.decide(() => {
    chunks += 1;
    if (chunks % 5 !== 0) return "pass";
    cuts += 1;
    return cuts % 2 === 0 ? "lose" : "pass-then-cut";
  });
  // Two lines whether there is a connection or not, and then again when there is one.
  const typed = [];
  while (cuts < 20) {
    for (const _ of [1, 2]) {
      typed.push(`line ${typed.length + 1}`);
      await page.keyboard.type(`${typed.at(-1)}\n`);
    }
    await page.waitForFunction(() => wharf.desk.link.isOpen);
  }
  proxy.decide(null);
  await key(page, "Control+d");
  await untilLine(page, "saved");
  assert.equal(readFileSync(join(home, "typed"), "utf8"), `${typed.join("\n")}\n`);
});

test("a lost connection is said calmly, moves no terminal, and what was typed waits, also over a reload", async () => {
  const proxy = await startProxy(server.port);
  const page = await openDesk(desktop, proxy.url);
  const box = () => page.locator(".pane:not([hidden]) .pane-screen").boundingBox();
  const before = await box();
  let isCut = true;
  proxy.decide(() => (isCut ? "lose" : "pass"));
  proxy.cut();
  await run(page, "echo patience");
  await untilText(page, "#status", "What you type is kept.");
  assert.deepEqual(await box(), before);
  isCut = false;
  await page.reload();
  await untilLine(page, "patience");
  assert.equal((await lines(page)).filter((line) => line === "patience").length, 1);
  await untilText(page, "#status", "Connected");
  await page.waitForFunction(() => /\d ms$/.test(document.querySelector(".latency").textContent));
});

test("output that runs while connections are cut is shown once and in order, and nothing flickers", async () => {
  const proxy = await startProxy(server.port);
  const page = await openDesk(desktop, proxy.url);
  const script = "for k in {0..19}; do until [ -e go$k ]; do sleep 0.01; done; for n in {1..150}; do echo out $((k * 150 + n)); done; done; echo done";
  writeFileSync(join(home, "print"), `${script}\n`);
  await run(page, ". ./print");
  // A terminal that is emptied and filled anew would be seen to have fewer lines at some moment.
  await page.evaluate(() => {
    let most = 0;
    globalThis.shrunk = 0;
    wharf.term.onRender(() => {
      const { length } = wharf.term.buffer.active;
      if (length < most) shrunk += 1;
      most = Math.max(most, length);
    });
  });
  for (let batch = 0; batch < 20; batch++) {
    writeFileSync(join(home, `go${batch}`), "");
    await page.waitForFunction((line) => wharf.term.buffer.active.length > line, batch * 150 + 20, { polling: 1 });
    proxy.cut();
    await untilLine(page, `out ${batch * 150 + 150}`);
  }
  await untilLine(page, "done");
  const out = (await lines(page)).filter((line) => line.startsWith("out "));
  assert.deepEqual(out, Array.from({ length: 3000 }, (_, n) => `out ${n + 1}`));
  assert.equal(await page.evaluate(() => shrunk), 0);
});

test("a server that restarts says so; its terminals are gone, and are started again where they stood", async () => {
  const page = await openDesk();
  await named(page, "kept");
  const { port } = server;
  await server.stop();
  await untilText(page, "#status", "server");
  await serve({ port });
  await untilText(page, ".pane-end", "This terminal is gone");
  await untilText(page, "#status", "Connected");
  await page.getByRole("button", { name: "Start again" }).click();
  await untilLine(page, "$");
  assert.deepEqual(await rowNames(page), ["kept"]);
  await run(page, "echo again");
  await untilLine(page, "again");
});

test("without the token the desk asks for it and says when it is wrong", async () => {
  await server.stop();
  writeFileSync(join(home, "token"), "correct-horse-battery", { mode: 0o600 });
  await serve({ args: ["--token-file", join(home, "token")] });
  const page = await tab();
  await page.goto(server.url.replace(/\?.*/, ""));
  await page.getByLabel("Token").fill("wrong");
  await page.getByRole("button", { name: "Open" }).click();
  await untilText(page, ".problem", "not accepted");
  await page.getByLabel("Token").fill("correct-horse-battery");
  await page.getByRole("button", { name: "Open" }).click();
  await page.waitForSelector("#empty:not([hidden])");
  assert.equal(new URL(page.url()).search, "");
  await page.click("#first-terminal");
  await untilLine(page, "$");
});

test("while one terminal floods, another is typed in, and the flood ends with its last line", async () => {
  const page = await openDesk();
  await named(page, "flood");
  await splitRight(page);
  await named(page, "quiet");
  await key(page, "Alt+Shift+ArrowLeft");
  await untilFocused(page, "flood");
  await run(page, "seq 1 4000000; echo flood over");
  await page.waitForFunction(() => wharf.term.buffer.active.baseY > 100);
  await key(page, "Alt+Shift+ArrowRight");
  await untilFocused(page, "quiet");
  await run(page, "echo heard");
  await untilLine(page, "heard");
  await key(page, "Alt+Shift+ArrowLeft");
  await untilFocused(page, "flood");
  await untilLine(page, "flood over");
  assert.deepEqual((await lines(page)).slice(-3), ["4000000", "flood over", "$"]);
});

// ---- hostile names ----

test("titles, names and directories that try to be markup are only text", async () => {
  const page = await openDesk();
  const evil = "<img src=x onerror=alert(1)>";
  await named(page, evil);
  await script("PUT", "/v1/workspaces/evil", { name: `${evil}"'`, color: "red;} body{display:none" });
  await script("PUT", "/v1/workspaces/evil/panes/p", { title: evil, resourceKind: "terminal", resourceId: "nobody" });
  await script("PUT", `/v1/workspaces/default/status/${encodeURIComponent(evil)}`, { text: evil, icon: "<b>", color: "url(http://127.0.0.1:1/x)" });
  await script("PUT", "/v1/workspaces/default/progress", { value: 0.5, label: evil });
  await script("POST", "/v1/workspaces/default/log", { message: evil, source: evil });
  await run(page, `mkdir '<img src=x onerror=alert(2)>'; cd '<img src=x onerror=alert(2)>'; printf '\\033]2;<script>alert(3)</script>\\007'; sleep 1000`);
  await untilText(page, ".row-live", "<script>");
  await untilText(page, ".chip", "<img src=x onerror=alert(2)>");
  await untilText(page, ".log", evil);
  await key(page, "Control+Shift+P");
  await page.locator(".palette li", { hasText: evil }).first().waitFor();
  assert.equal(await page.locator("main img, nav li img, dialog img, script:not([src]), .pill b").count(), 0);
  assert.ok((await page.title()).startsWith(evil));
});

// ---- the keyboard ----

test("the palette finds a command and a terminal, and the cheat sheet lists every key", async () => {
  const page = await openDesk();
  await named(page, "alpha");
  await newTerminal(page);
  await named(page, "beta");
  await key(page, "Control+Shift+P");
  await page.keyboard.type("alpha");
  await key(page, "Enter");
  await untilFocused(page, "alpha");
  await key(page, "Control+Shift+P");
  await page.keyboard.type("splitr");
  await key(page, "Enter");
  await untilPanes(page, 2);
  await key(page, "Control+Shift+P");
  await page.keyboard.type("zzzz");
  await untilText(page, ".palette .none", "Nothing fits.");
  await key(page, "Escape");
  await key(page, "Control+Shift+Slash");
  await untilText(page, ".cheat-sheet", "Split right");
  const listed = await page.locator(".cheat-sheet dt").allTextContents();
  const all = await page.evaluate(() => wharf.desk.commands.all.filter(({ keys }) => keys).map(({ title }) => title));
  assert.deepEqual([...all, "Move", "Resize", "Click"].filter((title) => !listed.includes(title)), []);
  await key(page, "Escape");
  // The terminal gets the keyboard back first.
  await page.waitForFunction(() => !document.querySelector(".cheat-sheet") && wharf.term.element.contains(document.activeElement));
  await page.focus("#find");
  await key(page, "?");
  await page.waitForSelector(".cheat-sheet");
});

test("finding, sending a file and saving the text work in a pane of the desk", async () => {
  const page = await openDesk();
  await run(page, "seq 1 300; echo needle; seq 1 300");
  await page.waitForFunction(() => wharf.term.buffer.active.baseY > 500);
  await key(page, "Control+Shift+F");
  await page.keyboard.type("needle");
  await page.waitForFunction(() => wharf.term.getSelection() === "needle");
  await key(page, "Escape");
  writeFileSync(join(home, "a file.txt"), "from here");
  await run(page, "mkdir in; cd in; clear; printf '%s\\n' ready");
  await untilLine(page, "ready");
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    page.locator(".pane.focused:not([hidden])").getByRole("button", { name: "Terminal menu" }).click().then(() => page.getByRole("menuitem", { name: "Send a file…" }).click()),
  ]);
  await chooser.setFiles(join(home, "a file.txt"));
  await page.waitForFunction(() => {
    const { active } = wharf.term.buffer;
    return active.getLine(active.baseY + active.cursorY).translateToString(true).includes("a file.txt");
  });
  assert.equal(readFileSync(join(home, "in/a file.txt"), "utf8"), "from here");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(".pane.focused:not([hidden])").getByRole("button", { name: "Terminal menu" }).click().then(() => page.getByRole("menuitem", { name: "Save the text" }).click()),
  ]);
  assert.match(readFileSync(await download.path(), "utf8"), /ready/);
});

test("what programs need reaches them: Ctrl, Alt, function keys, and a question mark", async () => {
  const page = await openDesk();
  await run(page, "stty raw -echo; head -c 24 | od -An -c -w24; stty sane");
  await page.waitForFunction(() => wharf.desk.rowOf(wharf.desk.view.focused).command === "head" || wharf.desk.rowOf(wharf.desk.view.focused).command === "od");
  for (const keys of ["Control+p", "Control+w", "Alt+n", "Alt+x", "F1", "F2", "Control+ArrowLeft", "Delete", "?"]) await key(page, keys);
  await page.keyboard.type("!");
  await page.waitForFunction(() => {
    const buffer = wharf.term.buffer.active;
    for (let y = 0; y < buffer.length; y++) if (buffer.getLine(y).translateToString(true).includes("020 027 033   n 033   x 033   O   P 033   O   Q 033   [   1   ;   5   D 033   [   3   ~   ?   !")) return true;
    return false;
  });
});

test("everything can be reached and is named for those who do not see it", async () => {
  const page = await openDesk();
  await splitRight(page);
  const nameless = await page.locator("button, a, input, [role=separator], section.pane, nav, main").evaluateAll((all) =>
    all.filter((element) => element.checkVisibility() && !element.closest(".xterm")).filter((element) => !(element.getAttribute("aria-label") || element.labels?.length || element.textContent.trim() || element.title)).map((element) => element.outerHTML));
  assert.deepEqual(nameless, []);
  await page.getByRole("navigation", { name: "Workspaces" }).waitFor();
  await page.getByRole("main", { name: "Terminals" }).waitFor();
  await key(page, "Alt+Shift+S");
  const seen = [];
  for (let n = 0; n < 30; n++) {
    await key(page, "Tab");
    const stop = await page.evaluate(() => {
      const { activeElement } = document;
      const { outlineStyle, outlineWidth } = getComputedStyle(activeElement);
      return { name: activeElement.getAttribute("aria-label") ?? activeElement.textContent.trim(), isSeen: activeElement.matches(".xterm-helper-textarea, body, [role=separator]") || (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2) };
    });
    if (!stop.isSeen) assert.fail(`the focus is not seen on ${stop.name}`);
    seen.push(stop.name);
    if (await page.evaluate(() => document.activeElement.matches(".xterm-helper-textarea"))) break;
  }
  assert.deepEqual(["New terminal", "New workspace", "Split right", "Split down", "Terminal menu"].filter((name) => !seen.includes(name)), []);
  assert.ok(await page.evaluate(() => document.activeElement.matches(".xterm-helper-textarea")), "the terminal is the next stop");
});

test("who wants less motion gets none", async () => {
  const page = await openDesk({ ...desktop, reducedMotion: "reduce" });
  await run(page, "printf '\\033]2;⠋ compiling\\007'; sleep 1000");
  await page.waitForSelector(".row .dot.is-working");
  assert.equal(await page.locator(".row .dot.is-working").evaluate((dot) => getComputedStyle(dot).animationIterationCount), "1");
});

// ---- the phone ----

test("on a phone: one terminal, a drawer for the others, the key bar, and no sideways scrolling", async () => {
  const page = await openDesk(phone);
  await named(page, "first");
  const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.querySelector("#status").getBoundingClientRect().bottom <= innerHeight);
  assert.ok(await fits());
  await page.getByRole("button", { name: "Workspaces" }).first().tap();
  await page.getByRole("button", { name: "New terminal", exact: true }).tap();
  await page.waitForFunction(() => wharf.desk.rowOf(wharf.desk.view.focused)?.name !== "first");
  await untilLine(page, "$");
  await untilPanes(page, 1);
  await page.tap(".pane.focused .pane-screen");
  await page.keyboard.type("echo a");
  await page.getByRole("button", { name: "|", exact: true }).tap();
  await page.keyboard.type("cat\n");
  await untilLine(page, "a");
  await page.getByRole("button", { name: "Ctrl", exact: true }).tap();
  await page.keyboard.type("c");
  await untilLine(page, "$ ^C");
  await page.getByRole("button", { name: "Workspaces" }).first().tap();
  await page.waitForFunction(() => document.querySelector("#sidebar").getBoundingClientRect().left === 0);
  assert.ok(await fits());
  await page.locator(".row-main", { hasText: "first" }).tap();
  await untilFocused(page, "first");
  await page.waitForFunction(() => document.querySelector("#sidebar").getBoundingClientRect().right <= 0);
});

// ---- the first load ----

test("the first load is under 500 KB over the wire, and comes from this server alone", async () => {
  let bytes = 0;
  const hosts = new Set();
  const counting = http.createServer((request, response) => {
    const { host: _, ...headers } = request.headers;
    const upstream = http.request({ port: server.port, host: "127.0.0.1", path: request.url, method: request.method, headers: { ...headers, host: `127.0.0.1:${server.port}` } }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.on("data", (chunk) => (bytes += chunk.length));
      answer.pipe(response);
    });
    request.pipe(upstream);
  });
  await new Promise((resolve) => counting.listen(0, "127.0.0.1", resolve));
  const page = await tab();
  page.on("request", (request) => hosts.add(new URL(request.url()).host));
  const url = `http://127.0.0.1:${counting.address().port}/`;
  await page.goto(url, { waitUntil: "networkidle" });
  await page.waitForSelector(".sidebar");
  assert.deepEqual([...hosts], [new URL(url).host]);
  assert.ok(bytes > 100_000 && bytes < 500_000, `${bytes} bytes`);
  console.log(`first load: ${bytes} bytes`);
  counting.closeAllConnections();
  await new Promise((resolve) => counting.close(resolve));
});

test("the desk works behind a base path", async () => {
  await server.stop();
  await serve({ args: ["--base-path", "/a/b"] });
  const page = await openDesk(desktop, new URL("/a/b/", server.url).href);
  await run(page, "echo here");
  await untilLine(page, "here");
  const [alone] = await Promise.all([
    page.context().waitForEvent("page"),
    page.getByRole("button", { name: "Terminal menu" }).click().then(() => page.getByRole("menuitem", { name: "Open alone" }).click()),
  ]);
  assert.match(new URL(alone.url()).pathname, /^\/a\/b\/t\/[0-9a-f]+$/);
  await untilLine(alone, "here");
});
