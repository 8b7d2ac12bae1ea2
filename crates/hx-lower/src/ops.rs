//! Lowering of the builtins that become tile operations, such as `copy`, `gemm`, `cast`, `fill` and `sync`, and of new tensors.

use hx_base::codes;
use hx_dtype::DType;
use hx_hir::{Arg, ExprId, GEMM_SHAPES};
use hx_index::Expr;
use hx_layout::{ComposedLayout, Layout};
use hx_tile::{Constant, LoadIds, OpKind, Operand, Scalar, SyncOp, TensorId, TensorKind, View};

use crate::cache::Hints;
use crate::error::Lower;
use crate::lowering::{Lowering, shape_text};
use crate::stmt::permuted;
use crate::value::{Tensor, Value};

/// The most groups, products or stores that a wait leaves in flight. The checks of synchronization follow loops for as many rounds.
const MOST_IN_FLIGHT: u32 = 64;

impl Lowering<'_> {
    /// Lowers `register_tensor(T, shape)` and `shared_tensor(T, shape)`.
    pub(crate) fn make_tensor(
        &mut self,
        id: ExprId,
        shared: bool,
        dtype: ExprId,
        shape: ExprId,
        layout: Option<ExprId>,
        hint: Option<&str>,
    ) -> Lower<Value> {
        let (dtype, extents) = (self.dtype(dtype), self.static_shape(shape));
        let (dtype, extents) = (dtype?, extents?);
        let kind = if shared {
            TensorKind::Shared { pinned: layout.map(|l| self.pinned(l)).transpose()?.flatten() }
        } else {
            TensorKind::Register {
                pinned: layout.map(|l| self.pinned_distribution(l)).transpose()?.flatten(),
            }
        };
        let hint = hint.unwrap_or(if shared { "shared" } else { "register" });
        Ok(Value::Tensor(self.new_tensor(hint, dtype, extents, kind, id)))
    }

    /// Evaluates a thread-value layout, which must have no swizzle; `None` for `auto`.
    fn pinned_distribution(&mut self, id: ExprId) -> Lower<Option<Layout>> {
        match self.pinned(id)? {
            Some(pin) if !pin.swizzle.is_identity() => {
                self.fail(&codes::LAYOUT_ALGEBRA, id, "a thread-value layout has no swizzle")
            }
            pin => Ok(pin.map(|pin| pin.layout)),
        }
    }

    fn pinned(&mut self, id: ExprId) -> Lower<Option<ComposedLayout>> {
        match self.eval(id)? {
            Value::Auto => Ok(None),
            Value::Layout(l) => match l.to_composed() {
                Ok(layout) => Ok(Some(layout)),
                Err((code, message)) => self.fail(code, id, message),
            },
            other => {
                self.fail(&codes::TYPE_MISMATCH, id, format!("expected a layout, found {}", other.what()))
            }
        }
    }

    pub(crate) fn dtype(&mut self, id: ExprId) -> Lower<DType> {
        match self.eval(id)? {
            Value::DType(dtype) => Ok(dtype),
            other => self.fail(
                &codes::TYPE_MISMATCH,
                id,
                format!("expected an element type, found {}", other.what()),
            ),
        }
    }

    /// Evaluates the extents of a register or shared tensor, which must be known and positive.
    pub(crate) fn static_shape(&mut self, id: ExprId) -> Lower<Vec<i64>> {
        let extents = self.ints(id)?;
        let exprs = self.element_exprs(id);
        let mut out = Vec::with_capacity(extents.len());
        let mut result = Ok(());
        for (i, extent) in extents.iter().enumerate() {
            let at = exprs.get(i).copied().unwrap_or(id);
            match extent.as_const() {
                Some(x) if x > 0 => out.push(x),
                Some(x) => {
                    result = self.fail(
                        &codes::SHAPE_MISMATCH,
                        at,
                        format!("found the extent {x}, expected a positive one"),
                    );
                }
                None => {
                    let error = self
                        .error(&codes::NOT_CONSTANT, at, format!("found the extent `{extent}`, which is known only at launch"))
                        .help("extents of register and shared tensors are numbers, constants and compile-time parameters");
                    result = Err(self.report(error));
                }
            }
        }
        result.map(|()| out)
    }

    /// Evaluates a number that is known at compile time.
    pub(crate) fn number(&mut self, id: ExprId, what: &str) -> Lower<f64> {
        match self.eval(id)?.widened() {
            Value::Float(x) => Ok(x),
            Value::Int(x) => match x.as_const() {
                Some(x) => Ok(x as f64),
                None => self.unsupported(id, format!("{what} that is known only at run time")),
            },
            Value::Scalar(Scalar::Const { bits, dtype }) => Ok(dtype.decode(bits)),
            Value::Scalar(_) => self.unsupported(id, format!("{what} that is known only at run time")),
            other => {
                self.fail(&codes::TYPE_MISMATCH, id, format!("expected a number, found {}", other.what()))
            }
        }
    }

    pub(crate) fn tensor(&mut self, id: ExprId) -> Lower<Tensor> {
        let value = self.eval(id)?;
        self.as_tensor(id, value)
    }

    /// Returns a value as a tensor. An elementwise expression is evaluated.
    pub(crate) fn as_tensor(&mut self, id: ExprId, value: Value) -> Lower<Tensor> {
        match value {
            Value::Tensor(t) => Ok(t),
            Value::Lazy(lazy) => Ok(self.materialize(id, lazy, None)),
            Value::Choice(choice) => {
                let dtype = if choice.is_float() { "f32" } else { "i32" };
                let message = format!("expected a tensor, found {}", Value::Choice(choice).what());
                let error = self.error(&codes::TYPE_MISMATCH, id, message);
                Err(self.report(error.help(format!("`cast(…, {dtype})` fixes the type"))))
            }
            other => {
                self.fail(&codes::TYPE_MISMATCH, id, format!("expected a tensor, found {}", other.what()))
            }
        }
    }

    /// Lowers `copy(src, dst, l1: …, l2: …)`.
    pub(crate) fn copy(&mut self, id: ExprId, src: ExprId, dst: ExprId, hints: Hints) -> Lower<Value> {
        if let Some((t, dtype)) = self.conversion(src) {
            self.copy_converted(id, src, (t, dtype), dst, hints)?;
            return Ok(Value::Unit);
        }
        let (from, to) = (self.tensor(src), self.tensor(dst));
        let (mut from, mut to) = (from?, to?);
        self.give_hints(hints, "copy", [&mut from, &mut to])?;
        self.copy_values(id, src, &from, dst, &to)?;
        Ok(Value::Unit)
    }

    /// Moves a tile between any two memories; shapes and element types must be equal.
    pub(crate) fn copy_values(
        &mut self,
        id: ExprId,
        src: ExprId,
        from: &Tensor,
        dst: ExprId,
        to: &Tensor,
    ) -> Lower<()> {
        self.want_mutable(dst, to)?;
        self.want_distinct(dst, to)?;
        if from.dtype != to.dtype {
            return self.bad_dtype(src, from.dtype, dst, to.dtype);
        }
        self.same_shape(id, (src, &from.shape()), (dst, &to.shape()))?;
        if !from.view.groups.is_empty() || !to.view.groups.is_empty() {
            return self.copy_groups(id, (src, from), (dst, to));
        }
        match (from.is_register(), to.is_register()) {
            (true, true) => self.move_registers(id, src, from, dst, to),
            (true, false) => {
                let (register, memory) = self.straighten(src, from, dst, to)?;
                let op = OpKind::Copy { src: self.whole(register), dst: memory };
                self.emit(op, id);
                Ok(())
            }
            (false, true) => {
                let (register, memory) = self.straighten(dst, to, src, from)?;
                let op = OpKind::Copy { src: memory, dst: self.whole(register) };
                self.emit(op, id);
                Ok(())
            }
            (false, false) => {
                let held = self.passing(src, from, to)?;
                self.copy_values(id, src, &held, dst, to)
            }
        }
    }

    fn move_registers(
        &mut self,
        id: ExprId,
        src: ExprId,
        from: &Tensor,
        dst: ExprId,
        to: &Tensor,
    ) -> Lower<()> {
        let (Some((a, a_shape)), Some((b, b_shape))) = (self.register_of(from), self.register_of(to)) else {
            return Ok(());
        };
        let orders = (from.view.as_permutation(&a_shape), to.view.as_permutation(&b_shape));
        match orders {
            (Some(x), Some(y)) if x == y => {
                if a != b {
                    self.emit(OpKind::Cast { dst: b, src: a }, id);
                }
                Ok(())
            }
            (_, Some(order)) => {
                // The order of the destination's dimensions, expressed in the source's modes.
                let mut own = vec![0; order.len()];
                order.iter().enumerate().for_each(|(mode, &dim)| own[dim] = mode);
                let turned = permuted(from, &own);
                let part = self.part(src, &turned)?;
                // A slice needs two distinct tensors. A copy of a part of a tensor to itself goes through a new tensor, because
                // the source must not change while the destination is written.
                let whole = a != b;
                if whole {
                    self.emit(OpKind::Slice { dst: b, src: part }, id);
                } else {
                    let (middle, _) = self.settled(src, &turned, None)?;
                    self.emit(OpKind::Cast { dst: b, src: middle }, id);
                }
                Ok(())
            }
            (_, None) => self.fail(&codes::NOT_MUTABLE, dst, "a part of a register tensor may only be read"),
        }
    }

    /// Returns the register tensor, and the view of memory with its modes reordered to the register tensor's order.
    pub(crate) fn straighten(
        &mut self,
        reg: ExprId,
        register: &Tensor,
        mem: ExprId,
        memory: &Tensor,
    ) -> Lower<(TensorId, View)> {
        let view = self.static_view(mem, memory)?;
        let Some((id, shape)) = self.register_of(register) else {
            return self.unsupported(reg, "this operand");
        };
        let straight = |order: &Vec<usize>| view.picks().is_empty() || order.is_sorted();
        let Some(order) = register.view.as_permutation(&shape).filter(straight) else {
            let (part, _) = self.settled(reg, register, None)?;
            return Ok((part, view));
        };
        let mut modes = view.modes.clone();
        for (mode, &dim) in view.modes.iter().zip(&order) {
            modes[dim] = mode.clone();
        }
        Ok((id, View { modes, ..view }))
    }

    /// Returns the view with constant extents. Reports a view whose extents are known only at run time or are not positive.
    pub(crate) fn static_view(&mut self, at: ExprId, t: &Tensor) -> Lower<View> {
        self.want_flat(at, t)?;
        self.notes.add_view(&t.view);
        match t.view.to_view() {
            Some(view) if view.modes.iter().all(|m| m.extent > 0) => Ok(view),
            Some(_) => {
                let message =
                    format!("found the shape `{}`, expected positive extents", shape_text(&t.shape()));
                self.fail(&codes::SHAPE_MISMATCH, at, message)
            }
            None => {
                let open = t.shape().into_iter().find(|e| e.as_const().is_none()).unwrap_or_default();
                let error = self
                    .error(
                        &codes::NOT_CONSTANT,
                        at,
                        format!("found the extent `{open}`, which is known only at run time"),
                    )
                    .label(format!("the shape is `{}`", shape_text(&t.shape())))
                    .help("pick one tile with an integer index, or give the range a constant length");
                Err(self.report(error))
            }
        }
    }

    /// Returns the tensor itself if it is in registers, otherwise a new register tensor that its values are copied into.
    pub(crate) fn in_registers(&mut self, at: ExprId, t: &Tensor, hint: Option<&str>) -> Lower<Tensor> {
        if t.is_register() {
            return Ok(t.clone());
        }
        if !t.view.groups.is_empty() {
            return self.load_groups(at, t, hint);
        }
        let view = self.static_view(at, t)?;
        let hint = hint.map_or_else(|| format!("{}_tile", self.base_name(t.view.base)), str::to_owned);
        let (id, tensor) = self.new_register(&hint, t.dtype, view.shape(), at);
        let op = OpKind::Copy { src: view, dst: self.whole(id) };
        self.emit(op, at);
        Ok(tensor)
    }

    /// Lowers `wait(n)`: waits until at most `n` groups of asynchronous copies are in flight.
    pub(crate) fn wait(&mut self, id: ExprId, n: ExprId) -> Lower<Value> {
        let groups = self.left_in_flight(n, "groups")?;
        self.emit(OpKind::Sync(SyncOp::Wait { groups }), id);
        Ok(Value::Unit)
    }

    /// Lowers `wait_stores(n, read: true)`: waits until at most `n` of the scope's stores are in flight. With `read`, the
    /// default, a store counts only until it has read shared memory.
    pub(crate) fn wait_stores(&mut self, id: ExprId, n: ExprId, read: Option<ExprId>) -> Lower<Value> {
        let leave = self.left_in_flight(n, "stores")?;
        let read = read.map(|read| self.const_bool(read, "`read`")).transpose()?.unwrap_or(true);
        self.unit(OpKind::Sync(SyncOp::WaitStores { leave, read }), id)
    }

    /// Lowers `gemm_wait(n)`: waits until at most `n` products are in flight.
    pub(crate) fn gemm_wait(&mut self, id: ExprId, n: ExprId) -> Lower<Value> {
        let leave = self.left_in_flight(n, "products")?;
        self.emit(OpKind::Sync(SyncOp::GemmWait { leave }), id);
        Ok(Value::Unit)
    }

    /// Evaluates the number of groups, stores or products (`what`) that a wait leaves in flight, from 0 to
    /// [`MOST_IN_FLIGHT`].
    fn left_in_flight(&mut self, n: ExprId, what: &str) -> Lower<u32> {
        let left = self.const_int(n, &format!("the number of {what}"))?;
        match u32::try_from(left) {
            Ok(left) if left <= MOST_IN_FLIGHT => Ok(left),
            _ => {
                let message = format!("found {left} {what}, expected 0 to {MOST_IN_FLIGHT}");
                Err(self.report(self.error(&codes::LITERAL_OUT_OF_RANGE, n, message)))
            }
        }
    }

    /// Lowers `load(view, l1: …, l2: …)`: copies the elements of the view to a new register tensor.
    pub(crate) fn load(
        &mut self,
        id: ExprId,
        view: ExprId,
        hints: Hints,
        hint: Option<&str>,
    ) -> Lower<Value> {
        let mut t = self.tensor(view)?;
        if t.is_register() {
            return self.fail(&codes::WRONG_MEMORY, view, "found a register tensor, expected one in memory");
        }
        self.give_hints(hints, "load", [&mut t])?;
        let tensor = self.in_registers(id, &t, hint)?;
        Ok(Value::Tensor(tensor))
    }

    /// Lowers `fill(t, x)`.
    pub(crate) fn fill(&mut self, id: ExprId, t: ExprId, x: ExprId) -> Lower<Value> {
        let tensor = self.tensor(t)?;
        let value = self.eval(x)?;
        self.want_mutable(t, &tensor)?;
        let value = match &value {
            Value::Float(x) => *x,
            Value::Scalar(Scalar::Const { bits, dtype }) if *dtype == tensor.dtype => dtype.decode(*bits),
            Value::Int(x) if x.as_const().is_some_and(|x| (x as f64) as i64 == x) => {
                x.as_const().unwrap_or_default() as f64
            }
            Value::Bool(hx_index::Cond::True) => 1.0,
            Value::Bool(hx_index::Cond::False) => 0.0,
            Value::Int(_) | Value::Scalar(_) if tensor.is_register() => {
                return self.assign_lazy(t, &tensor, x, value).map(|()| Value::Unit);
            }
            Value::Int(_) | Value::Scalar(_) => {
                let view = self.static_view(t, &tensor)?;
                let hint = format!("{}_fill", self.base_name(tensor.view.base));
                let (_, filled) = self.new_register(&hint, tensor.dtype, view.shape(), id);
                self.assign_lazy(t, &filled, x, value)?;
                self.copy_values(id, id, &filled, t, &tensor)?;
                return Ok(Value::Unit);
            }
            other => {
                let message = format!("expected a number, found {}", other.what());
                return self.fail(&codes::TYPE_MISMATCH, x, message);
            }
        };
        if !tensor.dtype.is_float() && (value.fract() != 0.0 || !value.is_finite()) {
            let message =
                format!("expected a whole number for elements of type `{}`, found `{value}`", tensor.dtype);
            return self.fail(&codes::LITERAL_OUT_OF_RANGE, x, message);
        }
        if !tensor.dtype.holds(value) {
            return self.out_of_range(x, value, tensor.dtype);
        }
        match self.register_of(&tensor) {
            Some((dst, shape)) if tensor.view.as_permutation(&shape).is_some() => {
                self.emit(OpKind::Fill { dst, value: Constant::new(value) }, id);
            }
            Some(_) => {
                return self.fail(&codes::NOT_MUTABLE, t, "a part of a register tensor may only be read");
            }
            None => {
                let view = self.static_view(t, &tensor)?;
                let hint = format!("{}_fill", self.base_name(tensor.view.base));
                let (dst, filled) = self.new_register(&hint, tensor.dtype, view.shape(), id);
                self.emit(OpKind::Fill { dst, value: Constant::new(value) }, id);
                self.copy_values(id, id, &filled, t, &tensor)?;
            }
        }
        Ok(Value::Unit)
    }

    /// Lowers `cast(t, T)`.
    pub(crate) fn cast(&mut self, id: ExprId, t: ExprId, dtype: ExprId, hint: Option<&str>) -> Lower<Value> {
        let (value, dtype) = (self.eval(t), self.dtype(dtype));
        let (value, dtype) = (value?, dtype?);
        self.converted(id, (t, value), dtype, hint)
    }

    /// Returns the value of `t` with elements of another type.
    pub(crate) fn converted(
        &mut self,
        id: ExprId,
        (t, value): (ExprId, Value),
        dtype: DType,
        hint: Option<&str>,
    ) -> Lower<Value> {
        if let Some(whole) = value.whole() {
            return Ok(self.cast_whole(whole, dtype));
        }
        let tensor = match value {
            Value::Tensor(tensor) => tensor,
            lazy @ (Value::Lazy(_) | Value::Scalar(_)) => return Ok(Self::cast_lazy(lazy, dtype)),
            Value::Choice(choice) => return self.cast_choice(t, &choice, dtype),
            Value::Float(x) if dtype.is_float() => return Ok(Value::Scalar(Scalar::constant(x, dtype))),
            Value::Bool(cond) => return Ok(Value::Scalar(crate::elementwise::condition(&cond).cast(dtype))),
            other => return self.unsupported(id, format!("a conversion of {}", other.what())),
        };
        let tensor = self.in_registers(t, &tensor, None)?;
        let tensor = match self.register_of(&tensor) {
            Some((_, shape)) if tensor.view.as_permutation(&shape).is_some() => tensor,
            _ => self.settled(t, &tensor, None)?.1,
        };
        let Some((src, shape)) = self.register_of(&tensor) else {
            return self.unsupported(t, "this operand");
        };
        let Some(order) = tensor.view.as_permutation(&shape) else {
            return self.unsupported(t, "this operand");
        };
        let hint =
            hint.map_or_else(|| format!("{}_{dtype}", self.base_name(tensor.view.base)), str::to_owned);
        let (dst, result) = self.new_register(&hint, dtype, shape, id);
        self.emit(OpKind::Cast { dst, src }, id);
        Ok(Value::Tensor(permuted(&result, &order)))
    }

    /// Lowers `rearrange(t, layout)`: the same values in a new tensor. Its layout is pinned, or left open if `layout` is
    /// `auto`.
    pub(crate) fn rearrange(
        &mut self,
        id: ExprId,
        t: ExprId,
        layout: ExprId,
        hint: Option<&str>,
    ) -> Lower<Value> {
        let tensor = self.tensor(t)?;
        let pinned = self.pinned_distribution(layout)?;
        let Some((src, shape)) = self.register_of(&tensor) else {
            let message =
                format!("found a {} tensor, expected a register one for `rearrange`", tensor.space());
            return self.fail(&codes::WRONG_MEMORY, t, message);
        };
        let (src, shape, tensor) = match tensor.view.as_permutation(&shape) {
            Some(order) if pinned.is_none() || order.is_sorted() => (src, shape, tensor),
            _ => {
                let (part, settled) = self.settled(t, &tensor, None)?;
                (part, self.output.tensor(part).shape.clone(), settled)
            }
        };
        let order = tensor.view.as_permutation(&shape).unwrap_or_else(|| (0..shape.len()).collect());
        let hint =
            hint.map_or_else(|| format!("{}_rearranged", self.base_name(tensor.view.base)), str::to_owned);
        let result = self.new_tensor(&hint, tensor.dtype, shape.clone(), TensorKind::Register { pinned }, id);
        let Some((dst, _)) = self.register_of(&result) else { return Ok(Value::Tensor(result)) };
        self.emit(OpKind::Rearrange { dst, src, through: None }, id);
        Ok(Value::Tensor(permuted(&result, &order)))
    }

    /// Lowers `gemm(c, a, b)`: `c[M, N] += a[M, K] · b[N, K]ᵀ`, for each index of a third mode if there is one. For
    /// `gemm_async`, `asynchronous` is true.
    pub(crate) fn gemm(
        &mut self,
        id: ExprId,
        [c, a, b]: [ExprId; 3],
        args: &[Arg],
        asynchronous: bool,
    ) -> Lower<Value> {
        let tensors = (self.tensor(c), self.tensor(a), self.tensor(b));
        let (tc, ta, tb) = (tensors.0?, tensors.1?, tensors.2?);
        self.want_mutable(c, &tc)?;
        self.gemm_shapes([(c, &tc), (a, &ta), (b, &tb)])?;
        if !ta.dtype.multiplies_with(tb.dtype) {
            return self.bad_dtype(b, tb.dtype, a, ta.dtype);
        }
        let Some(acc) = self.whole_register(&tc) else {
            let message = format!(
                "expected a whole register tensor for the result, found a {} tensor or a part of one",
                tc.space()
            );
            return self.fail(&codes::WRONG_MEMORY, c, message);
        };
        let warps = match args.iter().find(|arg| arg.name.as_deref() == Some("warps")) {
            Some(arg) => Some(self.warps(arg.value, tc.view.modes.len() == 3)?),
            None => None,
        };
        let (ra, rb) = (self.operand(a, &ta)?, self.operand(b, &tb)?);
        self.emit(OpKind::Gemm { c: acc, a: ra, b: rb, warps, asynchronous }, id);
        Ok(Value::Unit)
    }

    /// Returns the id of the register tensor if `t` covers all of it in its own order; otherwise `None`.
    pub(crate) fn whole_register(&self, t: &Tensor) -> Option<TensorId> {
        let (id, shape) = self.register_of(t)?;
        let order = t.view.as_permutation(&shape)?;
        order.is_sorted().then_some(id)
    }

    /// Returns an operand of a product. A shared operand stays where it is; an operation and a tensor are numbered for the load
    /// that the solver may add.
    fn operand(&mut self, at: ExprId, t: &Tensor) -> Lower<Operand> {
        if t.is_global() {
            let error = self
                .error(
                    &codes::WRONG_MEMORY,
                    at,
                    "found a global tensor, expected a register or shared one for `gemm`",
                )
                .help("`load(…)` moves a tile into registers");
            return Err(self.report(error));
        }
        if t.is_register() {
            let (id, _) = self.settled(at, t, None)?;
            return Ok(Operand { view: self.whole(id), load: None });
        }
        let view = self.static_view(at, t)?;
        let hint = format!("{}_tile", self.base_name(t.view.base));
        let (tensor, _) = self.new_register(&hint, t.dtype, view.shape(), at);
        let op = self.output.next_op();
        Ok(Operand { view, load: Some(LoadIds { op, tensor }) })
    }

    fn gemm_shapes(&mut self, operands: [(ExprId, &Tensor); 3]) -> Lower<()> {
        let wanted = if operands[0].1.view.modes.len() == 3 { 3 } else { 2 };
        for (at, t) in operands {
            let rank = t.view.modes.len();
            if rank != wanted {
                let message = format!("found a tensor of rank {rank}, expected {wanted} modes for `gemm`");
                return self.fail(&codes::RANK_MISMATCH, at, message);
            }
        }
        let [(c, tc), (a, ta), (b, tb)] = operands;
        let (sc, sa, sb) = (tc.shape(), ta.shape(), tb.shape());
        let mut pairs =
            vec![("M", a, &sa[0], c, &sc[0]), ("N", b, &sb[0], c, &sc[1]), ("K", b, &sb[1], a, &sa[1])];
        if let (Some(sa), Some(sb), Some(sc)) = (sa.get(2), sb.get(2), sc.get(2)) {
            pairs.extend([("batch", a, sa, c, sc), ("batch", b, sb, c, sc)]);
        }
        for (mode, x, found, y, wanted) in pairs {
            if !self.equal(found, wanted) {
                let message =
                    format!("found {mode} = `{found}` in `{}`", shape_text(if x == a { &sa } else { &sb }));
                let error = self
                    .error(&codes::SHAPE_MISMATCH, x, format!("{message}, expected `{wanted}`"))
                    .label(format!("{mode} is `{found}` here"))
                    .also(self.place(y), format!("{mode} is `{wanted}` here"))
                    .note(GEMM_SHAPES);
                return Err(self.report(error));
            }
        }
        Ok(())
    }

    fn warps(&mut self, id: ExprId, batched: bool) -> Lower<[i64; 3]> {
        let values: Option<Vec<i64>> = self.ints(id)?.iter().map(Expr::as_const).collect();
        match values.as_deref() {
            Some(&[m, n]) if m > 0 && n > 0 && !batched => Ok([m, n, 1]),
            Some(&[m, n, batch]) if m > 0 && n > 0 && batch > 0 && batched => Ok([m, n, batch]),
            _ => {
                let wanted = if batched {
                    "expected three positive constants, warps along M, N and the batch"
                } else {
                    "expected two positive constants, warps along M and along N"
                };
                self.fail(&codes::TYPE_MISMATCH, id, wanted)
            }
        }
    }

    fn equal(&self, a: &Expr, b: &Expr) -> bool {
        (a.clone() - b.clone()).simplify(&self.facts).is_zero()
    }

    pub(crate) fn same_shape(
        &mut self,
        id: ExprId,
        (src, a): (ExprId, &[Expr]),
        (dst, b): (ExprId, &[Expr]),
    ) -> Lower<()> {
        if a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.equal(a, b)) {
            return Ok(());
        }
        let (a, b) = (shape_text(a), shape_text(b));
        let error = self
            .error(&codes::SHAPE_MISMATCH, id, format!("expected `{b}`, found the shape `{a}`"))
            .also(self.place(src), format!("this has the shape `{a}`"))
            .also(self.place(dst), format!("this has the shape `{b}`"));
        Err(self.report(error))
    }

    pub(crate) fn want_mutable(&mut self, at: ExprId, t: &Tensor) -> Lower<()> {
        if t.mutable {
            return Ok(());
        }
        let name = self.base_name(t.view.base).to_owned();
        if t.view.picked.is_some() && (self.is_written(t) || !t.is_global()) {
            let message =
                format!("rows that `gather` picks of `{name}` are written, but they may only be read");
            let error = self
                .error(&codes::NOT_MUTABLE, at, message)
                .help(format!("`scatter({name}, …)` picks what is written of a `mut` tensor"));
            return Err(self.report(error));
        }
        let error = self
            .error(&codes::NOT_MUTABLE, at, format!("`{name}` is written, but it may only be read"))
            .help(format!("write `{name}: mut …` in the parameter list"));
        Err(self.report(error))
    }
}
