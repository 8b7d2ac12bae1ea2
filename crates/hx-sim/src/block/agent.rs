//! The agents of a running block: threads in step, with registers, integers and a stack of their own.
//!
//! The stack is the agent's position in the program: a frame for the body of the program, and one for each branch, loop and
//! print that the agent is inside of. So an agent can stop after any step and go on later, and nothing of its position is on
//! the stack of the host. One agent has all threads of the block. If the program ends in roles, it waits while one agent for
//! each group of each role runs. [`crate::turn`] decides which agent runs.

use hx_thread::Warps;

use super::flight::Flight;
use super::polling::{Repeat, Spot};
use super::products::Products;
use super::registers::RegisterFile;
use super::scratch::Scratch;
use super::stores::Stores;
use super::tickets::Drawing;
use super::waiting::Waiting;
use crate::code::{Code, DrawnCode, RoleCode, SiteId, Step};
use crate::formula::Env;

#[derive(Clone, Debug)]
pub(crate) struct Agent<'a> {
    /// The agent's number in the block. The agent of all threads is 0.
    pub(crate) number: usize,
    /// The number of the agent's first thread on the clock. The agent counts its threads from 0.
    pub(crate) first: usize,
    pub(crate) threads: usize,
    /// Lanes of a warp.
    pub(crate) lanes: usize,
    /// The warps of its threads, as the clock numbers them.
    pub(crate) warp_set: Warps,
    pub(crate) env: Env,
    /// Indexed by array. Arrays that this agent does not use are empty.
    pub(crate) registers: Vec<RegisterFile>,
    pub(crate) scratch: Scratch,
    /// The number of times that the agent has changed memory, or something else that others can see.
    pub(crate) stirs: u64,
    /// The elements that the current rounds of the enclosing `while` loops have read, in order; recorded only if `is_polling`.
    pub(crate) polled: Vec<Spot>,
    pub(crate) is_polling: bool,
    /// The value of [`Block::naps`](super::Block::naps) when the agent gave its turn to others, so the least is the earliest;
    /// `None` if it is awake.
    pub(crate) nap: Option<u64>,
    /// The asynchronous copies that its threads issued.
    pub(crate) flight: Flight,
    /// The bulk copies to global memory that it issued.
    pub(crate) stores: Stores,
    /// The asynchronous products that its threads issued.
    pub(crate) products: Products<'a>,
    /// The draw in flight, which one of its threads makes; `None` without one.
    pub(crate) drawing: Option<Drawing>,
    /// The event without which it cannot go on; `None` if it waits for none.
    pub(crate) waiting: Option<Waiting>,
    /// From the body of the program to the innermost body.
    pub(crate) frames: Vec<Frame<'a>>,
}

/// A body that an agent is inside of.
#[derive(Clone, Debug)]
pub(crate) struct Frame<'a> {
    /// The operation that the body belongs to.
    pub(crate) site: SiteId,
    pub(crate) body: &'a [Step],
    /// The steps of the body that are still to come.
    pub(crate) rest: std::slice::Iter<'a, Step>,
    pub(crate) end: End<'a>,
}

/// The continuation at the end of a body.
#[derive(Clone, Debug)]
pub(crate) enum End<'a> {
    /// The steps after the body follow.
    Leave,
    /// The next round of a counted loop follows, if there is one.
    Count {
        slot: u32,
        /// The value of the counter in this round.
        value: i64,
        end: i64,
    },
    /// The next round of a `while` follows, if its condition holds.
    Repeat(Repeat<'a>),
    /// The next round of a loop over drawn numbers follows, or its first. `rounds` is the number of rounds begun.
    Draw { code: &'a DrawnCode, rounds: u64 },
    /// The record of a print or an assertion is complete. Holds the entry's position in [`crate::code::Code::log`].
    Log(usize),
}

/// The next action of an agent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next<'a> {
    Step(&'a Step),
    /// The end of a body that belongs to this operation, or the next round of it.
    Leave(SiteId),
    End,
}

impl<'a> Agent<'a> {
    /// Returns the agent of all threads of a block, before its first step.
    pub(crate) fn of_block(code: &'a Code, index: [u32; 3], base: usize) -> Agent<'a> {
        let mut env = Env::new(code.slots, code.lanes, code.threads);
        for (slot, i) in env.slots.iter_mut().zip(index) {
            *slot = i64::from(i);
        }
        Agent::new(code, (0, base, 0..code.threads), env, &code.own, &code.body)
    }

    /// Returns the agent of a group of a role. It begins with the integers and the copies of the agent of the block.
    pub(crate) fn of_role(
        code: &'a Code,
        number: usize,
        role: &'a RoleCode,
        group: usize,
        block: &Agent<'_>,
    ) -> Agent<'a> {
        let base = block.first;
        let first = role.first + group * role.threads;
        let mut env = Env::new(code.slots, code.lanes, role.threads);
        env.slots.clone_from(&block.env.slots);
        if let Some(slot) = role.index {
            env.slots[slot as usize] = group as i64;
        }
        let threads = first..first + role.threads;
        let flight = block.flight.of_threads(&(base + threads.start..base + threads.end));
        Agent { flight, ..Agent::new(code, (number, base, threads), env, &role.own, &role.body) }
    }

    pub(crate) fn new(
        code: &'a Code,
        (number, base, threads): (usize, usize, std::ops::Range<usize>),
        env: Env,
        own: &[bool],
        body: &'a [Step],
    ) -> Agent<'a> {
        let (count, lanes) = (threads.len(), code.target.limits.lanes);
        let file = |(len, own): (usize, &bool)| {
            let len = if *own { len } else { 0 };
            RegisterFile { bits: vec![0; len * count], written: vec![false; len] }
        };
        Agent {
            number,
            first: base + threads.start,
            threads: count,
            lanes: lanes as usize,
            warp_set: Warps::of_range(threads.start as u32, count as u32, lanes)
                .of_block(base as u32 / lanes),
            env,
            registers: code.arrays.iter().map(|a| a.len).zip(own).map(file).collect(),
            scratch: Scratch { offsets: vec![0; count], mask: vec![true; count], ..Scratch::default() },
            stirs: 0,
            polled: Vec::new(),
            is_polling: false,
            nap: None,
            products: Products::default(),
            flight: Flight::default(),
            stores: Stores::default(),
            drawing: None,
            waiting: None,
            frames: vec![Frame { site: 0, body, rest: body.iter(), end: End::Leave }],
        }
    }

    /// Returns the next action of the agent, which it performs unless it waits.
    pub(crate) fn next(&self) -> Next<'a> {
        let Some(frame) = self.frames.last() else { return Next::End };
        match frame.rest.as_slice().first() {
            Some(step) => Next::Step(step),
            None => Next::Leave(frame.site),
        }
    }

    /// Returns the slots of the counters of the loops that the agent is inside of.
    pub(crate) fn counting(&self) -> impl Iterator<Item = u32> {
        self.frames.iter().filter_map(|frame| match frame.end {
            End::Count { slot, .. } => Some(slot),
            End::Draw { code, .. } => Some(code.slot),
            End::Leave | End::Repeat(_) | End::Log(_) => None,
        })
    }

    /// Reports whether the agent has no further step.
    pub(crate) fn has_ended(&self) -> bool {
        self.frames.is_empty() && self.drawing.is_none()
    }

    /// Reports whether the agent is inside of a print or an assertion, which no other agent may interrupt.
    pub(crate) fn is_logging(&self) -> bool {
        self.frames.iter().any(|frame| matches!(frame.end, End::Log(_)))
    }

    pub(crate) fn warps(&self) -> usize {
        self.threads.div_ceil(self.lanes)
    }

    pub(crate) fn enter(&mut self, site: SiteId, body: &'a [Step], end: End<'a>) {
        self.frames.push(Frame { site, body, rest: body.iter(), end });
    }

    /// Reports whether the agent is inside of a `while`.
    pub(crate) fn is_in_while(&self) -> bool {
        self.frames.iter().any(|frame| matches!(frame.end, End::Repeat(_)))
    }

    /// Enters the next round of a `while`.
    pub(crate) fn enter_round(&mut self, site: SiteId, body: &'a [Step], repeat: Repeat<'a>) {
        self.enter(site, body, End::Repeat(repeat));
    }

    /// Enters a loop over drawn numbers at the end of its body: every round begins there, also the first.
    pub(crate) fn enter_drawn(&mut self, code: &'a DrawnCode) {
        self.enter(code.site, &code.body, End::Draw { code, rounds: 0 });
        if let Some(frame) = self.frames.last_mut() {
            frame.rest = [].iter();
        }
    }
}
