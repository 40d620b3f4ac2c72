//! Workspaces and their panes: what a client shows, in which order, under which names. A pane whose
//! resource is a terminal also carries the terminal's recorded title and activity ("Pane titles").

use std::collections::{BTreeMap, HashSet, VecDeque};

use crate::limits::{ENDED_PANES_MAX, PANES_MAX, WORKSPACES_MAX};
use crate::terminal::title::Activity;

/// The workspace that always exists.
pub const DEFAULT_WORKSPACE: &str = "default";
/// The resource kind of a pane that shows a terminal; its resource id is the terminal's sessionId.
pub const TERMINAL: &str = "terminal";

/// A named group of panes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Chosen by the client, never changed.
    pub id: String,
    /// For people.
    pub name: String,
    /// Any CSS colour.
    pub color: Option<String>,
    /// Where new terminals of this workspace start.
    pub cwd: Option<String>,
    /// In order of creation.
    pub panes: Vec<Pane>,
}

/// One thing that a workspace shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pane {
    /// Unique in its workspace, never changed.
    pub id: String,
    /// The workspace it stands in.
    pub workspace_id: String,
    /// For people, where there is no live title.
    pub title: String,
    /// What kind of thing it shows, such as [`TERMINAL`].
    pub resource_kind: String,
    /// Which one of that kind.
    pub resource_id: String,
    /// The recorded title of the pane's terminal.
    pub live_title: Option<String>,
    /// What the title's glyph meant.
    pub activity: Option<Activity>,
    /// The server made it for a new session, and nobody has named or placed it since: it need not outlive its
    /// terminal for ever.
    pub automatic: bool,
}

/// What a client says about a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct WorkspaceFields {
    pub name: String,
    pub color: Option<String>,
    pub cwd: Option<String>,
}

/// What a client changes of a workspace: `None` leaves a field, `Some(None)` removes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct WorkspacePatch {
    pub name: Option<String>,
    pub color: Option<Option<String>>,
    pub cwd: Option<Option<String>>,
}

/// What a client says about a pane.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct PaneFields {
    pub title: String,
    pub resource_kind: String,
    pub resource_id: String,
}

/// What a client changes of a pane: `None` leaves a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct PanePatch {
    pub title: Option<String>,
    pub resource_kind: Option<String>,
    pub resource_id: Option<String>,
}

/// Names one pane.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct PaneKey {
    pub workspace_id: String,
    pub pane_id: String,
}

/// What was changed, to be told to everyone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// These panes are new or different; each whole.
    Panes(Vec<Pane>),
    /// This pane is gone.
    PaneRemoved(PaneKey),
    /// This workspace is new, or has other fields.
    Workspace {
        /// Its id.
        id: String,
        /// Its fields now.
        fields: WorkspaceFields,
    },
    /// This workspace is gone, and its panes with it.
    WorkspaceRemoved {
        /// Its id.
        id: String,
    },
}

/// What a PUT did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// Whether the id is new (201).
    pub created: bool,
    /// `None` when everything was so already.
    pub change: Option<Change>,
}

/// Why the registry stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RegistryError {
    UnknownWorkspace,
    UnknownPane,
    DefaultWorkspaceStays,
    TooManyWorkspaces,
    TooManyPanes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Live {
    title: Option<String>,
    activity: Option<Activity>,
}

/// All workspaces. At most [`WORKSPACES_MAX`] with together [`PANES_MAX`] panes.
#[derive(Clone, Debug)]
pub struct Registry {
    /// The first one is the default workspace.
    workspaces: Vec<Workspace>,
    /// By sessionId, so that a pane made later knows its terminal's title. A session without both is not in.
    live: BTreeMap<String, Live>,
    /// Sessions whose terminal is gone and that have an automatic pane, the one that ended first in front.
    ended: VecDeque<String>,
}

impl Default for Registry {
    fn default() -> Registry {
        Registry::new()
    }
}

impl Registry {
    /// With the default workspace alone.
    pub fn new() -> Registry {
        let default = Workspace {
            id: DEFAULT_WORKSPACE.to_owned(),
            name: "Default".to_owned(),
            color: None,
            cwd: None,
            panes: Vec::new(),
        };
        Registry { workspaces: vec![default], live: BTreeMap::new(), ended: VecDeque::new() }
    }

    /// All workspaces: the default one, then in order of creation.
    pub fn workspaces(&self) -> &[Workspace] {
        &self.workspaces
    }

    /// One workspace.
    pub fn workspace(&self, id: &str) -> Option<&Workspace> {
        self.workspaces.iter().find(|workspace| workspace.id == id)
    }

    /// One pane.
    pub fn pane(&self, key: &PaneKey) -> Option<&Pane> {
        self.workspace(&key.workspace_id)?.panes.iter().find(|pane| pane.id == key.pane_id)
    }

    /// The change that tells of these panes as they are now.
    pub fn change_of(&self, keys: &[PaneKey]) -> Change {
        Change::Panes(keys.iter().filter_map(|key| self.pane(key)).cloned().collect())
    }

    /// Makes a workspace, or gives it all its fields anew; its panes stay.
    ///
    /// # Errors
    /// [`RegistryError::TooManyWorkspaces`].
    pub fn put_workspace(&mut self, id: &str, fields: WorkspaceFields) -> Result<Put, RegistryError> {
        if self.workspace(id).is_some() {
            let WorkspaceFields { name, color, cwd } = fields;
            let patch = WorkspacePatch { name: Some(name), color: Some(color), cwd: Some(cwd) };
            return Ok(Put { created: false, change: self.patch_workspace(id, patch)? });
        }
        if self.workspaces.len() >= WORKSPACES_MAX {
            return Err(RegistryError::TooManyWorkspaces);
        }
        let WorkspaceFields { name, color, cwd } = fields;
        let workspace = Workspace { id: id.to_owned(), name, color, cwd, panes: Vec::new() };
        let change = Some(fields_change(&workspace));
        self.workspaces.push(workspace);
        Ok(Put { created: true, change })
    }

    /// Changes the given fields of a workspace.
    ///
    /// # Errors
    /// [`RegistryError::UnknownWorkspace`].
    pub fn patch_workspace(
        &mut self,
        id: &str,
        patch: WorkspacePatch,
    ) -> Result<Option<Change>, RegistryError> {
        let workspace = self.workspace_mut(id)?;
        let mut changed = false;
        set(&mut workspace.name, patch.name, &mut changed);
        set(&mut workspace.color, patch.color, &mut changed);
        set(&mut workspace.cwd, patch.cwd, &mut changed);
        Ok(changed.then(|| fields_change(workspace)))
    }

    /// Removes a workspace and its panes. Their terminals live on.
    ///
    /// # Errors
    /// [`RegistryError::UnknownWorkspace`], [`RegistryError::DefaultWorkspaceStays`].
    pub fn delete_workspace(&mut self, id: &str) -> Result<Change, RegistryError> {
        let at = self.workspaces.iter().position(|workspace| workspace.id == id);
        let at = at.ok_or(RegistryError::UnknownWorkspace)?;
        if id == DEFAULT_WORKSPACE {
            return Err(RegistryError::DefaultWorkspaceStays);
        }
        self.workspaces.remove(at);
        Ok(Change::WorkspaceRemoved { id: id.to_owned() })
    }

    /// Makes a pane, or gives it all its fields anew.
    ///
    /// # Errors
    /// [`RegistryError::UnknownWorkspace`], [`RegistryError::TooManyPanes`].
    pub fn put_pane(
        &mut self,
        workspace_id: &str,
        pane_id: &str,
        fields: PaneFields,
    ) -> Result<Put, RegistryError> {
        let PaneFields { title, resource_kind, resource_id } = fields;
        let workspace = self.workspace(workspace_id).ok_or(RegistryError::UnknownWorkspace)?;
        if workspace.panes.iter().any(|pane| pane.id == pane_id) {
            let patch = PanePatch {
                title: Some(title),
                resource_kind: Some(resource_kind),
                resource_id: Some(resource_id),
            };
            return Ok(Put { created: false, change: self.patch_pane(workspace_id, pane_id, patch)? });
        }
        if self.workspaces.iter().map(|workspace| workspace.panes.len()).sum::<usize>() >= PANES_MAX {
            return Err(RegistryError::TooManyPanes);
        }
        let mut pane = Pane {
            id: pane_id.to_owned(),
            workspace_id: workspace_id.to_owned(),
            title,
            resource_kind,
            resource_id,
            live_title: None,
            activity: None,
            automatic: false,
        };
        show_live(&self.live, &mut pane);
        self.workspace_mut(workspace_id)?.panes.push(pane.clone());
        Ok(Put { created: true, change: Some(Change::Panes(vec![pane])) })
    }

    /// Changes the given fields of a pane.
    ///
    /// # Errors
    /// [`RegistryError::UnknownWorkspace`], [`RegistryError::UnknownPane`].
    pub fn patch_pane(
        &mut self,
        workspace_id: &str,
        pane_id: &str,
        patch: PanePatch,
    ) -> Result<Option<Change>, RegistryError> {
        let Registry { workspaces, live, .. } = self;
        let workspace = workspaces.iter_mut().find(|workspace| workspace.id == workspace_id);
        let panes = &mut workspace.ok_or(RegistryError::UnknownWorkspace)?.panes;
        let pane = panes.iter_mut().find(|pane| pane.id == pane_id).ok_or(RegistryError::UnknownPane)?;
        let mut changed = std::mem::take(&mut pane.automatic);
        set(&mut pane.title, patch.title, &mut changed);
        set(&mut pane.resource_kind, patch.resource_kind, &mut changed);
        set(&mut pane.resource_id, patch.resource_id, &mut changed);
        changed |= show_live(live, pane);
        Ok(changed.then(|| Change::Panes(vec![pane.clone()])))
    }

    /// Removes a pane. Its terminal lives on.
    ///
    /// # Errors
    /// [`RegistryError::UnknownWorkspace`], [`RegistryError::UnknownPane`].
    pub fn delete_pane(&mut self, workspace_id: &str, pane_id: &str) -> Result<Change, RegistryError> {
        let panes = &mut self.workspace_mut(workspace_id)?.panes;
        let at = panes.iter().position(|pane| pane.id == pane_id).ok_or(RegistryError::UnknownPane)?;
        panes.remove(at);
        let key = PaneKey { workspace_id: workspace_id.to_owned(), pane_id: pane_id.to_owned() };
        Ok(Change::PaneRemoved(key))
    }

    /// Gives a session without a pane one in the default workspace, under the session's own id where that
    /// is free. `None` when it has one, or the registry is full: the terminal is there all the same.
    pub fn ensure_pane(&mut self, session_id: &str, title: &str) -> Option<Change> {
        self.ended.retain(|ended| ended != session_id);
        if self.panes_of(session_id).next().is_some() {
            return None;
        }
        let taken = |id: &str| self.workspaces[0].panes.iter().any(|pane| pane.id == id);
        let numbered = (2..).map(|n: usize| format!("{session_id}-{n}"));
        let pane_id = std::iter::once(session_id.to_owned()).chain(numbered).find(|id| !taken(id))?;
        let fields = PaneFields {
            title: title.to_owned(),
            resource_kind: TERMINAL.to_owned(),
            resource_id: session_id.to_owned(),
        };
        let change = self.put_pane(DEFAULT_WORKSPACE, &pane_id, fields).ok()?.change;
        self.set_automatic(DEFAULT_WORKSPACE, &pane_id);
        change
    }

    /// Marks a pane as one that the server made by itself, as [`Registry::ensure_pane`] does.
    pub fn set_automatic(&mut self, workspace_id: &str, pane_id: &str) {
        let panes = self.workspace_mut(workspace_id).map(|workspace| workspace.panes.iter_mut());
        if let Some(pane) = panes.into_iter().flatten().find(|pane| pane.id == pane_id) {
            pane.automatic = true;
        }
    }

    /// A session's terminal is gone. Its pane stays, for when the session gets another one; of those that the
    /// server made by itself the last [`ENDED_PANES_MAX`] do. Gives what was removed.
    pub fn session_ended(&mut self, session_id: &str) -> Vec<Change> {
        self.ended.retain(|ended| ended != session_id);
        if self.panes_of(session_id).any(|pane| pane.automatic) {
            self.ended.push_back(session_id.to_owned());
        }
        let Registry { workspaces, ended, .. } = self;
        if ended.len() <= ENDED_PANES_MAX {
            return Vec::new();
        }
        let panes = || workspaces.iter().flat_map(|workspace| &workspace.panes);
        let automatic = panes().filter(|pane| pane.automatic && pane.resource_kind == TERMINAL);
        let automatic: HashSet<&str> = automatic.map(|pane| pane.resource_id.as_str()).collect();
        ended.retain(|session_id| automatic.contains(session_id.as_str()));
        let excess = ended.len().saturating_sub(ENDED_PANES_MAX);
        let leaving: Vec<String> = ended.drain(..excess).collect();
        let is_leaving = |pane: &Pane| pane.automatic && leaving.iter().any(|id| shows(pane, id));
        let gone: Vec<PaneKey> = panes().filter(|pane| is_leaving(pane)).map(key_of).collect();
        for workspace in workspaces.iter_mut() {
            workspace.panes.retain(|pane| !is_leaving(pane));
        }
        gone.into_iter().map(Change::PaneRemoved).collect()
    }

    /// After a start of the server no session has a terminal.
    pub fn all_ended(&mut self) {
        let panes = self.workspaces.iter().flat_map(|workspace| &workspace.panes);
        let automatic = panes.filter(|pane| pane.automatic && pane.resource_kind == TERMINAL);
        self.ended = automatic.map(|pane| pane.resource_id.clone()).collect();
    }

    /// Records a terminal's title and activity on every pane that shows it; both `None` once it has exited.
    /// Gives the panes that are different now, for [`Registry::change_of`].
    pub fn set_live(
        &mut self,
        session_id: &str,
        live_title: Option<&str>,
        activity: Option<Activity>,
    ) -> Vec<PaneKey> {
        if live_title.is_none() && activity.is_none() {
            self.live.remove(session_id);
        } else {
            let live = Live { title: live_title.map(str::to_owned), activity };
            self.live.insert(session_id.to_owned(), live);
        }
        let Registry { workspaces, live, .. } = self;
        let panes = workspaces.iter_mut().flat_map(|workspace| &mut workspace.panes);
        panes
            .filter(|pane| shows(pane, session_id))
            .filter_map(|pane| show_live(live, pane).then(|| key_of(pane)))
            .collect()
    }

    /// The first workspace that shows a session's terminal.
    pub fn workspace_of(&self, session_id: &str) -> Option<&Workspace> {
        self.workspaces.iter().find(|workspace| workspace.panes.iter().any(|pane| shows(pane, session_id)))
    }

    fn panes_of<'a>(&'a self, session_id: &'a str) -> impl Iterator<Item = &'a Pane> {
        let panes = self.workspaces.iter().flat_map(|workspace| &workspace.panes);
        panes.filter(move |pane| shows(pane, session_id))
    }

    fn workspace_mut(&mut self, id: &str) -> Result<&mut Workspace, RegistryError> {
        let found = self.workspaces.iter_mut().find(|workspace| workspace.id == id);
        found.ok_or(RegistryError::UnknownWorkspace)
    }
}

fn shows(pane: &Pane, session_id: &str) -> bool {
    pane.resource_kind == TERMINAL && pane.resource_id == session_id
}

fn key_of(pane: &Pane) -> PaneKey {
    PaneKey { workspace_id: pane.workspace_id.clone(), pane_id: pane.id.clone() }
}

fn fields_change(workspace: &Workspace) -> Change {
    let fields = WorkspaceFields {
        name: workspace.name.clone(),
        color: workspace.color.clone(),
        cwd: workspace.cwd.clone(),
    };
    Change::Workspace { id: workspace.id.clone(), fields }
}

fn set<T: PartialEq>(field: &mut T, value: Option<T>, changed: &mut bool) {
    if let Some(value) = value.filter(|value| value != field) {
        *field = value;
        *changed = true;
    }
}

/// Makes the pane show what its terminal's title is now; true when it showed something else.
fn show_live(live: &BTreeMap<String, Live>, pane: &mut Pane) -> bool {
    let live = live.get(&pane.resource_id).filter(|_| pane.resource_kind == TERMINAL);
    let mut changed = false;
    set(&mut pane.live_title, Some(live.and_then(|live| live.title.clone())), &mut changed);
    set(&mut pane.activity, Some(live.and_then(|live| live.activity)), &mut changed);
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(title: &str, session: &str) -> PaneFields {
        PaneFields {
            title: title.to_owned(),
            resource_kind: TERMINAL.to_owned(),
            resource_id: session.to_owned(),
        }
    }

    fn named(name: &str) -> WorkspaceFields {
        WorkspaceFields { name: name.to_owned(), color: None, cwd: None }
    }

    fn key(workspace: &str, pane: &str) -> PaneKey {
        PaneKey { workspace_id: workspace.to_owned(), pane_id: pane.to_owned() }
    }

    fn titles(registry: &Registry, keys: &[PaneKey]) -> Vec<(String, Option<String>, Option<Activity>)> {
        let panes = keys.iter().map(|key| registry.pane(key).unwrap());
        panes.map(|pane| (pane.id.clone(), pane.live_title.clone(), pane.activity)).collect()
    }

    #[test]
    fn the_default_workspace_is_there_and_stays() {
        let mut registry = Registry::new();
        assert_eq!(registry.workspaces().len(), 1);
        assert_eq!(registry.delete_workspace("default"), Err(RegistryError::DefaultWorkspaceStays));
        assert_eq!(registry.delete_workspace("other"), Err(RegistryError::UnknownWorkspace));
        assert_eq!(registry.workspace("default").unwrap().name, "Default");
    }

    #[test]
    fn a_put_creates_once_and_then_tells_only_of_differences() {
        let mut registry = Registry::new();
        let put = registry.put_workspace("w", named("Work")).unwrap();
        assert!(put.created);
        assert_eq!(put.change, Some(Change::Workspace { id: "w".into(), fields: named("Work") }));
        assert_eq!(registry.put_workspace("w", named("Work")), Ok(Put { created: false, change: None }));
        let put = registry.put_workspace("w", named("Play")).unwrap();
        assert_eq!(put.change, Some(Change::Workspace { id: "w".into(), fields: named("Play") }));
    }

    #[test]
    fn a_patch_changes_the_given_fields_and_null_removes_optional_ones() {
        let mut registry = Registry::new();
        let coloured =
            WorkspaceFields { color: Some("red".into()), cwd: Some("/srv".into()), ..named("Work") };
        registry.put_workspace("w", coloured).unwrap();
        let patch = WorkspacePatch { color: Some(None), ..WorkspacePatch::default() };
        registry.patch_workspace("w", patch).unwrap().unwrap();
        let workspace = registry.workspace("w").unwrap();
        assert_eq!((workspace.color.as_deref(), workspace.cwd.as_deref()), (None, Some("/srv")));
        assert_eq!(
            registry.patch_workspace("v", WorkspacePatch::default()),
            Err(RegistryError::UnknownWorkspace)
        );
    }

    #[test]
    fn a_session_without_a_pane_gets_one_in_the_default_workspace() {
        let mut registry = Registry::new();
        registry.put_workspace("w", named("Work")).unwrap();
        registry.put_pane("w", "p", fields("mine", "s1")).unwrap();
        assert_eq!(registry.ensure_pane("s1", "project"), None);
        let Some(Change::Panes(panes)) = registry.ensure_pane("s2", "project") else { panic!() };
        assert_eq!((panes[0].id.as_str(), panes[0].workspace_id.as_str()), ("s2", "default"));
        assert_eq!((panes[0].title.as_str(), panes[0].resource_id.as_str()), ("project", "s2"));
        assert_eq!(registry.ensure_pane("s2", "project"), None);
        let workspace = |session: &str| registry.workspace_of(session).map(|found| found.id.as_str());
        assert_eq!([workspace("s1"), workspace("s2"), workspace("p")], [Some("w"), Some("default"), None]);
    }

    #[test]
    fn a_pane_id_that_is_taken_by_another_resource_is_not_reused() {
        let mut registry = Registry::new();
        registry.put_pane("default", "s1", fields("other", "elsewhere")).unwrap();
        let Some(Change::Panes(panes)) = registry.ensure_pane("s1", "x") else { panic!() };
        assert_eq!(panes[0].id, "s1-2");
    }

    #[test]
    fn a_live_title_reaches_every_pane_of_its_session_and_only_changes_are_told() {
        let mut registry = Registry::new();
        registry.put_workspace("w", named("Work")).unwrap();
        registry.put_pane("w", "a", fields("a", "s")).unwrap();
        registry.put_pane("default", "b", fields("b", "s")).unwrap();
        registry.put_pane("default", "c", fields("c", "other")).unwrap();
        let changed = registry.set_live("s", Some("make"), Some(Activity::Working));
        assert_eq!(changed, [key("default", "b"), key("w", "a")]);
        assert_eq!(registry.set_live("s", Some("make"), Some(Activity::Working)), []);
        let live = |id: &str| (id.to_owned(), Some("make".to_owned()), Some(Activity::Working));
        assert_eq!(titles(&registry, &changed), [live("b"), live("a")]);
        // The terminal exits.
        assert_eq!(registry.set_live("s", None, None), changed);
        assert_eq!(titles(&registry, &changed), [("b".into(), None, None), ("a".into(), None, None)]);
    }

    #[test]
    fn a_pane_made_or_moved_later_shows_the_title_of_its_terminal_at_once() {
        let mut registry = Registry::new();
        registry.set_live("s", Some("vi"), None);
        registry.put_pane("default", "p", fields("p", "s")).unwrap();
        assert_eq!(registry.pane(&key("default", "p")).unwrap().live_title.as_deref(), Some("vi"));
        let moved = PanePatch { resource_id: Some("t".into()), ..PanePatch::default() };
        registry.patch_pane("default", "p", moved).unwrap().unwrap();
        assert_eq!(registry.pane(&key("default", "p")).unwrap().live_title, None);
    }

    #[test]
    fn a_removed_pane_is_named_and_gone() {
        let mut registry = Registry::new();
        registry.put_pane("default", "p", fields("p", "s")).unwrap();
        assert_eq!(registry.delete_pane("default", "p"), Ok(Change::PaneRemoved(key("default", "p"))));
        assert_eq!(registry.delete_pane("default", "p"), Err(RegistryError::UnknownPane));
        assert_eq!(registry.delete_pane("w", "p"), Err(RegistryError::UnknownWorkspace));
    }

    #[test]
    fn of_panes_that_nobody_placed_only_the_last_outlive_their_terminals() {
        let mut registry = Registry::new();
        let name = |n: usize| format!("s{n}");
        for n in 0..ENDED_PANES_MAX + 3 {
            registry.ensure_pane(&name(n), "shell");
        }
        // One has been named by somebody, one lives, one has come back and ended again later.
        registry.put_pane(DEFAULT_WORKSPACE, "s0", fields("mine", "s0")).unwrap();
        let mut removed = Vec::new();
        for n in (0..ENDED_PANES_MAX + 3).filter(|n| *n != 2) {
            removed.extend(registry.session_ended(&name(n)));
            if n == 1 {
                registry.ensure_pane("s1", "shell");
            }
        }
        assert_eq!(removed, [], "64 have ended, besides the one that is somebody's");
        assert_eq!(registry.session_ended("s1"), [Change::PaneRemoved(key(DEFAULT_WORKSPACE, "s3"))]);
        let is_there = |id: &str| registry.pane(&key(DEFAULT_WORKSPACE, id)).is_some();
        assert!(["s0", "s1", "s2", "s4"].into_iter().all(is_there) && !is_there("s3"));
    }

    #[test]
    fn a_pane_that_somebody_names_as_it_was_is_somebodys_and_that_is_a_change() {
        let mut registry = Registry::new();
        registry.ensure_pane("s", "shell");
        let put = registry.put_pane(DEFAULT_WORKSPACE, "s", fields("shell", "s")).unwrap();
        assert_eq!(put.change, Some(registry.change_of(&[key(DEFAULT_WORKSPACE, "s")])), "it is saved");
        assert_eq!(registry.put_pane(DEFAULT_WORKSPACE, "s", fields("shell", "s")).unwrap().change, None);
    }

    #[test]
    fn workspaces_and_panes_are_bounded_and_a_full_registry_still_changes() {
        let mut registry = Registry::new();
        for n in 1..WORKSPACES_MAX {
            registry.put_workspace(&n.to_string(), named("x")).unwrap();
        }
        assert_eq!(registry.put_workspace("more", named("x")), Err(RegistryError::TooManyWorkspaces));
        assert!(registry.put_workspace("1", named("y")).is_ok());
        for n in 0..PANES_MAX {
            registry.put_pane(&(n % 2 + 1).to_string(), &n.to_string(), fields("x", "s")).unwrap();
        }
        assert_eq!(registry.put_pane("3", "more", fields("x", "s")), Err(RegistryError::TooManyPanes));
        assert!(registry.put_pane("1", "0", fields("y", "s")).is_ok());
        assert_eq!(registry.ensure_pane("t", "x"), None);
    }
}
