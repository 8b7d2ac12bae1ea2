//! Views: indexing, `.T`, `permute`, `tile`, `global_view`.
//!
//! A view is expressed in the dimensions of its base, so that each dimension is guarded by its own extent. If the end of a
//! view's mode is not the end of the dimension, an index or tile that does not provably stay inside of the mode gives the view an end of
//! its own, by which its elements are guarded. In shared memory, where nothing is guarded, it is an error.

use std::sync::Arc;

use hx_base::codes;
use hx_hir::{Arg, ExprId};
use hx_index::{Atom, CmpOp, Cond, Expr, gcd};
use hx_tile::Base;

use crate::error::Lower;
use crate::inside::{Missing, inner_modes};
use crate::lowering::{Lowering, shape_text};
use crate::stmt::permuted;
use crate::value::{ExprTuple, SymMode, SymView, Tensor, Value};
use crate::view_call::{CreatingCall, ViewCall};

/// The value that reads outside of a view return, and the call that set it.
pub(crate) struct Pad {
    value: f64,
    call: CreatingCall,
}

impl Lowering<'_> {
    pub(crate) fn field(&mut self, id: ExprId, base: ExprId, name: &str) -> Lower<Value> {
        let value = match self.eval(base)? {
            Value::Lazy(lazy) => Value::Tensor(self.materialize(base, lazy, None)),
            other => other,
        };
        match (value, name) {
            (Value::Tensor(t), "T") => {
                self.want_flat(id, &t)?;
                let rank = t.view.modes.len();
                if rank < 2 {
                    let message =
                        format!("found a tensor of rank {rank} before `.T`, expected at least 2 modes");
                    return self.fail(&codes::RANK_MISMATCH, base, message);
                }
                let mut order: Vec<usize> = (0..rank).collect();
                order.swap(rank - 1, rank - 2);
                Ok(Value::Tensor(permuted(&t, &order)))
            }
            (value, _) => {
                let message = format!("{} has nothing called `{name}`", value.what());
                self.fail(&codes::UNKNOWN_MEMBER, id, message)
            }
        }
    }

    pub(crate) fn permute(&mut self, id: ExprId, t: &Tensor, order: ExprId) -> Lower<Value> {
        self.want_unpicked(id, t)?;
        self.want_flat(id, t)?;
        let rank = t.view.modes.len();
        let mut axes = Vec::new();
        for axis in self.ints(order)? {
            let axis = axis.as_const().and_then(|a| usize::try_from(a).ok()).filter(|a| *a < rank);
            match axis {
                Some(axis) if !axes.contains(&axis) => axes.push(axis),
                _ => {
                    let message = format!("expected each of the {rank} modes once");
                    return self.fail(&codes::RANK_MISMATCH, order, message);
                }
            }
        }
        if axes.len() != rank {
            let message = format!("found {} modes, expected all {rank}", axes.len());
            return self.fail(&codes::RANK_MISMATCH, id, message);
        }
        Ok(Value::Tensor(permuted(t, &axes)))
    }

    pub(crate) fn index(&mut self, id: ExprId, base: ExprId, args: &[ExprId]) -> Lower<Value> {
        match self.eval(base)? {
            Value::Tensor(t) => self.index_tensor(id, base, t, args),
            Value::Array(parts) | Value::Tuple(parts) => {
                let [arg] = args else {
                    return self.fail(&codes::RANK_MISMATCH, id, "expected one index");
                };
                let at = self.const_int(*arg, "the index")?;
                match usize::try_from(at).ok().and_then(|i| parts.get(i).cloned()) {
                    Some(value) => Ok(value),
                    None => {
                        let message = format!("found the index {at}, expected one of {} values", parts.len());
                        self.fail(&codes::INDEX_OUT_OF_RANGE, *arg, message)
                    }
                }
            }
            Value::Lazy(lazy) => {
                let t = self.materialize(base, lazy, None);
                self.index_tensor(id, base, t, args)
            }
            other => {
                let message = format!("expected a tensor, found {} before `[`", other.what());
                self.fail(&codes::NO_SUCH_OPERATION, base, message)
            }
        }
    }

    /// Refuses a view with a mode of several parts.
    pub(crate) fn want_flat(&mut self, at: ExprId, t: &Tensor) -> Lower<()> {
        if t.view.groups.is_empty() {
            return Ok(());
        }
        let error = self
            .error(&codes::UNSUPPORTED, at, "a view with a mode of several parts has no other views than those of integers and `..` in an index")
            .help("`load` and `copy` move it to and from registers; index the tensor before `global_view` or `reshape`");
        Err(self.report(error))
    }

    /// Lowers the index of a view that has modes of several parts: an integer indexes a mode without parts, and `..` keeps a
    /// mode.
    fn index_groups(&mut self, id: ExprId, t: &Tensor, args: &[ExprId]) -> Lower<Value> {
        let mut view = SymView { modes: Vec::new(), groups: Vec::new(), ..t.view.clone() };
        let mut modes = t.view.modes.iter();
        for (i, &n) in t.view.groups.iter().enumerate() {
            let own: Vec<SymMode> = modes.by_ref().take(n).cloned().collect();
            let index = args.get(i).map(|arg| Ok((*arg, self.eval(*arg)?))).transpose()?;
            match (index, &own[..]) {
                (None | Some((_, Value::Range { start: None, end: None })), _) => {
                    view.groups.push(n);
                    view.modes.extend(own);
                }
                (Some((arg, index)), [mode]) => {
                    let Value::Int(i) = self.as_integer(arg, index)? else {
                        return self.want_flat(arg, t).map(|()| Value::Unit);
                    };
                    view.ends.extend(self.check_index(arg, t, mode, &i)?);
                    let at = &mut view.offsets[mode.dim];
                    *at = (at.clone() + &mode.factor * &i).simplify(&self.facts);
                }
                (Some((arg, _)), _) => return self.want_flat(arg, t).map(|()| Value::Unit),
            }
        }
        if args.len() > t.view.groups.len() || view.groups.is_empty() {
            return self.want_flat(id, t).map(|()| Value::Unit);
        }
        if view.groups.iter().all(|n| *n == 1) {
            view.groups.clear();
        }
        Ok(Value::Tensor(t.with_view(view)))
    }

    fn index_tensor(&mut self, id: ExprId, base: ExprId, t: Tensor, args: &[ExprId]) -> Lower<Value> {
        self.want_unpicked(base, &t)?;
        if !t.view.groups.is_empty() {
            return self.index_groups(id, &t, args);
        }
        let rank = t.view.modes.len();
        let mut view = SymView { modes: Vec::new(), ..t.view.clone() };
        let mut mode = 0;
        let mut indices = Vec::with_capacity(args.len());
        for &arg in args {
            let index = self.eval(arg)?;
            indices.push((arg, self.as_integer(arg, index)?));
        }
        if rank > 0 && indices.len() == rank && !t.is_register() {
            let integers = indices.iter().map(|(arg, index)| match index {
                Value::Int(i) => Some((*arg, i.clone())),
                _ => None,
            });
            if let Some(integers) = integers.collect::<Option<Vec<_>>>() {
                return self.unguarded(id, (base, &t), &integers);
            }
        }
        let inner = inner_modes(&t.view.modes, &indices);
        for (arg, index) in indices {
            if index == Value::New {
                // A mode of extent 1 makes no step, so its dimension does not matter.
                view.modes.push(SymMode { extent: Expr::constant(1), dim: 0, factor: Expr::default() });
                continue;
            }
            let Some(old) = t.view.modes.get(mode).cloned() else {
                let message = format!("found {} indices, expected at most {rank}", args.len());
                let error = self.error(&codes::RANK_MISMATCH, id, message);
                let label = format!("has the shape `{}`", shape_text(&t.shape()));
                let error = error.also(self.place(base), label);
                return Err(self.report(error));
            };
            mode += 1;
            if let Err(reported) = self.index_mode(arg, &t, &mut view, old, index) {
                self.tiles_are_meant(args, inner);
                return Err(reported);
            }
        }
        // Trailing indices may be omitted.
        view.modes.extend(t.view.modes.iter().skip(mode).cloned());
        if t.is_register() && view.modes != t.view.modes {
            return self.register_part(id, &t.with_view(view));
        }
        Ok(Value::Tensor(t.with_view(view)))
    }

    fn index_mode(
        &mut self,
        arg: ExprId,
        t: &Tensor,
        view: &mut SymView,
        old: SymMode,
        index: Value,
    ) -> Lower<()> {
        match index {
            Value::Int(i) => {
                let i = self.asserted_inside(t, &old, i);
                view.ends.extend(self.check_index(arg, t, &old, &i)?);
                let at = &mut view.offsets[old.dim];
                *at = (at.clone() + &old.factor * &i).simplify(&self.facts);
                Ok(())
            }
            Value::Range { start, end } => {
                let from = start.unwrap_or_default();
                let to = end.clone().unwrap_or_else(|| old.extent.clone());
                view.ends.extend(self.check_range(arg, t, &old, &from, end.as_ref())?);
                let at = &mut view.offsets[old.dim];
                *at = (at.clone() + &old.factor * &from).simplify(&self.facts);
                let extent = (to - from).simplify(&self.facts);
                if t.is_global()
                    && extent.as_const().is_none()
                    && !self.facts.proves_le(&Expr::default(), &extent)
                {
                    self.notes.add_part(extent.clone());
                }
                view.modes.push(SymMode { extent, ..old });
                Ok(())
            }
            Value::Tensor(_) | Value::Lazy(_) => {
                let error = self
                    .error(
                        &codes::TYPE_MISMATCH,
                        arg,
                        "expected an integer or a range, found a tensor as an index",
                    )
                    .help("`gather(t, rows)` picks the rows of a global tensor that a tensor names");
                Err(self.report(error))
            }
            other => {
                let message = format!("expected an integer or a range, found {} as an index", other.what());
                self.fail(&codes::TYPE_MISMATCH, arg, message)
            }
        }
    }

    /// Checks an index of a mode. Returns the dimension and the coordinate of a new end of the view, if only such an end guards
    /// the index.
    fn check_index(
        &mut self,
        arg: ExprId,
        t: &Tensor,
        mode: &SymMode,
        i: &Expr,
    ) -> Lower<Option<(usize, Expr)>> {
        self.not_surely_outside(arg, mode, i)?;
        self.known_in_registers(arg, t, i)?;
        self.nonnegative(arg, t, mode, i, true)?;
        if self.facts.proves_lt(i, &mode.extent) || self.is_guarded(t, mode) {
            return Ok(None);
        }
        self.ends_itself(arg, t, mode, || Missing {
            why: format!("the index `{i}` may be `{}` or more", mode.extent),
            cond: below(i, &mode.extent),
            index: true,
        })
    }

    /// Clamps an index of shared memory that only assertions prove to be inside: a launch runs on after an assertion that fails.
    fn asserted_inside(&self, t: &Tensor, mode: &SymMode, i: Expr) -> Expr {
        let first = Expr::default();
        let is_proven = self.facts.proves_le(&first, &i) && self.facts.proves_lt(&i, &mode.extent);
        if t.is_global() || t.is_register() || is_proven {
            return i;
        }
        if !self.is_asserted(&[at_most(&first, &i), below(&i, &mode.extent)]) {
            return i;
        }
        let last = mode.extent.clone() - Expr::constant(1);
        i.maximum(&first, &self.facts).minimum(&last, &self.facts)
    }

    /// Refuses an index that is outside of the mode in every launch.
    pub(crate) fn not_surely_outside(&mut self, arg: ExprId, mode: &SymMode, i: &Expr) -> Lower<()> {
        if self.facts.proves_lt(i, &Expr::default()) || self.facts.proves_le(&mode.extent, i) {
            let message = format!("found the index `{i}`, expected one below `{}`", mode.extent);
            return self.fail(&codes::INDEX_OUT_OF_RANGE, arg, message);
        }
        Ok(())
    }

    /// Checks a range of a mode. Returns the dimension and the coordinate of a new end of the view, if only such an end guards
    /// the range.
    fn check_range(
        &mut self,
        arg: ExprId,
        t: &Tensor,
        mode: &SymMode,
        from: &Expr,
        to: Option<&Expr>,
    ) -> Lower<Option<(usize, Expr)>> {
        self.known_in_registers(arg, t, from)?;
        self.nonnegative(arg, t, mode, from, false)?;
        let Some(to) = to else { return Ok(None) };
        if self.facts.proves_lt(to, from) {
            let message = format!("found the range `{from}..{to}`, which ends before it starts");
            return self.fail(&codes::INDEX_OUT_OF_RANGE, arg, message);
        }
        if self.facts.proves_le(to, &mode.extent) {
            return Ok(None);
        }
        if !t.is_global() && self.facts.proves_lt(&mode.extent, to) {
            let message = format!("found the end `{to}`, expected at most `{}`", mode.extent);
            return self.fail(&codes::INDEX_OUT_OF_RANGE, arg, message);
        }
        if self.is_guarded(t, mode) {
            return Ok(None);
        }
        self.ends_itself(arg, t, mode, || Missing {
            why: format!("the range may end after `{}`", mode.extent),
            cond: at_most(to, &mode.extent),
            index: false,
        })
    }

    /// Returns the end that a view needs because steps past the end of a mode would stay inside of the tensor: its dimension
    /// and coordinate.
    ///
    /// # Errors
    /// If a view of this tensor cannot have an end of its own.
    fn ends_itself(
        &mut self,
        at: ExprId,
        t: &Tensor,
        mode: &SymMode,
        missing: impl FnOnce() -> Missing,
    ) -> Lower<Option<(usize, Expr)>> {
        match self.own_end(t, mode) {
            Some(end) => Ok(Some((mode.dim, end))),
            None => self.not_inside(at, t, missing()),
        }
    }

    /// Refuses a run-time index of a register tensor, whatever its bounds: no `where` clause makes it a constant.
    fn known_in_registers(&mut self, arg: ExprId, t: &Tensor, i: &Expr) -> Lower<()> {
        if t.is_register() && i.as_const().is_none() { self.run_time_index(arg, i) } else { Ok(()) }
    }

    fn nonnegative(&mut self, arg: ExprId, t: &Tensor, mode: &SymMode, i: &Expr, index: bool) -> Lower<()> {
        if self.facts.proves_le(&Expr::default(), i) || self.is_guarded_below(t, mode) {
            return Ok(());
        }
        let why = format!("`{i}` may be negative");
        self.not_inside(arg, t, Missing { why, cond: at_most(&Expr::default(), i), index })
    }

    /// Reports whether any step before the start of the mode also leaves the dimension at its start, where accesses are
    /// guarded.
    fn is_guarded_below(&self, t: &Tensor, mode: &SymMode) -> bool {
        let start = t.view.offsets.get(mode.dim).is_some_and(Expr::is_zero);
        t.is_global() && start && self.is_outermost(t, mode)
    }

    /// Reports whether one step of the mode is longer than all steps of the other modes of its dimension together.
    fn is_outermost(&self, t: &Tensor, mode: &SymMode) -> bool {
        let others = t.view.modes.iter().filter(|m| m.dim == mode.dim && *m != mode);
        let one = Expr::constant(1);
        let reach =
            others.fold(Expr::default(), |sum, m| sum + &(m.extent.clone() - one.clone()) * &m.factor);
        self.facts.proves_lt(&reach.simplify(&self.facts), &mode.factor)
    }

    /// Reports whether any step past the end of the mode also leaves the dimension at its end or the view at its own, where accesses
    /// are guarded.
    pub(crate) fn is_guarded(&self, t: &Tensor, mode: &SymMode) -> bool {
        if !t.is_global() {
            return false;
        }
        let shape = self.view_shape(&t.view);
        let (Some(extent), Some(offset)) = (shape.get(mode.dim), t.view.offsets.get(mode.dim)) else {
            return false;
        };
        let end = (offset.clone() + &mode.extent * &mode.factor).simplify(&self.facts);
        let least =
            least_multiple(&mode.extent, &mode.factor).map(|m| (offset.clone() + m).simplify(&self.facts));
        let reaches = |guard: &Expr| {
            [Some(&end), least.as_ref()].into_iter().flatten().any(|at| self.facts.proves_le(guard, at))
        };
        reaches(extent) || t.view.ends.iter().any(|(dim, end)| *dim == mode.dim && reaches(end))
    }

    /// Lowers `tile(t, [B, …])`: the modes `B, …` within a tile, followed by one mode for each that counts tiles.
    pub(crate) fn tile(
        &mut self,
        id: ExprId,
        t: &Tensor,
        of: ExprId,
        shape: ExprId,
        pad: Pad,
    ) -> Lower<Value> {
        self.want_unpicked(of, t)?;
        self.want_flat(id, t)?;
        let sizes = self.ints(shape)?;
        if sizes.len() != t.view.modes.len() {
            let message = format!("found a tile of rank {}, expected {}", sizes.len(), t.view.modes.len());
            let label = format!("has the shape `{}`", shape_text(&t.shape()));
            let error = self.error(&codes::RANK_MISMATCH, shape, message).also(self.place(of), label);
            return Err(self.report(error));
        }
        let (mut inner, mut outer, mut ends) = (Vec::new(), Vec::new(), t.view.ends.clone());
        for (size, mode) in sizes.iter().zip(&t.view.modes) {
            let Some(b) = size.as_const().filter(|b| *b > 0) else {
                let message =
                    format!("expected a positive extent that is known at compile time, found `{size}`");
                return self.fail(&codes::NOT_CONSTANT, shape, message);
            };
            if !self.facts.divides(b, &mode.extent) && !self.is_guarded(t, mode) {
                let rest = mode.extent.rem(&Expr::constant(b), &self.facts);
                let missing = || {
                    let why = format!("the last tile of {b} may reach past `{}`", mode.extent);
                    Missing { why, cond: Cond::Cmp(CmpOp::Eq, rest, Expr::default()), index: false }
                };
                ends.extend(self.ends_itself(id, t, mode, missing)?);
            }
            let count = mode.extent.ceil_div(&Expr::constant(b), &self.facts);
            inner.push(SymMode { extent: Expr::constant(b), ..mode.clone() });
            outer.push(SymMode { extent: count, dim: mode.dim, factor: mode.factor.scale(b) });
        }
        inner.append(&mut outer);
        let view = SymView { modes: inner, pad: pad.value, call: pad.call, ends, ..t.view.clone() };
        Ok(Value::Tensor(t.with_view(view)))
    }

    /// Returns the first coordinate of the base that any step past the end of the mode reaches at least, so that a guard may compare
    /// coordinates with it. `None` if coordinates of the base have no order along the mode: in other memories, in blocks, and for
    /// picked rows.
    fn own_end(&self, t: &Tensor, mode: &SymMode) -> Option<Expr> {
        let is_walked = t.is_global() && t.view.picked.is_none() && !self.is_in_blocks(t.view.base);
        let offset = t.view.offsets.get(mode.dim).filter(|_| is_walked)?;
        self.is_outermost(t, mode)
            .then(|| (offset.clone() + &mode.extent * &mode.factor).simplify(&self.facts))
    }

    /// Lowers `global_view(buffer, layout)`.
    pub(crate) fn global_view(&mut self, id: ExprId, t: &Tensor, layout: ExprId, pad: Pad) -> Lower<Value> {
        self.want_unpicked(id, t)?;
        let Value::Layout(l) = self.eval(layout)? else {
            return self.fail(&codes::TYPE_MISMATCH, layout, "expected a layout, `shape : stride`");
        };
        self.want_flat(id, t)?;
        if !l.swizzle.is_identity() {
            return self.fail(&codes::LAYOUT_ALGEBRA, layout, "a view of global memory has no swizzle");
        }
        if self.is_in_blocks(t.view.base) {
            let name = self.base_name(t.view.base).to_owned();
            let message = format!("`{name}` lies in memory in blocks, which strides do not describe");
            let error = self
                .error(&codes::VIEW_OUTSIDE_BUFFER, layout, message)
                .help(format!("`tile({name}, …)` and indices work on any layout"));
            return Err(self.report(error));
        }
        let strides = self.base_strides(t.view.base);
        let buffer: Vec<Expr> =
            t.view.modes.iter().map(|m| &m.factor * strides.get(m.dim).unwrap_or(&Expr::default())).collect();
        let mut modes = Vec::new();
        let mut owners = Vec::new();
        let entries = l.shape.entries().iter().zip(l.stride.entries());
        let leaves: Vec<Vec<(&Expr, &Expr)>> =
            entries.map(|(shape, stride)| leaves_of(shape, stride)).collect();
        for &(extent, stride) in leaves.iter().flatten() {
            let Some((owner, q)) = self.owner(&buffer, stride) else {
                let name = self.base_name(t.view.base).to_owned();
                let list = shape_text(&buffer);
                let message = format!("the mode `{extent} : {stride}` follows no dimension of `{name}`");
                let error = self
                    .error(&codes::VIEW_OUTSIDE_BUFFER, layout, message)
                    .also(self.place(id), format!("the strides of the buffer are `{list}`"))
                    .help(
                        "let the stride of each mode be a constant multiple of one of the buffer's strides",
                    );
                return Err(self.report(error));
            };
            let old = &t.view.modes[owner];
            modes.push(SymMode { extent: extent.clone(), dim: old.dim, factor: &old.factor * &q });
            owners.push((owner, q));
        }
        self.check_view(layout, t, &modes, &owners)?;
        let is_flat = leaves.iter().all(|parts| parts.len() == 1);
        let groups = if is_flat { Vec::new() } else { leaves.iter().map(Vec::len).collect() };
        let view = SymView { modes, pad: pad.value, call: pad.call, groups, ..t.view.clone() };
        Ok(Value::Tensor(t.with_view(view)))
    }

    /// Finds the mode of the buffer whose stride divides `stride`, and the quotient; `None` if there is none. Of several
    /// modes with a known quotient it picks the one with the largest stride. A quotient that is known at run time only can
    /// lead past the end of a mode, which is the end of the tensor along the mode of the largest stride alone.
    fn owner(&self, buffer: &[Expr], stride: &Expr) -> Option<(usize, Expr)> {
        let mut best: Option<(usize, i64)> = None;
        for (i, own) in buffer.iter().enumerate() {
            let Some(q) = constant_ratio(stride, own) else { continue };
            let larger = best.is_none_or(|(j, _)| buffer[j] != *own && self.facts.proves_le(&buffer[j], own));
            if larger {
                best = Some((i, q));
            }
        }
        if let Some((i, q)) = best {
            return Some((i, Expr::constant(q)));
        }
        let is_largest = |own: &Expr| buffer.iter().all(|other| self.facts.proves_le(other, own));
        let i = buffer.iter().position(is_largest)?;
        Some((i, stride.exact_quotient(&buffer[i])?))
    }

    /// Checks that each mode of the buffer ends where its dimension ends, or that the view does not reach beyond the mode's
    /// end.
    fn check_view(
        &mut self,
        at: ExprId,
        t: &Tensor,
        modes: &[SymMode],
        owners: &[(usize, Expr)],
    ) -> Lower<()> {
        for (j, buffer) in t.view.modes.iter().enumerate() {
            let (mut low, mut high) = (Expr::default(), Expr::default());
            for (mode, (_, q)) in modes.iter().zip(owners).filter(|(_, (owner, _))| *owner == j) {
                let reach = &(mode.extent.clone() - Expr::constant(1)) * q;
                // A stride of unknown sign may lead to either side; there, as before a negative start, the tensor's own extent guards.
                if self.facts.proves_lt(q, &Expr::default()) {
                    low = low + reach
                } else {
                    high = high + reach
                }
            }
            let first = t.view.offsets[buffer.dim].clone() + &buffer.factor * &low;
            // A view that begins where its part begins needs no proof: a part may begin before its tensor, where accesses are guarded.
            let follows = self.facts.proves_le(&Expr::default(), &low);
            if !follows
                && !self.facts.proves_le(&Expr::default(), &first)
                && !self.is_guarded_below(t, buffer)
            {
                let why = format!("the first element may be at `{first}`");
                let cond = at_most(&Expr::default(), &first);
                let missing = self.not_inside(at, t, Missing { why, cond, index: false });
                if missing.is_err()
                    && t.is_global()
                    && let Some(error) = self.diagnostics.last_mut()
                {
                    // A condition around the access would leave out a whole tile of which only some elements are outside.
                    error.help = vec!["a view that steps backwards ends at the start of the tensor; `load(gather(t, i))` reads elements in any order, and 0 outside: `i` is a register tensor of positions, as `n - 1 - index(r, 0)`".to_owned()];
                }
                return missing;
            }
            let high = high.simplify(&self.facts);
            if !self.facts.proves_lt(&high, &buffer.extent) && !self.is_guarded(t, buffer) {
                let why = format!("it reaches `{high}` where the part has `{}`", buffer.extent);
                let cond = below(&high, &buffer.extent);
                return self.not_inside(at, t, Missing { why, cond, index: false });
            }
        }
        Ok(())
    }

    /// Returns the tensor if it is in global memory; otherwise reports an error.
    pub(crate) fn want_global(&mut self, at: ExprId, value: Value, what: &str) -> Lower<Tensor> {
        match value {
            Value::Tensor(t) if matches!(t.view.base, Base::Global(_)) => Ok(t),
            Value::Tensor(t) => {
                let message = format!("found a {} tensor, expected a global one for `{what}`", t.space());
                self.fail(&codes::WRONG_MEMORY, at, message)
            }
            other => {
                let message = format!("expected a global tensor for `{what}`, found {}", other.what());
                self.fail(&codes::TYPE_MISMATCH, at, message)
            }
        }
    }

    /// Returns the value outside of a view of `t` that a call makes, by its argument `pad:`. If it is omitted, the value of `t` stays.
    pub(crate) fn pad(&mut self, call: ExprId, t: &Tensor, args: &[Arg]) -> Lower<Pad> {
        let arg = args.iter().find(|a| a.name.as_deref() == Some("pad"));
        let value = arg.map(|arg| self.number(arg.value, "the padding")).transpose()?;
        let own = arg.map(|arg| self.place(arg.value));
        let inherited = t.view.call.0.as_ref().filter(|view_call| own.is_none() && view_call.pad.is_some());
        let view_call = match inherited {
            Some(inherited) => inherited.clone(),
            None => Arc::new(ViewCall { call: self.place(call), pad: own }),
        };
        Ok(Pad { value: value.unwrap_or(t.view.pad), call: CreatingCall(Some(view_call)) })
    }
}

fn below(a: &Expr, b: &Expr) -> Cond {
    Cond::Cmp(CmpOp::Lt, a.clone(), b.clone())
}

fn at_most(a: &Expr, b: &Expr) -> Cond {
    Cond::Cmp(CmpOp::Le, a.clone(), b.clone())
}

/// Returns a lower bound of `⌊x / d⌋ · factor` if `factor` is a positive multiple of `d`: the division drops at most `d - 1`
/// of `x`. `None` for another extent or factor.
fn least_multiple(extent: &Expr, factor: &Expr) -> Option<Expr> {
    let Some(Atom::Div(x, d)) = extent.as_atom() else { return None };
    let (d, factor) = (d.as_const()?, factor.as_const()?);
    let fits = d > 0 && factor > 0 && factor % d == 0;
    fits.then(|| (x.clone() - Expr::constant(d - 1)).scale(factor / d))
}

/// Returns the leaves of a mode with parts, the slowest first, so that the row-major index of the leaves is the index of the
/// mode.
fn leaves_of<'e>(shape: &'e ExprTuple, stride: &'e ExprTuple) -> Vec<(&'e Expr, &'e Expr)> {
    match (shape, stride) {
        (ExprTuple::Leaf(extent), ExprTuple::Leaf(stride)) => vec![(extent, stride)],
        (shape, stride) => {
            let parts = shape.entries().iter().zip(stride.entries()).rev();
            parts.flat_map(|(shape, stride)| leaves_of(shape, stride)).collect()
        }
    }
}

/// Returns `a / b` if it is a known whole number; otherwise `None`.
fn constant_ratio(a: &Expr, b: &Expr) -> Option<i64> {
    if a.is_zero() {
        return Some(0);
    }
    let (monomial, c) = b.terms().next()?;
    let (_, d) = a.terms().find(|(m, _)| *m == monomial)?;
    let whole = gcd(c, d) == c.abs();
    (whole && b.scale(d / c) == *a).then_some(d / c)
}
