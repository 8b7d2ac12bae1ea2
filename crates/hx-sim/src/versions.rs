//! The values that an element of global memory had in turn, as far as an atomic load may still find them.
//!
//! Atomic accesses of one element agree on an order of its values. An atomic load need not find the last one: it finds any that is
//! no older than those it must know of. It must know of a value that its run wrote, and of one that an access wrote or found which
//! happens before the load ([`crate::between`]). An atomic update always finds the last one (PTX ISA, memory consistency model:
//! coherence, atomicity).
//!
//! Only seeds from 2 on let loads find old values; with 0 and 1 they find the last one. A run finds old values of an element at
//! most [`PATIENCE`] times in a row, because hardware shows it the last one in the end.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use hx_thread::Epoch;

use crate::between::Message;
use crate::code::SiteId;

/// The number of values of an element that are kept.
const KEPT: usize = 8;
/// The number of accesses to an element that are kept.
const SEEN: usize = 256;
/// The most old values of an element that a run finds in a row.
const PATIENCE: u32 = 3;

/// A value, and the access that wrote it.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) bits: u64,
    /// The message that an acquire which finds this value receives; `None` if the write sent none.
    pub(crate) message: Option<Rc<Message>>,
    /// The operation that wrote it, and the number of its block; `None` for the value before the launch.
    pub(crate) by: Option<(SiteId, u32)>,
}

/// An access that wrote or found a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting {
    pub(crate) run: u32,
    pub(crate) at: Epoch,
    version: u64,
    /// The operation and the number of the block, if it is a load.
    pub(crate) load: Option<(SiteId, u32)>,
}

/// The values of one element.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The last values; the first of them has the number `first`.
    versions: VecDeque<Version>,
    first: u64,
    sightings: VecDeque<Sighting>,
    /// The number of old values that each run has found in a row, by run. A run that found the last value has no entry.
    stale: BTreeMap<u32, u32>,
}

impl Place {
    pub(crate) fn new(bits: u64) -> Place {
        let before = Version { bits, message: None, by: None };
        let (first, sightings, stale) = (0, VecDeque::new(), BTreeMap::new());
        Place { versions: VecDeque::from([before]), first, sightings, stale }
    }

    fn newest(&self) -> u64 {
        self.first + self.versions.len() as u64 - 1
    }

    /// Returns the last value.
    pub(crate) fn last(&self) -> &Version {
        &self.versions[self.versions.len() - 1]
    }

    /// Adds a value that a run wrote.
    pub(crate) fn write(&mut self, version: Version, run: u32, at: Epoch) {
        self.versions.push_back(version);
        if self.versions.len() > KEPT {
            self.versions.pop_front();
            self.first += 1;
        }
        self.stale.clear();
        self.see(Sighting { run, at, version: self.newest(), load: None });
    }

    /// Returns the loads of other runs that found the last value.
    pub(crate) fn loads(&self, run: u32) -> impl Iterator<Item = &Sighting> {
        let newest = self.newest();
        let of_others =
            move |seen: &&Sighting| seen.version == newest && seen.run != run && seen.load.is_some();
        self.sightings.iter().filter(of_others)
    }

    fn see(&mut self, sighting: Sighting) {
        self.sightings.push_back(sighting);
        if self.sightings.len() > SEEN
            && let Some(forgotten) = self.sightings.pop_front()
        {
            // The record of who must know of this value is dropped, so from now on every load finds this value or a later one.
            while self.first < forgotten.version && self.versions.len() > 1 {
                self.versions.pop_front();
                self.first += 1;
            }
        }
    }

    /// Lets an atomic access of a run find a value, and returns it with the value that was written next; `None` if it found the
    /// last one. `knows` says which accesses of other runs come before the access, and `draw` returns a number below its
    /// argument; without `draw` the access finds the last value.
    pub(crate) fn find(
        &mut self,
        (run, at, load): (u32, Epoch, (SiteId, u32)),
        knows: &dyn Fn(u32, Epoch) -> bool,
        draw: Option<&mut dyn FnMut(u64) -> u64>,
    ) -> (Version, Option<Version>) {
        let newest = self.newest();
        let mut found = newest;
        if let Some(draw) = draw
            && newest > self.first
            && self.stale.get(&run).is_none_or(|stale| *stale < PATIENCE)
        {
            let known = |seen: &&Sighting| seen.run == run || knows(seen.run, seen.at);
            let least = self.sightings.iter().filter(known).map(|seen| seen.version).max();
            let least = least.unwrap_or(0).max(self.first);
            if least < newest && draw(2) == 0 {
                found = least + draw(newest - least);
            }
        }
        match found < newest {
            true => *self.stale.entry(run).or_default() += 1,
            false => _ = self.stale.remove(&run),
        }
        self.see(Sighting { run, at, version: found, load: Some(load) });
        let at = (found - self.first) as usize;
        (self.versions[at].clone(), self.versions.get(at + 1).cloned())
    }
}
