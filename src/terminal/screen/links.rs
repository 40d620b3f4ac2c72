//! Hyperlinks (OSC 8) that cells refer to by number.

use crate::limits::{LINK_BYTES_MAX, LINKS_BYTES_MAX};

#[derive(Debug, PartialEq)]
pub(super) struct Link {
    /// `id=`: links with the same one belong together.
    pub(super) id: String,
    pub(super) uri: String,
}

impl Link {
    /// What it costs in the table.
    fn bytes(&self) -> usize {
        size_of::<Option<Link>>() + self.id.len() + self.uri.len()
    }
}

/// The table. Number 0 is no link.
#[derive(Default)]
pub(super) struct Links {
    links: Vec<Option<Link>>,
    /// Places in `links` that the last collection left.
    free: Vec<usize>,
    bytes: usize,
    /// Numbers given out since the last collection.
    young: usize,
    last: u32,
}

/// When so many links were added since the last one, those that no cell has are collected.
const YOUNG_MAX: usize = 1024;

impl Links {
    pub(super) fn get(&self, number: u32) -> Option<&Link> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.links.get(index)?.as_ref()
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.young > YOUNG_MAX.max(self.links.len() / 2)
            || self.bytes > LINKS_BYTES_MAX / 2 && self.young > 16
    }

    /// The number of a link; 0 when it is too long, or the table is full of links in use.
    pub(super) fn number(&mut self, id: &str, uri: &str) -> u32 {
        if self.get(self.last).is_some_and(|link| link.id == id && link.uri == uri) {
            return self.last;
        }
        let link = Link { id: id.to_owned(), uri: uri.to_owned() };
        if id.len() + uri.len() > LINK_BYTES_MAX || self.bytes + link.bytes() > LINKS_BYTES_MAX {
            return 0;
        }
        self.bytes += link.bytes();
        let link = Some(link);
        self.young += 1;
        let index = match self.free.pop() {
            Some(index) => {
                self.links[index] = link;
                index
            }
            None => {
                self.links.push(link);
                self.links.len() - 1
            }
        };
        self.last = u32::try_from(index + 1).unwrap_or(0);
        self.last
    }

    /// Forgets those for which `used` is false.
    pub(super) fn collect(&mut self, used: &[bool]) {
        for (index, slot) in self.links.iter_mut().enumerate() {
            if !used.get(index + 1).copied().unwrap_or(false) {
                *slot = None;
            }
        }
        while self.links.last().is_some_and(Option::is_none) {
            self.links.pop();
        }
        self.links.shrink_to_fit();
        self.free = (0..self.links.len()).filter(|index| self.links[*index].is_none()).collect();
        self.bytes = self.links.iter().flatten().map(Link::bytes).sum();
        self.young = 0;
        if self.get(self.last).is_none() {
            self.last = 0;
        }
    }

    /// One more than the largest number given out.
    pub(super) fn end(&self) -> usize {
        self.links.len() + 1
    }
}
