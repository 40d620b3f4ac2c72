//! What an event or a deadline is about.

use mio::Token;

/// A slot and which life of it: `life` counts how often the slot was reused, so that a deadline set for one
/// terminal can never fire on the next one that got its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) slot: u16,
    pub(super) life: u16,
}

impl Key {
    /// One number for the key, for models that tell sockets apart.
    pub(super) fn number(self) -> usize {
        usize::from(self.slot) | usize::from(self.life) << 16
    }

    /// The reverse of [`Key::number`].
    pub(super) fn of_number(number: usize) -> Key {
        Key { slot: number as u16, life: (number >> 16) as u16 }
    }
}

/// What an event or a deadline is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Signals,
    /// What the server does by itself, for nobody in particular.
    Chores,
    /// A `git status` that runs.
    Git(u16),
    Listener(u16),
    Connection(Key),
    Terminal(Key),
    /// Descriptors 3, 4 and 5 of a terminal.
    Sideband(Key),
}

/// Bits of a slot in a token: with 16 of life and 2 of kind a token fits `usize` on 32-bit machines too.
pub(super) const SLOT_BITS: u32 = 14;

impl Source {
    /// As mio's token: 2 bits of kind, 14 of slot, 16 of life. What the server has for itself shares a kind, and has
    /// its place among the lives.
    pub(super) fn pack(self) -> Token {
        let (kind, slot, life) = match self {
            Source::Signals => (0, 0, 0),
            Source::Chores => (0, 1, 0),
            Source::Git(slot) => (0, slot, 1),
            Source::Listener(slot) => (0, slot, 2),
            Source::Connection(Key { slot, life }) => (1, slot, life),
            Source::Terminal(Key { slot, life }) => (2, slot, life),
            Source::Sideband(Key { slot, life }) => (3, slot, life),
        };
        Token(kind | usize::from(slot) << 2 | usize::from(life) << (2 + SLOT_BITS))
    }

    /// The reverse of [`Source::pack`].
    pub(super) fn unpack(token: Token) -> Source {
        let slot = (token.0 >> 2) as u16 & ((1 << SLOT_BITS) - 1);
        let life = (token.0 >> (2 + SLOT_BITS)) as u16;
        match token.0 & 3 {
            0 => match life {
                0 if slot == 0 => Source::Signals,
                0 => Source::Chores,
                1 => Source::Git(slot),
                _ => Source::Listener(slot),
            },
            1 => Source::Connection(Key { slot, life }),
            2 => Source::Terminal(Key { slot, life }),
            _ => Source::Sideband(Key { slot, life }),
        }
    }
}

const _: () = assert!(crate::limits::CONNECTIONS_MAX <= 1 << SLOT_BITS);
const _: () = assert!(crate::limits::TERMINALS_CEILING <= 1 << SLOT_BITS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_carries_its_source() {
        let key = Key { slot: (1 << SLOT_BITS) - 1, life: u16::MAX };
        for source in [
            Source::Signals,
            Source::Chores,
            Source::Git(0),
            Source::Git(5),
            Source::Listener(0),
            Source::Listener(3),
            Source::Connection(key),
            Source::Terminal(Key { slot: 0, life: 9 }),
            Source::Terminal(key),
            Source::Sideband(key),
        ] {
            assert_eq!(Source::unpack(source.pack()), source);
        }
        assert_eq!(Key::of_number(key.number()), key);
    }
}
