// Everything that the mirror told, as one value; each frame makes the next one. What did not change stays the
// same object, so a module compares with `===` what it draws. Pure, but for telling those who watch.

export const nothing = {
  settings: {},
  workspaces: [],
  surfaces: new Map(),
  /** surfaceId -> (panel id -> panel) */
  panels: new Map(),
  /** workspaceId -> {status: {key: pill}, progress, log: [line]} */
  sidebar: {},
  notifications: [],
  plans: [],
  audit: [],
  htKeys: [],
};

/** Lines of a card's log that a page keeps. */
const LOG_LINES_MAX = 200;

/** The state after `frame`; the same object when the frame changes nothing in it. */
export function reduce(state, frame) {
  switch (frame.type) {
    case "hello":
      return greeted(frame);
    case "surfaceCreate":
      return { ...state, surfaces: withEntry(state.surfaces, frame.surface.surfaceId, frame.surface) };
    case "surfaceResize":
      return surface(state, frame.surfaceId, { cols: frame.cols, rows: frame.rows });
    case "surfaceAttend":
      return surface(state, frame.surfaceId, { attended: frame.attended });
    case "surfaceStdout":
      return frame.snapshot ? surface(state, frame.surfaceId, { cols: frame.cols, rows: frame.rows }) : state;
    case "surfaceExit":
      return surface(state, frame.surfaceId, { exited: true, exitCode: frame.exitCode, signal: frame.signal });
    case "surfaceMetadata":
      return surface(state, frame.surfaceId, { metadata: frame.metadata });
    case "surfaceClose":
      return { ...state, surfaces: without(state.surfaces, frame.surfaceId), panels: without(state.panels, frame.surfaceId) };
    case "panelCreate":
    case "panelUpdate": {
      const panels = state.panels.get(frame.surfaceId) ?? new Map();
      const panel = frame.type === "panelCreate" ? frame.panel : { ...panels.get(frame.id), ...frame.panel };
      // One that is made again comes to the top.
      const others = frame.type === "panelCreate" ? without(panels, frame.id) : panels;
      return { ...state, panels: withEntry(state.panels, frame.surfaceId, withEntry(others, frame.id, panel)) };
    }
    case "panelClear": {
      const panels = state.panels.get(frame.surfaceId);
      return panels ? { ...state, panels: withEntry(state.panels, frame.surfaceId, without(panels, frame.id)) } : state;
    }
    case "sidebarUpdate":
      return { ...state, sidebar: sidebar(state.sidebar, frame.sidebar) };
    case "notificationCreate":
      return { ...state, notifications: [...state.notifications.filter(({ id }) => id !== frame.notification.id), frame.notification] };
    case "notificationDismiss":
      return { ...state, notifications: state.notifications.filter(({ id }) => id !== frame.id) };
    case "settingsSnapshot":
      return { ...state, settings: frame.settings };
    case "htKeysSeen":
      return { ...state, htKeys: frame.keys };
    case "plansSnapshot":
      return { ...state, plans: frame.plans };
    case "autoContinueAudit":
      return { ...state, audit: frame.audit };
    case "workspacesUpdate":
      return { ...state, workspaces: frame.workspaces };
    default:
      return state;
  }
}

function greeted({ settings, snapshot }) {
  const panels = new Map();
  for (const { surfaceId, id, panel } of snapshot.panels) {
    if (!panels.has(surfaceId)) panels.set(surfaceId, new Map());
    panels.get(surfaceId).set(id, panel);
  }
  return {
    settings,
    workspaces: snapshot.workspaces,
    surfaces: new Map(snapshot.surfaces.map((surface) => [surface.surfaceId, surface])),
    panels,
    sidebar: snapshot.sidebar,
    notifications: snapshot.notifications,
    plans: snapshot.plans,
    audit: snapshot.autoContinueAudit,
    htKeys: snapshot.htKeys,
  };
}

function surface(state, id, changes) {
  const known = state.surfaces.get(id);
  const differs = known && Object.entries(changes).some(([name, value]) => known[name] !== value);
  return differs ? { ...state, surfaces: withEntry(state.surfaces, id, { ...known, ...changes }) } : state;
}

/** Objects are merged field by field, `null` removes, and the lines of a log are new ones. */
function sidebar(cards, changes) {
  const next = { ...cards };
  for (const [id, change] of Object.entries(changes)) {
    if (change === null) {
      delete next[id];
      continue;
    }
    const card = { status: {}, progress: null, log: [], ...next[id] };
    if (change.status) {
      const status = { ...card.status, ...change.status };
      card.status = Object.fromEntries(Object.entries(status).filter(([, pill]) => pill !== null));
    }
    if ("progress" in change) card.progress = change.progress;
    if (change.log) card.log = [...card.log, ...change.log].slice(-LOG_LINES_MAX);
    next[id] = card;
  }
  return next;
}

function withEntry(map, key, value) {
  return new Map(map).set(key, value);
}

function without(map, key) {
  const next = new Map(map);
  next.delete(key);
  return next;
}

export class Store {
  state = nothing;
  #watchers = new Set();

  /** Calls `watcher(state, before)` after each change; gives the function that ends it. */
  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  take(frame) {
    const before = this.state;
    this.state = reduce(before, frame);
    if (this.state !== before) for (const watcher of this.#watchers) watcher(this.state, before);
  }
}
