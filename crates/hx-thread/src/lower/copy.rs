//! Lowers copies between registers and a memory.

use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_tile::{Base, CopyChoice, Op, TensorId, TileMode, View, tile_modes};

use super::layout::{digits, rolled, unrolled};
use super::picked::{around, atomic_use, coordinates};
use super::{LowerError, Lowering};
use crate::{AsyncCopy, Body, Leaf, Registers, Stmt, Transfer};

const COUNTERS: [&str; 6] = ["i", "j", "l", "p", "q", "s"];

/// A copy, with its modes as steps along the dimensions of the register tensor.
#[derive(Clone, Copy)]
pub(super) struct Ends<'c> {
    pub(super) op: &'c Op,
    pub(super) memory: &'c View,
    pub(super) register: TensorId,
    pub(super) is_load: bool,
    pub(super) choice: &'c CopyChoice,
    /// The steps from thread to thread.
    pub(super) thread: &'c [TileMode],
    /// The steps from instruction to instruction. `steps` has the distances between their registers.
    pub(super) issue: &'c [TileMode],
    pub(super) steps: &'c [i64],
}

impl Lowering<'_> {
    /// Lowers a copy. The coordinates of a thread are computed once; the loops over the instructions add constants to them.
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

        let mut facts = self.facts_of(op).clone();
        let (mut body, at) = self.thread_coordinates(op, &thread, &choice.tile, &mut facts);
        let ends =
            Ends { op, memory, register, is_load, choice, thread: &thread, issue: &issue, steps: &steps };
        body.extend(self.transfers(&ends, at, facts, None)?);
        Ok(body)
    }

    /// Returns the instructions of a copy for threads at the coordinates `at`. The mode `fixed` stays at the given step and
    /// has no loop.
    pub(super) fn transfers(
        &self,
        ends: &Ends<'_>,
        mut at: Vec<Expr>,
        mut facts: Facts,
        fixed: Option<(usize, Expr)>,
    ) -> Result<Body, LowerError> {
        let Ends { op, memory, register, is_load, choice, thread, issue, steps } = *ends;
        let (mut loops, mut counts) = (Vec::new(), vec![Expr::default(); issue.len()]);
        let mut base = Expr::default();
        for (j, (mode, step)) in issue.iter().zip(steps).enumerate().filter(|(_, (m, _))| m.extent > 1) {
            let counted = match &fixed {
                Some((position, value)) if *position == j => value.clone(),
                _ => {
                    let (counter, counted) = self.step(op, j, mode.extent, &mut facts);
                    loops.push((counter, mode.extent));
                    counted
                }
            };
            base = base + counted.scale(*step);
            counts[j] = counted.clone();
            for (coordinate, stride) in at.iter_mut().zip(&mode.strides) {
                *coordinate = coordinate.clone() + counted.scale(*stride);
            }
        }
        let values = choice.register.mode(0);
        let shape = &self.program.tensor(register).shape;
        let beside = self.beside(op, choice, &counts)?;
        let picked = self.picked(op, memory, (&at, &beside), &facts)?;
        let coordinates = coordinates(memory, &at, picked.as_ref());
        let exists = picked.as_ref().map_or(Cond::True, |picked| picked.exists.clone());
        let inside = exists.and(self.in_bounds(memory, &coordinates, &facts));
        let mut guard = in_tile(shape, &at, &choice.tile, &facts).and(inside);
        // The lanes of a collective instruction act together, so lanes that repeat an address take part as well.
        let collective = choice.row.is_collective();
        // Threads that share an element may find different values, if each loads it while others change it.
        let alone = !is_load || matches!(op.kind, hx_tile::OpKind::Atomic(_));
        if alone && !collective {
            guard = lowest_of_replicas(thread, self.facts_of(op)).and(guard);
        }
        let transfer = Transfer {
            row: choice.row,
            registers: Registers {
                array: self.array(op, register)?,
                base,
                offsets: (0..values.size()).map(|v| values.eval(v) as u32).collect(),
            },
            address: self.address(op, memory, &coordinates, &facts)?,
            guard,
            pad: self.program.tensor(register).dtype.encode(memory.pad.value()),
            atomic: atomic_use(op, &beside),
            cache: memory.cache,
        };
        // The first counter is innermost: this is the order of the values in registers.
        loops.reverse();
        Ok(around(&loops, picked, Stmt::Leaf(Leaf::Transfer(transfer)), unrolled))
    }

    /// Lowers an asynchronous copy. It accesses the same coordinates of two memories.
    pub(super) fn copy_async(
        &self,
        op: &Op,
        src: &View,
        dst: &View,
        choice: &CopyChoice,
    ) -> Result<Body, LowerError> {
        let irregular = || self.error(op, "the memory layout runs over the end of a dimension");
        let thread = tile_modes(&choice.memory.mode(0), &choice.tile).ok_or_else(irregular)?;
        let issue = tile_modes(&choice.memory.mode(2), &choice.tile).ok_or_else(irregular)?;
        let mut facts = self.facts_of(op).clone();
        let (mut body, mut at) = self.thread_coordinates(op, &thread, &choice.tile, &mut facts);
        let mut loops = Vec::new();
        for (j, mode) in issue.iter().enumerate().filter(|(_, m)| m.extent > 1) {
            let (counter, counted) = self.step(op, j, mode.extent, &mut facts);
            for (coordinate, stride) in at.iter_mut().zip(&mode.strides) {
                *coordinate = coordinate.clone() + counted.scale(*stride);
            }
            loops.push((counter, mode.extent));
        }
        let picked = self.picked(op, src, (&at, &[]), &facts)?;
        let from = coordinates(src, &at, picked.as_ref());
        let copy = AsyncCopy {
            row: choice.row,
            signals: super::signal::barrier_of_copy(op),
            src: self.address(op, src, &from, &facts)?,
            dst: self.address(op, dst, &coordinates(dst, &at, None), &facts)?,
            active: lowest_of_replicas(&thread, self.facts_of(op)).and(in_tile(
                &src.shape(),
                &at,
                &choice.tile,
                &facts,
            )),
            inside: self.in_bounds(src, &from, &facts),
            cache: src.cache,
        };
        loops.reverse();
        body.extend(around(&loops, picked, Stmt::Leaf(Leaf::AsyncCopy(copy)), rolled));
        Ok(body)
    }

    /// Returns the counter of a loop over the mode at `position`, and the counter's value: 0 for a loop of one step. States
    /// the counter's range in `facts`.
    pub(super) fn step(&self, op: &Op, position: usize, extent: i64, facts: &mut Facts) -> (Symbol, Expr) {
        let counter = self.counter(COUNTERS[position % COUNTERS.len()], op, super::COUNTED + position as u32);
        facts.at_most(counter.clone(), Expr::constant(extent - 1));
        let counted = super::counted(&counter, extent);
        (counter, counted)
    }

    /// Returns a local for each dimension in which threads differ, and the coordinates in terms of these locals. States the
    /// ranges of the locals in `facts`.
    pub(super) fn thread_coordinates(
        &self,
        op: &Op,
        modes: &[TileMode],
        tile: &[i64],
        facts: &mut Facts,
    ) -> (Body, Vec<Expr>) {
        let thread = Expr::symbol(Symbol::Thread);
        let flat: Vec<(i64, i64)> = modes.iter().map(|m| (m.extent, 0)).collect();
        let digits = digits(&thread, &flat, self.facts_of(op));
        let mut body = Vec::new();
        let mut at = Vec::new();
        for d in 0..tile.len() {
            let walks = || modes.iter().zip(&digits).filter(|(m, _)| m.strides[d] != 0 && m.extent > 1);
            let value = walks().fold(Expr::default(), |sum, (m, digit)| sum + digit.scale(m.strides[d]));
            if value.is_zero() {
                at.push(value);
                continue;
            }
            let name = coordinate_name(d, tile.len());
            let var = self.counter(&name, op, d as u32);
            facts.at_most(
                var.clone(),
                Expr::constant(walks().map(|(m, _)| m.strides[d] * (m.extent - 1)).sum()),
            );
            facts.divisible(var.clone(), walks().fold(0, |g, (m, _)| hx_index::gcd(g, m.strides[d])));
            body.push(Stmt::Leaf(Leaf::Let { var: var.clone(), value }));
            at.push(Expr::symbol(var));
        }
        (body, at)
    }

    /// Returns the condition under which an element lies within the bounds of a global tensor and before the ends of the
    /// view, without comparisons that the facts prove. The elements of one access lie inside together or not at all.
    pub(super) fn in_bounds(&self, view: &View, coordinates: &[Expr], facts: &Facts) -> Cond {
        let Base::Global(param) = view.base else { return Cond::True };
        let Some(param) = self.program.tensor_param(param) else { return Cond::True };
        let below =
            |dim: usize, end: &Expr| Cond::cmp(CmpOp::Lt, coordinates[dim].clone(), end.clone(), facts);
        let inside = param.shape.iter().enumerate().fold(Cond::True, |guard, (dim, extent)| {
            let coordinate = coordinates[dim].clone();
            guard.and(Cond::cmp(CmpOp::Le, Expr::default(), coordinate, facts)).and(below(dim, extent))
        });
        view.ends.iter().fold(inside, |guard, (dim, end)| guard.and(below(*dim, end)))
    }
}

/// Names a thread's coordinate along a dimension: `row` and `col` in a tile of rank 2, `x0`, `x1` and so on in others.
fn coordinate_name(dim: usize, rank: usize) -> String {
    match (rank, dim) {
        (2, 0) => "row".to_owned(),
        (2, _) => "col".to_owned(),
        _ => format!("x{dim}"),
    }
}

/// Returns the condition under which a coordinate lies in a tensor that is smaller than its tile.
pub(super) fn in_tile(shape: &[i64], at: &[Expr], tile: &[i64], facts: &Facts) -> Cond {
    let ragged = at.iter().zip(shape).zip(tile).filter(|((_, extent), covered)| covered != extent);
    ragged.fold(Cond::True, |guard, ((coordinate, extent), _)| {
        guard.and(Cond::cmp(CmpOp::Lt, coordinate.clone(), Expr::constant(*extent), facts))
    })
}

/// Returns the condition that selects the lowest of the threads that hold the same element.
pub(super) fn lowest_of_replicas(modes: &[TileMode], facts: &Facts) -> Cond {
    let flat: Vec<(i64, i64)> = modes.iter().map(|m| (m.extent, 0)).collect();
    let digits = digits(&Expr::symbol(Symbol::Thread), &flat, facts);
    modes
        .iter()
        .zip(digits)
        .filter(|(m, _)| m.extent > 1 && m.is_still())
        .fold(Cond::True, |all, (_, digit)| all.and(Cond::cmp(CmpOp::Eq, digit, Expr::default(), facts)))
}
