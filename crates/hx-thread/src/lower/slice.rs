//! Lowers parts of register tensors: renames registers, exchanges with another lane, or moves through shared memory.

use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_tile::{Op, SliceChoice, TensorId, View, tile_modes};

use super::copy::{in_tile, lowest_of_replicas};
use super::elementwise::element;
use super::layout::unrolled;
use super::{LowerError, Lowering};
use crate::{Address, Body, Convert, Exchange, Lane, Memory, Registers, Stmt, Transfer};

impl Lowering<'_> {
    pub(super) fn slice(
        &self,
        op: &Op,
        dst: TensorId,
        src: &View,
        choice: &SliceChoice,
    ) -> Result<Body, LowerError> {
        let id = src.register().ok_or_else(|| self.error(op, "a part of a register tensor was expected"))?;
        let Some(positions) = &choice.positions else { return self.through_shared(op, dst, id, src) };
        let walk = self.walk(op, dst)?;
        let own = self.own(op, dst, &walk)?;
        let mut from = element(self.array(op, id)?, positions, &walk.counters);
        from.base = from.base + Expr::constant(choice.first);
        if choice.lanes.is_empty() {
            let stmt = Stmt::Convert(Convert { row: None, dst: own, src: from });
            return Ok(unrolled(&walk.loops, vec![stmt]));
        }
        let thread = Expr::symbol(Symbol::Thread);
        let owner = choice.lanes.iter().fold(thread.clone(), |owner, (unit, extent, digit)| {
            owner + (Expr::constant(*digit) - self.digit(op, *unit, *extent)).scale(*unit)
        });
        let lane = owner.rem(&Expr::constant(i64::from(hx_target::WARP)), self.facts_of(op));
        let var = self.counter("lane", op, super::Local::Lane as u32);
        let row = self.exchange_row(op, hx_target::Reach::Lane)?;
        let exchange =
            Stmt::Exchange(Exchange { row, dst: own, src: from, lane: Lane::At(Expr::symbol(var.clone())) });
        let mut body = vec![Stmt::Let { var, value: lane }];
        body.extend(unrolled(&walk.loops, vec![exchange]));
        Ok(body)
    }

    /// Returns a digit of the thread's number.
    pub(super) fn digit(&self, op: &Op, unit: i64, extent: i64) -> Expr {
        let (thread, facts) = (Expr::symbol(Symbol::Thread), self.facts_of(op));
        thread.div(&Expr::constant(unit), facts).rem(&Expr::constant(extent), facts)
    }

    /// Moves a part through shared memory. The lowest thread that holds an element stores it; after a barrier each thread
    /// loads its own.
    pub(super) fn through_shared(
        &self,
        op: &Op,
        dst: TensorId,
        src: TensorId,
        view: &View,
    ) -> Result<Body, LowerError> {
        let buffer = *self
            .scratch
            .get(&op.id)
            .and_then(|b| b.first())
            .ok_or_else(|| self.error(op, "no shared memory to go through"))?;
        let dtype = self.program.tensor(dst).dtype;
        let shape = &self.program.tensor(dst).shape;
        let mut steps = vec![1; shape.len()];
        for d in (0..shape.len().saturating_sub(1)).rev() {
            steps[d] = steps[d + 1] * shape[d + 1];
        }
        let first = self.first_of_group(op, shape.iter().product());
        let address =
            |offset: Expr| Address { memory: Memory::Shared(buffer), offset: offset + first.clone() };

        let walk = self.walk(op, src)?;
        let (held, from) = (&self.solution.registers[&src], &self.program.tensor(src).shape);
        let irregular = || self.error(op, "a layout runs over the end of a dimension");
        let threads = tile_modes(&held.layout.mode(0), &held.tile).ok_or_else(irregular)?;
        let mut guard = lowest_of_replicas(&threads, self.facts_of(op)).and(in_tile(
            from,
            &walk.at,
            &held.tile,
            &walk.facts,
        ));
        let mut offset = Expr::default();
        for (d, at) in walk.at.iter().enumerate() {
            let first = &view.offsets[d];
            let mode = view.modes.iter().zip(&steps).find(|(m, _)| m.dim == d && !m.factor.is_zero());
            let extent = mode.map_or(1, |(m, _)| m.extent);
            guard = guard.and(between(at, first, extent, &walk.facts));
            if let Some((_, step)) = mode {
                offset = offset + (at.clone() - first.clone()).scale(*step);
            }
        }
        let own = self.own(op, src, &walk)?;
        let store = Stmt::Transfer(Transfer {
            row: self.single(op, dtype, false)?,
            registers: own,
            address: address(offset.simplify(&walk.facts)),
            guard,
            pad: 0,
            atomic: None,
        });
        let mut body = vec![Stmt::Barrier];
        body.extend(walk.setup);
        body.extend(unrolled(&walk.loops, vec![store]));
        body.push(Stmt::Barrier);
        body.extend(self.load_scratch(op, dst, dtype, &steps, &address)?);
        // Both walks use the same names, so the loads have a scope of their own.
        Ok(body)
    }

    fn load_scratch(
        &self,
        op: &Op,
        dst: TensorId,
        dtype: hx_dtype::DType,
        steps: &[i64],
        address: &dyn Fn(Expr) -> Address,
    ) -> Result<Body, LowerError> {
        let walk = self.walk(op, dst)?;
        let (held, shape) = (&self.solution.registers[&dst], &self.program.tensor(dst).shape);
        let offset = walk.at.iter().zip(steps).fold(Expr::default(), |sum, (at, step)| sum + at.scale(*step));
        let registers: Registers = self.own(op, dst, &walk)?;
        let load = Stmt::Transfer(Transfer {
            row: self.single(op, dtype, true)?,
            registers,
            address: address(offset.simplify(&walk.facts)),
            guard: in_tile(shape, &walk.at, &held.tile, &walk.facts),
            pad: 0,
            atomic: None,
        });
        let mut body = walk.setup;
        body.extend(unrolled(&walk.loops, vec![load]));
        Ok(vec![Stmt::If { cond: Cond::True, then: body, otherwise: Vec::new() }])
    }
}

/// Returns the condition under which a coordinate lies in a range, without what the facts prove.
fn between(at: &Expr, first: &Expr, extent: i64, facts: &Facts) -> Cond {
    let end = first.clone() + Expr::constant(extent);
    Cond::cmp(CmpOp::Le, first.clone(), at.clone(), facts).and(Cond::cmp(CmpOp::Lt, at.clone(), end, facts))
}
