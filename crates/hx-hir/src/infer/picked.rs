//! The types of views that index tensors pick, and of atomic accesses.

use hx_dtype::AtomicOp;

use super::builtin::first;
use super::call::TypedArg;
use super::{Infer, TypeProblem};
use crate::{ExprId, MemorySpace, TensorTy, Ty};

impl Infer<'_> {
    /// Infers the type of `gather(t, rows)` or `scatter(t, rows)`. An index tensor in memory picks rows. Index tensors in
    /// registers, one for each mode of `t`, pick single elements: the view has the shape to which they broadcast.
    pub(super) fn picked(
        &mut self,
        id: ExprId,
        t: &TypedArg,
        rows: &TypedArg,
        given: &[Option<TypedArg>],
        scatters: bool,
    ) -> Ty {
        let mut shapes = Vec::new();
        let mut in_registers = false;
        for (at, ty) in given.iter().skip(1).flatten() {
            match self.want_tensor(*at, ty) {
                Ok(index) => {
                    in_registers |= index.space == MemorySpace::Register;
                    shapes.push((*at, index.shape));
                }
                Err(quiet) => return quiet,
            }
        }
        let tensor = match self.want_tensor(t.0, &t.1) {
            Ok(tensor) => tensor,
            Err(quiet) => return quiet,
        };
        let wanted = if in_registers { "global or shared" } else { "global" };
        let is_there = match tensor.space {
            MemorySpace::Global => true,
            MemorySpace::Shared => in_registers,
            MemorySpace::Register => false,
        };
        if !is_there {
            let operation = if scatters { "scatter" } else { "gather" }.to_owned();
            return self.report(TypeProblem::Memory { expr: t.0, found: tensor.space, wanted, operation });
        }
        let mutable = scatters && tensor.mutable;
        let view = |shape| Ty::Tensor(TensorTy { shape, mutable, gathered: !scatters, ..tensor.clone() });
        if in_registers {
            if shapes.len() != tensor.shape.len() {
                let (expr, found) = (rows.0, shapes.len());
                let rank = tensor.shape.len();
                let s = if rank == 1 { "" } else { "s" };
                let wanted = format!("{rank} index tensor{s} in registers, one for each mode");
                return self.report(TypeProblem::Rank { expr, found, wanted });
            }
            let (first, mut shape) = shapes.remove(0);
            for (at, other) in &shapes {
                match self.broadcast(id, (first, &shape), (*at, other)) {
                    Some(common) => shape = common,
                    None => return Ty::Error,
                }
            }
            return view(shape);
        }
        match (&shapes[..], tensor.shape.split_first()) {
            ([(_, rows)], Some((_, rest))) if rows.len() == 1 => {
                view(rows.iter().chain(rest).cloned().collect())
            }
            _ => Ty::Unknown,
        }
    }

    /// Returns the type of an atomic access; `None` if a required argument is missing.
    pub(super) fn atomic_fn(&mut self, id: ExprId, op: AtomicOp, given: &[Option<TypedArg>]) -> Option<Ty> {
        Some(match op {
            AtomicOp::Load => {
                let [(at, view)] = first(given)?;
                self.load(at, &view)
            }
            AtomicOp::Store => {
                let [view, t] = first(given)?;
                self.copy(id, t, view)
            }
            AtomicOp::CompareExchange => {
                let [view, expected, t] = first(given)?;
                self.atomic(id, view, &[expected, t])
            }
            AtomicOp::Add
            | AtomicOp::Min
            | AtomicOp::Max
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::Exchange => {
                let [view, t] = first(given)?;
                self.atomic(id, view, &[t])
            }
        })
    }

    /// Returns the type of an access that returns the elements as they were before: a register tensor.
    fn atomic(&mut self, id: ExprId, view: TypedArg, values: &[TypedArg]) -> Ty {
        let (at, memory) = view.clone();
        for (i, value) in values.iter().enumerate() {
            let tensors = [&memory, &value.1].map(|ty| match ty {
                Ty::Tensor(t) => Some(t.clone()),
                _ => None,
            });
            match tensors {
                [Some(to), Some(from)] if i > 0 => self.same_tile((at, &to), (value.0, &from), id),
                _ => {
                    self.copy(id, value.clone(), view.clone());
                }
            }
        }
        match memory {
            Ty::Tensor(t) => Ty::Tensor(TensorTy {
                space: MemorySpace::Register,
                mutable: true,
                param: None,
                gathered: false,
                ..t
            }),
            _ => Ty::Unknown,
        }
    }
}
