//! Counters: the numbers that each block draws, and the tickets by which the agents of the block learn them.
//!
//! The seed of the run alone decides which block draws which number, so that no result depends on the order in which blocks run.
//! With seed 0, block `b` of `n` draws `b`, `b + n`, `b + 2 · n`, …. Any other seed gives each number to a block by its hash, more
//! of them to some blocks than to others. A block draws its numbers in ascending order, and then one that ends its loops.
//!
//! One thread of a scope draws, and waits until everyone has read the number that the ticket holds. The first thread of the scope
//! goes on meanwhile: it can issue copies. So an agent with a draw in flight makes the steps that need no other thread, and waits
//! before any other step. The seed selects the time of the draw: with 0 as late as possible, with 1 as soon as possible.
//!
//! A ticket remembers which draw it holds, and every agent counts its rounds. An agent that reads the number of another round has
//! found a mistake in the barriers of the program. A ticket orders no accesses: it transfers no knowledge.

use hx_thread::Knowledge;

use crate::agent::Agent;
use crate::block::Block;
use crate::cluster::Arrived;
use crate::code::{Code, CounterCode, DrawCode, DrawnCode, SiteId, Step};
use crate::error::{Fault, Place, SimError};
use crate::global::Tensor;
use crate::turn::{Until, Waiting};

/// A draw that an agent has begun and whose number is not drawn yet.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    site: SiteId,
    counter: usize,
    ticket: usize,
    /// The parity of the phase in which the ticket is empty.
    parity: i64,
}

/// The state of a ticket at the top of a round.
pub(crate) enum Read {
    /// The number has not been drawn yet.
    Waits,
    Number(i64),
    /// The number ends the loop.
    End,
}

/// The counters as one block sees them.
#[derive(Clone, Debug)]
pub(crate) struct Tickets {
    /// Indexed by counter.
    numbers: Vec<Numbers>,
    /// By counter and ticket: the draw of the block that the ticket holds, counted from 0, and the number drawn; `None` before
    /// the first draw into the ticket.
    held: Vec<Vec<Option<(u64, i64)>>>,
    /// The agents with a draw in flight.
    pending: usize,
}

/// The numbers of one counter, as one block draws them.
#[derive(Clone, Debug)]
struct Numbers {
    limit: u64,
    blocks: u64,
    block: u64,
    /// Mixed from the seed and the counter; 0 for the plain order.
    seed: u64,
    /// The next number that may be the block's.
    next: u64,
    drawn: u64,
}

impl Numbers {
    /// Returns the next number of the block. After its last one below the limit it is always `limit + block`, which ends its
    /// loops.
    fn draw(&mut self) -> i64 {
        self.drawn += 1;
        while self.next < self.limit {
            let number = self.next;
            self.next += 1;
            if self.owner(number) == self.block {
                return number as i64;
            }
        }
        (self.limit + self.block) as i64
    }

    /// Returns the block that draws a number.
    fn owner(&self, number: u64) -> u64 {
        if self.seed == 0 {
            return number % self.blocks;
        }
        let hash = mix(self.seed ^ number);
        // A number below the random bound `below`, so low ones are the most frequent. The seed selects which blocks these are.
        let below = 1 + (hash >> 32) % self.blocks;
        ((hash & 0xffff_ffff) % below + mix(self.seed)) % self.blocks
    }
}

/// Mixes the bits of a number (splitmix64). The result has 63 bits.
fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) >> 1
}

impl Tickets {
    pub(crate) fn new(code: &Code, seed: u64, block: [u32; 3]) -> Tickets {
        let [x, y, z] = block.map(u64::from);
        let numbers = |(at, counter): (u64, &CounterCode)| Numbers {
            limit: counter.limit as u64,
            blocks: code.grid.iter().product(),
            block: x + code.grid[0] * (y + code.grid[1] * z),
            seed: if seed == 0 { 0 } else { mix(seed ^ at.rotate_left(32)) | 1 },
            next: 0,
            drawn: 0,
        };
        let tickets = |counter: &CounterCode| vec![None; code.barriers[counter.full].stages as usize];
        Tickets {
            numbers: (0..).zip(&code.counters).map(numbers).collect(),
            held: code.counters.iter().map(tickets).collect(),
            pending: 0,
        }
    }

    /// Returns how many numbers the block drew from each counter.
    pub(crate) fn drawn(&self) -> impl Iterator<Item = u64> {
        self.numbers.iter().map(|numbers| numbers.drawn)
    }

    #[inline]
    pub(crate) fn has_pending(&self) -> bool {
        self.pending > 0
    }
}

/// Fails if the tensor of a counter is not 0, or if the counter cannot count its draws.
pub(crate) fn expect_zero(code: &Code, tensors: &[Option<Tensor>]) -> Result<(), SimError> {
    for counter in &code.counters {
        let place = Place { origin: Some(counter.origin), ..Place::default() };
        let fail = |fault| Err(SimError { fault, place: Some(Box::new(place)) });
        let (name, limit, blocks) = (counter.name.clone(), counter.limit, code.grid.iter().product::<u64>());
        if limit < 0 || limit as u64 + blocks > i32::MAX as u64 {
            return fail(Fault::CounterLimit { counter: name, limit, blocks });
        }
        let Some(tensor) = &tensors[counter.tensor] else { continue };
        let value = tensor.bytes.first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
        if value != 0 {
            return fail(Fault::CounterStart { counter: name, tensor: tensor.name.clone(), value });
        }
    }
    Ok(())
}

/// Fails if the blocks did not draw `limit + blocks` numbers from a counter: each block draws one that ends its loops, and the
/// last draw sets the counter back to 0.
pub(crate) fn expect_reset(code: &Code, drawn: &[u64]) -> Result<(), SimError> {
    let blocks: u64 = code.grid.iter().product();
    for (counter, drawn) in code.counters.iter().zip(drawn) {
        let wanted = counter.limit as u64 + blocks;
        if blocks > 0 && *drawn != wanted {
            let text = format!("the blocks draw {drawn} times from `{}`, expected {wanted}", counter.name);
            return Err(Fault::Malformed(text).into());
        }
    }
    Ok(())
}

impl Code {
    /// Returns the counter whose tickets a barrier guards; `None` if the barrier belongs to no counter.
    pub(crate) fn counter_of(&self, barrier: usize) -> Option<&CounterCode> {
        self.counters.iter().find(|counter| [counter.full, counter.empty].contains(&barrier))
    }
}

impl Block<'_> {
    /// Begins a draw by the running agent. The number is drawn later, by [`Block::draw_next`].
    ///
    /// # Errors
    /// If there is no such ticket, or an expression has no value.
    pub(crate) fn draw(&mut self, draw: &DrawCode) -> Result<(), SimError> {
        let DrawCode { site, counter, index, parity } = draw;
        let ticket = self.stage_of(*site, self.code.counters[*counter].empty, index)?;
        let parity = parity.scalar(&self.agent.env).map_err(|f| self.failed(*site, f))?;
        self.counters[*site as usize].instructions += 1;
        self.agent.drawing = Some(Drawing { site: *site, counter: *counter, ticket, parity });
        self.tickets.pending += 1;
        Ok(())
    }

    /// Returns the wait of the running agent for its draw, if its next step needs the thread that draws; otherwise `None`.
    pub(crate) fn wait_for_draw(&self, next: Option<&Step>) -> Option<Waiting> {
        let is_apart = next.is_some_and(|step| is_apart(step, self.agent.warps()));
        self.draw_of(&self.agent).filter(|_| !is_apart)
    }

    /// Returns the wait for the draw that an agent has in flight; `None` if it has none.
    pub(crate) fn draw_of(&self, agent: &Agent<'_>) -> Option<Waiting> {
        let Drawing { site, counter, ticket, .. } = *agent.drawing.as_ref()?;
        let until = Until::Drawn { barrier: self.code.counters[counter].empty, stage: ticket };
        Some(Waiting { site, until })
    }

    /// Returns the agents whose draw can happen, sorted by number. The second value is the position in `parked`, or the length
    /// of `parked` for the running agent.
    fn ready_to_draw(&self) -> Vec<(usize, usize)> {
        if !self.tickets.has_pending() {
            return Vec::new();
        }
        let is_ready = |agent: &Agent<'_>| {
            agent.drawing.as_ref().is_some_and(|draw| {
                let empty = self.code.counters[draw.counter].empty;
                self.phases.awaited(empty, draw.ticket, draw.parity).is_some()
            })
        };
        let agents = self.parked.iter().chain([&self.agent]).enumerate();
        let ready = agents.filter(|(_, agent)| is_ready(agent)).map(|(place, agent)| (agent.number, place));
        let mut ready: Vec<(usize, usize)> = ready.collect();
        ready.sort_unstable();
        ready
    }

    /// Reports whether a draw can happen.
    pub(crate) fn can_draw(&self) -> bool {
        !self.ready_to_draw().is_empty()
    }

    /// Lets a draw happen instead of the arrival of one of `copies` copies. Returns false if a copy is to arrive, or if no draw
    /// can happen.
    ///
    /// # Errors
    /// On a fault of the arrival that tells the number.
    pub(crate) fn draw_next(&mut self, copies: usize) -> Result<bool, SimError> {
        let ready = self.ready_to_draw();
        if ready.is_empty() {
            return Ok(false);
        }
        let chosen = match self.config.seed {
            0 | 1 if copies > 0 => return Ok(false),
            0 | 1 => 0,
            _ => self.phases.below(copies + ready.len()),
        };
        let Some((_, place)) = chosen.checked_sub(copies).map(|at| ready[at]) else { return Ok(false) };
        let agent = self.parked.get_mut(place).unwrap_or(&mut self.agent);
        let Some(Drawing { site, counter, ticket, .. }) = agent.drawing.take() else { return Ok(false) };
        self.tickets.pending -= 1;
        let numbers = &mut self.tickets.numbers[counter];
        let number = (numbers.drawn, numbers.draw());
        self.tickets.held[counter][ticket] = Some(number);
        let (barrier, known) = (self.code.counters[counter].full, Knowledge::default());
        self.arrived(&Arrived { site, barrier, stage: ticket, arrivals: 1, known })?;
        Ok(true)
    }

    /// Reads the number of a round, and gives the ticket back. If the number is not there, the agent waits.
    ///
    /// # Errors
    /// If there is no such ticket or it holds the number of another round, if an expression has no value, and on a fault of the
    /// arrival that gives the ticket back.
    pub(crate) fn read_ticket(&mut self, code: &DrawnCode, round: u64) -> Result<Read, SimError> {
        let DrawnCode { site, counter, index, parity, .. } = code;
        let (site, at) = (*site, *counter);
        let counter = &self.code.counters[at];
        let ticket = self.stage_of(site, counter.full, index)?;
        let parity = parity.scalar(&self.agent.env).map_err(|f| self.failed(site, f))?;
        if self.phases.awaited(counter.full, ticket, parity).is_none() {
            let until = Until::Ticket { barrier: counter.full, stage: ticket, parity };
            self.agent.waiting = Some(Waiting { site, until });
            return Ok(Read::Waits);
        }
        let number = match self.tickets.held[at][ticket] {
            Some((draw, number)) if draw == round => number,
            other => {
                let held = other.map_or_else(|| "nothing".to_owned(), |(draw, _)| format!("draw {draw}"));
                let name = &counter.name;
                let text = format!(
                    "round {round} of a loop over `{name}` reads ticket {ticket}, which holds {held}"
                );
                return Err(self.error(site, None, Fault::Malformed(text)));
            }
        };
        self.counters[site as usize].instructions += self.agent.warps() as u64;
        let arrivals = (self.agent.threads as u32 / self.code.target.limits.lanes).max(1);
        let (barrier, known) = (counter.empty, Knowledge::default());
        self.arrived(&Arrived { site, barrier, stage: ticket, arrivals, known })?;
        Ok(if number < counter.limit { Read::Number(number) } else { Read::End })
    }
}

/// Reports whether an agent of `warps` warps may make a step while the first thread of its last warp draws: a step of the
/// agent's first thread alone, or one that changes integers only.
fn is_apart(step: &Step, warps: usize) -> bool {
    // The loop waits for the number itself.
    matches!(step, Step::Drawn(_))
        || warps > 1
            && matches!(
                step,
                Step::SetSlot { .. }
                    | Step::SetLanes { .. }
                    | Step::For { .. }
                    | Step::If { .. }
                    | Step::While { .. }
                    | Step::Await { .. }
                    | Step::Expect { .. }
                    | Step::BulkLoad { .. }
                    | Step::BulkStore(_)
                    | Step::BulkCommit { .. }
                    | Step::BulkWait { .. }
                    | Step::Fence { .. }
            )
}
