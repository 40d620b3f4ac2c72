// What surrounds terminals at the desk: what scripts draw and say, and how all of it looks.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import {
  desktop, home, openDesk, openShell, phone, run, script, serveEachTest, server, tab, until, untilLine, untilMatch, untilText,
} from "./harness.mjs";

serveEachTest();

const key = (page, keys) => page.keyboard.press(keys);
const surfaceId = (page) => page.evaluate(() => wharf.desk.rowOf(wharf.desk.view.focused).surfaceId);
const panel = (page, id) => page.locator(`.pane:not([hidden]) .panel[aria-label="Panel ${id}"]`);
const untilPanels = (page, count) => page.waitForFunction((count) => document.querySelectorAll(".panel").length === count && !document.querySelector("iframe.loading"), count);
/** What a panel's frame holds, which the page itself cannot see. */
const inside = async (page, id) => {
  const element = await panel(page, id).locator("iframe:not(.loading)").elementHandle();
  return (await element.contentFrame()).evaluate(() => document.body.innerText.trim());
};
const toast = (page, text) => page.locator(".toast-note", { hasText: text });
const bellCount = (page, count) => page.waitForFunction((count) => {
  const bell = document.querySelector(".bell-count");
  return bell.hidden ? count === 0 : bell.textContent === String(count);
}, count);
const settingsDialog = async (page) => {
  await key(page, "Alt+Shift+O");
  return page.getByRole("dialog", { name: "Settings" });
};
const setting = (page, name) => page.evaluate((name) => wharf.desk.state.settings[name], name);
const untilSetting = (page, name, value) => page.waitForFunction(([name, value]) => JSON.stringify(wharf.desk.state.settings[name]) === JSON.stringify(value), [name, value]);
const look = (page) => page.evaluate(() => {
  const { theme, fontSize, fontFamily } = wharf.term.options;
  return { background: theme.background, red: theme.red, fontSize, fontFamily, scheme: document.documentElement.style.colorScheme };
});

/** A PNG of one colour. */
function png(width, height, [r, g, b]) {
  const crcTable = Array.from({ length: 256 }, (_, n) => {
    for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
    return n >>> 0;
  });
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    let crc = 0xffffffff;
    for (const byte of body) crc = crcTable[(crc ^ byte) & 0xff] ^ (crc >>> 8);
    const sized = Buffer.alloc(body.length + 8);
    sized.writeUInt32BE(data.length, 0);
    body.copy(sized, 4);
    sized.writeUInt32BE(~crc >>> 0, body.length + 4);
    return sized;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const line = Buffer.concat([Buffer.from([0]), Buffer.concat(Array(width).fill(Buffer.from([r, g, b])))]);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]),
    chunk("IHDR", head), chunk("IDAT", deflateSync(Buffer.concat(Array(height).fill(line)))), chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** A python script in the home; `row`, `data` and `event` speak on the shell's descriptors. */
function writeScript(name, body) {
  writeFileSync(join(home, name), `import json, os, sys
def row(**fields): write(3, json.dumps(fields).encode() + b"\\n")
def data(bytes): write(4, bytes)
def write(fd, bytes):
    while bytes: bytes = bytes[os.write(fd, bytes):]
events = open(5, closefd=False)
def event(): return json.loads(events.readline())
${body}`);
}

// ---- panels ----

test("a line typed at a prompt draws a panel, changes it and clears it", async () => {
  const page = await openDesk();
  await run(page, `echo '{"id":"p","type":"svg","x":60,"y":80,"width":120,"data":"<svg viewBox=\\"0 0 60 30\\"><text y=\\"20\\">drawn</text></svg>"}' >&3`);
  await untilPanels(page, 1);
  assert.equal(await inside(page, "p"), "drawn");
  const box = await panel(page, "p").locator("iframe").boundingBox();
  assert.deepEqual([Math.round(box.width), Math.round(box.height)], [120, 60], "as high as its shape says");
  const layer = await page.locator(".pane-layer").boundingBox();
  const at = await panel(page, "p").boundingBox();
  assert.deepEqual([Math.round(at.x - layer.x), Math.round(at.y - layer.y)], [60, 80]);
  await run(page, `echo '{"id":"p","type":"update","x":200,"opacity":0.5,"zIndex":4,"data":"<svg><text y=\\"20\\">again</text></svg>"}' >&3`);
  await page.waitForFunction(() => document.querySelector(".panel").style.left === "200px");
  await page.waitForFunction(() => document.querySelectorAll(".panel iframe").length === 1 && !document.querySelector("iframe.loading"));
  assert.equal(await inside(page, "p"), "again");
  assert.equal(await panel(page, "p").evaluate((element) => element.style.opacity), "0.5");
  await run(page, `echo '{"id":"p","type":"clear"}' >&3`);
  await untilPanels(page, 0);
});

test("pictures from a program are shown as pictures and on a canvas, and what is no picture says so", async () => {
  const page = await openDesk();
  writeFileSync(join(home, "red.png"), png(40, 20, [255, 0, 0]));
  writeFileSync(join(home, "blue.png"), png(30, 30, [0, 0, 255]));
  writeScript("draw.py", `
for id, kind, name in [("image", "image", "red.png"), ("canvas", "canvas2d", "blue.png")]:
    content = open(name, "rb").read()
    row(id=id, type=kind, format="png", x=20 if kind == "image" else 200, y=20, byteLength=len(content))
    data(content)
row(id="broken", type="image", x=20, y=200, byteLength=5); data(b"no PN")
`);
  await run(page, "python3 draw.py");
  await page.waitForFunction(() => document.querySelector(".panel img")?.naturalWidth === 40 && document.querySelector(".panel canvas") && document.querySelector(".panel-broken"));
  const size = async (id, what) => {
    const { width, height } = await panel(page, id).locator(what).boundingBox();
    return [width, height];
  };
  assert.deepEqual(await size("image", "img"), [40, 20]);
  assert.deepEqual(await size("canvas", "canvas"), [30, 30]);
  assert.deepEqual(await page.evaluate(() => [...document.querySelector(".panel canvas").getContext("2d").getImageData(9, 9, 1, 1).data]), [0, 0, 255, 255]);
  // An update draws on the same canvas.
  await page.evaluate(() => (document.querySelector(".panel canvas").dataset.same = "yes"));
  await script("PATCH", `/v1/surfaces/${await surfaceId(page)}/panels/canvas`, { data: png(30, 30, [0, 255, 0]).toString("base64") });
  await page.waitForFunction(() => {
    const canvas = document.querySelector(".panel canvas");
    return canvas.dataset.same === "yes" && canvas.getContext("2d").getImageData(9, 9, 1, 1).data[1] === 255;
  });
});

test("a panel is dragged, resized and closed with the mouse, for everyone, and the script hears of it", async () => {
  const page = await openDesk();
  const other = await openDesk();
  writeScript("hear.py", `
row(id="box", type="html", x=50, y=60, width=200, height=100, data="<b>take me</b>")
for n in range(3): print("heard", json.dumps(event()), flush=True)
`);
  await run(page, "clear; python3 hear.py");
  await untilPanels(page, 1);
  await untilPanels(other, 1);
  const before = await panel(page, "box").boundingBox();
  const bar = await panel(page, "box").locator(".panel-bar").boundingBox();
  await page.mouse.move(bar.x + 40, bar.y + 10);
  await page.mouse.down();
  await page.mouse.move(bar.x + 90, bar.y + 40, { steps: 4 });
  await page.mouse.move(bar.x + 140, bar.y + 90, { steps: 4 });
  await page.mouse.up();
  await untilLine(page, 'heard {"event": "dragend", "id": "box", "x": 150.0, "y": 140.0}');
  await other.waitForFunction(() => document.querySelector(".panel").style.left === "150px" && document.querySelector(".panel").style.top === "140px");
  const after = await panel(page, "box").boundingBox();
  assert.deepEqual([after.x - before.x, after.y - before.y], [100, 80]);

  const grip = await panel(page, "box").locator(".panel-grip").boundingBox();
  await page.mouse.move(grip.x + 8, grip.y + 8);
  await page.mouse.down();
  await page.mouse.move(grip.x + 68, grip.y + 48, { steps: 4 });
  await page.mouse.up();
  await untilLine(page, 'heard {"event": "resize", "height": 140.0, "id": "box", "width": 260.0}');
  await other.waitForFunction(() => document.querySelector(".panel iframe").getBoundingClientRect().width === 260);
  assert.equal(await page.evaluate(() => wharf.term.element.contains(document.activeElement)), true, "the terminal keeps the keyboard");
  await panel(page, "box").getByRole("button", { name: "Close panel box" }).click();
  await untilLine(page, 'heard {"event": "close", "id": "box"}');
  await untilPanels(other, 0);
});

test("clicks on an interactive panel reach its script, where they were", async () => {
  const page = await openDesk();
  writeScript("click.py", `
row(id="b", type="svg", position="fixed", x=80, y=90, width=100, height=50, interactive=True, data="<svg><rect width='100' height='50' fill='teal'/></svg>")
while True:
    e = event()
    if e["event"] in ("click", "wheel"): print("heard", e["event"], e["x"], e["y"], e.get("deltaY"), flush=True)
    if e["event"] == "wheel": break
`);
  await run(page, "clear; python3 click.py");
  await untilPanels(page, 1);
  const { x, y } = await panel(page, "b").locator("iframe").boundingBox();
  await page.mouse.click(x + 30, y + 20);
  await untilLine(page, "heard click 30.0 20.0 None");
  await page.mouse.wheel(0, 100);
  await untilMatch(page, /^heard wheel 30.0 20.0 100/);
});

test("panels are reached, moved, resized, clicked and closed with the keyboard alone", async () => {
  const page = await openDesk();
  await script("PUT", `/v1/surfaces/${await surfaceId(page)}/panels/one`, { type: "html", x: 40, y: 50, width: 100, height: 60, data: "one" });
  await script("PUT", `/v1/surfaces/${await surfaceId(page)}/panels/two`, { type: "html", x: 300, y: 50, width: 100, height: 60, data: "two", interactive: true });
  await untilPanels(page, 2);
  await key(page, "Alt+Shift+P");
  await page.waitForFunction(() => document.activeElement.closest(".panel")?.getAttribute("aria-label") === "Panel one");
  await key(page, "ArrowRight");
  await page.waitForFunction(() => wharf.desk.state.panels.values().next().value.get("one").x === 56);
  await key(page, "Shift+ArrowDown");
  await page.waitForFunction(() => wharf.desk.state.panels.values().next().value.get("one").height === 76);
  await key(page, "Alt+Shift+P");
  await page.waitForFunction(() => document.activeElement.closest(".panel")?.getAttribute("aria-label") === "Panel two");
  await page.evaluate(() => {
    const send = wharf.desk.send.bind(wharf.desk);
    wharf.desk.send = (frame) => {
      if (frame.type === "panelInteract") globalThis.told = frame.event;
      return send(frame);
    };
  });
  await key(page, "Enter");
  await page.waitForFunction(() => globalThis.told);
  assert.deepEqual(await page.evaluate(() => told), { type: "click", x: 50, y: 30, button: 0, buttons: 0 });
  await key(page, "Delete");
  await untilPanels(page, 1);
  await page.waitForFunction(() => wharf.term.element.contains(document.activeElement), null, { polling: 50 });
  await run(page, "echo back at the prompt");
  await untilLine(page, "back at the prompt");
});

test("a panel in the text scrolls with its line; one that floats far away is brought onto the terminal", async () => {
  const page = await openDesk();
  await script("PUT", `/v1/surfaces/${await surfaceId(page)}/panels/in`, { type: "svg", position: "inline", x: 200, y: 90, width: 30, height: 30, data: "<svg/>" });
  await script("PUT", `/v1/surfaces/${await surfaceId(page)}/panels/far`, { type: "svg", x: 9000, y: 9000, width: 30, height: 30, data: "<svg/>" });
  await untilPanels(page, 2);
  const top = () => panel(page, "in").evaluate((element) => element.getBoundingClientRect().top);
  await page.waitForFunction(() => document.querySelector(".panel.inline").style.top !== "");
  const before = await top();
  const far = await panel(page, "far").boundingBox();
  const layer = await page.locator(".pane-layer").boundingBox();
  assert.ok(far.x + far.width <= layer.x + layer.width + 1 && far.y + far.height <= layer.y + layer.height + 1, JSON.stringify([far, layer]));
  await run(page, "seq 1 200");
  await untilLine(page, "200");
  await page.waitForFunction((before) => document.querySelector(".panel.inline").getBoundingClientRect().top < before - 1000, before);
  await page.evaluate(() => wharf.term.scrollToTop());
  await page.waitForFunction((before) => Math.abs(document.querySelector(".panel.inline").getBoundingClientRect().top - before) < 2, before);
  await run(page, "vim -u NONE");
  await page.waitForFunction(() => wharf.term.buffer.active.type === "alternate" && document.querySelector(".panel.inline").classList.contains("elsewhere"));
  await page.keyboard.type(":q\n");
  await page.waitForFunction(() => !document.querySelector(".panel.inline").classList.contains("elsewhere"));
});

test("a hostile panel runs nothing, reaches nothing and leads nowhere", async () => {
  const page = await openDesk();
  const asked = [];
  const elsewhere = http.createServer((request, response) => (asked.push(request.url), response.end()));
  await new Promise((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  const evil = `http://127.0.0.1:${elsewhere.address().port}`;
  const attempts = `parent.document.title='stolen';top.location='${evil}/';parent.wharf.desk.say(document.cookie);alert(1);fetch('/v1/settings')`;
  const scripts = `<script>${attempts}</script><img src=x onerror="${attempts}"><img src="${evil}/pixel.png"><link rel=stylesheet href="/assets/x.css">
<svg onload="${attempts}"></svg><style>@import "${evil}/x.css"; body{background:url(${evil}/b.png)}</style><p>still here</p>`;
  const frames = `<iframe src="javascript:${attempts}"></iframe><iframe srcdoc="<script>${attempts}</script>"></iframe><meta http-equiv=refresh content="0;url=${evil}/">`;
  const ways = `<base href="${evil}/"><form action="/v1/notifications" method=post><input autofocus name=title value=x><button id=go>go</button></form>
<a id=away style="pointer-events:auto" href="${evil}/" target=_top>away</a> <a id=frame style="pointer-events:auto" href="${evil}/">frame</a>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="${attempts}"><script>${attempts}</script><image href="${evil}/i.png"/><foreignObject width="90" height="40"><p>svg here</p><script>${attempts}</script></foreignObject></svg>`;
  const at = `/v1/surfaces/${await surfaceId(page)}/panels`;
  await script("PUT", `${at}/html`, { type: "html", x: 20, y: 20, width: 200, height: 200, data: scripts });
  await script("PUT", `${at}/frames`, { type: "html", x: 240, y: 20, width: 200, height: 200, data: frames });
  await script("PUT", `${at}/ways`, { type: "html", x: 20, y: 420, width: 300, height: 100, data: ways });
  await script("PUT", `${at}/svg`, { type: "svg", x: 20, y: 300, width: 300, height: 100, data: svg });
  await script("PUT", `${at}/${encodeURIComponent('"><img src=x onerror=alert(1)>')}`, { type: "html", x: 500, y: 20, width: 100, height: 50, data: "named" });
  await script("PUT", `${at}/image`, { type: "image", format: 'png;base64,x" onerror="alert(1)', x: 500, y: 200, data: Buffer.from(svg).toString("base64") });
  await script("PUT", `${at}/image-svg`, { type: "image", format: "svg", x: 500, y: 300, width: 90, height: 40, data: Buffer.from(svg).toString("base64") });
  await untilPanels(page, 7);
  assert.match(await inside(page, "html"), /still here/);
  assert.equal(await inside(page, "svg"), "svg here");
  // A person's own click does no more.
  const frame = await (await panel(page, "ways").locator("iframe").elementHandle()).contentFrame();
  for (const id of ["go", "away"]) await frame.locator(`#${id}`).click({ force: true, noWaitAfter: true });
  await frame.locator("#frame").click({ force: true, noWaitAfter: true });
  await page.waitForFunction(() => document.activeElement.tagName === "IFRAME");
  await page.evaluate(() => wharf.desk.stage.grab());
  await run(page, "echo after");
  await untilLine(page, "after");
  assert.match(await page.title(), /wharf$/);
  assert.equal(new URL(page.url()).pathname, "/");
  assert.deepEqual((await script("GET", "/v1/notifications")).notifications, []);
  assert.deepEqual(asked, []);
  elsewhere.close();
  assert.equal(await page.locator(".panel img[onerror]").count(), 0);
  // What was refused is said on the console; nothing else happened.
  page.problems = page.problems.filter((problem) => !/Content Security Policy|Refused to/.test(problem));
});

// ---- notifications ----

test("what ht notify says is shown over the terminals and kept behind the bell, and leads to its terminal", async () => {
  const page = await openDesk();
  const first = await surfaceId(page);
  await key(page, "Alt+Shift+N");
  await page.waitForFunction((first) => wharf.desk.rowOf(wharf.desk.view.focused)?.surfaceId !== first, first);
  await untilLine(page, "$");
  await run(page, `(sleep .1; ht notify --surface ${first} --title 'Tests are done' --body '324 passed' --level success) & ht notify --title Hm --level warning; wait`);
  await toast(page, "Tests are done").waitFor();
  await page.locator(".toast-note.is-warning", { hasText: "Hm" }).waitFor();
  await bellCount(page, 2);
  await page.waitForFunction(() => document.querySelector('[aria-live="polite"][role="log"]').textContent.includes("Success: Tests are done. 324 passed"));
  await toast(page, "Tests are done").locator(".note-main").click();
  await page.waitForFunction((first) => wharf.desk.rowOf(wharf.desk.view.focused)?.surfaceId === first, first);
  await toast(page, "Tests are done").waitFor({ state: "detached" });
  await bellCount(page, 2);

  await key(page, "Alt+Shift+A");
  const list = page.getByRole("dialog", { name: "Notifications" });
  assert.deepEqual(await list.locator(".note-title").allTextContents(), ["Tests are done", "Hm"]);
  await list.getByRole("button", { name: "Dismiss Hm" }).click();
  await bellCount(page, 1);
  assert.deepEqual((await script("GET", "/v1/notifications")).notifications.map(({ title }) => title), ["Tests are done"]);
  await list.getByRole("button", { name: "Dismiss all" }).click();
  await list.getByText("Nothing to report.").waitFor();
  await bellCount(page, 0);
  await key(page, "Escape");
  assert.deepEqual((await script("GET", "/v1/notifications")).notifications, []);
});

for (const [device, options] of Object.entries({ desktop, phone })) {
  test(`${device}: notifications leave in reach what a person has opened over the terminal, and are read whole in the list`, async () => {
    const page = await openDesk(options);
    const body = `${"many words ".repeat(60)}and the last one`;
    await script("PATCH", "/v1/settings", { notificationOverlayMs: 0 });
    await untilSetting(page, "notificationOverlayMs", 0);
    for (const title of ["one", "two", "three"]) await script("POST", "/v1/notifications", { title, body });
    await bellCount(page, 3);
    await page.evaluate(() => {
      wharf.desk.commands.run("find");
      wharf.desk.stage.screen.progress("holiday.jpeg", () => (globalThis.isCancelled = true)).at(0.4);
    });
    // A click is refused where something else would get it.
    await page.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await page.evaluate(() => isCancelled), true);
    await page.getByRole("textbox", { name: "Find in the terminal" }).click();
    await toast(page, "three").getByRole("button", { name: "Dismiss three" }).click();
    await bellCount(page, 2);
    await page.getByRole("button", { name: "Notifications" }).click();
    const heights = await page.locator(".note-list .note-body").first().evaluate((body) => [body.clientHeight, body.scrollHeight]);
    assert.equal(heights[0], heights[1]);
  });
}

test("one is dismissed for everyone, those from before are in the list only, and the flags are followed", async () => {
  const page = await openDesk();
  await script("POST", "/v1/notifications", { title: "early" });
  await toast(page, "early").waitFor();
  const other = await openDesk(phone);
  await bellCount(other, 1);
  assert.equal(await toast(other, "early").count(), 0);
  await toast(page, "early").getByRole("button", { name: "Dismiss early" }).click();
  await bellCount(other, 0);
  await bellCount(page, 0);
  await script("PATCH", "/v1/settings", { notificationOverlayEnabled: false });
  await untilSetting(page, "notificationOverlayEnabled", false);
  await script("POST", "/v1/notifications", { title: "quiet" });
  await bellCount(page, 1);
  assert.equal(await toast(page, "quiet").count(), 0);
  await script("PATCH", "/v1/settings", { notificationOverlayEnabled: true, notificationOverlayMs: 1 });
  await untilSetting(page, "notificationOverlayMs", 1);
  await script("POST", "/v1/notifications", { title: "short" });
  await bellCount(page, 2);
  await toast(page, "short").waitFor({ state: "detached" });
  // More than fit: the terminals stay in sight.
  await script("PATCH", "/v1/settings", { notificationOverlayMs: 0 });
  await untilSetting(page, "notificationOverlayMs", 0);
  for (let n = 0; n < 9; n++) await script("POST", "/v1/notifications", { title: `many ${n}` });
  await bellCount(page, 11);
  assert.equal(await page.locator(".toast-note").count(), 4);
});

for (const way of ["a service worker, as phones want it", "the page itself, where no worker may run"]) {
  test(`the browser is asked for notifications by a click alone, and shows them while the page is not looked at: by ${way}`, async () => {
    const page = await openDesk();
    await page.context().grantPermissions(["notifications"]);
    const byWorker = way.startsWith("a service worker");
    await page.evaluate((byWorker) => {
      globalThis.asked = 0;
      const real = Notification.requestPermission.bind(Notification);
      Notification.requestPermission = () => (asked++, real());
      globalThis.own = [];
      const Real = Notification;
      globalThis.Notification = class extends Real {
        constructor(title, options) {
          if (byWorker) throw new TypeError("Illegal constructor");
          super(title, options);
          this.addEventListener("close", () => own.splice(own.indexOf(this), 1));
          own.push(this);
        }
      };
      if (!byWorker) navigator.serviceWorker.register = () => Promise.reject(new TypeError("not here"));
      globalThis.shown = async () => {
        const all = byWorker ? await (await navigator.serviceWorker.getRegistration())?.getNotifications() : own;
        return (all ?? []).map(({ title, body }) => [title, body]);
      };
      Object.defineProperty(document, "hasFocus", { value: () => false });
    }, byWorker);
    const untilShown = (expected) => until(JSON.stringify(expected), async () => JSON.stringify(await page.evaluate(() => shown())) === JSON.stringify(expected));
    await script("POST", "/v1/notifications", { title: "unasked" });
    await bellCount(page, 1);
    assert.deepEqual(await page.evaluate(async () => [asked, await shown()]), [0, []]);
    await key(page, "Alt+Shift+A");
    await page.getByRole("button", { name: "Let the browser show them too" }).click();
    await page.getByRole("button", { name: "The browser shows them too: stop" }).waitFor();
    assert.equal(await page.evaluate(() => asked), 1);
    await key(page, "Escape");
    const first = await surfaceId(page);
    await key(page, "Alt+Shift+N");
    await page.waitForFunction((first) => wharf.desk.rowOf(wharf.desk.view.focused)?.surfaceId !== first, first);
    const { id } = await script("POST", "/v1/notifications", { title: "<b>look</b>", body: "here", surfaceId: first });
    await untilShown([["<b>look</b>", "here"]]);
    if (byWorker) {
      // What the browser tells the worker of a click; only a real one may give the page the focus.
      await page.context().serviceWorkers()[0].evaluate(async () => {
        const [notification] = await registration.getNotifications();
        const event = Object.assign(new NotificationEvent("notificationclick", { notification }), { waitUntil: (work) => work.catch(() => {}) });
        dispatchEvent(event);
      });
    } else await page.evaluate(() => own[0].onclick());
    await page.waitForFunction((first) => wharf.desk.rowOf(wharf.desk.view.focused)?.surfaceId === first, first);
    const { id: second } = await script("POST", "/v1/notifications", { title: "later" });
    await until("it is shown", async () => JSON.stringify(await page.evaluate(() => shown())).includes("later"));
    for (const gone of [id, second]) await script("DELETE", `/v1/notifications/${gone}`);
    await untilShown([]);
  });
}

// ---- plans, auto-continue ----

test("a plan that ht makes stands on its workspace's card, step by step", async () => {
  const page = await openDesk();
  await run(page, `ht plan set --json '[{"id":"a","title":"Read the code","state":"done"},{"id":"b","title":"Write the test","state":"active"},{"id":"c","title":"Ship"}]'; echo said $?`);
  await untilMatch(page, /^said \d/).then((line) => assert.equal(line, "said 0"));
  await page.locator(".plan").waitFor();
  assert.deepEqual(await page.locator(".step").evaluateAll((steps) => steps.map((step) => [step.className, step.querySelector(".step-title").textContent])), [
    ["step is-done", "Read the code"], ["step is-active", "Write the test"], ["step is-waiting", "Ship"],
  ]);
  assert.equal(await page.locator('.step[aria-current="step"]').textContent(), "Write the test, under way");
  await untilText(page, ".plan-count", "1 of 3");
  await script("PATCH", "/v1/plans/default", { steps: [{ id: "b", state: "err" }] });
  await page.locator(".step.is-err", { hasText: "Write the test" }).waitFor();
  await page.getByRole("button", { name: /^Plan/ }).click();
  assert.equal(await page.locator(".plan-steps").isHidden(), true);
  await page.evaluate(() => wharf.desk.stage.grab());
  await run(page, "ht plan clear");
  await page.locator(".plan").waitFor({ state: "detached" });
});

test("auto-continue is out of sight while its engine is off; its decisions are listed, and a terminal is paused", async () => {
  const page = await openDesk();
  const surface = await surfaceId(page);
  const button = page.getByRole("button", { name: "Auto-continue" });
  assert.equal(await button.isHidden(), true);
  await script("PATCH", "/v1/settings", { autoContinueEngine: "heuristic" });
  await button.click();
  const dialog = page.getByRole("dialog", { name: "Auto-continue" });
  await dialog.getByText("Nothing was decided yet.").waitFor();
  await script("POST", "/v1/notifications", { title: "Stopped", surfaceId: surface });
  await dialog.locator(".decision").first().waitFor();
  await dialog.getByRole("button", { name: /^Pause / }).click();
  await dialog.getByRole("button", { name: /^Resume / }).waitFor();
  assert.deepEqual((await script("GET", "/v1/autocontinue")).paused, [surface]);
  await dialog.locator(".decision.is-paused").waitFor();
  // Somebody else lets it go on.
  await script("POST", "/v1/autocontinue", { action: "resume", surfaceId: surface });
  await dialog.getByRole("button", { name: /^Pause / }).waitFor();
  await script("PATCH", "/v1/settings", { autoContinueEngine: "off" });
  await dialog.waitFor({ state: "detached" });
  assert.equal(await button.isHidden(), true);
});

test("markup in notifications, plans and status keys stays text", async () => {
  const page = await openDesk();
  const text = `<img src=x onerror="document.title='stolen'"><script>alert(1)</script>`;
  const surface = await surfaceId(page);
  await script("POST", "/v1/notifications", { title: text, body: text, surfaceId: surface });
  await script("PUT", "/v1/plans/default", { agentId: text, steps: [{ id: text, title: text, state: "active" }] });
  await script("PATCH", "/v1/settings", { autoContinueEngine: "heuristic" });
  await script("POST", "/v1/autocontinue", { action: "pause", surfaceId: surface, reason: text });
  await run(page, `ht set-status '${text.replaceAll("'", `'\\''`).replaceAll("/", "")}' hello`);
  await page.locator(".toast-note", { hasText: text }).waitFor();
  await page.locator(".step-title", { hasText: text }).waitFor();
  await page.getByRole("button", { name: "Auto-continue" }).click();
  await page.locator(".decision-why", { hasText: text }).waitFor();
  await key(page, "Escape");
  await page.waitForFunction(() => wharf.desk.state.htKeys.length === 1);
  const dialog = await settingsDialog(page);
  await dialog.locator(".order li", { hasText: "<img" }).first().waitFor();
  await key(page, "Escape");
  assert.equal(await page.locator("img[onerror], body script").count(), 0);
  assert.match(await page.title(), /wharf$/);
});

// ---- settings ----

test("a theme chosen in one browser is seen in the other, in the terminal and around it", async () => {
  const page = await openDesk({ ...desktop, colorScheme: "dark" });
  const other = await openDesk({ ...phone, colorScheme: "light" });
  assert.equal((await look(page)).background, "#0e0f12");
  assert.deepEqual([(await look(other)).background, (await look(other)).scheme], ["#fcfcfa", "light"], "a light device is light until somebody chooses");
  const dialog = await settingsDialog(page);
  await dialog.getByLabel("Theme").selectOption("Paper (light)");
  await page.waitForFunction(() => wharf.term.options.theme.background === "#fcfcfa");
  assert.equal((await look(page)).scheme, "light");
  await dialog.getByLabel("Theme").selectOption("Harbour (dark)");
  await other.waitForFunction(() => wharf.term.options.theme.background === "#14181b");
  assert.equal(await other.evaluate(() => getComputedStyle(document.documentElement).colorScheme), "dark");
  await dialog.getByLabel("Palette").selectOption("xterm");
  await other.waitForFunction(() => wharf.term.options.theme.red === "#cd0000");
  await dialog.getByLabel("background").fill("#102030");
  await other.waitForFunction(() => wharf.term.options.theme.background === "#102030");
  assert.equal(await dialog.getByLabel("Palette").inputValue(), "xterm");
});

test("font, density, gap and the status bar are the same for everyone, and wrong values say why beside them", async () => {
  const page = await openDesk();
  const other = await openDesk();
  const cell = await other.evaluate(() => wharf.desk.stage.screen.cell.height);
  const dialog = await settingsDialog(page);
  const change = async (label, value) => {
    await dialog.getByLabel(label, { exact: true }).fill(value);
    await key(page, "Tab");
  };
  await change("Font size", "500");
  await dialog.getByText("fontSize must be a whole number from 6 to 72").waitFor();
  assert.equal(await dialog.getByLabel("Font size").getAttribute("aria-invalid"), "true");
  assert.equal(await setting(page, "fontSize"), 13);
  await change("Font size", "20");
  await other.waitForFunction((cell) => wharf.desk.stage.screen.cell.height > cell * 1.3, cell);
  await dialog.getByText("fontSize must be").waitFor({ state: "hidden" });
  await change("Font", "'DejaVu Sans Mono', monospace");
  await other.waitForFunction(() => wharf.term.options.fontFamily === "'DejaVu Sans Mono', monospace");
  await change("Font", "x; } body { display: none");
  await untilSetting(other, "fontFamily", "x; } body { display: none");
  await other.waitForFunction(() => wharf.term.options.fontFamily === "'DejaVu Sans Mono', monospace", null, { polling: 50 });
  await dialog.getByLabel("Density").selectOption("Spacious");
  await other.waitForFunction(() => document.body.dataset.density === "spacious");
  await change("Gap between panes", "12");
  await other.waitForFunction(() => getComputedStyle(document.documentElement).getPropertyValue("--pane-gap") === "12px");

  const bar = dialog.getByRole("list", { name: "Shown in the status bar" });
  await bar.getByRole("button", { name: "Move cwd up" }).focus();
  await key(page, "Enter");
  await untilSetting(other, "statusBarKeys", ["workspace", "cwd", "command", "branch", "ports", "cpu", "memory"]);
  // The button goes with its line, and keeps the focus.
  await page.waitForFunction(() => document.querySelector(".order").children[1].contains(document.activeElement));
  await key(page, "Enter");
  await untilSetting(other, "statusBarKeys", ["cwd", "workspace", "command", "branch", "ports", "cpu", "memory"]);
  await bar.getByRole("checkbox", { name: "Show size" }).check();
  await bar.getByRole("checkbox", { name: "Show cpu" }).uncheck();
  await untilSetting(other, "statusBarKeys", ["cwd", "workspace", "command", "branch", "ports", "memory", "size"]);
  await page.locator(".fact.size").waitFor();
  // Over a slow link too, one change builds on the other, and nothing jumps back meanwhile.
  await page.route("**/v1/settings", (route) => setTimeout(() => route.continue(), 600));
  for (const name of ["cpu", "size"]) {
    const box = bar.getByRole("checkbox", { name: `Show ${name}` });
    await box.click();
    await page.evaluate(() => wharf.desk.drawNow());
    assert.equal(await box.isChecked(), name === "cpu");
  }
  await untilSetting(other, "statusBarKeys", ["cwd", "workspace", "command", "branch", "ports", "memory", "cpu"]);
  await page.unroute("**/v1/settings");

  await dialog.getByRole("button", { name: "Defaults" }).click();
  await page.getByRole("button", { name: "Reset" }).click();
  await untilSetting(other, "fontSize", 13);
  await untilSetting(other, "density", "comfortable");
});

test("what the page says is readable in every theme that is offered: WCAG AA", async () => {
  const page = await openDesk({ ...desktop, colorScheme: "dark" });
  const dialog = await settingsDialog(page);
  for (const theme of await dialog.getByLabel("Theme").locator("option:not([hidden])").evaluateAll((options) => options.map(({ value }) => value))) {
    await dialog.getByLabel("Theme").selectOption(theme);
    await untilSetting(page, "theme", theme);
    const unreadable = await page.evaluate(() => {
      wharf.desk.drawNow();
      const probe = document.body.appendChild(document.createElement("i"));
      const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const luminance = (name) => {
        probe.style.color = `var(--${name})`;
        canvas.fillStyle = getComputedStyle(probe).color;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((n) => (n / 255 <= 0.04045 ? n / 255 / 12.92 : ((n / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const contrast = (one, other) => (Math.max(luminance(one), luminance(other)) + 0.05) / (Math.min(luminance(one), luminance(other)) + 0.05);
      const pairs = ["ink", "faint", "quiet", "accent", "danger"].flatMap((ink) => ["sheet", "ground", "chosen", "hover", "chip"].map((ground) => [ink, ground]));
      const bad = [...pairs, ["on-accent", "accent"], ["warn-ink", "warn-ground"]].filter(([ink, ground]) => contrast(ink, ground) < 4.5);
      probe.remove();
      return bad.map(([ink, ground]) => `${ink} on ${ground}: ${contrast(ink, ground).toFixed(2)}`);
    });
    assert.deepEqual([theme, ...unreadable], [theme]);
  }
});

test("the page of one terminal looks as the settings say: at once when it is opened, then when it is looked at", async () => {
  await script("PATCH", "/v1/settings", { fontSize: 20 });
  const page = await tab({ ...phone, colorScheme: "dark" });
  await openShell(page, server.url, "alone");
  assert.deepEqual({ ...(await look(page)), fontFamily: null }, { background: "#0e0f12", red: "#e06c75", fontSize: 20, fontFamily: null, scheme: "dark" });
  const cols = await page.evaluate(() => wharf.term.cols);
  await script("PATCH", "/v1/settings", { theme: "paper", backgroundColor: "#fcfcfa", foregroundColor: "#22292d", fontSize: 13 });
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await page.waitForFunction((cols) => wharf.term.options.theme.background === "#fcfcfa" && wharf.term.cols > cols * 1.3, cols);
  assert.equal((await look(page)).scheme, "light");
  const colors = await page.evaluate(() => ["background-color", "color"].map((name) => getComputedStyle(document.body).getPropertyValue(name)));
  assert.deepEqual(colors, ["rgb(252, 252, 250)", "rgb(34, 41, 45)"]);
});

test("status keys that scripts use are ordered and hidden", async () => {
  const page = await openDesk();
  await run(page, "ht set-status build running; ht set-status tests green; ht set-status agent thinking");
  await page.waitForFunction(() => document.querySelectorAll(".pill").length === 3);
  const pills = () => page.locator(".pill-text").allTextContents();
  const before = await pills();
  const dialog = await settingsDialog(page);
  const list = dialog.getByRole("list", { name: "Shown on the cards" });
  await list.getByRole("button", { name: "Move agent up" }).click();
  await page.waitForFunction(() => wharf.desk.state.settings.htKeyOrder[1] === "agent");
  await list.getByRole("button", { name: "Move agent up" }).click();
  await page.waitForFunction(() => document.querySelector(".pill-text").textContent === "thinking");
  await list.getByRole("checkbox", { name: "Show tests" }).uncheck();
  await page.waitForFunction(() => document.querySelectorAll(".pill").length === 2);
  assert.ok(before.includes("green") && !(await pills()).includes("green"));
});

test("a phone: panels fit, and notifications, plans and settings are in reach of a thumb", async () => {
  const page = await openDesk(phone);
  const surface = await surfaceId(page);
  await script("PUT", `/v1/surfaces/${surface}/panels/wide`, { type: "html", x: 300, y: 100, width: 800, height: 200, data: "wide" });
  await untilPanels(page, 1);
  const box = await panel(page, "wide").boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
  // A finger moves it by its bar, and resizes it by its corner.
  const cdp = await page.context().newCDPSession(page);
  const drag = async (selector, dx, dy) => {
    const { x, y, width, height } = await panel(page, "wide").locator(selector).boundingBox();
    const at = (part) => [{ x: x + Math.min(width, 60) / 2 + dx * part, y: y + height / 2 + dy * part }];
    await cdp.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: at(0) });
    for (const part of [0.5, 1]) await cdp.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: at(part) });
    await cdp.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  };
  await drag(".panel-bar", 0, 60);
  await page.waitForFunction(() => wharf.desk.state.panels.values().next().value.get("wide").y === 160);
  await drag(".panel-grip", -100, -60);
  await page.waitForFunction(() => wharf.desk.state.panels.values().next().value.get("wide").height === 140);
  // Not a tap: right after touches made by hand the browser may take it for the end of theirs.
  await panel(page, "wide").getByRole("button", { name: "Close panel wide" }).click();
  await untilPanels(page, 0);
  // Of a long directory the end is seen.
  await page.waitForFunction(() => document.querySelector(".fact.cwd")?.textContent);
  const [fact, last] = await page.locator(".fact.cwd").evaluate((fact) => {
    const range = document.createRange();
    range.setStart(fact.firstChild, fact.textContent.length - 1);
    range.setEndAfter(fact.firstChild);
    return [fact, range].map((box) => (({ left, right }) => ({ left, right }))(box.getBoundingClientRect()));
  });
  assert.ok(last.left > fact.left && last.right <= fact.right, JSON.stringify([fact, last]));
  await script("POST", "/v1/notifications", { title: "Touched", surfaceId: surface });
  await toast(page, "Touched").getByRole("button", { name: "Dismiss Touched" }).tap();
  await bellCount(page, 0);
  await page.getByRole("button", { name: "Notifications" }).tap();
  await page.getByRole("dialog", { name: "Notifications" }).getByRole("button", { name: "Close" }).tap();
  await script("PUT", "/v1/plans/default", { steps: [{ id: "a", title: "Thumb", state: "active" }] });
  await page.getByRole("button", { name: "Workspaces" }).first().tap();
  await page.locator(".step", { hasText: "Thumb" }).waitFor();
  await page.getByRole("button", { name: "Settings" }).tap();
  const settings = page.getByRole("dialog", { name: "Settings" });
  // Below 16 pixels iOS zooms into a field.
  assert.equal(await settings.locator("input, select").evaluateAll((fields) => fields.every((field) => parseFloat(getComputedStyle(field).fontSize) >= 16)), true);
  await settings.getByLabel("Density").selectOption("Compact");
  await untilSetting(page, "density", "compact");
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
});
