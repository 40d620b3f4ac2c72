// The desk's own commands and their keys.

import { pasteFromClipboard } from "../keys.js";
import { setWish, wish } from "../prefs.js";
import { dividerNear, neighbour } from "./layout.js";
import { openCheatSheet, openPalette } from "./palette.js";

/** How far a divider goes at one press. */
const STEP = 0.04;

export function addCommands(desk) {
  const { commands, actions, view } = desk;
  const row = () => desk.rowOf(view.focused);
  const withRow = { enabled: () => row() !== null };
  const add = (id, group, title, keys, run, more = {}) => commands.add({ id, group, title, keys, run, ...more });

  add("palette", "Everywhere", "All commands", "Ctrl+Shift+P", () => openPalette(desk));
  add("keys", "Everywhere", "Keys", "Ctrl+Shift+/", () => openCheatSheet(desk));
  add("sidebar", "Everywhere", "Show or hide the sidebar", "Ctrl+Shift+B", () => toggleSidebar(desk));
  add("to-sidebar", "Everywhere", "To the sidebar", "Alt+Shift+S", () => toSidebar(desk));

  add("new-terminal", "Terminals", "New terminal", "Alt+Shift+N", () => actions.newTerminal());
  add("close", "Terminals", "Close the terminal", "Alt+Shift+X", () => actions.close(row()), withRow);
  add("rename", "Terminals", "Rename the terminal", "Alt+Shift+R", () => actions.rename(row()), withRow);
  add("next", "Terminals", "Next terminal", "Alt+Shift+]", () => step(desk, 1), withRow);
  add("previous", "Terminals", "Previous terminal", "Alt+Shift+[", () => step(desk, -1), withRow);
  add("new-workspace", "Terminals", "New workspace", "Alt+Shift+W", () => actions.newWorkspace());

  add("split-right", "Panes", "Split right", "Alt+Shift+Plus", () => actions.newTerminal({ split: "row" }));
  add("split-down", "Panes", "Split down", "Alt+Shift+Minus", () => actions.newTerminal({ split: "column" }));
  add("hide-pane", "Panes", "Hide the pane", "Alt+Shift+Q", () => (view.unshow(view.focused), desk.stage.grab()), withRow);
  add("zoom", "Panes", "Zoom the pane", "Alt+Shift+Z", () => (view.toggleZoom(), desk.stage.grab()), withRow);
  for (const [direction, where, arrow] of [["left", "at the left", "ArrowLeft"], ["right", "at the right", "ArrowRight"], ["up", "above", "ArrowUp"], ["down", "below", "ArrowDown"]]) {
    add(`focus-${direction}`, "Panes", `To the pane ${where}`, `Alt+Shift+${arrow}`, () => focus(desk, direction), withRow);
  }
  for (const [direction, letter] of [["left", "H"], ["down", "J"], ["up", "K"], ["right", "L"]]) {
    add(`resize-${direction}`, "Panes", `Move the divider ${direction}`, `Alt+Shift+${letter}`, () => resize(desk, direction), { ...withRow, repeats: true });
  }

  // Copying is the Screen's own: it depends on what is selected.
  const withScreen = { enabled: () => desk.stage.screen !== null };
  add("find", "In a terminal", "Find", "Ctrl+Shift+F", () => desk.stage.screen.openSearch(), withScreen);
  add("copy", "In a terminal", "Copy", "Ctrl+Shift+C", () => desk.stage.screen.copySelection(), withScreen);
  add("paste", "In a terminal", "Paste", "Ctrl+Shift+V", () => pasteFromClipboard(desk.stage.screen), withScreen);
  add("send-file", "In a terminal", "Send a file", null, () => desk.stage.files.pick(), withScreen);
  add("save-text", "In a terminal", "Save the text", null, () => actions.saveText(row()), withScreen);
  for (const [id, title, name] of [["bell-sound", "Bell sound on or off", "bell-sound"], ["screen-reader", "Screen reader mode on or off", "screen-reader"]]) {
    add(id, "In a terminal", title, null, () => {
      setWish(name, !wish(name, false));
      desk.stage.followWishes();
      desk.say(`${title.replace(" on or off", "")} is ${wish(name, false) ? "on" : "off"}.`);
    });
  }

  // Where no text is typed, a plain question mark is enough.
  addEventListener("keydown", (event) => {
    if (event.key !== "?" || event.target.closest("input, textarea, dialog")) return;
    event.preventDefault();
    openCheatSheet(desk);
  });
}

function focus(desk, direction) {
  const { tree, focused, zoomed } = desk.view.desk;
  const to = neighbour(tree, focused, direction);
  if (to === null) return;
  if (zoomed) desk.view.toggleZoom();
  desk.view.focus(to);
  desk.stage.grab();
}

function resize(desk, direction) {
  const { tree, focused } = desk.view.desk;
  const divider = dividerNear(tree, focused, direction);
  if (divider) desk.view.moveDivider(divider.path, divider.at, direction === "left" || direction === "up" ? -STEP : STEP);
}

function step(desk, by) {
  const rows = desk.cards.flatMap((card) => card.rows);
  const at = rows.findIndex(({ session, workspaceId }) => session === desk.view.focused && workspaceId === desk.view.state.workspace);
  const to = rows[(at + by + rows.length) % rows.length];
  if (to) desk.show(to);
}

function toggleSidebar(desk) {
  if (matchMedia("(max-width: 720px)").matches) return document.body.classList.contains("drawer") ? desk.closeDrawer() : desk.openDrawer();
  desk.view.sidebar = !desk.view.sidebar;
}

function toSidebar(desk) {
  desk.view.sidebar = true;
  desk.settle();
  desk.openDrawer();
}
