// Questions and lists over the page: native dialogs, so that the keyboard, Esc and a screen reader work. Everything in
// them is only ever text.

import { h } from "./dom.js";

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

/** A dialog around `content` that is agreed to or not; true for yes. */
export function question({ title, yes, danger = false }, ...content) {
  return new Promise((resolve) => {
    const form = h("form", { method: "dialog" },
      h("h2", { text: title }),
      ...content,
      h("div", { class: "buttons" },
        h("button", { class: "button", type: "button", text: "Cancel", onclick: () => dialog.close("") }),
        h("button", { class: `button ${danger ? "danger" : "primary"}`, value: "yes", autofocus: true, text: yes }),
      ),
    );
    const dialog = openDialog("question", title, form, (answer) => resolve(answer === "yes"));
  });
}

/** A yes-or-no question; `quote` is shown as it is. */
export function ask({ title, text, quote, yes, danger }) {
  return question({ title, yes, danger }, text ? h("p", { text }) : null, quote ? h("pre", { text: quote }) : null);
}

/** Asks for a line of text; null when it was not given. */
export async function askFor({ title, label, value = "", yes }) {
  const input = h("input", { value, maxlength: "200", autocomplete: "off", spellcheck: "false", required: true, autofocus: true });
  const answer = question({ title, yes }, h("label", {}, label, input));
  input.select();
  return (await answer) ? input.value.trim() || null : null;
}
