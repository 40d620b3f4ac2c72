// What the settings say about the look of a page, and of the terminals on it.

import { shown } from "./themes.js";

/** Gives the page its colours; what its terminals get is the answer, for Screen.setLook. */
export function dress({ density, fontFamily, fontSize, ...settings }, prefersDark) {
  const root = document.documentElement;
  const { isDark, colors } = shown(settings, prefersDark);
  const scheme = isDark ? "dark" : "light";
  root.style.colorScheme = scheme;
  root.classList.toggle("themed", colors !== null);
  root.style.setProperty("--theme-ground", colors?.background ?? "");
  root.style.setProperty("--theme-ink", colors?.foreground ?? "");
  root.dataset.scheme = scheme;
  document.body.dataset.density = density;
  const ground = getComputedStyle(document.querySelector("header.bar") ?? document.body).backgroundColor;
  for (const meta of document.querySelectorAll('meta[name="theme-color"]')) meta.content = ground;
  // What is no font list must not get into the style sheet that xterm.js writes.
  return { scheme, colors, fontFamily: CSS.supports("font-family", fontFamily) ? fontFamily : undefined, fontPx: fontSize };
}
