//! Numbers that change at run time, and numbers read from tensors.
//!
//! A use of a number is replaced by its value as long as no run-time control flow assigns to the number. From that assignment
//! on the number is a variable of the program. A name that is bound to an expression of the variable keeps the variable's value
//! at the binding, not later ones.

use std::sync::Arc;

use hx_base::codes;
use hx_dtype::DType;
use hx_hir::{
    Arg, Expr as HirExpr, ExprId, ItemKind, PatId, Resolution, Sound, StmtKind, TypeRef, fn_signature,
};
use hx_index::{CmpOp, Cond, Expr, Symbol};
use hx_tile::{Leaf, Picked, Scalar, Stmt};

use crate::elementwise::condition;
use crate::error::Lower;
use crate::flow::range_of_type;
use crate::lowering::Lowering;
use crate::value::{Lazy, SymView, Value};
use crate::variable_facts::{Bound, Range, joined, within};
use crate::variables::Variable;
use crate::whole::{state_range, width};

/// The element type of a variable whose first value consists of literals only.
pub(crate) const UNTYPED: DType = DType::F32;

impl Lowering<'_> {
    /// Turns the numbers that are bound outside of `exprs` and assigned inside them into variables. Call it before lowering
    /// code that runs any number of times or not at all.
    pub(crate) fn thaw(&mut self, exprs: &[ExprId]) {
        let store = self.store();
        for &expr in exprs {
            for stmt in store.stmts_in(expr) {
                let StmtKind::Assign { place, .. } = &store[stmt].kind else { continue };
                let place = match &store[*place] {
                    HirExpr::Index { base, .. } => base,
                    _ => place,
                };
                let Some(Resolution::Local(pat)) = self.frame().names.exprs.get(*place) else { continue };
                let pat = *pat;
                if self.frame().variables.contains_key(&pat) {
                    continue;
                }
                let local = self.frame().locals.get(&pat).cloned();
                if let Some((Value::Lazy(lazy), _)) = &local {
                    self.hold(*place, pat, lazy.clone());
                }
                if let Some((value, depth)) = local {
                    self.vary(*place, pat, value, depth);
                }
            }
        }
    }

    /// Reports whether some call in the body of the current item writes the local: `fill(i, 0)`, `copy(t, i)`, or a function
    /// with a parameter that is `mut`. Such a local needs registers of its own, although its value is an expression.
    pub(crate) fn written_by_call(&self, pat: PatId) -> bool {
        fn below(lowering: &Lowering<'_>, pat: PatId, expr: ExprId) -> bool {
            let store = lowering.store();
            let mut found = match &store[expr] {
                HirExpr::Call { callee, args } => lowering.call_writes(pat, *callee, args),
                HirExpr::Block(block) => block.stmts.iter().any(|&stmt| {
                    let mut found = false;
                    store.for_each_part(stmt, &mut |part| found = found || below(lowering, pat, part));
                    found
                }),
                _ => false,
            };
            store.for_each_child(expr, &mut |child| found = found || below(lowering, pat, child));
            found
        }
        below(self, pat, self.frame().item.body(self.db).root)
    }

    fn call_writes(&self, pat: PatId, callee: ExprId, args: &[Arg]) -> bool {
        let names = self.frame().names;
        let is_local = |arg: &Arg| names.exprs.get(arg.value) == Some(&Resolution::Local(pat));
        if !args.iter().any(is_local) {
            return false;
        }
        match names.exprs.get(callee) {
            Some(Resolution::Builtin(builtin)) => {
                let written = match builtin.name() {
                    "copy" | "copy_async" => 1,
                    "fill" | "gemm" | "gemm_async" => 0,
                    _ => return false,
                };
                let param = builtin.params().and_then(|params| params.get(written)).map(|p| p.name);
                args.iter().enumerate().any(|(i, arg)| {
                    let is_written = arg.name.as_deref().map_or(i == written, |name| Some(name) == param);
                    is_written && is_local(arg)
                })
            }
            Some(Resolution::Item(key)) if key.kind == ItemKind::Function => {
                let function = self.frame().item.used(self.db, key).and_then(Sound::function);
                let Some(function) = function else { return false };
                let sig = fn_signature(self.db, function.get());
                args.iter().enumerate().any(|(i, arg)| {
                    let param = match arg.name.as_deref() {
                        Some(name) => sig.params.iter().find(|p| p.name.as_str() == name),
                        None => sig.params.get(i),
                    };
                    let is_mut = param
                        .is_some_and(|p| matches!(sig.store[p.ty], TypeRef::Named { mutable: true, .. }));
                    is_mut && is_local(arg)
                })
            }
            _ => false,
        }
    }

    /// Turns a local number into a variable; leaves any other value unchanged.
    fn vary(&mut self, place: ExprId, pat: PatId, value: Value, depth: usize) {
        let name = match &self.store()[place] {
            HirExpr::Path { path, .. } => path.to_string(),
            _ => "n".into(),
        };
        let scalar = match value {
            Value::Int(value) => {
                let symbol = self.output.new_var(name.into());
                let range = self.facts.range(&value);
                self.output.push(Stmt::Leaf(Leaf::Let { var: symbol.clone(), value }));
                let now = Value::Int(Expr::symbol(symbol.clone()));
                self.facts.set_range(&symbol, range);
                return self.varies(pat, Variable { symbol, dtype: None }, now, depth);
            }
            Value::Scalar(Scalar::Integer { value, dtype }) if width(dtype).is_some() => {
                let symbol = self.output.new_var(name.into());
                let range = within(self.facts.range(&value), range_of_type(Some(dtype)));
                self.output.push(Stmt::Leaf(Leaf::Let { var: symbol.clone(), value }));
                let now = self.number_of(&symbol, dtype);
                self.facts.set_range(&symbol, range);
                return self.varies(pat, Variable { symbol, dtype: Some(dtype) }, now, depth);
            }
            Value::Float(x) => Scalar::constant(x, UNTYPED),
            Value::Scalar(scalar) => scalar,
            Value::Bool(cond) => condition(&cond),
            _ => return,
        };
        let (dtype, symbol) = (scalar.dtype(), self.output.new_var(name.into()));
        self.output.push(Stmt::Leaf(Leaf::LetNumber { var: symbol.clone(), value: scalar }));
        let now = self.number_of(&symbol, dtype);
        self.varies(pat, Variable { symbol, dtype: Some(dtype) }, now, depth);
    }

    fn varies(&mut self, pat: PatId, variable: Variable, now: Value, depth: usize) {
        self.variables.add(&variable);
        let frame = self.frame_mut();
        frame.locals.insert(pat, (now, depth));
        frame.variables.insert(pat, variable);
    }

    /// Returns a value for a named block-uniform number, and states the range of its type.
    pub(crate) fn number_of(&mut self, symbol: &Symbol, dtype: DType) -> Value {
        match dtype {
            DType::Bool => {
                self.facts.at_least(symbol.clone(), 0);
                self.facts.at_most(symbol.clone(), Expr::constant(1));
                Value::Bool(Cond::cmp(CmpOp::Ne, Expr::symbol(symbol.clone()), Expr::default(), &self.facts))
            }
            dtype if width(dtype).is_some() => {
                state_range(&mut self.facts, symbol.clone(), dtype);
                Value::Scalar(Scalar::Integer { value: Expr::symbol(symbol.clone()), dtype })
            }
            dtype => Value::Scalar(Scalar::Var { var: symbol.clone(), dtype }),
        }
    }

    /// Converts a run-time truth value to a condition, by giving it a symbol.
    pub(crate) fn decided(&mut self, scalar: Scalar) -> Cond {
        if let Scalar::Const { bits, .. } = scalar {
            return if bits == 0 { Cond::False } else { Cond::True };
        }
        let symbol = self.output.new_var("decided".into());
        self.output.push(Stmt::Leaf(Leaf::LetNumber { var: symbol.clone(), value: scalar }));
        match self.number_of(&symbol, DType::Bool) {
            Value::Bool(cond) => cond,
            _ => Cond::False,
        }
    }

    /// Converts a number to a scalar of a variable's type; literals adapt to the type.
    pub(crate) fn as_number(&mut self, at: ExprId, value: Value, dtype: DType) -> Lower<Scalar> {
        Ok(match value {
            Value::Bool(cond) if dtype == DType::Bool => condition(&cond),
            Value::Scalar(scalar) if scalar.dtype() == dtype => scalar,
            Value::Float(x) if dtype.is_float() => Scalar::constant(x, dtype),
            Value::Int(x) if dtype.is_int() && x.as_const().is_some() => {
                self.integer_operand(at, x, dtype)?
            }
            Value::Int(x) if dtype.is_float() && x.as_const().is_some() => {
                Scalar::constant(x.as_const().unwrap_or_default() as f64, dtype)
            }
            Value::Scalar(scalar) => {
                let message = format!("expected `{dtype}`, found a number of type `{}`", scalar.dtype());
                let help = format!("`cast(…, {dtype})` converts");
                let error = self.error(&codes::DTYPE_MISMATCH, at, message).help(help);
                return Err(self.report(error));
            }
            other => {
                let message = format!("expected a number of type `{dtype}`, found {}", other.what());
                return self.fail(&codes::TYPE_MISMATCH, at, message);
            }
        })
    }

    /// Returns the variable that a local has become; `None` while its uses are replaced by its value.
    pub(crate) fn variable(&self, pat: PatId) -> Option<Variable> {
        self.frame().variables.get(&pat).cloned()
    }

    fn mentions_variable(&self, x: &Expr) -> bool {
        x.symbols().iter().any(|s| self.variables.contains(s))
    }

    /// Returns the current value of an integer, which later assignments to its variables do not change.
    pub(crate) fn freeze_int(&mut self, value: Expr) -> Expr {
        if !self.mentions_variable(&value) {
            return value;
        }
        let name = value.symbols().into_iter().find(|s| self.variables.contains(s));
        let name = name.map_or_else(|| "now".to_owned(), |s| format!("{s}_now"));
        let var = self.output.new_var(name.into());
        self.keep_range(&var, &value);
        self.keep_statements(&var, &value);
        self.output.push(Stmt::Leaf(Leaf::Let { var: var.clone(), value }));
        Expr::symbol(var)
    }

    /// Gives an integer of a `let` or of an argument a local of the program if its expression divides by a number of the launch. Such a
    /// division takes many instructions, so it is computed once. Other expressions are written out at each use: they hold no register.
    pub(crate) fn as_local(&mut self, name: &str, value: Value) -> Value {
        // The header and the sizes of roles have no statements.
        if self.scopes.all().is_empty() {
            return value;
        }
        let now = match &value {
            Value::Int(now) | Value::Scalar(Scalar::Integer { value: now, .. }) => now.clone(),
            _ => return value,
        };
        if now.divisions().is_empty() {
            return value;
        }
        let var = self.output.new_var(name.into());
        self.keep_range(&var, &now);
        // An upper bound implies that a symbol is not negative, unless another lower bound is known.
        let is_bounded = self.facts.range(&now).0.is_some();
        // A remainder by a number of unknown sign has no range, but maybe a proof: `t % min(8, rows - first)`.
        if !is_bounded && self.facts.proves_le(&Expr::default(), &now) {
            self.facts.at_least(var.clone(), 0);
            self.facts.at_most(var.clone(), now.clone());
        } else if is_bounded {
            self.facts.at_most(var.clone(), now.clone());
        }
        self.output.push(Stmt::Leaf(Leaf::Let { var: var.clone(), value: now }));
        let symbol = Expr::symbol(var);
        match value {
            Value::Scalar(Scalar::Integer { dtype, .. }) => {
                Value::Scalar(Scalar::Integer { value: symbol, dtype })
            }
            _ => Value::Int(symbol),
        }
    }

    /// Transfers the range and the divisor of `value` to its new name `var`.
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

    /// Returns the current value, for a name that keeps it.
    pub(crate) fn freeze(&mut self, value: Value) -> Value {
        if self.variables.symbols().is_empty() {
            return value;
        }
        match value {
            Value::Int(x) => Value::Int(self.freeze_int(x)),
            Value::Bool(cond) => Value::Bool(self.freeze_cond(cond)),
            Value::Scalar(scalar) => Value::Scalar(self.freeze_scalar(&scalar)),
            Value::Lazy(lazy) => Value::Lazy(Lazy { value: self.freeze_scalar(&lazy.value), ..lazy }),
            Value::Tuple(parts) => Value::Tuple(self.freeze_parts(parts)),
            Value::Array(parts) => Value::Array(self.freeze_parts(parts)),
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
                let picked = view.picked.map(|picked| Box::new(self.freeze_picked(*picked)));
                let ends = view.ends.into_iter().map(|(dim, end)| (dim, self.freeze_int(end))).collect();
                let view = SymView {
                    base: view.base,
                    offsets,
                    modes,
                    pad: view.pad,
                    ends,
                    groups: view.groups,
                    picked,
                    cache: view.cache,
                    call: view.call,
                };
                Value::Tensor(t.with_view(view))
            }
            other => other,
        }
    }

    /// Returns the parts as they were if none has changed, so that they remain shared.
    fn freeze_parts(&mut self, parts: Arc<[Value]>) -> Arc<[Value]> {
        let frozen: Vec<Value> = parts.iter().map(|part| self.freeze(part.clone())).collect();
        if *frozen == *parts { parts } else { frozen.into() }
    }

    fn freeze_scalar(&mut self, scalar: &Scalar) -> Scalar {
        scalar.map_leaves(&mut |leaf| match leaf {
            Scalar::Integer { value, dtype } => {
                Some(Scalar::Integer { value: self.freeze_int(value.clone()), dtype: *dtype })
            }
            Scalar::Var { var, dtype } if self.variables.contains(var) => {
                let now = self.output.new_var(format!("{var}_now").into());
                self.output.push(Stmt::Leaf(Leaf::LetNumber { var: now.clone(), value: leaf.clone() }));
                Some(Scalar::Var { var: now, dtype: *dtype })
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

    /// Makes a variable for one of two whole numbers, which run-time control flow picks. Returns the variable, its value, and
    /// the statement that ends each branch.
    pub(crate) fn picked(
        &mut self,
        dtype: Option<DType>,
        [a, b]: [&Expr; 2],
        (ranges, bounds): ([Option<Range>; 2], &[Bound]),
    ) -> (Symbol, Value, [Stmt; 2]) {
        let var = self.output.new_var("picked".into());
        let [x, y] = ranges;
        let range =
            joined(x.unwrap_or_else(|| self.facts.range(a)), y.unwrap_or_else(|| self.facts.range(b)));
        let value = match dtype {
            Some(dtype) => self.number_of(&var, dtype),
            None => Value::Int(Expr::symbol(var.clone())),
        };
        self.facts.set_range(&var, within(range, range_of_type(dtype)));
        for bound in bounds {
            bound.state(&mut self.facts, &Expr::symbol(var.clone()));
        }
        let assign = |value: &Expr| Stmt::Leaf(Leaf::Assign { var: var.clone(), value: value.clone() });
        let ends = [assign(a), assign(b)];
        (var, value, ends)
    }

    fn freeze_picked(&mut self, picked: Picked) -> Picked {
        match picked {
            Picked::Rows(mut rows) => {
                let now = rows.offsets.into_iter().map(|o| self.freeze_int(o)).collect();
                rows.offsets = now;
                rows.factor = self.freeze_int(rows.factor);
                rows.extent = self.freeze_int(rows.extent);
                rows.ends = rows.ends.into_iter().map(|(dim, end)| (dim, self.freeze_int(end))).collect();
                Picked::Rows(rows)
            }
            Picked::Elements(mut picks) => {
                for pick in &mut picks {
                    pick.factor = self.freeze_int(std::mem::take(&mut pick.factor));
                    pick.extent = self.freeze_int(std::mem::take(&mut pick.extent));
                }
                Picked::Elements(picks)
            }
        }
    }
}
