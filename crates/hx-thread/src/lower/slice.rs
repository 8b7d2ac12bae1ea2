//! Lowers parts of register tensors, to read and to set: renames registers, exchanges with another lane, or moves through shared
//! memory.

use hx_dtype::{DType, Operator};
use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_target::Cache;
use hx_tile::{Op, Scalar, SliceChoice, TensorId, View, tile_modes};

use super::copy::{in_tile, lowest_of_replicas};
use super::elementwise::{Walk, element};
use super::layout::unrolled;
use super::scalar::hardware;
use super::{LowerError, Lowering};
use crate::{
    Address, Body, Compute, Control, Convert, Exchange, Lane, Leaf, Memory, Registers, Stmt, Transfer,
};

impl Lowering<'_> {
    pub(super) fn slice(
        &self,
        op: &Op,
        dst: TensorId,
        src: &View,
        choice: &SliceChoice,
    ) -> Result<Body, LowerError> {
        let id = src.register().ok_or_else(|| self.error(op, "a part of a register tensor was expected"))?;
        let Some((walk, own, from)) = self.in_place(op, dst, id, choice)? else {
            return self.through_shared(op, dst, id, src);
        };
        if choice.mirrored != 0 {
            let row = self.exchange_row(op, hx_target::Reach::Xor)?;
            let lane = Lane::Xor(choice.mirrored);
            let exchange = Stmt::Leaf(Leaf::Exchange(Exchange { row, dst: own, src: from, lane }));
            return Ok(unrolled(&walk.loops, vec![exchange]));
        }
        if choice.lanes.is_empty() {
            let stmt = Stmt::Leaf(Leaf::Convert(Convert { row: None, dst: own, src: from }));
            return Ok(unrolled(&walk.loops, vec![stmt]));
        }
        let thread = Expr::symbol(Symbol::Thread);
        let owner = choice.lanes.iter().fold(thread.clone(), |owner, (unit, extent, digit)| {
            owner + (Expr::constant(*digit) - self.digit(op, *unit, *extent)).scale(*unit)
        });
        let lane = owner.rem(&Expr::constant(i64::from(self.program.target.limits.lanes)), self.facts_of(op));
        let var = self.counter("lane", op, super::Local::Lane as u32);
        let row = self.exchange_row(op, hx_target::Reach::Lane)?;
        let exchange = Stmt::Leaf(Leaf::Exchange(Exchange {
            row,
            dst: own,
            src: from,
            lane: Lane::At(Expr::symbol(var.clone())),
        }));
        let mut body = vec![Stmt::Leaf(Leaf::Let { var, value: lane })];
        body.extend(unrolled(&walk.loops, vec![exchange]));
        Ok(body)
    }

    /// Sets a part of a register tensor to the elements of another one: in the same threads, or through shared memory.
    pub(super) fn insert(
        &self,
        op: &Op,
        dst: &View,
        src: TensorId,
        choice: &SliceChoice,
    ) -> Result<Body, LowerError> {
        let id = dst.register().ok_or_else(|| self.error(op, "a part of a register tensor was expected"))?;
        let Some((walk, from, to)) = self.in_place(op, src, id, choice)? else {
            return self.insert_through_shared(op, dst, id, src);
        };
        let stmt = Stmt::Leaf(Leaf::Convert(Convert { row: None, dst: to, src: from }));
        Ok(unrolled(&walk.loops, vec![stmt]))
    }

    /// Walks the elements of a part. Returns the walk, the elements in the part's own registers, and their places in those of the whole
    /// tensor `id`; `None` if the part goes through shared memory.
    fn in_place(
        &self,
        op: &Op,
        part: TensorId,
        id: TensorId,
        choice: &SliceChoice,
    ) -> Result<Option<(Walk, Registers, Registers)>, LowerError> {
        let Some(positions) = &choice.positions else { return Ok(None) };
        let walk = self.walk(op, part)?;
        let own = self.own(op, part, &walk)?;
        let mut place = element(self.array(op, id)?, positions, &walk.counters);
        place.base = place.base + Expr::constant(choice.first);
        Ok(Some((walk, own, place)))
    }

    /// Moves a part through shared memory into its place. A thread loads an element for each of its own, and keeps its own where the
    /// element is outside of the part.
    fn insert_through_shared(
        &self,
        op: &Op,
        view: &View,
        id: TensorId,
        src: TensorId,
    ) -> Result<Body, LowerError> {
        let buffer = self.room(op)?;
        let (dtype, shape) = (self.program.tensor(src).dtype, &self.program.tensor(src).shape);
        let steps = row_major(shape);
        let first = self.first_of_group(op, shape.iter().product());
        let address =
            |offset: Expr| Address { memory: Memory::Shared(buffer), offset: offset + first.clone() };

        let walk = self.walk(op, src)?;
        let held = &self.solution.registers[&src];
        let irregular = || self.error(op, "a layout runs over the end of a dimension");
        let threads = tile_modes(&held.layout.mode(0), &held.tile).ok_or_else(irregular)?;
        let offset =
            walk.at.iter().zip(&steps).fold(Expr::default(), |sum, (at, step)| sum + at.scale(*step));
        let inside = in_tile(shape, &walk.at, &held.tile, &walk.facts);
        let store = Stmt::Leaf(Leaf::Transfer(Transfer {
            row: self.single(op, dtype, false)?,
            registers: self.own(op, src, &walk)?,
            address: address(offset.simplify(&walk.facts)),
            guard: lowest_of_replicas(&threads, self.facts_of(op)).and(inside),
            pad: 0,
            atomic: None,
            cache: Cache::default(),
        }));
        let mut body = vec![Stmt::Leaf(Leaf::Barrier)];
        body.extend(walk.setup);
        body.extend(unrolled(&walk.loops, vec![store]));
        body.push(Stmt::Leaf(Leaf::Barrier));
        // Both walks use the same names, so the loads have a scope of their own.
        let then = self.load_part(op, (view, id), &steps, &address)?;
        body.push(Stmt::Control(Control::If { cond: Cond::True, then, otherwise: Vec::new() }));
        Ok(body)
    }

    /// Loads the elements of a part of a register tensor from scratch memory. The other elements keep their values.
    fn load_part(
        &self,
        op: &Op,
        (view, id): (&View, TensorId),
        steps: &[i64],
        address: &dyn Fn(Expr) -> Address,
    ) -> Result<Body, LowerError> {
        let (dtype, shape) = (self.program.tensor(id).dtype, &self.program.tensor(id).shape);
        let array = self.temporaries.get(&op.id).and_then(|t| t.first());
        let array = *array.ok_or_else(|| self.error(op, "no register to load to"))?;
        let other = Registers { array, base: Expr::default(), offsets: vec![0] };
        let walk = self.walk(op, id)?;
        let own = self.own(op, id, &walk)?;
        let (in_part, offset) = within(view, steps, &walk.at, &walk.facts);
        let load = Stmt::Leaf(Leaf::Transfer(Transfer {
            row: self.single(op, dtype, true)?,
            registers: other.clone(),
            address: address(offset.simplify(&walk.facts)),
            guard: in_tile(shape, &walk.at, &self.solution.registers[&id].tile, &walk.facts)
                .and(in_part.clone()),
            pad: 0,
            atomic: None,
            cache: Cache::default(),
        }));
        let input = |index: u32| Scalar::Input { index, dtype };
        let value = match truth(&in_part) {
            Some(in_part) => Scalar::apply(Operator::Select, dtype, [in_part, input(0), input(1)]),
            None => input(0),
        };
        let set = Stmt::Leaf(Leaf::Compute(Compute {
            dst: own.clone(),
            inputs: vec![other, own],
            value: hardware(self.program.target.rows(), &value),
        }));
        let mut body = walk.setup;
        body.extend(unrolled(&walk.loops, vec![load, set]));
        Ok(body)
    }

    /// Returns the shared memory that the operation goes through.
    fn room(&self, op: &Op) -> Result<u32, LowerError> {
        let buffer = self.scratch.get(&op.id).and_then(|b| b.first());
        buffer.copied().ok_or_else(|| self.error(op, "no shared memory to go through"))
    }

    /// Returns a digit of the thread's number: the number divided by `unit`, modulo `extent`.
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
        let buffer = self.room(op)?;
        let dtype = self.program.tensor(dst).dtype;
        let shape = &self.program.tensor(dst).shape;
        let steps = row_major(shape);
        let first = self.first_of_group(op, shape.iter().product());
        let address =
            |offset: Expr| Address { memory: Memory::Shared(buffer), offset: offset + first.clone() };

        let walk = self.walk(op, src)?;
        let (held, from) = (&self.solution.registers[&src], &self.program.tensor(src).shape);
        let irregular = || self.error(op, "a layout runs over the end of a dimension");
        let threads = tile_modes(&held.layout.mode(0), &held.tile).ok_or_else(irregular)?;
        let (in_part, offset) = within(view, &steps, &walk.at, &walk.facts);
        let inside = in_tile(from, &walk.at, &held.tile, &walk.facts);
        let guard = lowest_of_replicas(&threads, self.facts_of(op)).and(inside).and(in_part);
        let own = self.own(op, src, &walk)?;
        let store = Stmt::Leaf(Leaf::Transfer(Transfer {
            row: self.single(op, dtype, false)?,
            registers: own,
            address: address(offset.simplify(&walk.facts)),
            guard,
            pad: 0,
            atomic: None,
            cache: Cache::default(),
        }));
        let mut body = vec![Stmt::Leaf(Leaf::Barrier)];
        body.extend(walk.setup);
        body.extend(unrolled(&walk.loops, vec![store]));
        body.push(Stmt::Leaf(Leaf::Barrier));
        body.extend(self.load_scratch(op, dst, dtype, &steps, &address)?);
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
        let load = Stmt::Leaf(Leaf::Transfer(Transfer {
            row: self.single(op, dtype, true)?,
            registers,
            address: address(offset.simplify(&walk.facts)),
            guard: in_tile(shape, &walk.at, &held.tile, &walk.facts),
            pad: 0,
            atomic: None,
            cache: Cache::default(),
        }));
        let mut body = walk.setup;
        body.extend(unrolled(&walk.loops, vec![load]));
        // The walk of the caller uses the same names, so the loads have a scope of their own.
        Ok(vec![Stmt::Control(Control::If { cond: Cond::True, then: body, otherwise: Vec::new() })])
    }
}

/// Returns the steps of the dimensions of a shape in row-major order.
fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut steps = vec![1; shape.len()];
    for d in (0..shape.len().saturating_sub(1)).rev() {
        steps[d] = steps[d + 1] * shape[d + 1];
    }
    steps
}

/// Returns the condition under which an element of the whole tensor is in a part, and its offset in the part, whose modes have these
/// steps.
fn within(view: &View, steps: &[i64], at: &[Expr], facts: &Facts) -> (Cond, Expr) {
    let (mut guard, mut offset) = (Cond::True, Expr::default());
    for (d, at) in at.iter().enumerate() {
        let first = &view.offsets[d];
        let mode = view.modes.iter().zip(steps).find(|(m, _)| m.dim == d && !m.factor.is_zero());
        let Some((mode, step)) = mode else {
            guard = guard.and(between(at, first, 1, facts));
            continue;
        };
        // A reversed mode walks from its first coordinate down.
        let last = first.clone() - Expr::constant(mode.extent - 1);
        let (least, way) = if mode.is_reversed() { (&last, -1) } else { (first, 1) };
        guard = guard.and(between(at, least, mode.extent, facts));
        offset = offset + (at.clone() - first.clone()).scale(way * step);
    }
    (guard, offset)
}

/// Returns a condition as a truth value; `None` if it always holds.
fn truth(cond: &Cond) -> Option<Scalar> {
    let integer = |value: &Expr| Scalar::Integer { value: value.clone(), dtype: DType::I32 };
    match cond {
        Cond::True => None,
        Cond::Cmp(op, a, b) => {
            let operator = match op {
                CmpOp::Lt => Operator::Lt,
                CmpOp::Le => Operator::Le,
                CmpOp::Eq => Operator::Eq,
                CmpOp::Ne => Operator::Ne,
            };
            Some(Scalar::apply(operator, DType::I32, [integer(a), integer(b)]))
        }
        Cond::And(all) | Cond::Or(all) => {
            let operator = if matches!(cond, Cond::And(_)) { Operator::And } else { Operator::Or };
            all.iter().filter_map(truth).reduce(|a, b| Scalar::apply(operator, DType::Bool, [a, b]))
        }
        Cond::False => Some(Scalar::Const { bits: 0, dtype: DType::Bool }),
    }
}

/// Returns the condition under which a coordinate lies in a range, without comparisons that the facts prove.
fn between(at: &Expr, first: &Expr, extent: i64, facts: &Facts) -> Cond {
    let end = first.clone() + Expr::constant(extent);
    Cond::cmp(CmpOp::Le, first.clone(), at.clone(), facts).and(Cond::cmp(CmpOp::Lt, at.clone(), end, facts))
}
