//! The counters as one block sees them: the numbers that it draws, and the tickets by which its agents learn them.
//!
//! The seed of the run alone decides which block draws which number, so that no result depends on the order in which blocks run.
//! With seed 0, block `b` of `n` draws `b`, `b + n`, `b + 2 · n`, …. Any other seed gives each number to a block by its hash, more
//! of them to some blocks than to others. A block draws its numbers in ascending order, and then one that ends its loops.
//!
//! A ticket remembers which draw it holds, and every agent counts its rounds. An agent that reads the number of another round has
//! found a mistake in the barriers of the program. A ticket orders no accesses: it transfers no knowledge.

use crate::code::{Code, CounterCode, SiteId};

/// The counters as one block sees them.
#[derive(Clone, Debug)]
pub(crate) struct Tickets {
    /// Indexed by counter.
    pub(crate) numbers: Vec<Numbers>,
    /// By counter and ticket: the draw of the block that the ticket holds, counted from 0, and the number drawn; `None` before
    /// the first draw into the ticket.
    pub(crate) held: Vec<Vec<Option<(u64, i64)>>>,
    /// The agents with a draw in flight.
    pub(crate) pending: usize,
}

/// The numbers of one counter, as one block draws them.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    pub(crate) limit: u64,
    pub(crate) blocks: u64,
    pub(crate) block: u64,
    /// Mixed from the seed and the counter; 0 for the plain order.
    pub(crate) seed: u64,
    /// The next number that may be the block's.
    pub(crate) next: u64,
    pub(crate) drawn: u64,
}

/// A draw that an agent has begun and whose number is not drawn yet.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    pub(crate) site: SiteId,
    pub(crate) counter: usize,
    pub(crate) ticket: usize,
    /// The parity of the phase in which the ticket is empty.
    pub(crate) parity: i64,
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

impl Numbers {
    /// Returns the next number of the block. After its last one below the limit it is always `limit + block`, which ends its
    /// loops.
    pub(crate) fn draw(&mut self) -> i64 {
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
    pub(crate) fn owner(&self, number: u64) -> u64 {
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
pub(crate) fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) >> 1
}
