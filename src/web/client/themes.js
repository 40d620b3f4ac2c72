// Themes: which colours a terminal and the page around it have. A preset is a name and its colours, which are put
// into the settings together, so that every client shows the same. Pure.

import { darkTheme, lightTheme } from "./theme.js";

/** The preset of a new installation: the settings' colours where the device is as dark or light as they are, else the
 *  page's own of the other kind. */
const FOLLOWING = "obsidian";
/** Names of colours 0 to 15, in this order. */
export const ANSI = [
  "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
  "brightBlack", "brightRed", "brightGreen", "brightYellow", "brightBlue", "brightMagenta", "brightCyan", "brightWhite",
];
/** `null` gives a setting its default, and the defaults are Obsidian's. */
const obsidian = { foregroundColor: null, backgroundColor: null, ansiColors: null };

/** `{name, title, settings}`: what is sent when one is chosen. */
export const presets = [
  { name: FOLLOWING, title: "As the device: Obsidian or light", settings: obsidian },
  { name: "obsidian-dark", title: "Obsidian (dark)", settings: obsidian },
  { name: "harbour", title: "Harbour (dark)", settings: ofTheme(darkTheme) },
  { name: "paper", title: "Paper (light)", settings: ofTheme(lightTheme) },
  { name: "contrast", title: "High contrast (dark)", settings: { ...ofTheme(darkTheme), foregroundColor: "#ffffff", backgroundColor: "#000000" } },
  { name: "contrast-light", title: "High contrast (light)", settings: { ...ofTheme(lightTheme), foregroundColor: "#000000", backgroundColor: "#ffffff" } },
];

/** `{name, title, colors}` for the sixteen colours of programs alone. */
export const palettes = [
  { name: "obsidian", title: "Obsidian", colors: named("1b1d23 e06c75 8cc570 e2b86b 61a8ef c678dd 4fb8c4 c8ccd4 5c6370 f0868e a8d98f f0cd8c 84bff5 d798ea 74ced8 f2f4f8") },
  { name: "harbour", title: "Harbour", colors: ofTheme(darkTheme).ansiColors },
  { name: "paper", title: "Paper", colors: ofTheme(lightTheme).ansiColors },
  { name: "xterm", title: "xterm", colors: named("000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff") },
  { name: "vga", title: "VGA", colors: named("000000 aa0000 00aa00 aa5500 0000aa aa00aa 00aaaa aaaaaa 555555 ff5555 55ff55 ffff55 5555ff ff55ff 55ffff ffffff") },
  // The hues that Okabe and Ito chose for people who see red and green alike.
  { name: "distinct", title: "Distinct without red and green", colors: named("1a1a1a d55e00 009e73 e69f00 0072b2 cc79a7 56b4e9 d0d0d0 6f6f6f f08a3c 3cc49c f0e442 4a9fd8 e3a6c8 8fd0f5 ffffff") },
];

/** The palette that these settings have; null for colours of their own. */
export function paletteOf({ ansiColors }) {
  const same = (colors) => ANSI.every((name) => colors[name].toLowerCase() === ansiColors[name].toLowerCase());
  return palettes.find(({ colors }) => same(colors))?.name ?? null;
}

/** What is shown for these settings on such a device: `{isDark, colors}`; colors null for the page's own. */
export function shown(settings, prefersDark) {
  const isDark = luminance(settings.backgroundColor) < 0.18;
  if (settings.theme === FOLLOWING && isDark !== prefersDark) return { isDark: prefersDark, colors: null };
  return { isDark, colors: terminalColors(settings) };
}

function terminalColors({ foregroundColor: foreground, backgroundColor: background, ansiColors }) {
  return {
    foreground, background, cursor: foreground, cursorAccent: background,
    selectionBackground: mix(background, ansiColors.blue, 0.4),
    selectionInactiveBackground: mix(background, ansiColors.blue, 0.22),
    ...Object.fromEntries(ANSI.map((name) => [name, ansiColors[name]])),
  };
}

function ofTheme({ foreground, background, ...theme }) {
  return { foregroundColor: foreground, backgroundColor: background, ansiColors: Object.fromEntries(ANSI.map((name) => [name, theme[name]])) };
}

function named(colors) {
  return Object.fromEntries(colors.split(" ").map((color, n) => [ANSI[n], `#${color}`]));
}

function channels(color) {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
}

/** Between 0 and 1, as in WCAG 2; above 0.179 black text is the more readable one. */
function luminance(color) {
  const [r, g, b] = channels(color).map((n) => (n / 255 <= 0.04045 ? n / 255 / 12.92 : ((n / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function mix(from, to, share) {
  const other = channels(to);
  return `#${channels(from).map((n, at) => Math.round(n + (other[at] - n) * share).toString(16).padStart(2, "0")).join("")}`;
}
