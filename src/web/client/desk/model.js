// What the page shows of the state: workspaces as cards, panes as rows, in this browser's order. Pure.

/** Log lines on a card. */
const LOG_LINES = 3;

/** The surface of a session: a live one, else the newest. */
export function surfaceOf(state, session) {
  let found = null;
  for (const surface of state.surfaces.values()) {
    if (surface.sessionId !== session) continue;
    if (!found || (found.exited && !surface.exited) || (found.exited === surface.exited && surface.createdAt >= found.createdAt)) found = surface;
  }
  return found;
}

/** All cards with their rows. `order` is `{workspaces: [id], panes: {workspaceId: [session]}}`. */
export function cards(state, order) {
  const bySession = new Map();
  for (const { sessionId } of state.surfaces.values()) if (!bySession.has(sessionId)) bySession.set(sessionId, surfaceOf(state, sessionId));
  return sorted(state.workspaces, order.workspaces ?? [], ({ id }) => id).map((workspace) => {
    const terminals = workspace.panes.filter((pane) => pane.resourceKind === "terminal");
    const shown = [...new Map(terminals.map((pane) => [pane.resourceId, pane])).values()];
    const rows = sorted(shown, order.panes?.[workspace.id] ?? [], (pane) => pane.resourceId);
    const card = state.sidebar[workspace.id];
    return {
      id: workspace.id,
      name: workspace.name,
      color: workspace.color ?? null,
      pinned: workspace.cwd ?? null,
      rows: rows.map((pane) => row(workspace, pane, bySession.get(pane.resourceId) ?? null)),
      status: pills(card?.status ?? {}, state.settings),
      progress: card?.progress ?? null,
      log: (card?.log ?? []).slice(-LOG_LINES),
    };
  });
}

function row(workspace, pane, surface) {
  const metadata = surface?.metadata ?? null;
  // A name that a person gave stands before what the program says; the one from the start directory does not.
  const isNamed = pane.title !== "terminal" && pane.title !== lastSegment(surface?.cwd ?? "");
  const name = isNamed ? pane.title : pane.liveTitle || pane.title;
  const live = isNamed && pane.liveTitle && pane.liveTitle !== pane.title ? pane.liveTitle : "";
  const running = surface && !surface.exited ? command(metadata) : null;
  return {
    session: pane.resourceId,
    paneId: pane.id,
    workspaceId: workspace.id,
    surfaceId: surface?.surfaceId ?? null,
    name,
    live,
    title: live ? `${name} — ${live}` : name,
    given: pane.title,
    state: !surface ? "gone" : surface.exited ? "ended" : pane.terminalActivity === "working" ? "working" : running ? "running" : "idle",
    surface,
    command: running,
    cwd: metadata?.cwd ?? surface?.cwd ?? null,
    branch: branch(metadata),
    ports: ports(metadata),
  };
}

/** The program in the foreground, where that is not the shell itself. */
export function command(metadata) {
  if (!metadata || metadata.foregroundPid === metadata.pid) return null;
  const process = metadata.tree.find(({ pid }) => pid === metadata.foregroundPid);
  return process ? lastSegment(process.argv[0] ?? "") || "a program" : null;
}

export function branch(metadata) {
  const git = metadata?.git;
  if (!git) return null;
  const name = git.branch ?? (git.head ? git.head.slice(0, 7) : null);
  return name && { name, ahead: git.ahead, behind: git.behind, dirty: git.staged + git.unstaged + git.untracked + git.conflicts > 0 };
}

function ports(metadata) {
  return [...new Set((metadata?.listeningPorts ?? []).map(({ port }) => port))].sort((a, b) => a - b);
}

/** CPU in percent of one core, and memory in bytes, of everything in a terminal. */
export function load(metadata) {
  const tree = metadata?.tree ?? [];
  return { cpu: tree.reduce((sum, { cpu }) => sum + cpu, 0), bytes: tree.reduce((sum, { rss }) => sum + rss, 0) };
}

function pills(status, { htKeyOrder = [], htKeysHidden = [] }) {
  const shown = Object.entries(status).filter(([key]) => !htKeysHidden.includes(key));
  return sorted(shown, htKeyOrder, ([key]) => key).map(([key, pill]) => ({ key, ...pill }));
}

/** Those named in `order` first, as there; the others behind them, as they come. */
export function sorted(items, order, keyOf) {
  const place = new Map(order.map((key, at) => [key, at]));
  const at = (item) => place.get(keyOf(item)) ?? Infinity;
  return items.map((item, n) => [item, n]).sort(([a, n], [b, m]) => at(a) - at(b) || n - m).map(([item]) => item);
}

/** `keys` with `key` moved by one place, or to before `other` (null: to the end). */
export function moved(keys, key, { by, before }) {
  const at = keys.indexOf(key);
  const rest = keys.toSpliced(at, 1);
  const to = by !== undefined ? Math.min(rest.length, Math.max(0, at + by)) : before === null ? rest.length : rest.indexOf(before);
  return rest.toSpliced(to < 0 ? rest.length : to, 0, key);
}

export function lastSegment(path) {
  return path.replace(/\/+$/, "").split("/").pop() || (path.startsWith("/") ? "/" : "");
}

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (n >= 1024 && at < units.length - 1) {
    n /= 1024;
    at += 1;
  }
  return `${n >= 10 || at === 0 ? n.toFixed(0) : n.toFixed(1)} ${units[at]}`;
}

export function howItEnded({ exitCode, signal }) {
  if (signal) return `Ended by signal ${signal}`;
  return exitCode ? `Ended with code ${exitCode}` : "Ended";
}
