// Pictures of what surrounds terminals, for people to look at, in target/screenshots: each view, on both viewports, in
// both themes.

import { test } from "node:test";
import { phone, photograph, run, script, serveEachTest, server, tab, untilLine } from "./harness.mjs";

const desktop = { viewport: { width: 1280, height: 800 } };
const long = "a title that somebody made far too long for any place that there is, and then a little longer";

serveEachTest();

const chart = `<svg viewBox="0 0 240 120"><rect width="240" height="120" fill="none"/>${[34, 60, 48, 80, 92, 70, 104].map((height, n) => `<rect x="${12 + n * 32}" y="${112 - height}" width="22" height="${height}" rx="3" fill="#5fa8b8"/>`).join("")}</svg>`;
const table = "<h3 style='margin:0 0 6px'>Tests</h3><table style='width:100%'><tr><td>unit<td style='color:#3f9a54'>214 passed<tr><td>end to end<td style='color:#c08a2a'>2 slow<tr><td>browser<td>31 passed</table>";

for (const [device, options] of Object.entries({ desktop, phone })) {
  for (const colorScheme of ["dark", "light"]) {
    test(`around: ${device}, ${colorScheme}`, async () => {
      const shot = (name) => photograph(page, `around-${device}-${colorScheme}-${name}`);
      const isPhone = device === "phone";
      const page = await tab({ ...options, colorScheme, reducedMotion: "reduce" });
      await page.goto(server.url);
      await page.waitForFunction(() => globalThis.wharf?.desk.isGreeted);
      await page.click("#first-terminal");
      await untilLine(page, "$");
      await run(page, "clear; for n in {1..30}; do echo line $n of what a program says, in many words; done");
      await untilLine(page, "line 30 of what a program says, in many words");
      const surfaceId = await page.evaluate(() => wharf.desk.rowOf(wharf.desk.view.focused).surfaceId);
      const at = `/v1/surfaces/${surfaceId}/panels`;

      await script("PUT", `${at}/chart`, { type: "svg", x: isPhone ? 20 : 60, y: 60, width: 260, data: chart });
      await script("PUT", `${at}/tests`, { type: "html", x: isPhone ? 60 : 380, y: isPhone ? 260 : 60, width: 260, height: 130, data: table });
      await script("PUT", `${at}/${encodeURIComponent(long)}`, { type: "html", x: isPhone ? 10 : 380, y: isPhone ? 440 : 260, width: 180, height: 60, data: "A long name", interactive: true });
      await script("PUT", `${at}/broken`, { type: "image", x: isPhone ? 200 : 60, y: isPhone ? 440 : 300, data: "AAAA" });
      await script("PUT", `${at}/fixed`, { type: "svg", position: "fixed", x: isPhone ? 250 : 700, y: 10, width: 100, height: 40, data: "<svg viewBox='0 0 100 40'><rect width='100' height='40' rx='8' fill='#8a4a9a'/><text x='50' y='25' fill='white' text-anchor='middle' font-family='sans-serif' font-size='14'>fixed</text></svg>" });
      await page.waitForFunction(() => document.querySelectorAll(".panel").length === 5 && !document.querySelector("iframe.loading") && document.querySelector(".panel-broken"));
      await page.keyboard.press("Alt+Shift+P");
      await shot("panels");
      await page.evaluate(() => wharf.desk.commands.run("close-panels"));
      await page.waitForFunction(() => document.querySelectorAll(".panel").length === 0);

      await page.keyboard.press("Alt+Shift+A");
      await shot("notifications-empty");
      await page.keyboard.press("Escape");
      await script("PATCH", "/v1/settings", { notificationOverlayMs: 0 });
      for (const note of [
        { title: "324 passed", body: "in 41 s, none failed", level: "success", surfaceId },
        { title: long, body: `${long}. `.repeat(4), level: "warning", surfaceId },
        { title: "Building", level: "progress" },
        { title: "The deployment failed", body: "exit code 3\nsee the log", level: "error", surfaceId },
      ]) await script("POST", "/v1/notifications", note);
      await page.waitForFunction(() => document.querySelectorAll(".toast-note").length === 4);
      await shot("toasts");
      await page.keyboard.press("Alt+Shift+A");
      await page.waitForSelector("dialog.notifications");
      await shot("notifications");
      await page.keyboard.press("Escape");
      await script("DELETE", "/v1/notifications");

      await script("PUT", "/v1/plans/default", { agentId: "claude", steps: [
        { id: "a", title: "Read the code", state: "done" }, { id: "b", title: "Write the test that shows it", state: "done" },
        { id: "c", title: "Change the parser", state: "active" }, { id: "d", title: long, state: "waiting" }, { id: "e", title: "Publish", state: "err" },
      ] });
      await script("PUT", "/v1/workspaces/default/status/tests", { text: "214 passed", icon: "✓", color: "#3f9a54" });
      await script("PUT", "/v1/workspaces/default/status/agent", { text: "thinking" });
      await script("PATCH", "/v1/settings", { autoContinueEngine: "heuristic", notificationOverlayEnabled: false });
      await script("POST", "/v1/notifications", { title: "Done with the parser", surfaceId });
      await script("POST", "/v1/autocontinue", { action: "pause", surfaceId, reason: "a person looks at it" });
      await page.waitForSelector(".step.is-err", { state: "attached" });
      if (isPhone) {
        await page.getByRole("button", { name: "Workspaces" }).first().tap();
        await page.waitForFunction(() => document.querySelector("#sidebar").getBoundingClientRect().left === 0);
      }
      await shot("plan");
      await page.getByRole("button", { name: "Auto-continue" }).click();
      await page.getByRole("button", { name: /^Resume/ }).waitFor();
      await shot("auto-continue");
      await page.keyboard.press("Escape");

      await page.keyboard.press("Alt+Shift+O");
      const dialog = page.getByRole("dialog", { name: "Settings" });
      await dialog.getByLabel("Font size").fill("500");
      await page.keyboard.press("Tab");
      await dialog.getByText("fontSize must be").waitFor();
      await shot("settings");
      await dialog.getByText("Auto-continue").scrollIntoViewIfNeeded();
      await dialog.getByText("Status keys").scrollIntoViewIfNeeded();
      await shot("settings-status");
      await dialog.getByLabel("At most in a row").scrollIntoViewIfNeeded();
      await shot("settings-end");
      await page.keyboard.press("Escape");
      if (isPhone) await page.evaluate(() => wharf.desk.closeDrawer());
      for (const [theme, density] of colorScheme === "dark" ? [["contrast", "compact"], ["harbour", "spacious"]] : [["paper", "compact"], ["contrast-light", "spacious"]]) {
        await page.keyboard.press("Alt+Shift+O");
        await dialog.getByLabel("Theme").selectOption(theme);
        await dialog.getByLabel("Density").selectOption(density);
        await page.waitForFunction(([theme, density]) => wharf.desk.state.settings.theme === theme && document.body.dataset.density === density, [theme, density]);
        await page.keyboard.press("Escape");
        await shot(`theme-${theme}`);
      }
      await page.context().close();
    });
  }
}
