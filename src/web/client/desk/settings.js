// The settings, the same for everyone who looks: each is sent when it is changed, and what is wrong with it is said
// beside it.

import { ask, openDialog } from "../dialog.js";
import { h, iconButton, keyed, setAttribute, setText } from "../dom.js";
import { call } from "../server.js";
import { ANSI, paletteOf, palettes, presets } from "../themes.js";

/** What the status bar knows by itself; it shows status keys as well. */
const STATUS_KEYS = ["workspace", "command", "cwd", "branch", "ports", "cpu", "memory", "size"];
const CUSTOM = "";
const FONTS = [
  "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  "'JetBrains Mono', monospace", "'Fira Code', monospace", "'Cascadia Mono', monospace", "'Source Code Pro', monospace", "Iosevka, monospace", "monospace",
];

export function settings(desk) {
  let form = null;
  const open = () => (form = openSettings(desk, () => (form = null)));
  desk.commands.add({ id: "settings", group: "Everywhere", title: "Settings", keys: "Alt+Shift+O", run: open });
  document.getElementById("hide-sidebar").before(iconButton("gear", "Settings", { onclick: () => desk.commands.run("settings") }));
  desk.onDraw(() => form?.draw());
}

function openSettings(desk, closed) {
  const fields = [];
  /** Changes on their way, in order: the controls show them, and further changes build on them. */
  const sent = new Set();
  let last = Promise.resolve();
  const send = async (change) => {
    sent.add(change);
    try {
      const answer = last.then(() => call("PATCH", "v1/settings", change));
      last = answer.catch(() => {});
      const told = await answer;
      // The mirror tells it too, maybe after the answer.
      await desk.until(() => Object.keys(change).every((name) => JSON.stringify(desk.state.settings[name]) === JSON.stringify(told[name])));
    } finally {
      sent.delete(change);
    }
  };

  /** A setting with its control. `read(settings)` fills the control, `write()` gives what to send. */
  const field = (label, control, { read, write, note, on = "change", named = control }) => {
    const id = `setting-${fields.length}`;
    const wrong = h("p", { class: "wrong", role: "alert", id: `${id}-wrong`, hidden: true });
    named.id = id;
    const tell = async (change = write()) => {
      try {
        const done = send(change);
        draw();
        await done;
        wrong.hidden = true;
        setAttribute(named, "aria-invalid", null);
        setAttribute(named, "aria-describedby", null);
      } catch (error) {
        setText(wrong, error.message);
        wrong.hidden = false;
        setAttribute(named, "aria-invalid", "true");
        setAttribute(named, "aria-describedby", wrong.id);
      }
      draw();
    };
    if (on) control.addEventListener(on, () => tell());
    // What somebody is writing, or is told to be wrong, stays as it is.
    const fill = (settings) => (wrong.hidden && !(document.activeElement === named && named.matches("input:not([type=checkbox])") && named.isDirty)) && read(settings);
    named.addEventListener("input", () => (named.isDirty = true));
    named.addEventListener("change", () => (named.isDirty = false));
    fields.push({ fill, tell });
    const isSwitch = named.type === "checkbox";
    return h("div", { class: `setting ${isSwitch ? "switch" : ""}` }, h("label", { for: id, text: label }), h("div", { class: "setting-control" }, control, note ? h("p", { class: "note-line", text: note }) : null, wrong));
  };
  const choice = (label, name, options, note) => {
    const select = h("select", {}, ...options.map(([value, text]) => h("option", { value, text })));
    return field(label, select, { read: (settings) => (select.value = settings[name]), write: () => ({ [name]: select.value }), note });
  };
  const number = (label, name, { unit, by = 1, note } = {}) => {
    const input = h("input", { type: "number", step: "any" });
    const control = unit ? h("span", { class: "with-unit" }, input, h("span", { class: "unit", text: unit })) : input;
    return field(label, control, { named: input, read: (settings) => (input.value = settings[name] / by), write: () => ({ [name]: input.value === "" ? "" : Number(input.value) * by }), note });
  };
  const toggle = (label, name, note) => {
    const box = h("input", { type: "checkbox", role: "switch" });
    return field(label, box, { read: (settings) => (box.checked = settings[name]), write: () => ({ [name]: box.checked }), note });
  };

  // ---- theme ----

  const theme = h("select", { autofocus: true }, ...presets.map(({ name, title }) => h("option", { value: name, text: title })), h("option", { value: CUSTOM, text: "Another", hidden: true }));
  const themeField = field("Theme", theme, {
    read: (settings) => (theme.value = presets.some(({ name }) => name === settings.theme) ? settings.theme : CUSTOM),
    write: () => {
      const { name, settings } = presets.find(({ name }) => name === theme.value);
      return { theme: name, ...settings };
    },
  });
  const palette = h("select", {}, ...palettes.map(({ name, title }) => h("option", { value: name, text: title })), h("option", { value: CUSTOM, text: "Own colours", hidden: true }));
  const paletteField = field("Palette", palette, {
    read: (settings) => (palette.value = paletteOf(settings) ?? CUSTOM),
    write: () => ({ ansiColors: palettes.find(({ name }) => name === palette.value).colors }),
  });
  const swatches = ["backgroundColor", "foregroundColor", ...ANSI].map((name) => {
    const isAnsi = ANSI.includes(name);
    const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(" color", "");
    const input = h("input", { type: "color", title: words, "aria-label": words });
    input.name = name;
    input.read = (settings) => (input.value = isAnsi ? settings.ansiColors[name] : settings[name]);
    input.write = () => (isAnsi ? { ansiColors: { [name]: input.value } } : { [name]: input.value });
    return input;
  });
  const colors = h("div", { class: "swatches", role: "group", "aria-label": "Colours" }, ...swatches);
  const colorsField = field("Colours", colors, { on: null, read: (settings) => swatches.forEach((input) => document.activeElement === input || input.read(settings)) });
  const { tell: tellColor } = fields.at(-1);
  colors.addEventListener("change", (event) => tellColor(event.target.write()));

  // ---- text ----

  const font = h("input", { type: "text", list: "fonts", spellcheck: "false", autocomplete: "off" });
  const fontField = field("Font", h("span", {}, font, h("datalist", { id: "fonts" }, ...FONTS.map((value) => h("option", { value })))), {
    named: font, read: (settings) => (font.value = settings.fontFamily), write: () => ({ fontFamily: font.value }), note: "Fonts of your device, the first one that it has.",
  });

  // ---- order ----

  const bar = order({
    empty: "",
    items: ({ statusBarKeys }) => [
      ...statusBarKeys.map((key) => ({ key, on: true })),
      ...[...STATUS_KEYS, ...desk.state.htKeys].filter((key, at, all) => !statusBarKeys.includes(key) && all.indexOf(key) === at).map((key) => ({ key, on: false })),
    ],
    change: (items) => barTell({ statusBarKeys: items.filter(({ on }) => on).map(({ key }) => key) }),
    label: "Shown in the status bar",
    sink: true,
  });
  const barField = field("Status bar", bar.element, { on: null, read: bar.draw, note: "What is said of the focused terminal, in this order." });
  const { tell: barTell } = fields.at(-1);
  const pills = order({
    empty: "No script has set a status yet.",
    items: ({ htKeyOrder, htKeysHidden }) => {
      const known = desk.state.htKeys.filter((key) => !htKeyOrder.includes(key));
      return [...htKeyOrder, ...known].map((key) => ({ key, on: !htKeysHidden.includes(key) }));
    },
    change: (items) => pillsTell({ htKeyOrder: items.map(({ key }) => key), htKeysHidden: items.filter(({ on }) => !on).map(({ key }) => key) }),
    label: "Shown on the cards",
  });
  const pillsField = field("Status keys", pills.element, { on: null, read: pills.draw, note: "What scripts set with ht set-status, in this order on the cards." });
  const { tell: pillsTell } = fields.at(-1);

  // ---- all of it ----

  const group = (title, ...content) => h("section", { class: "settings-group" }, h("h3", { text: title }), ...content);
  const reset = h("button", { type: "button", class: "button small quiet", text: "Defaults", onclick: async () => {
    if (!(await ask({ title: "Give every setting its default?", text: "For everyone who looks at this desk.", yes: "Reset", danger: true }))) return;
    const shown = Object.keys(desk.state.settings);
    await send(Object.fromEntries(shown.map((name) => [name, null]))).catch((error) => desk.say(error.message));
  } });
  const close = h("button", { type: "button", class: "button small", text: "Close", onclick: () => dialog.close() });
  const dialog = openDialog("settings", "Settings", h("div", {},
    h("header", {}, h("h2", { text: "Settings" }), reset, close),
    h("p", { class: "settings-about", text: "They hold for everyone who looks at this desk, at once." }),
    group("Look", themeField, paletteField, colorsField, fontField, number("Font size", "fontSize", { unit: "px" }),
      choice("Density", "density", [["compact", "Compact"], ["comfortable", "Comfortable"], ["spacious", "Spacious"]]),
      number("Gap between panes", "paneGap", { unit: "px" })),
    group("Status", barField, pillsField),
    group("Notifications",
      toggle("Show over the terminals", "notificationOverlayEnabled"),
      number("Shown for", "notificationOverlayMs", { unit: "s", by: 1000, note: "0: until dismissed." }),
      toggle("With a sound", "notificationSoundEnabled")),
    group("Auto-continue",
      choice("Engine", "autoContinueEngine", [["off", "Off"], ["heuristic", "By rules"]], "The rules look at the plan, the notification and the screen."),
      toggle("Dry run", "autoContinueDryRun", "Decisions are written down, and nothing is typed."),
      number("Time between", "autoContinueCooldownMs", { unit: "s", by: 1000 }),
      number("At most in a row", "autoContinueMaxConsecutive")),
  ), closed);

  const draw = () => {
    const settings = [...sent].reduce(changed, desk.state.settings);
    for (const { fill } of fields) fill(settings);
  };
  draw();
  return { draw };
}

/** The settings as a change leaves them. What it gives its default, the server alone knows. */
function changed(settings, change) {
  const { ansiColors, ...others } = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null));
  return { ...settings, ...others, ansiColors: { ...settings.ansiColors, ...ansiColors } };
}

/** A list whose items are switched on and off and moved up and down. Where they `sink`, those that are off have no order. */
function order({ items, change, label, empty, sink = false }) {
  const list = h("ul", { class: "order", "aria-label": label });
  const none = h("p", { class: "none", text: empty });
  let shown = [];
  const make = ({ key }) => {
    const box = h("input", { type: "checkbox", "aria-label": `Show ${key}` });
    const up = iconButton("up", `Move ${key} up`, { onclick: () => shift(key, -1) });
    const down = iconButton("down-arrow", `Move ${key} down`, { onclick: () => shift(key, 1) });
    box.addEventListener("change", () => change(shown.map((item) => (item.key === key ? { ...item, on: box.checked } : item))));
    return Object.assign(h("li", {}, h("label", {}, box, h("span", { text: key })), up, down), { box, up, down });
  };
  const shift = (key, by) => {
    const at = shown.findIndex((item) => item.key === key);
    const to = at + by;
    if (to < 0 || to >= shown.length) return;
    const next = shown.toSpliced(at, 1);
    next.splice(to, 0, shown[at]);
    change(next);
  };
  const draw = (settings) => {
    shown = items(settings);
    none.hidden = shown.length > 0;
    const focused = list.contains(document.activeElement) ? document.activeElement : null;
    keyed(list, shown, ({ key }) => key, make, (element, { on }) => {
      element.box.checked = on;
      element.classList.toggle("off", !on);
    });
    for (const [n, { key }] of shown.entries()) {
      const element = list.children[n];
      element.up.disabled = n === 0 || (sink && !shown[n].on);
      element.down.disabled = n === shown.length - 1 || (sink && !shown[n + 1].on);
    }
    // An element that is moved in the document loses the focus.
    if (focused?.isConnected && document.activeElement !== focused) (focused.disabled ? focused.parentElement.box : focused).focus();
  };
  return { element: h("div", { class: "order-box" }, list, none), draw };
}
