// Pictures of the pages for people to look at, in target/screenshots.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  desktop, launchBrowser, makeHome, openShell, openTab, phone, photograph, removeHome, run, startServer,
  untilLine, untilText,
} from "./harness.mjs";

let browser;
let home;
let server;

before(async () => {
  home = makeHome();
  writeFileSync(join(home, ".bashrc"), "PS1='\\[\\e[32m\\]ann@harbour\\[\\e[0m\\]:\\[\\e[34m\\]\\w\\[\\e[0m\\]$ '\nunset HISTFILE\nalias ls='ls --color=always'\n");
  writeFileSync(join(home, "hello.c"), `#include <stdio.h>\n\n/* Says hello. */\nint main(void)\n{\n\tfor (int n = 0; n < 3; n++)\n\t\tprintf("hello, %d\\n", n);\n\treturn 0;\n}\n`);
  execFileSync("mkdir", ["-p", join(home, "src"), join(home, "docs")]);
  server = await startServer({ home });
  browser = await launchBrowser();
});
after(async () => {
  await browser.close();
  await server.stop();
  removeHome(home);
});

const waitForAnyPrompt = (page) => page.waitForFunction(() => {
  const buffer = globalThis.wharf?.term.buffer.active;
  return buffer?.getLine(buffer.baseY + buffer.cursorY)?.translateToString(true).trimEnd().endsWith("$");
});

for (const [device, options] of Object.entries({ desktop, phone })) {
  for (const colorScheme of ["dark", "light"]) {
    test(`${device}, ${colorScheme}`, async () => {
      const session = `${device}-${colorScheme}`;
      const page = await openTab(browser, { ...options, colorScheme });
      await page.goto(new URL(`t/${session}`, server.url).href);
      await waitForAnyPrompt(page);
      await run(page, "ls -l; for c in {31..36}; do printf '\\e[%sm normal \\e[1mbold \\e[7mreverse\\e[0m\\n' $c; done; git --version");
      await page.waitForFunction(() => wharf.term.buffer.active.getLine(wharf.term.buffer.active.baseY + wharf.term.buffer.active.cursorY - 1)?.translateToString(true).startsWith("git version"));
      await waitForAnyPrompt(page);
      await photograph(page, `${session}-shell`);
      await run(page, "vim hello.c");
      await page.waitForFunction(() => wharf.term.buffer.active.type === "alternate");
      await page.keyboard.type(":set number\n");
      await untilLine(page, "  1 #include <stdio.h>");
      await photograph(page, `${session}-vim`);

      const other = await openTab(browser, { viewport: { width: device === "phone" ? 1100 : 500, height: 520 } });
      await other.goto(new URL(`t/${session}`, server.url).href);
      await page.waitForFunction(() => !document.getElementById("take-over").hidden);
      await page.waitForFunction(() => document.querySelector(".screen.foreign") !== null);
      await untilLine(other, "  1 #include <stdio.h>");
      await photograph(page, `${session}-foreign`);
      await other.context().close();
      await page.waitForFunction(() => document.getElementById("take-over").hidden);

      await page.goto(new URL(`t/${session}-ended`, server.url).href);
      await waitForAnyPrompt(page);
      await run(page, "exit 3");
      await untilText(page, "#ended", "code 3");
      await photograph(page, `${session}-ended`);
      await page.context().close();
    });
  }
}

test("the token form and a lost connection", async () => {
  writeFileSync(join(home, "token"), "correct-horse-battery", { mode: 0o600 });
  const guardedHome = makeHome();
  const guarded = await startServer({ home: guardedHome, args: ["--token-file", join(home, "token")] });
  for (const [name, options] of [["desktop-light", { ...desktop, colorScheme: "light" }], ["phone-dark", { ...phone, colorScheme: "dark" }]]) {
    const page = await openTab(browser, options);
    await page.goto(guarded.url.replace(/\?.*/, ""));
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Open" }).click();
    await untilText(page, ".problem", "not accepted");
    await photograph(page, `${name}-token`);
    await page.context().close();
  }
  const page = await openTab(browser, { ...phone, colorScheme: "light" });
  await page.goto(`${guarded.url.replace(/\?.*/, "")}t/lost?t=correct-horse-battery`);
  await untilLine(page, "$");
  await guarded.stop();
  await untilText(page, "#notice", "server");
  await photograph(page, "phone-light-lost");
  await page.context().close();
  removeHome(guardedHome);
});
