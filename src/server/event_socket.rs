//! Readers of the event log.

use std::time::Instant;

use super::Server;
use super::connection::{Connection, EventSocket, Phase};
use super::source::Key;
use super::unix_ms;
use crate::limits::MESSAGE_BYTES_MAX;
use crate::wire::rest::{event_json, put_sse, reset_event_json};
use crate::wire::websocket::{Codec, put_text};
use crate::workspace::events::Since;

impl Server {
    /// The connection becomes a reader of events after the one with id `since`.
    pub(super) fn follow_events(&mut self, key: Key, since: u64, by_websocket: bool, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let codec = by_websocket.then(|| Codec::server(MESSAGE_BYTES_MAX));
        connection.phase = Phase::Events(EventSocket { codec, cursor: since });
        connection.stage_at = now;
        self.event_readers.push(key);
        self.ask_connection(key);
        self.pump_events(key, now);
    }

    /// Gives a reader the events that it has not seen, while its queue has room; the whole state when the
    /// log no longer reaches back.
    pub(super) fn pump_events(&mut self, key: Key, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let Connection { phase: Phase::Events(reader), outbound, stage_at, .. } = connection else { return };
        let EventSocket { codec, cursor } = reader;
        let mut put = |envelope: &serde_json::Value| {
            outbound.put(|out| match codec {
                Some(_) => put_text(&[envelope.to_string().as_bytes()], out),
                None => put_sse(envelope, out),
            });
            !outbound.is_full()
        };
        match self.log.since(*cursor) {
            Since::Lost => {
                *cursor = self.log.id_last();
                put(&reset_event_json(*cursor, &self.registry, unix_ms()));
            }
            Since::Events(events) => {
                for event in events {
                    *cursor = event.id;
                    if !put(&event_json(event)) {
                        break;
                    }
                }
            }
        }
        *stage_at = now;
        self.queue_write(key);
    }
}
