//! Frames of a socket that is attached to a terminal.

use std::time::Instant;

use super::Server;
use super::connection::{Connection, Phase, TerminalSocket};
use super::hosted::Origin;
use super::reader::Reader;
use super::source::Key;
use crate::os::pty;
use crate::terminal::{Act, After, ClientFrame};
use crate::wire::terminal_frames::{Incoming, Protocol, parse_client, put_ack, put_error, put_pong};
use crate::wire::websocket::Codec;

impl Server {
    /// The connection becomes a reader of the terminal that has everything up to byte `cursor`: `ready`,
    /// `size`, then replay or reset, then live output.
    pub(super) fn attach(&mut self, key: Key, terminal: Key, cursor: u64, protocol: Protocol, now: Instant) {
        let Some(hosted) = self.terminals.get_mut(terminal) else { return };
        let others = hosted.attached.iter().filter_map(|other| match &self.connections.get(*other)?.phase {
            Phase::Terminal(socket) => socket.reader.lacks(),
            _ => None,
        });
        let owed_from = hosted.owed.find(cursor, others);
        let Some(connection) = self.connections.get_mut(key) else { return };
        hosted.attached.push(key);
        let mut reader =
            Reader::attach(&mut hosted.terminal, cursor, protocol, &mut connection.outbound, now);
        if let Some(from) = owed_from {
            reader.owe(from, now);
        }
        let codec = Codec::server(crate::limits::MESSAGE_BYTES_MAX);
        connection.phase = Phase::Terminal(TerminalSocket { terminal, codec, reader, held: None });
        self.ask_connection(key);
        // What the program asked before is answered by the screen; what it asks from now on, by clients.
        self.terminal_grew(terminal, now);
        self.terminal_changed(terminal, now);
        self.pump(key, now);
    }

    pub(super) fn terminal_text(&mut self, key: Key, text: &str, now: Instant) {
        let Some(Connection { phase: Phase::Terminal(socket), .. }) = self.connections.get_mut(key) else {
            return;
        };
        let frame = match parse_client(text, socket.reader.protocol()) {
            Ok(Incoming::Frame(frame)) => frame,
            Ok(Incoming::Ping { t, srtt }) => {
                if let Some(srtt) = srtt {
                    socket.reader.set_srtt(srtt);
                }
                return self.answer(key, |out| put_pong(&t, out));
            }
            Err(message) => return self.terminal_error(key, &message),
        };
        self.apply_frame(key, frame, now);
    }

    /// Applies and acknowledges a frame; false when it is input that must wait for the program to read, and
    /// with it all that this client sent later.
    pub(super) fn apply_frame(&mut self, key: Key, frame: ClientFrame, now: Instant) -> bool {
        let Some(connection) = self.connections.get_mut(key) else { return true };
        let Phase::Terminal(socket) = &mut connection.phase else { return true };
        let terminal = socket.terminal;
        let Some(hosted) = self.terminals.get_mut(terminal) else { return true };
        if matches!(frame.act, Act::Input { .. }) && hosted.input_is_full() {
            socket.held = Some(frame);
            connection.stalled = true;
            hosted.senders.push(key);
            return false;
        }
        let after = hosted.terminal.apply(key.number(), &frame);
        if matches!(frame.act, Act::Input { claim: true, .. })
            && socket.reader.typed(&hosted.terminal, &connection.outbound, now)
        {
            self.work.thirsty.push(key);
        }
        if matches!(frame.act, Act::Input { claim: true, .. }) {
            self.around.auto_continue.human_typed(&hosted.id);
        }
        self.answer(key, |out| put_ack(frame.client_seq, out));
        match after {
            After::Nothing => {}
            After::HangUp => self.hang_up(terminal, now),
            After::Clear => self.clear(terminal, now),
            After::Refused(why) => self.terminal_error(key, why),
        }
        self.terminal_changed(terminal, now);
        true
    }

    fn clear(&mut self, key: Key, now: Instant) {
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        let shell_in_foreground = match &hosted.origin {
            Origin::Shell { pid, master: Some(master) } => {
                pty::foreground_group(master).is_ok_and(|group| group == Some(*pid))
            }
            Origin::Shell { master: None, .. } | Origin::Agent { .. } => false,
        };
        hosted.terminal.clear(shell_in_foreground, now);
        self.terminal_grew(key, now);
    }

    pub(super) fn terminal_error(&mut self, key: Key, message: &str) {
        self.answer(key, |out| put_error(message, out));
    }

    /// The terminal's size is told to this reader when its queue has room.
    pub(super) fn size_due(&mut self, key: Key) {
        if let Some(Connection { phase: Phase::Terminal(socket), .. }) = self.connections.get_mut(key) {
            socket.reader.size_changed();
        }
    }

    /// Appends to what the connection is sent.
    pub(super) fn answer(&mut self, key: Key, put: impl FnOnce(&mut Vec<u8>)) {
        if let Some(connection) = self.connections.get_mut(key) {
            let before = connection.outbound.waiting().len();
            connection.outbound.put(put);
            if connection.outbound.is_full() {
                connection.answers_bytes += connection.outbound.waiting().len() - before;
            }
            self.queue_write(key);
        }
    }
}
