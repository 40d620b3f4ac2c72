// The line at the bottom: the connection, calmly, and what is known of the focused terminal. It always has its
// place, so that losing the connection moves no terminal.

import { h, icon, keyed, setAttribute, setText } from "../dom.js";
import { Notice } from "../notice.js";
import { spoken } from "./commands.js";
import { branch, bytes, command, load } from "./model.js";

export class Status {
  #desk;
  #element = document.getElementById("status");
  #connection = h("span", { class: "connection", role: "status" });
  #text = h("span", { class: "connection-text" });
  #latency = h("span", { class: "latency", title: "Round trip to the server" });
  #facts = h("ul", { class: "facts", "aria-label": "The focused terminal" });
  notice = new Notice((text, isTrouble) => this.#say(text, isTrouble));

  constructor(desk) {
    this.#desk = desk;
    const button = (name, id, label) => {
      const { keys } = desk.commands.get(id);
      return h("button", { type: "button", class: "tool", "aria-label": label, title: `${label} (${spoken(keys)})`, onclick: () => desk.commands.run(id) }, icon(name));
    };
    this.#connection.append(h("span", { class: "dot" }), this.#text);
    this.#element.append(button("sidebar", "sidebar", "Sidebar"), this.#connection, this.#latency, this.#facts,
      button("search", "palette", "Commands"), button("keyboard", "keys", "Keys"));
    this.#say(null, false);
  }

  latency(ms) {
    setText(this.#latency, ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`);
  }

  #say(text, isTrouble) {
    this.#element.classList.toggle("trouble", isTrouble);
    this.#element.classList.toggle("passing", !isTrouble && text !== null);
    setText(this.#text, text ?? "Connected");
    this.#latency.hidden = isTrouble;
  }

  draw() {
    const row = this.#desk.rowOf(this.#desk.view.focused);
    const keys = this.#desk.state.settings.statusBarKeys ?? [];
    const facts = row ? keys.map((key) => [key, this.#fact(key, row)]).filter(([, text]) => text) : [];
    keyed(this.#facts, facts, ([key]) => key, ([key]) => h("li", { class: `fact ${key}` }), (element, [key, text]) => {
      setText(element, text);
      setAttribute(element, "title", `${key}: ${text}`);
    });
  }

  #fact(key, row) {
    const metadata = row.surface?.metadata;
    switch (key) {
      case "workspace":
        return this.#desk.cardOf(row.workspaceId)?.name;
      case "command":
        return command(metadata);
      case "cwd":
        return row.cwd;
      case "branch":
        return branch(metadata)?.name;
      case "ports":
        return row.ports.map((port) => `:${port}`).join(" ");
      case "cpu":
        return metadata ? `${load(metadata).cpu.toFixed(0)} %` : null;
      case "memory":
        return metadata ? bytes(load(metadata).bytes) : null;
      case "size":
        return row.surface ? `${row.surface.cols} × ${row.surface.rows}` : null;
      default:
        return this.#desk.state.sidebar[row.workspaceId]?.status?.[key]?.text;
    }
  }
}
