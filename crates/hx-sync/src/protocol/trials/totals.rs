//! Launches in which the roles differ in how often they come to pipelines and barriers.
//!
//! The loops of two roles may have bounds of different forms that agree in almost all launches: `(m + 254) / 256` is one round less than
//! `cdiv(m, 256)` if `m % 256` is 1. The numbers of rounds are cheap to compute, so many lengths are tried, and launches are followed
//! that show a new difference between the roles.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Cond, Expr, Symbol};

use super::sample::Numbers;
use super::space::Values;
use super::{Act, Choice, Launch, Protocol, Role, Search, Stmt, periods};

/// The most launches that are followed because they show a new difference.
const MOST: usize = 8;
/// The most rounds of loops that are counted one by one in a launch.
const ROUNDS: u32 = 2048;
/// The most values that are tried for a symbol from each start.
const VALUES: i64 = 2048;
/// The most blocks that are tried along an axis.
const BLOCKS: i64 = 64;
/// The most rounds of loops that are tried one after the other.
const VISITED: i64 = 200;
/// The number of starts that are drawn: values of the other symbols.
const STARTS: usize = 4;

/// A kind of act that others wait for. The acts of each kind are counted for each role.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Acquire(u32),
    Wait(u32),
    Release(u32),
    Come(u32),
    Take(u32),
    Pass(u32),
}

type Totals = BTreeMap<Event, i64>;

impl Search<'_> {
    /// Returns launches with different differences between the roles; none if all roles have the same bounds and conditions.
    pub(super) fn uneven(&self, protocol: &Protocol) -> Vec<Launch> {
        if are_alike(protocol) {
            return Vec::new();
        }
        let mut known: BTreeSet<Vec<i64>> = BTreeSet::new();
        let mut launches = Vec::new();
        let mut see = |values: &Values| {
            if launches.len() >= MOST {
                return;
            }
            let Some(values) = self.space.complete(values).filter(|values| self.space.is_possible(values))
            else {
                return;
            };
            if let Some(differences) = differences(protocol, &values)
                && !known.contains(&differences)
                && let Some(launch) = self.launch(&values, false)
            {
                known.insert(differences);
                launches.push(launch);
            }
        };
        let start = self.space.start();
        let mut numbers = Numbers(2);
        for at in 0..=STARTS {
            let values = if at == 0 { start.clone() } else { self.varied(&start, &mut numbers) };
            let Some(values) = self.space.mended(&values) else { continue };
            see(&values);
            for symbol in self.symbols_of_counts() {
                for value in self.tried(&symbol) {
                    let mut values = values.clone();
                    values.insert(symbol.clone(), value);
                    // A block with a large number needs a large grid.
                    match symbol {
                        Symbol::BlockIdx(_) => {
                            let fixed = BTreeSet::from([symbol.clone()]);
                            self.space.mended_but(&values, &fixed, &[]).iter().for_each(&mut see);
                        }
                        _ => see(&values),
                    }
                }
            }
        }
        for rounds in 0..=telling_rounds(protocol) {
            for Choice { counts, symbols } in &self.choices {
                let reach = |count| self.space.reach(count, symbols, rounds, &start, &BTreeSet::new());
                counts.iter().filter_map(reach).for_each(|values| see(&values));
            }
        }
        launches
    }

    /// Returns the symbols that decide numbers of rounds, without those that are given.
    fn symbols_of_counts(&self) -> Vec<Symbol> {
        let is_given = |symbol: &Symbol| self.known.given.iter().any(|(given, _)| given == symbol);
        let all: BTreeSet<Symbol> = self.all.iter().flat_map(Expr::symbols).collect();
        all.into_iter().filter(|symbol| !is_given(symbol)).collect()
    }

    /// Returns the values that are tried for a symbol: those of several periods of the quotients and remainders.
    fn tried(&self, symbol: &Symbol) -> Vec<i64> {
        let step = self.space.step(symbol);
        let periods = self.all.iter().filter(|count| count.mentions(symbol)).flat_map(Expr::periods);
        let longest = periods.max().unwrap_or(1);
        let count = (8 * longest / step + 2).clamp(16, VALUES);
        let (first, count) = match symbol {
            Symbol::BlockIdx(_) => (0, (2 * longest).clamp(8, BLOCKS)),
            Symbol::Scalar(_) => (-8, count),
            _ => (0, count),
        };
        let values = (first..count).map(|multiple| multiple * step);
        values.filter(|value| self.space.allowed(symbol, *value) == *value).collect()
    }
}

/// Returns the number of rounds up to which conditions on the counters of loops show all their differences, or [`VISITED`].
fn telling_rounds(protocol: &Protocol) -> i64 {
    let mut least = 0;
    protocol.visit(&mut |stmt| {
        if let Stmt::If { cond, .. } = stmt
            && stmt.counts()
        {
            let mut constants = BTreeSet::new();
            periods::constants(cond, &mut constants);
            let periods = periods::exprs(cond).into_iter().flat_map(Expr::periods);
            least = constants.into_iter().chain(periods).fold(least, i64::max);
        }
    });
    if least == 0 { 0 } else { (2 * least + 2).min(VISITED) }
}

/// Reports whether all roles have the same bounds of loops and the same conditions, and none depends on the number of a group.
pub(crate) fn are_alike(protocol: &Protocol) -> bool {
    let names_group = |role: &Role| {
        role.index.as_ref().is_some_and(|index| {
            let body = Protocol { body: role.body.clone(), ..Protocol::default() };
            let mut names = false;
            body.visit(&mut |stmt| names |= stmt.counts() && decides(stmt, index));
            names
        })
    };
    if protocol.roles.iter().any(names_group) {
        return false;
    }
    let mut all = protocol.roles.iter().map(|role| {
        let mut decisions: Vec<String> = Vec::new();
        let body = Protocol { body: role.body.clone(), ..Protocol::default() };
        body.visit(&mut |stmt| match stmt {
            Stmt::For { start, end, .. } if stmt.counts() => decisions.push(format!("{start}..{end}")),
            Stmt::If { cond, .. } | Stmt::While { cond, .. } if stmt.counts() => {
                decisions.push(cond.to_string())
            }
            Stmt::For { .. } | Stmt::If { .. } | Stmt::While { .. } | Stmt::Act(..) => {}
            Stmt::Let { .. } | Stmt::Assign { .. } | Stmt::Number { .. } | Stmt::Value(_) => {}
        });
        decisions.sort();
        decisions
    });
    let first = all.next();
    all.all(|decisions| Some(decisions) == first)
}

/// Returns the differences between what the roles, and the groups of a role with `each`, do with each pipeline and barrier; `None` if they are not known.
fn differences(protocol: &Protocol, values: &Values) -> Option<Vec<i64>> {
    let of = |(role, group): (&Role, u32)| {
        let mut counter = Counter { values, locals: Vec::new(), left: ROUNDS, totals: Totals::new() };
        counter.body(&protocol.body, 1)?;
        counter.locals.extend(role.index.clone().map(|index| (index, i64::from(group))));
        counter.body(&role.body, 1)?;
        Some(counter.totals)
    };
    let groups = |role: &Role| if role.each { role.groups } else { 1 };
    let all = protocol.roles.iter().flat_map(|role| (0..groups(role)).map(move |group| (role, group)));
    let totals = all.map(of).collect::<Option<Vec<Totals>>>()?;
    let mut differences = Vec::new();
    for (at, one) in totals.iter().enumerate() {
        for other in &totals[..=at] {
            for (event, count) in one {
                let others: Vec<Event> = match *event {
                    Event::Acquire(pipe) => vec![Event::Wait(pipe)],
                    Event::Wait(pipe) => vec![Event::Acquire(pipe), Event::Release(pipe)],
                    Event::Take(turns) => vec![Event::Pass(turns)],
                    Event::Come(_) => vec![*event],
                    Event::Release(_) | Event::Pass(_) => Vec::new(),
                };
                differences.extend(others.iter().filter_map(|event| other.get(event)).map(|n| count - n));
            }
        }
    }
    Some(differences)
}

/// Counts the events of a role.
struct Counter<'a> {
    values: &'a Values,
    locals: Vec<(Symbol, i64)>,
    /// The rounds that are still counted one by one.
    left: u32,
    totals: Totals,
}

impl Counter<'_> {
    fn symbol(&self, symbol: &Symbol) -> Option<i64> {
        let local = self.locals.iter().rev().find(|(local, _)| local == symbol);
        local.map(|(_, value)| *value).or_else(|| self.values.get(symbol).copied())
    }

    fn value(&self, expr: &Expr) -> Option<i64> {
        expr.eval(&|symbol| self.symbol(symbol)).ok()
    }

    fn holds(&self, cond: &Cond) -> Option<bool> {
        cond.eval(&|symbol| self.symbol(symbol)).ok()
    }

    /// Counts the events of statements that run `times` times. `None` if the launch does not decide them, or if there are too many.
    fn body(&mut self, body: &[Stmt], times: i64) -> Option<()> {
        body.iter().try_for_each(|stmt| self.stmt(stmt, times))
    }

    fn stmt(&mut self, stmt: &Stmt, times: i64) -> Option<()> {
        match stmt {
            Stmt::Act(_, act) => {
                if let Some(event) = event(act) {
                    *self.totals.entry(event).or_default() += times;
                }
            }
            Stmt::For { var, start, end, body } if stmt.counts() => {
                let (first, last) = (self.value(start)?, self.value(end)?);
                self.rounds(var, first..last, body, times)?;
            }
            Stmt::If { cond, then, otherwise } if stmt.counts() => {
                let taken = if self.holds(cond)? { then } else { otherwise };
                self.body(taken, times)?;
            }
            Stmt::Let { var, value } => {
                if let Some(value) = self.value(value) {
                    self.locals.push((var.clone(), value));
                }
            }
            // A local that changes, or that data decide, is not known from here on.
            Stmt::Assign { var, .. } | Stmt::Number { var, .. } => {
                self.locals.retain(|(local, _)| local != var)
            }
            Stmt::While { .. } if stmt.counts() => return None,
            Stmt::For { .. } | Stmt::If { .. } | Stmt::While { .. } | Stmt::Value(_) => {}
        }
        Some(())
    }

    fn rounds(&mut self, var: &Symbol, all: std::ops::Range<i64>, body: &[Stmt], times: i64) -> Option<()> {
        if all.is_empty() {
            return Some(());
        }
        let depth = self.locals.len();
        // Rounds that do not depend on their counter are all alike.
        let alike = !body.iter().any(|stmt| decides(stmt, var));
        let counted = if alike { all.start..all.start + 1 } else { all.clone() };
        let times = if alike { times.checked_mul(all.end - all.start)? } else { times };
        for counter in counted {
            self.left = self.left.checked_sub(1)?;
            self.locals.push((var.clone(), counter));
            self.body(body, times)?;
            self.locals.truncate(depth);
        }
        Some(())
    }
}

/// Reports whether a counter, or a local inside its loop, may decide a statement inside.
fn decides(stmt: &Stmt, counter: &Symbol) -> bool {
    match stmt {
        Stmt::For { start, end, body, .. } => {
            start.mentions(counter) || end.mentions(counter) || body.iter().any(|stmt| decides(stmt, counter))
        }
        Stmt::If { cond, .. } | Stmt::While { cond, .. } => {
            cond.symbols().contains(counter) || stmt.bodies().flatten().any(|stmt| decides(stmt, counter))
        }
        Stmt::Let { value, .. } => value.mentions(counter),
        Stmt::Assign { .. } | Stmt::Number { .. } => true,
        Stmt::Act(..) | Stmt::Value(_) => false,
    }
}

fn event(act: &Act) -> Option<Event> {
    match act {
        Act::Acquire { pipe, .. } => Some(Event::Acquire(*pipe)),
        Act::Wait { pipe, .. } => Some(Event::Wait(*pipe)),
        Act::Release { pipe, .. } => Some(Event::Release(*pipe)),
        Act::Come { barrier, .. } => Some(Event::Come(*barrier)),
        Act::Take { turns } => Some(Event::Take(*turns)),
        Act::Pass { turns } => Some(Event::Pass(*turns)),
        Act::Publish { .. }
        | Act::Skip { .. }
        | Act::Fill { .. }
        | Act::Copy { .. }
        | Act::Commit
        | Act::WaitCopies { .. }
        | Act::Access { .. }
        | Act::Atomic { .. }
        | Act::AwaitFlag { .. }
        | Act::Touch { .. }
        | Act::Multiply(_)
        | Act::WaitProducts { .. }
        | Act::Store { .. }
        | Act::WaitStores { .. }
        | Act::Far { .. }
        | Act::Sync
        | Act::Meet { .. }
        | Act::SyncCluster => None,
    }
}
