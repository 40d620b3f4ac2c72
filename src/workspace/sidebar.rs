//! What a workspace's card shows beside its panes: status pills, a progress bar, and a log.

use std::collections::{BTreeMap, VecDeque};

use crate::limits::{HT_KEYS_MAX, LOG_LINES_MAX, STATUS_PILLS_MAX};

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Level {
    Info,
    Progress,
    Success,
    Warning,
    Error,
}

/// One pill; its key is beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusPill {
    /// One line, for people.
    pub text: String,
    /// A name or a character; what it looks like is the client's choice.
    pub icon: Option<String>,
    /// Any CSS colour.
    pub color: Option<String>,
}

/// The progress bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// 0.0..=1.0.
    pub value: f64,
    /// One line, for people.
    pub label: Option<String>,
}

/// One message of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// For people.
    pub message: String,
    /// How much it matters.
    pub level: Option<Level>,
    /// Who says so.
    pub source: Option<String>,
    /// Unix time in milliseconds.
    pub at_ms: u64,
}

/// What stands on one workspace's card.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Card {
    /// By key. At most [`STATUS_PILLS_MAX`].
    pub status: BTreeMap<String, StatusPill>,
    /// `None` when nothing is under way.
    pub progress: Option<Progress>,
    /// Oldest first. The last [`LOG_LINES_MAX`].
    pub log: VecDeque<LogLine>,
}

/// The part of a card that is different now.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum CardPart {
    /// `None`: the pill is gone.
    Status { key: String, pill: Option<StatusPill> },
    /// `None`: the bar is gone.
    Progress(Option<Progress>),
    /// One line more; above [`LOG_LINES_MAX`] the oldest is gone.
    LogLine(LogLine),
    /// The whole card is gone.
    Removed,
}

/// What was changed, to be told to everyone.
#[derive(Clone, Debug, PartialEq)]
pub struct SidebarChange {
    /// Whose card.
    pub workspace_id: String,
    /// What of it.
    pub part: CardPart,
}

/// The workspace has [`STATUS_PILLS_MAX`] pills already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyPills;

/// The cards of all workspaces that have anything on theirs. Which workspaces exist is the registry's to
/// know: the caller asks it first, and tells [`Sidebar::remove_workspace`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sidebar {
    cards: BTreeMap<String, Card>,
    /// Keys of `set-status`, in order of their first use.
    keys_seen: VecDeque<String>,
}

impl Sidebar {
    /// Every card with its workspace's id.
    pub fn cards(&self) -> &BTreeMap<String, Card> {
        &self.cards
    }

    /// The keys that scripts have set, in order of their first use, also after they were cleared: people
    /// choose in the settings which ones they want to see.
    pub fn keys_seen(&self) -> impl Iterator<Item = &str> {
        self.keys_seen.iter().map(String::as_str)
    }

    /// Remembers a key; whether it is a new one, to be told.
    pub fn see_key(&mut self, key: &str) -> bool {
        if self.keys_seen.iter().any(|seen| seen == key) {
            return false;
        }
        if self.keys_seen.len() == HT_KEYS_MAX {
            self.keys_seen.pop_front();
        }
        self.keys_seen.push_back(key.to_owned());
        true
    }

    /// Sets a pill. `None` when it was so already.
    ///
    /// # Errors
    /// [`TooManyPills`].
    pub fn set_status(
        &mut self,
        workspace_id: &str,
        key: &str,
        pill: StatusPill,
    ) -> Result<Option<SidebarChange>, TooManyPills> {
        let pills = self.cards.get(workspace_id).map(|card| &card.status);
        let former = pills.and_then(|pills| pills.get(key));
        if former == Some(&pill) {
            return Ok(None);
        }
        if former.is_none() && pills.is_some_and(|pills| pills.len() >= STATUS_PILLS_MAX) {
            return Err(TooManyPills);
        }
        self.card(workspace_id).status.insert(key.to_owned(), pill.clone());
        Ok(change(workspace_id, CardPart::Status { key: key.to_owned(), pill: Some(pill) }))
    }

    /// Removes a pill. `None` when there was none.
    pub fn clear_status(&mut self, workspace_id: &str, key: &str) -> Option<SidebarChange> {
        self.cards.get_mut(workspace_id)?.status.remove(key)?;
        change(workspace_id, CardPart::Status { key: key.to_owned(), pill: None })
    }

    /// Sets the progress bar. `None` when it was so already.
    pub fn set_progress(&mut self, workspace_id: &str, progress: Progress) -> Option<SidebarChange> {
        let card = self.card(workspace_id);
        if card.progress.as_ref() == Some(&progress) {
            return None;
        }
        card.progress = Some(progress.clone());
        change(workspace_id, CardPart::Progress(Some(progress)))
    }

    /// Removes the progress bar. `None` when there was none.
    pub fn clear_progress(&mut self, workspace_id: &str) -> Option<SidebarChange> {
        self.cards.get_mut(workspace_id)?.progress.take()?;
        change(workspace_id, CardPart::Progress(None))
    }

    /// Appends to the log and forgets the oldest line above [`LOG_LINES_MAX`].
    pub fn log(&mut self, workspace_id: &str, line: LogLine) -> SidebarChange {
        let log = &mut self.card(workspace_id).log;
        if log.len() == LOG_LINES_MAX {
            log.pop_front();
        }
        log.push_back(line.clone());
        SidebarChange { workspace_id: workspace_id.to_owned(), part: CardPart::LogLine(line) }
    }

    /// The workspace is gone. `None` when it had nothing on its card.
    pub fn remove_workspace(&mut self, workspace_id: &str) -> Option<SidebarChange> {
        self.cards.remove(workspace_id)?;
        change(workspace_id, CardPart::Removed)
    }

    fn card(&mut self, workspace_id: &str) -> &mut Card {
        self.cards.entry(workspace_id.to_owned()).or_default()
    }
}

fn change(workspace_id: &str, part: CardPart) -> Option<SidebarChange> {
    Some(SidebarChange { workspace_id: workspace_id.to_owned(), part })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pill(text: &str) -> StatusPill {
        StatusPill { text: text.to_owned(), icon: None, color: None }
    }

    fn line(n: usize) -> LogLine {
        LogLine { message: n.to_string(), level: None, source: None, at_ms: n as u64 }
    }

    /// A client that only hears changes.
    fn follow(view: &mut BTreeMap<String, Card>, change: SidebarChange) {
        let card = view.entry(change.workspace_id.clone()).or_default();
        match change.part {
            CardPart::Status { key, pill: Some(pill) } => drop(card.status.insert(key, pill)),
            CardPart::Status { key, pill: None } => drop(card.status.remove(&key)),
            CardPart::Progress(progress) => card.progress = progress,
            CardPart::LogLine(line) => {
                card.log.push_back(line);
                if card.log.len() > LOG_LINES_MAX {
                    card.log.pop_front();
                }
            }
            CardPart::Removed => drop(view.remove(&change.workspace_id)),
        }
    }

    #[test]
    fn a_client_that_hears_every_change_sees_what_the_server_has() {
        let (mut sidebar, mut view) = (Sidebar::default(), BTreeMap::new());
        let half = Progress { value: 0.5, label: Some("half".into()) };
        let mut told = vec![
            sidebar.set_status("w", "build", pill("red")).unwrap(),
            sidebar.set_status("w", "tests", pill("12")).unwrap(),
            sidebar.set_status("w", "build", pill("green")).unwrap(),
            sidebar.clear_status("w", "tests"),
            sidebar.set_progress("w", half),
            sidebar.set_progress("v", Progress { value: 1.0, label: None }),
            sidebar.clear_progress("w"),
        ];
        told.extend((0..LOG_LINES_MAX + 3).map(|n| Some(sidebar.log("w", line(n)))));
        told.push(sidebar.remove_workspace("v"));
        told.into_iter().flatten().for_each(|change| follow(&mut view, change));
        assert_eq!(&view, sidebar.cards());
        assert_eq!(view["w"].log.len(), LOG_LINES_MAX);
        assert_eq!(view["w"].log.front(), Some(&line(3)));
        assert_eq!(view["w"].status, BTreeMap::from([("build".to_owned(), pill("green"))]));
    }

    #[test]
    fn what_was_so_already_is_not_told() {
        let mut sidebar = Sidebar::default();
        let whole = Progress { value: 1.0, label: None };
        assert!(sidebar.set_status("w", "a", pill("x")).unwrap().is_some());
        assert_eq!(sidebar.set_status("w", "a", pill("x")), Ok(None));
        assert!(sidebar.set_progress("w", whole.clone()).is_some());
        assert_eq!(sidebar.set_progress("w", whole), None);
        assert_eq!(sidebar.clear_status("w", "b"), None);
        assert_eq!(sidebar.clear_status("nowhere", "a"), None);
        assert!(sidebar.clear_progress("w").is_some());
        assert_eq!(sidebar.clear_progress("w"), None);
        assert_eq!(sidebar.remove_workspace("nowhere"), None);
    }

    #[test]
    fn a_full_card_refuses_another_pill_and_changes_the_ones_it_has() {
        let mut sidebar = Sidebar::default();
        for n in 0..STATUS_PILLS_MAX {
            sidebar.set_status("w", &n.to_string(), pill("x")).unwrap();
        }
        assert_eq!(sidebar.set_status("w", "more", pill("x")), Err(TooManyPills));
        assert!(sidebar.set_status("w", "0", pill("y")).unwrap().is_some());
        assert!(sidebar.set_status("v", "more", pill("x")).unwrap().is_some());
        assert_eq!(sidebar.cards()["w"].status.len(), STATUS_PILLS_MAX);
    }

    #[test]
    fn keys_are_remembered_in_the_order_of_their_first_use() {
        let mut sidebar = Sidebar::default();
        assert_eq!(["b", "a", "b"].map(|key| sidebar.see_key(key)), [true, true, false]);
        assert_eq!(sidebar.keys_seen().collect::<Vec<_>>(), ["b", "a"]);
        for n in 0..HT_KEYS_MAX {
            sidebar.see_key(&n.to_string());
        }
        assert_eq!(sidebar.keys_seen().count(), HT_KEYS_MAX);
        assert_eq!(sidebar.keys_seen().next(), Some("0"));
    }
}
