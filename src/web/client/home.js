// The list of terminals, kept current by the server's events.

import { Backoff } from "./backoff.js";
import { askForToken } from "./login.js";
import { Notice } from "./notice.js";
import { call, listTerminals, randomId, socketUrl, base, terminalUrl } from "./server.js";

/** Events come in bursts; the list is read again once they pause. */
const SETTLE_MS = 150;
/** How long a second press on Close counts. */
const SURE_MS = 4000;

const notice = new Notice();
const list = document.getElementById("terminals");
const empty = document.getElementById("empty");
const backoff = new Backoff();
let settle = 0;

const newLink = document.getElementById("new");
newLink.href = terminalUrl(randomId(8));
// Coming back to this page from the new terminal, the next one is another.
addEventListener("pageshow", () => (newLink.href = terminalUrl(randomId(8))));
document.addEventListener("visibilitychange", () => document.hidden || refresh());
follow();

async function refresh() {
  try {
    show(await listTerminals());
    notice.clear();
  } catch (error) {
    if (error.status === 401) return askForToken(error.message);
    notice.say(error.message);
  }
}

/** Any event may change the list. */
function follow() {
  const socket = new WebSocket(socketUrl(`${base}v1/events/socket`));
  socket.onopen = () => {
    backoff.reset();
    refresh();
  };
  socket.onmessage = () => {
    clearTimeout(settle);
    settle = setTimeout(refresh, SETTLE_MS);
  };
  socket.onclose = () => {
    refresh();
    setTimeout(follow, backoff.next());
  };
}

function show(terminals) {
  terminals.sort((a, b) => a.exited - b.exited || String(b.createdAt).localeCompare(String(a.createdAt)));
  empty.hidden = terminals.length > 0;
  list.replaceChildren(...terminals.map(item));
}

// Titles and folders come from programs, so they are only ever text.
function item(terminal) {
  const row = document.createElement("li");
  row.className = terminal.exited ? "entry exited" : "entry";
  const link = document.createElement("a");
  link.href = terminalUrl(terminal.sessionId);
  link.append(text("name", terminal.title || terminal.sessionId), text("about", about(terminal)));
  const close = document.createElement("button");
  close.className = "button quiet";
  close.type = "button";
  close.textContent = "Close";
  close.setAttribute("aria-label", `Close ${terminal.title || terminal.sessionId}`);
  close.addEventListener("click", () => closeTerminal(terminal, close));
  row.append(link, close);
  return row;
}

function text(className, content) {
  const span = document.createElement("span");
  span.className = className;
  span.textContent = content;
  return span;
}

function about({ cwd, cols, rows, exited, exitCode, attached, agentOwned }) {
  const state = exited ? (exitCode == null ? "ended" : `ended with code ${exitCode}`) : attached > 0 ? `open in ${attached}` : "";
  return [state, agentOwned ? "agent" : "", cwd, `${cols} × ${rows}`].filter(Boolean).join(" · ");
}

async function closeTerminal(terminal, button) {
  if (!terminal.exited && !button.classList.contains("sure")) {
    button.classList.add("sure");
    button.textContent = "End it?";
    setTimeout(() => {
      button.classList.remove("sure");
      button.textContent = "Close";
    }, SURE_MS);
    return;
  }
  try {
    await call("DELETE", `v1/terminals/${terminal.id}`);
  } catch (error) {
    if (error.status !== 404) notice.sayNow(error.message);
  }
  refresh();
}
