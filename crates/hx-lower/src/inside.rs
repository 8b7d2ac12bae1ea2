//! Errors about views that are not proven to stay inside of their tensors, and the ways to mend them.

use hx_base::{Applicability, codes};
use hx_hir::ExprId;
use hx_index::{Atom, CmpOp, Cond};

use crate::error::{Insertion, Lower, LowerFix, Reported};
use crate::lowering::Lowering;
use crate::value::{SymMode, Tensor, Value};

/// A proof that was not found.
pub(crate) struct Missing {
    /// The launch in which the view leaves its tensor, in words.
    pub(crate) why: String,
    /// The condition to prove.
    pub(crate) cond: Cond,
    /// Whether the error is at an integer index, which a minimum or maximum could keep inside.
    pub(crate) index: bool,
}

impl Lowering<'_> {
    /// Reports that a view may leave its part of a tensor. Accesses to global memory are guarded by the extents of the tensor in any
    /// case, so an assertion suffices there.
    pub(crate) fn not_inside<T: Default>(
        &mut self,
        arg: ExprId,
        t: &Tensor,
        Missing { why, cond: missing, index }: Missing,
    ) -> Lower<T> {
        if t.is_global() && self.is_asserted(std::slice::from_ref(&missing)) {
            return Ok(T::default());
        }
        let name = self.base_name(t.view.base).to_owned();
        if let Some(reported) = self.longer_ring(arg, &name, &missing) {
            return Err(reported);
        }
        let mut error = self
            .error(
                &codes::VIEW_OUTSIDE_BUFFER,
                arg,
                format!("cannot prove that this stays inside of its part of `{name}`"),
            )
            .label(why);
        // A clamp would hide a wrong index of shared memory. It is offered only for a copy that signals a stage, which allows
        // no condition.
        let clamps = index && (t.is_global() || self.signalled);
        error.fix = clamps.then(|| self.clamped(arg, &missing)).flatten();
        // A copy that signals a stage cannot stand under a condition.
        if !(self.signalled && error.fix.is_some())
            && let Some(advice) = self.advice(&[missing])
        {
            error = error.help(advice);
        }
        Err(self.report(error))
    }

    /// Reports a pipeline that has more stages than the tensor that its stage indexes, once for each pair of pipeline and
    /// tensor. `None` if the missing proof is another one.
    fn longer_ring(&mut self, arg: ExprId, name: &str, missing: &Cond) -> Option<Reported> {
        let Cond::Cmp(CmpOp::Lt, stage, extent) = missing else { return None };
        let Some(Atom::Symbol(stage)) = stage.as_atom() else { return None };
        let pipe = self.output.pipe(*self.stages.get(stage)?);
        let (ring, stages) = (pipe.name.clone(), pipe.stages);
        let message = format!("`{name}` has room for {extent} stages, and `{ring}` has {stages}");
        if self.diagnostics.has(&message) {
            return Some(Reported(()));
        }
        let made = self.origins.get(pipe.origin).place.clone();
        let error = self
            .error(&codes::VIEW_OUTSIDE_BUFFER, arg, message)
            .label(format!("a stage of `{ring}` may be `{}`", stages - 1))
            .also(made, "the ring is made here")
            .help("give both the same number, best by one compile-time parameter: `pipeline(STAGES)` and `shared_tensor(…, [.., STAGES])`");
        Some(self.report(error))
    }

    /// Returns the fix that keeps an index inside by a minimum or maximum; `None` if the end is not known. Only the author
    /// knows whether another element may take its place, so the fix is not applied without asking.
    fn clamped(&self, arg: ExprId, missing: &Cond) -> Option<LowerFix> {
        let Cond::Cmp(op, low, high) = missing else { return None };
        let (open, close) = match op {
            CmpOp::Le if low.is_zero() => ("max(0, ".to_owned(), ")".to_owned()),
            CmpOp::Lt => {
                let last = high.as_const()? - 1;
                ("min(".to_owned(), format!(", {last})"))
            }
            _ => return None,
        };
        let place = self.place(arg);
        Some(LowerFix {
            title: format!("keep the index inside: `{open}…{close}`"),
            insert: vec![Insertion::before(place.clone(), open), Insertion::behind(place, close)],
            applicability: Applicability::Maybe,
        })
    }

    /// Changes the help and the fix of the last error, if the indices probably mean the tiles, whose modes follow the first
    /// `inner` modes.
    pub(crate) fn tiles_are_meant(&mut self, args: &[ExprId], inner: usize) {
        let first = args.first().map(|arg| self.place(*arg));
        let (Some(first), Some(error)) = (first, self.diagnostics.last_mut()) else {
            return;
        };
        let is_outside = [&codes::VIEW_OUTSIDE_BUFFER, &codes::INDEX_OUT_OF_RANGE].contains(&error.code);
        if inner == 0 || !is_outside {
            return;
        }
        let modes = if inner == 1 { "first mode is".to_owned() } else { format!("first {inner} modes are") };
        error.help = vec![format!("the {modes} inside of a tile, and the tiles come behind them")];
        error.fix = Some(LowerFix {
            title: "index the tiles".to_owned(),
            insert: vec![Insertion::before(first, ".., ".repeat(inner))],
            applicability: Applicability::Maybe,
        });
    }
}

/// Returns the number of leading modes that are inside of a tile, if all indices are integers and could index the modes behind
/// these: 2 for `tile(a, [64, 64])[i, j]`, which has the modes `[64, 64, tiles, tiles]`. Otherwise 0.
pub(crate) fn inner_modes(modes: &[SymMode], indices: &[(ExprId, Value)]) -> usize {
    let steps_over = |outer: &SymMode, inner: &SymMode| {
        outer.dim == inner.dim && outer.factor == &inner.extent * &inner.factor
    };
    let is_inner = |at: usize| modes[at + 1..].iter().any(|outer| steps_over(outer, &modes[at]));
    let inner = (0..modes.len()).take_while(|at| is_inner(*at)).count();
    let integers = indices.iter().all(|(_, index)| matches!(index, Value::Int(_)));
    if integers && !indices.is_empty() && indices.len() <= modes.len() - inner { inner } else { 0 }
}
