//! Chooses launches with few rounds of each loop: those in which a ring is empty, not full, full and goes round.
//!
//! A launch is a value for every symbol, and every loop count follows from the values. So equal counts stay equal, and every
//! finding is of a launch that exists.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Expr, Symbol};

use super::{Act, Drawn, Launchable, Protocol, Stmt};

/// The most launches that are chosen.
const MOST: usize = 64;
/// The value of a symbol that bounds no loop of its own, like the number of multiprocessors.
const FEW: i64 = 4;
/// The largest power of two that is tried for such a symbol.
const GROWN: u32 = 13;
/// The longest chain of locals and counters that depend on each other.
const DEEPEST: usize = 16;

/// Loop counts, each with the expression that it is the value of.
pub type Counts = Vec<(String, i64)>;

/// A launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The values of the symbols in each block of the first cluster.
    pub(crate) blocks: Vec<BTreeMap<Symbol, i64>>,
    pub(crate) counts: Counts,
}

/// Returns the launches to follow, those with fewer rounds first. Empty if no launch is found.
pub(crate) fn launches(protocol: &Protocol, known: &Launchable) -> Vec<Launch> {
    let mut known = known.clone();
    known.requires.extend(known.drawn.iter().map(Drawn::requirement));
    known.given.extend(known.drawn.iter().flat_map(Drawn::given));
    let search = Search::new(protocol, &known);
    let numbers_decide = known.drawn.iter().any(|drawn| drawn.decides(protocol));
    let mut launches: Vec<Launch> = Vec::new();
    let mut add = |search: &Search<'_>, values: &BTreeMap<Symbol, i64>| {
        let Some(values) = search.grown(values) else { return };
        let mut variants = vec![(values.clone(), false)];
        if !known.drawn.is_empty() && known.cluster.iter().product::<i64>() > 1 {
            variants.push((values.clone(), true));
        }
        let mut last = values;
        if numbers_decide && known.drawn.iter().any(|drawn| drawn.last_numbers(&mut last)) {
            variants.push((last, false));
        }
        for (values, fewer) in variants {
            if let Some(launch) = search.launch(&values, fewer)
                && !launches
                    .iter()
                    .any(|known| known.counts == launch.counts && known.blocks == launch.blocks)
                && launches.len() < MOST
            {
                launches.push(launch);
            }
        }
    };
    if search.choices.is_empty() {
        add(&search, &search.start());
    }
    for wanted in search.combinations() {
        let mut values = search.start();
        for (choice, (which, wanted)) in search.choices.iter().zip(wanted) {
            search.reach(&choice.counts[which], &choice.symbols, wanted, &mut values);
        }
        add(&search, &values);
        // The last block of the grid can have fewer rounds than the first.
        if let Some(last) = search.last_block(&values) {
            add(&search, &last);
        }
    }
    launches.sort_by_key(|launch| launch.counts.iter().map(|(_, count)| *count).sum::<i64>());
    launches
}

struct Search<'a> {
    known: &'a Launchable,
    /// The symbols that have to have a value.
    symbols: BTreeSet<Symbol>,
    /// The sets of loop counts that share no symbol, so that each is chosen on its own.
    choices: Vec<Choice>,
    /// All loop counts in terms of launch symbols.
    all: Vec<Expr>,
    /// The numbers of rounds that matter, in the order of importance.
    wanted: Vec<i64>,
}

/// Loop counts that the same symbols decide.
struct Choice {
    counts: Vec<Expr>,
    symbols: Vec<Symbol>,
}

impl<'a> Search<'a> {
    fn new(protocol: &Protocol, known: &'a Launchable) -> Search<'a> {
        let mut found = Found::default();
        protocol.visit(&mut |stmt| found.stmt(stmt));
        let derived = |symbol: &Symbol| known.derived.iter().any(|(derived, _)| derived == symbol);
        let mut symbols = found.symbols.clone();
        // A derived symbol has no value of its own, and gives its loop counts those that it depends on.
        for expr in known.derived.iter().map(|(_, expr)| expr).chain(&known.grid) {
            symbols.extend(expr.symbols());
        }
        symbols.extend(known.requires.iter().flat_map(hx_index::Cond::symbols));
        symbols.retain(|symbol| !derived(symbol) && !matches!(symbol, Symbol::Var(..) | Symbol::Thread));
        let expand = |count: &Expr| {
            let value = |symbol: &Symbol| match symbol {
                Symbol::Var(..) => Some(found.first.get(symbol).cloned().unwrap_or_default()),
                symbol => known.derived.iter().find(|(derived, _)| derived == symbol).map(|(_, e)| e.clone()),
            };
            // A local depends on locals before it, and a counter can start at the value of another counter.
            let mut count = count.clone();
            for _ in 0..DEEPEST {
                if !count.symbols().iter().any(|symbol| value(symbol).is_some()) {
                    break;
                }
                count = count.substitute(&known.facts, &value);
            }
            count
        };
        let mut all: Vec<Expr> = Vec::new();
        for count in found.counts.iter().map(expand) {
            if count.as_const().is_none() && !all.contains(&count) {
                all.push(count);
            }
        }
        let mut sorted: Vec<&Expr> = all.iter().collect();
        sorted.sort_by_key(|count| count.symbols().len());
        let (mut choices, mut used): (Vec<Choice>, BTreeSet<Symbol>) = Default::default();
        for count in sorted {
            let own: Vec<Symbol> = count.symbols().difference(&used).cloned().collect();
            let is_free = |symbol: &Symbol| {
                let given = known.given.iter().any(|(given, _)| given == symbol);
                !given && !matches!(symbol, Symbol::BlockIdx(_))
            };
            let chosen: Vec<Symbol> = own.into_iter().filter(is_free).collect();
            used.extend(count.symbols());
            let decides = |choice: &&mut Choice| choice.symbols.iter().any(|symbol| count.mentions(symbol));
            if !chosen.is_empty() {
                choices.push(Choice { counts: vec![count.clone()], symbols: chosen });
            } else if let Some(choice) = choices.iter_mut().rev().find(decides) {
                choice.counts.push(count.clone());
            }
        }
        Search { known, symbols, choices, all, wanted: wanted(protocol) }
    }

    /// Returns the loop counts to try together, for each choice one with its number: all combinations, of fewer numbers if
    /// there are too many.
    fn combinations(&self) -> Vec<Vec<(usize, i64)>> {
        if self.choices.is_empty() {
            return Vec::new();
        }
        let list = |choice: &Choice| -> Vec<(usize, i64)> {
            let counts = choice.counts.len();
            self.wanted.iter().flat_map(|wanted| (0..counts).map(|which| (which, *wanted))).collect()
        };
        let mut lists: Vec<Vec<(usize, i64)>> = self.choices.iter().map(list).collect();
        while lists.iter().map(Vec::len).product::<usize>() > MOST {
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
            combinations = combinations.iter().flat_map(with).take(MOST).collect();
        }
        combinations
    }

    /// Returns the smallest usual value of every symbol.
    fn start(&self) -> BTreeMap<Symbol, i64> {
        let value = |symbol: &Symbol| {
            if let Some((_, value)) = self.known.given.iter().find(|(given, _)| given == symbol) {
                return (symbol.clone(), *value);
            }
            let least = if matches!(symbol, Symbol::BlockIdx(_)) { 0 } else { self.step(symbol) };
            let few = matches!(symbol, Symbol::Dim(_)) && !self.is_in_a_count(symbol);
            (symbol.clone(), self.allowed(symbol, if few { least.max(FEW) } else { least }))
        };
        self.symbols.iter().map(value).collect()
    }

    fn is_in_a_count(&self, symbol: &Symbol) -> bool {
        self.choices.iter().any(|choice| choice.symbols.contains(symbol))
    }

    /// Returns the number that divides every value of the symbol.
    fn step(&self, symbol: &Symbol) -> i64 {
        self.known.facts.divisor(&Expr::symbol(symbol.clone())).max(1)
    }

    /// Returns the least value from `value` on that the facts allow, or the greatest that they allow.
    fn allowed(&self, symbol: &Symbol, value: i64) -> i64 {
        let (low, high) = self.known.facts.range(&Expr::symbol(symbol.clone()));
        let step = self.step(symbol);
        let least = value.max(low.unwrap_or(value));
        let least = least.saturating_add((step - least.rem_euclid(step)) % step);
        high.map_or(least, |high| least.min(high))
    }

    /// Changes one of the symbols so that the count has the wanted value, if one does.
    fn reach(&self, count: &Expr, symbols: &[Symbol], wanted: i64, values: &mut BTreeMap<Symbol, i64>) {
        for symbol in symbols {
            let at = |value: i64| {
                let mut values = values.clone();
                values.insert(symbol.clone(), self.allowed(symbol, value));
                self.eval(count, &values).map(|count| (count, values))
            };
            // Counts grow with dimensions. The values are doubled until the count is large enough, then bisected.
            let step = self.step(symbol);
            let enough = |value: i64| at(value).is_some_and(|(count, _)| count >= wanted);
            let Some(high) = (0..24).map(|bits| step << bits).find(|value| enough(*value)) else { continue };
            let (mut low, mut high) = (-1, high / step);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if enough(middle * step) { high = middle } else { low = middle }
            }
            if let Some((_, found)) = at(high * step).filter(|(count, _)| *count == wanted) {
                *values = found;
                return;
            }
        }
    }

    fn eval(&self, expr: &Expr, values: &BTreeMap<Symbol, i64>) -> Option<i64> {
        expr.eval(&|symbol| values.get(symbol).copied()).ok()
    }

    /// Adds the values of derived symbols.
    fn complete(&self, values: &BTreeMap<Symbol, i64>) -> Option<BTreeMap<Symbol, i64>> {
        let mut values = values.clone();
        for (symbol, expr) in &self.known.derived {
            let value = self.eval(expr, &values)?;
            values.insert(symbol.clone(), value);
        }
        Some(values)
    }

    /// Returns the launch, or `None` if it cannot be made. `fewer`: the last block of the cluster draws fewer numbers.
    fn launch(&self, values: &BTreeMap<Symbol, i64>, fewer: bool) -> Option<Launch> {
        let values = self.complete(values)?;
        let holds = |cond: &hx_index::Cond| cond.eval(&|symbol| values.get(symbol).copied()) == Ok(true);
        if !self.known.requires.iter().all(holds) {
            return None;
        }
        let grid: Vec<i64> =
            self.known.grid.iter().map(|axis| self.eval(axis, &values)).collect::<Option<_>>()?;
        let mut blocks = vec![values.clone()];
        for (axis, blocks_of_axis) in (0u8..).zip(&grid) {
            let first = values.get(&Symbol::BlockIdx(axis)).copied().unwrap_or(0);
            let size = self.known.cluster.get(usize::from(axis)).copied().unwrap_or(1).max(1);
            if first + size > *blocks_of_axis || first % size != 0 {
                return None;
            }
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
        let count = |count: &Expr| Some((count.to_string(), self.eval(count, &values)?.max(0)));
        let counts = self.all.iter().filter_map(count).collect();
        Some(Launch { blocks, counts })
    }

    /// Returns the values of a launch, or larger values of the symbols that bound no loop: a grid has to fit its clusters.
    fn grown(&self, values: &BTreeMap<Symbol, i64>) -> Option<BTreeMap<Symbol, i64>> {
        let larger = |bits: u32| {
            let mut values = values.clone();
            for symbol in &self.symbols {
                let given = self.known.given.iter().any(|(given, _)| given == symbol);
                if matches!(symbol, Symbol::Dim(_)) && !given && !self.is_in_a_count(symbol) {
                    values.insert(symbol.clone(), self.allowed(symbol, 1 << bits));
                }
            }
            values
        };
        let all = std::iter::once(values.clone()).chain((3..=GROWN).map(larger));
        all.into_iter().find(|values| self.launch(values, false).is_some())
    }

    /// Returns the same launch seen from its last cluster along the first axis.
    fn last_block(&self, values: &BTreeMap<Symbol, i64>) -> Option<BTreeMap<Symbol, i64>> {
        let first = Symbol::BlockIdx(0);
        let used = self.all.iter().any(|count| count.mentions(&first));
        let blocks = self.eval(self.known.grid.first()?, &self.complete(values)?)?;
        let size = self.known.cluster.first().copied().unwrap_or(1).max(1);
        let mut values = values.clone();
        (used && blocks > size).then(|| {
            values.insert(first, blocks - size);
            values
        })
    }
}

/// Returns the numbers of rounds that matter for rings of these lengths, the most telling first.
fn wanted(protocol: &Protocol) -> Vec<i64> {
    let mut wanted: Vec<i64> = Vec::new();
    let stages: BTreeSet<i64> = protocol.pipes.iter().map(|pipe| i64::from(pipe.stages)).collect();
    let lists = stages.iter().map(|s| [s + 1, 1, 0, 2 * s + 1, *s, s - 1]);
    let lists: Vec<[i64; 6]> = if stages.is_empty() { vec![[3, 1, 0, 2, 4, 5]] } else { lists.collect() };
    for at in 0..6 {
        for list in &lists {
            if !wanted.contains(&list[at]) {
                wanted.push(list[at]);
            }
        }
    }
    wanted
}

/// The symbols that decide the statements of a protocol.
#[derive(Default)]
struct Found {
    counts: Vec<Expr>,
    symbols: BTreeSet<Symbol>,
    /// The first value of each counter and local.
    first: BTreeMap<Symbol, Expr>,
}

impl Found {
    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::For { var, start, end, .. } => {
                self.counts.push(end.clone() - start.clone());
                self.first.insert(var.clone(), start.clone());
                self.expr(start);
                self.expr(end);
            }
            Stmt::If { cond, .. } => self.symbols.extend(cond.symbols()),
            Stmt::Let { var, value } => {
                self.first.insert(var.clone(), value.clone());
                self.expr(value);
            }
            Stmt::Assign { value, .. } => self.expr(value),
            Stmt::Act(_, act) => self.act(act),
        }
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Skip { count, .. } => self.expr(count),
            Act::Fill { into, multicast, .. } => {
                into.iter().flat_map(|place| &place.ranges).for_each(|(start, _)| self.expr(start));
                multicast.iter().flat_map(|cast| &cast.source).for_each(|expr| self.expr(expr));
            }
            Act::Copy { into: place } | Act::Access { place, .. } => {
                place.ranges.iter().for_each(|(start, _)| self.expr(start));
            }
            Act::Store { from } => {
                from.iter().flat_map(|place| &place.ranges).for_each(|(start, _)| self.expr(start));
            }
            Act::Multiply(operands) => {
                let ranges = operands.shared.iter().flat_map(|place| &place.ranges);
                ranges.for_each(|(start, _)| self.expr(start));
            }
            Act::Acquire { .. }
            | Act::Wait { .. }
            | Act::Release { .. }
            | Act::Commit
            | Act::WaitCopies { .. }
            | Act::Touch { .. }
            | Act::WaitProducts { .. }
            | Act::WaitStores { .. }
            | Act::Take { .. }
            | Act::Pass { .. }
            | Act::Sync
            | Act::Meet { .. }
            | Act::SyncCluster => {}
        }
    }

    fn expr(&mut self, expr: &Expr) {
        self.symbols.extend(expr.symbols());
    }
}
