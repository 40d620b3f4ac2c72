// One terminal as a person meets it: colours and columns, finding, links, the clipboard, images, the mouse, fingers,
// a phone's keyboard, files. Real shells, a real browser, on a desk and on a phone.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  desktop, home, lines, openShell, phone, run, serve, serveEachTest, server, startProxy, tab as plainTab, until,
  untilLine, untilMatch, untilText,
} from "./harness.mjs";

serveEachTest();

async function tab(options) {
  const page = await plainTab(options);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  return page;
}

async function shell(options) {
  const page = await tab(options);
  await openShell(page, server.url, "work");
  return page;
}

/** Runs `cat -v`, which shows what the terminal sends. */
async function showInput(page, modes = "") {
  await run(page, `clear; stty -echo -icanon; printf '${modes}'; echo ready; cat -v`);
  await untilLine(page, "ready");
}

/** The middle of a cell, in the page's pixels; `y` counts from the screen's first row. */
function point(page, x, y) {
  return page.evaluate(([x, y]) => {
    const { left, top } = wharf.term.element.querySelector(".xterm-screen").getBoundingClientRect();
    const { width, height } = wharf.screen.cell;
    return { x: left + (x + 0.5) * width, y: top + (y + 0.5) * height };
  }, [x, y]);
}

/** Where a text stands on the screen: its first cell. */
function find(page, text) {
  return page.evaluate((text) => {
    const { buffer, rows } = wharf.term;
    for (let y = rows - 1; y >= 0; y--) {
      const line = buffer.active.getLine(buffer.active.viewportY + y);
      for (let x = 0; x < (line?.length ?? 0); x++) if (line.translateToString(true, x).startsWith(text)) return { x, y };
    }
    throw new Error(`${text} is not on the screen`);
  }, text);
}

async function pointOf(page, text) {
  const { x, y } = await find(page, text);
  return point(page, x, y);
}

const selection = (page) => page.evaluate(() => wharf.term.getSelection());
const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());
const untilClipboard = (page, text) => until(`${text} on the clipboard`, async () => (await clipboard(page)) === text);

/** The colour of a pixel of the page. */
async function pixel(page, { x, y }) {
  const picture = (await page.screenshot()).toString("base64");
  return page.evaluate(async ([picture, x, y]) => {
    const bytes = Uint8Array.from(atob(picture), (c) => c.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context.drawImage(bitmap, 0, 0);
    const scale = bitmap.width / innerWidth;
    return Array.from(context.getImageData(Math.round(x * scale), Math.round(y * scale), 1, 1).data.slice(0, 3));
  }, [picture, x, y]);
}

async function untilPixel(page, at, wanted) {
  let found;
  await until(`the colour ${wanted}`, async () => (found = await pixel(page, at)).every((part, n) => Math.abs(part - wanted[n]) < 12))
    .catch((error) => assert.fail(`${error.message}, but ${found}`));
}

/** Fingers, as the browser gets them from the glass. */
async function fingers(page) {
  const cdp = await page.context().newCDPSession(page);
  const touch = (type, points) => cdp.send("Input.dispatchTouchEvent", { type, touchPoints: points });
  return {
    down: (at) => touch("touchStart", [at]),
    move: (at) => touch("touchMove", [at]),
    up: () => touch("touchEnd", []),
  };
}

test("true colours are shown as they are", async () => {
  const page = await shell();
  await run(page, "clear; printf '\\033[48;2;200;40;120m     \\033[48;2;10;140;90m     \\033[0m\\n'");
  await page.waitForFunction(() => wharf.term.buffer.active.getLine(0)?.getCell(0).isBgRGB());
  await untilPixel(page, await point(page, 2, 0), [200, 40, 120]);
  await untilPixel(page, await point(page, 7, 0), [10, 140, 90]);
});

test("emoji, CJK and marks take the columns that the server counts", async () => {
  const page = await shell();
  const texts = [
    "plain", "漢字かな交じり文", "한국어", "ｆｕｌｌ", "ｶﾅ", "😀🚀🫠🧑🏽‍💻", "❤️ ☎️ 1️⃣", "👨‍👩‍👧‍👦", "🇩🇪🇯🇵", "é̂ café", "ที่นี่", "हिन्दी",
    "ﬁ ﬂ != => ->", "─│┌┐█░⣿", "±§×÷…—“”", "\u200bzero\u200dwidth", "שלום عربي", "𝕬𝖇 𠀋 🜁",
  ];
  const id = await page.evaluate(async () => (await (await fetch("../v1/terminals")).json()).terminals[0].id);
  writeFileSync(join(home, "show"), texts.map((text, n) => `clear; printf '%s' '${text}'; until [ -e go${n} ]; do sleep 0.01; done`).join("\n"));
  await run(page, ". ./show");
  for (const [n, text] of texts.entries()) {
    // Both have seen all of it when the cursor stands behind the text.
    const bare = (line) => line.replace(/\s|\u200b/g, "");
    let told;
    await until(`the server shows ${text}`, async () => {
      told = await page.evaluate(async (id) => (await fetch(`../v1/terminals/${id}/screen?scrollback=false`)).json(), id);
      return told.cursor.col > 0 && bare(told.screen.split("\n")[told.cursor.row]) === bare(text);
    });
    const { cursor: { col }, screen } = told;
    await until(`${text}: ${col} columns`, () => page.evaluate((col) => wharf.term.buffer.active.cursorX === col, col));
    assert.equal((await lines(page)).at(-1), screen.trimEnd());
    writeFileSync(join(home, `go${n}`), "");
  }
});

test("text is found in the scrollback, counted, gone through, and let go", async () => {
  const page = await shell();
  await run(page, "for n in {1..400}; do echo item $n; done; printf '\\033[?2004h'");
  await untilLine(page, "item 400");
  await page.keyboard.press("Control+Shift+F");
  const field = page.getByRole("textbox", { name: "Find in the terminal" });
  await field.fill("item 17");
  await untilText(page, ".search-count", "11 of 11");
  assert.equal(await selection(page), "item 17");
  const row = () => page.evaluate(() => wharf.term.getSelectionPosition().start.y);
  const last = await row();
  await page.keyboard.press("Enter");
  await untilText(page, ".search-count", "10 of 11");
  assert.equal(await row(), last - 1);
  await page.keyboard.press("Shift+Enter");
  await untilText(page, ".search-count", "11 of 11");
  await page.getByRole("button", { name: "Previous match" }).click();
  await untilText(page, ".search-count", "10 of 11");
  await field.fill("ITEM 399");
  await untilText(page, ".search-count", "1 of 1");
  await page.getByRole("button", { name: "Match case" }).click();
  await untilText(page, ".search-count", "None");
  await field.press("Escape");
  await page.waitForFunction(() => document.querySelector(".search").hidden);
  assert.equal(await selection(page), "");
  await run(page, "echo typing goes on");
  await untilLine(page, "typing goes on");
});

test("a plain link opens in a tab that knows nothing of the terminal", async () => {
  const page = await shell();
  const url = `${server.url}v1/health`;
  await run(page, `clear; echo see '${url}'`);
  await untilLine(page, `see ${url}`);
  const at = await pointOf(page, url);
  await page.mouse.move(at.x, at.y);
  const opened = page.context().waitForEvent("page");
  await page.mouse.click(at.x, at.y);
  const other = await opened;
  await other.waitForURL(url);
  assert.equal(await other.evaluate(() => window.opener), null);
});

test("a link whose text says something else shows its target first, and no script is one", async () => {
  const page = await shell();
  const url = `${server.url}v1/health?<img src=x onerror=alert(1)>`;
  const link = (uri, text) => `\\033]8;;${uri}\\033\\\\\\\\${text}\\033]8;;\\033\\\\\\\\`;
  await run(page, `clear; printf '${link(url, "harmless.example")}\\n${link("javascript:alert(1)", "script")}\\n${link(`${server.url}v1/health`, `${server.url}v1/health`)}\\n'`.replaceAll("\\\\\\\\", "\\\\"));
  await untilLine(page, "harmless.example");
  let pages = 0;
  page.context().on("page", () => (pages += 1));
  const click = async (text) => {
    const at = await pointOf(page, text);
    await page.mouse.move(at.x, at.y);
    // xterm.js looks for a link when the mouse comes to another cell.
    if (text !== "script") {
      await until("the link is under the mouse", async () => {
        await page.mouse.move(at.x + 20, at.y + 100);
        await page.mouse.move(at.x, at.y);
        return page.evaluate(() => document.querySelector(".xterm-cursor-pointer") !== null);
      });
    }
    await page.mouse.click(at.x, at.y);
    await page.mouse.move(at.x, at.y + 200);
  };
  await click("script");
  await click("harmless.example");
  await untilText(page, ".question", "harmless.example");
  await untilText(page, ".question pre", "/v1/health?%3Cimg%20src=x%20onerror=alert(1)%3E");
  assert.equal(await page.locator(".question img").count(), 0);
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal(pages, 0);
  await click("harmless.example");
  const opened = page.context().waitForEvent("page");
  await page.getByRole("button", { name: "Open" }).click();
  const other = await opened;
  await other.waitForURL(/\/v1\/health\?%3Cimg/);
  await other.close();
  await page.bringToFront();
  // Text that is the target needs no question.
  const again = page.context().waitForEvent("page");
  await click(`${server.url}v1/health`);
  await again;
  assert.equal(await page.locator(".question").count(), 0);
});

test("Ctrl+C copies what is selected, and interrupts when nothing is", async () => {
  const page = await shell();
  await run(page, "clear; echo some words; sleep 1000");
  await untilLine(page, "some words");
  const at = await pointOf(page, "words");
  await page.mouse.dblclick(at.x, at.y);
  assert.equal(await selection(page), "words");
  await page.keyboard.press("Control+c");
  await untilClipboard(page, "words");
  assert.equal(await selection(page), "");
  assert.ok(!(await lines(page)).includes("^C"));
  await page.keyboard.press("Control+c");
  await untilLine(page, "^C");
  const other = await pointOf(page, "some");
  await page.mouse.dblclick(other.x, other.y);
  await page.keyboard.press("Control+Shift+C");
  await untilClipboard(page, "some");
});

test("a paste cannot press Enter by itself", async () => {
  const page = await shell();
  await page.evaluate(() => navigator.clipboard.writeText("echo one\u001b[201~\necho two\u0003\u009b201~\n"));
  await page.keyboard.press("Control+Shift+V");
  // Bash holds a bracketed paste back, whatever it contains.
  await untilMatch(page, /echo two/);
  await page.keyboard.type("; echo three");
  await untilMatch(page, /; echo three$/);
  assert.ok(!(await lines(page)).some((line) => /^(one|two|three)/.test(line)), "nothing ran");
  await page.keyboard.press("Control+c");

  await run(page, "clear; cat > pasted");
  await page.evaluate(() => navigator.clipboard.writeText("first\n<img src=x onerror=alert(1)>\nthird"));
  await page.waitForFunction(() => !wharf.term.modes.bracketedPasteMode);
  await page.keyboard.press("Control+Shift+V");
  await untilText(page, ".question", "Paste 3 lines?");
  await untilText(page, ".question pre", "<img src=x");
  assert.equal(await page.locator(".question img").count(), 0);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.waitForFunction(() => !document.querySelector("dialog") && document.activeElement === wharf.term.textarea);
  await page.keyboard.press("Control+Shift+V");
  await page.getByRole("button", { name: "Paste", exact: true }).click();
  await untilMatch(page, /^third/);
  await page.keyboard.type("\n");
  await page.keyboard.press("Control+d");
  await untilLine(page, "$");
  assert.equal(readFileSync(join(home, "pasted"), "utf8"), "first\n<img src=x onerror=alert(1)>\nthird\n");
});

test("a program may write the clipboard and never read it", async () => {
  const page = await shell();
  const base64 = (text) => Buffer.from(text).toString("base64");
  await run(page, `printf '\\033]52;;${base64("empty target ✓")}\\007'`);
  await untilClipboard(page, "empty target ✓");
  await run(page, `printf '\\033]52;c;${base64("<script>alert(1)</script>")}\\033\\\\'`);
  // It is said in passing.
  await Promise.all([untilText(page, ".toasts", "Copied by the program: 25 characters"), untilClipboard(page, "<script>alert(1)</script>")]);
  // Neither a question nor what is no base64 nor what is too long does anything.
  await page.evaluate(() => navigator.clipboard.writeText("mine"));
  await run(page, "printf '\\033]52;c;?\\007\\033]52;c;%%%%\\007\\033]52;c;'; head -c 450000 /dev/zero | base64 -w0; printf '\\007'; echo asked");
  await Promise.all([untilText(page, ".toasts", "more than the clipboard gets"), untilLine(page, "asked")]);
  assert.equal(await clipboard(page), "mine");
  // What was copied once is not copied again with the history.
  await run(page, `clear; printf '\\033]52;c;${base64("again")}\\007'`);
  await untilClipboard(page, "again");
  await page.evaluate(() => navigator.clipboard.writeText("mine"));
  await page.reload();
  await untilLine(page, "$");
  await run(page, "echo back");
  await untilLine(page, "back");
  assert.equal(await clipboard(page), "mine");
});

for (const [device, options] of Object.entries({ desktop, phone })) {
  test(`${device}: sixel and iTerm images are shown`, async () => {
    const page = await shell(options);
    // Programs find out by the device attributes.
    await run(page, "clear; stty -echo; r=; until [[ $r == *';4;'* ]]; do printf '\\033[c'; IFS= read -rd c r; done; stty echo; echo can");
    await untilLine(page, "can");
    await run(page, "clear; printf '\\033Pq#1;2;100;0;0#1!200~-#1!200~-#1!200~-#1!200~-#1!200~-#1!200~-\\033\\\\\\n'; echo red");
    await untilLine(page, "red");
    await untilPixel(page, await point(page, 2, 1), [255, 0, 0]);
    // One blue pixel, as large as 10 by 2 cells.
    const blue = await page.evaluate(() => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
      const context = canvas.getContext("2d");
      context.fillStyle = "#00f";
      context.fillRect(0, 0, 1, 1);
      return canvas.toDataURL().split(",")[1];
    });
    await run(page, `clear; printf '\\033]1337;File=inline=1;size=${Buffer.from(blue, "base64").length};width=10;height=3;preserveAspectRatio=0:${blue}\\007\\n'; echo blue`);
    await untilLine(page, "blue");
    await untilPixel(page, await point(page, 3, 1), [0, 0, 255]);
  });
}

test("the bell glows, marks the title of a tab that is not seen, and makes no sound unasked", async () => {
  const page = await tab();
  await page.addInitScript(() => {
    globalThis.sounds = 0;
    globalThis.AudioContext = class extends AudioContext {
      constructor() {
        super();
        globalThis.sounds += 1;
      }
    };
  });
  await openShell(page, server.url, "work");
  const glow = () => page.evaluate(() => new Promise((seen) => new MutationObserver(() => wharf.screen.box.classList.contains("bell") && seen()).observe(wharf.screen.box, { attributes: true })));
  let glowed = glow();
  await run(page, "printf '\\a'");
  await glowed;
  assert.equal(await page.evaluate(() => sounds), 0);
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Bell sound" }).click();
  glowed = glow();
  await run(page, "sleep 0.4; printf '\\a'");
  await glowed;
  assert.equal(await page.evaluate(() => sounds), 1);
  const hide = (hidden) => page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  await run(page, "clear; until [ -e go ]; do sleep 0.01; done; printf '\\a'");
  await hide(true);
  writeFileSync(join(home, "go"), "");
  await page.waitForFunction(() => document.title.startsWith("🔔 "));
  await hide(false);
  await page.waitForFunction(() => !document.title.startsWith("🔔"));
});

test("programs that want the mouse get it, its right button too", async () => {
  const page = await shell();
  await page.evaluate(() => addEventListener("contextmenu", (event) => setTimeout(() => (globalThis.menuShown = !event.defaultPrevented))));
  const right = async () => {
    await page.evaluate(() => (globalThis.menuShown = undefined));
    const at = await point(page, 4, 2);
    await page.mouse.click(at.x, at.y, { button: "right" });
    const shown = await page.waitForFunction(() => globalThis.menuShown !== undefined && { shown: globalThis.menuShown });
    return (await shown.jsonValue()).shown;
  };
  assert.equal(await right(), true, "the browser's menu, which copies and pastes");
  await page.keyboard.press("Escape");
  await showInput(page, "\\033[?1000h\\033[?1006h");
  const at = await point(page, 4, 2);
  await page.mouse.click(at.x, at.y);
  await untilMatch(page, /\^\[\[<0;5;3M\^\[\[<0;5;3m/);
  assert.equal(await right(), false);
  await untilMatch(page, /\^\[\[<2;5;3M\^\[\[<2;5;3m/);
  await page.mouse.wheel(0, 240);
  await untilMatch(page, /\^\[\[<65;5;3M/);
});

test("the scrollback of a screen that was rebuilt is real scrollback", async () => {
  const page = await shell();
  await run(page, "seq 1 200000; echo all of it");
  await untilLine(page, "all of it");
  await page.reload();
  await untilLine(page, "all of it");
  const first = (await lines(page)).find((line) => /^\d+$/.test(line));
  assert.ok(Number(first) > 198_000 && Number(first) < 199_900, first);
  const at = await point(page, 5, 5);
  await page.mouse.move(at.x, at.y);
  await page.mouse.wheel(0, -600);
  await page.waitForFunction(() => wharf.term.buffer.active.viewportY < wharf.term.buffer.active.baseY);
});

for (const [device, options] of Object.entries({ desktop, phone })) {
  test(`${device}: a lost connection is told in the bar, covers no row, and changes no size`, async () => {
    const proxy = await startProxy(server.port);
    const page = await tab(options);
    await openShell(page, proxy.url, "work");
    await page.waitForFunction(() => /^<?\d+ ms$/.test(document.getElementById("latency").textContent) && !document.getElementById("latency").hidden);
    const place = () => page.evaluate(() => {
      const { top, height } = document.getElementById("screen").getBoundingClientRect();
      return { top, height, cols: wharf.term.cols, rows: wharf.term.rows };
    });
    const before = await place();
    let isCut = true;
    proxy.decide(() => (isCut ? "lose" : "pass"));
    proxy.cut();
    await untilText(page, "#notice", "is sent when it is back");
    assert.deepEqual(await place(), before);
    const { notice, bar } = await page.evaluate(() => ({
      notice: document.getElementById("notice").getBoundingClientRect().toJSON(),
      bar: document.querySelector(".bar").getBoundingClientRect().toJSON(),
    }));
    assert.ok(notice.top >= bar.top && notice.bottom <= bar.bottom && notice.right <= bar.right, JSON.stringify({ notice, bar }));
    assert.ok(await page.evaluate(() => document.getElementById("notice").scrollHeight <= document.getElementById("notice").clientHeight + 1), "all of it can be read");
    assert.ok(await page.evaluate(() => document.getElementById("latency").hidden));
    isCut = false;
    await page.waitForFunction(() => document.getElementById("notice").hidden);
    await page.waitForFunction(() => !document.getElementById("latency").hidden);
    assert.deepEqual(await place(), before);
  });
}

test("a connection that comes back goes on where it was: nothing is drawn anew, and who has scrolled up stays there", async () => {
  const proxy = await startProxy(server.port);
  const page = await tab();
  await openShell(page, proxy.url, "work");
  await run(page, "seq 1 500; until [ -e go ]; do sleep 0.01; done; echo after the gap");
  await untilLine(page, "500");
  const view = await page.evaluate(() => {
    globalThis.resets = 0;
    wharf.term.parser.registerEscHandler({ final: "c" }, () => void (resets += 1));
    wharf.term.scrollLines(-100);
    return wharf.term.buffer.active.viewportY;
  });
  for (let n = 0; n < 3; n++) {
    proxy.cut();
    await until("it is back", () => page.evaluate(() => !document.getElementById("latency").hidden));
  }
  writeFileSync(join(home, "go"), "");
  await untilLine(page, "after the gap");
  assert.deepEqual(await page.evaluate(() => [resets, wharf.term.buffer.active.viewportY]), [0, view]);
});

test("what is typed during a flood is handled while it still runs", async () => {
  const page = await shell();
  await run(page, "yes 'a flood of text that has no end' &");
  await page.waitForFunction(() => wharf.term.buffer.active.length > 1000);
  await run(page, "touch marker");
  await until("the marker", () => existsSync(join(home, "marker")));
  // It still runs: more comes.
  await run(page, "kill -0 %1 && touch running; kill %1; clear; echo the flood is over");
  await untilLine(page, "the flood is over");
  assert.ok(existsSync(join(home, "running")));
});

test("the page can be installed, also behind a base path", async () => {
  await server.stop();
  await serve({ args: ["--base-path", "/a/b"] });
  const page = await tab(phone);
  await page.goto(new URL("/a/b/t/work", server.url).href);
  await untilLine(page, "$");
  const cdp = await page.context().newCDPSession(page);
  const { errors, data } = await cdp.send("Page.getAppManifest");
  assert.deepEqual(errors, []);
  const { installabilityErrors } = await cdp.send("Page.getInstallabilityErrors");
  // A private window, as this one is, installs nothing.
  assert.deepEqual(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== "in-incognito"), []);
  const sizes = await page.evaluate(async (manifest) => {
    const at = document.querySelector("link[rel=manifest]").href;
    const icons = JSON.parse(manifest).icons.filter(({ type }) => type === "image/png");
    const touch = document.querySelector("link[rel=apple-touch-icon]").href;
    const size = async (url) => {
      const bitmap = await createImageBitmap(await (await fetch(url)).blob());
      return `${bitmap.width}x${bitmap.height}`;
    };
    return {
      start: new URL(JSON.parse(manifest).start_url, at).pathname,
      icons: await Promise.all(icons.map(async ({ src, sizes }) => [sizes, await size(new URL(src, at))])),
      touch: await size(touch),
    };
  }, data);
  assert.deepEqual(sizes, {
    start: "/a/b/",
    icons: [["192x192", "192x192"], ["512x512", "512x512"], ["512x512", "512x512"]],
    touch: "180x180",
  });
});

test("phone: keys of the bar stick, combine, repeat while held, and more come by swiping", async () => {
  const page = await shell(phone);
  await showInput(page);
  const key = (name) => page.getByRole("button", { name, exact: true });
  await page.tap("#screen");
  await key("Alt").tap();
  await page.keyboard.type("x");
  await key("Ctrl").tap();
  await key("Left").tap();
  await key("Alt").tap();
  await key("Up").tap();
  await key("Esc").or(key("Escape")).tap();
  await untilMatch(page, /^\^\[x\^\[\[1;5D\^\[\[1;3A\^\[$/);
  assert.equal(await key("Alt").getAttribute("aria-pressed"), "false");
  assert.ok(await page.evaluate(() => document.activeElement === wharf.term.textarea), "the keyboard stays");
  const finger = await fingers(page);
  const box = await key("Down").boundingBox();
  const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  await finger.down(at);
  await untilMatch(page, /(\^\[\[B){4}/);
  await finger.up();
  // The bar is longer than the page, and only it moves.
  const far = key("Page up");
  assert.ok((await far.boundingBox()).x > 390);
  await far.scrollIntoViewIfNeeded();
  await far.tap();
  // The row is full by now, so it may stand on two.
  await until("page up", async () => (await lines(page)).join("").includes("^[[5~"));
  await key("Suspend").tap();
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
});

test("phone: a finger scrolls, and a flick goes on by itself", async () => {
  const page = await shell(phone);
  await run(page, "seq 1 500");
  await untilLine(page, "500");
  const view = () => page.evaluate(() => wharf.term.buffer.active.viewportY);
  const finger = await fingers(page);
  const bottom = await view();
  await finger.down({ x: 150, y: 200 });
  for (let y = 210; y <= 400; y += 10) await finger.move({ x: 150, y });
  const dragged = await view();
  assert.ok(dragged < bottom - 5 && dragged > bottom - 14, `${bottom} ${dragged}`);
  await finger.up();
  await page.waitForFunction((dragged) => wharf.term.buffer.active.viewportY < dragged, dragged);
  // In a program with a screen of its own it presses arrows.
  await run(page, "clear; vim -c 'call setline(1, range(1, 500))' -c 'set number' -c 1");
  await page.waitForFunction(() => wharf.term.buffer.active.type === "alternate");
  await untilMatch(page, /^ +1 1$/);
  await finger.down({ x: 150, y: 400 });
  for (let y = 395; y >= 100; y -= 5) await finger.move({ x: 150, y });
  await page.waitForFunction(() => wharf.term.buffer.active.cursorY > 5);
  await finger.up();
});

test("phone: a long press selects a word, handles extend it, and a button copies it", async () => {
  const page = await shell(phone);
  await run(page, "clear; echo 'alpha beta_gamma.txt 漢字 delta'; echo second line");
  await untilLine(page, "second line");
  const finger = await fingers(page);
  const press = async (text) => {
    await finger.down(await pointOf(page, text));
    await page.waitForFunction(() => wharf.term.hasSelection());
    await finger.up();
  };
  await press("gamma");
  assert.equal(await selection(page), "beta_gamma.txt");
  // The keyboard did not open, and the selection stays.
  assert.equal(await page.getByRole("button", { name: "Copy" }).isVisible(), true);
  const handles = page.locator(".touch-handle");
  const middle = async (handle) => {
    const { x, y, width, height } = await handle.boundingBox();
    return { x: x + width / 2, y: y + height / 2 };
  };
  const from = await middle(handles.nth(1));
  const to = await pointOf(page, "delta");
  const height = await page.evaluate(() => wharf.screen.cell.height);
  await finger.down(from);
  await finger.move({ x: (from.x + to.x) / 2, y: to.y + height });
  await finger.move({ x: to.x, y: to.y + height });
  await finger.up();
  assert.equal(await selection(page), "beta_gamma.txt 漢字 d");
  await page.getByRole("button", { name: "Copy" }).tap();
  await untilClipboard(page, "beta_gamma.txt 漢字 d");
  assert.equal(await selection(page), "");
  assert.equal(await page.getByRole("button", { name: "Copy" }).isVisible(), false);
  // Dragging on from the press extends as well; a tap lets go.
  await finger.down(await pointOf(page, "alpha"));
  await page.waitForFunction(() => wharf.term.hasSelection());
  await finger.move(await pointOf(page, "ond line"));
  assert.match(await selection(page), /^alpha beta_gamma.txt 漢字 delta\s+seco$/);
  await finger.up();
  await finger.down({ x: 300, y: 400 });
  await finger.up();
  await page.waitForFunction(() => !wharf.term.hasSelection());
});

for (const [device, options] of Object.entries({ desktop, phone })) {
  test(`${device}: composed and dictated text is typed once`, async () => {
    const page = await shell(options);
    await run(page, "clear; cat > typed");
    await page.waitForFunction(() => !wharf.term.modes.bracketedPasteMode);
    const cdp = await page.context().newCDPSession(page);
    const compose = (text) => cdp.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
    await compose("n");
    await compose("に");
    await compose("にほん");
    await cdp.send("Input.insertText", { text: "日本" });
    await page.waitForFunction(() => wharf.term.buffer.active.cursorX === 4);
    await compose("ㅎ");
    await compose("하");
    await compose("한");
    await cdp.send("Input.insertText", { text: "한" });
    await page.waitForFunction(() => wharf.term.buffer.active.cursorX === 6);
    // Dictation inserts whole phrases, without a key.
    await cdp.send("Input.insertText", { text: " spoken words" });
    await page.waitForFunction(() => wharf.term.buffer.active.cursorX === 19);
    await page.keyboard.type("!\n");
    await page.keyboard.press("Control+d");
    await untilLine(page, "$");
    await page.waitForFunction(() => wharf.term.modes.bracketedPasteMode);
    assert.equal(readFileSync(join(home, "typed"), "utf8"), "日本한 spoken words!\n");
  });
}

test("phone: with the keyboard open the last row is seen, and no field makes the browser zoom", async () => {
  const page = await shell(phone);
  await run(page, "seq 1 100");
  await untilLine(page, "100");
  const open = { width: 390, height: 420 };
  await page.setViewportSize(open);
  await page.waitForFunction(() => wharf.term.rows < 22);
  await run(page, "echo seen");
  await untilLine(page, "seen");
  const seen = await page.evaluate(() => {
    const { cursorY } = wharf.term.buffer.active;
    const grid = wharf.term.element.querySelector(".xterm-screen").getBoundingClientRect();
    const cursor = grid.top + (cursorY + 1) * wharf.screen.cell.height;
    return { cursor, bar: document.getElementById("keys").getBoundingClientRect().bottom, page: visualViewport.height, rest: document.documentElement.scrollHeight };
  });
  assert.ok(seen.cursor <= seen.page && Math.round(seen.bar) === 420 && seen.rest === 420, JSON.stringify(seen));
  await page.getByRole("button", { name: "More" }).tap();
  await page.getByRole("menuitem", { name: "Find…" }).tap();
  await page.waitForFunction(() => document.activeElement?.matches(".search input"));
  const sizes = await page.evaluate(() => Array.from(document.querySelectorAll("input, textarea"), (field) => parseFloat(getComputedStyle(field).fontSize)));
  assert.ok(sizes.length >= 2 && sizes.every((px) => px >= 16), String(sizes));
  await page.getByRole("textbox", { name: "Find in the terminal" }).fill("42");
  await untilText(page, ".search-count", "1 of 1");
  await page.getByRole("button", { name: "Close" }).tap();
});

/** Drops files on the terminal. */
function drop(page, files) {
  return page.evaluate((files) => {
    const data = new DataTransfer();
    for (const { name, type, text, bytes } of files) data.items.add(new File([text ?? new Uint8Array(bytes).fill(120)], name, { type }));
    const at = document.querySelector(".xterm-screen");
    for (const type of ["dragenter", "dragover", "drop"]) at.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  }, files);
}

test("dropped files go where the shell stands, over nothing, and their paths are typed", async () => {
  const page = await shell();
  await run(page, "mkdir place; cd place; echo mine > notes.txt; clear; PS1='> '");
  await untilLine(page, ">");
  await page.keyboard.type("ls -l ");
  await drop(page, [{ name: "notes.txt", text: "dropped" }, { name: "plain.txt", text: "plain" }]);
  await untilMatch(page, /^> ls -l '.*\/place\/notes \(2\)\.txt' .*plain\.txt$/);
  await page.keyboard.press("Control+c");
  assert.equal(readFileSync(join(home, "place/notes.txt"), "utf8"), "mine\n");
  assert.equal(readFileSync(join(home, "place/notes (2).txt"), "utf8"), "dropped");
  // A hostile name is one word for the shell, and text for the page.
  await run(page, "clear");
  await untilLine(page, ">");
  await page.keyboard.type("cat ");
  await drop(page, [{ name: "'; touch pwned; $(touch pwned) `touch pwned` <img src=x onerror=alert(1)>\n\u001b]2;x\u0007.txt", text: "harmless contents" }]);
  await untilMatch(page, /pwned/);
  await page.waitForFunction(() => !document.querySelector(".toast progress"));
  await page.keyboard.type("\n");
  await untilLine(page, "harmless contents>");
  assert.ok(!readdirSync(join(home, "place")).includes("pwned"));
});

test("a pasted image and a picked file are sent as well", async () => {
  for (const [session, options] of [["desk", desktop], ["hand", phone]]) {
    const page = await tab(options);
    await openShell(page, server.url, session);
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.items.add(new File(["not really a picture"], "image.png", { type: "image/png" }));
      wharf.term.textarea.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    });
    await untilMatch(page, /image( \(2\))?\.png/);
    const chosen = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Send a file…" }).click();
    await (await chosen).setFiles({ name: `${session}.txt`, mimeType: "text/plain", buffer: Buffer.from(session) });
    await page.waitForFunction((name) => wharf.term.buffer.active.getLine(0).translateToString().length > 0 && [...Array(wharf.term.rows).keys()].map((y) => wharf.term.buffer.active.getLine(y)?.translateToString()).join("").includes(name), `${session}.txt`);
    assert.equal(readFileSync(join(home, `${session}.txt`), "utf8"), session);
  }
});

test("a large file survives a broken connection, shows how far it is, and can be cancelled", async () => {
  await server.stop();
  await serve({ args: ["--upload-bytes", "9000000"] });
  const proxy = await startProxy(server.port);
  const page = await tab();
  await openShell(page, proxy.url, "work");
  let chunks = 0;
  proxy.decide(() => ((chunks += 1) % 40 !== 0 ? "pass" : chunks % 80 === 0 ? "lose" : "pass-then-cut"));
  await drop(page, [{ name: "large.bin", bytes: 6_000_001 }]);
  await page.waitForFunction(() => document.querySelector(".toast progress")?.value > 0);
  await untilMatch(page, /large\.bin/);
  assert.ok(chunks > 80, "it was cut more than once");
  const sent = readFileSync(join(home, "large.bin"));
  assert.ok(sent.length === 6_000_001 && sent.every((byte) => byte === 120));
  await page.waitForFunction(() => !document.querySelector(".toast progress"));
  // Given up in the middle, nothing stays.
  proxy.decide(() => "pass");
  await page.route("**/files/*", (route) => (route.request().url().includes("offset=4") ? null : route.continue()));
  await drop(page, [{ name: "unwanted.bin", bytes: 6_000_000 }]);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.waitForFunction(() => !document.querySelector(".toast"));
  await until("it is gone", () => !readdirSync(home).includes("unwanted.bin"));
  await page.unroute("**/files/*");
  // What the server refuses is said in its words.
  await drop(page, [{ name: "huge.bin", bytes: 9_000_001 }]);
  await untilText(page, ".toasts", "huge.bin was not sent: a file may have at most 9000000 bytes here");
});

test("the text of the terminal can be saved", async () => {
  const page = await shell();
  await run(page, "clear; seq 1 300; echo 漢字");
  await untilLine(page, "漢字");
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Save the text" }).click();
  const download = await saved;
  assert.match(download.suggestedFilename(), /^[\w .-]+\.txt$/);
  const text = readFileSync(await download.path(), "utf8");
  assert.ok(text.includes(`${Array.from({ length: 300 }, (_, n) => n + 1).join("\n")}\n漢字\n`), text.slice(0, 200));
});

test("everything is reached by keyboard and has a name", async () => {
  const page = await shell();
  await page.keyboard.press("Control+Shift+M");
  await page.waitForFunction(() => document.activeElement?.matches(".menu button"));
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.id), "more");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(outline, "none", "the focus is seen");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.textContent.startsWith("Find"));
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.matches(".search input"));
  const nameless = await page.evaluate(() => Array.from(document.querySelectorAll("button, a, input, textarea, [role=menu]"))
    .filter((part) => !(part.getAttribute("aria-label") ?? part.textContent).trim() && part.getAttribute("role") !== "menu").map((part) => part.outerHTML));
  assert.deepEqual(nameless, []);
  await page.keyboard.press("Escape");
  await run(page, "echo typed");
  await untilLine(page, "typed");
});

test("words of the page stand out from their ground as WCAG AA asks, in both themes", async () => {
  for (const options of [desktop, phone]) {
    for (const colorScheme of ["dark", "light"]) {
      const page = await tab({ ...options, colorScheme });
      await openShell(page, server.url, `${colorScheme}-${options.viewport.width}`);
      await page.evaluate(async () => {
        document.getElementById("notice").textContent = "Connection lost";
        await wharf.screen.openSearch();
        wharf.screen.say("Said in passing", { label: "Act", act() {} });
        document.getElementById("more").click();
      });
      const faint = await page.evaluate(() => {
        const parse = (color) => {
          const context = new OffscreenCanvas(1, 1).getContext("2d");
          context.fillStyle = color;
          context.fillRect(0, 0, 1, 1);
          return context.getImageData(0, 0, 1, 1).data;
        };
        const light = (color) => {
          const [r, g, b] = Array.from(parse(color).slice(0, 3), (part) => ((part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ground = (part) => {
          for (; part; part = part.parentElement) {
            const { backgroundColor } = getComputedStyle(part);
            if (parse(backgroundColor)[3] === 255) return backgroundColor;
          }
          return "white";
        };
        const words = [...document.querySelectorAll("body *")].filter((part) => !part.closest(".xterm, script, noscript") && [...part.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
        const contrast = (part) => {
          const [one, other] = [light(getComputedStyle(part).color), light(ground(part))].sort((a, b) => b - a);
          return (one + 0.05) / (other + 0.05);
        };
        return { words: words.length, faint: words.filter((part) => contrast(part) < 4.5).map((part) => `${part.outerHTML.slice(0, 80)} ${contrast(part).toFixed(2)}`) };
      });
      assert.ok(faint.words > 10, `${faint.words} words`);
      assert.deepEqual(faint.faint, [], colorScheme);
    }
  }
});

test("who asked for less motion gets none", async () => {
  const page = await tab({ ...phone, reducedMotion: "reduce" });
  await openShell(page, server.url, "work");
  await page.evaluate(() => wharf.screen.box.classList.add("bell"));
  assert.equal(await page.evaluate(() => getComputedStyle(wharf.screen.box, "::after").animationName), "none");
});

test("the first load of the page is small", async () => {
  const page = await tab();
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  let bytes = 0;
  cdp.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await openShell(page, server.url, "work");
  await page.waitForFunction(() => performance.getEntriesByType("resource").some(({ name }) => name.includes("image.mjs")));
  await page.waitForLoadState("networkidle");
  assert.ok(bytes > 100_000 && bytes < 500_000, `${bytes} bytes`);
});

test("phone: the token form fits, and a wrong token is told apart from a server that is away", async () => {
  await server.stop();
  writeFileSync(join(home, "token"), "correct-horse-battery", { mode: 0o600 });
  await serve({ args: ["--token-file", join(home, "token")] });
  const page = await tab(phone);
  await page.goto(new URL("t/work", server.url).href.replace(/\?.*/, ""));
  const field = page.getByLabel("Token");
  await field.fill("wrong");
  await page.getByRole("button", { name: "Open" }).tap();
  await untilText(page, ".problem", "not accepted");
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  assert.ok(parseFloat(await field.evaluate((field) => getComputedStyle(field).fontSize)) >= 16);
  await field.fill("correct-horse-battery");
  await page.getByRole("button", { name: "Open" }).tap();
  await untilLine(page, "$");
  assert.equal(new URL(page.url()).search, "");
});
