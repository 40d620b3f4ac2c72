// Pictures of the pages for people to look at, in target/screenshots.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  desktop, home, makeHome, phone, photograph, removeHome, run, serveEachTest, server, startServer, tab,
  untilLine, untilPrompt, untilText,
} from "./harness.mjs";

serveEachTest((home) => {
  writeFileSync(join(home, ".bashrc"), "PS1='\\[\\e[32m\\]ann@harbour\\[\\e[0m\\]:\\[\\e[34m\\]\\w\\[\\e[0m\\]$ '\nunset HISTFILE\nalias ls='ls --color=always'\n");
  writeFileSync(join(home, "hello.c"), `#include <stdio.h>\n\n/* Says hello. */\nint main(void)\n{\n\tfor (int n = 0; n < 3; n++)\n\t\tprintf("hello, %d\\n", n);\n\treturn 0;\n}\n`);
  execFileSync("mkdir", ["-p", join(home, "src"), join(home, "docs")]);
});

for (const [device, options] of Object.entries({ desktop, phone })) {
  for (const colorScheme of ["dark", "light"]) {
    test(`${device}, ${colorScheme}`, async () => {
      const session = `${device}-${colorScheme}`;
      const page = await tab({ ...options, colorScheme });
      await page.goto(new URL(`t/${session}`, server.url).href);
      await untilPrompt(page);
      await run(page, "ls -l; for c in {31..36}; do printf '\\e[%sm normal \\e[1mbold \\e[7mreverse\\e[0m\\n' $c; done; git --version");
      await page.waitForFunction(() => wharf.term.buffer.active.getLine(wharf.term.buffer.active.baseY + wharf.term.buffer.active.cursorY - 1)?.translateToString(true).startsWith("git version"));
      await untilPrompt(page);
      await photograph(page, `${session}-shell`);
      await run(page, "vim hello.c");
      await page.waitForFunction(() => wharf.term.buffer.active.type === "alternate");
      await page.keyboard.type(":set number\n");
      await untilLine(page, "  1 #include <stdio.h>");
      await photograph(page, `${session}-vim`);

      const other = await tab({ viewport: { width: device === "phone" ? 1100 : 500, height: 520 } });
      await other.goto(new URL(`t/${session}`, server.url).href);
      await page.waitForFunction(() => !document.getElementById("take-over").hidden);
      await page.waitForFunction(() => document.querySelector(".screen.foreign") !== null);
      await untilLine(other, "  1 #include <stdio.h>");
      await photograph(page, `${session}-foreign`);
      await other.context().close();
      await page.waitForFunction(() => document.getElementById("take-over").hidden);

      await page.goto(new URL(`t/${session}-ended`, server.url).href);
      await untilPrompt(page);
      await run(page, "exit 3");
      await untilText(page, "#ended", "code 3");
      await photograph(page, `${session}-ended`);
      await page.context().close();
    });
  }
}

for (const [device, options] of Object.entries({ desktop, phone })) {
  for (const colorScheme of ["dark", "light"]) {
    test(`${device}, ${colorScheme}: what lies over a terminal`, async () => {
      const session = `over-${device}-${colorScheme}`;
      const page = await tab({ ...options, colorScheme });
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.goto(new URL(`t/${session}`, server.url).href);
      await untilPrompt(page);
      await run(page, "clear; printf '😀 漢字 ❤️ é ─│┌┐ 🇯🇵\\n'; for n in {1..60}; do echo line $n of a log with a word; done; printf '\\033]8;;https://example.com/somewhere/else\\033\\\\a link\\033]8;;\\033\\\\ https://example.org/\\n'");
      await untilLine(page, "a link https://example.org/");
      await page.click("#more");
      await photograph(page, `${device}-${colorScheme}-menu`);
      await page.getByRole("menuitem", { name: "Find…" }).click();
      await page.getByRole("textbox", { name: "Find in the terminal" }).fill("word");
      await untilText(page, ".search-count", "of");
      await page.evaluate(() => {
        wharf.screen.say("Copied by the program: 25 characters");
        wharf.screen.say("The program wants to copy 1200 characters.", { label: "Copy", act() {} });
        wharf.screen.progress("holiday photograph with a rather long name.jpeg", () => {}).at(0.4);
      });
      await photograph(page, `${device}-${colorScheme}-search`);
      await page.keyboard.press("Escape");
      await page.evaluate(() => document.querySelector(".toasts").replaceChildren());
      await run(page, "clear; cat");
      await page.waitForFunction(() => !wharf.term.modes.bracketedPasteMode);
      await page.evaluate(() => void wharf.screen.paste("rm -rf build\nmake -j4 && make install\necho done\n"));
      await untilText(page, ".question", "Paste 3 lines?");
      await photograph(page, `${device}-${colorScheme}-paste`);
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.keyboard.press("Control+d");
      if (device === "phone") {
        await run(page, "clear; echo select a word here");
        await untilLine(page, "select a word here");
        const at = await page.evaluate(() => {
          const { left, top } = wharf.term.element.querySelector(".xterm-screen").getBoundingClientRect();
          return { x: left + 10 * wharf.screen.cell.width, y: top + wharf.screen.cell.height / 2 };
        });
        const cdp = await page.context().newCDPSession(page);
        await cdp.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [at] });
        await page.waitForFunction(() => wharf.term.hasSelection());
        await cdp.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
        await photograph(page, `phone-${colorScheme}-selection`);
      } else {
        await page.evaluate(() => wharf.screen.box.classList.add("dropping"));
        await photograph(page, `desktop-${colorScheme}-drop`);
      }
      await page.context().close();
    });
  }
}

test("the token form and a lost connection", async () => {
  writeFileSync(join(home, "token"), "correct-horse-battery", { mode: 0o600 });
  const guardedHome = makeHome();
  const guarded = await startServer({ home: guardedHome, args: ["--token-file", join(home, "token")] });
  const pages = [];
  for (const [device, options] of Object.entries({ desktop, phone })) {
    for (const colorScheme of ["dark", "light"]) {
      const page = await tab({ ...options, colorScheme });
      await page.goto(guarded.url.replace(/\?.*/, ""));
      await page.getByLabel("Token").fill("wrong");
      await page.getByRole("button", { name: "Open" }).click();
      await untilText(page, ".problem", "not accepted");
      await photograph(page, `${device}-${colorScheme}-token`);
      await page.goto(`${guarded.url.replace(/\?.*/, "")}t/lost-${device}-${colorScheme}?t=correct-horse-battery`);
      await untilLine(page, "$");
      pages.push([`${device}-${colorScheme}`, page]);
    }
  }
  await guarded.stop();
  for (const [name, page] of pages) {
    await untilText(page, "#notice", "server");
    await photograph(page, `${name}-lost`);
    await page.context().close();
  }
  removeHome(guardedHome);
});
