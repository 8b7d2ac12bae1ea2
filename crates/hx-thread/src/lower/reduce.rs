//! Lowers reductions: within each thread, between the lanes of a warp, then between warps through shared memory.

use std::collections::BTreeSet;

use hx_dtype::{DType, Operator};
use hx_index::{CmpOp, Cond, Expr, Symbol};
use hx_target::{Cache, CopyRow, ExchangeRow, Reach, Row, Space};
use hx_tile::{Across, Op, ReduceChoice, Scalar, TensorId, TileMode, index, tile_modes};

use super::elementwise::element;
use super::layout::unrolled;
use super::scalar::{hardware, identity};
use super::{LowerError, Lowering, counted};
use crate::{Address, Body, Compute, Exchange, Fill, Lane, Leaf, Memory, RegId, Registers, Stmt, Transfer};

/// A reduction, with the data that its steps share.
struct Reduction<'o> {
    op: &'o Op,
    operator: Operator,
    dtype: DType,
    dst: TensorId,
    /// The number of elements of the result that each thread holds.
    values: i64,
    array: RegId,
    /// A register for one element besides the result, for values of other threads; `None` if threads exchange none.
    scratch: Option<RegId>,
    identity: u64,
}

impl Lowering<'_> {
    pub(super) fn reduce(
        &self,
        op: &Op,
        [dst, src]: [TensorId; 2],
        axis: usize,
        operator: Operator,
        choice: &ReduceChoice,
    ) -> Result<Body, LowerError> {
        let dtype = self.program.tensor(dst).dtype;
        let held = self.solution.registers.get(&dst).ok_or_else(|| self.error(op, "no layout"))?;
        let identity = identity(operator, dtype)
            .ok_or_else(|| self.error(op, format!("`{}` does not reduce", operator.name())))?;
        let r = Reduction {
            op,
            operator,
            dtype,
            dst,
            values: held.layout.mode(1).size(),
            array: self.array(op, dst)?,
            scratch: self.temporaries.get(&op.id).and_then(|t| t.first()).copied(),
            identity,
        };
        let mut body = self.within_thread(&r, src, axis, choice)?;
        for mask in &choice.lanes {
            body.extend(self.between_lanes(&r, *mask)?);
        }
        if let Some(across) = &choice.across {
            body.extend(self.across_warps(&r, across)?);
        }
        Ok(body)
    }

    fn combine(&self, r: &Reduction<'_>, dst: Registers, other: Registers) -> Stmt {
        let input = |index: u32| Scalar::Input { index, dtype: r.dtype };
        let value = Scalar::apply(r.operator, r.dtype, [input(0), input(1)]);
        Stmt::Leaf(Leaf::Compute(Compute {
            inputs: vec![dst.clone(), other],
            dst,
            value: hardware(self.program.target.rows(), &value),
        }))
    }

    /// Reduces within each thread. The result starts from the identity, and elements outside of the tensor count as the
    /// identity.
    fn within_thread(
        &self,
        r: &Reduction<'_>,
        src: TensorId,
        axis: usize,
        choice: &ReduceChoice,
    ) -> Result<Body, LowerError> {
        let mut body = self.fill_bits(r.op, r.dst, r.identity, 30)?;
        let walk = self.walk(r.op, src)?;
        let result = element(r.array, &choice.local, &walk.counters);
        let input = |index: u32| Scalar::Input { index, dtype: r.dtype };
        let (extent, covered) =
            (self.program.tensor(src).shape[axis], self.solution.registers[&src].tile[axis]);
        let mut other = input(1);
        if covered != extent && !walk.facts.proves_lt(&walk.at[axis], &Expr::constant(extent)) {
            let integer = |value: Expr| Scalar::Integer { value, dtype: DType::I32 };
            let inside = Scalar::apply(
                Operator::Lt,
                DType::I32,
                [integer(walk.at[axis].clone()), integer(Expr::constant(extent))],
            );
            let none = Scalar::Const { bits: r.identity, dtype: r.dtype };
            other = Scalar::apply(Operator::Select, r.dtype, [inside, other, none]);
            body.extend(walk.setup.clone());
        }
        let value =
            hardware(self.program.target.rows(), &Scalar::apply(r.operator, r.dtype, [input(0), other]));
        let own = self.own(r.op, src, &walk)?;
        let compute =
            Stmt::Leaf(Leaf::Compute(Compute { dst: result.clone(), inputs: vec![result, own], value }));
        body.extend(unrolled(&walk.loops, vec![compute]));
        Ok(body)
    }

    /// Returns the register for the value of another thread.
    fn other(&self, r: &Reduction<'_>) -> Result<Registers, LowerError> {
        let array = r.scratch.ok_or_else(|| self.error(r.op, "no register to exchange"))?;
        Ok(Registers { array, base: Expr::default(), offsets: vec![0] })
    }

    fn between_lanes(&self, r: &Reduction<'_>, mask: u32) -> Result<Body, LowerError> {
        let row = self.exchange_row(r.op, Reach::Xor)?;
        let var = self.counter("i", r.op, 29);
        let own = Registers { array: r.array, base: counted(&var, r.values), offsets: vec![0] };
        let other = self.other(r)?;
        let exchange = Stmt::Leaf(Leaf::Exchange(Exchange {
            row,
            dst: other.clone(),
            src: own.clone(),
            lane: Lane::Xor(mask),
        }));
        Ok(unrolled(&[(var, r.values)], vec![exchange, self.combine(r, own, other)]))
    }

    /// Reduces between warps. One thread stores each part; after a barrier every thread combines all parts, in the same
    /// order.
    fn across_warps(&self, r: &Reduction<'_>, across: &Across) -> Result<Body, LowerError> {
        let held = &self.solution.registers[&r.dst];
        let irregular = || self.error(r.op, "a layout runs over the end of a dimension");
        let modes = tile_modes(&held.layout.mode(0), &held.tile).ok_or_else(irregular)?;
        let (thread, facts) = (Expr::symbol(Symbol::Thread), self.facts_of(r.op));
        let writes = self.one_of_alike(r.op, &modes, across);
        let rows: i64 = held.tile.iter().product();
        let (mut part, mut parts) = (Expr::default(), 1);
        for (unit, extent) in &across.digits {
            let digit = thread.div(&Expr::constant(*unit), facts).rem(&Expr::constant(*extent), facts);
            part = part + digit.scale(parts);
            parts *= extent;
        }
        let walk = self.walk(r.op, r.dst)?;
        let row = walk.at.iter().enumerate().fold(Expr::default(), |sum, (d, c)| {
            let mut step = vec![0; held.tile.len()];
            step[d] = 1;
            sum + c.scale(index(&step, &held.tile))
        });
        let buffer = *self
            .scratch
            .get(&r.op.id)
            .and_then(|b| b.first())
            .ok_or_else(|| self.error(r.op, "no shared memory to meet in"))?;
        let row = row + self.first_of_group(r.op, parts * rows);
        let address =
            |part: Expr| Address { memory: Memory::Shared(buffer), offset: part.scale(rows) + row.clone() };
        let own = self.own(r.op, r.dst, &walk)?;
        let other = self.other(r)?;
        let transfer = |row: Row<CopyRow>, registers: Registers, part: Expr, guard: Cond| {
            Stmt::Leaf(Leaf::Transfer(Transfer {
                row,
                registers,
                address: address(part),
                guard,
                pad: 0,
                atomic: None,
                cache: Cache::default(),
            }))
        };
        let store = transfer(self.single(r.op, r.dtype, false)?, own.clone(), part, writes);
        let counter = self.counter("part", r.op, 28);
        let load =
            transfer(self.single(r.op, r.dtype, true)?, other.clone(), counted(&counter, parts), Cond::True);
        let combine = self.combine(r, own.clone(), other);
        let reset = Stmt::Leaf(Leaf::Fill(Fill { dst: own, bits: r.identity }));
        let gather = unrolled(&[(counter, parts)], vec![load, combine]);
        let gather = std::iter::once(reset).chain(gather).collect();

        let mut body = walk.setup;
        body.push(Stmt::Leaf(Leaf::Barrier));
        body.extend(unrolled(&walk.loops, vec![store]));
        body.push(Stmt::Leaf(Leaf::Barrier));
        body.extend(unrolled(&walk.loops, gather));
        Ok(body)
    }

    /// Returns the condition that selects the lowest of the threads that hold the same rows and the same part.
    fn one_of_alike(&self, op: &Op, modes: &[TileMode], across: &Across) -> Cond {
        // Cut the thread's number into digits that refine both the layout of the result and the parts.
        let mut cuts = BTreeSet::from([1]);
        let mut still = Vec::new();
        let mut unit = 1;
        for mode in modes {
            if mode.is_still() {
                still.push(unit..unit * mode.extent);
            }
            unit *= mode.extent;
            cuts.insert(unit);
        }
        cuts.extend(across.digits.iter().flat_map(|&(unit, extent)| [unit, unit * extent]));
        let cuts: Vec<i64> = cuts.into_iter().collect();
        let (thread, facts) = (Expr::symbol(Symbol::Thread), self.facts_of(op));
        let mut alone = Cond::True;
        for pair in cuts.windows(2) {
            let [low, high] = [pair[0], pair[1]];
            if high % low != 0 {
                return self.first_of_alike(op, modes, across);
            }
            let is_part = across.digits.iter().any(|&(unit, extent)| unit <= low && high <= unit * extent);
            if is_part || !still.iter().any(|still| still.start <= low && high <= still.end) {
                continue;
            }
            let digit = thread.div(&Expr::constant(low), facts).rem(&Expr::constant(high / low), facts);
            alone = alone.and(Cond::cmp(CmpOp::Eq, digit, Expr::default(), facts));
        }
        alone
    }

    /// As [`Self::one_of_alike`], by enumeration of the threads, for a layout and parts without a common refinement.
    fn first_of_alike(&self, op: &Op, modes: &[TileMode], across: &Across) -> Cond {
        let (thread, facts) = (Expr::symbol(Symbol::Thread), self.facts_of(op));
        let count = i64::from(self.program.threads_of(op));
        let mut seen = BTreeSet::new();
        let mut writers: Vec<std::ops::Range<i64>> = Vec::new();
        for number in 0..count {
            let mut rest = number;
            let mut rows = Vec::new();
            for mode in modes {
                rows.push(if mode.is_still() { 0 } else { rest % mode.extent });
                rest /= mode.extent;
            }
            let part: Vec<i64> = across.digits.iter().map(|&(unit, extent)| number / unit % extent).collect();
            if !seen.insert((rows, part)) {
                continue;
            }
            match writers.last_mut() {
                Some(run) if run.end == number => run.end += 1,
                _ => writers.push(number..number + 1),
            }
        }
        writers.into_iter().fold(Cond::False, |any, run| {
            let low = Cond::cmp(CmpOp::Le, Expr::constant(run.start), thread.clone(), facts);
            let high = Cond::cmp(CmpOp::Lt, thread.clone(), Expr::constant(run.end), facts);
            any.or(low.and(high))
        })
    }

    /// Returns the instruction that loads one element from shared memory, or stores one without `load`.
    pub(super) fn single(&self, op: &Op, dtype: DType, load: bool) -> Result<Row<CopyRow>, LowerError> {
        let (from, to) =
            if load { (Space::Shared, Space::Register) } else { (Space::Register, Space::Shared) };
        let row = self.program.target.rows().copies.iter().find(|row| {
            let one = || row.atom(dtype).is_some_and(|a| a.values == 1);
            row.from == from && row.to == to && !row.is_collective() && one()
        });
        row.map(Row::from).ok_or_else(|| self.error(op, "no instruction moves single elements"))
    }

    /// Returns the instruction by which the lanes of a warp exchange a register with lanes in this reach.
    pub(super) fn exchange_row(&self, op: &Op, reach: Reach) -> Result<Row<ExchangeRow>, LowerError> {
        let row = self.program.target.rows().exchanges.iter().find(|row| row.reach == reach);
        row.map(Row::from).ok_or_else(|| self.error(op, "no exchange between lanes"))
    }
}
