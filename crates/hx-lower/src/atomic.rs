//! Atomic accesses to memory: their operands, their order and their scope.

use hx_base::codes;
use hx_dtype::{AtomicOp, DType};
use hx_hir::ExprId;
use hx_target::{Space, Target};
use hx_tile::{Atomic, Base, MemoryOrder, MemoryScope, OpKind, SyncOp, TensorId};

use crate::builtin_call::BuiltinCall;
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::stmt::permuted;
use crate::value::{Tensor, Value};

impl Lowering<'_> {
    /// Lowers an atomic access: `atomic_add(view, t)` and its kin. The result is a register tensor of the elements as they
    /// were before; `atomic_store` has no result.
    ///
    /// The order holds for all threads that execute the access together. A barrier before an access that releases puts all
    /// their earlier accesses before it, and a barrier after an access that acquires puts all their later ones after it.
    pub(crate) fn atomic(&mut self, call: &BuiltinCall<'_, '_>, op: AtomicOp) -> Lower<Value> {
        let [view] = self.first(call)?;
        let value = self.eval(view)?;
        let to = self.want_memory(view, value, call.name)?;
        if op != AtomicOp::Load {
            self.want_mutable(view, &to)?;
        }
        self.want_atomic(view, op, &to)?;
        let (order, scope) = self.meaning(call, op, &to)?;
        let operands = call.slots.len() - 2;
        let last = call.slot(operands - 1).filter(|_| op != AtomicOp::Load);
        let compare = call.slot(1).filter(|_| op == AtomicOp::CompareExchange);
        let compare = compare.map(|at| self.operand_of_atomic(call.id, at, view, &to)).transpose()?;
        if order.releases() {
            self.emit(OpKind::Sync(SyncOp::Scope), call.id);
        }
        let result = match last {
            None => self.atomic_load(call, view, &to, order, scope)?,
            Some(at) => {
                let from = self.operand_of_atomic(call.id, at, view, &to)?;
                let compare = match (compare, call.slot(1)) {
                    (Some(t), Some(at)) => Some(self.settled(at, &t, None)?.0),
                    _ => None,
                };
                self.update(call, (at, &from), (view, &to), (op, compare, order, scope))?
            }
        };
        if order.acquires() {
            self.emit(OpKind::Sync(SyncOp::Scope), call.id);
        }
        Ok(result)
    }

    /// Emits an access that takes a value from registers.
    fn update(
        &mut self,
        call: &BuiltinCall<'_, '_>,
        (at, from): (ExprId, &Tensor),
        (view, to): (ExprId, &Tensor),
        (op, compare, order, scope): (AtomicOp, Option<TensorId>, MemoryOrder, MemoryScope),
    ) -> Lower<Value> {
        let straight = compare.is_some() || to.view.picked.is_some();
        let turned = self.register_order(from).filter(|order| !straight && !order.is_sorted());
        let (value, memory) = match &turned {
            Some(_) => self.straighten(at, from, view, to)?,
            None => {
                let memory = self.static_view(view, to)?;
                (self.settled(at, from, None)?.0, memory)
            }
        };
        let access = Atomic { op, value, compare, old: None, memory, order, scope };
        if op == AtomicOp::Store {
            return self.unit(OpKind::Atomic(access), call.id);
        }
        let shape = self.output.tensor(value).shape.clone();
        let (old, result) = self.new_register(call.hint.unwrap_or("old"), to.dtype, shape, call.id);
        self.emit(OpKind::Atomic(Atomic { old: Some(old), ..access }), call.id);
        Ok(Value::Tensor(match turned {
            Some(order) => permuted(&result, &order),
            None => result,
        }))
    }

    fn atomic_load(
        &mut self,
        call: &BuiltinCall<'_, '_>,
        at: ExprId,
        from: &Tensor,
        order: MemoryOrder,
        scope: MemoryScope,
    ) -> Lower<Value> {
        let memory = self.static_view(at, from)?;
        let hint = call.hint.map_or_else(|| format!("{}_now", self.base_name(from.view.base)), str::to_owned);
        let (value, result) = self.new_register(&hint, from.dtype, memory.shape(), call.id);
        let op = AtomicOp::Load;
        let access = Atomic { op, value, compare: None, old: None, memory, order, scope };
        self.emit(OpKind::Atomic(access), call.id);
        Ok(Value::Tensor(result))
    }

    /// Returns the register tensor that `t` is, which must have the type and shape of the view.
    fn operand_of_atomic(&mut self, id: ExprId, t: ExprId, view: ExprId, to: &Tensor) -> Lower<Tensor> {
        let from = self.tensor(t)?;
        if from.dtype != to.dtype {
            return self.bad_dtype(t, from.dtype, view, to.dtype);
        }
        self.same_shape(id, (t, &from.shape()), (view, &to.shape()))?;
        if from.is_register() {
            return Ok(from);
        }
        let message =
            format!("found a {} tensor, expected a register one for an atomic access", from.space());
        let error =
            self.error(&codes::WRONG_MEMORY, t, message).help("`load(…)` moves a tile into registers");
        Err(self.report(error))
    }

    /// Returns the order and the scope that a call names; by default `relaxed`, and the scope of the memory that the view is
    /// in.
    fn meaning(
        &mut self,
        call: &BuiltinCall<'_, '_>,
        op: AtomicOp,
        to: &Tensor,
    ) -> Lower<(MemoryOrder, MemoryScope)> {
        let last = call.slots.len() - 2;
        let order = match call.slot(last) {
            Some(at) => self.word(at, "order", MemoryOrder::ALL.map(|o| (o.name(), o)))?,
            None => MemoryOrder::Relaxed,
        };
        let scope = match call.slot(last + 1) {
            Some(at) => self.word(at, "scope", MemoryScope::ALL.map(|s| (s.name(), s)))?,
            None => MemoryScope::of(to.view.base),
        };
        let (why, wanted) = match op {
            AtomicOp::Load if order.releases() => ("only reads", "`\"relaxed\"` or `\"acquire\"`"),
            AtomicOp::Store if order.acquires() => ("only writes", "`\"relaxed\"` or `\"release\"`"),
            _ => return Ok((order, scope)),
        };
        let (at, name) = (call.slot(last).unwrap_or(call.id), call.name);
        let message = format!("found the order `\"{}\"`, expected {wanted}: `{name}` {why}", order.name());
        self.fail(&codes::NO_SUCH_OPERATION, at, message)
    }

    /// Returns the value of a word that is written as a string.
    pub(crate) fn word<T: Copy, const N: usize>(
        &mut self,
        at: ExprId,
        what: &str,
        words: [(&str, T); N],
    ) -> Lower<T> {
        let text = self.text(at)?;
        if let Some((_, found)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(*found);
        }
        let names: Vec<String> = words.iter().map(|(word, _)| format!("`\"{word}\"`")).collect();
        let message = format!("found the {what} `{text:?}`, expected one of {}", names.join(", "));
        self.fail(&codes::NO_SUCH_OPERATION, at, message)
    }

    /// Refuses element types for which no target has this atomic access.
    fn want_atomic(&mut self, at: ExprId, op: AtomicOp, to: &Tensor) -> Lower<()> {
        let space = match to.view.base {
            Base::Global(_) => Space::Global,
            Base::Shared(_) | Base::Register(_) => Space::Shared,
        };
        self.want_atomic_in(at, op, to.dtype, space)
    }

    /// As [`Lowering::want_atomic`], for a given memory.
    pub(crate) fn want_atomic_in(
        &mut self,
        at: ExprId,
        op: AtomicOp,
        dtype: DType,
        space: Space,
    ) -> Lower<()> {
        // A type that only this target lacks is refused by the solver, which names the targets that have it.
        let has =
            |dtype: &DType| Target::all().iter().any(|target| target.rows().has_atomic(op, *dtype, space));
        let types: Vec<DType> = DType::ALL.into_iter().filter(has).collect();
        if types.contains(&dtype) {
            return Ok(());
        }
        let message = format!("found elements of type `{dtype}`, which no device {} in memory", op.verb());
        let mut names: Vec<String> = types.iter().map(ToString::to_string).collect();
        let last = names.pop().unwrap_or_default();
        let help = format!("`{}` takes {} and {last}", op.name(), names.join(", "));
        let error = self.error(&codes::NO_SUCH_OPERATION, at, message).help(help);
        Err(self.report(error))
    }

    /// Returns the order of the modes if the view of a register tensor only reorders them; otherwise `None`.
    fn register_order(&self, t: &Tensor) -> Option<Vec<usize>> {
        let (_, shape) = self.register_of(t)?;
        t.view.as_permutation(&shape)
    }
}
