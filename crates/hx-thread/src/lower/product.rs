//! Lowers matrix products that read operands from shared memory by descriptor.
//!
//! A descriptor is read off the solved layout of the shared tensor: composed with the rows or columns, and with the steps, of
//! one instruction, the layout must have the modes of the reach. The strides that the reach leaves open are the offsets of
//! the descriptor; the place of the instruction's first element is its start.

use std::collections::BTreeSet;

use hx_index::{CmpOp, Cond, Expr, Facts, Symbol, gcd};
use hx_layout::{Layout, Swizzle};
use hx_target::{Field, GemmRow, ReachRow, Reached, ReachedStride, Row};
use hx_tile::{
    Base, Choice, Distribution, GemmChoice, Op, OpId, OpKind, Operand, OperandChoice, Products, TensorId,
    View, coordinate,
};

use super::layout::{digits, registers, unrolled};
use super::{COUNTED, Local, LowerError, Lowering, counted};
use crate::{Body, Descriptor, Fence, Leaf, MultiplyAsync, Registers, Source, Stmt};

/// A product by descriptor: the places of its instructions, in terms of their counters and of the group of threads.
struct Issues {
    /// The counters of the instructions along M, N, K and the batch.
    counters: [Symbol; 4],
    /// The counters as expressions: 0 along an axis with a single instruction.
    counts: [Expr; 4],
    /// The coordinates of the first element of an instruction's accumulator: the row, the column, and the batch if there is
    /// one.
    at: Vec<Expr>,
    /// The first step along K of an instruction.
    step: Expr,
    facts: Facts,
    /// The local with the number of the group of threads, and its value; `None` if one group executes the product.
    group: Option<(Symbol, Expr)>,
}

impl Lowering<'_> {
    /// Lowers a product whose instructions are asynchronous. If the program's product is synchronous, a wait follows.
    pub(super) fn product(
        &self,
        op: &Op,
        c: TensorId,
        operands: [&Operand; 2],
        choice: &GemmChoice,
        asynchronous: bool,
    ) -> Result<Body, LowerError> {
        let row = choice.row;
        let issues = self.issues(op, c, operands[0], choice, &row)?;
        let [m, n, k, l] = issues.counts.clone();
        let a = match &choice.a {
            OperandChoice::Registers(positions) => {
                let tensor = operands[0].view.register();
                let tensor = tensor.ok_or_else(|| self.error(op, "A is not in registers"))?;
                Source::Registers(registers(
                    self.array(op, tensor)?,
                    positions,
                    &[m.clone(), k.clone(), l.clone()],
                ))
            }
            OperandChoice::Descriptor { reach } => {
                let extents = [row.shape[0], row.shape[2]];
                Source::Descriptor(self.descriptor(op, &operands[0].view, *reach, extents, 0, &issues)?)
            }
        };
        let OperandChoice::Descriptor { reach } = &choice.b else {
            return Err(self.error(op, "B is not in shared memory"));
        };
        let b = self.descriptor(op, &operands[1].view, *reach, [row.shape[1], row.shape[2]], 1, &issues)?;
        let later = Cond::cmp(CmpOp::Ne, k, Expr::default(), &issues.facts);
        let keep = self.zeros.keep(op.id).or(later);
        let c = registers(self.array(op, c)?, &choice.c, &[m, n, l]);
        let multiply = Stmt::Leaf(Leaf::MultiplyAsync(MultiplyAsync { row, c, a, b, keep }));
        let mut body = Body::new();
        body.extend(issues.group.map(|(var, value)| Stmt::Leaf(Leaf::Uniform { var, value })));
        body.push(Stmt::Leaf(Leaf::Fence(Fence::Products)));
        let [im, i_n, ik, il] = choice.issues;
        let [cm, cn, ck, cl] = issues.counters;
        body.extend(unrolled(&[(ck, ik), (cl, il), (cm, im), (cn, i_n)], vec![multiply]));
        body.push(Stmt::Leaf(Leaf::CommitProducts));
        if !asynchronous {
            let running = self.products.before(op).all().into_iter().chain([op.id]);
            let freed =
                running.filter_map(|id| self.program.op(id)).flat_map(|op| op.kind.registers()).collect();
            body.push(Stmt::Leaf(Leaf::WaitProducts { leave: 0, completes: self.whole(op, &freed)? }));
        }
        Ok(body)
    }

    /// Lowers a wait for products. Products of registers are complete at once, so a wait for such products does nothing.
    pub(super) fn wait_products(&self, op: &Op, leave: u32) -> Result<Body, LowerError> {
        let queue = self.products.before(op);
        let by_descriptor = |id: &OpId| self.is_by_descriptor(*id);
        let all = queue.all();
        if !all.iter().any(by_descriptor) {
            return Ok(Body::new());
        }
        // The hardware counts its own groups only. If other products are among those in flight, wait for all.
        let leave = if all.iter().all(by_descriptor) { leave } else { 0 };
        let freed = Products::freed(self.program, &queue, leave);
        Ok(vec![Stmt::Leaf(Leaf::WaitProducts { leave, completes: self.whole(op, &freed)? })])
    }

    /// Reports whether a product reads an operand by descriptor.
    pub(super) fn is_by_descriptor(&self, id: OpId) -> bool {
        is_by_descriptor(self.solution.choices.get(&id))
    }

    /// Returns the registers of all values of these tensors.
    fn whole(&self, op: &Op, tensors: &BTreeSet<TensorId>) -> Result<Vec<Registers>, LowerError> {
        let whole = |tensor: &TensorId| {
            let values = self.distribution(op, *tensor)?.layout.mode(1).size();
            let offsets = (0..values as u32).collect();
            Ok(Registers { array: self.array(op, *tensor)?, base: Expr::default(), offsets })
        };
        tensors.iter().map(whole).collect()
    }

    fn distribution(&self, op: &Op, tensor: TensorId) -> Result<&Distribution, LowerError> {
        self.solution.registers.get(&tensor).ok_or_else(|| self.error(op, "a register tensor has no layout"))
    }

    /// Returns the places of the instructions, from the layout of the accumulator.
    fn issues(
        &self,
        op: &Op,
        c: TensorId,
        a: &Operand,
        choice: &GemmChoice,
        row: &GemmRow,
    ) -> Result<Issues, LowerError> {
        let [im, i_n, ik, il] = choice.issues;
        let lanes = i64::from(row.threads);
        let groups = i64::from(self.program.scope(op.scope).threads) / lanes;
        let names = [("m", 1), ("n", 2), ("k", 0), ("batch", 4)];
        let counters = names.map(|(name, i)| self.counter(name, op, COUNTED + i));
        let mut facts = self.facts_of(op).clone();
        let mut counts = [(); 4].map(|()| Expr::default());
        for ((count, counter), extent) in counts.iter_mut().zip(&counters).zip([im, i_n, ik, il]) {
            facts.at_most(counter.clone(), Expr::constant(extent - 1));
            *count = counted(counter, extent);
        }
        let group = (groups > 1).then(|| {
            let var = self.counter("group", op, Local::Digit as u32);
            facts.at_most(var.clone(), Expr::constant(groups - 1));
            (var, Expr::symbol(Symbol::Thread).div(&Expr::constant(lanes), self.facts_of(op)))
        });
        let number = group.as_ref().map_or_else(Expr::default, |(var, _)| Expr::symbol(var.clone()));

        let held = self.distribution(op, c)?;
        let first = |g: i64, m: i64, n: i64, l: i64| {
            let value = choice.c.eval(row.c.values() * (m + im * (n + i_n * l)));
            place(held, g * lanes, value)
        };
        let irregular = || self.error(op, "the instructions of the product lie in no regular order");
        let rank = self.program.tensor(c).shape.len();
        let mut at = Vec::new();
        for dim in 0..rank {
            let along = |extent: i64, of: &dyn Fn(i64) -> Vec<i64>| -> Option<Vec<(i64, i64, i64)>> {
                steps(&(0..extent).map(|i| of(i)[dim]).collect::<Vec<_>>())
            };
            let parts = [
                (along(groups, &|g| first(g, 0, 0, 0)), &number),
                (along(im, &|m| first(0, m, 0, 0)), &counts[0]),
                (along(i_n, &|n| first(0, 0, n, 0)), &counts[1]),
                (along(il, &|l| first(0, 0, 0, l)), &counts[3]),
            ];
            let mut sum = Expr::default();
            for (steps, counter) in parts {
                sum = sum + walked(&steps.ok_or_else(irregular)?, counter, &facts);
            }
            at.push(sum);
        }
        let table = self.along_k(op, a, choice, row)?;
        let step = walked(&steps(&table).ok_or_else(irregular)?, &counts[2], &facts);
        Ok(Issues { counters, counts, at, step, facts, group })
    }

    /// Returns the first element along K that each step of a product multiplies.
    fn along_k(
        &self,
        op: &Op,
        a: &Operand,
        choice: &GemmChoice,
        row: &GemmRow,
    ) -> Result<Vec<i64>, LowerError> {
        let [im, _, ik, _] = choice.issues;
        Ok(match &choice.a {
            OperandChoice::Registers(positions) => {
                let tensor = a.view.register().ok_or_else(|| self.error(op, "A is not in registers"))?;
                let held = self.distribution(op, tensor)?;
                (0..ik).map(|k| place(held, 0, positions.eval(row.a.values() * im * k))[1]).collect()
            }
            OperandChoice::Descriptor { .. } => (0..ik).map(|k| k * row.shape[2]).collect(),
        })
    }

    /// Returns the descriptor of an operand. `extents` are the rows or columns, and the steps, of one instruction; `along` is
    /// the dimension of the accumulator that the operand shares.
    fn descriptor(
        &self,
        op: &Op,
        view: &View,
        reach: Row<ReachRow>,
        [x, k]: [i64; 2],
        along: usize,
        issues: &Issues,
    ) -> Result<Descriptor, LowerError> {
        let Base::Shared(tensor) = view.base else {
            return Err(self.error(op, "an operand by descriptor is not in shared memory"));
        };
        let dtype = self.program.tensor(tensor).dtype;
        let shared = self.solution.shared.get(&tensor).ok_or_else(|| self.error(op, "no shared layout"))?;
        let unfit =
            |what: &str| self.error(op, format!("the layout of the operand has no form `{reach}`: {what}"));
        let bits = dtype.bits();
        let is_same =
            |own: Swizzle| own == shared.swizzle || own.is_identity() && shared.swizzle.is_identity();
        if !reach.swizzle.of_elements(bits).is_some_and(is_same) {
            return Err(unfit("another swizzle"));
        }
        let sides = reach.modes(bits).ok_or_else(|| unfit("elements of another width"))?;
        let batch = issues.at.get(2).cloned();
        let at: Vec<Expr> =
            [issues.at[along].clone(), issues.step.clone()].into_iter().chain(batch).collect();
        let mut open = Open { lbo: None, sbo: None, bits: i64::from(bits) };
        for ((mode, wanted), extent) in sides.iter().enumerate().zip([x, k]) {
            let wanted = extents(wanted, extent).ok_or_else(|| unfit("the extents of the instruction"))?;
            let walked = view.modes.get(mode).ok_or_else(|| unfit("no such mode"))?;
            let factor = walked.factor.as_const().ok_or_else(|| unfit("a step that is not constant"))?;
            let layout = shared.layout.mode(walked.dim);
            let start = view.coordinate(walked.dim, &at);
            let apart = gcd(
                start.constant_term(),
                issues.facts.divisor(&(start.clone() - Expr::constant(start.constant_term()))),
            );
            if !continues(&layout, (extent, factor), apart) {
                return Err(unfit("instructions begin within a mode"));
            }
            open.read(&layout, factor, &wanted).ok_or_else(|| unfit("another stride"))?;
        }
        let coordinates: Vec<Expr> = (0..view.offsets.len()).map(|dim| view.coordinate(dim, &at)).collect();
        let start = self.unswizzled(op, view, &coordinates, &issues.facts)?;
        // The instruction ignores a field if its reach has no mode with that stride.
        let [lbo, sbo] = [open.lbo, open.sbo].map(|bytes| bytes.unwrap_or(UNREAD));
        let bytes = |bytes: i64| u32::try_from(bytes).map_err(|_| unfit("a negative stride"));
        Ok(Descriptor { start, reach, lbo: bytes(lbo)?, sbo: bytes(sbo)? })
    }
}

/// Reports whether a product with this choice reads an operand by descriptor.
pub(super) fn is_by_descriptor(choice: Option<&Choice>) -> bool {
    matches!(choice, Some(Choice::Gemm(GemmChoice { b: OperandChoice::Descriptor { .. }, .. })))
}

/// The offsets of a descriptor, in bytes, as far as they are known.
struct Open {
    lbo: Option<i64>,
    sbo: Option<i64>,
    /// Bits of an element.
    bits: i64,
}

/// The offset in a field of a descriptor that the instruction does not read.
const UNREAD: i64 = 16;

/// Returns the modes of a reach with the part of an instruction's `extent` that each walks; `None` if they do not divide it.
fn extents(modes: &[Reached], extent: i64) -> Option<Vec<(i64, ReachedStride)>> {
    let mut left = extent;
    let mut out = Vec::new();
    for mode in modes {
        // An instruction that is shorter than the mode walks a part of it.
        let extent = mode.extent.map_or(left, |extent| extent.min(left));
        if extent < 1 || left % extent != 0 {
            return None;
        }
        left /= extent;
        out.push((extent, mode.stride));
    }
    (left == 1).then_some(out)
}

impl Open {
    /// Reads the offsets off a layout along one side of an operand; `None` if the layout has other strides than the reach.
    fn read(&mut self, layout: &Layout, factor: i64, wanted: &[(i64, ReachedStride)]) -> Option<()> {
        let mut unit = factor;
        for &(wanted, stride) in wanted {
            let walk = Layout::flat(&[(wanted, unit)]).ok()?;
            unit *= wanted;
            if wanted == 1 {
                continue;
            }
            let found = layout.compose(&walk).ok()?.coalesce();
            let &[(extent, found)] = found.leaves() else { return None };
            if extent != wanted {
                return None;
            }
            let bytes = found * self.bits / 8;
            let field = match stride {
                ReachedStride::Known(known) if known == found => continue,
                ReachedStride::Known(_) => return None,
                ReachedStride::Free(Field::Leading) => &mut self.lbo,
                ReachedStride::Free(Field::Stride) => &mut self.sbo,
            };
            if field.replace(bytes).is_some_and(|before| before != bytes) {
                return None;
            }
        }
        Some(())
    }
}

/// Reports whether a walk of `extent` steps of `factor` adds the same offsets to every multiple of `apart` at which it fits
/// into the layout.
fn continues(layout: &Layout, (extent, factor): (i64, i64), apart: i64) -> bool {
    let last = layout.size() - (extent - 1) * factor;
    let apart = if apart <= 0 { layout.size() } else { apart };
    let starts = (0..last.max(1)).step_by(apart as usize);
    let offset = |start: i64| (0..extent).map(move |i| layout.eval(start + i * factor) - layout.eval(start));
    starts.into_iter().all(|start| offset(start).eq(offset(0)))
}

/// Returns the coordinate of a value of a thread.
fn place(held: &Distribution, thread: i64, value: i64) -> Vec<i64> {
    coordinate(held.layout.eval(thread + held.layout.mode(0).size() * value), &held.tile)
}

/// Returns a table of coordinates, which begins with 0, as digits of the position: `(unit, extent, step)` each; `None` if it
/// is no sum of such digits.
fn steps(table: &[i64]) -> Option<Vec<(i64, i64, i64)>> {
    let count = table.len() as i64;
    let mut unit = 1;
    let mut out = Vec::new();
    while unit < count {
        let step = table[unit as usize];
        let left = count / unit;
        let regular = (1..left).take_while(|i| table[(i * unit) as usize] == i * step).count() as i64 + 1;
        let extent = (2..=regular).rev().find(|extent| left % extent == 0)?;
        out.push((unit, extent, step));
        unit *= extent;
    }
    let sum = |i: i64| out.iter().map(|(unit, extent, step)| i / unit % extent * step).sum::<i64>();
    table.iter().zip(0..).all(|(found, i)| *found == sum(i)).then_some(out)
}

fn walked(steps: &[(i64, i64, i64)], counter: &Expr, facts: &Facts) -> Expr {
    let flat: Vec<(i64, i64)> = steps.iter().map(|(_, extent, _)| (*extent, 0)).collect();
    let digits = digits(counter, &flat, facts);
    digits.into_iter().zip(steps).fold(Expr::default(), |sum, (digit, (_, _, step))| sum + digit.scale(*step))
}

/// Reports whether an operation is a product by descriptor into `tensor` that does not also read it as an operand.
pub(super) fn is_product_into(op: &Op, choice: Option<&Choice>, tensor: TensorId) -> bool {
    let OpKind::Gemm { c, a, b, .. } = &op.kind else { return false };
    let reads = |operand: &Operand| operand.view.register() == Some(tensor);
    *c == tensor && !reads(a) && !reads(b) && is_by_descriptor(choice)
}
