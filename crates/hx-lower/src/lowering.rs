//! The state of one lowering: the frames of names, what is made so far, and where the statement stands.

use std::collections::{BTreeMap, BTreeSet};

use hx_base::{Code, codes};
use hx_dtype::DType;
use hx_hir::{Db, ExprId, ExprStore, Item, ItemKey, Name, Names, PatId, Sound};
use hx_index::{Cond, Expr, Facts, Symbol};
use hx_target::Target;
use hx_tile::{
    Base, Counter, CounterId, Leaf, Op, OpKind, Origin, Param, Picked, PipeId, ScopeId, Stmt,
    Tensor as TileTensor, TensorId, TensorKind, View,
};

use crate::budget::Budget;
use crate::diagnostics::Diagnostics;
use crate::error::{ItemPart, Lower, LowerError, Place, Reported};
use crate::forms::{Forms, Pipelined};
use crate::grid::Grid;
use crate::naming::Naming;
use crate::notes::Notes;
use crate::origins::{OriginPlace, Origins};
use crate::output::{Output, param_name};
use crate::peel::Peel;
use crate::scopes::Scopes;
use crate::value::{SymView, Tensor, Value};
use crate::variable_facts::VariableFacts;
use crate::variables::{Variable, Variables};

/// The state of one item under interpretation: its names and what they are bound to.
pub(crate) struct Frame<'db> {
    pub(crate) item: Sound<Item<'db>>,
    pub(crate) key: ItemKey,
    /// The expressions that the ids of this frame refer to: those of the signature while the header is read, otherwise those of
    /// the body.
    pub(crate) store: &'db ExprStore,
    pub(crate) names: &'db Names,
    pub(crate) in_signature: bool,
    pub(crate) generics: Vec<Value>,
    pub(crate) params: Vec<Value>,
    pub(crate) dims: BTreeMap<Name, Expr>,
    /// The result of a function, once its body has run.
    pub(crate) result: Option<Value>,
    /// Each local, with the depth of run-time control flow (see [`Lowering::depth`]) at which it was bound.
    pub(crate) locals: BTreeMap<PatId, (Value, usize)>,
    /// The locals that have become variables of the program.
    pub(crate) variables: BTreeMap<PatId, Variable>,
    /// The number of expressions that enclose the one being evaluated. Their earlier operands are already evaluated, so an
    /// assignment in here would come too late for them.
    pub(crate) operands: usize,
    /// The elements that a function of numbers is applied to; `None` outside of such a function.
    pub(crate) spread: Option<Spread>,
    /// The call that this frame inlines; `None` for the kernel's own frame.
    pub(crate) call: Option<Origin>,
}

/// The elements that a function of numbers is applied to.
pub(crate) struct Spread {
    pub(crate) shape: Vec<i64>,
    /// The type of a literal that a local starts with, if the literal fits it.
    pub(crate) dtype: DType,
    /// The locals that are assigned values of the elements.
    pub(crate) locals: BTreeSet<PatId>,
}

/// A counter that the source makes.
pub(crate) struct MadeCounter {
    pub(crate) counter: Counter,
    /// The count as the source says it, which may be negative.
    pub(crate) count: Expr,
    pub(crate) place: Place,
    /// Its number in the program, once a scope loops over it.
    pub(crate) id: Option<CounterId>,
    pub(crate) loops: Vec<(ScopeId, Place)>,
}

/// A loop or branch around a statement.
#[derive(Clone)]
pub(crate) struct Around {
    /// The construct in words, as messages name it: `loop`, `` `if` `` or `` `else` ``.
    pub(crate) word: &'static str,
    pub(crate) place: Place,
}

/// The state of lowering one kernel or constant.
pub(crate) struct Lowering<'db> {
    pub(crate) db: &'db dyn Db,
    /// The architecture that the program is for.
    pub(crate) target: Target,
    /// The forms that loads get.
    pub(crate) forms: Forms,
    pub(crate) frames: Vec<Frame<'db>>,
    pub(crate) facts: Facts,
    pub(crate) output: Output,
    pub(crate) scopes: Scopes,
    pub(crate) origins: Origins,
    pub(crate) notes: Notes,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) budget: Budget,
    pub(crate) grid: Grid,
    pub(crate) variables: Variables,
    /// The pipelines of the variables that number a stage.
    pub(crate) stages: BTreeMap<Symbol, PipeId>,
    /// True inside of the operands of a copy that signals a pipeline.
    pub(crate) signalled: bool,
    /// The counters of the source.
    pub(crate) made_counters: Vec<MadeCounter>,
    /// The loops and branches of the source around the statement, innermost last.
    pub(crate) around: Vec<Around>,
    /// The counters of unrolled loops.
    pub(crate) unrolled: BTreeSet<Symbol>,
    /// The peeled loops around the statement, innermost last.
    pub(crate) peels: Vec<Peel>,
    /// The loops with `pipelined` so far, inner ones first.
    pub(crate) pipelined: Vec<Pipelined>,
    /// The number of open run-time loops and branches.
    pub(crate) depth: usize,
    /// The facts about variables at the end of the nested statements that were lowered last.
    pub(crate) last_end: VariableFacts,
    /// The conditions of assertions before this place. A launch in which one fails runs on, so nothing may rely on them for its
    /// safety.
    pub(crate) asserted: Vec<Cond>,
    /// The instructions that the call being lowered names.
    pub(crate) naming: Option<Naming>,
}

impl<'db> Lowering<'db> {
    pub(crate) fn new(db: &'db dyn Db, target: Target, forms: Forms) -> Lowering<'db> {
        Lowering {
            db,
            target,
            forms,
            frames: Vec::new(),
            facts: Facts::default(),
            output: Output::default(),
            scopes: Scopes::new(),
            origins: Origins::default(),
            notes: Notes::default(),
            diagnostics: Diagnostics::default(),
            budget: Budget::default(),
            grid: Grid::new(),
            variables: Variables::default(),
            stages: BTreeMap::new(),
            signalled: false,
            made_counters: Vec::new(),
            around: Vec::new(),
            unrolled: BTreeSet::new(),
            peels: Vec::new(),
            pipelined: Vec::new(),
            depth: 0,
            last_end: VariableFacts::default(),
            asserted: Vec::new(),
            naming: None,
        }
    }

    /// Returns the innermost frame. One always exists while expressions are evaluated.
    pub(crate) fn frame(&self) -> &Frame<'db> {
        &self.frames[self.frames.len() - 1]
    }

    pub(crate) fn frame_mut(&mut self) -> &mut Frame<'db> {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    pub(crate) fn store(&self) -> &'db ExprStore {
        self.frame().store
    }

    pub(crate) fn place(&self, expr: ExprId) -> Place {
        let frame = self.frame();
        let part = if frame.in_signature { ItemPart::Signature(expr) } else { ItemPart::Body(expr) };
        Place { item: frame.key.clone(), part }
    }

    pub(crate) fn place_at(&self, part: ItemPart) -> Place {
        Place { item: self.frame().key.clone(), part }
    }

    /// Makes an error at an expression; the caller completes it and passes it to [`Lowering::report`].
    pub(crate) fn error(&self, code: &'static Code, at: ExprId, message: impl Into<String>) -> LowerError {
        LowerError::new(code, self.place(at), message)
    }

    pub(crate) fn report(&mut self, mut error: LowerError) -> Reported {
        error.calls.extend(self.origins.calls(self.frames.last().and_then(|frame| frame.call)));
        shorten(&mut error);
        self.diagnostics.add(error)
    }

    /// Reports an error without further labels.
    pub(crate) fn fail<T>(
        &mut self,
        code: &'static Code,
        at: ExprId,
        message: impl Into<String>,
    ) -> Lower<T> {
        let error = self.error(code, at, message);
        Err(self.report(error))
    }

    /// Reports an internal error: the item is sound, so every expression should have a meaning, yet this one has none.
    pub(crate) fn meaningless<T>(&mut self, at: ExprId) -> Lower<T> {
        self.fail(
            &codes::INTERNAL_ERROR,
            at,
            "this expression could not be evaluated, and no other error explains why",
        )
    }

    /// Reports a construct that belongs to the language but that the compiler does not support yet.
    pub(crate) fn unsupported<T>(&mut self, at: ExprId, what: impl std::fmt::Display) -> Lower<T> {
        self.fail(&codes::UNSUPPORTED, at, format!("{what} cannot be compiled yet"))
    }

    pub(crate) fn origin(&mut self, expr: ExprId) -> Origin {
        let place = self.place(expr);
        self.origin_at(place)
    }

    fn origin_at(&mut self, place: Place) -> Origin {
        let call = self.frame().call;
        self.origins.number(OriginPlace { place, call })
    }

    pub(crate) fn emit(&mut self, kind: OpKind, at: ExprId) {
        let origin = self.origin(at);
        self.notes.add_read(&kind, origin);
        let op = Op { id: self.output.next_op(), kind, scope: self.scopes.here(), origin };
        if let Some(pin) = self.naming.as_mut().and_then(|naming| naming.pin(self.target, &op.kind)) {
            self.output.pin(op.id, pin);
        }
        self.output.push(Stmt::Leaf(Leaf::Op(op)));
    }

    /// Runs `body` one level deeper in run-time control flow and returns the statements that it emitted.
    pub(crate) fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> (T, Vec<Stmt>) {
        self.output.open(Vec::new());
        self.depth += 1;
        let (facts, asserted) = (self.facts_now(), self.asserted.len());
        let result = body(self);
        self.depth -= 1;
        // The statements run any number of times, or not at all: behind them, the facts before them hold.
        self.last_end = self.facts_now();
        self.set_facts(&facts);
        self.asserted.truncate(asserted);
        (result, self.output.close())
    }

    /// Makes a tensor in registers or shared memory, with a name distinct from all others.
    pub(crate) fn new_tensor(
        &mut self,
        hint: &str,
        dtype: DType,
        shape: Vec<i64>,
        kind: TensorKind,
        at: ExprId,
    ) -> Tensor {
        let name = self.output.unique_name(hint);
        let origin = self.origin(at);
        let id = self.output.next_tensor();
        let base = kind.base(id);
        let extents: Vec<Expr> = shape.iter().map(|&e| Expr::constant(e)).collect();
        let mut view = SymView::whole(base, &extents);
        let (shape, kind) = self.for_each_group(shape, kind, &mut view);
        let scope = self.scopes.here();
        self.output.add_tensor(TileTensor {
            name,
            dtype,
            shape,
            kind,
            scope,
            origin,
            binder: None,
            moved_from: None,
        });
        Tensor { view, dtype, mutable: true, fresh: true }
    }

    /// Records the pattern that names the tensors of a value, if no name refers to them yet.
    pub(crate) fn record_binder(&mut self, pat: PatId, value: &Value) {
        match value {
            Value::Tensor(Tensor { view, fresh: true, .. }) => {
                let id = match view.base {
                    Base::Register(id) | Base::Shared(id) => id,
                    Base::Global(_) => return,
                };
                let binder = self.origin_at(self.place_at(ItemPart::Pat(pat)));
                self.output.set_binder(id, binder);
            }
            Value::Tuple(parts) | Value::Array(parts) => {
                parts.iter().for_each(|part| self.record_binder(pat, part));
            }
            _ => {}
        }
    }

    /// Makes a register tensor without a pinned layout.
    pub(crate) fn new_register(
        &mut self,
        hint: &str,
        dtype: DType,
        shape: Vec<i64>,
        at: ExprId,
    ) -> (TensorId, Tensor) {
        let id = self.output.next_tensor();
        (id, self.new_tensor(hint, dtype, shape, TensorKind::Register { pinned: None }, at))
    }

    /// Returns the name of the parameter or tensor below a view.
    pub(crate) fn base_name(&self, base: Base) -> &str {
        match base {
            Base::Global(p) => self.output.param(p).map_or("", param_name),
            Base::Shared(t) | Base::Register(t) => &self.output.tensor(t).name,
        }
    }

    /// Returns the extents of the parameter or tensor below a view.
    pub(crate) fn base_shape(&self, base: Base) -> Vec<Expr> {
        match base {
            Base::Global(p) => match self.output.param(p) {
                Some(Param::Tensor(t)) => t.shape.clone(),
                _ => Vec::new(),
            },
            Base::Shared(t) | Base::Register(t) => {
                self.output.tensor(t).shape.iter().map(|&e| Expr::constant(e)).collect()
            }
        }
    }

    /// Returns the extents of the coordinates of a view. In the dimension in which a table picks rows, the extent is the length
    /// of the table.
    pub(crate) fn view_shape(&self, view: &SymView) -> Vec<Expr> {
        let mut shape = self.base_shape(view.base);
        if let Some(Picked::Rows(rows)) = view.picked.as_deref()
            && let Some(extent) = shape.get_mut(rows.dim)
        {
            *extent = rows.extent.clone();
        }
        shape
    }

    /// Returns the strides of a global tensor in elements; empty for other tensors.
    pub(crate) fn base_strides(&self, base: Base) -> Vec<Expr> {
        match base.param().and_then(|param| self.output.param(param)) {
            Some(Param::Tensor(t)) => t.stride.clone(),
            Some(Param::Int { .. } | Param::Float { .. }) | None => Vec::new(),
        }
    }

    /// Reports whether `base` is a global tensor with a block layout.
    pub(crate) fn is_in_blocks(&self, base: Base) -> bool {
        let Base::Global(p) = base else { return false };
        matches!(self.output.param(p), Some(Param::Tensor(t)) if t.block.is_some())
    }

    /// Returns the id and shape of a register tensor; `None` for other tensors.
    pub(crate) fn register_of(&self, tensor: &Tensor) -> Option<(TensorId, Vec<i64>)> {
        let id = tensor.view.base.register()?;
        Some((id, self.output.tensor(id).shape.clone()))
    }

    /// Returns a view of the whole register tensor.
    pub(crate) fn whole(&self, id: TensorId) -> View {
        View::whole(Base::Register(id), &self.output.tensor(id).shape)
    }
}

/// Leaves out the middle of a long trail of calls.
fn shorten(error: &mut LowerError) {
    const ENDS: usize = 4;
    if let Some(left_out) = error.calls.len().checked_sub(2 * ENDS).filter(|n| *n > 0) {
        error.calls.drain(ENDS..ENDS + left_out);
        error.notes.push(format!("{left_out} calls in between are not shown"));
    }
}

/// Formats a shape as in the source.
pub(crate) fn shape_text(shape: &[Expr]) -> String {
    let parts: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("[{}]", parts.join(", "))
}
