//! Lowers prefetches line by line: the threads deal out the lines of the rows of a tile among each other.

use hx_index::{CmpOp, Cond, Expr};
use hx_tile::{Op, PrefetchChoice, View};

use super::layout::{digits, rolled};
use super::{LowerError, Lowering};
use crate::{Body, Fetched, Leaf, Prefetch, Stmt};

impl Lowering<'_> {
    /// Lowers a prefetch by lines. A row is the elements along the contiguous mode of the view; without such a mode each element is one.
    /// The first element of each line of a row stands for the line. If a row may begin within a line, its last element stands for one
    /// line more.
    pub(super) fn fetched_lines(
        &self,
        op: &Op,
        view: &View,
        choice: &PrefetchChoice,
    ) -> Result<Body, LowerError> {
        let param = view.base.param().and_then(|id| self.program.tensor_param(id));
        let param = param.ok_or_else(|| self.error(op, "a prefetch is of a tensor"))?;
        let line = i64::from(self.program.target.limits.line_bytes * 8 / param.dtype.bits()).max(1);
        let is_row = |mode: &&hx_tile::ViewMode| {
            mode.factor.as_const() == Some(1) && param.stride[mode.dim].as_const() == Some(1)
        };
        let row = view.modes.iter().position(|mode| is_row(&mode));
        let extent = row.map_or(1, |at| view.modes[at].extent);
        let mut facts = self.facts_of(op).clone();
        let steps = || view.modes.iter().enumerate().filter(|(at, _)| Some(*at) != row).map(|(_, mode)| mode);
        let starts = view.offsets.iter().zip(&param.stride).map(|(start, stride)| start * stride);
        let starts = starts.chain(steps().map(|mode| &mode.factor * &param.stride[mode.dim]));
        let is_aligned = starts.into_iter().all(|start| facts.divisor(&start) % line == 0);
        let lines =
            if row.is_none() { 1 } else { (extent + line - 1) / line + i64::from(!is_aligned && extent > 1) };
        // The lines of a row come fastest, so that neighbouring threads fetch neighbouring lines.
        let mut flat = vec![(lines, 0)];
        let others: Vec<usize> = (0..view.modes.len()).rev().filter(|at| Some(*at) != row).collect();
        flat.extend(others.iter().map(|at| (view.modes[*at].extent, 0)));
        let all: i64 = flat.iter().map(|(extent, _)| extent).product();
        let threads = i64::from(self.program.threads_of(op));
        let rounds = (all + threads - 1) / threads;
        let (counter, round) = self.step(op, 0, rounds, &mut facts);
        let number = Expr::symbol(hx_index::Symbol::Thread) + round.scale(threads);
        let mut guard = Cond::True;
        if all % threads != 0 {
            guard = Cond::cmp(CmpOp::Lt, number.clone(), Expr::constant(all), &facts);
        }
        let digits = digits(&number, &flat, &facts);
        let mut at = vec![Expr::default(); view.modes.len()];
        for (mode, digit) in others.iter().zip(&digits[1..]) {
            at[*mode] = digit.clone();
        }
        if let Some(row) = row {
            let first = digits[0].scale(line);
            let last = Expr::constant(extent - 1);
            at[row] = if (lines - 1) * line < extent { first } else { first.minimum(&last, &facts) };
        }
        let coordinates: Vec<Expr> = (0..view.offsets.len()).map(|dim| view.coordinate(dim, &at)).collect();
        let guard = guard.and(self.in_bounds(view, &coordinates, &facts));
        let address = self.address(op, view, &coordinates, &facts)?;
        let of = Fetched::Line { address, guard };
        let fetch = Stmt::Leaf(Leaf::Prefetch(Prefetch { row: choice.row, of }));
        Ok(rolled(&[(counter, rounds)], vec![fetch]))
    }
}
