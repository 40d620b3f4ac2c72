// The real server, the real browser, and a network that can be cut. Nothing here waits for a time, only
// for conditions.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, afterEach, before, beforeEach } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const binary = process.env.WHARF_BIN ?? join(here, "../../target/debug/wharf");
const pictures = join(here, "../../target/screenshots");
/** A condition that has not come true by then never will. */
const PATIENCE_MS = Number(process.env.WHARF_PATIENCE_MS ?? 60_000);

/** One browser for a file of tests; a home and a server for each test. */
let browser;
export let home;
export let server;
let tabs = [];
let proxies = [];

/** Sets those up around every test of the file; `furnish(home)` comes before the server starts. */
export function serveEachTest(furnish = () => {}) {
  before(async () => (browser = await launchBrowser()));
  after(() => browser.close());
  beforeEach(async () => {
    tabs = [];
    proxies = [];
    home = makeHome();
    furnish(home);
    await serve();
  });
  afterEach(async () => {
    const problems = tabs.flatMap((tab) => tab.problems);
    await Promise.all(tabs.map((tab) => tab.context().close()));
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await server.stop();
    removeHome(home);
    assert.deepEqual(problems, []);
  });
}

/** Starts the test's server, also in place of one that was stopped. */
export async function serve(options = {}) {
  server = await startServer({ home, ...options });
}

/** What scripts do, over HTTP. */
export async function script(method, path, body) {
  const response = await fetch(new URL(path, server.url), {
    method,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${await response.clone().text()}`);
  return response.status === 204 ? null : response.json();
}

/** A home of its own, with a plain prompt. */
export function makeHome() {
  const home = mkdtempSync(join(tmpdir(), "wharf-browser-"));
  writeFileSync(join(home, ".bashrc"), "PS1='$ '\nunset HISTFILE\n");
  writeFileSync(join(home, ".vimrc"), "set nocompatible noswapfile noruler\nsyntax on\n");
  return home;
}

/** Runs `wharf serve` until stop(). `port` 0 is any. */
export async function startServer({ home, port = 0, args = [] }) {
  const own = ["--runtime-dir", join(home, "run"), "--state-dir", join(home, "state"), "--shell", "/bin/bash"];
  const child = spawn(binary, ["serve", "--listen", `127.0.0.1:${port}`, ...own, ...args], {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, LANG: "C.UTF-8", WHARF_LOG: "warn" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const url = await new Promise((resolve, reject) => {
    createInterface(child.stdout).on("line", (line) => line.startsWith("http") && resolve(line.trim()));
    exited.then((code) => reject(new Error(`the server exited with ${code} before it listened`)));
  });
  const stop = async () => {
    child.kill("SIGTERM");
    await exited;
  };
  return { url, port: Number(new URL(url).port), stop };
}

function launchBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ],
  });
}

export const desktop = { viewport: { width: 1100, height: 700 } };
export const phone = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

/** A tab in a profile of its own, which fails the test when a script fails or a dialog opens. */
export async function tab(options = desktop) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  tabs.push(page);
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("dialog", (dialog) => {
    page.problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) page.problems.push(message.text());
  });
  return page;
}

/** The lines of the terminal in `page`, scrollback included, without empty ones at the end. */
export function lines(page) {
  return page.evaluate(() => {
    const buffer = globalThis.wharf?.term?.buffer.active;
    if (!buffer) return [];
    const all = Array.from({ length: buffer.length }, (_, y) => buffer.getLine(y).translateToString(true).trimEnd());
    while (all.at(-1) === "") all.pop();
    return all;
  });
}

/** Waits until a line of the terminal is exactly `line`. */
export async function untilLine(page, line) {
  await page.waitForFunction((line) => {
    const buffer = globalThis.wharf?.term?.buffer.active;
    for (let y = 0; y < (buffer?.length ?? 0); y++) if (buffer.getLine(y).translateToString(true).trimEnd() === line) return true;
    return false;
  }, line, { polling: 50 }).catch(async (error) => {
    throw new Error(`no line ${JSON.stringify(line)} in\n${(await lines(page)).slice(-50).join("\n")}`, { cause: error });
  });
}

/** Waits for the end of a prompt where the cursor stands. */
export function untilPrompt(page) {
  return page.waitForFunction(() => {
    const buffer = globalThis.wharf?.term?.buffer.active;
    return buffer?.getLine(buffer.baseY + buffer.cursorY)?.translateToString(true).trimEnd().endsWith("$");
  });
}

/** Waits until a line of the terminal matches; gives the line. */
export async function untilMatch(page, pattern) {
  const found = await page.waitForFunction(([source, flags]) => {
    const pattern = new RegExp(source, flags);
    const buffer = globalThis.wharf?.term.buffer.active;
    for (let y = 0; y < (buffer?.length ?? 0); y++) {
      const line = buffer.getLine(y).translateToString(true).trimEnd();
      if (pattern.test(line)) return line;
    }
    return false;
  }, [pattern.source, pattern.flags], { polling: 50 }).catch(async (error) => {
    throw new Error(`no line like ${pattern} in\n${(await lines(page)).slice(-50).join("\n")}`, { cause: error });
  });
  return found.jsonValue();
}

/** Asks again until the answer is yes. */
export async function until(what, holds) {
  const started = performance.now();
  while (!(await holds())) {
    if (performance.now() - started > PATIENCE_MS) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function untilText(page, selector, text) {
  return page.waitForFunction(
    ([selector, text]) => {
      const element = document.querySelector(selector);
      return element !== null && !element.hidden && element.textContent.includes(text);
    },
    [selector, text],
    { polling: 50 },
  );
}

/** Types a command; what it prints is awaited by the caller. */
export async function run(page, command) {
  await page.keyboard.type(`${command}\n`);
}

/** Opens a session's page and waits for the prompt. */
export async function openShell(page, url, session) {
  await page.goto(new URL(`t/${session}`, url).href);
  await untilLine(page, "$");
}

/** The desk with one shell, which has the focus. */
export async function openDesk(options, url = server.url) {
  const page = await tab(options);
  await page.goto(url);
  await page.waitForFunction(() => globalThis.wharf?.desk.isGreeted);
  if ((await page.evaluate(() => wharf.desk.view.focused)) === null) await page.click("#first-terminal");
  await untilLine(page, "$");
  return page;
}

/** The program has the size that fits, in the cells of the renderer that was loaded last. */
export function untilOwnSize(page) {
  return page.waitForFunction(() => {
    const screen = wharf.screen ?? wharf.desk.stage.screen;
    const grid = screen.ownGrid();
    return screen.grid.querySelector("canvas") && grid.cols === screen.term.cols && grid.rows === screen.term.rows;
  });
}

/** Everything that the screen shows: text, colours, attributes, cursor. */
export function picture(page) {
  return page.evaluate(() => {
    const { buffer, cols, rows } = wharf.term;
    const screen = buffer.active;
    const cells = [];
    for (let y = 0; y < rows; y++) {
      for (let x = 0; x < cols; x++) {
        const cell = screen.getLine(screen.baseY + y).getCell(x);
        const flags = ["isBold", "isDim", "isItalic", "isUnderline", "isInverse"].map((flag) => (cell[flag]() ? 1 : 0)).join("");
        cells.push(`${cell.getChars() || " "}/${cell.getFgColorMode()}.${cell.getFgColor()}/${cell.getBgColorMode()}.${cell.getBgColor()}/${flags}`);
      }
    }
    return { type: screen.type, cols, rows, cursor: [screen.cursorX, screen.cursorY], cells };
  });
}

export async function photograph(page, name) {
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

/** A proxy in front of `port` whose connections can be cut, also in the middle of what they carry. */
export async function startProxy(port) {
  const pairs = new Set();
  let onUp = null;
  const server = net.createServer((near) => {
    const far = net.connect(port, "127.0.0.1");
    const pair = { near, far };
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) socket.on("error", end).on("close", end);
    near.on("data", (bytes) => {
      const fate = onUp?.(bytes) ?? "pass";
      if (fate === "lose") return end();
      // The server gets it; its answer never arrives.
      if (fate === "pass-then-cut") return void far.write(bytes, () => far.end(end));
      far.write(bytes);
    });
    far.on("data", (bytes) => near.write(bytes));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy = {
    url: `http://127.0.0.1:${server.address().port}/`,
    /** Decides about each chunk from the browser: "pass", "lose" or "pass-then-cut". */
    decide: (decider) => (onUp = decider),
    cut: () => pairs.forEach(({ near, far }) => (near.destroy(), far.destroy())),
    stop: () => {
      pairs.forEach(({ near, far }) => (near.destroy(), far.destroy()));
      return new Promise((resolve) => server.close(resolve));
    },
  };
  proxies.push(proxy);
  return proxy;
}

export function removeHome(home) {
  rmSync(home, { recursive: true, force: true, maxRetries: 20 });
}
