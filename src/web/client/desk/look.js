// How the page and its terminals look: what the settings say, applied to everything that is shown.

import { dress } from "../look.js";

export function look(desk) {
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
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
      terminals = dress(settings, prefersDark.matches);
    }
    for (const surfaceId of desk.state.surfaces.keys()) {
      const screen = desk.stage.screenOf(surfaceId);
      if (!screen || looks.get(screen) === terminals) continue;
      looks.set(screen, terminals);
      screen.setLook(terminals);
    }
  });
}
