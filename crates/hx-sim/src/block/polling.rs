//! The state of `while` loops, and the elements that their rounds have read.

use hx_dtype::DType;

use super::registers::RegisterFile;
use crate::code::{Mem, SiteId, Transfer};
use crate::formula::{Env, Test};

/// An element that a round of a loop has read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Spot {
    pub(crate) memory: Mem,
    pub(crate) at: usize,
    pub(crate) dtype: DType,
    /// The bytes of the element as a number, or the byte that holds a packed element.
    pub(crate) bits: u64,
    pub(crate) is_atomic: bool,
}

impl Spot {
    pub(crate) fn new(t: &Transfer, at: usize, bits: u64) -> Spot {
        Spot { memory: t.memory, at, dtype: t.dtype, bits, is_atomic: t.atomic.is_some() }
    }

    pub(crate) fn bytes(&self) -> usize {
        (self.dtype.bits() as usize / 8).max(1)
    }
}

/// The elements that a waiting loop reads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Polled {
    pub(crate) spots: Vec<Spot>,
    /// The number of changes of memory when the wait began; `None` if `spots` holds all elements that the round read.
    pub(crate) since: Option<u64>,
}

/// The state of a `while`.
#[derive(Clone, Debug)]
pub(crate) struct Repeat<'a> {
    pub(crate) site: SiteId,
    pub(crate) test: &'a Test,
    pub(crate) text: &'a str,
    /// Rounds begun so far.
    pub(crate) rounds: u64,
    /// [`Agent::stirs`](super::agent::Agent::stirs) before this round.
    pub(crate) stirs: u64,
    /// The state of the agent before this round, if the round before changed no memory.
    pub(crate) before: Option<Box<Before>>,
    /// The number of elements polled before this round.
    pub(crate) polled: usize,
    /// The number of changes of memory so far, and the round before which it reached that number.
    pub(crate) quiet: (u64, u64),
}

impl<'a> Repeat<'a> {
    pub(crate) fn new(site: SiteId, test: &'a Test, text: &'a str) -> Repeat<'a> {
        Repeat { site, test, text, rounds: 0, stirs: 0, before: None, polled: 0, quiet: (0, 0) }
    }
}

/// The state on which the control flow and the registers of an agent depend.
#[derive(Clone, Debug)]
pub(crate) struct Before {
    pub(crate) slots: Vec<i64>,
    pub(crate) lanes: Vec<Vec<i64>>,
    pub(crate) registers: Vec<RegisterFile>,
}

impl Before {
    pub(crate) fn of(env: &Env, registers: &[RegisterFile]) -> Before {
        Before { slots: env.slots.clone(), lanes: env.lanes.clone(), registers: registers.to_vec() }
    }

    pub(crate) fn is_still(&self, env: &Env, registers: &[RegisterFile]) -> bool {
        let files = self.registers.iter().zip(registers);
        self.slots == env.slots
            && self.lanes == env.lanes
            && files.into_iter().all(|(before, now)| before.bits == now.bits && before.written == now.written)
    }
}
