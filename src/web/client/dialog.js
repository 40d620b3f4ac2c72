// A question that covers the page until it is answered. Everything in it is only ever text.

/**
 * @param {{title: string, text?: string, quote?: string, yes: string, no?: string}} question `quote` is shown as it is
 * @returns {Promise<boolean>}
 */
export function ask({ title, text = "", quote = "", yes, no = "Cancel" }) {
  const before = document.activeElement;
  const dialog = document.createElement("dialog");
  dialog.className = "ask";
  const form = document.createElement("form");
  form.method = "dialog";
  const heading = element("h2", title);
  heading.id = "ask-title";
  dialog.setAttribute("aria-labelledby", heading.id);
  form.append(heading);
  if (text) form.append(element("p", text));
  if (quote) form.append(element("pre", quote));
  const buttons = document.createElement("div");
  buttons.className = "ask-buttons";
  const refuse = element("button", no, "button");
  const agree = element("button", yes, "button primary");
  agree.value = "yes";
  buttons.append(refuse, agree);
  form.append(buttons);
  dialog.append(form);
  document.body.append(dialog);
  dialog.showModal();
  agree.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      before?.focus?.();
      resolve(dialog.returnValue === "yes");
    });
  });
}

/** An element with text in it. */
export function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}
