// What terminals and scripts want a person to know: in passing over the terminals, in a list behind the bell, and, if
// this person has asked for it, from the browser while the page is not looked at.

import { beep } from "../bell.js";
import { ask, openDialog } from "../dialog.js";
import { h, icon, iconButton, keyed, setAttribute, setText } from "../dom.js";
import { setWish, wish } from "../prefs.js";
import { base, call, terminalUrl } from "../server.js";
import { nothing } from "./store.js";

/** More would cover the terminals; the others are in the list. */
const TOASTS_MAX = 4;
const LEVELS = { info: "Information", progress: "Under way", success: "Success", warning: "Warning", error: "Error" };
const WISH = "browser-notifications";

export function notifications(desk) {
  /** Over the terminals now: id -> {element, timer}. */
  const toasts = new Map();
  /** What the browser shows: id -> what takes it away. */
  const told = new Map();
  let worker = null;
  const polite = h("div", { class: "unseen", role: "log", "aria-live": "polite", "aria-label": "Notifications" });
  const host = h("div", { class: "notes" });
  const count = h("span", { class: "bell-count", hidden: true });
  const bell = h("button", { type: "button", class: "tool bell-button", "aria-haspopup": "dialog", onclick: () => desk.commands.run("notifications") }, icon("bell"), count);
  document.getElementById("status").append(bell);
  desk.stage.element.append(host, polite);
  let list = null;

  desk.commands.add({ id: "notifications", group: "Everywhere", title: "Notifications", keys: "Alt+Shift+A", run: () => (list = openList(desk, () => (list = null), allow)) });
  desk.commands.add({ id: "dismiss-notifications", group: "Everywhere", title: "Dismiss all notifications", enabled: () => desk.state.notifications.length > 0, run: () => clear(desk) });
  desk.commands.add({ id: "latest-notification", group: "Everywhere", title: "To the terminal of the latest notification", keys: "Alt+Shift+U",
    enabled: () => desk.state.notifications.some((note) => placeOf(desk, note)),
    run: () => jump(desk, desk.state.notifications.findLast((note) => placeOf(desk, note))) });

  desk.store.watch((state, before) => {
    if (state.notifications === before.notifications) return;
    const now = new Set(state.notifications.map(({ id }) => id));
    for (const id of [...toasts.keys()]) if (!now.has(id)) hide(id);
    for (const [id, close] of told) {
      if (now.has(id)) continue;
      close();
      told.delete(id);
    }
    // Those that were there when the page came are in the list.
    if (before === nothing) return;
    const known = new Set(before.notifications.map(({ id }) => id));
    const fresh = state.notifications.filter(({ id }) => !known.has(id));
    if (fresh.length === 0) return;
    if (state.settings.notificationSoundEnabled) beep();
    for (const note of fresh) {
      if (state.settings.notificationOverlayEnabled) show(note, state.settings.notificationOverlayMs);
      tellBrowser(note);
    }
    polite.replaceChildren(...fresh.map((note) => h("p", { text: `${LEVELS[note.level] ?? LEVELS.info}: ${note.title}. ${note.body ?? ""}` })));
  });

  desk.onDraw(() => {
    const { length } = desk.state.notifications;
    count.hidden = length === 0;
    setText(count, String(length));
    setAttribute(bell, "aria-label", length === 0 ? "Notifications" : `Notifications: ${length}`);
    setAttribute(bell, "title", length === 0 ? "Notifications" : `Notifications: ${length}`);
    list?.draw();
  });

  function show(note, ms) {
    const element = entry(desk, note, { went: () => hide(note.id), dismissed: () => dismiss(desk, note.id) });
    element.classList.add("toast-note");
    const toast = { element, timer: 0 };
    const wait = () => {
      if (ms > 0) toast.timer = setTimeout(() => hide(note.id), ms);
    };
    // Nobody's reading is cut short.
    const hold = () => clearTimeout(toast.timer);
    for (const [name, act] of [["pointermove", hold], ["focusin", hold], ["pointerleave", wait], ["focusout", wait]]) element.addEventListener(name, act);
    toasts.set(note.id, toast);
    host.prepend(element);
    wait();
    if (toasts.size > TOASTS_MAX) hide(toasts.keys().next().value);
  }

  function hide(id) {
    const toast = toasts.get(id);
    if (!toast) return;
    clearTimeout(toast.timer);
    toasts.delete(id);
    if (toast.element.contains(document.activeElement)) desk.stage.grab();
    toast.element.remove();
  }

  async function tellBrowser(note) {
    if (!isAllowed() || (document.hasFocus() && !document.hidden)) return;
    const row = placeOf(desk, note);
    // Of several pages that tell it, one is shown.
    const tag = `${base}${note.id}`;
    const options = {
      body: note.body ?? "", tag, icon: document.querySelector('link[rel="apple-touch-icon"]').href,
      data: { id: note.id, url: row ? terminalUrl(row.session) : base },
    };
    try {
      const registration = await (worker ??= startWorker());
      if (registration) {
        const shown = registration.showNotification(note.title, options);
        told.set(note.id, () => shown.then(() => registration.getNotifications({ tag })).then(([notification]) => notification?.close()));
        await shown;
      } else {
        const notification = new Notification(note.title, options);
        notification.onclick = () => {
          window.focus();
          jump(desk, note);
        };
        told.set(note.id, () => notification.close());
      }
    } catch {
      setWish(WISH, false);
    }
  }

  /** A phone's browser shows notifications through a service worker alone. Null where there is none: in a private
   *  window, or behind a certificate that was waved through. */
  async function startWorker() {
    try {
      await navigator.serviceWorker.register(`${base}worker.js`);
    } catch {
      return null;
    }
    navigator.serviceWorker.onmessage = ({ data }) => {
      const note = desk.state.notifications.find(({ id }) => id === data.notification);
      if (note) jump(desk, note);
    };
    return navigator.serviceWorker.ready;
  }

  /** Only ever called by a click. */
  async function allow() {
    if (isAllowed()) setWish(WISH, false);
    else setWish(WISH, (await Notification.requestPermission()) === "granted");
    list?.draw();
  }
}

/** Whether the browser shows notifications when the page is not looked at. */
function isAllowed() {
  return wish(WISH, false) && globalThis.Notification?.permission === "granted";
}

function clear(desk) {
  return call("DELETE", "v1/notifications").catch((error) => desk.say(error.message));
}

function dismiss(desk, id) {
  return call("DELETE", `v1/notifications/${encodeURIComponent(id)}`).catch((error) => error.status === 404 || desk.say(error.message));
}

function placeOf(desk, { surfaceId }) {
  return surfaceId === undefined ? null : desk.rowOfSurface(surfaceId);
}

function jump(desk, note) {
  const row = placeOf(desk, note);
  if (row) desk.show(row);
}

/** One notification; its text leads to its terminal. */
function entry(desk, note, { went, dismissed }) {
  const level = LEVELS[note.level] ? note.level : "info";
  const row = placeOf(desk, note);
  const at = new Date(note.createdAt).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const words = [
    h("span", { class: "unseen", text: `${LEVELS[level]}: ` }),
    h("span", { class: "note-title", text: note.title }),
    note.body ? h("span", { class: "note-body", text: note.body }) : null,
    h("span", { class: "note-about", text: row ? `${row.name} · ${at}` : at }),
  ];
  const main = row
    ? h("button", { type: "button", class: "note-main", title: `To ${row.name}`, onclick: () => (went(), jump(desk, note)) }, ...words)
    : h("div", { class: "note-main" }, ...words);
  return h("div", { class: `note is-${level}` }, main, iconButton("close", `Dismiss ${note.title}`, { class: "note-dismiss", onclick: dismissed }));
}

function openList(desk, closed, allow) {
  const items = h("ul", { class: "note-list" });
  const none = h("p", { class: "none", text: "Nothing to report." });
  const all = h("button", { type: "button", class: "button small", text: "Dismiss all", onclick: async () => {
    const { length } = desk.state.notifications;
    if (length < 5 || (await ask({ title: `Dismiss ${length} notifications?`, text: "They go for everyone who looks at this desk.", yes: "Dismiss" }))) clear(desk);
  } });
  const browser = h("button", { type: "button", class: "button small quiet", onclick: allow });
  const close = h("button", { type: "button", class: "button small", text: "Close", autofocus: true, onclick: () => dialog.close() });
  const dialog = openDialog("notifications", "Notifications", h("div", {},
    h("header", {}, h("h2", { text: "Notifications" }), close), items, none, h("footer", {}, browser, all)), closed);
  const draw = () => {
    const { notifications } = desk.state;
    const focused = document.activeElement?.closest(".note-list > li");
    const next = focused?.nextElementSibling ?? focused?.previousElementSibling;
    // What is said about a terminal changes with its name.
    keyed(items, notifications.toReversed(), (note) => `${note.id} ${placeOf(desk, note)?.name}`, (note) => h("li", {}, entry(desk, note, { went: () => dialog.close(), dismissed: () => dismiss(desk, note.id) })), () => {});
    if (focused && !focused.isConnected) (next?.isConnected ? next.querySelector(".note-dismiss") : close).focus();
    none.hidden = notifications.length > 0;
    all.hidden = notifications.length === 0;
    const state = globalThis.Notification?.permission;
    browser.disabled = state === undefined || state === "denied";
    setText(browser, !globalThis.isSecureContext ? "The browser shows none here (it needs HTTPS)"
      : state === undefined ? "The browser shows none (an iPhone does from the home screen)"
      : state === "denied" ? "The browser was told to show none"
      : isAllowed() ? "The browser shows them too: stop" : "Let the browser show them too");
  };
  draw();
  return { draw };
}
