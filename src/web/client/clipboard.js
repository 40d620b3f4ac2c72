// Text between the terminal and the clipboard: copies, pastes that cannot do harm, and what programs ask for.

import { ask } from "./dialog.js";

/** Longest text that a program may put on the clipboard (OSC 52), in characters of base64. What fills the server's queue
 *  for a page (1 MiB) may be skipped in favour of the screen, and a clipboard with it: this much never is. */
const WRITE_CHARS_MAX = 512 << 10;
/** How much of a paste is shown when it is asked about. */
const QUOTE_LINES = 12;
const QUOTE_CHARS = 1200;

/** The text without what could end a bracketed paste or press keys: control characters but tab and line ends. */
export function harmless(text) {
  return text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, "");
}

/** Pastes it; several lines into a program that would take them as typed are asked about first. */
export async function pasteInto(term, text) {
  const clean = harmless(text);
  if (clean === "") return;
  const lines = clean.split(/\r\n|\r|\n/);
  if (lines.length > 1 && !term.modes.bracketedPasteMode) {
    const count = lines.at(-1) === "" ? lines.length - 1 : lines.length;
    const sure = await ask({
      title: count === 1 ? "Paste a line with its end?" : `Paste ${count} lines?`,
      text: "This program takes them as if they were typed: each line is entered at once.",
      quote: quoted(lines),
      yes: "Paste",
    });
    if (!sure) return;
  }
  term.paste(clean);
}

function quoted(lines) {
  const shown = lines.slice(0, QUOTE_LINES).join("\n").slice(0, QUOTE_CHARS);
  return lines.length > QUOTE_LINES || shown.length === QUOTE_CHARS ? `${shown}\n…` : shown;
}

/** Whether it is on the clipboard now. Without a secure context it works only while a key or a click is handled. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByEvent(text);
  }
}

function copyByEvent(text) {
  let written = false;
  const give = (event) => {
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
    written = true;
  };
  addEventListener("copy", give, true);
  document.execCommand("copy");
  removeEventListener("copy", give, true);
  return written;
}

/**
 * OSC 52: a program may write the clipboard, whichever it names or none, and never read it. What history holds was
 * done already.
 */
export function serveClipboard(screen) {
  screen.term.parser.registerOscHandler(52, (data) => {
    const at = data.indexOf(";");
    const payload = data.slice(at + 1);
    if (at < 0 || payload === "?" || payload === "" || screen.isHistory) return true;
    if (payload.length > WRITE_CHARS_MAX) {
      screen.say("A program wanted to copy more than the clipboard gets from here.");
      return true;
    }
    const text = decoded(payload);
    if (text) put(screen, text);
    return true;
  });
}

async function put(screen, text) {
  const what = `${text.length} character${text.length === 1 ? "" : "s"}`;
  if (document.hasFocus() && (await copy(text))) return screen.say(`Copied by the program: ${what}`);
  screen.say(`The program wants to copy ${what}.`, { label: "Copy", act: () => copy(text) });
}

function decoded(base64) {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)));
  } catch {
    return "";
  }
}
