//! Parts of register tensors, and `scalar`, which turns a tensor of one element into a block-uniform number.

use std::collections::BTreeSet;

use hx_base::codes;
use hx_hir::{Arg, Builtin, CommonFn, Expr as HirExpr, ExprId, KernelFn, Pat, PatId, Resolution, StmtKind};
use hx_index::Expr;
use hx_layout::Layout;
use hx_tile::{OpKind, Scalar, TensorId, TensorKind, View};

use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{Tensor, Value};

impl Lowering<'_> {
    /// Returns a register tensor that holds exactly the elements of the view `t`, in the view's order. It is the tensor itself
    /// if the view covers all of it in order, otherwise a new one.
    pub(crate) fn settled(
        &mut self,
        at: ExprId,
        t: &Tensor,
        hint: Option<&str>,
    ) -> Lower<(TensorId, Tensor)> {
        if let Some(id) = self.whole_register(t) {
            return Ok((id, t.clone()));
        }
        let view = self.part(at, t)?;
        let hint = hint.map_or_else(|| format!("{}_part", self.base_name(t.view.base)), str::to_owned);
        let (dst, tensor) = self.new_register(&hint, t.dtype, view.shape(), at);
        self.emit(OpKind::Slice { dst, src: view }, at);
        Ok((dst, tensor))
    }

    /// Returns a view of a register tensor; its offsets must be known at compile time.
    pub(crate) fn part(&mut self, at: ExprId, t: &Tensor) -> Lower<View> {
        let open = t.view.offsets.iter().find(|o| o.as_const().is_none());
        if let Some(open) = open.cloned() {
            self.run_time_index(at, &open)?;
        }
        self.static_view(at, t)
    }

    /// Reports that an index of a register tensor is no constant.
    pub(crate) fn run_time_index(&mut self, at: ExprId, i: &Expr) -> Lower<()> {
        let message =
            format!("found `{i}`, which is known only at run time, as an index of a register tensor");
        let error = self
            .error(&codes::REGISTER_INDEX, at, message)
            .help("`#[unroll]` makes the counter of a loop with constant bounds a constant");
        Err(self.report(error))
    }

    /// Copies the part of a register tensor that an index selects to a new tensor, which is read-only.
    pub(crate) fn register_part(&mut self, id: ExprId, t: &Tensor) -> Lower<Value> {
        if t.view.modes.is_empty() {
            let name = self.base_name(t.view.base).to_owned();
            let error = self
                .error(&codes::NOT_UNIFORM, id, format!("found one element of the register tensor `{name}`, which one thread has"))
                .help(format!("`scalar(…)` makes the only element of a part such as `{name}[0..1, 0..1]` a number of the block"));
            return Err(self.report(error));
        }
        let (_, part) = self.settled(id, t, None)?;
        Ok(Value::Tensor(Tensor { mutable: false, ..part }))
    }

    /// Lowers `scalar(t)`: broadcasts the only element of a tensor to all threads.
    pub(crate) fn scalar(&mut self, id: ExprId, t: ExprId) -> Lower<Value> {
        let tensor = self.tensor(t)?;
        self.only_element(id, t, &tensor)
    }

    /// Makes the only element of `tensor` a number that all threads have.
    pub(crate) fn only_element(&mut self, id: ExprId, t: ExprId, tensor: &Tensor) -> Lower<Value> {
        let shape = tensor.shape();
        if shape.is_empty() || shape.iter().any(|e| e.as_const() != Some(1)) {
            let message = format!(
                "found a tensor of shape `{}`, expected one element for `scalar`",
                crate::lowering::shape_text(&shape)
            );
            return self.fail(&codes::SHAPE_MISMATCH, t, message);
        }
        let fits = if tensor.dtype.is_float() { tensor.dtype.bits() >= 16 } else { true };
        if !fits {
            return self.unsupported(id, format!("a number of type `{}`", tensor.dtype));
        }
        // A pinned layout with stride 0 along the threads: every thread holds the element.
        let threads = self.scopes.threads_here();
        let each = Layout::flat(&[(i64::from(threads), 0)]);
        let pinned = each.and_then(|each| Layout::concat(&[each, Layout::flat(&[(1, 0)])?]));
        let pinned = match pinned {
            Ok(layout) => Some(layout),
            Err(error) => return self.fail(&codes::LAYOUT_ALGEBRA, id, error.to_string()),
        };
        let hint = format!("{}_all", self.base_name(tensor.view.base));
        let held =
            self.new_tensor(&hint, tensor.dtype, vec![1; shape.len()], TensorKind::Register { pinned }, id);
        let Some((dst, _)) = self.register_of(&held) else { return Ok(Value::Error) };
        if tensor.is_register() {
            let src = self.part(t, tensor)?;
            self.emit(OpKind::Slice { dst, src }, id);
        } else {
            self.copy_values(id, t, tensor, id, &held)?;
        }
        let name = self.base_name(tensor.view.base).to_owned();
        let var = self.output.new_var(format!("{name}_value").into());
        self.readable(id, tensor.dtype)?;
        self.emit(OpKind::ReadNumber { var: var.clone(), src: dst }, id);
        Ok(self.number_of(&var, tensor.dtype))
    }

    /// Reports whether the body of an unrolled loop may use the counter where a constant is wanted: as an index of a register
    /// tensor, an axis, a shape, an order, or a compile-time argument. The lowering must then unroll the loop itself, so that
    /// the counter is a constant.
    pub(crate) fn indexes_registers(&self, body: ExprId, counter: PatId) -> bool {
        let mut found = false;
        let computed = self.bound_in(body);
        self.visit(body, &mut |lowering, expr| {
            let mentions = |at: &ExprId| lowering.mentions(*at, counter, &computed);
            match &lowering.store()[expr] {
                HirExpr::Index { base, args } => {
                    found |= args.iter().any(mentions) && lowering.may_be_register(*base);
                }
                HirExpr::Path { generics, .. } => found |= generics.iter().any(|g| mentions(&g.value)),
                HirExpr::Call { callee, args } => {
                    found |= lowering.fixed(*callee, args).any(|at| mentions(&at))
                }
                _ => {}
            }
        });
        found
    }

    /// Yields the arguments of a call that must be known at compile time.
    fn fixed<'a>(&self, callee: ExprId, args: &'a [Arg]) -> impl Iterator<Item = ExprId> + 'a {
        let params = match self.frame().names.exprs.get(callee) {
            Some(Resolution::Builtin(builtin)) => builtin.params().unwrap_or_default(),
            _ => &[],
        };
        let is_fixed = |name: &str| matches!(name, "axis" | "shape" | "order" | "dtype");
        args.iter().enumerate().filter_map(move |(i, arg)| {
            let name = arg.name.as_deref().or_else(|| params.get(i).map(|p| p.name))?;
            is_fixed(name).then_some(arg.value)
        })
    }

    /// Returns the locals that statements of a loop's body bind, which may be computed from its counter. If an outer loop is
    /// unrolled, they still have the values of its previous round.
    pub(crate) fn bound_in(&self, body: ExprId) -> BTreeSet<PatId> {
        fn names(lowering: &Lowering<'_>, pat: PatId, found: &mut BTreeSet<PatId>) {
            match &lowering.store()[pat] {
                Pat::Bind(_) => {
                    found.insert(pat);
                }
                Pat::Tuple(parts) | Pat::Array(parts) => {
                    parts.iter().for_each(|part| names(lowering, *part, found));
                }
                Pat::Missing | Pat::Wildcard => {}
            }
        }
        let mut found = BTreeSet::new();
        self.visit(body, &mut |lowering, expr| {
            let HirExpr::Block(block) = &lowering.store()[expr] else { return };
            for &stmt in &block.stmts {
                if let StmtKind::Let { pat, .. } | StmtKind::For { pat, .. } = &lowering.store()[stmt].kind {
                    names(lowering, *pat, &mut found);
                }
            }
        });
        found
    }

    /// Visits an expression and every expression in it, including those of its statements.
    fn visit(&self, expr: ExprId, f: &mut dyn FnMut(&Self, ExprId)) {
        f(self, expr);
        let store = self.store();
        let mut below = Vec::new();
        store.for_each_child(expr, &mut |child| below.push(child));
        if let HirExpr::Block(block) = &store[expr] {
            for &stmt in &block.stmts {
                store.for_each_part(stmt, &mut |part| below.push(part));
            }
        }
        below.into_iter().for_each(|child| self.visit(child, f));
    }

    fn mentions(&self, expr: ExprId, counter: PatId, computed: &BTreeSet<PatId>) -> bool {
        let mut found = false;
        let is_local = |lowering: &Self, e: ExprId| match lowering.frame().names.exprs.get(e) {
            Some(Resolution::Local(pat)) => *pat == counter || computed.contains(pat),
            _ => false,
        };
        self.visit(expr, &mut |lowering, e| found |= is_local(lowering, e));
        found
    }

    /// Reports whether `base` may be a register tensor, judged before the loop runs.
    fn may_be_register(&self, base: ExprId) -> bool {
        let frame = self.frame();
        match (&self.store()[base], frame.names.exprs.get(base)) {
            (HirExpr::Path { .. }, Some(Resolution::Local(pat))) => match frame.locals.get(pat) {
                Some((Value::Tensor(t), _)) => t.is_register(),
                Some((Value::Lazy(_), _)) | None => true,
                Some(_) => false,
            },
            (HirExpr::Path { .. }, Some(Resolution::Param(i))) => match frame.params.get(*i as usize) {
                Some(Value::Tensor(t)) => t.is_register(),
                _ => false,
            },
            (HirExpr::Path { .. }, _) => false,
            (HirExpr::Index { base, .. } | HirExpr::Field { base, .. }, _) => self.may_be_register(*base),
            (HirExpr::Call { callee, .. }, _) => match frame.names.exprs.get(*callee) {
                Some(Resolution::Builtin(function)) => !makes_view(*function),
                _ => true,
            },
            _ => true,
        }
    }

    /// Runs the body of an unrolled loop once for each value of its counter.
    pub(crate) fn repeated(&mut self, pat: PatId, (start, end): (i64, i64), body: ExprId) -> Lower<()> {
        let mut result = Ok(());
        for i in start..end {
            self.bind(pat, Value::Int(Expr::constant(i)))?;
            result = result.and(self.eval(body).map(|_| ()));
            if result.is_err() {
                break;
            }
        }
        result
    }
}

/// Reports whether a function returns a tensor in memory.
fn makes_view(function: Builtin) -> bool {
    matches!(
        function,
        Builtin::Kernel(
            KernelFn::Tile
                | KernelFn::GlobalView
                | KernelFn::Gather
                | KernelFn::Scatter
                | KernelFn::SharedTensor
        ) | Builtin::Common(CommonFn::Permute)
    )
}

/// Returns the range of the counter (end exclusive) if the loop is short enough to be unrolled here; otherwise `None`.
pub(crate) fn written_out(start: &Expr, end: &Expr) -> Option<(i64, i64)> {
    /// The most rounds that are written out.
    const MOST: i64 = 256;
    let (start, end) = (start.as_const()?, end.as_const()?);
    (end - start <= MOST).then_some((start, end))
}

/// Returns an operand of a scan's operator: component `index` of the earlier or later element.
pub(crate) fn operand(index: usize, dtype: hx_dtype::DType) -> Value {
    Value::Scalar(Scalar::Input { index: index as u32, dtype })
}

/// Reports whether the statement is a `let`. A closure whose statements are all `let`s reduces to one expression.
pub(crate) fn is_let(kind: &StmtKind) -> bool {
    matches!(kind, StmtKind::Let { .. })
}
