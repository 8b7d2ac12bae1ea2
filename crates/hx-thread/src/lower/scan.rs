//! Lowers scans, digit by digit of the coordinate along the axis, from the digit with the smallest step.
//!
//! A block consists of the elements that differ only in the digits done so far. When a digit is done, every element holds
//! the result of its block up to that element. After the first digit of threads, each thread also holds the total of its
//! block, whatever its own digits are.
//!
//! A scan from the last element on takes the values of each digit in reverse order. It meets places past the end of the tensor first, if
//! threads hold any: a block that begins past the end has no elements, and is left out.

use hx_dtype::{DType, Operator};
use hx_index::{CmpOp, Cond, Expr, Symbol};
use hx_target::{Cache, Reach};
use hx_tile::{Choice, Op, Scalar, ScanChoice, ScanLevel, TensorId, tile_modes};

use super::copy::lowest_of_replicas;
use super::elementwise::{Walk, element};
use super::layout::unrolled;
use super::scalar::hardware;
use super::{LowerError, Lowering};
use crate::{
    Address, Body, Compute, Control, Convert, Exchange, Lane, Leaf, Memory, RegId, Registers, Stmt, Transfer,
};

/// The arrays that a scan of one tensor needs besides the result.
pub(super) const ARRAYS: [&str; 4] = ["before", "next", "other", "total"];

/// A scan, with the data that its steps share.
struct Scan<'o> {
    op: &'o Op,
    axis: usize,
    value: &'o [Scalar],
    dtypes: Vec<DType>,
    /// The results, which are updated in place.
    held: Vec<RegId>,
    /// Registers with one element for each tensor, as `next` and `other` are.
    before: Vec<RegId>,
    next: Vec<RegId>,
    other: Vec<RegId>,
    /// Totals of blocks, one for each combination of the value digits that are not done.
    total: Vec<RegId>,
    levels: &'o [ScanLevel],
    /// Whether the scan begins at the last element.
    reverse: bool,
    /// The extent of the axis, if threads hold places past it that the scan meets before the elements.
    end: Option<i64>,
    /// Digits of a thread's values: the position of one step, the extent, and the distance of one step along the axis.
    digits: Vec<(i64, i64, i64)>,
    counters: Vec<Expr>,
    loops: Vec<(Symbol, i64)>,
    walk: Walk,
}

impl Scan<'_> {
    /// Reports whether a value digit belongs to the axis and is done when a level of this step begins.
    fn is_done(&self, digit: usize, step: i64) -> bool {
        let moves = self.digits[digit].2;
        moves != 0 && moves < step
    }

    fn is_at(&self, digit: usize, step: i64) -> bool {
        self.digits[digit].2 == step
    }

    fn chosen(&self, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.digits.len()).filter(|i| wanted(*i)).collect()
    }

    fn position(&self, digits: &[usize]) -> Expr {
        digits.iter().fold(Expr::default(), |sum, i| sum + self.counters[*i].scale(self.digits[*i].0))
    }

    /// Returns the position of the element of a block that the scan meets last.
    fn last(&self, done: &[usize]) -> i64 {
        if self.reverse {
            return 0;
        }
        done.iter().map(|i| self.digits[*i].0 * (self.digits[*i].1 - 1)).sum()
    }

    /// Converts a digit to its place in the order of the scan, or back.
    fn ordered(&self, digit: Expr, extent: i64) -> Expr {
        if self.reverse { Expr::constant(extent - 1) - digit } else { digit }
    }

    /// Puts loops over digits around a body, the first innermost.
    fn each(&self, digits: &[usize], body: Body) -> Body {
        let loops: Vec<_> = digits.iter().rev().map(|i| self.loops[*i].clone()).collect();
        unrolled(&loops, body)
    }
}

/// The shared memory in which threads of different warps exchange totals.
struct Meeting {
    /// One buffer for each tensor, a position among the shared buffers.
    buffers: Vec<u32>,
    /// The index of the thread's total within a part, and the number of totals of a part.
    row: Expr,
    rows: i64,
}

fn one(array: RegId, base: Expr) -> Registers {
    Registers { array, base, offsets: vec![0] }
}

fn at_zero(array: RegId) -> Registers {
    one(array, Expr::default())
}

impl Lowering<'_> {
    pub(super) fn scan(
        &self,
        op: &Op,
        (dst, src): (&[TensorId], &[TensorId]),
        axis: (usize, bool),
        value: &[Scalar],
        choice: &ScanChoice,
    ) -> Result<Body, LowerError> {
        let s = self.scan_of(op, dst, axis, value, choice)?;
        // The coordinates decide where totals are stored in shared memory.
        let meets = choice.levels.iter().any(|level| matches!(level, ScanLevel::Across { .. }));
        let mut body = if meets { s.walk.setup.clone() } else { Body::new() };
        let mut moves = Vec::new();
        for (i, from) in src.iter().enumerate() {
            let from = element(self.array(op, *from)?, &choice.src[i], &s.counters);
            let to = one(s.held[i], s.position(&s.chosen(|_| true)));
            moves.push(Stmt::Leaf(Leaf::Convert(Convert { row: None, dst: to, src: from })));
        }
        body.extend(s.each(&s.chosen(|_| true), moves));
        let mut threads = false;
        for (i, level) in choice.levels.iter().enumerate() {
            let last = i + 1 == choice.levels.len();
            match *level {
                ScanLevel::Values { step, .. } => body.extend(self.scan_values(&s, step, threads)),
                ScanLevel::Lanes { unit, extent, step } => {
                    body.extend(self.scan_lanes(&s, (unit, extent, step), threads, last)?);
                    threads = true;
                }
                ScanLevel::Across { unit, extent, step } => {
                    body.extend(self.scan_across(&s, (unit, extent, step), threads)?);
                    threads = true;
                }
            }
        }
        Ok(body)
    }

    /// Collects the registers, digits and counters of a scan.
    fn scan_of<'o>(
        &self,
        op: &'o Op,
        dst: &[TensorId],
        (axis, reverse): (usize, bool),
        value: &'o [Scalar],
        choice: &'o ScanChoice,
    ) -> Result<Scan<'o>, LowerError> {
        let first = *dst.first().ok_or_else(|| self.error(op, "nothing is scanned"))?;
        let held = self.solution.registers.get(&first).ok_or_else(|| self.error(op, "no layout"))?;
        let walk = self.walk(op, first)?;
        let extent = self.program.tensor(first).shape[axis];
        let end = (reverse && held.tile[axis] > extent).then_some(extent);
        let mut unit = 1;
        let mut digits = Vec::new();
        for (extent, stride) in held.layout.mode(1).leaves() {
            digits.push((unit, *extent, hx_tile::coordinate(*stride, &held.tile)[axis]));
            unit *= extent;
        }
        let mut loops = walk.loops.clone();
        loops.reverse();
        let n = dst.len();
        let arrays = self.temporaries.get(&op.id).filter(|a| a.len() == n * ARRAYS.len());
        let arrays = arrays.ok_or_else(|| self.error(op, "no registers to scan in"))?;
        let kind = |k: usize| (0..n).map(|i| arrays[i * ARRAYS.len() + k]).collect::<Vec<_>>();
        Ok(Scan {
            op,
            axis,
            value,
            dtypes: dst.iter().map(|t| self.program.tensor(*t).dtype).collect(),
            held: dst.iter().map(|t| self.array(op, *t)).collect::<Result<_, _>>()?,
            before: kind(0),
            next: kind(1),
            other: kind(2),
            total: kind(3),
            levels: &choice.levels,
            reverse,
            end,
            digits,
            counters: walk.counters.clone(),
            loops,
            walk,
        })
    }

    /// Computes `at = before ∘ at` in threads for which the condition holds, or in all. Every operand is one element of each
    /// tensor.
    fn prepend(
        &self,
        s: &Scan<'_>,
        before: &[Registers],
        at: &[Registers],
        condition: Option<&Scalar>,
    ) -> Body {
        let n = at.len();
        let inputs: Vec<Registers> = before.iter().chain(at).cloned().collect();
        let value = |i: usize| {
            let own = Scalar::Input { index: (n + i) as u32, dtype: s.dtypes[i] };
            let value = s.value[i].clone();
            hardware(
                self.program.target.rows(),
                &match condition {
                    Some(c) => Scalar::apply(Operator::Select, s.dtypes[i], [c.clone(), value, own]),
                    None => value,
                },
            )
        };
        if n == 1 {
            let compute = Compute { dst: at[0].clone(), inputs, value: value(0) };
            return vec![Stmt::Leaf(Leaf::Compute(compute))];
        }
        let next = (0..n).map(|i| {
            Stmt::Leaf(Leaf::Compute(Compute {
                dst: at_zero(s.next[i]),
                inputs: inputs.clone(),
                value: value(i),
            }))
        });
        let back = (0..n).map(|i| {
            Stmt::Leaf(Leaf::Convert(Convert { row: None, dst: at[i].clone(), src: at_zero(s.next[i]) }))
        });
        next.chain(back).collect()
    }

    fn moved(to: &[Registers], from: &[Registers]) -> Body {
        let pairs = to.iter().zip(from);
        pairs
            .map(|(dst, src)| {
                Stmt::Leaf(Leaf::Convert(Convert { row: None, dst: dst.clone(), src: src.clone() }))
            })
            .collect()
    }

    fn held(s: &Scan<'_>, base: &Expr) -> Vec<Registers> {
        s.held.iter().map(|a| one(*a, base.clone())).collect()
    }

    /// Returns the registers of the total of a block: all its finished digits, of threads and of values, are at their last
    /// values.
    fn totals(s: &Scan<'_>, digits: &[usize], fixed: i64) -> Vec<Registers> {
        let base = s.position(digits) + Expr::constant(fixed);
        s.total.iter().map(|a| one(*a, base.clone())).collect()
    }

    /// Returns the condition that a block has elements; `None` if every block has. Its digit at the level of this step is `digit`, and those
    /// above are the thread's own.
    fn has_elements(&self, s: &Scan<'_>, step: i64, digit: &Expr) -> Option<Scalar> {
        let integer = |value: Expr| Scalar::Integer { value, dtype: DType::I32 };
        let end = integer(Expr::constant(s.end?));
        let above = s.levels.iter().filter(|level| step_of(level) > step);
        let first = above
            .fold(digit.scale(step), |first, level| first + self.digit_of(s, level).scale(step_of(level)));
        Some(Scalar::apply(Operator::Lt, DType::I32, [integer(first), end]))
    }

    /// Returns the digit of a level that the thread has, as a part of the coordinate along the axis.
    fn digit_of(&self, s: &Scan<'_>, level: &ScanLevel) -> Expr {
        match *level {
            ScanLevel::Values { unit, step, .. } => {
                let at = s.digits.iter().position(|d| d.0 == unit && d.2 == step);
                at.map_or_else(Expr::default, |i| s.counters[i].clone())
            }
            ScanLevel::Lanes { unit, extent, .. } | ScanLevel::Across { unit, extent, .. } => {
                self.digit(s.op, unit, extent)
            }
        }
    }

    /// Scans a digit of values: the blocks of one thread, one after the other. With `threads`, a digit of threads is done, so
    /// `total` holds the totals.
    fn scan_values(&self, s: &Scan<'_>, step: i64, threads: bool) -> Body {
        let done = s.chosen(|i| s.is_done(i, step));
        let here = s.chosen(|i| s.is_at(i, step));
        let others = s.chosen(|i| !s.is_done(i, step) && !s.is_at(i, step));
        let Some(&digit) = here.first() else { return Body::new() };
        let (unit, extent, _) = s.digits[digit];
        if extent == 1 {
            return Body::new();
        }
        let (counter, now) = (&s.loops[digit].0, Expr::symbol(s.loops[digit].0.clone()));
        let before = s.ordered(now.clone() - Expr::constant(1), extent);
        let (at, previous) = (s.ordered(now, extent).scale(unit), before.scale(unit));
        let is_some = self.has_elements(s, step, &before);
        let fixed = s.last(&done);
        let base = s.position(&others);
        let carry = if threads {
            s.total.iter().map(|a| one(*a, base.clone() + previous.clone() + Expr::constant(fixed))).collect()
        } else {
            Self::held(s, &(base.clone() + previous + Expr::constant(fixed)))
        };
        let element = Self::held(s, &(base.clone() + at.clone() + s.position(&done)));
        let mut inner = s.each(&done, self.prepend(s, &carry, &element, is_some.as_ref()));
        if threads {
            let own: Vec<Registers> =
                s.total.iter().map(|a| one(*a, base.clone() + at.clone() + Expr::constant(fixed))).collect();
            inner.extend(self.prepend(s, &carry, &own, is_some.as_ref()));
        }
        let blocks = vec![Stmt::Control(Control::For {
            var: counter.clone(),
            start: Expr::constant(1),
            end: Expr::constant(extent),
            unroll: true,
            body: inner,
        })];
        s.each(&others, blocks)
    }

    /// Returns the condition that a digit of the thread's number is at least `at_least`.
    fn reached(digit: &Expr, at_least: i64) -> Scalar {
        let integer = |value: Expr| Scalar::Integer { value, dtype: DType::I32 };
        Scalar::apply(Operator::Le, DType::I32, [integer(Expr::constant(at_least)), integer(digit.clone())])
    }

    /// Scans a digit of the lanes of a warp. Exchanges scan the totals of the blocks, each over twice the distance of the
    /// one before.
    fn scan_lanes(
        &self,
        s: &Scan<'_>,
        (unit, extent, step): (i64, i64, i64),
        threads: bool,
        last: bool,
    ) -> Result<Body, LowerError> {
        let done = s.chosen(|i| s.is_done(i, step));
        let others = s.chosen(|i| !s.is_done(i, step));
        let fixed = s.last(&done);
        let digit_var = self.counter("digit", s.op, super::Local::Digit as u32);
        let digit = Expr::symbol(digit_var.clone());
        let total = Self::totals(s, &others, fixed);
        let other: Vec<Registers> = s.other.iter().map(|a| at_zero(*a)).collect();
        let warp = Expr::constant(i64::from(self.program.target.limits.lanes));
        let row = self.exchange_row(s.op, if s.reverse { Reach::Lane } else { Reach::Up })?;
        let shift = |by: i64| -> Body {
            let lane = || {
                let above = Expr::symbol(Symbol::Thread) + Expr::constant(by);
                if s.reverse { Lane::At(above.rem(&warp, self.facts_of(s.op))) } else { Lane::Up(by as u32) }
            };
            let pairs = other.iter().zip(&total);
            pairs
                .map(|(dst, src)| {
                    let (dst, src) = (dst.clone(), src.clone());
                    Stmt::Leaf(Leaf::Exchange(Exchange { row, dst, src, lane: lane() }))
                })
                .collect()
        };
        // Reports whether a thread has the total of a block this many before its own.
        let reaches = |distance: i64| {
            let before = s.ordered(digit.clone() - Expr::constant(distance), extent);
            both(Self::reached(&digit, distance), self.has_elements(s, step, &before))
        };
        let mut inner = Body::new();
        if !threads {
            let block = Self::held(s, &(s.position(&others) + Expr::constant(fixed)));
            inner.extend(Self::moved(&total, &block));
        }
        let mut distance = 1;
        while distance < extent {
            inner.extend(shift(distance * unit));
            inner.extend(self.prepend(s, &other, &total, Some(&reaches(distance))));
            distance *= 2;
        }
        inner.extend(shift(unit));
        let element = Self::held(s, &(s.position(&others) + s.position(&done)));
        inner.extend(s.each(&done, self.prepend(s, &other, &element, Some(&reaches(1)))));
        let value = s.ordered(self.digit(s.op, unit, extent), extent);
        let mut body = vec![Stmt::Leaf(Leaf::Let { var: digit_var, value })];
        if !last {
            let row = self.exchange_row(s.op, Reach::Lane)?;
            let lane_var = self.counter("last", s.op, super::Local::Last as u32);
            let last = s.ordered(Expr::constant(extent - 1), extent);
            let lane = Expr::symbol(Symbol::Thread) + (last - self.digit(s.op, unit, extent)).scale(unit);
            body.push(Stmt::Leaf(Leaf::Let {
                var: lane_var.clone(),
                value: lane.rem(&warp, self.facts_of(s.op)),
            }));
            for own in &total {
                let lane = Lane::At(Expr::symbol(lane_var.clone()));
                inner.push(Stmt::Leaf(Leaf::Exchange(Exchange {
                    row,
                    dst: own.clone(),
                    src: own.clone(),
                    lane,
                })));
            }
        }
        body.extend(s.each(&others, inner));
        Ok(vec![Stmt::Control(Control::If { cond: Cond::True, then: body, otherwise: Vec::new() })])
    }

    /// Scans a digit of threads in different warps. Every total is stored once; after a barrier every thread combines those
    /// before its own.
    fn scan_across(
        &self,
        s: &Scan<'_>,
        (unit, extent, step): (i64, i64, i64),
        threads: bool,
    ) -> Result<Body, LowerError> {
        let done = s.chosen(|i| s.is_done(i, step));
        let others = s.chosen(|i| !s.is_done(i, step));
        let fixed = s.last(&done);
        let digit = s.ordered(self.digit(s.op, unit, extent), extent);
        let total = Self::totals(s, &others, fixed);
        let meeting = self.meeting(s, step * extent)?;
        let writes = self.writers(s, step)?;
        let mut body = vec![Stmt::Leaf(Leaf::Barrier)];
        let mut store = Body::new();
        if !threads {
            let block = Self::held(s, &(s.position(&others) + Expr::constant(fixed)));
            store.extend(Self::moved(&total, &block));
        }
        store.extend(self.meet(s, &meeting, false, &total, &digit, &writes)?);
        body.extend(s.each(&others, store));
        body.push(Stmt::Leaf(Leaf::Barrier));

        let before: Vec<Registers> = s.before.iter().map(|a| at_zero(*a)).collect();
        let mut inner = self.meet(s, &meeting, true, &total, &Expr::default(), &Cond::True)?;
        inner.extend(Self::moved(&before, &total));
        inner.push(self.combined(s, &meeting, (&before, &total), &digit, (extent, step))?);
        let element = Self::held(s, &(s.position(&others) + s.position(&done)));
        let above = s.ordered(digit.clone() - Expr::constant(1), extent);
        let reaches = both(Self::reached(&digit, 1), self.has_elements(s, step, &above));
        inner.extend(s.each(&done, self.prepend(s, &before, &element, Some(&reaches))));
        body.extend(s.each(&others, inner));
        Ok(body)
    }

    /// Returns the loop over the parts in shared memory after the first: `before` combines the parts below the thread's own,
    /// `total` combines all parts. The operator's left operand is the earlier part.
    fn combined(
        &self,
        s: &Scan<'_>,
        meeting: &Meeting,
        (before, total): (&[Registers], &[Registers]),
        digit: &Expr,
        (extent, step): (i64, i64),
    ) -> Result<Stmt, LowerError> {
        let other: Vec<Registers> = s.other.iter().map(|a| at_zero(*a)).collect();
        let part = self.counter("part", s.op, 28);
        let now = Expr::symbol(part.clone());
        let mut body = self.meet(s, meeting, true, &other, &now, &Cond::True)?;
        let below = {
            let integer = |value: Expr| Scalar::Integer { value, dtype: DType::I32 };
            Scalar::apply(Operator::Lt, DType::I32, [integer(now), integer(digit.clone())])
        };
        // The parts so far have elements if the latest of them has: the scan meets the parts without elements first.
        let latest = s.ordered(Expr::symbol(part.clone()) - Expr::constant(1), extent);
        let is_some = self.has_elements(s, step, &latest);
        body.extend(self.append(s, before, &other, (Some(&below), is_some.as_ref())));
        body.extend(self.append(s, total, &other, (None, is_some.as_ref())));
        let (start, end) = (Expr::constant(1), Expr::constant(extent));
        Ok(Stmt::Control(Control::For { var: part, start, end, unroll: true, body }))
    }

    /// Returns the condition for a thread to store its total at a level. A total does not depend on the thread digits that are
    /// done, so only threads whose finished digits are 0 store it.
    fn writers(&self, s: &Scan<'_>, step: i64) -> Result<Cond, LowerError> {
        let held = &self.solution.registers[&self.first_dst(s)?];
        let irregular = || self.error(s.op, "a layout runs over the end of a dimension");
        let modes = tile_modes(&held.layout.mode(0), &held.tile).ok_or_else(irregular)?;
        let facts = self.facts_of(s.op);
        let mut writes = lowest_of_replicas(&modes, facts);
        for level in s.levels {
            if let ScanLevel::Lanes { unit, extent, step: below }
            | ScanLevel::Across { unit, extent, step: below } = level
                && *below < step
            {
                let digit = self.digit(s.op, *unit, *extent);
                writes = writes.and(Cond::cmp(CmpOp::Eq, digit, Expr::default(), facts));
            }
        }
        Ok(writes)
    }

    /// Returns the shared memory in which the threads exchange the totals of blocks of `block` elements.
    fn meeting(&self, s: &Scan<'_>, block: i64) -> Result<Meeting, LowerError> {
        let (row, rows) = self.scan_row(s, block)?;
        let buffers = self.scratch.get(&s.op.id).filter(|b| b.len() == s.held.len());
        let buffers = buffers.ok_or_else(|| self.error(s.op, "no shared memory to meet in"))?;
        let row = row + self.first_of_group(s.op, self.elements_to_meet(s)?);
        Ok(Meeting { buffers: buffers.clone(), row, rows })
    }

    /// Returns how many elements of the memory for totals one group has.
    fn elements_to_meet(&self, s: &Scan<'_>) -> Result<i64, LowerError> {
        let Some(Choice::Scan(choice)) = self.solution.choices.get(&s.op.id) else {
            return Err(self.error(s.op, "a scan without a choice"));
        };
        let scratch =
            choice.scratch.first().ok_or_else(|| self.error(s.op, "no shared memory to meet in"))?;
        let bits = s.dtypes.first().map_or(8, |dtype| i64::from(dtype.bits()).max(8));
        Ok(i64::from(scratch.bytes / self.program.groups_of(s.op)) * 8 / bits)
    }

    /// Loads or stores one element of each tensor at a part of the shared memory.
    fn meet(
        &self,
        s: &Scan<'_>,
        meeting: &Meeting,
        load: bool,
        registers: &[Registers],
        part: &Expr,
        guard: &Cond,
    ) -> Result<Body, LowerError> {
        let transfer = |(i, registers): (usize, &Registers)| {
            let offset = (part.scale(meeting.rows) + meeting.row.clone()).simplify(&s.walk.facts);
            let address = Address { memory: Memory::Shared(meeting.buffers[i]), offset };
            let row = self.single(s.op, s.dtypes[i], load)?;
            let (registers, guard) = (registers.clone(), guard.clone());
            Ok(Stmt::Leaf(Leaf::Transfer(Transfer {
                row,
                registers,
                address,
                guard,
                pad: 0,
                atomic: None,
                cache: Cache::default(),
            })))
        };
        registers.iter().enumerate().map(transfer).collect()
    }

    /// Computes `at = at ∘ after` in threads for which the condition holds, or in all. Where `at` has no elements, it becomes `after`.
    fn append(
        &self,
        s: &Scan<'_>,
        at: &[Registers],
        after: &[Registers],
        (condition, has_elements): (Option<&Scalar>, Option<&Scalar>),
    ) -> Body {
        let n = at.len();
        let inputs: Vec<Registers> = at.iter().chain(after).cloned().collect();
        let value = |i: usize| {
            let [own, next] = [i, n + i].map(|at| Scalar::Input { index: at as u32, dtype: s.dtypes[i] });
            let value = s.value[i].clone();
            let value = match has_elements {
                Some(some) => Scalar::apply(Operator::Select, s.dtypes[i], [some.clone(), value, next]),
                None => value,
            };
            hardware(
                self.program.target.rows(),
                &match condition {
                    Some(c) => Scalar::apply(Operator::Select, s.dtypes[i], [c.clone(), value, own]),
                    None => value,
                },
            )
        };
        let next = (0..n).map(|i| {
            Stmt::Leaf(Leaf::Compute(Compute {
                dst: at_zero(s.next[i]),
                inputs: inputs.clone(),
                value: value(i),
            }))
        });
        let back = (0..n).map(|i| {
            Stmt::Leaf(Leaf::Convert(Convert { row: None, dst: at[i].clone(), src: at_zero(s.next[i]) }))
        });
        next.chain(back).collect()
    }

    fn first_dst(&self, s: &Scan<'_>) -> Result<TensorId, LowerError> {
        let found = self.arrays.iter().find(|(_, array)| **array == s.held[0]).map(|(t, _)| *t);
        found.ok_or_else(|| self.error(s.op, "nothing is scanned"))
    }

    /// Returns the index of a thread's total among the totals in shared memory, and the number of totals. The index combines
    /// the coordinates in the other dimensions with the number of earlier blocks of `block` elements along the axis.
    fn scan_row(&self, s: &Scan<'_>, block: i64) -> Result<(Expr, i64), LowerError> {
        let held = &self.solution.registers[&self.first_dst(s)?];
        let (mut row, mut rows) = (Expr::default(), 1);
        for (d, at) in s.walk.at.iter().enumerate() {
            if d != s.axis {
                row = row + at.scale(rows);
                rows *= held.tile[d];
            }
        }
        let mut above = Expr::default();
        for level in s.levels {
            let (digit, step) = (self.digit_of(s, level), step_of(level));
            if step >= block {
                above = above + digit.scale(step / block);
            }
        }
        row = row + above.scale(rows);
        rows *= held.tile[s.axis].div_euclid(block).max(1);
        Ok((row, rows))
    }
}

/// Returns the distance along the axis of one step of a level.
fn step_of(level: &ScanLevel) -> i64 {
    match *level {
        ScanLevel::Values { step, .. } | ScanLevel::Lanes { step, .. } | ScanLevel::Across { step, .. } => {
            step
        }
    }
}

/// Returns the condition that both hold; the first alone if there is no second.
fn both(first: Scalar, second: Option<Scalar>) -> Scalar {
    match second {
        Some(second) => Scalar::apply(Operator::And, DType::Bool, [first, second]),
        None => first,
    }
}
