//! The number of padded elements that enter a result of one launch.

use std::collections::BTreeSet;

use hx_index::{Expr, Symbol};
use hx_tile::{Control, OpId, Rounds, Stmt, TensorId, TileProgram};

use super::region::{axis_of, variable};
use super::{Mixture, PaddingConsumer};

/// The most elements and rounds that are counted one by one.
const MOST: u64 = 1 << 22;

/// The values of the symbols in a launch.
type Env<'e> = &'e dyn Fn(&Symbol) -> Option<i64>;

impl Mixture {
    /// Returns the number of padded elements that enter one element of the operation's result; the largest such number if the
    /// results differ. `env` has the dimensions and the index of the block. `None` if the number depends on data.
    pub(crate) fn count(&self, program: &TileProgram, env: Env<'_>) -> Option<u64> {
        let combined = match self.consumer {
            PaddingConsumer::Reduce { axis, .. } | PaddingConsumer::Scan { axis } => Some(axis),
            PaddingConsumer::Product => self.region.axes().last().copied(),
            PaddingConsumer::Atomic(_)
            | PaddingConsumer::Cluster
            | PaddingConsumer::Rounds
            | PaddingConsumer::Elements(_)
            | PaddingConsumer::Index => None,
        };
        let symbols: BTreeSet<Symbol> = self.region.symbols();
        let counters: Vec<Symbol> = symbols
            .iter()
            .filter(|s| axis_of(s).is_none() && matches!(s, Symbol::Var(..)))
            .cloned()
            .collect();
        let mut axes: Vec<usize> = self.region.axes().into_iter().collect();
        // The axis that the operation combines is counted last: padding along it is summed, and the other axes are searched for
        // the largest sum.
        axes.retain(|axis| Some(*axis) != combined);
        let others: u64 = axes.iter().map(|axis| self.extent(*axis)).product();
        let mut most = None;
        for number in 0..others.min(MOST) {
            let mut rest = number as i64;
            let mut at: Vec<(Symbol, i64)> = Vec::new();
            for axis in &axes {
                let extent = self.extent(*axis) as i64;
                at.push((super::along(*axis), rest % extent));
                rest /= extent;
            }
            let total = self.rounds(program, &counters, &mut at, combined, env)?;
            most = most.max(Some(total));
        }
        most
    }

    fn extent(&self, axis: usize) -> u64 {
        self.shape.get(axis).map_or(1, |extent| (*extent).max(1) as u64)
    }

    /// Adds up the elements of all rounds of the loops whose counters the region mentions; `None` if their number is not known.
    fn rounds(
        &self,
        program: &TileProgram,
        counters: &[Symbol],
        at: &mut Vec<(Symbol, i64)>,
        combined: Option<usize>,
        env: Env<'_>,
    ) -> Option<u64> {
        let Some((counter, rest)) = counters.split_first() else { return self.elements(at, combined, env) };
        let (start, end) = range_of(&program.body, &variable(counter))?;
        let value = |e: &Expr, at: &[(Symbol, i64)]| {
            let known = |s: &Symbol| {
                at.iter().find(|(own, _)| variable(own) == *s).map(|(_, v)| *v).or_else(|| env(s))
            };
            e.eval(&known).ok()
        };
        let (start, end) = (value(start, at)?, value(end, at)?);
        if end.checked_sub(start)? > 1 << 16 {
            return None;
        }
        let mut total = 0;
        for round in start..end {
            at.push((counter.clone(), round));
            let found = self.rounds(program, rest, at, combined, env);
            at.pop();
            total += found?;
        }
        Some(total)
    }

    fn elements(&self, at: &[(Symbol, i64)], combined: Option<usize>, env: Env<'_>) -> Option<u64> {
        let mut total = 0;
        let coordinates = combined.map_or(1, |axis| self.extent(axis) as i64);
        for coordinate in 0..coordinates {
            let known = |s: &Symbol| match axis_of(s) {
                Some(axis) if Some(axis) == combined => Some(coordinate),
                _ => at.iter().find(|(own, _)| own == s).map(|(_, v)| *v).or_else(|| env(s)),
            };
            let inside = self.region.0.iter().map(|e| e.eval(&known).ok().map(|value| value >= 0));
            total += u64::from(inside.collect::<Option<Vec<bool>>>()?.iter().all(|inside| *inside));
        }
        Some(total)
    }
}

/// Returns the bounds, `start..end`, of the loop over a range that counts with a symbol; `None` if there is no such loop.
fn range_of<'p>(stmts: &'p [Stmt], counter: &Symbol) -> Option<(&'p Expr, &'p Expr)> {
    stmts.iter().find_map(|stmt| match stmt {
        Stmt::Control(Control::For { var, rounds: Rounds::Range { start, end, .. }, .. })
            if var == counter =>
        {
            Some((start, end))
        }
        other => other.bodies().find_map(|body| range_of(body, counter)),
    })
}

/// Reports whether the result of operation `from` contributes to a tensor of operation `to` by way of registers and shared
/// memory, or the two are one operation.
pub(crate) fn leads_to(program: &TileProgram, from: OpId, to: OpId) -> bool {
    let ops = program.ops(1.0);
    let Some(last) = program.op(to) else { return false };
    let mut open: Vec<TensorId> = last.kind.tensors().into_iter().collect();
    let mut seen: BTreeSet<TensorId> = open.iter().copied().collect();
    if from == to {
        return true;
    }
    while let Some(tensor) = open.pop() {
        for (op, _) in &ops {
            let writes = op.kind.description().accesses.iter().any(|access| {
                let local = access.base().tensor() == Some(tensor);
                local && access.mode.writes()
            });
            if !writes {
                continue;
            }
            if op.id == from {
                return true;
            }
            open.extend(op.kind.tensors().into_iter().filter(|tensor| seen.insert(*tensor)));
        }
    }
    false
}
