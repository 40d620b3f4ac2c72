// Whether agents are told to go on, and why: shown only while the engine is on.

import { openDialog } from "../dialog.js";
import { h, icon, keyed, setAttribute, setText } from "../dom.js";
import { call } from "../server.js";

const OUTCOMES = { fired: "told to go on", "dry-run": "would be told to go on", skipped: "left waiting", paused: "paused", resumed: "resumed" };

export function autoContinue(desk) {
  const isOn = () => (desk.state.settings.autoContinueEngine ?? "off") !== "off";
  const word = h("span", { class: "auto-word" });
  const button = h("button", { type: "button", class: "auto-button", "aria-haspopup": "dialog", onclick: () => desk.commands.run("auto-continue") },
    icon("play"), h("span", { text: "Auto-continue" }), word);
  const section = h("div", { class: "auto", hidden: true }, button);
  desk.sidebar.element.querySelector(".sidebar-foot").before(section);
  let list = null;
  desk.commands.add({ id: "auto-continue", group: "Everywhere", title: "Auto-continue: decisions and pauses", enabled: isOn, run: () => (list = openAudit(desk, () => (list = null))) });
  desk.onDraw(() => {
    section.hidden = !isOn();
    setText(word, desk.state.settings.autoContinueDryRun ? "dry run" : "types");
    if (!isOn()) list?.close();
    list?.draw();
  });
}

function openAudit(desk, closed) {
  let paused = new Set();
  let audit = null;
  const terminals = h("ul", { class: "auto-terminals", "aria-label": "Terminals" });
  const entries = h("ol", { class: "audit", "aria-label": "Decisions, the latest first" });
  const none = h("p", { class: "none", text: "Nothing was decided yet. A notification for a terminal is what asks." });
  const about = h("p", { class: "auto-about" });
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  const close = h("button", { type: "button", class: "button small", text: "Close", autofocus: true, onclick: () => dialog.close() });
  const dialog = openDialog("auto-continue", "Auto-continue", h("div", {},
    h("header", {}, h("h2", { text: "Auto-continue" }), close), about, wrong,
    h("h3", { text: "Terminals" }), terminals, h("h3", { text: "Decisions" }), entries, none), closed);

  const attempt = async (work) => {
    try {
      await work();
      wrong.hidden = true;
    } catch (error) {
      setText(wrong, error.message);
      wrong.hidden = false;
    }
  };
  const ask = () => attempt(async () => {
    paused = new Set((await call("GET", "v1/autocontinue")).paused);
    draw();
  });
  const turn = (surfaceId) => attempt(async () => {
    await call("POST", "v1/autocontinue", { action: paused.has(surfaceId) ? "resume" : "pause", surfaceId });
    await ask();
  });
  const draw = () => {
    const { settings } = desk.state;
    setText(about, settings.autoContinueDryRun
      ? "Dry run: decisions are written down, and nothing is typed."
      : `An agent that stopped is told to go on: at most ${settings.autoContinueMaxConsecutive} times in a row, ${settings.autoContinueCooldownMs / 1000} s apart.`);
    const rows = desk.cards.flatMap((card) => card.rows).filter(({ surface }) => surface && !surface.exited);
    keyed(terminals, rows, ({ surfaceId, workspaceId }) => `${workspaceId} ${surfaceId}`, terminal, (element, row) => element.update(row, paused.has(row.surfaceId)));
    none.hidden = desk.state.audit.length > 0;
    if (audit === desk.state.audit) return;
    // Whoever paused it, and wherever: the audit says so.
    if (audit !== null) ask();
    audit = desk.state.audit;
    keyed(entries, audit.toReversed(), (entry) => JSON.stringify(entry), (entry) => line(desk, entry), () => {});
  };
  const terminal = () => {
    const name = h("span", { class: "auto-name" });
    const button = h("button", { type: "button", class: "button small" });
    const element = h("li", {}, name, button);
    element.update = (row, isPaused) => {
      setText(name, row.title);
      setText(button, isPaused ? "Resume" : "Pause");
      setAttribute(button, "aria-label", `${isPaused ? "Resume" : "Pause"} ${row.name}`);
      button.onclick = () => turn(row.surfaceId);
      element.classList.toggle("paused", isPaused);
    };
    return element;
  };
  draw();
  ask();
  return { draw, close: () => dialog.close() };
}

function line(desk, { at, surfaceId, agentId, outcome, reason }) {
  const name = agentId ?? desk.rowOfSurface(surfaceId)?.name ?? "a terminal that is gone";
  return h("li", { class: `decision is-${outcome}` },
    h("span", { class: "decision-what" }, h("b", { text: name }), ` ${OUTCOMES[outcome] ?? outcome}`),
    h("span", { class: "decision-why", text: reason }),
    h("time", { datetime: at, text: new Date(at).toLocaleTimeString() }));
}
