//! What terminals and scripts want a person to know.

use std::collections::VecDeque;

use super::sidebar::Level;
use crate::limits::NOTIFICATIONS_MAX;

/// What the author says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationFields {
    /// One line.
    pub title: String,
    /// More of it.
    pub body: Option<String>,
    /// How much it matters.
    pub level: Option<Level>,
    /// The terminal it is about.
    pub surface_id: Option<String>,
}

/// One notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Never used for another one, also not by the server's next life.
    pub id: String,
    /// What the author says.
    pub fields: NotificationFields,
    /// Unix time in milliseconds.
    pub created_at_ms: u64,
}

/// What [`Notifications::create`] did, to be told in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The oldest one had to leave: the same as a dismissal.
    pub dismissed_id: Option<String>,
    /// The new one.
    pub notification: Notification,
}

/// The last [`NOTIFICATIONS_MAX`] that nobody has dismissed.
#[derive(Clone, Debug)]
pub struct Notifications {
    items: VecDeque<Notification>,
    id_last: u64,
}

impl Notifications {
    /// None. Ids go on from the start time in Unix milliseconds, so that a client of an earlier life of the
    /// server cannot dismiss one that it has never seen.
    pub fn new(now_unix_ms: u64) -> Notifications {
        Notifications { items: VecDeque::new(), id_last: now_unix_ms }
    }

    /// Oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Notification> + ExactSizeIterator {
        self.items.iter()
    }

    /// Takes one in.
    pub fn create(&mut self, fields: NotificationFields, now_unix_ms: u64) -> Created {
        let full = self.items.len() == NOTIFICATIONS_MAX;
        let dismissed_id = full.then(|| self.items.pop_front()).flatten().map(|oldest| oldest.id);
        self.id_last += 1;
        let notification = Notification { id: self.id_last.to_string(), fields, created_at_ms: now_unix_ms };
        self.items.push_back(notification.clone());
        Created { dismissed_id, notification }
    }

    /// Removes that one and no other; whether it was there.
    pub fn dismiss(&mut self, id: &str) -> bool {
        let at = self.items.iter().position(|notification| notification.id == id);
        at.is_some_and(|at| self.items.remove(at).is_some())
    }

    /// Removes all; their ids, each a dismissal to be told.
    pub fn clear(&mut self) -> Vec<String> {
        self.items.drain(..).map(|notification| notification.id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notify(notifications: &mut Notifications, title: &str) -> Created {
        let fields =
            NotificationFields { title: title.to_owned(), body: None, level: None, surface_id: None };
        notifications.create(fields, 7000)
    }

    fn titles(notifications: &Notifications) -> Vec<&str> {
        notifications.iter().map(|one| one.fields.title.as_str()).collect()
    }

    #[test]
    fn dismissing_one_of_three_leaves_the_other_two() {
        let mut all = Notifications::new(1000);
        let ids = ["a", "b", "c"].map(|title| notify(&mut all, title).notification.id);
        assert_eq!(ids, ["1001", "1002", "1003"]);
        assert!(all.dismiss("1002"));
        assert!(!all.dismiss("1002"));
        assert!(!all.dismiss("2"));
        assert_eq!(titles(&all), ["a", "c"]);
    }

    #[test]
    fn what_was_cleared_does_not_come_back_and_its_ids_are_not_used_again() {
        let mut all = Notifications::new(1000);
        notify(&mut all, "a");
        notify(&mut all, "b");
        assert_eq!(all.clear(), ["1001", "1002"]);
        assert_eq!(all.clear(), Vec::<String>::new());
        assert_eq!(notify(&mut all, "c").notification.id, "1003");
        assert_eq!(titles(&all), ["c"]);
    }

    #[test]
    fn the_oldest_leaves_and_is_told_as_a_dismissal() {
        let mut all = Notifications::new(0);
        for n in 0..NOTIFICATIONS_MAX {
            assert_eq!(notify(&mut all, &n.to_string()).dismissed_id, None);
        }
        assert_eq!(notify(&mut all, "new").dismissed_id.as_deref(), Some("1"));
        assert_eq!(all.iter().len(), NOTIFICATIONS_MAX);
        assert_eq!((titles(&all)[0], titles(&all)[NOTIFICATIONS_MAX - 1]), ("1", "new"));
    }
}
