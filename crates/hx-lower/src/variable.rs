//! Integers that change at run time, and integers read from global tensors.
//!
//! An integer is replaced by its value wherever it is used, until control flow that is decided at run time assigns to it. From
//! there on it is a variable of the program, and whatever is bound to a name while it mentions one is bound to its value then.

use hx_base::codes;
use hx_hir::{Expr as HirExpr, ExprId, PatId, Resolution, StmtKind};
use hx_index::{Cond, Expr, Symbol};
use hx_tile::{Scalar, Stmt, View};

use crate::cx::Cx;
use crate::elementwise::Lazy;
use crate::error::Lower;
use crate::value::{SymView, Tensor, Value};

impl Cx<'_> {
    /// Makes variables of the integers bound outside of these expressions and assigned to in them. To be called before what runs
    /// any number of times or not at all.
    pub(crate) fn thaw(&mut self, exprs: &[ExprId]) {
        let store = self.store();
        for &expr in exprs {
            for stmt in store.stmts_in(expr) {
                let StmtKind::Assign { place, .. } = &store[stmt].kind else { continue };
                let Some(Resolution::Local(pat)) = self.frame().names.exprs.get(*place) else { continue };
                let pat = *pat;
                if self.frame().variables.contains_key(&pat) {
                    continue;
                }
                let local = self.frame().locals.get(&pat).cloned();
                if let Some((Value::Lazy(lazy), _)) = &local {
                    self.hold(*place, pat, lazy.clone());
                }
                if let Some((Value::Int(value), depth)) = local {
                    let name = match &store[*place] {
                        HirExpr::Path { path, .. } => path.to_string(),
                        _ => "n".into(),
                    };
                    let var = self.new_var(name.into());
                    self.push(Stmt::Let { var: var.clone(), value });
                    self.variables.insert(var.clone());
                    let frame = self.frame_mut();
                    frame.locals.insert(pat, (Value::Int(Expr::symbol(var.clone())), depth));
                    frame.variables.insert(pat, var);
                }
            }
        }
    }

    /// The variable that a local has become.
    pub(crate) fn variable(&self, pat: PatId) -> Option<Symbol> {
        self.frame().variables.get(&pat).cloned()
    }

    fn mentions_variable(&self, x: &Expr) -> bool {
        x.symbols().iter().any(|s| self.variables.contains(s))
    }

    /// The integer as it is now, whatever its variables become later.
    pub(crate) fn freeze_int(&mut self, value: Expr) -> Expr {
        if !self.mentions_variable(&value) {
            return value;
        }
        let name = value.symbols().into_iter().find(|s| self.variables.contains(s));
        let name = name.map_or_else(|| "now".to_owned(), |s| format!("{s}_now"));
        let var = self.new_var(name.into());
        self.keep_range(&var, &value);
        self.push(Stmt::Let { var: var.clone(), value });
        Expr::symbol(var)
    }

    /// The facts of a new name for a value: its range and its divisor.
    fn keep_range(&mut self, var: &Symbol, value: &Expr) {
        if let (Some(low), high) = self.facts.range(value) {
            self.facts.at_least(var.clone(), low);
            if let Some(high) = high {
                self.facts.at_most(var.clone(), Expr::constant(high));
            }
        }
        let divisor = self.facts.divisor(value);
        if divisor > 1 {
            self.facts.divisible(var.clone(), divisor);
        }
    }

    /// The value as it is now, for a name that keeps it.
    pub(crate) fn freeze(&mut self, value: Value) -> Value {
        if self.variables.is_empty() {
            return value;
        }
        match value {
            Value::Int(x) => Value::Int(self.freeze_int(x)),
            Value::Bool(cond) => Value::Bool(self.freeze_cond(cond)),
            Value::Scalar(scalar) => Value::Scalar(self.freeze_scalar(&scalar)),
            Value::Lazy(lazy) => Value::Lazy(Lazy { value: self.freeze_scalar(&lazy.value), ..lazy }),
            Value::Tuple(parts) => Value::Tuple(parts.into_iter().map(|p| self.freeze(p)).collect()),
            Value::Array(parts) => Value::Array(parts.into_iter().map(|p| self.freeze(p)).collect()),
            Value::Range { start, end } => {
                let start = start.map(|e| self.freeze_int(e));
                Value::Range { start, end: end.map(|e| self.freeze_int(e)) }
            }
            Value::Tensor(t) => {
                let view = t.view.clone();
                let offsets = view.offsets.into_iter().map(|o| self.freeze_int(o)).collect();
                let mut modes = view.modes;
                for mode in &mut modes {
                    mode.extent = self.freeze_int(std::mem::take(&mut mode.extent));
                    mode.factor = self.freeze_int(std::mem::take(&mut mode.factor));
                }
                Value::Tensor(t.with_view(SymView { offsets, modes, ..view }))
            }
            other => other,
        }
    }

    fn freeze_scalar(&mut self, scalar: &Scalar) -> Scalar {
        scalar.map_leaves(&mut |leaf| match leaf {
            Scalar::Integer { value, dtype } => {
                Some(Scalar::Integer { value: self.freeze_int(value.clone()), dtype: *dtype })
            }
            _ => None,
        })
    }

    fn freeze_cond(&mut self, cond: Cond) -> Cond {
        match cond {
            Cond::True | Cond::False => cond,
            Cond::Cmp(op, a, b) => Cond::Cmp(op, self.freeze_int(a), self.freeze_int(b)),
            Cond::And(conds) => Cond::And(conds.into_iter().map(|c| self.freeze_cond(c)).collect()),
            Cond::Or(conds) => Cond::Or(conds.into_iter().map(|c| self.freeze_cond(c)).collect()),
        }
    }

    /// Two integers of which run-time control flow picks one, as a variable: the statements that each branch ends with.
    pub(crate) fn picked(&mut self, a: &Expr, b: &Expr) -> (Symbol, [Stmt; 2]) {
        let var = self.new_var("picked".into());
        let (x, y) = (self.facts.range(a), self.facts.range(b));
        if let (Some(p), Some(q)) = (x.0, y.0) {
            self.facts.at_least(var.clone(), p.min(q));
            if let (Some(p), Some(q)) = (x.1, y.1) {
                self.facts.at_most(var.clone(), Expr::constant(p.max(q)));
            }
        }
        let assign = |value: &Expr| Stmt::Assign { var: var.clone(), value: value.clone() };
        let ends = [assign(a), assign(b)];
        (var, ends)
    }

    /// The integer that an index picks from a global tensor: the same for all threads, as nothing writes the tensor.
    pub(crate) fn load_scalar(&mut self, id: ExprId, base: ExprId, t: &Tensor) -> Lower<Value> {
        let name = self.base_name(t.view.base).to_owned();
        if !t.is_global() {
            return self.unsupported(id, format!("an element of a {} tensor as a number", t.space()));
        }
        if t.mutable || self.is_written(t) {
            let message = format!(
                "found an element of `{name}`, which the kernel may write, so it may differ between threads"
            );
            let error = self.error(&codes::NOT_UNIFORM, id, message);
            return Err(self.report(error));
        }
        if !t.dtype.is_int() || t.dtype.bits() < 8 {
            return self.unsupported(id, format!("a number of type `{}` read from a tensor", t.dtype));
        }
        let shape = self.base_shape(t.view.base);
        for (offset, extent) in t.view.offsets.iter().zip(&shape) {
            let inside =
                self.facts.proves_le(&Expr::default(), offset) && self.facts.proves_lt(offset, extent);
            if !inside {
                let error = self
                    .error(
                        &codes::VIEW_OUTSIDE_BUFFER,
                        id,
                        format!("cannot prove that `{offset}` is below `{extent}`"),
                    )
                    .label("a number is read without a guard")
                    .also(
                        self.place(base),
                        format!("`{name}` has the shape `{}`", crate::cx::shape_text(&shape)),
                    )
                    .help("state what holds in a `where` clause");
                return Err(self.report(error));
            }
        }
        let var = self.new_var(format!("{name}_value").into());
        let (bits, dtype) = (t.dtype.bits(), t.dtype);
        match (dtype.is_signed_int(), bits) {
            (true, 64) => {}
            (true, bits) => {
                self.facts.at_least(var.clone(), -(1i64 << (bits - 1)));
                self.facts.at_most(var.clone(), Expr::constant((1i64 << (bits - 1)) - 1));
            }
            // Taken for a signed number, as every integer is.
            (false, 64) => return self.unsupported(id, "a number of type `u64` read from a tensor"),
            (false, bits) => self.facts.at_most(var.clone(), Expr::constant((1i64 << bits) - 1)),
        }
        let src =
            View { base: t.view.base, offsets: t.view.offsets.clone(), modes: Vec::new(), pad: t.view.pad };
        self.push(Stmt::LoadScalar { var: var.clone(), src });
        Ok(Value::Int(Expr::symbol(var)))
    }

    fn is_written(&self, t: &Tensor) -> bool {
        let hx_tile::Base::Global(id) = t.view.base else { return false };
        matches!(self.params.get(id.0 as usize), Some(hx_tile::Param::Tensor(p)) if p.mutable)
    }
}
