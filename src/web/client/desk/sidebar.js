// Workspaces and their terminals at the left, or in a drawer where there is no room.

import { h, icon, iconButton, keyed, setAttribute, setText } from "../dom.js";
import { lastSegment } from "./model.js";

/** More terminals that are gone than this are kept behind a button. */
const GONE_SHOWN_MAX = 2;
const STATES = { working: "working", running: "running", idle: "at its prompt", ended: "ended", gone: "gone" };

export class Sidebar {
  element = document.getElementById("sidebar");
  #desk;
  #list = document.getElementById("workspaces");
  #dragged = null;

  constructor(desk) {
    this.#desk = desk;
    this.#list.addEventListener("keydown", (event) => this.#key(event));
    for (const [id, command] of [["new-terminal", "new-terminal"], ["new-workspace", "new-workspace"], ["hide-sidebar", "sidebar"], ["find", "palette"]]) {
      document.getElementById(id).addEventListener("click", () => desk.commands.run(command));
    }
  }

  focus() {
    const at = this.#list.querySelector('.row-main[aria-current="true"]') ?? this.#list.querySelector(".row-main, .card-name");
    at?.focus();
  }

  draw() {
    keyed(this.#list, this.#desk.cards, ({ id }) => id, (card) => this.#card(card), (element, card) => element.update(card));
  }

  // ---- a workspace ----

  #card(first) {
    const desk = this.#desk;
    let card = first;
    const name = h("button", { type: "button", class: "card-name", onclick: () => desk.view.open(card.id) });
    const color = h("span", { class: "card-color", "aria-hidden": "true" });
    const more = iconButton("more", "Workspace menu", { "aria-haspopup": "menu" });
    more.addEventListener("click", () => desk.actions.workspaceMenu(card, more));
    const add = iconButton("plus", "New terminal", { onclick: () => desk.actions.newTerminal({ workspace: card.id }) });
    const head = h("h2", { class: "card-head" }, color, name, add, more);
    const pin = h("div", { class: "chips" });
    const pills = h("ul", { class: "pills", "aria-label": "Status" });
    const bar = h("progress", { max: "1" });
    const progressText = h("span", {});
    const progress = h("div", { class: "card-progress" }, h("div", { class: "progress-line" }, progressText), bar);
    const rows = h("ul", { class: "rows" });
    let showsGone = false;
    const gone = h("button", { type: "button", class: "more-rows", onclick: () => {
      showsGone = !showsGone;
      element.update(card, true);
    } });
    const none = h("p", { class: "none", text: "No terminals." });
    const log = h("ol", { class: "card-log", "aria-label": "Log" });
    const element = h("li", { class: "card", "data-workspace": card.id }, head, pin, pills, progress, rows, gone, none, log);
    name.addEventListener("contextmenu", (event) => (event.preventDefault(), desk.actions.workspaceMenu(card, event)));
    this.#takeDrops(element, () => ({ workspace: card.id, before: null }), rows);
    element.update = (next, anew = false) => {
      const changed = anew || card !== next || element.drawn !== desk.view.state;
      card = next;
      if (!changed) return;
      element.drawn = desk.view.state;
      const isOpen = desk.view.state.workspace === card.id;
      element.classList.toggle("open", isOpen);
      setAttribute(name, "aria-current", isOpen ? "true" : null);
      setText(name, card.name);
      setAttribute(name, "title", card.name);
      setAttribute(more, "aria-label", `Menu of ${card.name}`);
      setAttribute(add, "aria-label", `New terminal in ${card.name}`);
      color.style.background = CSS.supports("color", card.color ?? "") ? card.color : "";
      const pinned = card.pinned;
      keyed(pin, pinned ? [pinned] : [], (cwd) => cwd, (cwd) => chip("pin", lastSegment(cwd), { label: `New terminals start in ${cwd}. Unpin`, pressed: true, run: () => desk.actions.pin(card.id, cwd) }), () => {});
      keyed(pills, card.status, ({ key }) => key, pill, updatePill);
      progress.hidden = card.progress === null;
      if (card.progress) {
        bar.value = card.progress.value;
        const percent = `${Math.round(card.progress.value * 100)} %`;
        setText(progressText, card.progress.label ? `${card.progress.label} · ${percent}` : percent);
        setAttribute(bar, "aria-label", card.progress.label ?? "Progress");
      }
      none.hidden = card.rows.length > 0;
      const isHidden = (row) => row.state === "gone" && !(isOpen && desk.view.visible.includes(row.session));
      const hidden = card.rows.filter(isHidden);
      gone.hidden = hidden.length <= GONE_SHOWN_MAX;
      setText(gone, showsGone ? "Fewer" : `${hidden.length} that are gone`);
      setAttribute(gone, "aria-expanded", String(showsGone));
      keyed(rows, gone.hidden || showsGone ? card.rows : card.rows.filter((row) => !isHidden(row)), ({ session }) => session, (row) => this.#row(row), (element, row) => element.update(row));
      log.hidden = card.log.length === 0;
      keyed(log, card.log.map((line, n) => ({ ...line, n })), ({ at, message, n }) => `${at} ${n} ${message}`, logLine, () => {});
    };
    return element;
  }

  // ---- a terminal ----

  #row(first) {
    const desk = this.#desk;
    let row = first;
    const dot = h("span", { class: "dot" });
    const name = h("span", { class: "row-name" });
    const live = h("span", { class: "row-live" });
    const state = h("span", { class: "unseen" });
    const main = h("button", { type: "button", class: "row-main", onclick: () => desk.show(row) }, dot, h("span", { class: "row-title" }, name, live), state);
    const close = iconButton("close", "Close", { class: "row-close", onclick: () => desk.actions.close(row) });
    const chips = h("div", { class: "chips" });
    const element = h("li", { class: "row", draggable: "true" }, main, close, chips);
    element.addEventListener("contextmenu", (event) => (event.preventDefault(), desk.actions.terminalMenu(row, event)));
    element.addEventListener("dblclick", (event) => event.target.closest(".row-main") && desk.actions.rename(row));
    element.addEventListener("dragstart", (event) => {
      this.#dragged = row;
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", row.name);
      element.classList.add("dragged");
    });
    element.addEventListener("dragend", () => {
      this.#dragged = null;
      element.classList.remove("dragged");
    });
    this.#takeDrops(element, (isLower) => {
      const { rows } = desk.cardOf(row.workspaceId);
      const at = rows.findIndex(({ session }) => session === row.session) + (isLower ? 1 : 0);
      return { workspace: row.workspaceId, before: rows[at]?.session ?? null };
    });
    element.update = (next) => {
      row = next;
      element.row = row;
      const isFocused = desk.view.focused === row.session && desk.view.state.workspace === row.workspaceId;
      const isShown = desk.view.state.workspace === row.workspaceId && desk.view.visible.includes(row.session);
      element.classList.toggle("shown", isShown);
      element.classList.toggle("over", row.state === "ended" || row.state === "gone");
      setAttribute(main, "aria-current", isFocused ? "true" : null);
      setAttribute(dot, "class", `dot is-${row.state}`);
      setText(name, row.name);
      setText(live, row.live);
      setText(state, `, ${STATES[row.state]}`);
      setAttribute(main, "title", row.title);
      setAttribute(close, "aria-label", `Close ${row.name}`);
      const items = [];
      if (row.cwd) items.push({ key: `cwd ${row.cwd}`, kind: "cwd", cwd: row.cwd });
      if (row.branch) items.push({ key: `branch ${JSON.stringify(row.branch)}`, kind: "branch", branch: row.branch });
      for (const port of row.ports) items.push({ key: `port ${port}`, kind: "port", port });
      keyed(chips, items, ({ key }) => key, (item) => this.#chip(() => row, item), (element, item) => {
        if (item.kind === "cwd") setAttribute(element, "aria-pressed", String(desk.cardOf(row.workspaceId)?.pinned === item.cwd));
      });
    };
    return element;
  }

  #chip(row, { kind, cwd, branch, port }) {
    if (kind === "cwd") return chip("folder", lastSegment(cwd), { label: `${cwd}. Pin for new terminals`, pressed: false, run: () => this.#desk.actions.pin(row().workspaceId, cwd) });
    if (kind === "port") return chip("port", `:${port}`, { label: `Open port ${port}`, href: `http://${location.hostname}:${port}/` });
    const ahead = `${branch.ahead ? ` ↑${branch.ahead}` : ""}${branch.behind ? ` ↓${branch.behind}` : ""}`;
    return chip("branch", `${branch.name}${branch.dirty ? "*" : ""}${ahead}`, { label: `Branch ${branch.name}` });
  }

  // ---- order ----

  #takeDrops(element, where, within = null) {
    const place = (event) => {
      if (!this.#dragged || (within && event.target.closest(".row"))) return null;
      event.preventDefault();
      event.stopPropagation();
      const { top, height } = element.getBoundingClientRect();
      return event.clientY > top + height / 2;
    };
    element.addEventListener("dragover", (event) => {
      const isLower = place(event);
      if (isLower === null) return;
      element.classList.toggle("drop-after", isLower);
      element.classList.toggle("drop-before", !isLower);
    });
    const leave = () => element.classList.remove("drop-after", "drop-before");
    element.addEventListener("dragleave", leave);
    element.addEventListener("drop", (event) => {
      leave();
      const isLower = place(event);
      if (isLower === null) return;
      const { workspace, before } = where(isLower);
      if (before !== this.#dragged.session) this.#desk.actions.moveTo(this.#dragged, workspace, before);
    });
  }

  #key(event) {
    const rowElement = event.target.closest(".row");
    const row = rowElement?.row;
    const stops = [...this.#list.querySelectorAll(".card-name, .row-main")];
    const at = stops.indexOf(event.target);
    if (event.altKey && !event.shiftKey && row && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      this.#desk.actions.move(row, { by: event.key === "ArrowUp" ? -1 : 1 });
      this.#desk.settle();
      rowElement.querySelector(".row-main").focus();
    } else if (at >= 0 && !event.altKey && ["ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) {
      const to = { ArrowUp: Math.max(0, at - 1), ArrowDown: Math.min(stops.length - 1, at + 1), Home: 0, End: stops.length - 1 }[event.key];
      stops[to].focus();
    } else if (row && event.key === "F2") this.#desk.actions.rename(row);
    else if (row && event.key === "Delete") this.#desk.actions.close(row);
    else if (event.key === "Escape") {
      this.#desk.closeDrawer();
      this.#desk.stage.grab();
    } else return;
    event.preventDefault();
  }
}

/** An icon and a short text. With `run` it is a button. */
function chip(name, text, { label, run, pressed, href }) {
  const content = [icon(name), h("span", { text })];
  if (href) return h("a", { class: "chip", href, target: "_blank", rel: "noopener noreferrer", title: label, "aria-label": label }, ...content);
  if (!run) return h("span", { class: "chip plain", title: label }, ...content);
  return h("button", { type: "button", class: "chip", title: label, "aria-label": label, "aria-pressed": String(pressed), onclick: run }, ...content);
}

function pill({ key }) {
  return h("li", { class: "pill", title: key }, h("span", { class: "pill-icon", "aria-hidden": "true" }), h("span", { class: "pill-text" }));
}

function updatePill(element, { key, text, icon, color }) {
  const [mark, words] = element.children;
  setText(mark, icon ?? "");
  setText(words, text);
  setAttribute(element, "title", `${key}: ${text}`);
  element.style.setProperty("--pill", CSS.supports("color", color ?? "") ? color : "");
}

function logLine({ message, level, source, at }) {
  return h("li", { class: `log ${level ?? "info"}`, title: `${new Date(at).toLocaleTimeString()} ${source ? `${source}: ` : ""}${message}` },
    source ? h("span", { class: "log-source", text: source }) : null,
    h("span", { text: message }));
}
