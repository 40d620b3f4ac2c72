//! The client frames that the server has not acknowledged.
//!
//! A connection can drop with frames in flight. They are kept until they are acknowledged and sent again,
//! unchanged, on the next connection: the server's duplicate check ignores those that did arrive.

use std::collections::VecDeque;

use crate::limits::CLI_IN_FLIGHT_BYTES_MAX;
use crate::terminal::{Act, ClientFrame};
use crate::wire::terminal_frames::client_frame_json;

/// Frames in flight, in order.
pub(super) struct Outbox {
    client_id: String,
    client_seq: u64,
    frames: VecDeque<(u64, String)>,
    bytes: usize,
    /// How many of `frames` went out on this connection.
    sent: usize,
}

impl Outbox {
    /// `client_id` stays the same over all connections of one attachment.
    pub(super) fn new(client_id: String) -> Outbox {
        Outbox { client_id, client_seq: 0, frames: VecDeque::new(), bytes: 0, sent: 0 }
    }

    /// Queues a frame.
    pub(super) fn push(&mut self, act: Act) {
        self.client_seq += 1;
        let frame = ClientFrame { client_id: self.client_id.clone(), client_seq: self.client_seq, act };
        let text = client_frame_json(&frame);
        self.bytes += text.len();
        self.frames.push_back((self.client_seq, text));
    }

    /// The next frame that did not go out on this connection.
    pub(super) fn next_to_send(&mut self) -> Option<&str> {
        let (_, text) = self.frames.get(self.sent)?;
        self.sent += 1;
        Some(text)
    }

    /// The server has taken the frame `client_seq`, and so all before it: it reads in order.
    pub(super) fn acknowledge(&mut self, client_seq: u64) {
        while self.frames.front().is_some_and(|(seq, _)| *seq <= client_seq) {
            let taken = self.frames.pop_front().map_or(0, |(_, text)| text.len());
            self.bytes -= taken;
            self.sent = self.sent.saturating_sub(1);
        }
    }

    /// A new connection: everything in flight goes out again.
    pub(super) fn reconnected(&mut self) {
        self.sent = 0;
    }

    /// Nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Input is to be held back.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= CLI_IN_FLIGHT_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::terminal::GridSize;

    fn sent(outbox: &mut Outbox) -> Vec<String> {
        std::iter::from_fn(|| outbox.next_to_send().map(str::to_owned)).collect()
    }

    fn typed(data: &str) -> Act {
        Act::Input { data: data.into(), claim: true }
    }

    #[test]
    fn frames_carry_the_client_and_a_growing_number() {
        let mut outbox = Outbox::new("c".into());
        outbox.push(Act::Resize(GridSize::new(80, 24).unwrap()));
        outbox.push(Act::Input { data: "\u{1b}[I".into(), claim: false });
        let frames: Vec<Value> =
            sent(&mut outbox).iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        assert_eq!(
            frames,
            [
                json!({"type": "resize", "clientId": "c", "clientSeq": 1, "cols": 80, "rows": 24}),
                json!({"type": "input", "clientId": "c", "clientSeq": 2, "data": "\u{1b}[I", "claim": false}),
            ]
        );
    }

    #[test]
    fn unacknowledged_frames_go_out_again_unchanged_and_in_order() {
        let mut outbox = Outbox::new("c".into());
        for data in ["a", "b", "c"] {
            outbox.push(typed(data));
        }
        let first = sent(&mut outbox);
        assert_eq!(sent(&mut outbox), Vec::<String>::new());
        outbox.acknowledge(1);
        outbox.reconnected();
        outbox.push(typed("d"));
        let second = sent(&mut outbox);
        assert_eq!(second[..2], first[1..]);
        assert_eq!(second.len(), 3);
        outbox.acknowledge(4);
        assert!(outbox.is_empty());
    }

    #[test]
    fn an_acknowledgement_of_what_was_not_sent_on_this_connection_counts() {
        let mut outbox = Outbox::new("c".into());
        outbox.push(typed("a"));
        outbox.push(typed("b"));
        sent(&mut outbox);
        outbox.reconnected();
        outbox.acknowledge(1);
        assert_eq!(sent(&mut outbox).len(), 1);
    }

    #[test]
    fn a_server_that_takes_nothing_holds_input_back() {
        let mut outbox = Outbox::new("c".into());
        while !outbox.is_full() {
            outbox.push(typed(&"x".repeat(60_000)));
        }
        outbox.acknowledge(1);
        assert!(!outbox.is_full());
    }
}
