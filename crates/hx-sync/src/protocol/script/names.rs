//! Names of data: equal data have equal names in all groups.

use std::collections::BTreeMap;

/// Numbers the data that the groups of a launch read, in the order in which they are read first.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<u64, i64>);

impl Names {
    pub(super) fn index(&mut self, name: u64) -> i64 {
        let next = self.0.len() as i64;
        *self.0.entry(name).or_insert(next)
    }
}

/// A hash of everything that data depend on (FNV-1a).
#[derive(Clone, Copy)]
pub(super) struct Name(pub(super) u64);

impl Name {
    pub(super) fn of(text: &str) -> Name {
        text.bytes().fold(Name(0xcbf2_9ce4_8422_2325), |name, byte| name.and(u64::from(byte)))
    }

    pub(super) fn and(self, part: u64) -> Name {
        let bytes = part.to_le_bytes().into_iter();
        Name(bytes.fold(self.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
    }
}
