// Questions, menus and lists over the page: native dialogs, so that the keyboard, Esc and a screen reader work.

import { h, icon } from "./dom.js";

/** Opens a dialog around `content`; `closed(returnValue)` when it is gone. The focus goes back to where it was. */
export function openDialog(className, label, content, closed) {
  const from = document.activeElement;
  const dialog = h("dialog", { class: `dialog ${className}`, "aria-label": label }, content);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (from?.isConnected) from.focus({ preventScroll: true });
    closed?.(dialog.returnValue);
  });
  dialog.addEventListener("mousedown", (event) => event.target === dialog && dialog.close(""));
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** A yes-or-no question; true for yes. */
export function confirmIt({ title, text, yes, danger = false }) {
  return new Promise((resolve) => {
    const form = h("form", { method: "dialog" },
      h("h2", { text: title }),
      text ? h("p", { text }) : null,
      h("div", { class: "buttons" },
        h("button", { class: "button", value: "", text: "Cancel" }),
        h("button", { class: `button ${danger ? "danger" : "primary"}`, value: "yes", autofocus: true, text: yes }),
      ),
    );
    openDialog("question", title, form, (value) => resolve(value === "yes"));
  });
}

/** Asks for a line of text; null when it was not given. */
export function askFor({ title, label, value = "", yes, maxlength = 200 }) {
  return new Promise((resolve) => {
    const input = h("input", { name: "text", value, maxlength, autocomplete: "off", spellcheck: "false", required: true });
    const form = h("form", { method: "dialog" },
      h("h2", { text: title }),
      h("label", {}, label, input),
      h("div", { class: "buttons" },
        h("button", { class: "button", value: "", type: "button", text: "Cancel", onclick: () => dialog.close("") }),
        h("button", { class: "button primary", value: "yes", text: yes }),
      ),
    );
    const dialog = openDialog("question", title, form, (answer) => resolve(answer === "yes" ? input.value.trim() || null : null));
    input.select();
  });
}

/**
 * A menu at `anchor` (an element, or {x, y}).
 * @param items {title, keys?, run, danger?, disabled?}, or null for a line between groups
 */
export function openMenu(anchor, label, items) {
  const from = document.activeElement;
  const menu = h("div", { class: "menu", role: "menu", "aria-label": label });
  const cover = h("div", { class: "menu-cover" }, menu);
  const close = (back) => {
    cover.remove();
    if (back && from?.isConnected) from.focus({ preventScroll: true });
  };
  for (const item of items) {
    if (item === null) {
      menu.append(h("hr"));
      continue;
    }
    menu.append(h("button", {
      type: "button", role: "menuitem", tabindex: "-1", class: item.danger ? "danger" : null, disabled: item.disabled,
      onclick: () => (close(true), item.run()),
    }, h("span", { text: item.title }), item.keys ? h("kbd", { text: item.keys }) : null));
  }
  const buttons = [...menu.querySelectorAll("button:not(:disabled)")];
  cover.addEventListener("pointerdown", (event) => {
    if (event.target !== cover) return;
    event.preventDefault();
    close(true);
  });
  cover.addEventListener("contextmenu", (event) => event.preventDefault());
  menu.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + (at < 0 ? buttons.length + 1 : 0), Home: 0, End: buttons.length - 1 }[event.key];
    if (to !== undefined) buttons.at(to % buttons.length)?.focus();
    else if (event.key === "Escape" || event.key === "Tab") close(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.body.append(cover);
  place(menu, anchor);
  buttons[0]?.focus();
}

function place(menu, anchor) {
  const { x, y, bottom, right } = anchor instanceof Element ? anchor.getBoundingClientRect() : { ...anchor, bottom: anchor.y, right: anchor.x };
  const { width, height } = menu.getBoundingClientRect();
  const left = anchor instanceof Element && x + width > innerWidth - 8 ? right - width : x;
  menu.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  menu.style.top = `${bottom + height + 4 > innerHeight - 8 ? Math.max(8, y - height - 4) : bottom + 4}px`;
}

/** A chip: an icon and a short text. With `run` it is a button. */
export function chip(name, text, { label, run, pressed, href } = {}) {
  const content = [icon(name), h("span", { text })];
  if (href) return h("a", { class: "chip", href, target: "_blank", rel: "noopener noreferrer", title: label, "aria-label": label }, ...content);
  if (!run) return h("span", { class: "chip plain", title: label }, ...content);
  return h("button", { type: "button", class: "chip", title: label, "aria-label": label, "aria-pressed": pressed === undefined ? null : String(pressed), onclick: run }, ...content);
}
