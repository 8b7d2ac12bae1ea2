//! The state of global memory that blocks share if they communicate: the values that atomic loads may find, what each run has heard
//! of others, and how often memory has changed.

use std::collections::BTreeMap;
use std::rc::Rc;

use hx_thread::{Clock, Epoch};

use crate::between::{Heard, Message};
use crate::code::SiteId;
use crate::order::Order;
use crate::overlay::Overlay;

use crate::versions::{Place, Version};

/// The number of old values that are remembered for the report.
const REMEMBERED: usize = 32;

/// An atomic load that found the value from before a write, although nothing orders the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Old {
    pub(crate) param: usize,
    pub(crate) byte: usize,
    /// The load, and its block.
    pub(crate) by: (SiteId, u32),
    /// The access that wrote the next value, and its block.
    pub(crate) next: (SiteId, u32),
}

/// The agent and the time of an atomic access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtomicStamp<'c> {
    pub(crate) site: SiteId,
    pub(crate) run: u32,
    /// The number of its block in the grid.
    pub(crate) block: u32,
    pub(crate) at: Epoch,
    pub(crate) clock: &'c Clock,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    /// The elements that were accessed atomically, by parameter and first byte.
    places: BTreeMap<(usize, usize), Place>,
    /// The messages that each run has heard, by the number of the run.
    pub(crate) heard: BTreeMap<u32, Heard>,
    /// The number of changes of memory so far.
    pub(crate) changes: u64,
    /// Draws the values that atomic loads find; `None` if they find the last one.
    order: Option<Order>,
    old: Vec<Old>,
}

impl World {
    /// Makes the state before a launch. Atomic loads find the last value with seeds 0 and 1; other seeds draw the value.
    pub(crate) fn new(seed: u64) -> World {
        let order = (seed > 1).then(|| Order::new(seed, [u32::MAX - 1; 3]));
        World { order, ..World::default() }
    }

    /// Returns the atomic loads that found old values.
    pub(crate) fn old(&self) -> &[Old] {
        &self.old
    }

    fn place(&mut self, key: (usize, usize), bits: u64) -> &mut Place {
        self.places.entry(key).or_insert_with(|| Place::new(bits))
    }

    /// Lets an atomic load find a value of an element and returns its bits, with the message for an acquire. `key` holds the
    /// parameter and the first byte of the element, and `last` the bits of its last value.
    pub(crate) fn load(
        &mut self,
        key: (usize, usize),
        last: u64,
        stamp: AtomicStamp<'_>,
    ) -> (u64, Option<Rc<Message>>) {
        let mut order = self.order.take();
        let heard = self.heard.remove(&stamp.run).unwrap_or_default();
        let knows = |run: u32, earlier: Epoch| heard.knows(stamp.clock, stamp.at, run, earlier);
        let mut draw = order.as_mut().map(|order| move |below: u64| order.draw(below));
        let draw = draw.as_mut().map(|draw| draw as &mut dyn FnMut(u64) -> u64);
        let access = (stamp.run, stamp.at, (stamp.site, stamp.block));
        let (found, next) = self.place(key, last).find(access, &knows, draw);
        self.heard.insert(stamp.run, heard);
        self.order = order;
        // Drop earlier findings of an old value of this element: a polling loop that finds the last value in the end is correct.
        self.old.retain(|old| (old.param, old.byte) != key || old.by.1 != stamp.block);
        if let Some(next) = next.and_then(|next| next.by) {
            self.remember(Old { param: key.0, byte: key.1, by: (stamp.site, stamp.block), next });
        }
        (found.bits, found.message)
    }

    fn remember(&mut self, old: Old) {
        if self.old.len() < REMEMBERED && !self.old.contains(&old) {
            self.old.push(old);
        }
    }

    /// Remembers the loads of other blocks that found the value from before a write, if they may as well have come after it.
    fn remember_loads(&mut self, key: (usize, usize), stamp: AtomicStamp<'_>) {
        let (Some(place), Some(heard)) = (self.places.get(&key), self.heard.get(&stamp.run)) else { return };
        let unordered =
            place.loads(stamp.run).filter(|seen| !heard.knows(stamp.clock, stamp.at, seen.run, seen.at));
        let loads: Vec<(SiteId, u32)> = unordered.filter_map(|seen| seen.load).collect();
        for by in loads {
            self.remember(Old { param: key.0, byte: key.1, by, next: (stamp.site, stamp.block) });
        }
    }

    /// Records an atomic write of an element from one value to another. `passes` says whether the message of the old value goes
    /// on, as it does with an update. Returns the message of the old value; `None` if it came with none.
    pub(crate) fn update(
        &mut self,
        key: (usize, usize),
        [old, new]: [u64; 2],
        (passes, released): (bool, Option<&Rc<Message>>),
        stamp: AtomicStamp<'_>,
    ) -> Option<Rc<Message>> {
        self.remember_loads(key, stamp);
        let place = self.place(key, old);
        let before = place.last().message.clone();
        let message = match (before.as_ref().filter(|_| passes), released) {
            (None, released) => released.cloned(),
            (Some(before), None) => Some(before.clone()),
            (Some(before), Some(released)) => {
                let mut joined = Message::clone(released);
                joined.join(before);
                Some(Rc::new(joined))
            }
        };
        place.write(Version { bits: new, message, by: Some((stamp.site, stamp.block)) }, stamp.run, stamp.at);
        before
    }

    /// Returns the message that came with the last value of an element; `None` if no release passed one on.
    pub(crate) fn message(&self, key: (usize, usize)) -> Option<Rc<Message>> {
        self.places.get(&key)?.last().message.clone()
    }

    /// Records a store that is not atomic to `len` bytes from byte `at` on. `bits` returns the bits of the element that begins
    /// at a byte.
    pub(crate) fn store(
        &mut self,
        (param, at, len): (usize, usize, usize),
        bits: &dyn Fn(usize) -> u64,
        stamp: AtomicStamp<'_>,
    ) {
        let keys: Vec<_> = self.places.range((param, at)..(param, at + len)).map(|(key, _)| *key).collect();
        for key in keys {
            self.remember_loads(key, stamp);
            let place = self.place(key, 0);
            let version = Version { bits: bits(key.1), message: None, by: Some((stamp.site, stamp.block)) };
            place.write(version, stamp.run, stamp.at);
        }
    }

    /// Returns the access that wrote an element last, and its block; `None` if none of the kept values comes from the launch.
    pub(crate) fn last_writer(&self, key: (usize, usize)) -> Option<(SiteId, u32)> {
        self.places.get(&key)?.last().by
    }
}

/// The state that all blocks share, held by the block that runs: the overlays of the tensors, and the state between blocks.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) overlays: Vec<Overlay>,
    pub(crate) world: Option<Box<World>>,
}
