// What a person does with the pages, and what must come of it.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  desktop, home, lines, openShell, phone, picture, run, serve, serveEachTest, server, startProxy, tab,
  untilLine, untilMatch, untilOwnSize, untilText,
} from "./harness.mjs";

serveEachTest();

test("a closed tab is opened again: same shell, same screen", async () => {
  const first = await tab();
  await openShell(first, server.url, "work");
  await run(first, "marked=yes; echo ready");
  await untilLine(first, "ready");
  const before = await picture(first);
  await first.close();

  const second = await tab();
  await openShell(second, server.url, "work");
  await untilLine(second, "ready");
  assert.deepEqual(await picture(second), before);
  await run(second, "echo still:$marked");
  await untilLine(second, "still:yes");
});

test("a shell that exits says its code and makes room for a new one", async () => {
  const page = await tab();
  await openShell(page, server.url, "work");
  await run(page, "echo last words; exit 3");
  await untilText(page, "#ended", "Ended with code 3.");
  await untilLine(page, "last words");
  await page.reload();
  await untilText(page, "#ended", "Ended with code 3.");
  await untilLine(page, "last words");
  await page.click("#again");
  await untilLine(page, "$");
  await run(page, "echo fresh");
  await untilLine(page, "fresh");
});

test("what is typed while connections are cut arrives once and in order", async () => {
  const proxy = await startProxy(server.port);
  const page = await tab();
  await openShell(page, proxy.url, "work");
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
    await page.waitForFunction(() => !document.getElementById("latency").hidden);
  }
  proxy.decide(null);
  await page.keyboard.press("Control+d");
  await untilLine(page, "saved");
  assert.equal(readFileSync(join(home, "typed"), "utf8"), typed.map((line) => `${line}\n`).join(""));
});

test("what is typed while the server cannot be reached waits for it, also over a reload", async () => {
  const proxy = await startProxy(server.port);
  const page = await tab();
  await openShell(page, proxy.url, "work");
  let isCut = true;
  proxy.decide(() => (isCut ? "lose" : "pass"));
  proxy.cut();
  await run(page, "echo patience");
  await untilText(page, "#notice", "is sent when it is back");
  isCut = false;
  await page.reload();
  await untilLine(page, "patience");
  assert.equal((await lines(page)).filter((line) => line === "patience").length, 1);
  await page.waitForFunction(() => document.getElementById("notice").hidden);
});

test("output that runs while connections are cut is shown once and in order", async () => {
  const proxy = await startProxy(server.port);
  const page = await tab();
  await openShell(page, proxy.url, "work");
  // Twenty times 150 lines; each batch waits for its file, and is cut where a line of it has been seen.
  const script = "for k in {0..19}; do until [ -e go$k ]; do sleep 0.01; done; for n in {1..150}; do echo out $((k * 150 + n)); done; done; echo done";
  writeFileSync(join(home, "print"), `${script}\n`);
  await run(page, ". ./print");
  for (let batch = 0; batch < 20; batch++) {
    writeFileSync(join(home, `go${batch}`), "");
    await page.waitForFunction((line) => wharf.term.buffer.active.length > line, batch * 150 + 20, { polling: 1 });
    proxy.cut();
    await untilLine(page, `out ${batch * 150 + 150}`);
  }
  await untilLine(page, "done");
  const out = (await lines(page)).filter((line) => line.startsWith("out "));
  assert.deepEqual(out, Array.from({ length: 3000 }, (_, n) => `out ${n + 1}`));
});

test("a program's query is answered once, and history is not answered again", async () => {
  const page = await tab();
  await openShell(page, server.url, "work");
  await run(page, "stty -echo; printf '\\033[c'; IFS= read -rd c reply; stty echo; printf 'got %q\\n' \"$reply\"");
  // With or without images, which are loaded a moment later.
  await untilMatch(page, /^got \$'\\E\[\?(1;2|62;4;9;22)'$/);
  await run(page, "clear; stty -echo; printf '\\033[c\\033[6n\\033]11;?\\007'; IFS= read -rd '\\' reply; stty echo; echo asked");
  await untilLine(page, "asked");
  for (const _ of [1, 2]) {
    await page.reload();
    await untilLine(page, "asked");
  }
  await run(page, "echo typed");
  await untilLine(page, "typed");
  assert.deepEqual((await lines(page)).slice(-3), ["$ echo typed", "typed", "$"]);
});

test("vim's screen is the same after a reload, and vim is still there", async () => {
  writeFileSync(join(home, "poem.c"), "/* a comment */\nint main(void) { return 42; }\nchar *text = \"wide 漢字 text\";\n");
  const page = await tab();
  await openShell(page, server.url, "work");
  await run(page, "vim poem.c");
  await page.waitForFunction(() => wharf.term.buffer.active.type === "alternate");
  await page.keyboard.type("jfr");
  // Its own request for the cursor position and the like have been answered when it answers this.
  await page.keyboard.type(":set number\n");
  await untilLine(page, "  1 /* a comment */");
  await page.keyboard.type(":echo 'steady'\n");
  await untilLine(page, "steady");
  const before = await picture(page);
  await page.reload();
  await untilLine(page, "steady");
  assert.deepEqual(await picture(page), before);
  await page.keyboard.type(":q!\n");
  await page.waitForFunction(() => wharf.term.buffer.active.type === "normal");
  await run(page, "echo back");
  await untilLine(page, "back");
});

test("two pages on one terminal: the one being used has the size, the other can take it over", async () => {
  const wide = await tab();
  await openShell(wide, server.url, "work");
  await untilOwnSize(wide);
  const grid = (page) => page.evaluate(() => [wharf.term.cols, wharf.term.rows].join("x"));
  const wideGrid = await grid(wide);
  const isForeign = (page, foreign) => page.waitForFunction((foreign) => document.getElementById("take-over").hidden !== foreign, foreign);

  const small = await tab({ viewport: { width: 520, height: 420 } });
  await openShell(small, server.url, "work");
  await isForeign(wide, true);
  await isForeign(small, false);
  await untilOwnSize(small);
  const smallGrid = await grid(small);
  assert.notEqual(smallGrid, wideGrid);
  await wide.waitForFunction((cols) => wharf.term.cols === cols, Number(smallGrid.split("x")[0]));

  await wide.click("#take-over");
  await isForeign(wide, false);
  await isForeign(small, true);
  assert.equal(await grid(wide), wideGrid);
  await small.waitForFunction((cols) => wharf.term.cols === cols, Number(wideGrid.split("x")[0]));
  await run(wide, "stty size");
  await untilLine(small, wideGrid.split("x").reverse().join(" "));

  await small.keyboard.type("echo typing takes over");
  await isForeign(small, false);
  await isForeign(wide, true);
  await small.context().close();
  await isForeign(wide, false);
});

test("on a phone the key bar types what its keyboard lacks", async () => {
  const page = await tab(phone);
  await openShell(page, server.url, "work");
  const key = (name) => page.getByRole("button", { name, exact: true }).tap();
  await page.tap("#screen");
  await page.keyboard.type("echo a");
  await key("|");
  await page.keyboard.type("cat; echo ");
  await key("/");
  await key("~");
  await page.keyboard.type("\n");
  await untilLine(page, "/~");
  await untilLine(page, "a");
  await key("Up");
  await untilLine(page, "$ echo a|cat; echo /~");
  await key("Ctrl");
  await page.keyboard.type("c");
  await untilLine(page, "$ echo a|cat; echo /~^C");
  await page.keyboard.type("ech");
  await key("Tab");
  await page.keyboard.type("X");
  await untilLine(page, "$ echo X");
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
});

test("a server that goes away says so; a new one says that the terminal is gone", async () => {
  const page = await tab();
  await openShell(page, server.url, "work");
  const { port } = server;
  await server.stop();
  await untilText(page, "#notice", "server");
  await serve({ port });
  await untilText(page, "#ended", "This terminal is gone");
  await page.click("#again");
  // At once: what is typed waits for the shell that is being started.
  await run(page, "echo again");
  await untilLine(page, "again");
});

test("without the token the page asks for it, says when it is wrong, and keeps it out of the address", async () => {
  await server.stop();
  writeFileSync(join(home, "token"), "correct-horse-battery", { mode: 0o600 });
  await serve({ args: ["--token-file", join(home, "token")] });
  const page = await tab();
  await page.goto(new URL("t/work", server.url).href.replace(/\?.*/, ""));
  assert.equal(await page.locator(".problem").textContent(), "");
  for (const wrong of ["wrong", "“naïve” & 100% ?#"]) {
    await page.getByLabel("Token").fill(wrong);
    await page.getByRole("button", { name: "Open" }).click();
    await untilText(page, ".problem", "not accepted");
    await page.locator(".problem").evaluate((problem) => (problem.textContent = ""));
  }
  // One that came with the URL is out of the address as well, and told to be wrong.
  await page.goto(new URL("t/work?t=an-old-one", server.url).href);
  await untilText(page, ".problem", "not accepted");
  assert.ok(!page.url().includes("an-old-one"), page.url());
  await page.getByLabel("Token").fill("correct-horse-battery");
  await page.getByRole("button", { name: "Open" }).click();
  await untilLine(page, "$");
  assert.equal(page.url(), new URL("t/work", server.url).href);
  assert.ok(!(await page.evaluate(() => document.cookie)).includes("correct-horse"));
  await page.reload();
  await untilLine(page, "$");
});

test("a hostile title is only text", async () => {
  const page = await tab();
  await openShell(page, server.url, "work");
  const title = "<img src=x onerror=alert(1)>";
  await run(page, `printf '\\033]2;${title}\\007'; sleep 1000`);
  await page.waitForFunction((title) => document.title === title, title);
  await untilText(page, "#title", title);
  assert.equal(await page.locator("#title img").count(), 0);
});

test("everything works behind a base path", async () => {
  await server.stop();
  await serve({ args: ["--base-path", "/a/b"] });
  const page = await tab();
  await openShell(page, new URL("/a/b/", server.url).href, "work");
  await run(page, "echo here");
  await untilLine(page, "here");
  await page.click(".back");
  await page.waitForSelector(".row");
  assert.equal(new URL(page.url()).pathname, "/a/b/");
});

test("a flood faster than the page ends with the last line on the screen", async () => {
  const page = await tab(desktop);
  await openShell(page, server.url, "work");
  await run(page, "seq 1 6000000; echo flood over");
  await untilLine(page, "flood over");
  assert.deepEqual((await lines(page)).slice(-4), ["5999999", "6000000", "flood over", "$"]);
});
