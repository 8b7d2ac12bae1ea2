//! Chooses launches with few rounds of each loop: those in which a ring is empty, not full, full and goes round.
//!
//! A launch is a value for every symbol, and every loop count follows from the values. So equal counts stay equal, and every
//! finding is of a launch that exists. The data that a launch reads are values, too: each source of data has a level, and a
//! [`Pattern`] says how its elements vary around the level.
//!
//! `found` collects the symbols and loop counts of a protocol, `space` changes values until all conditions hold, `reach` until
//! a loop has a wanted number of rounds.

mod found;
mod pattern;
mod reach;
mod sample;
mod space;
mod totals;

use std::collections::BTreeSet;

use hx_index::{CmpOp, Cond, Expr, Symbol};

use self::found::Found;
use self::sample::Numbers;
use self::space::{Space, Values};
pub(crate) use self::totals::are_alike;
use super::cases::Goal;
use super::coverage::Coverage;
use super::launch::{Launch, Pattern, is_level};
use super::{Act, Drawn, Launchable, Protocol, Role, Stmt, expansion, periods};

/// The most launches that are chosen for a pattern of data.
const MOST: usize = 64;
/// The number of clusters after the first along an axis from whose first blocks a launch is seen, too.
const CLUSTERS: i64 = 3;
/// As [`MOST`], for a pattern whose levels are not chosen for numbers of rounds ([`Pattern::decides_levels`]).
const FEWER: usize = 12;
/// The number of values from which a search for a goal starts: the smallest ones, then drawn ones.
const STARTS: usize = 16;

/// Returns the launches to follow, those with fewer rounds first. Empty if no launch is found.
pub(crate) fn launches(protocol: &Protocol, known: &Launchable) -> Vec<Launch> {
    let known = with_counters(known);
    let mut launches: Vec<Launch> = Vec::new();
    for pattern in pattern::patterns(protocol, &wanted(protocol)) {
        let mut search = Search::new(protocol, &known, pattern);
        search.run();
        add_new(&mut launches, search.launches);
    }
    launches.sort_by_key(|launch| launch.counts.iter().map(|(_, count)| *count).sum::<i64>());
    launches
}

/// Returns launches for the loops and conditions that `coverage` lacks, found by drawing values. Records the most rounds of the drawn
/// launches in `coverage`.
pub(crate) fn more(protocol: &Protocol, known: &Launchable, coverage: &mut Coverage) -> Vec<Launch> {
    if !coverage.is_open() {
        return Vec::new();
    }
    let known = with_counters(known);
    let mut launches = Vec::new();
    for pattern in pattern::patterns(protocol, &wanted(protocol)) {
        let search = Search::new(protocol, &known, pattern);
        add_new(&mut launches, search.drawn(protocol, coverage));
    }
    launches
}

/// Returns launches for the cases and conditions that `coverage` lacks, found by changing values until they are there. Notes in
/// `coverage` the goals that no launch reaches.
pub(crate) fn aimed(protocol: &Protocol, known: &Launchable, coverage: &mut Coverage) -> Vec<Launch> {
    let known = with_counters(known);
    let goals = coverage.goals();
    if goals.is_empty() {
        return Vec::new();
    }
    let (mut launches, mut missed): (Vec<Launch>, BTreeSet<usize>) = (Vec::new(), (0..goals.len()).collect());
    // Data that vary without a plan reach no goal.
    let patterns = pattern::patterns(protocol, &[]);
    for pattern in patterns.into_iter().filter(|pattern| pattern.decides_levels()) {
        let mut search = Search::new(protocol, &known, pattern);
        missed.retain(|at| !search.aim(&goals[*at]));
        add_new(&mut launches, search.launches);
    }
    missed.into_iter().for_each(|at| coverage.give_up(&goals[at]));
    launches
}

/// Returns launches in which roles differ in how often they come to pipelines and barriers.
pub(crate) fn uneven(protocol: &Protocol, known: &Launchable) -> Vec<Launch> {
    let known = with_counters(known);
    Search::new(protocol, &known, Pattern::Flat).uneven(protocol)
}

/// Returns the symbols of the bounds of loops and of conditions.
pub(crate) fn deciding(protocol: &Protocol, known: &Launchable) -> BTreeSet<Symbol> {
    let found = Found::of(protocol, known, Pattern::Flat);
    found.counts.iter().flat_map(Expr::symbols).chain(found.conds.iter().flat_map(Cond::symbols)).collect()
}

fn with_counters(known: &Launchable) -> Launchable {
    let mut known = known.clone();
    known.requires.extend(known.drawn.iter().map(Drawn::requirement));
    known.given.extend(known.drawn.iter().flat_map(Drawn::given));
    known
}

fn add_new(launches: &mut Vec<Launch>, more: Vec<Launch>) {
    for launch in more {
        if !launches.contains(&launch) {
            launches.push(launch);
        }
    }
}

struct Search<'a> {
    known: &'a Launchable,
    space: Space<'a>,
    /// Whether conditions or counts depend on the numbers of a counter.
    numbers_decide: bool,
    /// The sets of loop counts that share no symbol, so that each is chosen on its own.
    choices: Vec<Choice>,
    /// All loop counts in terms of launch symbols.
    all: Vec<Expr>,
    /// The conditions of the statements, in terms of launch symbols.
    conds: Vec<Cond>,
    /// The numbers of rounds that matter, in the order of importance.
    wanted: Vec<i64>,
    pattern: Pattern,
    /// Whether blocks of a cluster share copies.
    multicast: bool,
    launches: Vec<Launch>,
}

/// Loop counts that the same symbols decide.
struct Choice {
    counts: Vec<Expr>,
    symbols: Vec<Symbol>,
}

impl<'a> Search<'a> {
    fn new(protocol: &Protocol, known: &'a Launchable, pattern: Pattern) -> Search<'a> {
        let found = Found::of(protocol, known, pattern);
        let mut sorted: Vec<&Expr> = found.counts.iter().collect();
        sorted.sort_by_key(|count| count.symbols().len());
        let (mut choices, mut used): (Vec<Choice>, BTreeSet<Symbol>) = Default::default();
        let is_given = |symbol: &Symbol| known.given.iter().any(|(given, _)| given == symbol);
        for count in sorted {
            let own: Vec<Symbol> = count.symbols().difference(&used).cloned().collect();
            let mut chosen: Vec<Symbol> = own.into_iter().filter(|symbol| !is_given(symbol)).collect();
            // The index of a block is the last to change: the first block of a launch is as good as any other.
            chosen.sort_by_key(|symbol| matches!(symbol, Symbol::BlockIdx(_)));
            used.extend(count.symbols());
            let decides = |choice: &&mut Choice| choice.symbols.iter().any(|symbol| count.mentions(symbol));
            if !chosen.is_empty() {
                choices.push(Choice { counts: vec![count.clone()], symbols: chosen });
            } else if let Some(choice) = choices.iter_mut().rev().find(decides) {
                choice.counts.push(count.clone());
            }
        }
        let in_counts = choices.iter().flat_map(|choice| choice.symbols.iter().cloned()).collect();
        let mut multicast = false;
        protocol.visit(&mut |stmt| {
            multicast |= matches!(stmt, Stmt::Act(_, Act::Fill { multicast: Some(_), .. }));
        });
        let numbers_decide = known.drawn.iter().any(|drawn| drawn.decides(protocol));
        Search {
            known,
            space: Space::new(known, found.symbols, in_counts),
            numbers_decide,
            choices,
            all: found.counts,
            conds: found.conds,
            wanted: wanted(protocol),
            pattern,
            multicast,
            launches: Vec::new(),
        }
    }

    fn run(&mut self) {
        let start = self.space.start();
        if self.choices.is_empty() {
            self.add(&start);
        }
        let most = if self.pattern.decides_levels() { MOST } else { FEWER };
        // The launch with the most rounds. A release that a branch skips shows only after a ring has wrapped around.
        let mut longest: Option<(i64, Values)> = None;
        let mut tried = vec![start.clone()];
        for wanted in self.combinations(most) {
            let rounds = wanted.iter().map(|(_, wanted)| *wanted).sum::<i64>();
            let (mut values, mut fixed) = (start.clone(), BTreeSet::new());
            for (choice, (which, wanted)) in self.choices.iter().zip(wanted) {
                let count = &choice.counts[which];
                if let Some(found) = self.space.reach(count, &choice.symbols, wanted, &values, &fixed) {
                    values = found;
                }
                fixed.extend(choice.symbols.iter().cloned());
            }
            self.add(&values);
            if longest.as_ref().is_none_or(|(most, _)| rounds > *most) {
                longest = Some((rounds, values.clone()));
            }
            tried.push(values.clone());
            // The last block of the grid can have fewer rounds than the first.
            if let Some(last) = self.last_block(&values) {
                self.add(&last);
            }
        }
        let longest = longest.map(|(_, values)| values).filter(|values| *values != start);
        if self.multicast && self.pattern.decides_levels() {
            tried.iter().for_each(|values| self.other_clusters(values));
        }
        for cond in self.conds.clone() {
            // Lengths and indices decide rounds and conditions together; data decide a condition in any launch.
            let longest = longest.as_ref().filter(|_| cond.symbols().iter().any(is_level));
            for cond in [cond.clone().negate(), cond] {
                for values in [Some(&start), longest].into_iter().flatten() {
                    if let Some(values) = self.space.satisfied(values, &cond) {
                        self.add(&values);
                    }
                }
            }
        }
    }

    /// Adds a launch that reaches a goal. Returns false if none is found.
    fn aim(&mut self, goal: &Goal) -> bool {
        let all: Vec<Cond> = goal.conds.iter().chain(&goal.around).cloned().collect();
        for conds in self.of_ranks(&all) {
            if let Some(values) = self.reaching(&conds, &goal.counters) {
                self.add(&values);
                return true;
            }
        }
        // The locals in the conditions may have other values than their first ones.
        if let Some(values) = self.reaching(&goal.conds, &goal.counters) {
            self.add(&values);
        }
        let start = self.space.start();
        for constant in goal.constants.iter().filter(|constant| **constant <= periods::LONGEST) {
            for at in 0..self.choices.len() {
                let Choice { counts, symbols } = &self.choices[at];
                let rounds = constant + 2;
                let reach = |count| self.space.reach(count, symbols, rounds, &start, &BTreeSet::new());
                let found: Vec<Values> = counts.iter().filter_map(reach).collect();
                found.iter().for_each(|values| self.add(values));
            }
        }
        false
    }

    /// Returns conditions as they are in each block of a cluster, in terms of the index of its first block.
    fn of_ranks(&self, conds: &[Cond]) -> Vec<Vec<Cond>> {
        let mut ranks: Vec<[i64; 3]> = vec![[0; 3]];
        for axis in 0..3 {
            let size = self.space.cluster(axis as u8);
            let uses = |cond: &Cond| cond.symbols().contains(&Symbol::BlockIdx(axis as u8));
            if size > 1 && conds.iter().any(uses) {
                let with = |rank: &[i64; 3]| {
                    let mut rank = *rank;
                    (0..size)
                        .map(|at| {
                            rank[axis] = at;
                            rank
                        })
                        .collect::<Vec<_>>()
                };
                ranks = ranks.iter().flat_map(with).collect();
            }
        }
        let of = |rank: &[i64; 3]| {
            let index = |symbol: &Symbol| match symbol {
                Symbol::BlockIdx(axis) => {
                    Some(Expr::symbol(symbol.clone()) + Expr::constant(rank[usize::from(*axis).min(2)]))
                }
                _ => None,
            };
            let expr = |expr: &Expr| expr.substitute(&self.known.facts, &index);
            conds.iter().map(|cond| expansion::mapped(cond, &expr)).collect()
        };
        ranks.iter().map(of).collect()
    }

    /// Returns values with which conditions hold for some values of counters; `None` if none are found.
    fn reaching(&self, conds: &[Cond], counters: &[Symbol]) -> Option<Values> {
        let space = self.space.with(counters);
        let conds = conds.iter().cloned().fold(Cond::True, Cond::and);
        let mut numbers = Numbers(1);
        for start in 0..STARTS {
            let values = space.start();
            let mut values = if start == 0 { values } else { self.varied(&values, &mut numbers) };
            values.extend(counters.iter().map(|counter| (counter.clone(), 0)));
            if let Some(mut values) = space.satisfied(&values, &conds) {
                counters.iter().for_each(|counter| _ = values.remove(counter));
                return Some(values);
            }
        }
        None
    }

    /// Adds launches seen from other clusters than the first: `block_idx / 3` is the same in the first two blocks, and differs between
    /// the next two; `block_idx > k` differs where the blocks of a cluster have `k` between them.
    fn other_clusters(&mut self, start: &Values) {
        for axis in 0..self.known.grid.len() as u8 {
            let size = self.space.cluster(axis);
            for number in (1..=CLUSTERS).filter(|_| size > 1) {
                let index = Expr::symbol(Symbol::BlockIdx(axis));
                let there = Cond::Cmp(CmpOp::Eq, index, Expr::constant(number * size));
                if let Some(values) = self.space.satisfied(start, &there) {
                    self.add(&values);
                }
            }
        }
    }

    /// Returns the combinations to try: for each choice the position of a loop count, and its number of rounds. If there are
    /// more than `most`, the longest lists lose their last numbers, which are then tried one by one.
    fn combinations(&self, most: usize) -> Vec<Vec<(usize, i64)>> {
        if self.choices.is_empty() {
            return Vec::new();
        }
        let list = |choice: &Choice| -> Vec<(usize, i64)> {
            let counts = choice.counts.len();
            self.wanted.iter().flat_map(|wanted| (0..counts).map(|which| (which, *wanted))).collect()
        };
        let full: Vec<Vec<(usize, i64)>> = self.choices.iter().map(list).collect();
        let mut lists = full.clone();
        while lists.iter().map(Vec::len).product::<usize>() > most {
            let longest = lists.iter_mut().rev().max_by_key(|list| list.len());
            match longest {
                Some(list) if list.len() > 1 => _ = list.pop(),
                _ => break,
            }
        }
        let mut combinations: Vec<Vec<(usize, i64)>> = vec![Vec::new()];
        for list in &lists {
            let with = |so_far: &Vec<(usize, i64)>| -> Vec<Vec<(usize, i64)>> {
                list.iter().map(|value| [so_far.as_slice(), &[*value]].concat()).collect()
            };
            combinations = combinations.iter().flat_map(with).take(most).collect();
        }
        // The numbers that were left out are tried with one number of the other loops each.
        for (at, (list, kept)) in full.iter().zip(&lists).enumerate() {
            for value in &list[kept.len()..] {
                let mut one: Vec<(usize, i64)> = lists.iter().map(|list| list[0]).collect();
                one[at] = *value;
                combinations.push(one);
            }
        }
        combinations
    }

    /// Adds the launch with these values, and its variants, if their conditions can be made to hold.
    fn add(&mut self, values: &Values) {
        let Some(values) = self.space.mended(values) else { return };
        let mut variants = vec![(values.clone(), false)];
        if !self.known.drawn.is_empty() && self.known.cluster.iter().product::<i64>() > 1 {
            variants.push((values.clone(), true));
        }
        let mut last = values;
        if self.numbers_decide && self.known.drawn.iter().any(|drawn| drawn.last_numbers(&mut last)) {
            variants.push((last, false));
        }
        for (values, fewer) in variants {
            if let Some(launch) = self.launch(&values, fewer)
                && !self.launches.contains(&launch)
                && self.launches.len() < 2 * MOST
            {
                self.launches.push(launch);
            }
        }
    }

    /// Returns the launch, or `None` if it cannot be made. `fewer`: the last block of the cluster draws fewer numbers.
    fn launch(&self, values: &Values, fewer: bool) -> Option<Launch> {
        let values = self.space.complete(values)?;
        if !self.space.is_possible(&values) {
            return None;
        }
        let mut blocks = vec![values.clone()];
        for axis in 0..self.known.grid.len() as u8 {
            let first = values.get(&Symbol::BlockIdx(axis)).copied().unwrap_or(0);
            let size = self.space.cluster(axis);
            let all = blocks.iter().flat_map(|block| {
                (0..size).map(|rank| {
                    let mut block = block.clone();
                    block.insert(Symbol::BlockIdx(axis), first + rank);
                    block
                })
            });
            blocks = all.collect();
        }
        for (rank, block) in (0..).zip(&mut blocks) {
            self.known.drawn.iter().for_each(|drawn| drawn.place(rank, fewer, block));
        }
        let count = |count: &Expr| Some((count.to_string(), self.space.eval(count, &values)?.max(0)));
        let counts = self.all.iter().filter_map(count).collect();
        Some(Launch { blocks, counts, pattern: self.pattern })
    }

    /// Returns the same launch seen from its last cluster along the first axis; `None` if no loop count depends on the index of
    /// the block along it, or if the axis has one cluster.
    fn last_block(&self, values: &Values) -> Option<Values> {
        let first = Symbol::BlockIdx(0);
        let used = self.all.iter().any(|count| count.mentions(&first));
        let blocks = self.space.eval(self.known.grid.first()?, &self.space.complete(values)?)?;
        let size = self.space.cluster(0);
        let mut values = values.clone();
        (used && blocks > size).then(|| {
            values.insert(first, blocks - size);
            values
        })
    }
}

/// Returns the numbers of rounds that matter for the rings and the slots of a protocol, the most telling first.
fn wanted(protocol: &Protocol) -> Vec<i64> {
    let mut wanted: Vec<i64> = Vec::new();
    let stages: BTreeSet<i64> = protocol.pipes.iter().map(|pipe| i64::from(pipe.stages)).collect();
    let lists = stages.iter().map(|s| vec![s + 1, 1, 0, 2 * s + 1, *s, s - 1, s + 2, 2]);
    let again: Vec<Vec<i64>> =
        periods::rounds(protocol, protocol).into_iter().map(|rounds| vec![rounds]).collect();
    let lists: Vec<Vec<i64>> = if stages.is_empty() { vec![vec![3, 1, 0, 2, 4, 5]] } else { lists.collect() };
    for at in 0..8 {
        for list in lists.iter().chain(&again) {
            if let Some(number) = list.get(at)
                && !wanted.contains(number)
            {
                wanted.push(*number);
            }
        }
    }
    wanted
}
