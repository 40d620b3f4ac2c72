// The command palette, every command and every terminal by a few letters of it, and the cheat sheet of keys.

import { openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { caps, spoken } from "./commands.js";

/** How well `text` fits what was typed: its letters in order; null when it does not. Lower is better. Pure. */
export function fit(typed, text) {
  const letters = text.toLowerCase();
  let at = -1;
  let cost = 0;
  for (const letter of typed.toLowerCase().replaceAll(" ", "")) {
    const next = letters.indexOf(letter, at + 1);
    if (next < 0) return null;
    const isStart = next === 0 || /[^a-z0-9]/.test(letters[next - 1]);
    cost += next === at + 1 ? 0 : isStart ? 1 : 3 + Math.min(next - at, 20) / 10;
    at = next;
  }
  return cost + text.length / 1000;
}

export function openPalette(desk) {
  const here = [
    ...desk.cards.flatMap((card) => card.rows.map((row) => ({ title: row.title, about: card.name, kind: "terminal", run: () => desk.show(row) }))),
    ...desk.commands.all.filter((command) => command.id !== "palette" && (command.enabled?.() ?? true))
      .map((command) => ({ title: command.title, about: command.keys ? spoken(command.keys) : "", kind: "command", run: () => command.run() })),
    ...desk.cards.map((card) => ({ title: `Go to workspace ${card.name}`, about: "", kind: "command", run: () => desk.view.open(card.id) })),
  ];
  const input = h("input", {
    type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list",
    "aria-label": "Command or terminal", placeholder: "Type a command or a terminal’s name", autocomplete: "off", spellcheck: "false",
  });
  const list = h("ul", { id: "palette-list", role: "listbox", "aria-label": "Matches" });
  const none = h("p", { class: "none", text: "Nothing fits." });
  let items = [];
  let at = 0;

  const draw = () => {
    const found = here.map((item) => [fit(input.value, `${item.title} ${item.kind === "terminal" ? item.about : ""}`), item]).filter(([cost]) => cost !== null);
    if (input.value) found.sort(([a], [b]) => a - b);
    items = found.map(([, item]) => item);
    list.replaceChildren(...items.map((item, n) => h("li", {
      role: "option", id: `palette-${n}`, class: item.kind, onclick: () => choose(n), onpointermove: () => at !== n && select(n),
    }, h("span", { class: "what", text: item.title }), h("span", { class: "about", text: item.about }))));
    none.hidden = items.length > 0;
    select(0);
  };
  const select = (n) => {
    at = Math.min(Math.max(n, 0), Math.max(items.length - 1, 0));
    for (const [n, option] of [...list.children].entries()) option.setAttribute("aria-selected", String(n === at));
    input.setAttribute("aria-activedescendant", items.length > 0 ? `palette-${at}` : "");
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const choose = (n) => {
    const item = items[n];
    if (!item) return;
    dialog.close();
    // The dialog gives the focus back first; the command may take it.
    setTimeout(item.run);
  };
  input.addEventListener("input", draw);
  input.addEventListener("keydown", (event) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 8, PageUp: at - 8 }[event.key];
    if (to !== undefined) select(to);
    else if (event.key === "Enter") choose(at);
    else return;
    event.preventDefault();
  });
  const dialog = openDialog("palette", "Commands", h("div", {}, input, list, none));
  draw();
}

export function openCheatSheet(desk) {
  // In an order that fills two columns alike.
  const groups = new Map([
    ["Everywhere", []],
    ["Terminals", []],
    ["In the sidebar", [
      { title: "Up and down", keys: "ArrowUp ArrowDown" }, { title: "Move a terminal", keys: "Alt+ArrowUp Alt+ArrowDown" },
      { title: "Rename", keys: "F2" }, { title: "Close", keys: "Delete" }, { title: "Back to the terminal", keys: "Escape" },
    ]],
    ["In a panel", [
      { title: "Move", keys: "ArrowLeft ArrowRight ArrowUp ArrowDown" }, { title: "Resize", keys: "Shift+ArrowRight Shift+ArrowDown" },
      { title: "Click", keys: "Enter" }, { title: "Close", keys: "Delete" }, { title: "Back to the terminal", keys: "Escape" },
    ]],
  ]);
  for (const command of desk.commands.all) if (command.keys) groups.set(command.group, [...(groups.get(command.group) ?? []), command]);
  const keysOf = (keys) => keys.split(" ").flatMap((keys, n) => [...(n ? [" "] : []), h("span", { class: "keys-cap" }, ...caps(keys).map((cap) => h("kbd", { text: cap })))]);
  const content = h("div", {},
    h("header", {}, h("h2", { text: "Keys" }), h("form", { method: "dialog" }, h("button", { class: "button small", text: "Close" }))),
    h("div", { class: "sheet" }, ...[...groups].map(([group, commands]) => h("section", {},
      h("h3", { text: group }),
      h("dl", {}, ...commands.map(({ title, keys }) => h("div", {}, h("dt", { text: title }), h("dd", {}, ...keysOf(keys))))),
    ))),
  );
  openDialog("cheat-sheet", "Keys", content);
}
