// A menu under a button, for mouse, touch and keyboard.

import { element } from "./dialog.js";

/**
 * @param {HTMLButtonElement} button
 * @param items `{label, hint?, act}`, or `{label, isOn(), act}` for a switch; asked anew each time it opens
 */
export function menu(button, items) {
  const list = element("div", "", "menu");
  list.setAttribute("popover", "");
  list.setAttribute("role", "menu");
  list.id = `${button.id}-list`;
  button.setAttribute("aria-haspopup", "menu");
  button.setAttribute("aria-controls", list.id);
  button.setAttribute("aria-expanded", "false");
  document.body.append(list);
  button.addEventListener("click", () => (list.matches(":popover-open") ? list.hidePopover() : show()));
  list.addEventListener("toggle", ({ newState }) => button.setAttribute("aria-expanded", String(newState === "open")));
  list.addEventListener("keydown", (event) => {
    const buttons = [...list.children];
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") {
      list.hidePopover();
      button.focus();
    } else if (to !== undefined) {
      buttons[(to + buttons.length) % buttons.length].focus();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });

  function show() {
    list.replaceChildren(...items.map(row));
    const { bottom, right } = button.getBoundingClientRect();
    list.style.top = `${bottom + 4}px`;
    list.style.right = `${Math.max(6, document.documentElement.clientWidth - right)}px`;
    list.showPopover();
    list.firstElementChild.focus();
  }

  function row({ label, hint = "", isOn, act }) {
    const item = element("button", "", "menu-item");
    item.type = "button";
    item.setAttribute("role", isOn ? "menuitemcheckbox" : "menuitem");
    if (isOn) item.setAttribute("aria-checked", String(isOn()));
    item.append(element("span", label));
    if (hint) item.append(element("kbd", hint));
    item.addEventListener("click", () => {
      list.hidePopover();
      act();
    });
    return item;
  }

  return { toggle: () => button.click() };
}
