//! How connections and terminals leave: marked during the turn, taken out at its end. The only place where
//! a slot is freed, so that within a batch of events every key stays true.

use std::time::Instant;

use super::Server;
use super::connection::Phase;
use super::source::Key;
use crate::terminal::Exit;
use crate::wire::websocket;

impl Server {
    /// The connection is over, whatever waits in its queue.
    pub(super) fn doom(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key)
            && !std::mem::replace(&mut connection.doomed, true)
        {
            self.work.doomed.push(key);
        }
    }

    /// What waits in the queue leaves, then a close frame if it is a websocket, then the connection ends.
    pub(super) fn end_connection(&mut self, key: Key, code: u16, reason: &str, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        match &mut connection.phase {
            Phase::Closing => return,
            Phase::Terminal(_)
            | Phase::Mirror(_)
            | Phase::Agent(_)
            | Phase::Events(super::connection::EventSocket { codec: Some(_), .. }) => {
                connection.outbound.put(|out| websocket::put_close(code, reason, out));
            }
            Phase::Request { .. } | Phase::Events(_) => {}
        }
        self.leave_models(key, now);
        if let Some(connection) = self.connections.get_mut(key) {
            connection.close(now);
        }
        self.ask_connection(key);
        self.queue_write(key);
        // What it still sends is read and dropped.
        self.queue_again(key);
    }

    /// Takes the connection out of the models that know it.
    pub(super) fn leave_models(&mut self, key: Key, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        match std::mem::replace(&mut connection.phase, Phase::Closing) {
            Phase::Terminal(socket) => {
                let terminal = socket.terminal;
                let Some(hosted) = self.terminals.get_mut(terminal) else { return };
                hosted.attached.retain(|reader| *reader != key);
                hosted.senders.retain(|sender| *sender != key);
                hosted.owed.leave(&socket.reader);
                hosted.terminal.detach(key.number(), hosted.attached.is_empty(), now);
                self.terminal_changed(terminal, now);
                self.forget_if_unread(terminal);
            }
            Phase::Mirror(socket) => self.leave_mirror(key, &socket, now),
            // Without an exit frame nobody knows how its program ended.
            Phase::Agent(agent) => self.finish(agent.terminal, Exit::default(), now),
            Phase::Events(_) => self.event_readers.retain(|reader| *reader != key),
            Phase::Request { .. } | Phase::Closing => {}
        }
    }

    pub(super) fn bury(&mut self, now: Instant) {
        for key in std::mem::take(&mut self.work.doomed) {
            self.leave_models(key, now);
            self.forget_asked(key);
            self.connections.remove(key);
        }
        let doomed = std::mem::take(&mut self.work.doomed_terminals);
        if !doomed.is_empty() {
            // The last moment for sessions to be told what they printed.
            self.pump_mirrors(now);
        }
        for key in doomed {
            let Some(hosted) = self.terminals.remove(key) else { continue };
            self.surface_gone(key, &hosted);
            self.uploads.leave(key);
            for reader in hosted.attached {
                self.end_connection(reader, 1000, "the terminal is gone", now);
            }
            self.by_id.remove(&hosted.id);
            if self.by_session.get(&hosted.session_id) == Some(&key) {
                self.by_session.remove(&hosted.session_id);
            }
            if !self.by_session.contains_key(&hosted.session_id) {
                for change in self.registry.session_ended(&hosted.session_id) {
                    self.told(Some(change));
                }
            }
        }
    }
}
