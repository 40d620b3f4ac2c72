// Pictures of the desk for people to look at, in target/screenshots: each view, on both viewports, in both themes.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  home, makeHome, phone, photograph, removeHome, run, script, serveEachTest, server, startServer, tab,
  untilLine, untilPrompt, untilText,
} from "./harness.mjs";

const desktop = { viewport: { width: 1280, height: 800 } };
const long = "a name that somebody made far too long for any sidebar that there is";

serveEachTest((home) => {
  writeFileSync(join(home, ".bashrc"), "PS1='\\[\\e[32m\\]ann@harbour\\[\\e[0m\\]:\\[\\e[34m\\]\\W\\[\\e[0m\\]$ '\nPROMPT_COMMAND=\nunset HISTFILE\nalias ls='ls --color=always'\n");
  mkdirSync(join(home, "site"));
  writeFileSync(join(home, "site/hello.c"), `#include <stdio.h>\n\n/* Says hello. */\nint main(void)\n{\n\tfor (int n = 0; n < 3; n++)\n\t\tprintf("hello, %d\\n", n);\n\treturn 0;\n}\n`);
  execFileSync("mkdir", ["-p", join(home, "site/src"), join(home, "site/docs"), join(home, "api")]);
});

/** A workspace as it is in the middle of a day. */
async function furnish(id) {
  const at = `/v1/workspaces/${id}`;
  await script("PUT", at, { name: "Site", color: "#4f9fc8", cwd: join(home, "site") });
  for (const [session, title, cwd, command] of [
    ["editor", "editor", "site", "vim hello.c"],
    ["server", "server", "site", "printf '\\033]2;⠋ serving the site\\007'; python3 -m http.server 0 --bind 127.0.0.1"],
    ["long", long, "api", ""],
  ]) {
    await script("PUT", `${at}/panes/${id}-${session}`, { title, resourceKind: "terminal", resourceId: `${id}-${session}` });
    await script("POST", "/v1/terminals", { sessionId: `${id}-${session}`, cwd: join(home, cwd), cols: 80, rows: 24, ...(command ? { args: ["-ic", `${command}; exec bash`] } : {}) });
  }
  await script("PUT", `${at}/panes/${id}-lost`, { title: "yesterday", resourceKind: "terminal", resourceId: `${id}-lost` });
  await script("PUT", `${at}/status/tests`, { text: "214 passed", icon: "✓", color: "#3f9a54" });
  await script("PUT", `${at}/status/agent`, { text: "waiting for review", icon: "◆", color: "#c08a2a" });
  await script("PUT", `${at}/status/plain`, { text: "main" });
  await script("PUT", `${at}/progress`, { value: 0.62, label: "Building the release" });
  await script("POST", `${at}/log`, { message: "compiled in 3.1 s", level: "success", source: "make" });
  await script("POST", `${at}/log`, { message: "2 unused variables in hello.c, and more text than fits in the line", level: "warning" });
  await script("PUT", `/v1/workspaces/${id}-2`, { name: "Infrastructure" });
}

/** Dots that pulse stand still. */
const settle = (page) => page.waitForFunction(() => document.querySelectorAll(".row .chip").length >= 3);

for (const [device, options] of Object.entries({ desktop, phone })) {
  for (const colorScheme of ["dark", "light"]) {
    test(`the desk: ${device}, ${colorScheme}`, async () => {
      const id = `${device}-${colorScheme}`;
      const isPhone = device === "phone";
      const shot = (page, name) => photograph(page, `desk-${id}-${name}`);
      const page = await tab({ ...options, colorScheme, reducedMotion: "reduce" });
      await page.goto(server.url);
      await page.evaluate((id) => localStorage.setItem("wharf:desk:/", JSON.stringify({ workspace: `${id}-2` })), id);
      await furnish(id);
      await page.reload();
      await page.waitForFunction(() => wharf.desk.isGreeted);
      await page.evaluate((id) => wharf.desk.view.open(`${id}-2`), id);
      await page.waitForSelector("#empty:not([hidden])");
      await shot(page, "empty");

      const show = (session) => page.evaluate((session) => (wharf.desk.show(wharf.desk.rowOf(session)), wharf.desk.stage.grab()), `${id}-${session}`);
      await show("editor");
      await untilLine(page, "#include <stdio.h>");
      if (!isPhone) {
        for (const [direction, session] of [["row", "long"], ["column", "server"]]) {
          await page.evaluate(([direction, session]) => wharf.desk.view.split(direction, session), [direction, `${id}-${session}`]);
        }
        await show("long");
      } else await show("long");
      await untilPrompt(page);
      await run(page, "cd ../site; ls -l");
      await page.waitForFunction(() => /:site\$/.test(wharf.term.buffer.active.getLine(wharf.term.buffer.active.baseY + wharf.term.buffer.active.cursorY).translateToString(true)));
      await run(page, "for c in {31..36}; do printf '\\e[%sm normal \\e[1mbold \\e[7mreverse\\e[0m\\n' $c; done");
      await untilPrompt(page);
      await settle(page);
      await shot(page, "work");

      if (isPhone) {
        await page.getByRole("button", { name: "Workspaces" }).first().tap();
        await page.waitForFunction(() => document.querySelector("#sidebar").getBoundingClientRect().left === 0);
        await shot(page, "drawer");
        await page.keyboard.press("Escape");
        await page.waitForFunction(() => document.querySelector("#sidebar").getBoundingClientRect().right <= 0);
      }
      await page.keyboard.press("Control+Shift+P");
      await page.keyboard.type("s");
      await shot(page, "palette");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+Shift+Slash");
      await shot(page, "keys");
      await page.keyboard.press("Escape");
      await page.locator(".pane.focused:not([hidden])").getByRole("button", { name: "Terminal menu" }).click();
      await shot(page, "menu");
      await page.keyboard.press("Escape");
      await page.evaluate((session) => void wharf.desk.actions.close(wharf.desk.rowOf(session)), `${id}-editor`);
      await page.waitForSelector("dialog[open]");
      await shot(page, "question");
      await page.keyboard.press("Escape");

      const other = await tab({ viewport: isPhone ? { width: 1100, height: 700 } : { width: 640, height: 420 } });
      await other.goto(new URL(`t/${id}-long`, server.url).href);
      await untilText(page, ".pane.focused:not([hidden]) .pane-grid", "elsewhere");
      await shot(page, "foreign");
      await other.context().close();
      await page.waitForFunction(() => document.querySelector(".pane.focused:not([hidden]) .pane-grid").hidden);

      await page.evaluate(() => wharf.desk.stage.grab());
      await run(page, "exit 3");
      await untilText(page, ".pane.focused:not([hidden]) .pane-end", "code 3");
      await shot(page, "ended");
      await show("lost");
      await untilText(page, ".pane.focused:not([hidden]) .pane-end", "gone");
      await shot(page, "gone");
      await page.context().close();
    });
  }
}

test("the desk without its server", async () => {
  for (const [device, options] of Object.entries({ desktop, phone })) {
    for (const colorScheme of ["dark", "light"]) {
      const guardedHome = makeHome();
      const guarded = await startServer({ home: guardedHome });
      const page = await tab({ ...options, colorScheme, reducedMotion: "reduce" });
      await page.goto(guarded.url);
      await page.click("#first-terminal");
      await untilLine(page, "$");
      await guarded.stop();
      await untilText(page, "#status", "server");
      await photograph(page, `desk-${device}-${colorScheme}-lost`);
      await page.context().close();
      removeHome(guardedHome);
    }
  }
});
