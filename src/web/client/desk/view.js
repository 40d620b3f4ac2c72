// What only this browser sees: the workspace that is open, how its panes stand, the order in the sidebar. It is
// written to `storage` at every change. Pure, but for that.

import * as layout from "./layout.js";

const emptyDesk = { tree: null, focused: null, zoomed: false };

export class View {
  #storage;
  #key;
  #watchers = new Set();
  #state;

  /** @param {{getItem, setItem}} storage such as localStorage; `key` the name in it */
  constructor(storage, key) {
    this.#storage = storage;
    this.#key = key;
    this.#state = read(storage, key);
  }

  /** `{workspace, desks: {workspaceId: {tree, focused, zoomed}}, order, sidebar}` */
  get state() {
    return this.#state;
  }

  /** The open workspace's `{tree, focused, zoomed}`. */
  get desk() {
    return this.#state.desks[this.#state.workspace] ?? emptyDesk;
  }

  /** The session that has, or will get, the keyboard; null on an empty desk. */
  get focused() {
    return this.desk.focused;
  }

  /** Sessions on the screen. */
  get visible() {
    const { tree, focused, zoomed } = this.desk;
    return zoomed && focused !== null ? [focused] : layout.sessions(tree);
  }

  watch(watcher) {
    this.#watchers.add(watcher);
  }

  /** Shows a session: where it stands already, else in place of the focused one. */
  show(workspace, session) {
    const desk = this.#state.desks[workspace] ?? emptyDesk;
    const stands = layout.sessions(desk.tree).includes(session);
    const tree = stands ? desk.tree : desk.focused === null ? layout.leaf(session) : layout.replace(desk.tree, desk.focused, session);
    this.#set({ workspace, desks: { ...this.#state.desks, [workspace]: { ...desk, tree, focused: session } } });
  }

  open(workspace) {
    this.#set({ workspace });
  }

  focus(session) {
    if (session !== this.focused && layout.sessions(this.desk.tree).includes(session)) this.#setDesk({ focused: session });
  }

  /** Puts `added` beside the focused session. */
  split(direction, added) {
    const { tree, focused } = this.desk;
    this.#setDesk({ tree: focused === null ? layout.leaf(added) : layout.split(tree, focused, direction, added), focused: added, zoomed: false });
  }

  /** Takes a session from the screen; its terminal goes on. */
  unshow(session) {
    this.#drop((other) => other !== session);
  }

  toggleZoom() {
    const { tree, zoomed } = this.desk;
    if (zoomed || layout.sessions(tree).length > 1) this.#setDesk({ zoomed: !zoomed });
  }

  moveDivider(path, at, delta) {
    this.#setDesk({ tree: layout.moveDivider(this.desk.tree, path, at, delta) });
  }

  /** Only sessions that are known are left, in workspaces that are. */
  prune(workspaces) {
    const known = new Map(workspaces.map(({ id, panes }) => [id, new Set(panes.map((pane) => pane.resourceId))]));
    if (!known.has(this.#state.workspace)) this.#set({ workspace: workspaces[0]?.id ?? "default" });
    const { panes } = this.#state.order;
    const left = Object.entries(panes).filter(([id]) => known.has(id));
    if (left.length < Object.keys(panes).length) this.order({ panes: Object.fromEntries(left) });
    this.#drop((session, workspace) => known.get(workspace)?.has(session) ?? false);
  }

  order(changes) {
    this.#set({ order: { ...this.#state.order, ...changes } });
  }

  set sidebar(open) {
    this.#set({ sidebar: open });
  }

  get sidebar() {
    return this.#state.sidebar;
  }

  #drop(keeps) {
    const desks = {};
    let changed = false;
    for (const [workspace, desk] of Object.entries(this.#state.desks)) {
      const before = layout.sessions(desk.tree);
      const left = before.filter((session) => keeps(session, workspace));
      if (left.length === before.length) {
        desks[workspace] = desk;
        continue;
      }
      changed = true;
      const at = before.indexOf(desk.focused);
      const focused = left.includes(desk.focused) ? desk.focused : (left[Math.min(Math.max(at, 0), left.length - 1)] ?? null);
      const tree = layout.keep(desk.tree, (session) => left.includes(session));
      if (tree !== null) desks[workspace] = { tree, focused, zoomed: desk.zoomed && left.length > 1 };
    }
    if (changed) this.#set({ desks });
  }

  #setDesk(changes) {
    const { desks, workspace } = this.#state;
    this.#set({ desks: { ...desks, [workspace]: { ...this.desk, ...changes } } });
  }

  #set(changes) {
    const before = this.#state;
    this.#state = { ...before, ...changes };
    try {
      this.#storage.setItem(this.#key, JSON.stringify(this.#state));
    } catch {
      // Full, or forbidden: the layout lasts as long as the page.
    }
    for (const watcher of this.#watchers) watcher(this.#state, before);
  }
}

function read(storage, key) {
  let stored = null;
  try {
    stored = JSON.parse(storage.getItem(key));
  } catch {
    // Not ours, or forbidden.
  }
  const desks = {};
  for (const [workspace, desk] of Object.entries(stored?.desks ?? {})) {
    const tree = layout.parse(desk?.tree);
    if (tree === null) continue;
    const shown = layout.sessions(tree);
    desks[workspace] = { tree, focused: shown.includes(desk.focused) ? desk.focused : shown[0], zoomed: desk.zoomed === true && shown.length > 1 };
  }
  const strings = (list) => (Array.isArray(list) ? list.filter((item) => typeof item === "string") : []);
  const panes = Object.entries(stored?.order?.panes ?? {}).map(([id, list]) => [id, strings(list)]);
  return {
    workspace: typeof stored?.workspace === "string" ? stored.workspace : "default",
    desks,
    order: { workspaces: strings(stored?.order?.workspaces), panes: Object.fromEntries(panes) },
    sidebar: stored?.sidebar !== false,
  };
}
