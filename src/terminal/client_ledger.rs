//! Which frames of which client have been seen: clientId to the highest clientSeq.

use std::collections::HashMap;

use crate::limits::CLIENTS_REMEMBERED_MAX;

/// The duplicate check of the terminal protocol. It remembers the last [`CLIENTS_REMEMBERED_MAX`]
/// clients; whoever was heard least recently is forgotten first.
#[derive(Default)]
pub(super) struct ClientLedger {
    clients: HashMap<String, Heard>,
    frames: u64,
}

struct Heard {
    client_seq: u64,
    at: u64,
}

impl ClientLedger {
    /// Notes the frame. False when one of this client with this number or a higher one was seen before.
    pub(super) fn is_first_sight(&mut self, client_id: &str, client_seq: u64) -> bool {
        self.frames += 1;
        let at = self.frames;
        if let Some(heard) = self.clients.get_mut(client_id) {
            heard.at = at;
            let first = client_seq > heard.client_seq;
            heard.client_seq = heard.client_seq.max(client_seq);
            return first;
        }
        if self.clients.len() >= CLIENTS_REMEMBERED_MAX {
            let oldest = self.clients.iter().min_by_key(|(_, heard)| heard.at).map(|(id, _)| id.clone());
            oldest.and_then(|id| self.clients.remove(&id));
        }
        self.clients.insert(client_id.to_owned(), Heard { client_seq, at });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_counts_once_per_client() {
        let mut ledger = ClientLedger::default();
        let seen: Vec<bool> = [("a", 1), ("a", 2), ("b", 1), ("a", 2), ("a", 1), ("a", 5), ("b", 1)]
            .map(|(id, seq)| ledger.is_first_sight(id, seq))
            .into();
        assert_eq!(seen, [true, true, true, false, false, true, false]);
    }

    #[test]
    fn it_remembers_the_most_recent_clients_only() {
        let mut ledger = ClientLedger::default();
        assert!(ledger.is_first_sight("me", 7));
        for i in 0..100_000 {
            ledger.is_first_sight(&format!("other-{i}"), 1);
            if i % 100 == 0 {
                assert!(!ledger.is_first_sight("me", 7), "still in use, still known");
            }
        }
        assert_eq!(ledger.clients.len(), CLIENTS_REMEMBERED_MAX);
        assert!(ledger.is_first_sight("other-1", 1), "long forgotten");
    }
}
