//! The agent of a running block: threads in step, with a stack of their own.
//!
//! The stack is the agent's position in the program: a frame for the body of the program, and one for each branch, loop and
//! print that the agent is inside of. So an agent can stop after any step and go on later, and nothing of its position is on
//! the stack of the host. Today one agent holds all warps of the block.

use hx_thread::{LogKind, Warps, record_bytes};

use crate::block::Block;
use crate::code::{SiteId, Step};
use crate::error::{Fault, SimError};
use crate::flight::Flight;
use crate::formula::Test;

#[derive(Debug)]
pub(crate) struct Agent<'a> {
    /// The warps of its threads.
    pub(crate) who: Warps,
    /// The asynchronous copies that its threads issued.
    pub(crate) flight: Flight,
    /// From the body of the program to the innermost body.
    frames: Vec<Frame<'a>>,
}

/// A body that an agent is inside of.
#[derive(Debug)]
struct Frame<'a> {
    body: &'a [Step],
    /// The steps of the body that are still to come.
    rest: std::slice::Iter<'a, Step>,
    end: End<'a>,
}

/// The continuation at the end of a body.
#[derive(Debug)]
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
    /// A print or an assertion is complete. It is a position in [`crate::code::Code::log`].
    Log(usize),
}

/// The state of a `while`.
#[derive(Debug)]
struct Repeat<'a> {
    site: SiteId,
    test: &'a Test,
    text: &'a str,
    /// Rounds begun so far.
    rounds: u64,
    /// The numbers of the block before this round.
    before: Vec<i64>,
    /// [`Block::decisions`] before this round.
    decisions: u64,
}

impl<'a> Agent<'a> {
    /// Returns an agent before its first step.
    pub(crate) fn new(who: Warps, body: &'a [Step]) -> Agent<'a> {
        let frames = vec![Frame { body, rest: body.iter(), end: End::Leave }];
        Agent { who, flight: Flight::default(), frames }
    }

    fn enter(&mut self, body: &'a [Step], end: End<'a>) {
        self.frames.push(Frame { body, rest: body.iter(), end });
    }
}

impl<'a> Block<'a> {
    pub(crate) fn run(&mut self) -> Result<(), SimError> {
        while self.advance()? {}
        self.count_unwaited();
        Ok(())
    }

    /// Performs the next step of the agent, or ends a body. Returns false once its program has ended.
    #[inline]
    fn advance(&mut self) -> Result<bool, SimError> {
        let Some(frame) = self.agent.frames.last_mut() else { return Ok(false) };
        match frame.rest.next() {
            Some(step) => {
                self.poll()?;
                self.step(step)?;
            }
            None => self.end_body()?,
        }
        Ok(true)
    }

    fn step(&mut self, step: &'a Step) -> Result<(), SimError> {
        match step {
            Step::SetSlot { site, slot, value } => {
                self.env.slots[*slot as usize] =
                    value.scalar(&self.env).map_err(|f| self.failed(*site, f))?;
            }
            Step::SetLanes { site, lanes, value } => {
                let lanes = *lanes as usize;
                let mut out = std::mem::take(&mut self.env.lanes[lanes]);
                value.lanes(&mut self.env, None, &mut out).map_err(|f| self.failed(*site, f))?;
                self.env.lanes[lanes] = out;
            }
            Step::For { site, slot, start, end, body } => {
                let value = start.scalar(&self.env).map_err(|f| self.failed(*site, f))?;
                let end = end.scalar(&self.env).map_err(|f| self.failed(*site, f))?;
                if value < end {
                    self.env.slots[*slot as usize] = value;
                    self.agent.enter(body, End::Count { slot: *slot, value, end });
                    self.poll()?;
                }
            }
            Step::If { site, test, then, otherwise } => {
                let holds = test.scalar(&self.env).map_err(|f| self.failed(*site, f))?;
                self.agent.enter(if holds { then } else { otherwise }, End::Leave);
            }
            Step::SetNumber(n) => self.set_number(n)?,
            Step::Barrier => {
                self.barriers += 1;
                self.clock.barrier(self.agent.who);
            }
            Step::WarpBarrier => self.clock.barrier_each(self.agent.who),
            Step::Transfer(t) => self.transfer(t)?,
            Step::Multiply(m) => self.multiply(m)?,
            Step::Convert(c) => self.convert(c)?,
            Step::Fill(f) => self.fill(f)?,
            Step::While { site, test, body, text } => {
                let (before, decisions) = (Vec::new(), 0);
                self.repeat(body, Repeat { site: *site, test, text, rounds: 0, before, decisions })?;
            }
            Step::LoadInteger(l) => self.load_integer(l)?,
            Step::LoadIndex(l) => self.load_index(l)?,
            Step::Compute(c) => self.compute(c)?,
            Step::LaneExchange(e) => self.lane_exchange(e)?,
            Step::AsyncCopy(c) => self.async_copy(c)?,
            Step::Commit { site } => self.commit(*site),
            Step::Wait { site, groups } => self.wait(*site, *groups),
            Step::Log { entry, body } => {
                let info = &self.code.log[*entry];
                if info.kind == LogKind::Print {
                    self.log.open(*entry, record_bytes(info));
                }
                self.agent.enter(body, End::Log(*entry));
            }
            Step::Put(p) => self.put(p)?,
        }
        Ok(())
    }

    /// Ends the innermost body: begins its next round, or leaves it.
    fn end_body(&mut self) -> Result<(), SimError> {
        if let Some(Frame { body, rest, end: End::Count { slot, value, end } }) = self.agent.frames.last_mut()
            && *value + 1 < *end
        {
            *value += 1;
            *rest = body.iter();
            self.env.slots[*slot as usize] = *value;
            return self.poll();
        }
        match self.agent.frames.pop() {
            Some(Frame { body, end: End::Repeat(repeat), .. }) => self.repeat(body, repeat),
            Some(Frame { end: End::Log(entry), .. }) => {
                self.log.close(&self.code.log[entry], entry);
                Ok(())
            }
            Some(Frame { end: End::Leave | End::Count { .. }, .. }) | None => Ok(()),
        }
    }

    /// Begins the next round of a `while` if its condition holds. Control flow depends on numbers of the block only. If a round
    /// changes none of them and reads none from registers, every later round repeats it, so the loop never ends and is
    /// reported.
    fn repeat(&mut self, body: &'a [Step], mut repeat: Repeat<'a>) -> Result<(), SimError> {
        let Repeat { site, test, text, rounds, .. } = repeat;
        if !test.scalar(&self.env).map_err(|f| self.failed(site, f))? {
            return Ok(());
        }
        let repeats = rounds > 0 && repeat.before == self.env.slots && repeat.decisions == self.decisions;
        if repeats || rounds >= self.config.while_limit {
            let fault = Fault::NoProgress { cond: text.into(), iterations: rounds, repeats };
            return Err(self.error(site, None, fault));
        }
        repeat.before.clone_from(&self.env.slots);
        repeat.decisions = self.decisions;
        repeat.rounds += 1;
        self.agent.enter(body, End::Repeat(repeat));
        self.poll()
    }
}
