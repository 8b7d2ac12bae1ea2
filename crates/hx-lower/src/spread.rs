//! Numbers that change in a function of numbers which is applied to tensors.
//!
//! Such a function works on every element, so a local that starts as a number and gets a value of the elements later is a tensor
//! from its start.

use std::collections::BTreeSet;

use hx_dtype::DType;
use hx_hir::{Expr as HirExpr, ExprId, ExprStore, Names, Pat, PatId, Resolution, StmtKind};
use hx_tile::Scalar;

use crate::lowering::{Lowering, Spread};
use crate::value::{Lazy, Value};

impl Lowering<'_> {
    /// Finds the locals of the innermost frame that are tensors from their start. The frame must be that of the body. `None` if
    /// no parameter holds elements.
    pub(crate) fn spread(&self, root: ExprId) -> Option<Spread> {
        let frame = self.frame();
        let elements = |value: &Value| match value {
            Value::Tensor(t) => {
                t.shape().iter().map(|e| e.as_const()).collect::<Option<Vec<i64>>>().map(|s| (s, t.dtype))
            }
            Value::Lazy(lazy) => Some((lazy.shape.clone(), lazy.value.dtype())),
            _ => None,
        };
        let mut params = BTreeSet::new();
        let mut joint: Option<(Vec<i64>, DType)> = None;
        for (i, (shape, dtype)) in
            frame.params.iter().enumerate().filter_map(|(i, p)| Some((i, elements(p)?)))
        {
            params.insert(i as u32);
            joint = Some(match joint {
                Some((known, dtype)) if known.len() == shape.len() => {
                    (known.iter().zip(&shape).map(|(a, b)| *a.max(b)).collect(), dtype)
                }
                Some(known) => known,
                None => (shape, dtype),
            });
        }
        let (shape, dtype) = joint?;
        let locals = Tainted { store: frame.store, names: frame.names, params, locals: BTreeSet::new() }
            .assigned(root);
        Some(Spread { shape, dtype, locals })
    }

    /// Returns the value that a local starts with: a tensor, if the local starts as a number and becomes a tensor later.
    pub(crate) fn started(&mut self, at: ExprId, pat: PatId, name: Option<&str>, value: Value) -> Value {
        let Some(spread) = &self.frame().spread else { return value };
        if !spread.locals.contains(&pat) {
            return value;
        }
        let (shape, dtype) = (spread.shape.clone(), spread.dtype);
        let number = match &value {
            Value::Scalar(scalar) => scalar.clone(),
            Value::Float(x) if dtype.is_float() => Scalar::constant(*x, dtype),
            Value::Int(x) if dtype.is_int() => Scalar::Integer { value: x.clone(), dtype },
            Value::Int(x) if dtype.is_float() => match x.as_const() {
                Some(x) => Scalar::constant(x as f64, dtype),
                None => return value,
            },
            _ => return value,
        };
        let tensor = self.materialize(at, Lazy { shape, inputs: Vec::new(), value: number }, name);
        Value::Tensor(tensor)
    }
}

/// The search for the locals that hold values of the elements.
struct Tainted<'a> {
    store: &'a ExprStore,
    names: &'a Names,
    params: BTreeSet<u32>,
    locals: BTreeSet<PatId>,
}

impl Tainted<'_> {
    /// Returns the locals that are assigned values of the elements, by going through the body until nothing changes.
    fn assigned(mut self, root: ExprId) -> BTreeSet<PatId> {
        let stmts = self.store.stmts_in(root);
        let mut assigned = BTreeSet::new();
        loop {
            let before = self.locals.len() + assigned.len();
            for &stmt in &stmts {
                match &self.store[stmt].kind {
                    StmtKind::Let { pat, value, .. } => self.bind(*pat, *value),
                    StmtKind::Assign { place, value, .. } if self.mentions(*value) => {
                        if let Some(Resolution::Local(pat)) = self.names.exprs.get(*place) {
                            self.locals.insert(*pat);
                            assigned.insert(*pat);
                        }
                    }
                    _ => {}
                }
            }
            if self.locals.len() + assigned.len() == before {
                return assigned;
            }
        }
    }

    fn bind(&mut self, pat: PatId, value: ExprId) {
        match (&self.store[pat], &self.store[value]) {
            (Pat::Tuple(parts), HirExpr::Tuple(fields)) if parts.len() == fields.len() => {
                for (part, field) in parts.clone().into_iter().zip(fields) {
                    self.bind(part, field.value);
                }
            }
            (Pat::Tuple(parts) | Pat::Array(parts), _) => {
                for part in parts.clone() {
                    self.bind(part, value);
                }
            }
            (Pat::Bind(_), _) if self.mentions(value) => _ = self.locals.insert(pat),
            (Pat::Bind(_) | Pat::Missing | Pat::Wildcard, _) => {}
        }
    }

    /// Reports whether an expression has a value of the elements.
    fn mentions(&self, expr: ExprId) -> bool {
        match self.names.exprs.get(expr) {
            Some(Resolution::Local(pat)) if self.locals.contains(pat) => return true,
            Some(Resolution::Param(i)) if self.params.contains(i) => return true,
            _ => {}
        }
        let mut found = false;
        self.store.for_each_child(expr, &mut |child| found |= self.mentions(child));
        found
    }
}
