//! The steps of a running block: the running agent interprets the statements of its body.
//!
//! A step reads and changes the state in [`crate::block`]. Each file below has the steps of one kind.

mod arith;
mod async_copy;
mod async_product;
mod atomic;
mod barrier;
mod bulk;
mod communicate;
mod completion;
mod compute;
mod draw;
mod late;
mod log;
mod record;
mod registers;
mod repeat;
mod send;
mod transfer;

use hx_thread::{Fence, LogKind, record_bytes};

use crate::block::Block;
use crate::block::agent::{Agent, End, Frame};
use crate::block::flight::Flight;
use crate::block::polling::Repeat;
use crate::block::waiting::{Until, Waiting};
use crate::code::{DrawnCode, RoleCode, SiteId, Step};
use crate::error::SimError;
use crate::formula::Formula;
use draw::Read;

/// The result of one step of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    Stepped,
    /// The agent waits.
    Blocked,
    /// The agent had no step left.
    Ended,
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
                self.complete_early()?;
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
                self.clock.barrier(self.agent.warp_set);
            }
            Step::WarpBarrier { .. } => self.clock.barrier_each(self.agent.warp_set),
            Step::Transfer(t) => self.transfer(t)?,
            Step::Multiply(m) => self.multiply(m)?,
            Step::MultiplyAsync(m) => self.multiply_async(m)?,
            // A fence for products orders accesses to registers, which the simulator always makes in order.
            Step::Fence { fence: Fence::Products, .. } => {}
            Step::Fence { fence: Fence::Proxy | Fence::GlobalProxy, .. } => {
                self.clock.fence(self.agent.warp_set)
            }
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
            self.log.open(self.agent.number, entry, record_bytes(info));
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
                self.log.close(self.agent.number, &self.code.log[entry], entry);
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
