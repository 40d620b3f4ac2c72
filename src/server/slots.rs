//! A slab whose keys know which life of a slot they speak of.

use slab::Slab;

use super::source::Key;

/// Values by [`Key`]. A key of a value that has left finds nothing, whoever has its slot now.
pub(super) struct Slots<T> {
    slab: Slab<T>,
    lives: Vec<u16>,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { slab: Slab::new(), lives: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Adds what `make` makes for the key it gets.
    pub(super) fn insert_with<E>(&mut self, make: impl FnOnce(Key) -> Result<T, E>) -> Result<Key, E> {
        let entry = self.slab.vacant_entry();
        let slot = entry.key();
        if self.lives.len() <= slot {
            self.lives.resize(slot + 1, 0);
        }
        let key = Key { slot: slot as u16, life: self.lives[slot] };
        entry.insert(make(key)?);
        Ok(key)
    }

    pub(super) fn get(&self, key: Key) -> Option<&T> {
        self.is_live(key).then(|| self.slab.get(usize::from(key.slot)))?
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.is_live(key).then(|| self.slab.get_mut(usize::from(key.slot)))?
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        let life = &mut self.lives[usize::from(key.slot)];
        *life = life.wrapping_add(1);
        self.slab.try_remove(usize::from(key.slot))
    }

    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.slab.iter().map(|(slot, value)| (Key { slot: slot as u16, life: self.lives[slot] }, value))
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        self.iter().map(|(key, _)| key).collect()
    }

    fn is_live(&self, key: Key) -> bool {
        self.lives.get(usize::from(key.slot)) == Some(&key.life)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_an_earlier_life_finds_nothing() {
        let mut slots = Slots::default();
        let first = slots.insert_with(|_| Ok::<_, ()>('a')).unwrap();
        assert_eq!(slots.remove(first), Some('a'));
        let second = slots.insert_with(|_| Ok::<_, ()>('b')).unwrap();
        assert_eq!(first.slot, second.slot);
        assert_eq!((slots.get(first), slots.get(second)), (None, Some(&'b')));
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.len(), 1);
    }
}
