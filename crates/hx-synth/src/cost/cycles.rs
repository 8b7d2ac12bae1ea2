//! The cycles of one execution of an operation with known layouts, as far as they do not depend on a search.

use hx_tile::{Op, OpKind, TensorId};

use crate::access::{Transfer, global, is_packed};
use crate::choices::conversion;
use crate::distribution::layouts::Layouts;
use crate::distribution::{LayoutKey, key};
use crate::failure::{Failure, FailureKind};
use crate::movement::{parts, reduce};
use crate::search::context::SolverContext;
use crate::{cost, shared};

impl<'p> SolverContext<'_, 'p> {
    /// Returns the cycles of one execution of an operation that is not a gemm; `None` while its layouts are not all known.
    ///
    /// # Errors
    /// The failure of the operation, if it has no instruction for its layouts.
    pub(crate) fn cycles(&self, op: &'p Op, known: &Layouts) -> Result<Option<f64>, Failure> {
        self.cycles_with(op, &op.kind.registers(), known)
    }

    /// Returns [`SolverContext::cycles`], given the register tensors of the operation.
    ///
    /// # Errors
    /// As [`SolverContext::cycles`].
    pub(crate) fn cycles_with(
        &self,
        op: &'p Op,
        registers: &[TensorId],
        known: &Layouts,
    ) -> Result<Option<f64>, Failure> {
        if registers.iter().any(|t| known.get(*t).is_none()) {
            return Ok(None);
        }
        let layouts: Vec<LayoutKey> = registers.iter().map(|t| key(&known[*t].layout)).collect();
        let meets = matches!(op.kind, OpKind::Reduce { .. } | OpKind::Scan { .. });
        let entry = (op.id, layouts, self.single, if meets { self.drain.to_bits() } else { 0 });
        let met = self.pool.costs.borrow().get(&entry).copied();
        let cycles = match met {
            Some(cycles) => cycles,
            None => {
                let cycles = self.cost_of(op, known)?;
                self.pool.costs.borrow_mut().insert(entry, cycles);
                cycles
            }
        };
        Ok(Some(cycles))
    }

    /// Returns the cycles of one execution of an operation that is not a gemm.
    ///
    /// # Errors
    /// As [`SolverContext::cycles`].
    fn cost_of(&self, op: &'p Op, known: &Layouts) -> Result<f64, Failure> {
        let target = self.target();
        let (program, op_id) = (self.program(), op.id);
        let threads = program.threads_of(op);
        Ok(match &op.kind {
            OpKind::Copy { .. } | OpKind::Atomic(_) => {
                let Some(transfer) = Transfer::of(op) else { return Ok(0.0) };
                let dtype = program.tensor(transfer.register).dtype;
                let layout = &known[transfer.register].layout;
                match transfer.shared() {
                    None => {
                        let (access, _) = global::best((program, self.pool), &transfer, layout, dtype)?;
                        cost::global(program, threads, transfer.memory, &access)
                    }
                    Some(tensor) => {
                        let used = shared::Use::register(program, transfer, layout.clone(), 1.0);
                        shared::ideal(self, tensor, &used)?
                    }
                }
            }
            OpKind::Cast { dst, src } => {
                let types = [*src, *dst].map(|t| program.tensor(t).dtype);
                let (d, s) = (&known[*dst].layout, &known[*src].layout);
                // Packed elements keep the order of their memory, for which no instruction may exist.
                let is_reordered = is_packed(types[0]) && types[0] != types[1] && d.tile == s.tile && d != s;
                let table = if is_reordered { self.pool.positions(s, d) } else { None };
                match table.map(|table| conversion::of_table(&table, types, target)) {
                    Some(Some(found)) => cost::cast_by(threads, found.row, d.values(), target),
                    Some(None) => cost::cast_singly(target, threads, d.values()),
                    None => cost::cast(threads, types, d.values(), target),
                }
            }
            OpKind::Map(map) => cost::map(target, threads, &map.value, known[map.dst].layout.values()),
            OpKind::Reduce { dst, src, axis, .. } => {
                let (d, s) = (&known[*dst].layout, &known[*src].layout);
                let steps = reduce::steps(threads, s, *axis, self.target());
                let across = (!steps.digits.is_empty()).then_some(self.drain);
                cost::reduce(target, threads, s.values(), d.values(), steps.lanes.len(), across)
            }
            OpKind::Scan { dst, src: _, axis, op, reverse: _ } => {
                let Some(first) = dst.first() else { return Ok(0.0) };
                let layout = &known[*first].layout;
                let Some(levels) = parts::levels(threads, layout, *axis, self.target()) else {
                    let message = "the axis of the scan is dealt to threads in no regular order";
                    return Err(Failure::new(FailureKind::Conflict, message).at(op_id));
                };
                op.iter()
                    .map(|value| cost::scan(target, threads, value, layout.values(), &levels, self.drain))
                    .sum()
            }
            OpKind::ClusterSum { x, axis, .. } => {
                let bits = program.tensor(*x).dtype.bits();
                cost::cluster_sum(
                    target,
                    threads,
                    known[*x].layout.values(),
                    bits,
                    program.blocks_along(*axis),
                )
            }
            OpKind::Slice { dst: part, .. } | OpKind::Insert { src: part, .. } => {
                let values = known[*part].layout.values();
                match parts::chosen(program, op, known, 0)? {
                    Some(choice) if choice.through.is_some() => {
                        cost::part(threads, values as f64, self.target())
                    }
                    Some(choice) if choice.mirrored != 0 => cost::mirrored(target, threads, values),
                    _ => 0.0,
                }
            }
            // Gemms and asynchronous copies have cost functions of their own, rearrangements the cost of their route. The other
            // operations use registers at hand, or wait.
            OpKind::Fill { .. }
            | OpKind::Gemm { .. }
            | OpKind::Sync(_)
            | OpKind::CopyAsync { .. }
            | OpKind::Store { .. }
            | OpKind::Prefetch { .. }
            | OpKind::Rearrange { .. }
            | OpKind::ReadNumber { .. }
            | OpKind::Print { .. }
            | OpKind::Assert { .. } => 0.0,
        })
    }
}
