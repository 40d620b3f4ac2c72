// A menu over the page, for mouse, touch and keyboard.

import { h } from "./dom.js";

/**
 * Opens it at `anchor` (an element, or {x, y}).
 * @param items {title, keys?, run, danger?, disabled?, isOn?}, or null for a line between groups; `isOn` makes a switch
 */
export function openMenu(anchor, label, items) {
  const from = document.activeElement;
  const menu = h("div", { class: "menu", role: "menu", "aria-label": label });
  const cover = h("div", { class: "menu-cover", popover: "manual" }, menu);
  const close = (back) => {
    cover.remove();
    if (back && from?.isConnected) from.focus({ preventScroll: true });
  };
  for (const item of items) {
    if (item === null) {
      menu.append(h("hr"));
      continue;
    }
    const isSwitch = item.isOn !== undefined;
    menu.append(h("button", {
      type: "button", role: isSwitch ? "menuitemcheckbox" : "menuitem", "aria-checked": isSwitch ? String(item.isOn) : null,
      tabindex: "-1", class: item.danger ? "danger" : null, disabled: item.disabled,
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
  cover.showPopover();
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
