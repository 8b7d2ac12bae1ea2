//! The agents of a running block: threads in step, with registers, integers and a stack of their own.
//!
//! The stack is the agent's position in the program: a frame for the body of the program, and one for each branch, loop and
//! print that the agent is inside of. So an agent can stop after any step and go on later, and nothing of its position is on
//! the stack of the host. One agent has all threads of the block. If the program ends in roles, it waits while one agent for
//! each group of each role runs. [`crate::turn`] decides which agent runs.

use hx_thread::{Fence, LogKind, Warps, record_bytes};

use crate::block::{Block, RegisterFile, Scratch};
use crate::bulk::Stores;
use crate::code::{Code, DrawnCode, RoleCode, SiteId, Step};
use crate::counter::{Drawing, Read};
use crate::error::SimError;
use crate::flight::Flight;
use crate::formula::{Env, Formula};
use crate::product::Products;
use crate::spin::{Repeat, Spot};
use crate::turn::{Turn, Until, Waiting};

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
    pub(crate) who: Warps,
    pub(crate) env: Env,
    /// Indexed by array. Arrays that this agent does not use are empty.
    pub(crate) registers: Vec<RegisterFile>,
    pub(crate) scratch: Scratch,
    /// The number of times that the agent has changed memory, or something else that others can see.
    pub(crate) stirs: u64,
    /// The elements that the current rounds of the enclosing `while` loops have read, in order; recorded only if `is_polling`.
    pub(crate) polled: Vec<Spot>,
    pub(crate) is_polling: bool,
    /// The value of [`Block::naps`] when the agent gave its turn to others, so the least is the earliest; `None` if it is
    /// awake.
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
    frames: Vec<Frame<'a>>,
}

/// A body that an agent is inside of.
#[derive(Clone, Debug)]
struct Frame<'a> {
    /// The operation that the body belongs to.
    site: SiteId,
    body: &'a [Step],
    /// The steps of the body that are still to come.
    rest: std::slice::Iter<'a, Step>,
    end: End<'a>,
}

/// The continuation at the end of a body.
#[derive(Clone, Debug)]
enum End<'a> {
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
    fn of_role(
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

    fn new(
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
            who: Warps::of_range(threads.start as u32, count as u32, lanes).of_block(base as u32 / lanes),
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

    fn enter(&mut self, site: SiteId, body: &'a [Step], end: End<'a>) {
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
    fn enter_drawn(&mut self, code: &'a DrawnCode) {
        self.enter(code.site, &code.body, End::Draw { code, rounds: 0 });
        if let Some(frame) = self.frames.last_mut() {
            frame.rest = [].iter();
        }
    }
}

impl<'a> Block<'a> {
    /// Performs the next step of the running agent, or ends a body.
    ///
    /// # Errors
    /// On a fault of the step, and if the launch was cancelled.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<Turn, SimError> {
        if self.agent.waiting.is_some() && !self.resume() {
            return Ok(Turn::Blocked);
        }
        if self.agent.drawing.is_some() {
            let next = self.agent.frames.last().map(|frame| frame.rest.as_slice());
            // The end of a body is no step, so it does not wait for the draw. An agent without frames has ended, and waits for
            // its draw.
            let waits = match next {
                Some([]) => None,
                next => self.wait_for_draw(next.and_then(<[Step]>::first)),
            };
            if waits.is_some() {
                self.agent.waiting = waits;
                return Ok(Turn::Blocked);
            }
        }
        let Some(frame) = self.agent.frames.last_mut() else { return Ok(Turn::Ended) };
        match frame.rest.next() {
            Some(step) => {
                self.poll()?;
                self.step(step)?;
                if self.witness.as_ref().is_some_and(|witness| witness.follows()) {
                    self.follow(step)?;
                }
                if self.trace.is_some() {
                    self.trace_step(step)?;
                }
                self.land_early()?;
            }
            None => self.end_body()?,
        }
        Ok(Turn::Stepped)
    }

    /// Starts the agents of all roles. The agent of the block goes on when they have ended.
    fn fork(&mut self, site: SiteId, roles: &'a [RoleCode]) {
        for role in roles {
            for group in 0..role.groups {
                let number = self.parked.len() + 1;
                let agent = Agent::of_role(self.code, number, role, group, &self.agent);
                self.parked.push(agent);
            }
        }
        self.agent.flight = Flight::default();
        self.agent.waiting = Some(Waiting { site, until: Until::Others });
    }

    fn step(&mut self, step: &'a Step) -> Result<(), SimError> {
        if step.stirs() {
            self.stir();
        }
        match step {
            Step::SetSlot { site, slot, value } => {
                self.agent.env.slots[*slot as usize] =
                    value.scalar(&self.agent.env).map_err(|f| self.failed(*site, f))?;
            }
            Step::SetLanes { site, lanes, value } => {
                let lanes = *lanes as usize;
                let mut out = std::mem::take(&mut self.agent.env.lanes[lanes]);
                value.lanes(&mut self.agent.env, None, &mut out).map_err(|f| self.failed(*site, f))?;
                self.agent.env.lanes[lanes] = out;
            }
            Step::For { site, slot, start, end, body } => self.enter_for(*site, *slot, [start, end], body)?,
            Step::If { site, test, then, otherwise } => {
                let holds = test.scalar(&self.agent.env).map_err(|f| self.failed(*site, f))?;
                self.agent.enter(*site, if holds { then } else { otherwise }, End::Leave);
            }
            Step::SetNumber(n) => self.set_number(n)?,
            Step::Barrier { .. } => {
                self.barriers += 1;
                self.clock.barrier(self.agent.who);
            }
            Step::WarpBarrier { .. } => self.clock.barrier_each(self.agent.who),
            Step::Transfer(t) => self.transfer(t)?,
            Step::Multiply(m) => self.multiply(m)?,
            Step::MultiplyAsync(m) => self.multiply_async(m)?,
            // A fence for products orders accesses to registers, which the simulator always makes in order.
            Step::Fence { fence: Fence::Products, .. } => {}
            Step::Fence { fence: Fence::Proxy | Fence::GlobalProxy, .. } => self.clock.fence(self.agent.who),
            Step::CommitProducts { site } => self.commit_products(*site),
            Step::WaitProducts { site, leave, completes } => self.wait_products(*site, *leave, completes)?,
            Step::Convert(c) => self.convert(c)?,
            Step::Fill(f) => self.fill(f)?,
            Step::While { site, test, body, text } => {
                self.repeat(body, Repeat::new(*site, test, text))?;
            }
            Step::LoadInteger(l) => self.load_integer(l)?,
            Step::LoadIndex(l) => self.load_index(l)?,
            Step::ReadIndex(r) => self.read_index(r)?,
            Step::Compute(c) => self.compute(c)?,
            Step::LaneExchange(e) => self.lane_exchange(e)?,
            Step::AsyncCopy(c) => self.async_copy(c)?,
            Step::Commit { site } => self.commit(*site),
            Step::Wait { site, groups } => self.wait(*site, *groups),
            Step::BulkLoad { copy, barrier, index } => self.bulk_load(copy, (*barrier, index))?,
            Step::BulkStore(c) => self.bulk_store(c)?,
            Step::BulkCommit { site } => self.bulk_commit(*site),
            Step::BulkWait { site, leave, completes } => self.bulk_wait(*site, *leave, completes)?,
            Step::Await { site, barrier, index, parity, by } => {
                self.await_phase(*site, (*barrier, index), parity, *by)?
            }
            Step::Arrive { site, barrier, index, by, blocks } => {
                self.arrive(*site, (*barrier, index), *by, blocks)?;
            }
            Step::Expect { site, barrier, index, bytes } => {
                self.expect_bytes(*site, *barrier, index, *bytes)?;
            }
            Step::Send(send) => self.send_chunks(send)?,
            Step::Draw(draw) => self.draw(draw)?,
            Step::Drawn(code) => self.agent.enter_drawn(code),
            Step::Log { site, entry, body } => self.open_log(*site, *entry, body),
            Step::Put(p) => self.put(p)?,
            Step::Roles { site, roles } => self.fork(*site, roles),
            Step::NamedSync { site, id, threads } => self.named(*site, id, *threads, true)?,
            Step::NamedArrive { site, id, threads } => self.named(*site, id, *threads, false)?,
        }
        Ok(())
    }

    /// Begins a counted loop, if it has a round.
    ///
    /// # Errors
    /// If a bound has no value, and if the launch was cancelled.
    fn enter_for(
        &mut self,
        site: SiteId,
        slot: u32,
        [start, end]: [&Formula; 2],
        body: &'a [Step],
    ) -> Result<(), SimError> {
        let value = start.scalar(&self.agent.env).map_err(|f| self.failed(site, f))?;
        let end = end.scalar(&self.agent.env).map_err(|f| self.failed(site, f))?;
        if value < end {
            self.agent.env.slots[slot as usize] = value;
            self.agent.enter(site, body, End::Count { slot, value, end });
            self.poll()?;
        }
        Ok(())
    }

    fn open_log(&mut self, site: SiteId, entry: usize, body: &'a [Step]) {
        let info = &self.code.log[entry];
        if info.kind == LogKind::Print {
            self.log.open(entry, record_bytes(info));
        }
        self.agent.enter(site, body, End::Log(entry));
    }

    /// Ends the innermost body: begins its next round, or leaves it.
    ///
    /// # Errors
    /// On a fault of the loop's condition or of its draw, and if the launch was cancelled.
    fn end_body(&mut self) -> Result<(), SimError> {
        if let Some(Frame { body, rest, end: End::Count { slot, value, end }, .. }) =
            self.agent.frames.last_mut()
            && *value + 1 < *end
        {
            *value += 1;
            *rest = body.iter();
            self.agent.env.slots[*slot as usize] = *value;
            return self.poll();
        }
        if let Some(Frame { end: End::Draw { code, rounds }, .. }) = self.agent.frames.last() {
            return self.draw_round(code, *rounds);
        }
        match self.agent.frames.pop() {
            Some(Frame { body, end: End::Repeat(repeat), .. }) => self.repeat(body, repeat),
            Some(Frame { end: End::Log(entry), .. }) => {
                self.log.close(&self.code.log[entry], entry);
                Ok(())
            }
            Some(Frame { end: End::Leave | End::Count { .. } | End::Draw { .. }, .. }) | None => Ok(()),
        }
    }

    /// Begins round `round` of a loop over drawn numbers once its number has been drawn, or ends the loop.
    ///
    /// # Errors
    /// As [`Block::read_ticket`], and if the launch was cancelled.
    fn draw_round(&mut self, code: &'a DrawnCode, round: u64) -> Result<(), SimError> {
        match self.read_ticket(code, round)? {
            Read::Waits => {}
            Read::Number(number) => {
                self.agent.env.slots[code.slot as usize] = number;
                if let Some(Frame { rest, end: End::Draw { rounds, .. }, .. }) = self.agent.frames.last_mut()
                {
                    *rest = code.body.iter();
                    *rounds += 1;
                }
            }
            Read::End => _ = self.agent.frames.pop(),
        }
        self.poll()
    }
}
