//! Reads of one element of a global tensor at run-time indices, which give a number of the block.
//!
//! Such a read has no mask, so its indices have to be proven inside of the tensor, or the read has an `else`: the value of an
//! element outside. A guarded read becomes a branch around the load.

use hx_base::{Applicability, codes};
use hx_dtype::{Class, DType};
use hx_hir::{Expr as HirExpr, ExprId};
use hx_index::{CmpOp, Cond, Expr, Symbol};
use hx_tile::{Base, Constant, Leaf, Param, Stmt, View};

use crate::error::{Insertion, Lower, LowerFix};
use crate::lowering::{Lowering, shape_text};
use crate::value::{SymView, Tensor, Value};
use crate::variable_facts::Branch;

/// One element of a global tensor.
pub(crate) struct Element {
    /// The view of the element, without modes.
    view: SymView,
    dtype: DType,
    /// The conditions, not yet proven, under which the element exists.
    missing: Vec<Cond>,
}

impl Lowering<'_> {
    /// Lowers `read else otherwise`.
    pub(crate) fn guarded(&mut self, id: ExprId, read: ExprId, otherwise: ExprId) -> Lower<Value> {
        let HirExpr::Index { base, args } = &self.store()[read] else { return self.meaningless(read) };
        let t = match self.eval(*base)? {
            Value::Tensor(t) => t,
            other => {
                let message =
                    format!("expected an element of a global tensor, found {} before `else`", other.what());
                return self.fail(&codes::TYPE_MISMATCH, *base, message);
            }
        };
        let mut indices = Vec::with_capacity(args.len());
        for &arg in args {
            let index = self.eval(arg)?;
            match self.as_integer(arg, index)? {
                Value::Int(i) => indices.push(i),
                other => {
                    let error = self
                        .error(&codes::TYPE_MISMATCH, arg, format!("expected an integer, found {} as an index before `else`", other.what()))
                        .help("`else` guards the read of one element; `pad:` of `tile` and `global_view` is the value of a view outside of its tensor");
                    return Err(self.report(error));
                }
            }
        }
        let rank = t.view.modes.len();
        if indices.len() != rank {
            let message =
                format!("found {} before `else`, expected {rank}: one for each mode", count(indices.len()));
            let label = format!("has the shape `{}`", shape_text(&t.shape()));
            let error = self.error(&codes::RANK_MISMATCH, read, message).also(self.place(*base), label);
            return Err(self.report(error));
        }
        self.single_number(read, &t)?;
        let element = self.element(&t, &indices);
        let guard = element.missing.iter().cloned().fold(Cond::True, Cond::and);
        match guard {
            Cond::True => return Ok(self.read(read, element)),
            Cond::False => return self.eval(otherwise),
            _ => {}
        }
        self.thaw(&[otherwise]);
        let (a, then) = self.nested(|lowering| Ok(lowering.read(read, element)));
        let (b, other) =
            self.nested(|lowering| lowering.inside("`else`", read, |lowering| lowering.eval(otherwise)));
        self.chosen(id, None, guard, [Branch::of(read, a, then), Branch::of(otherwise, b, other)])
    }

    /// Reads the element of a global tensor at these indices, one for each mode.
    ///
    /// # Errors
    /// If the facts do not prove that the element exists.
    pub(crate) fn unguarded(
        &mut self,
        id: ExprId,
        (base, t): (ExprId, &Tensor),
        indices: &[(ExprId, Expr)],
    ) -> Lower<Value> {
        self.single_number(id, t)?;
        for ((arg, i), mode) in indices.iter().zip(&t.view.modes) {
            self.not_surely_outside(*arg, mode, i)?;
        }
        let plain: Vec<Expr> = indices.iter().map(|(_, i)| i.clone()).collect();
        let element = self.element(t, &plain);
        if element.missing.is_empty() {
            return Ok(self.read(id, element));
        }
        if self.is_asserted(&element.missing) {
            // A launch runs on after an assertion that fails, so the read is guarded.
            let zero = match element.dtype.class() {
                Class::Bool => Value::Bool(Cond::False),
                Class::Int => Value::Int(Expr::default()),
                Class::Float => Value::Float(0.0),
            };
            let guard = element.missing.iter().cloned().fold(Cond::True, Cond::and);
            let (read, then) = self.nested(|lowering| Ok(lowering.read(id, element)));
            return self.chosen(
                id,
                None,
                guard,
                [Branch::of(id, read, then), Branch::of(id, Ok(zero), Vec::new())],
            );
        }
        let name = self.base_name(t.view.base).to_owned();
        let missing = listed(&element.missing);
        let zero = match element.dtype.class() {
            Class::Bool => "false",
            Class::Int => "0",
            Class::Float => "0.0",
        };
        let mut error = self
            .error(
                &codes::VIEW_OUTSIDE_BUFFER,
                id,
                format!("cannot prove that this element of `{name}` exists"),
            )
            .label(format!("not proven: {missing}"))
            .also(
                self.place(base),
                format!("`{name}` has the shape `{}`", shape_text(&self.base_shape(t.view.base))),
            );
        if let Some(advice) = self.advice(&element.missing) {
            error = error.help(advice);
        }
        error = error
            .help(format!("`… else {zero}` after the index guards the read: an element outside is `{zero}`"));
        error.fix = Some(LowerFix {
            title: format!("guard the read with `else {zero}`"),
            insert: vec![Insertion::behind(self.place(id), format!(" else {zero}"))],
            applicability: Applicability::Maybe,
        });
        Err(self.report(error))
    }

    /// Says where conditions can be stated so that a proof finds them. `None` if they mention no symbol: then they are false.
    pub(crate) fn advice(&self, missing: &[Cond]) -> Option<String> {
        let symbols: Vec<Symbol> = missing.iter().flat_map(Cond::symbols).collect();
        if symbols.is_empty() {
            return None;
        }
        let of_launch = |symbol: &Symbol| matches!(symbol, Symbol::Dim(_) | Symbol::Scalar(_));
        let all = missing.iter().map(ToString::to_string).collect::<Vec<_>>();
        Some(if symbols.iter().all(of_launch) {
            format!("state it in the header: `where {}`", all.join(", "))
        } else {
            format!("`if {} {{ … }}` around it provides the proof", all.join(" && "))
        })
    }

    /// Checks that an element of the tensor is a number that is the same for all threads.
    fn single_number(&mut self, id: ExprId, t: &Tensor) -> Lower<()> {
        if !t.is_global() {
            let message =
                format!("found an element of a {} tensor, expected one of a global tensor", t.space());
            let error = self
                .error(&codes::NOT_UNIFORM, id, message)
                .label("threads may see different numbers")
                .help("`scalar(t)` makes a tensor of one element a number of the block: `scalar(load(t[i..i + 1]))`");
            return Err(self.report(error));
        }
        if t.mutable || self.is_written(t) {
            let name = self.base_name(t.view.base).to_owned();
            let message = format!(
                "found an element of `{name}`, which the kernel may write, so it may differ between threads"
            );
            let error = self.error(&codes::NOT_UNIFORM, id, message);
            return Err(self.report(error));
        }
        if t.dtype.bits() < 8 && t.dtype != DType::Bool || t.dtype.is_float() && t.dtype.bits() < 16 {
            return self.unsupported(id, format!("a number of type `{}` read from a tensor", t.dtype));
        }
        if t.view.picked.is_some() {
            let name = self.base_name(t.view.base).to_owned();
            let error = self
                .error(&codes::UNSUPPORTED, id, format!("an element of rows that `gather` picks of `{name}`"))
                .help("read the number of the row first, as in `t[rows[i], j]`");
            return Err(self.report(error));
        }
        self.readable(id, t.dtype)
    }

    /// Returns the element of a global tensor at these indices, and what is missing to prove that it exists.
    fn element(&mut self, t: &Tensor, indices: &[Expr]) -> Element {
        let mut view = SymView { modes: Vec::new(), ..t.view.clone() };
        let mut wanted = Vec::new();
        let zero = Expr::default();
        for (mode, i) in t.view.modes.iter().zip(indices) {
            let at = &mut view.offsets[mode.dim];
            *at = (at.clone() + &mode.factor * i).simplify(&self.facts);
            wanted.push((CmpOp::Le, zero.clone(), i.clone()));
            if !self.is_guarded(t, mode) {
                wanted.push((CmpOp::Lt, i.clone(), mode.extent.clone()));
            }
        }
        let ends = view.ends.iter().map(|(dim, end)| (&view.offsets[*dim], end.clone()));
        for (offset, extent) in view.offsets.iter().zip(self.base_shape(view.base)).chain(ends) {
            wanted.push((CmpOp::Le, zero.clone(), offset.clone()));
            wanted.push((CmpOp::Lt, offset.clone(), extent));
        }
        // A condition that follows from those before it is not repeated.
        let (mut missing, mut stated) = (Vec::new(), Vec::new());
        for (op, a, b) in wanted {
            match Cond::cmp(op, a, b, &self.facts) {
                Cond::True => {}
                cond => {
                    stated.extend(self.facts.holds(&cond));
                    missing.push(cond);
                }
            }
        }
        self.facts.forget(&stated);
        Element { view, dtype: t.dtype, missing }
    }

    /// Reads an element. The number is the same for all threads, because nothing writes the tensor.
    fn read(&mut self, id: ExprId, element: Element) -> Value {
        let Element { view, dtype, .. } = element;
        let name = self.base_name(view.base).to_owned();
        let var = self.output.new_var(format!("{name}_value").into());
        let src = View {
            base: view.base,
            offsets: view.offsets,
            modes: Vec::new(),
            pad: Constant::new(view.pad),
            ends: Vec::new(),
            picked: None,
            cache: view.cache,
        };
        let origin = self.origin(id);
        self.output.push(Stmt::Leaf(Leaf::LoadScalar { var: var.clone(), src, origin }));
        self.number_of(&var, dtype)
    }

    /// Refuses element types whose numbers, once read, do not fit the integers of the program.
    pub(crate) fn readable(&mut self, id: ExprId, dtype: DType) -> Lower<()> {
        if dtype.is_int() && !dtype.is_signed() && dtype.bits() == 64 {
            return self.unsupported(id, format!("a number of type `{dtype}` read from a tensor"));
        }
        Ok(())
    }

    pub(crate) fn is_written(&self, t: &Tensor) -> bool {
        let Base::Global(id) = t.view.base else { return false };
        matches!(self.output.param(id), Some(Param::Tensor(p)) if p.mutable)
    }
}

/// Formats conditions for a message.
fn listed(conds: &[Cond]) -> String {
    let all: Vec<String> = conds.iter().map(|cond| format!("`{cond}`")).collect();
    all.join(" and ")
}

fn count(indices: usize) -> String {
    if indices == 1 { "1 index".to_owned() } else { format!("{indices} indices") }
}
