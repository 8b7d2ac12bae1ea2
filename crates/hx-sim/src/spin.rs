//! Loops that wait for memory to change.
//!
//! A round of a `while` that changes no memory and leaves all numbers and registers of its agent as they were is repeated by the next
//! round, unless memory that it read changes. So after such a round the agent waits until one of these elements has another value
//! ([`Until::Change`]). If nobody can go on any more, the loops that still wait are the reason, and the report names them.
//!
//! A round that counts its tries, or waits a little longer each time, is not of this kind. Its agent gives the turn to others every
//! [`ROUNDS`] rounds ([`Agent::nap`]), and ends the run if no memory has changed for [`PATIENCE`] rounds.

use std::rc::Rc;

use hx_dtype::DType;

use crate::agent::Agent;
use crate::block::{Block, RegisterFile};
use crate::code::{Mem, SiteId, Step, Transfer};
use crate::communicate::shown;
use crate::error::{Fault, SimError};
use crate::formula::Test;
use crate::overlay::Overlay;
use crate::turn::{Until, Waiting};

/// The number of rounds after which a polling agent gives the turn to others.
const ROUNDS: u64 = 32;
/// The number of rounds without a change of memory after which a polling loop is said to have no end.
const PATIENCE: u64 = 1 << 16;
/// The number of elements that a round remembers. If it reads more, any change wakes it.
const SPOTS: usize = 256;

/// An element that a round of a loop has read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Spot {
    memory: Mem,
    at: usize,
    dtype: DType,
    /// The bytes of the element as a number, or the byte that holds a packed element.
    bits: u64,
    is_atomic: bool,
}

impl Spot {
    pub(crate) fn new(t: &Transfer, at: usize, bits: u64) -> Spot {
        Spot { memory: t.memory, at, dtype: t.dtype, bits, is_atomic: t.atomic.is_some() }
    }

    fn bytes(&self) -> usize {
        (self.dtype.bits() as usize / 8).max(1)
    }
}

/// The elements that a waiting loop reads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Polled {
    spots: Vec<Spot>,
    /// The number of changes of memory when the wait began; `None` if `spots` holds all elements that the round read.
    since: Option<u64>,
}

/// The state of a `while`.
#[derive(Clone, Debug)]
pub(crate) struct Repeat<'a> {
    pub(crate) site: SiteId,
    pub(crate) test: &'a Test,
    pub(crate) text: &'a str,
    /// Rounds begun so far.
    rounds: u64,
    /// [`Agent::stirs`] before this round.
    stirs: u64,
    /// The state of the agent before this round, if the round before changed no memory.
    before: Option<Box<Before>>,
    /// The number of elements polled before this round.
    polled: usize,
    /// The number of changes of memory so far, and the round before which it reached that number.
    quiet: (u64, u64),
}

/// The state on which the control flow and the registers of an agent depend.
#[derive(Clone, Debug)]
struct Before {
    slots: Vec<i64>,
    lanes: Vec<Vec<i64>>,
    registers: Vec<RegisterFile>,
}

impl Before {
    fn of(agent: &Agent<'_>) -> Before {
        Before {
            slots: agent.env.slots.clone(),
            lanes: agent.env.lanes.clone(),
            registers: agent.registers.clone(),
        }
    }

    fn is_still(&self, agent: &Agent<'_>) -> bool {
        let files = self.registers.iter().zip(&agent.registers);
        self.slots == agent.env.slots
            && self.lanes == agent.env.lanes
            && files.into_iter().all(|(before, now)| before.bits == now.bits && before.written == now.written)
    }
}

impl<'a> Repeat<'a> {
    pub(crate) fn new(site: SiteId, test: &'a Test, text: &'a str) -> Repeat<'a> {
        Repeat { site, test, text, rounds: 0, stirs: 0, before: None, polled: 0, quiet: (0, 0) }
    }
}

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
        } else if repeat.before.as_ref().is_some_and(|before| before.is_still(&self.agent)) {
            if !polls {
                return endless(self, true);
            }
            self.wait_for_change(site, repeat.polled, changes);
        } else {
            self.agent.is_polling = true;
            repeat.before = Some(Box::new(Before::of(&self.agent)));
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

    /// Makes the running agent wait until an element changes that the last round read: one of [`Agent::polled`] from position
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

    /// Returns the change that a loop waits for, as text that follows "wait for".
    pub(crate) fn change_text(&self, polled: &Polled) -> String {
        let Some(spot) = told(polled) else { return "memory to change".to_owned() };
        let (name, element, coordinate) = match spot.memory {
            Mem::Shared(s) => {
                let shared = &self.code.shared[s];
                let element = spot.at.saturating_sub(shared.offset) * 8 / shared.bits;
                (&shared.name, element as i64, None)
            }
            Mem::Global(p) => match &self.tensors[p] {
                None => return "memory to change".to_owned(),
                Some(tensor) => {
                    let element = tensor.element_of(spot.at);
                    (&tensor.name, element, tensor.coordinate(element))
                }
            },
        };
        let coordinate = coordinate.map_or(String::new(), |at| format!(" ({at:?})"));
        let bits = shown(spot.bits, spot.dtype);
        format!("element {element}{coordinate} of `{name}` to change from {bits}")
    }

    /// Returns the operation that last wrote the element that a loop waits for; `None` if that is not known.
    pub(crate) fn change_site(&self, polled: &Polled) -> Option<SiteId> {
        let spot = told(polled)?;
        let Mem::Global(p) = spot.memory else { return None };
        Some(self.world.as_ref()?.last_writer((p, spot.at))?.0)
    }
}

/// Returns the element that a report names: the last one that was read atomically, or else the last one; `None` if the list is
/// empty.
fn told(polled: &Polled) -> Option<&Spot> {
    let mut spots = polled.spots.iter().rev();
    spots.clone().find(|spot| spot.is_atomic).or_else(|| spots.next())
}
