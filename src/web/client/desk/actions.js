// What a person can do to terminals and workspaces. The server is told over HTTP, as scripts do; what comes of it
// comes back through the mirror.

import { ask, askFor } from "../dialog.js";
import { saveText } from "../files.js";
import { openMenu } from "../menu.js";
import { call, randomId, terminalUrl } from "../server.js";
import { sessions } from "./layout.js";
import { lastSegment, moved } from "./model.js";
import { spoken } from "./commands.js";

export class Actions {
  #desk;

  constructor(desk) {
    this.#desk = desk;
  }

  /** A new shell in `workspace` (the open one), where that has pinned a directory, else where the focused terminal
   *  stands. `split` puts it beside that one. */
  async newTerminal({ workspace = this.#desk.view.state.workspace, split = null } = {}) {
    const card = this.#desk.cardOf(workspace);
    if (!card) return;
    const focused = this.#desk.rowOf(this.#desk.view.focused);
    const near = focused?.workspaceId === workspace ? focused : (card.rows.find((row) => row.surface && !row.surface.exited) ?? null);
    const cwd = card.pinned ?? near?.cwd ?? "~";
    const session = randomId(8);
    const pane = `v1/workspaces/${encodeURIComponent(workspace)}/panes/${session}`;
    const title = cwd === "~" ? "terminal" : lastSegment(cwd) || "terminal";
    await this.#attempt(() => this.#desk.typeAhead(session, async () => {
      await call("PUT", pane, { title, resourceKind: "terminal", resourceId: session });
      try {
        await this.#start(session, cwd);
      } catch (error) {
        await call("DELETE", pane).catch(() => null);
        throw error;
      }
      await this.#desk.until(() => this.#desk.rowOf(session)?.surface);
      const { view } = this.#desk;
      if (split && view.state.workspace === workspace) view.split(split, session);
      else view.show(workspace, session);
      this.#desk.closeDrawer();
      this.#desk.stage.grab();
    }));
  }

  /** A new shell for a session whose terminal has ended. */
  async again(row) {
    const card = this.#desk.cardOf(row.workspaceId);
    await this.#attempt(() => this.#desk.typeAhead(row.session, async () => {
      await this.#start(row.session, row.cwd ?? card?.pinned ?? "~").catch((error) => {
        // The directory may have gone with the terminal.
        if (error.status !== 400) throw error;
        return this.#start(row.session, "~");
      });
      await this.#desk.until(() => this.#desk.rowOf(row.session)?.surface?.exited === false);
      this.#desk.stage.grab();
    }));
  }

  #start(session, cwd) {
    return call("POST", "v1/terminals", { sessionId: session, cwd, ...(this.#desk.stage.screen?.ownGrid() ?? { cols: 80, rows: 24 }) });
  }

  /** Ends a terminal and takes its pane away everywhere; asks first while a program runs in it. */
  async close(row) {
    const { surface } = row;
    const what = surface?.agentOwned ? "An agent runs it." : row.command ? `${row.command} is running in it.` : null;
    if (surface && !surface.exited && what && !(await ask({ title: `Close “${row.name}”?`, text: what, yes: "Close it", danger: true }))) return;
    await this.#attempt(async () => {
      if (surface) await call("DELETE", `v1/terminals/${surface.surfaceId}`).catch(ignoreGone);
      await call("DELETE", this.#panePath(row)).catch(ignoreGone);
    });
    await this.#desk.until(() => !this.#desk.rowOf(row.session));
    this.#desk.stage.grab();
  }

  async rename(row) {
    const title = await askFor({ title: "Rename the terminal", label: "Name", value: row.given, yes: "Rename" });
    if (title) await this.#attempt(() => call("PATCH", this.#panePath(row), { title }));
  }

  /** Within its workspace: `by` places, or to before the session `before` (null: the end). */
  move(row, where) {
    const { rows } = this.#desk.cardOf(row.workspaceId);
    const panes = this.#desk.view.state.order.panes;
    this.#desk.view.order({ panes: { ...panes, [row.workspaceId]: moved(rows.map(({ session }) => session), row.session, where) } });
  }

  /** To another workspace, before the session `before` (null: the end). */
  async moveTo(row, workspace, before = null) {
    if (workspace === row.workspaceId) return this.move(row, { before });
    await this.#attempt(async () => {
      const pane = { title: row.given, resourceKind: "terminal", resourceId: row.session };
      await call("PUT", `v1/workspaces/${encodeURIComponent(workspace)}/panes/${encodeURIComponent(row.paneId)}`, pane);
      await call("DELETE", this.#panePath(row)).catch(ignoreGone);
    });
    await this.#desk.until(() => this.#desk.rowOf(row.session)?.workspaceId === workspace);
    const now = this.#desk.rowOf(row.session);
    if (now) this.move(now, { before });
  }

  async newWorkspace() {
    const name = await askFor({ title: "New workspace", label: "Name", yes: "Create" });
    if (!name) return;
    const id = randomId(6);
    await this.#attempt(async () => {
      await call("PUT", `v1/workspaces/${id}`, { name });
      await this.#desk.until(() => this.#desk.cardOf(id));
      this.#desk.view.open(id);
    });
  }

  async renameWorkspace(card) {
    const name = await askFor({ title: "Rename the workspace", label: "Name", value: card.name, yes: "Rename" });
    if (name) await this.#attempt(() => call("PATCH", `v1/workspaces/${encodeURIComponent(card.id)}`, { name }));
  }

  async deleteWorkspace(card) {
    const live = card.rows.filter(({ surface }) => surface && !surface.exited);
    const text = live.length === 0 ? "It has no running terminals." : live.length === 1 ? `“${live[0].name}” is closed with it.` : `Its ${live.length} running terminals are closed with it.`;
    if (!(await ask({ title: `Delete “${card.name}”?`, text, yes: "Delete", danger: true }))) return;
    await this.#attempt(async () => {
      for (const { surface } of card.rows) if (surface) await call("DELETE", `v1/terminals/${surface.surfaceId}`).catch(ignoreGone);
      await call("DELETE", `v1/workspaces/${encodeURIComponent(card.id)}`).catch(ignoreGone);
    });
  }

  moveWorkspace(card, where) {
    this.#desk.view.order({ workspaces: moved(this.#desk.cards.map(({ id }) => id), card.id, where) });
  }

  /** New terminals of the workspace start there; pinned again, no longer. */
  pin(workspaceId, cwd) {
    const isPinned = this.#desk.cardOf(workspaceId)?.pinned === cwd;
    this.#desk.send({ type: "selectWorkspaceCwd", workspaceId, cwd: isPinned ? null : cwd });
  }

  /** What the terminal shows and has shown, as a text file. */
  saveText(row) {
    return this.#attempt(() => saveText(row.surfaceId, row.name));
  }

  terminalMenu(row, anchor) {
    const { view, commands } = this.#desk;
    const keys = (id) => spoken(commands.get(id).keys);
    const shown = sessions(view.desk.tree).includes(row.session);
    const others = this.#desk.cards.filter(({ id }) => id !== row.workspaceId);
    // Where there is one column, nothing stands beside another.
    const isNarrow = matchMedia("(max-width: 720px)").matches;
    openMenu(anchor, `Terminal ${row.name}`, [
      ...(isNarrow ? [] : this.#splits(row, keys)),
      ...(row.surface && shown ? [
        { title: "Find…", keys: keys("find"), run: () => (view.show(row.workspaceId, row.session), commands.run("find")) },
        { title: "Paste", keys: keys("paste"), run: () => (view.show(row.workspaceId, row.session), commands.run("paste")) },
        { title: "Send a file…", run: () => (view.show(row.workspaceId, row.session), commands.run("send-file")) },
      ] : []),
      ...(row.surface ? [{ title: "Save the text", run: () => this.saveText(row) }] : []),
      { title: "Open alone", run: () => open(terminalUrl(row.session), "_blank", "noopener") },
      null,
      { title: "Rename…", keys: keys("rename"), run: () => this.rename(row) },
      { title: "Move up", run: () => this.move(row, { by: -1 }) },
      { title: "Move down", run: () => this.move(row, { by: 1 }) },
      ...others.map((card) => ({ title: `Move to ${card.name}`, run: () => this.moveTo(row, card.id) })),
      null,
      { title: "Hide pane", keys: keys("hide-pane"), disabled: !shown, run: () => view.unshow(row.session) },
      { title: row.surface && !row.surface.exited ? "Close terminal" : "Remove", keys: keys("close"), danger: true, run: () => this.close(row) },
    ]);
  }

  #splits(row, keys) {
    return [
      { title: "Split right", keys: keys("split-right"), run: () => (view.show(row.workspaceId, row.session), this.newTerminal({ split: "row" })) },
      { title: "Split down", keys: keys("split-down"), run: () => (view.show(row.workspaceId, row.session), this.newTerminal({ split: "column" })) },
    ];
  }

  workspaceMenu(card, anchor) {
    const over = card.rows.filter(({ state }) => state === "ended" || state === "gone");
    openMenu(anchor, `Workspace ${card.name}`, [
      { title: "New terminal", run: () => this.newTerminal({ workspace: card.id }) },
      { title: "Rename…", run: () => this.renameWorkspace(card) },
      ...(card.pinned ? [{ title: `Unpin ${card.pinned}`, run: () => this.pin(card.id, card.pinned) }] : []),
      { title: "Move up", run: () => this.moveWorkspace(card, { by: -1 }) },
      { title: "Move down", run: () => this.moveWorkspace(card, { by: 1 }) },
      null,
      { title: "Remove ended terminals", disabled: over.length === 0, run: async () => { for (const row of over) await this.close(row); } },
      { title: "Delete workspace…", danger: true, disabled: card.id === "default", run: () => this.deleteWorkspace(card) },
    ]);
  }

  #panePath(row) {
    return `v1/workspaces/${encodeURIComponent(row.workspaceId)}/panes/${encodeURIComponent(row.paneId)}`;
  }

  async #attempt(what) {
    try {
      await what();
    } catch (error) {
      this.#desk.say(error.message);
    }
  }
}

function ignoreGone(error) {
  if (error.status !== 404) throw error;
}
