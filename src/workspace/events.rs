//! What happened lately, numbered, so that a client that was away can ask for what it missed.

use std::collections::VecDeque;

use super::panes::Change;
use crate::limits::EVENTS_KEPT;

/// The kind of an event that tells of workspaces and panes.
pub const NAVIGATION_CHANGED: &str = "navigation.changed";

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Greater than every earlier one's.
    pub id: u64,
    /// Such as [`NAVIGATION_CHANGED`].
    pub kind: &'static str,
    /// The pane or workspace it is about.
    pub subject_id: String,
    /// Unix time in milliseconds.
    pub created_at_ms: u64,
    /// What is different now.
    pub change: Change,
}

/// The last [`EVENTS_KEPT`] events.
#[derive(Debug)]
pub struct EventLog {
    events: VecDeque<Event>,
    id_last: u64,
}

/// Answer to [`EventLog::since`].
#[derive(Debug)]
pub enum Since<'a> {
    /// Everything after that id, oldest first; maybe nothing.
    Events(std::collections::vec_deque::Iter<'a, Event>),
    /// Some of it is gone, or the id is of another life of the server: the client needs the whole state.
    Lost,
}

impl EventLog {
    /// An empty log. Ids go on from the start time in Unix milliseconds, so that an id of an earlier life of
    /// the server is smaller than all of this one's, and is answered with [`Since::Lost`].
    pub fn new(now_unix_ms: u64) -> EventLog {
        EventLog { events: VecDeque::new(), id_last: now_unix_ms }
    }

    /// Id of the newest event; what a client that has seen everything asks with.
    pub fn id_last(&self) -> u64 {
        self.id_last
    }

    /// Appends an event and forgets the oldest above [`EVENTS_KEPT`].
    pub fn push(&mut self, kind: &'static str, subject_id: &str, change: Change, now_unix_ms: u64) -> &Event {
        if self.events.len() == EVENTS_KEPT {
            self.events.pop_front();
        }
        self.id_last += 1;
        let subject_id = subject_id.to_owned();
        self.events.push_back(Event {
            id: self.id_last,
            kind,
            subject_id,
            created_at_ms: now_unix_ms,
            change,
        });
        &self.events[self.events.len() - 1]
    }

    /// Appends a [`NAVIGATION_CHANGED`] about whom the change is about.
    pub fn push_navigation(&mut self, change: Change, now_unix_ms: u64) -> &Event {
        let subject_id = match &change {
            Change::Panes(panes) => panes.first().map(|pane| pane.id.clone()).unwrap_or_default(),
            Change::PaneRemoved(key) => key.pane_id.clone(),
            Change::Workspace { id, .. } | Change::WorkspaceRemoved { id } => id.clone(),
        };
        self.push(NAVIGATION_CHANGED, &subject_id, change, now_unix_ms)
    }

    /// What happened after the event of that id.
    pub fn since(&self, id: u64) -> Since<'_> {
        match self.id_last.checked_sub(id) {
            Some(missed) if missed <= self.events.len() as u64 => {
                Since::Events(self.events.range(self.events.len() - missed as usize..))
            }
            _ => Since::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(events: u64) -> EventLog {
        let mut log = EventLog::new(1000);
        for n in 1..=events {
            log.push_navigation(Change::WorkspaceRemoved { id: n.to_string() }, 5000 + n);
        }
        log
    }

    fn subjects(log: &EventLog, since: u64) -> Option<Vec<String>> {
        match log.since(since) {
            Since::Events(events) => Some(events.map(|event| event.subject_id.clone()).collect()),
            Since::Lost => None,
        }
    }

    #[test]
    fn a_client_gets_what_happened_after_the_id_it_saw_last() {
        let log = log(3);
        assert_eq!(log.id_last(), 1003);
        assert_eq!(subjects(&log, 1000), Some(vec!["1".into(), "2".into(), "3".into()]));
        assert_eq!(subjects(&log, 1002), Some(vec!["3".into()]));
        assert_eq!(subjects(&log, 1003), Some(vec![]));
    }

    #[test]
    fn an_id_of_another_life_of_the_server_is_lost() {
        assert_eq!(subjects(&log(3), 1004), None);
        assert_eq!(subjects(&log(3), 999), None);
        assert_eq!(subjects(&log(0), 0), None);
    }

    #[test]
    fn what_is_no_longer_kept_is_lost() {
        let log = log(EVENTS_KEPT as u64 + 1);
        assert_eq!(subjects(&log, 1000), None);
        assert_eq!(subjects(&log, 1001).map(|all| all.len()), Some(EVENTS_KEPT));
    }
}
