//! Loops that wait for memory to change.
//!
//! A round of a `while` that changes no memory and leaves all numbers and registers of its agent as they were is repeated by the next
//! round, unless memory that it read changes. So after such a round the agent waits until one of these elements has another value
//! ([`Until::Change`]). If nobody can go on any more, the loops that still wait are the reason, and the report names them.
//!
//! A round that counts its tries, or waits a little longer each time, is not of this kind. Its agent gives the turn to others every
//! [`ROUNDS`] rounds ([`Agent::nap`](crate::block::agent::Agent::nap)), and ends the run if no memory has changed for [`PATIENCE`] rounds.

use std::rc::Rc;

use crate::block::Block;
use crate::block::polling::{Before, Polled, Repeat, Spot};
use crate::block::waiting::{Until, Waiting};
use crate::code::{Mem, SiteId, Step, Transfer};
use crate::error::{Fault, SimError};
use crate::overlay::Overlay;

/// The number of rounds after which a polling agent gives the turn to others.
const ROUNDS: u64 = 32;
/// The number of rounds without a change of memory after which a polling loop is said to have no end.
const PATIENCE: u64 = 1 << 16;
/// The number of elements that a round remembers. If it reads more, any change wakes it.
const SPOTS: usize = 256;

impl<'a> Block<'a> {
    /// Notes that the running agent has changed memory, or something else that others can see.
    #[inline]
    pub(crate) fn stir(&mut self) {
        self.agent.stirs += 1;
        self.changes += 1;
    }

    /// Notes that the running agent has read an element that others may change.
    #[inline]
    pub(crate) fn poll_element(&mut self, spot: Spot) {
        if self.agent.is_polling && self.agent.polled.len() <= SPOTS {
            self.agent.polled.push(spot);
        }
    }

    /// As [`Block::poll_element`], for the bytes of a transfer.
    #[inline]
    pub(crate) fn poll_bytes(&mut self, t: &Transfer, at: usize, bytes: &[u8]) {
        if self.agent.is_polling && self.agent.polled.len() <= SPOTS {
            let spot = Spot::new(t, at, 0);
            for (i, element) in bytes.chunks(spot.bytes()).enumerate() {
                let mut held = [0; 8];
                held[..element.len()].copy_from_slice(element);
                let (at, bits) = (at + i * spot.bytes(), u64::from_le_bytes(held));
                self.agent.polled.push(Spot { at, bits, ..spot.clone() });
            }
        }
    }

    /// Returns how often memory has changed that the running agent may read.
    fn changes(&self) -> u64 {
        self.changes + self.world.as_ref().map_or(0, |world| world.changes)
    }

    /// Begins the next round of a `while` if its condition holds. A loop that cannot end is an error.
    pub(crate) fn repeat(&mut self, body: &'a [Step], mut repeat: Repeat<'a>) -> Result<(), SimError> {
        let Repeat { site, test, text, rounds, .. } = repeat;
        if !test.scalar(&self.agent.env).map_err(|f| self.failed(site, f))? {
            if !self.agent.is_in_while() {
                self.agent.is_polling = false;
                self.agent.polled.clear();
            }
            return Ok(());
        }
        let endless = |block: &Self, repeats: bool| {
            let fault = Fault::NoProgress { cond: text.into(), iterations: rounds, repeats };
            Err(block.error(site, None, fault))
        };
        if rounds >= self.config.while_limit {
            return endless(self, false);
        }
        let changes = self.changes();
        let polls = self.agent.polled.len() > repeat.polled;
        if rounds == 0 || repeat.quiet.0 != changes {
            repeat.quiet = (changes, rounds);
        }
        if polls && rounds - repeat.quiet.1 > PATIENCE {
            return endless(self, false);
        }
        // Record the elements that a round reads only after `ROUNDS` rounds: most loops end before and need no record.
        self.agent.is_polling |= rounds >= ROUNDS;
        if rounds == 0 {
            repeat.polled = self.agent.polled.len();
        } else if self.agent.stirs != repeat.stirs {
            repeat.before = None;
        } else if repeat
            .before
            .as_ref()
            .is_some_and(|before| before.is_still(&self.agent.env, &self.agent.registers))
        {
            if !polls {
                return endless(self, true);
            }
            self.wait_for_change(site, repeat.polled, changes);
        } else {
            self.agent.is_polling = true;
            repeat.before = Some(Box::new(Before::of(&self.agent.env, &self.agent.registers)));
        }
        if polls && rounds.is_multiple_of(ROUNDS) && self.agent.waiting.is_none() {
            self.naps += 1;
            self.agent.nap = Some(self.naps);
        }
        self.agent.polled.truncate(repeat.polled);
        repeat.stirs = self.agent.stirs;
        repeat.rounds += 1;
        self.agent.enter_round(site, body, repeat);
        self.poll()
    }

    /// Makes the running agent wait until an element changes that the last round read: one of [`Agent::polled`](crate::block::agent::Agent::polled) from position
    /// `from` on. `changes` is the current number of changes of memory.
    fn wait_for_change(&mut self, site: SiteId, from: usize, changes: u64) {
        let mut spots = self.agent.polled.split_off(from);
        let since = (spots.len() > SPOTS).then_some(changes);
        spots.truncate(SPOTS);
        let until = Until::Change(Rc::new(Polled { spots, since }));
        self.agent.waiting = Some(Waiting { site, until });
    }

    /// Reports whether an element has changed that a loop waits for. `overlays` are those of the block.
    pub(crate) fn has_changed(&self, polled: &Polled, overlays: &[Overlay]) -> bool {
        // The shared overlays do not count changes, and only the running block holds the count of the world, so another block
        // assumes a change.
        polled
            .since
            .is_some_and(|since| since != self.changes() || self.world.is_none() && self.code.communicates)
            || polled.spots.iter().any(|spot| self.bits(spot, overlays) != Some(spot.bits))
    }

    fn bits(&self, spot: &Spot, overlays: &[Overlay]) -> Option<u64> {
        let (mut element, len) = ([0; 16], spot.bytes());
        match spot.memory {
            Mem::Shared(_) => element[..len].copy_from_slice(self.shared.bytes.get(spot.at..spot.at + len)?),
            Mem::Global(p) => {
                let tensor = self.tensors[p].as_ref()?;
                element[..len].copy_from_slice(tensor.bytes.get(spot.at..spot.at + len)?);
                overlays.get(p)?.look(tensor, spot.at, &mut element[..len]);
            }
        }
        let mut first = [0; 8];
        first.copy_from_slice(&element[..8]);
        Some(u64::from_le_bytes(first))
    }
}
