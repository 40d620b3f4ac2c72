// What scripts draw: panels over their terminals. Their frame, their place, and what people do to them; what is in
// them is drawn by panel-content.js.

import { h, iconButton, setAttribute, setText } from "../dom.js";
import { Content } from "./panel-content.js";

/** CSS pixels of a panel that stay on the terminal, so that it can be taken hold of. */
const HOLD_PX = 48;
/** By an arrow key. */
const STEP_PX = 16;
const SIDE_MIN_PX = 24;
/** As the server's PANEL_PIXELS_MAX. */
const PIXELS_MAX = 100_000;
/** More panels than a surface may have: what is drawn later stands above within one zIndex. */
const ORDER_MAX = 300;
/** Above all that is reached by zIndex. */
const OVERLAY_Z = 1_000_000_000;

export function panels(desk) {
  /** surfaceId -> {layer, drawn, views: Map(id -> PanelView)} */
  const hosts = new Map();
  const watched = new WeakSet();
  const moves = new ResizeObserver((entries) => {
    for (const { layer, views } of hosts.values()) {
      if (entries.some(({ target }) => target === layer)) for (const view of views.values()) view.place();
    }
  });

  const drop = (surfaceId) => {
    const host = hosts.get(surfaceId);
    if (!host) return;
    for (const view of host.views.values()) view.end();
    moves.unobserve(host.layer);
    hosts.delete(surfaceId);
  };

  /** Text that scrolls takes its inline panels along. */
  const follow = (surfaceId, screen) => {
    if (watched.has(screen)) return;
    watched.add(screen);
    screen.term.onRender(() => {
      for (const view of hosts.get(surfaceId)?.views.values() ?? []) if (view.isInline) view.place();
    });
  };

  desk.onDraw(() => {
    for (const [surfaceId, host] of hosts) {
      if (!desk.state.panels.has(surfaceId) || desk.stage.layerOf(surfaceId) !== host.layer) drop(surfaceId);
    }
    for (const [surfaceId, known] of desk.state.panels) {
      const layer = desk.stage.layerOf(surfaceId);
      if (!layer) continue;
      let host = hosts.get(surfaceId);
      if (!host) {
        hosts.set(surfaceId, (host = { layer, drawn: null, views: new Map() }));
        moves.observe(layer);
      }
      const screen = desk.stage.screenOf(surfaceId);
      if (screen) follow(surfaceId, screen);
      const scheme = document.documentElement.dataset.scheme;
      if (host.drawn === known && host.scheme === scheme && host.screen === screen) continue;
      Object.assign(host, { drawn: known, scheme, screen });
      for (const [id, view] of host.views) {
        if (known.has(id)) continue;
        view.end();
        host.views.delete(id);
      }
      let order = 0;
      for (const [id, panel] of known) {
        let view = host.views.get(id);
        if (!view || view.kind !== panel.type) {
          view?.end();
          host.views.set(id, (view = new PanelView(desk, surfaceId, id, panel.type)));
          layer.append(view.element);
        }
        view.update(panel, order++, screen);
      }
    }
  });

  const here = () => {
    const surfaceId = desk.rowOf(desk.view.focused)?.surfaceId;
    return [...(hosts.get(surfaceId)?.views.values() ?? [])];
  };
  const any = { enabled: () => here().length > 0 };
  desk.commands.add({ id: "to-panel", group: "Panes", title: "To the next panel", keys: "Alt+Shift+P", ...any, run: () => {
    const views = here();
    const at = views.findIndex((view) => view.element.contains(document.activeElement));
    views[(at + 1) % views.length].focus();
  } });
  desk.commands.add({ id: "close-panels", group: "Panes", title: "Close the terminal’s panels", ...any, run: () => {
    for (const view of here()) view.close();
    desk.stage.grab();
  } });
}

class PanelView {
  #desk;
  #surfaceId;
  #id;
  #panel = null;
  #content;
  #screen = null;
  /** Where it was put by hand, until the server says so. */
  #held = null;
  /** Where an inline one stands in the text. */
  #anchor = null;
  #name = h("span", { class: "panel-name" });
  #bar;
  #shield = h("div", { class: "panel-shield", hidden: true });
  #grip = h("div", { class: "panel-grip", "aria-hidden": "true" });
  #body;

  constructor(desk, surfaceId, id, kind) {
    this.#desk = desk;
    this.#surfaceId = surfaceId;
    this.#id = id;
    this.kind = kind;
    this.#content = new Content(kind, () => this.place());
    this.#body = h("div", { class: "panel-body" }, this.#content.element, this.#shield);
    this.#bar = h("div", { class: "panel-bar", tabindex: "0", role: "group", "aria-label": `Panel ${id}: arrows move it, Delete closes it` }, this.#name, iconButton("close", `Close panel ${id}`, { class: "panel-close", tabindex: "-1", onclick: () => this.close() }));
    this.element = h("section", { class: "panel", "aria-label": `Panel ${id}` }, this.#bar, this.#body, this.#grip);
    setText(this.#name, id);
    this.#drags(this.#bar, "draggable", (by) => this.#moved(by), () => this.#tell({ type: "dragend", ...this.#held }));
    this.#drags(this.#grip, "resizable", (by) => this.#resized(by), () => this.#tell({ type: "resize", width: this.#held.width, height: this.#held.height }));
    this.#bar.addEventListener("keydown", (event) => this.#key(event));
    // The terminal keeps the keyboard while the mouse is at work.
    for (const element of [this.#bar, this.#grip, this.#shield]) element.addEventListener("mousedown", (event) => event.preventDefault());
    this.#listens();
  }

  get isInline() {
    return this.#panel.position === "inline";
  }

  focus() {
    this.#bar.focus();
  }

  close() {
    this.#tell({ type: "close" });
  }

  end() {
    const hadFocus = this.element.contains(document.activeElement);
    this.#anchor?.marker?.dispose();
    this.#content.end();
    this.element.remove();
    if (hadFocus) this.#desk.stage.grab();
  }

  update(panel, order, screen) {
    const before = this.#panel;
    this.#panel = panel;
    if (panel !== before) this.#held = null;
    const { element } = this;
    const framed = panel.position === "float";
    element.className = `panel ${panel.type} ${panel.position} ${framed ? "framed" : "bare"}`;
    element.classList.toggle("interactive", panel.interactive);
    element.classList.toggle("draggable", panel.draggable);
    element.classList.toggle("resizable", panel.resizable);
    element.style.zIndex = String((panel.zIndex ?? 0) * ORDER_MAX + order + (panel.position === "overlay" ? OVERLAY_Z : 0));
    element.style.opacity = String(panel.opacity ?? 1);
    this.#shield.hidden = !panel.interactive;
    const can = [panel.draggable && "arrow keys move it", panel.resizable && "Shift and arrow keys resize it", panel.interactive && "Enter clicks it"].filter(Boolean);
    setAttribute(this.#bar, "aria-label", `Panel ${this.#id}: ${[...can, "Delete closes it"].join(", ")}`);
    const moved = before === null || before.x !== panel.x || before.y !== panel.y || before.position !== panel.position;
    if (this.isInline && (moved || screen !== this.#screen)) this.#anchorSoon(screen);
    this.#screen = screen;
    this.#content.update(panel, this.#size());
    this.place();
  }

  /** Puts it where it belongs; a part of it always stays on the terminal. */
  place() {
    const layer = this.element.parentElement;
    if (!layer || !this.#panel) return;
    const { clientWidth, clientHeight } = layer;
    let { x, y } = this.#held ?? this.#panel;
    if (this.isInline) {
      const at = this.#inText(layer);
      this.element.classList.toggle("elsewhere", at === null);
      if (at === null) return;
      ({ x, y } = at);
    } else {
      this.element.classList.remove("elsewhere");
      const { offsetWidth, offsetHeight } = this.element;
      x = Math.max(HOLD_PX - offsetWidth, Math.min(x, Math.max(0, clientWidth - offsetWidth)));
      y = Math.max(0, Math.min(y, Math.max(0, clientHeight - offsetHeight)));
    }
    this.element.style.left = `${x}px`;
    this.element.style.top = `${y}px`;
  }

  // ---- in the text ----

  /** Takes the line that stands at `y` now, once what came before has been parsed, and goes with it. */
  #anchorSoon(screen) {
    this.#anchor?.marker?.dispose();
    const anchor = (this.#anchor = { marker: null, below: this.#panel.y });
    screen?.term.write("", () => {
      if (this.#anchor !== anchor || !screen.term.element?.isConnected) return;
      const { term, cell } = screen;
      const { active } = term.buffer;
      const line = active.viewportY + Math.floor(this.#panel.y / cell.height);
      anchor.marker = term.registerMarker(line - active.baseY - active.cursorY) ?? null;
      anchor.below = this.#panel.y - Math.floor(this.#panel.y / cell.height) * cell.height;
      this.place();
    });
  }

  /** Where its line stands in the layer; null when that line is gone, or another screen is shown. */
  #inText(layer) {
    const { marker, below } = this.#anchor ?? {};
    const screen = this.#screen;
    if (!screen || !marker) return null;
    const { active } = screen.term.buffer;
    if (marker.isDisposed || active.type !== "normal") return null;
    const text = screen.grid.getBoundingClientRect();
    const own = layer.getBoundingClientRect();
    const y = text.top - own.top + (marker.line - active.viewportY) * screen.cell.height + below;
    return { x: text.left - own.left + this.#panel.x, y };
  }

  // ---- by hand ----

  #tell(event) {
    if (!this.#desk.send({ type: "panelInteract", surfaceId: this.#surfaceId, id: this.#id, event })) {
      this.#held = null;
      this.#desk.say("There is no connection: the panel stays as it is.");
      this.#content.size(this.#size());
      this.place();
    }
  }

  #size() {
    return { width: this.#held?.width ?? this.#panel.width, height: this.#held?.height ?? this.#panel.height };
  }

  #moved({ x, y }) {
    const from = { x: this.element.offsetLeft, y: this.element.offsetTop };
    if (this.isInline) {
      this.#held = { x: clamp(this.#panel.x + x), y: clamp(this.#panel.y + y) };
      this.element.style.translate = `${x}px ${y}px`;
      return;
    }
    this.#held = { x: clamp((this.#from ?? from).x + x), y: clamp((this.#from ?? from).y + y) };
    this.place();
  }
  #from = null;

  #resized({ x, y }) {
    this.#from ??= { x: this.element.offsetLeft, y: this.element.offsetTop, width: this.#body.clientWidth, height: this.#body.clientHeight };
    const side = (from, by) => Math.round(Math.min(PIXELS_MAX, Math.max(SIDE_MIN_PX, from + by)));
    this.#held = { x: this.#panel.x, y: this.#panel.y, width: side(this.#from.width, x), height: side(this.#from.height, y) };
    this.#content.size(this.#size());
    this.place();
  }

  /** Follows a pointer that takes hold of `element`, when the panel has that flag. */
  #drags(element, flag, move, end) {
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.#panel[flag] || event.target.closest("button")) return;
      const start = { x: event.clientX, y: event.clientY };
      this.#from = { x: this.element.offsetLeft, y: this.element.offsetTop, width: this.#body.clientWidth, height: this.#body.clientHeight };
      element.setPointerCapture(event.pointerId);
      let isMoved = false;
      element.onpointermove = (event) => {
        const by = { x: event.clientX - start.x, y: event.clientY - start.y };
        isMoved ||= Math.hypot(by.x, by.y) > 3;
        if (isMoved) move(by);
      };
      element.onpointerup = element.onpointercancel = (event) => {
        element.onpointermove = element.onpointerup = element.onpointercancel = null;
        this.#from = null;
        this.element.style.translate = "";
        if (!isMoved) return;
        if (event.type === "pointerup") return end();
        this.#held = null;
        this.place();
      };
    });
  }

  #key(event) {
    if (event.target !== this.#bar || event.altKey || event.ctrlKey || event.metaKey) return;
    const by = { ArrowLeft: [-STEP_PX, 0], ArrowRight: [STEP_PX, 0], ArrowUp: [0, -STEP_PX], ArrowDown: [0, STEP_PX] }[event.key];
    if (by && event.shiftKey && this.#panel.resizable) {
      this.#from = null;
      this.#resized({ x: by[0], y: by[1] });
      this.#from = null;
      this.#tell({ type: "resize", width: this.#held.width, height: this.#held.height });
    } else if (by && !event.shiftKey && this.#panel.draggable) {
      this.#moved({ x: by[0], y: by[1] });
      this.element.style.translate = "";
      this.#tell({ type: "dragend", x: this.#held.x, y: this.#held.y });
    } else if (event.key === "Delete") this.close();
    else if (event.key === "Escape") this.#desk.stage.grab();
    else if (event.key === "Enter" && this.#panel.interactive) this.#tell({ type: "click", x: this.#body.clientWidth / 2, y: this.#body.clientHeight / 2, button: 0, buttons: 0 });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // ---- the script hears of the mouse ----

  #listens() {
    const shield = this.#shield;
    const told = (type, event, more = {}) => {
      const { left, top } = shield.getBoundingClientRect();
      this.#desk.send({
        type: "panelInteract", surfaceId: this.#surfaceId, id: this.#id,
        event: { type, x: Math.round(event.clientX - left), y: Math.round(event.clientY - top), button: Math.max(0, event.button), buttons: event.buttons, ...more },
      });
    };
    // A hand moves faster than a screen: one of these a frame is enough.
    let due = null;
    const soon = (type, event, more) => {
      if (due === null) requestAnimationFrame(() => {
        const { type, event, more } = due;
        due = null;
        if (shield.isConnected) told(type, event, more);
      });
      const wheel = due?.type === "wheel" && type === "wheel" ? due.more : { deltaX: 0, deltaY: 0 };
      due = { type, event, more: type === "wheel" ? { deltaX: wheel.deltaX + more.deltaX, deltaY: wheel.deltaY + more.deltaY } : {} };
    };
    for (const [name, type] of [["pointerdown", "mousedown"], ["pointerup", "mouseup"], ["pointerenter", "mouseenter"], ["pointerleave", "mouseleave"], ["click", "click"], ["auxclick", "click"]]) {
      shield.addEventListener(name, (event) => told(type, event));
    }
    shield.addEventListener("pointermove", (event) => soon("mousemove", event, {}));
    shield.addEventListener("wheel", (event) => {
      event.preventDefault();
      const line = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : 16;
      const px = (delta) => Math.max(-PIXELS_MAX, Math.min(PIXELS_MAX, delta * line));
      soon("wheel", event, { deltaX: px(event.deltaX), deltaY: px(event.deltaY) });
    }, { passive: false });
    shield.addEventListener("contextmenu", (event) => event.preventDefault());
  }
}

function clamp(px) {
  return Math.round(Math.min(PIXELS_MAX, Math.max(-PIXELS_MAX, px)));
}
