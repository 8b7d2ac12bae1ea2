//! Chooses the swizzle with the fewest wavefronts over all accesses, weighted by their trip counts.

use std::cell::{Cell, LazyCell};
use std::rc::Rc;

use hx_layout::{Layout, Swizzle};
use hx_target::Limits;

use super::conflicts::Requests;

/// A use of a tensor under one layout: the costs of its candidate instructions. The first is the reference with which
/// the others are compared.
#[derive(Debug)]
pub(crate) struct Served<'a> {
    pub(crate) costs: Vec<AccessCost<'a>>,
    /// Number of executions of the use.
    pub(crate) trips: f64,
}

/// The cost of a candidate instruction of a use, under any swizzle.
pub(crate) struct AccessCost<'a> {
    requests: LazyCell<Rc<Requests>, Box<dyn FnOnce() -> Rc<Requests> + 'a>>,
    /// Number of phases that each of the requests represents.
    each: f64,
    /// Lower bound on the wavefronts of one execution, from the instruction alone.
    least: f64,
    /// Cycles of one execution besides the wavefronts.
    pub(crate) beside: f64,
}

impl std::fmt::Debug for AccessCost<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AccessCost")
            .field("least", &self.least)
            .field("beside", &self.beside)
            .finish_non_exhaustive()
    }
}

impl<'a> AccessCost<'a> {
    /// Builds the cost of a candidate. `requests` is evaluated at the first use, and each request represents `each` phases.
    pub(crate) fn new(
        [least, beside, each]: [f64; 3],
        requests: impl FnOnce() -> Rc<Requests> + 'a,
    ) -> AccessCost<'a> {
        AccessCost { requests: LazyCell::new(Box::new(requests)), each, least, beside }
    }

    /// Builds the cost of a candidate in which no lane has an address, which takes the same cycles under every swizzle.
    pub(crate) fn free(cycles: f64, limits: &'static Limits) -> AccessCost<'a> {
        AccessCost::new([0.0, cycles, 1.0], move || Rc::new(Requests::none(limits)))
    }

    /// Returns the wavefronts of one execution without conflicts.
    fn ideal(&self) -> f64 {
        self.each * self.requests.ideal() as f64
    }

    /// Returns the wavefronts of one execution under a swizzle, or a lower bound on them if they exceed `most`.
    fn at_most(&self, swizzle: Swizzle, most: f64, looked: &Cell<u64>) -> f64 {
        self.each * self.requests.at_most(swizzle, most / self.each, looked) as f64
    }
}

impl Served<'_> {
    /// Returns the cycles of the first candidate without conflicts, in all executions.
    pub(crate) fn first(&self) -> f64 {
        self.trips * self.costs.first().map_or(0.0, |cost| cost.beside + cost.ideal())
    }

    /// Reports whether some candidate counts only a sample of its phases.
    pub(crate) fn is_sample(&self) -> bool {
        self.costs.iter().any(|cost| cost.each > 1.0)
    }

    /// Returns the number of addresses in the counted phases of the first candidate.
    pub(crate) fn addresses(&self) -> u64 {
        self.costs.first().map_or(0, |cost| cost.requests.addresses())
    }

    /// Returns the cycles of the first candidate besides its wavefronts, the reference for the other candidates.
    fn beside(&self) -> f64 {
        self.costs.first().map_or(0.0, |cost| cost.beside)
    }

    /// Returns a lower bound on the wavefronts, in all executions.
    fn ideal(&self) -> f64 {
        let first = self.costs.first().map_or(0.0, |cost| cost.ideal());
        let others = self.costs.iter().skip(1).map(|cost| cost.least + cost.beside - self.beside());
        self.trips * others.fold(first, f64::min)
    }

    /// Returns the candidate with the fewest cycles under a swizzle and its wavefronts in all executions. Cycles that a candidate
    /// takes beyond the first one, besides wavefronts, count as wavefronts. If the result exceeds `most`, it is a lower bound.
    fn weigh(&self, swizzle: Swizzle, most: f64, looked: &Cell<u64>) -> (usize, f64) {
        let mut best = (0, f64::INFINITY);
        for (i, cost) in self.costs.iter().enumerate() {
            let more = cost.beside - self.beside();
            // The candidate cannot win even without conflicts.
            if i > 0 && cost.least + more >= best.1 {
                continue;
            }
            let most = (most / self.trips).min(best.1) - more;
            let wavefronts = cost.at_most(swizzle, most.max(0.0), looked) + more;
            if wavefronts < best.1 {
                best = (i, wavefronts);
            }
        }
        (best.0, best.1 * self.trips)
    }

    /// Returns the index of the candidate with the fewest cycles under a swizzle.
    pub(crate) fn best(&self, swizzle: Swizzle) -> usize {
        self.weigh(swizzle, f64::INFINITY, &Cell::new(0)).0
    }
}

/// The budget of a search for swizzles: addresses looked at, and their limit.
#[derive(Debug)]
pub(crate) struct SwizzleBudget {
    pub(crate) looked: Cell<u64>,
    pub(crate) most: Cell<u64>,
}

impl Default for SwizzleBudget {
    /// Returns a budget without a limit.
    fn default() -> SwizzleBudget {
        SwizzleBudget { looked: Cell::new(0), most: Cell::new(u64::MAX) }
    }
}

impl SwizzleBudget {
    pub(crate) fn add(&self, addresses: u64) {
        self.looked.set(self.looked.get() + addresses);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.looked.get() >= self.most.get()
    }
}

/// Returns the swizzle with the fewest wavefronts for accesses of at most `vector` elements, or `None` if the search finds
/// none of at most `limit` wavefronts. Ties prefer no swizzle, then the smallest footprint, then the lowest base, then the fewest
/// bits.
pub(crate) fn best(
    limits: &Limits,
    layout: &Layout,
    served: &[Served<'_>],
    vector: i64,
    element_bits: u32,
    limit: f64,
    budget: &SwizzleBudget,
) -> Option<Swizzle> {
    let ideal: f64 = served.iter().map(|used| used.ideal()).sum();
    let weigh = |swizzle: Swizzle, most: f64| wavefronts(served, ideal, swizzle, most, budget);
    if ideal > limit {
        return None;
    }
    let mut best = weigh(Swizzle::identity(), limit);
    let mut chosen = (best <= limit).then_some(Swizzle::identity());
    best = best.min(limit);
    if chosen.is_some() && best <= ideal || vector.count_ones() != 1 {
        return chosen;
    }
    let line = (limits.wavefront_bytes() * 8 / element_bits).trailing_zeros();
    // A swizzle within words changes no bank.
    let word = (limits.bank_bytes * 8 / element_bits).max(1).trailing_zeros();
    let top = 63 - (layout.cosize().max(2) - 1).leading_zeros();
    let mut places = i64::MAX;
    // The swizzle moves whole vectors. Larger pieces can help too: half a line, if a row fills a line and an access reads halves
    // of two rows.
    for base in vector.trailing_zeros().max(word)..line {
        for bits in 1..=line - base {
            for shift in bits..=top.saturating_sub(base) {
                if budget.is_over() {
                    return chosen;
                }
                let Ok(swizzle) = Swizzle::new(bits, base, shift as i32) else { continue };
                let taken = footprint(layout, swizzle);
                if chosen.is_some() && best <= ideal && taken >= places {
                    continue;
                }
                let sum = weigh(swizzle, best);
                let better = match chosen {
                    None => sum <= best,
                    Some(other) => sum < best || sum == best && taken < places && !other.is_identity(),
                };
                if better {
                    (best, chosen, places) = (sum, Some(swizzle), taken);
                    // A swizzle without conflicts and without padding is optimal; stop searching.
                    if best <= ideal && taken == layout.cosize() {
                        return chosen;
                    }
                }
            }
        }
    }
    chosen
}

/// Returns the wavefronts of all accesses, or a lower bound on them if they exceed `most`. They are at least `ideal`.
fn wavefronts(served: &[Served<'_>], ideal: f64, swizzle: Swizzle, most: f64, budget: &SwizzleBudget) -> f64 {
    let mut rest = ideal;
    let mut sum = 0.0;
    for used in served {
        rest -= used.ideal();
        sum += used.weigh(swizzle, most - sum - rest, &budget.looked).1;
        if sum + rest > most {
            return sum + rest;
        }
    }
    sum
}

/// Returns the elements of a block, within which a swizzle permutes.
pub(crate) fn block(swizzle: Swizzle) -> i64 {
    if swizzle.is_identity() {
        1
    } else {
        1i64 << (swizzle.bits() + swizzle.base() + swizzle.shift().unsigned_abs())
    }
}

/// Returns the elements that the swizzled layout may touch: whole blocks of the swizzle.
pub(crate) fn footprint(layout: &Layout, swizzle: Swizzle) -> i64 {
    let block = block(swizzle);
    (layout.cosize() + block - 1) / block * block
}
