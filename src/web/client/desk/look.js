// How the page and its terminals look: what the settings say, applied to everything that is shown.

import { shown } from "./themes.js";

export function look(desk) {
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const looks = new WeakMap();
  let drawn = null;
  let terminals = null;
  prefersDark.addEventListener("change", () => {
    drawn = null;
    desk.draw();
  });
  desk.onDraw(() => {
    if (!desk.isGreeted) return;
    const { settings } = desk.state;
    if (drawn !== settings) {
      drawn = settings;
      const { isDark, colors } = shown(settings, prefersDark.matches);
      const scheme = isDark ? "dark" : "light";
      root.style.colorScheme = scheme;
      root.classList.toggle("themed", colors !== null);
      root.style.setProperty("--theme-ground", colors?.background ?? "");
      root.style.setProperty("--theme-ink", colors?.foreground ?? "");
      root.dataset.scheme = scheme;
      document.body.dataset.density = settings.density;
      const ground = getComputedStyle(document.body).backgroundColor;
      for (const meta of document.querySelectorAll('meta[name="theme-color"]')) meta.content = ground;
      // What is no font list must not get into the style sheet that xterm.js writes.
      const fontFamily = CSS.supports("font-family", settings.fontFamily) ? settings.fontFamily : undefined;
      terminals = { scheme, colors, fontFamily, fontPx: settings.fontSize };
    }
    for (const surfaceId of desk.state.surfaces.keys()) {
      const screen = desk.stage.screenOf(surfaceId);
      if (!screen || looks.get(screen) === terminals) continue;
      looks.set(screen, terminals);
      screen.setLook(terminals);
    }
  });
}
