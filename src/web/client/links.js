// Links in a terminal. A program's link (OSC 8) may show one text and lead elsewhere: unless the text is the
// target, the target is shown before it is opened.

import { ask } from "./dialog.js";

/** What xterm.js is given for OSC 8 links. */
export function linkHandler(screen) {
  return {
    activate: (event, uri, range) => openLink(uri, textOf(screen.term, range)),
    hover: (event, uri) => (screen.box.title = uri),
    leave: () => screen.box.removeAttribute("title"),
  };
}

/** Opens it in a tab of its own, which knows nothing of this page. `shown` is what stood there as its text. */
export async function openLink(uri, shown) {
  let url;
  try {
    url = new URL(uri);
  } catch {
    return;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return;
  const honest = bare(shown) === bare(uri) || bare(shown) === bare(url.href);
  if (!honest && !(await ask({ title: "Open this link?", text: `It is shown as “${shown.slice(0, 200)}”.`, quote: url.href, yes: "Open" }))) return;
  open(url.href, "_blank", "noopener,noreferrer");
}

function bare(link) {
  return link.trim().replace(/^https?:\/\//, "").replace(/\/$/, "");
}

/** The text of the cells from `start` to `end`, which count from 1 and are both inside. */
function textOf(term, { start, end }) {
  let text = "";
  for (let y = start.y; y <= end.y; y++) {
    const line = term.buffer.active.getLine(y - 1);
    text += line?.translateToString(false, y === start.y ? start.x - 1 : 0, y === end.y ? end.x : term.cols) ?? "";
  }
  return text;
}
