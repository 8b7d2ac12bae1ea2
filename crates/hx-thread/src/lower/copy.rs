//! Copies between registers and a memory.

use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_tile::{Base, CopyChoice, Op, TileMode, View, tile_modes};

use super::layout::{digits, unrolled};
use super::{LowerError, Lowering};
use crate::{Body, Registers, Stmt, Transfer};

/// Names of the thread's coordinates in tiles of rank 2 and otherwise.
const PLANE: [&str; 2] = ["row", "col"];
const COUNTERS: [&str; 6] = ["i", "j", "l", "p", "q", "s"];

impl Lowering<'_> {
    /// The coordinates of a thread are computed once; loops over the issues add constants to them.
    pub(super) fn copy(
        &self,
        op: &Op,
        src: &View,
        dst: &View,
        choice: &CopyChoice,
    ) -> Result<Body, LowerError> {
        let (memory, register, is_load) = match (src.register(), dst.register()) {
            (None, Some(register)) => (src, register, true),
            (Some(register), None) => (dst, register, false),
            _ => return Err(self.error(op, "a copy moves between registers and a memory")),
        };
        let irregular = || self.error(op, "the memory layout runs over the end of a dimension");
        let thread = tile_modes(&choice.memory.mode(0), &choice.tile).ok_or_else(irregular)?;
        let issue = tile_modes(&choice.memory.mode(2), &choice.tile).ok_or_else(irregular)?;
        let positions = choice.register.mode(1);
        let steps: Vec<i64> = positions.leaves().iter().map(|l| l.1).collect();
        if steps.len() != issue.len() {
            return Err(self.error(op, "registers and memory are not issued alike"));
        }

        let mut facts = self.facts.clone();
        let (mut body, mut at) = self.thread_coordinates(op, &thread, &choice.tile, &mut facts);
        let mut loops = Vec::new();
        let mut base = Expr::default();
        for (j, (mode, step)) in issue.iter().zip(&steps).enumerate().filter(|(_, (m, _))| m.extent > 1) {
            let counter = self.counter(COUNTERS[j % COUNTERS.len()], op, 8 + j as u32);
            facts.at_most(counter.clone(), Expr::constant(mode.extent - 1));
            let counted = Expr::symbol(counter.clone());
            base = base + counted.scale(*step);
            for (coordinate, stride) in at.iter_mut().zip(&mode.strides) {
                *coordinate = coordinate.clone() + counted.scale(*stride);
            }
            loops.push((counter, mode.extent));
        }
        let values = choice.register.mode(0);
        let shape = &self.program.tensor(register).shape;
        let mut guard = self.inside(memory, shape, &at, &choice.tile, &facts);
        if !is_load {
            guard = lowest_of_replicas(&thread, &self.facts).and(guard);
        }
        let transfer = Transfer {
            row: choice.row.clone(),
            registers: Registers {
                array: self.array(op, register)?,
                base,
                offsets: (0..values.size()).map(|v| values.eval(v) as u32).collect(),
            },
            address: self.address(op, memory, &at, &facts)?,
            guard,
            pad: self.program.tensor(register).dtype.encode(memory.pad),
        };
        // Loops run so that the first counter is innermost, as the values lie in registers.
        loops.reverse();
        body.extend(unrolled(&loops, vec![Stmt::Transfer(transfer)]));
        Ok(body)
    }

    /// A local for each dimension in which threads differ, and the coordinates built of them.
    fn thread_coordinates(
        &self,
        op: &Op,
        modes: &[TileMode],
        tile: &[i64],
        facts: &mut Facts,
    ) -> (Body, Vec<Expr>) {
        let thread = Expr::symbol(Symbol::Thread);
        let flat: Vec<(i64, i64)> = modes.iter().map(|m| (m.extent, 0)).collect();
        let digits = digits(&thread, &flat, &self.facts);
        let mut body = Vec::new();
        let mut at = Vec::new();
        for d in 0..tile.len() {
            let walks = || modes.iter().zip(&digits).filter(|(m, _)| m.strides[d] != 0 && m.extent > 1);
            let value = walks().fold(Expr::default(), |sum, (m, digit)| sum + digit.scale(m.strides[d]));
            if value.is_zero() {
                at.push(value);
                continue;
            }
            let name = if tile.len() == 2 { PLANE[d].to_string() } else { format!("x{d}") };
            let var = self.counter(&name, op, d as u32);
            facts.at_most(
                var.clone(),
                Expr::constant(walks().map(|(m, _)| m.strides[d] * (m.extent - 1)).sum()),
            );
            facts.divisible(var.clone(), walks().fold(0, |g, (m, _)| hx_index::gcd(g, m.strides[d])));
            body.push(Stmt::Let { var: var.clone(), value });
            at.push(Expr::symbol(var));
        }
        (body, at)
    }

    /// Whether the element at a coordinate is in the tensor's tile and within the bounds of a global buffer; what is proven is left
    /// out. The elements of one access are inside together or not at all.
    fn inside(&self, view: &View, shape: &[i64], at: &[Expr], tile: &[i64], facts: &Facts) -> Cond {
        let mut guard = Cond::True;
        for ((coordinate, extent), covered) in at.iter().zip(shape).zip(tile) {
            if covered != extent {
                guard = guard.and(Cond::cmp(CmpOp::Lt, coordinate.clone(), Expr::constant(*extent), facts));
            }
        }
        let Base::Global(param) = view.base else { return guard };
        let Some(param) = self.program.tensor_param(param) else { return guard };
        for (dim, extent) in param.shape.iter().enumerate() {
            let coordinate = view.coordinate(dim, at);
            guard = guard.and(Cond::cmp(CmpOp::Le, Expr::default(), coordinate.clone(), facts));
            guard = guard.and(Cond::cmp(CmpOp::Lt, coordinate, extent.clone(), facts));
        }
        guard
    }
}

/// Of threads that hold the same element, the lowest stores it.
fn lowest_of_replicas(modes: &[TileMode], facts: &Facts) -> Cond {
    let flat: Vec<(i64, i64)> = modes.iter().map(|m| (m.extent, 0)).collect();
    let digits = digits(&Expr::symbol(Symbol::Thread), &flat, facts);
    modes
        .iter()
        .zip(digits)
        .filter(|(m, _)| m.extent > 1 && m.is_still())
        .fold(Cond::True, |all, (_, digit)| all.and(Cond::cmp(CmpOp::Eq, digit, Expr::default(), facts)))
}
