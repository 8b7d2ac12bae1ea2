//! Happens-before between the blocks of a launch, by atomic accesses that release and acquire.
//!
//! Blocks that share a clock are a *run*: a block, or the blocks of a cluster. The warps of a run know each other's accesses by
//! their clock. A release leaves at its element a [`Message`]: for each run the accesses that the releasing warps know of. An
//! acquire that finds the element hears the message. Its warps know it at once, other warps of the run once the clock orders them
//! after the acquire: so a run keeps the time of each acquire ([`Heard`]). Atomic updates in between pass a message on, a store ends
//! it (PTX ISA, memory consistency model: release and acquire patterns, observation order).
//!
//! A message never depends on the order in which blocks ran, only on which value an access found. So most races between blocks show
//! in every order.

use std::collections::BTreeMap;
use std::rc::Rc;

use hx_thread::{AccessOrder, Clock, Epoch, Knowledge};

/// The accesses of each run, by its number, that a release passes on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(BTreeMap<u32, Rc<Knowledge>>);

impl Message {
    /// Returns the accesses of a run that the message covers; `None` if it covers none.
    pub(crate) fn of_run(&self, run: u32) -> Option<&Knowledge> {
        self.0.get(&run).map(Rc::as_ref)
    }

    fn add(&mut self, run: u32, told: &Rc<Knowledge>) {
        match self.0.get_mut(&run) {
            None => _ = self.0.insert(run, told.clone()),
            Some(mine) if Rc::ptr_eq(mine, told) || mine.covers(told) => {}
            Some(mine) if told.covers(mine) => *mine = told.clone(),
            Some(mine) => {
                let mut joined = Knowledge::clone(mine);
                joined.join(told);
                *mine = Rc::new(joined);
            }
        }
    }

    pub(crate) fn join(&mut self, other: &Message) {
        other.0.iter().for_each(|(run, told)| self.add(*run, told));
    }

    /// Reports whether `known` covers all accesses that the message covers.
    fn is_within(&self, known: &Message) -> bool {
        let knows = |(run, told): (&u32, &Rc<Knowledge>)| {
            known.0.get(run).is_some_and(|known| Rc::ptr_eq(known, told) || known.covers(told))
        };
        self.0.iter().all(knows)
    }
}

/// An acquire that heard a message.
#[derive(Clone, Debug)]
struct Acquired {
    /// The access of the acquiring thread.
    at: Epoch,
    /// The message that it found, joined with all messages that its warp had heard before.
    message: Rc<Message>,
    /// Whether the message includes those of all earlier acquires of the run.
    is_whole: bool,
}

/// The messages that a run has heard, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    acquired: Vec<Acquired>,
}

impl Heard {
    /// Reports whether an access of another run comes before an access of this run at `later`.
    pub(crate) fn knows(&self, clock: &Clock, later: Epoch, run: u32, earlier: Epoch) -> bool {
        self.acquired.iter().rev().any(|acquired| {
            let told = acquired.message.of_run(run);
            told.is_some_and(|told| clock.is_told(told, earlier))
                && clock.relation(acquired.at, later) == AccessOrder::Before
        })
    }

    /// Returns the message that warps with the knowledge `told` release: `told`, and the messages that they have acquired before.
    pub(crate) fn released(&self, clock: &Clock, run: u32, told: Knowledge) -> Rc<Message> {
        let mut message = Message::default();
        for acquired in self.acquired.iter().rev() {
            if clock.is_told(&told, acquired.at) {
                message.join(&acquired.message);
                if acquired.is_whole {
                    break;
                }
            }
        }
        message.0.insert(run, Rc::new(told));
        Rc::new(message)
    }

    /// Keeps a message that an acquire at `at` found, unless the warp of that acquire knows all of it.
    pub(crate) fn hear(&mut self, clock: &Clock, at: Epoch, message: &Rc<Message>) {
        let (mut known, mut is_whole) = (Message::default(), true);
        for acquired in self.acquired.iter().rev() {
            if clock.relation(acquired.at, at) == AccessOrder::Before {
                known.join(&acquired.message);
                if acquired.is_whole {
                    break;
                }
            } else {
                is_whole = false;
            }
        }
        if message.is_within(&known) {
            return;
        }
        known.join(message);
        // If all warps know the newest acquire and its message includes the older ones, the older ones are not needed.
        if let Some(last) = self.acquired.last()
            && last.is_whole
            && clock.is_known_to_all(last.at)
        {
            self.acquired.drain(..self.acquired.len() - 1);
        }
        self.acquired.push(Acquired { at, message: Rc::new(known), is_whole });
    }
}

#[cfg(test)]
mod tests {
    use hx_thread::Warps;

    use super::*;

    /// Releases by all warps of run `run`, which then begin another epoch.
    fn release(clock: &mut Clock, heard: &Heard, run: u32) -> Rc<Message> {
        let all = Warps::of_threads(64, 32);
        let told = clock.releasing(all);
        clock.end_epoch(all);
        heard.released(clock, run, told)
    }

    #[test]
    fn what_is_released_is_known_to_those_that_acquire_it() {
        let new = || (Clock::new(64, 32), Heard::default());
        let ((mut a, heard_a), (mut b, mut heard_b), (c, mut heard_c)) = (new(), new(), new());
        let before = a.access(40, 1);
        let first = release(&mut a, &heard_a, 0);
        let after = a.access(40, 1);
        assert!(!heard_b.knows(&b, b.access(0, 1), 0, before), "b has acquired nothing");
        heard_b.hear(&b, b.access(0, 1), &first);
        assert!(heard_b.knows(&b, b.access(0, 1), 0, before) && !heard_b.knows(&b, b.access(0, 1), 0, after));
        // Another warp of the run learns of it at a barrier.
        assert!(!heard_b.knows(&b, b.access(32, 1), 0, before));
        b.barrier(Warps::of_threads(64, 32));
        assert!(heard_b.knows(&b, b.access(32, 1), 0, before));
        // A run passes on what it has heard.
        let second = release(&mut b, &heard_b, 1);
        heard_c.hear(&c, c.access(0, 1), &second);
        assert!(heard_c.knows(&c, c.access(0, 1), 0, before));
    }

    #[test]
    fn a_message_that_says_nothing_new_is_not_kept() {
        let (mut a, mut heard) = (Clock::new(64, 32), Heard::default());
        let first = release(&mut a, &Heard::default(), 0);
        let b = Clock::new(64, 32);
        heard.hear(&b, b.access(0, 1), &first);
        heard.hear(&b, b.access(0, 1), &first);
        assert_eq!(heard.acquired.len(), 1);
    }
}
