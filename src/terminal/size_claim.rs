//! Whose size the PTY has (terminal protocol, "When several clients show one terminal").

use super::size::GridSize;
use crate::limits::CLIENTS_REMEMBERED_MAX;

/// The clients of one terminal and which of them sets its size.
///
/// A client shows the terminal from its `resize` until `hide` or disconnect; typing and `focus` are
/// *use*. Use by a showing client makes it the owner; use by one that does not show yet makes it the
/// owner when it shows. While nobody owns, the first to show does. When the owner leaves, the most
/// recently used (then most recently first shown) client that still shows takes over.
#[derive(Default)]
pub(super) struct SizeClaim {
    clients: Vec<Client>,
    owner: Option<String>,
    /// Counts uses and showings: an order, not a time.
    order: u64,
}

struct Client {
    id: String,
    socket: usize,
    size: Option<GridSize>,
    used: u64,
    shown: u64,
    /// Used before it showed.
    waits_to_own: bool,
}

impl SizeClaim {
    /// The size that the terminal should have; `None` when no client that shows it owns it.
    pub(super) fn wanted(&self) -> Option<GridSize> {
        let owner = self.owner.as_ref()?;
        self.clients.iter().find(|client| client.id == *owner)?.size
    }

    /// Whether this client may answer a program's queries: it owns the size, or nobody does.
    pub(super) fn may_answer(&self, id: &str) -> bool {
        self.owner.as_ref().is_none_or(|owner| owner == id)
    }

    /// The client shows the terminal on a grid of `size`.
    pub(super) fn show(&mut self, id: &str, socket: usize, size: GridSize) {
        let order = self.tick();
        let nobody_owns = self.owner.is_none();
        let client = self.client(id, socket);
        if client.size.replace(size).is_none() {
            client.shown = order;
            if client.waits_to_own || nobody_owns {
                client.waits_to_own = false;
                self.owner = Some(id.to_owned());
            }
        }
    }

    /// The client is used.
    pub(super) fn used(&mut self, id: &str, socket: usize) {
        let order = self.tick();
        let client = self.client(id, socket);
        client.used = order;
        client.waits_to_own = client.size.is_none();
        if client.size.is_some() && self.owner.as_deref() != Some(id) {
            self.owner = Some(id.to_owned());
        }
    }

    /// The client no longer shows the terminal.
    pub(super) fn hide(&mut self, id: &str, socket: usize) {
        let client = self.client(id, socket);
        client.size = None;
        client.waits_to_own = false;
        self.hand_over();
    }

    /// A frame of this client came on this socket: that is where it is now.
    pub(super) fn seen(&mut self, id: &str, socket: usize) {
        if let Some(client) = self.clients.iter_mut().find(|client| client.id == id) {
            client.socket = socket;
        }
    }

    /// The socket is gone, and with it the clients that it last spoke for.
    pub(super) fn disconnect(&mut self, socket: usize) {
        self.clients.retain(|client| client.socket != socket);
        self.hand_over();
    }

    fn hand_over(&mut self) {
        let shows = |client: &&Client| client.size.is_some();
        let owner = self.owner.as_deref();
        if self.clients.iter().filter(shows).any(|client| Some(client.id.as_str()) == owner) {
            return;
        }
        let next = self.clients.iter().filter(shows).max_by_key(|client| (client.used, client.shown));
        self.owner = next.map(|client| client.id.clone());
    }

    fn client(&mut self, id: &str, socket: usize) -> &mut Client {
        let at = match self.clients.iter().position(|client| client.id == id) {
            Some(at) => at,
            None => {
                // One socket may speak for any number of ids; the longest unused one makes room.
                if self.clients.len() >= CLIENTS_REMEMBERED_MAX {
                    let owner = self.owner.as_deref();
                    let others =
                        self.clients.iter().enumerate().filter(|(_, c)| Some(c.id.as_str()) != owner);
                    if let Some((oldest, _)) = others.min_by_key(|(_, c)| (c.used, c.shown)) {
                        self.clients.swap_remove(oldest);
                    }
                }
                let id = id.to_owned();
                self.clients.push(Client { id, socket, size: None, used: 0, shown: 0, waits_to_own: false });
                self.clients.len() - 1
            }
        };
        self.clients[at].socket = socket;
        &mut self.clients[at]
    }

    fn tick(&mut self) -> u64 {
        self.order += 1;
        self.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transcript: `A80` shows at 80 columns, `A!` is used, `A-` hides, `A/` disconnects. After each
    /// word, the columns of whoever owns the size.
    fn columns(script: &str) -> Vec<u16> {
        let mut claim = SizeClaim::default();
        script
            .split_whitespace()
            .map(|word| {
                let (id, what) = word.split_at(1);
                let socket = id.as_bytes()[0] as usize;
                match what {
                    "!" => claim.used(id, socket),
                    "-" => claim.hide(id, socket),
                    "/" => claim.disconnect(socket),
                    cols => claim.show(id, socket, GridSize::new(cols.parse().unwrap(), 24).unwrap()),
                }
                claim.wanted().map_or(0, GridSize::cols)
            })
            .collect()
    }

    #[test]
    fn the_first_to_show_sets_the_size_until_another_is_used() {
        assert_eq!(columns("A80 B60 B! A! A81 B61"), [80, 80, 60, 80, 81, 81]);
    }

    #[test]
    fn use_before_showing_counts_when_it_shows() {
        assert_eq!(columns("A80 B! B60"), [80, 80, 60]);
        assert_eq!(columns("B! B- A80 B60"), [0, 0, 80, 80], "hiding forgets the wish");
    }

    #[test]
    fn the_most_recently_used_that_still_shows_takes_over() {
        assert_eq!(columns("A80 B60 C40 C! B! A! A- B/ C-"), [80, 80, 80, 40, 60, 80, 60, 40, 0]);
        assert_eq!(columns("A80 B60 C40 A-"), [80, 80, 80, 40], "none was used: the last to show");
    }

    #[test]
    fn showing_again_takes_nothing_back() {
        assert_eq!(columns("A80 B60 A- A80 A!"), [80, 80, 60, 60, 80]);
    }

    #[test]
    fn a_client_on_a_new_socket_is_not_hidden_by_the_old_one() {
        let mut claim = SizeClaim::default();
        let size = GridSize::new(80, 24).unwrap();
        claim.show("A", 1, size);
        claim.seen("A", 2);
        claim.disconnect(1);
        assert_eq!(claim.wanted(), Some(size));
        claim.disconnect(2);
        assert_eq!(claim.wanted(), None);
    }

    #[test]
    fn only_the_owner_answers_queries() {
        let mut claim = SizeClaim::default();
        assert!(claim.may_answer("A"), "nobody owns yet");
        claim.show("A", 1, GridSize::new(80, 24).unwrap());
        claim.show("B", 2, GridSize::new(60, 24).unwrap());
        assert!(claim.may_answer("A") && !claim.may_answer("B"));
    }
}
