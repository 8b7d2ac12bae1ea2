//! Asynchronous copies: from global to shared memory, with and without a pipeline, and from shared to global memory.

use hx_base::codes;
use hx_dtype::AtomicOp;
use hx_hir::ExprId;
use hx_index::{Expr, Symbol};
use hx_target::{BulkRow, Space, Target};
use hx_tile::{Atomic, Base, MemoryOrder, MemoryScope, OpKind, Param, View, bytes_text};

use crate::cache::Hints;
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{Tensor, Value};

/// The named arguments of `copy_async`.
#[derive(Clone, Copy)]
pub(crate) struct Named {
    pub(crate) signal: Option<ExprId>,
    pub(crate) multicast: Option<ExprId>,
    pub(crate) add: Option<ExprId>,
    pub(crate) hints: Hints,
}

impl Lowering<'_> {
    /// Lowers `copy_async(src, dst)`: from global to shared memory, as part of the open group, or of the stage of the pipeline
    /// `signal` acquired last, or from shared to global memory. With `multicast` all blocks of the cluster along an axis read the same
    /// tile. With `add` a store adds to memory.
    pub(crate) fn copy_async(
        &mut self,
        id: ExprId,
        src: ExprId,
        dst: ExprId,
        Named { signal, multicast, add, hints }: Named,
    ) -> Lower<Value> {
        let outer = std::mem::replace(&mut self.signalled, signal.is_some());
        let (from, to) = (self.tensor(src), self.tensor(dst));
        self.signalled = outer;
        let (mut from, mut to) = (from?, to?);
        self.give_hints(hints, "copy_async", [&mut from, &mut to])?;
        self.want_mutable(dst, &to)?;
        self.want_flat_end(src, &from)?;
        self.want_flat_end(dst, &to)?;
        if from.dtype != to.dtype {
            return self.bad_dtype(src, from.dtype, dst, to.dtype);
        }
        self.same_shape(id, (src, &from.shape()), (dst, &to.shape()))?;
        self.want_unpicked(src, &from)?;
        self.want_unpicked(dst, &to)?;
        let ends = (from.space(), to.space());
        let adds = add.map(|add| self.const_bool(add, "`add`")).transpose()?.unwrap_or(false);
        if ends == ("shared", "global") && signal.is_none() && multicast.is_none() {
            return self.store_async(id, (src, &from), (dst, &to), adds, hints);
        }
        if let Some(at) = add.filter(|_| adds) {
            let (from, to) = ends;
            let message = format!(
                "found `add` of a copy from {from} to {to} memory, expected one from shared to global memory"
            );
            return self.fail(&codes::NO_SUCH_OPERATION, at, message);
        }
        if ends != ("global", "shared") {
            return self.wrong_ends(id, ends, signal, multicast);
        }
        if from.view.pad != 0.0 && signal.is_some() {
            return self.unsupported(src, "`copy_async` with `signal` from a view whose padding is not 0");
        }
        let (at, view, dst) = (src, self.static_view(src, &from)?, self.static_view(dst, &to)?);
        if signal.is_none()
            && multicast.is_none()
            && let Some(reason) = self.narrow(&view)
        {
            let origin = self.origin(at);
            self.notes.add_passed(origin, reason);
            let held = self.passing(at, &from, &to)?;
            let Some((held, _)) = self.register_of(&held) else {
                return self.unsupported(at, "this operand");
            };
            return self.unit(OpKind::Copy { src: self.whole(held), dst }, id);
        }
        let src = view;
        let signal = signal.map(|signal| self.pipe(signal)).transpose()?;
        let multicast = match multicast {
            Some(at) if signal.is_none() => return self.unsupported(at, "`multicast` without `signal`"),
            multicast => multicast.map(|at| self.cluster_axis(at, "multicast")).transpose()?,
        };
        self.emit(OpKind::CopyAsync { src, dst, signal, multicast }, id);
        Ok(Value::Unit)
    }

    /// Refuses to copy from or to a view with a mode of several parts.
    fn want_flat_end(&mut self, at: ExprId, t: &Tensor) -> Lower<()> {
        if t.view.groups.is_empty() {
            return Ok(());
        }
        let made = if t.is_global() { "global_view" } else { "reshape" };
        let message = format!("`copy_async` cannot move this view: `{made}` gave it a mode of several parts");
        let error = self.error(&codes::UNSUPPORTED, at, message);
        Err(self.report(error.help("`copy` moves it, by way of registers")))
    }

    /// Reports a copy between memories for which there is no asynchronous copy, or a store with an argument for copies into a stage.
    fn wrong_ends(
        &mut self,
        id: ExprId,
        (from, to): (&str, &str),
        signal: Option<ExprId>,
        multicast: Option<ExprId>,
    ) -> Lower<Value> {
        let named = [("signal", signal), ("multicast", multicast)];
        let named = named.into_iter().find_map(|(name, at)| Some((name, at?)));
        let (at, message) = match named.filter(|_| (from, to) == ("shared", "global")) {
            Some((name, at)) => {
                let message = format!(
                    "found `{name}` of a copy from {from} to {to} memory, expected one from global to shared memory"
                );
                (at, message)
            }
            None => {
                let wanted = "one from global to shared memory or back";
                (id, format!("expected {wanted}, found `copy_async` from {from} to {to} memory"))
            }
        };
        let found = self.error(&codes::NO_SUCH_OPERATION, at, message);
        let found = match (from, to) {
            ("register", "shared") if signal.is_some() => found.help(
                "a stage is filled by copies from global memory only; `copy` and a `sync()` pass values of registers on within one role",
            ),
            _ if [from, to].contains(&"register") => {
                found.help("`copy` and `load` move values to and from registers, and wait for them")
            }
            _ => found,
        };
        Err(self.report(found))
    }

    /// Lowers a store from shared to global memory. It goes through registers if no bulk copy adds such elements, or for a
    /// reason of [`Lowering::unfit_for_boxes`].
    fn store_async(
        &mut self,
        id: ExprId,
        (src, from): (ExprId, &Tensor),
        (dst, to): (ExprId, &Tensor),
        adds: bool,
        hints: Hints,
    ) -> Lower<Value> {
        if adds {
            self.want_atomic_in(dst, AtomicOp::Add, to.dtype, Space::Global)?;
        } else {
            self.want_distinct(dst, to)?;
        }
        let (view, dst) = (self.static_view(src, from)?, self.static_view(dst, to)?);
        // A target without bulk copies is refused later, so that the refusal names it.
        let moves = |row: &BulkRow| !row.is_load() && row.moves(to.dtype, adds);
        let is_bulk = Target::all().iter().any(|target| target.rows().bulks.iter().any(moves));
        let reason = match is_bulk {
            true => self.unfit_for_boxes(&dst),
            false => Some(format!("no bulk copy adds elements of type `{}`", to.dtype)),
        };
        let Some(reason) = reason else {
            return self.unit(OpKind::Store { src: view, dst, adds }, id);
        };
        if let Some(at) = hints.at().filter(|_| adds) {
            let message =
                format!("found a cache hint of a sum that is added from registers, because {reason}");
            return self.fail(&codes::NO_SUCH_OPERATION, at, message);
        }
        let at = self.origin(src);
        self.notes.add_unboxed(at, reason);
        // The solver copies in rounds, but adds at once.
        let held = if adds { self.in_registers(src, from, None)? } else { self.passing(src, from, to)? };
        let Some((held, _)) = self.register_of(&held) else {
            return self.unsupported(src, "this operand");
        };
        let kind = match adds {
            true => OpKind::Atomic(Atomic {
                op: AtomicOp::Add,
                value: held,
                compare: None,
                old: None,
                memory: dst,
                order: MemoryOrder::Relaxed,
                scope: MemoryScope::Gpu,
            }),
            false => OpKind::Copy { src: self.whole(held), dst },
        };
        self.unit(kind, id)
    }

    /// Returns the reason why a store to the tensor cannot be made in boxes: a stride, the address or an end of a row is not known to be a
    /// multiple of the unit of a tensor map, or a box would begin before the tensor. `None` if boxes store the tile. Any other store goes
    /// through registers and is complete when it returns.
    fn unfit_for_boxes(&self, view: &View) -> Option<String> {
        let Base::Global(id) = view.base else { return Some("it is not a parameter".to_owned()) };
        let Some(Param::Tensor(param)) = self.output.param(id) else {
            return Some("it is not a tensor".to_owned());
        };
        let (unit, bits, name) = (self.target.rows().map.stride, i64::from(param.dtype.bits()), &param.name);
        if let Err(reason) = view.box_end(param, self.target.rows().map.dims, &self.facts) {
            return Some(reason);
        }
        if i64::from(param.align) % unit != 0 {
            return Some(format!("`{name}` begins at a multiple of {} B, not of {unit} B", param.align));
        }
        let known = |stride: &Expr| self.facts.divisor(&stride.scale(bits));
        let is_aligned = |stride: &&Expr| stride.as_const().is_some() || known(stride) % (unit * 8) == 0;
        if let Some(stride) = param.stride.iter().find(|stride| !is_aligned(stride)) {
            let known = bytes_text(known(stride));
            return Some(format!("stride `{stride}` of `{name}` is a multiple of {known}, not of {unit} B"));
        }
        if let Some(start) = view.offsets.iter().find(|start| self.begins_before(start)) {
            return Some(format!(
                "the tile begins before `{name}` in the first block and round, at `{start}`"
            ));
        }
        view.box_rows(param, &self.target.rows().map, true, &self.facts).err()
    }

    /// Reports whether a start of a view is below 0 in the first block and the first rounds of the loops around, unless a condition
    /// around excludes that. A box that is written at such a coordinate is an illegal instruction on an H200.
    fn begins_before(&self, start: &Expr) -> bool {
        let zero = Expr::default();
        let first = |s: &Symbol| matches!(s, Symbol::BlockIdx(_) | Symbol::Var(..)).then(Expr::default);
        let is_below = |e: &Expr| self.facts.proves_lt(e, &zero);
        !self.facts.proves_le(&zero, start) && is_below(&start.substitute(&self.facts, &first))
    }
}
