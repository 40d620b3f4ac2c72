//! The socket of an agent that owns a terminal: its binary frames are output, ours are input and size.

use std::time::Instant;

use super::Server;
use super::connection::{AgentSocket, Phase};
use super::hosted::{Hosted, Origin};
use super::source::Key;
use crate::terminal::{Act, Exit, GridSize, Terminal};
use crate::wire::agent_frames::{AgentFrame, parse_agent, put_registered};
use crate::wire::websocket::Codec;

/// What the agent's own terminal is called among the clients that set the size.
const AGENT: &str = "agent:";

impl Server {
    /// The connection becomes the owner of a new terminal of this session; a former one is replaced.
    pub(super) fn register_agent(
        &mut self,
        key: Key,
        session_id: &str,
        size: GridSize,
        newlines_crlf: bool,
        now: Instant,
    ) -> std::io::Result<()> {
        let id = self.new_id()?;
        let terminal = Terminal::new(size, self.config.replay_bytes, self.config.scrollback_lines, false);
        let origin = Origin::Agent { socket: Some(key), newlines_crlf, after_cr: false };
        let hosted = Hosted::new(id.clone(), session_id.to_owned(), terminal, origin, String::new());
        let terminal = self.host(hosted, now)?;
        let path = self.websocket_path(&id);
        if let Some(connection) = self.connections.get_mut(key) {
            let codec = Codec::server(crate::limits::MESSAGE_BYTES_MAX);
            connection.phase = Phase::Agent(AgentSocket { terminal, codec });
        }
        self.answer(key, |out| put_registered(&id, &path, out));
        self.ask_connection(key);
        self.terminal_changed(terminal, now);
        Ok(())
    }

    pub(super) fn agent_output(&mut self, key: Key, bytes: &[u8], now: Instant) {
        let Some(terminal) = self.owned_by(key) else { return };
        let Some(hosted) = self.terminals.get_mut(terminal) else { return };
        hosted.activity_ms = super::unix_ms();
        match &mut hosted.origin {
            Origin::Agent { newlines_crlf: true, after_cr, .. } => {
                let mut text = Vec::with_capacity(bytes.len() + bytes.len() / 8);
                for byte in bytes {
                    if *byte == b'\n' && !*after_cr {
                        text.push(b'\r');
                    }
                    text.push(*byte);
                    *after_cr = *byte == b'\r';
                }
                hosted.terminal.feed(&text, now);
            }
            Origin::Agent { .. } | Origin::Shell { .. } => hosted.terminal.feed(bytes, now),
        }
        self.terminal_grew(terminal, now);
    }

    pub(super) fn agent_text(&mut self, key: Key, text: &str, now: Instant) {
        match parse_agent(text) {
            Ok(AgentFrame::Exit { exit_code }) => {
                if let Some(terminal) = self.owned_by(key) {
                    self.finish(terminal, Exit { code: exit_code, signal: None }, now);
                }
                self.end_connection(key, 1000, "the terminal has ended", now);
            }
            Ok(AgentFrame::Resize(size)) => {
                let Some(terminal) = self.owned_by(key) else { return };
                let Some(hosted) = self.terminals.get_mut(terminal) else { return };
                // The agent's own terminal is one more client, and a person is at it.
                for act in [Act::Resize(size), Act::Focus] {
                    hosted.terminal.act(AGENT, key.number(), &act);
                }
                self.terminal_changed(terminal, now);
            }
            Err(message) => self.terminal_error(key, &message),
        }
    }

    fn owned_by(&self, key: Key) -> Option<Key> {
        match &self.connections.get(key)?.phase {
            Phase::Agent(agent) => Some(agent.terminal),
            Phase::Terminal(_)
            | Phase::Mirror(_)
            | Phase::Request { .. }
            | Phase::Events(_)
            | Phase::Closing => None,
        }
    }
}
