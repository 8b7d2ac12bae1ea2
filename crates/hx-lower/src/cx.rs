//! The state of one lowering: the frames of names, the statements emitted so far, origins and reports.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use hx_base::{Code, codes};
use hx_dtype::DType;
use hx_hir::{Db, ExprId, ExprStore, Item, ItemKey, Name, Names, PatId, Sound};
use hx_index::{Cond, Expr, Facts, Symbol};
use hx_target::Target;
use hx_tile::{
    Base, Counter, CounterId, Leaf, Op, OpId, OpKind, Origin, Param, ParamId, Picked, Pipe, PipeId,
    Requirement, Scope, ScopeId, Stmt, Tensor as TileTensor, TensorId, TensorKind, Turns, View,
};

use crate::chunks::Chunks;
use crate::error::{At, Lower, LowerError, Place, Reported};
use crate::known::Known;
use crate::made::Made;
use crate::peel::Peel;
use crate::value::{SymView, Tensor, Value};

/// The place in the source that an operation or tensor comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OriginPlace {
    pub place: Place,
    /// The call that inlined the function around `place`; `None` if `place` is in the kernel itself.
    pub call: Option<Origin>,
}

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
    /// Each local, with the depth of run-time control flow (see [`Cx::depth`]) at which it was bound.
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

/// A variable of the program.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) symbol: Symbol,
    /// The element type; `None` for an untyped integer, which integer expressions may mention.
    pub(crate) dtype: Option<DType>,
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

pub(crate) struct Cx<'db> {
    pub(crate) db: &'db dyn Db,
    /// The architecture that the program is for.
    pub(crate) target: Target,
    pub(crate) frames: Vec<Frame<'db>>,
    pub(crate) facts: Facts,
    pub(crate) params: Vec<Param>,
    pub(crate) tensors: Vec<TileTensor>,
    pub(crate) pipes: Vec<Pipe>,
    /// The pipelines of the variables that number a stage.
    pub(crate) stages: BTreeMap<Symbol, PipeId>,
    /// True inside of the operands of a copy that signals a pipeline.
    pub(crate) signalled: bool,
    /// The open blocks, innermost last.
    pub(crate) blocks: Vec<Vec<Stmt>>,
    pub(crate) origins: Vec<OriginPlace>,
    /// See [`Lowered::unboxed`](crate::Lowered::unboxed).
    pub(crate) unboxed: BTreeMap<Origin, String>,
    /// See [`Lowered::rounds`](crate::Lowered::rounds).
    pub(crate) rounds: BTreeMap<Origin, Chunks>,
    /// See [`Lowered::made`](crate::Lowered::made).
    pub(crate) made: BTreeMap<Origin, Vec<(ParamId, Made)>>,
    /// See [`Lowered::parts`](crate::Lowered::parts).
    pub(crate) parts: BTreeSet<Expr>,
    /// The views whose operation has not been made yet.
    pub(crate) noted: Vec<(ParamId, Arc<Made>)>,
    pub(crate) errors: Vec<LowerError>,
    /// True if a statement was left out, because of an error reported here or by the item itself.
    pub(crate) failed: bool,
    /// The requirements on a launch that follow from the block layouts of parameters.
    pub(crate) block_requires: Vec<Requirement>,
    /// The number of blocks along each axis; empty until the header's `grid` is evaluated.
    pub(crate) grid: Vec<Expr>,
    /// The number of blocks of a cluster along each axis.
    pub(crate) cluster: [u32; 3],
    /// The number of axes that the header's `cluster` names.
    pub(crate) cluster_axes: usize,
    /// True once an expression has named the number of multiprocessors.
    pub(crate) multiprocessors: bool,
    /// The scope of all threads.
    pub(crate) block: Scope,
    /// The scopes of the program, indexed by [`ScopeId`]: the block, then the roles.
    pub(crate) scopes: Vec<Scope>,
    /// The scope of the operations and tensors that are made now.
    pub(crate) scope: ScopeId,
    /// The number of the group that executes the statements, if the scope has several.
    pub(crate) group: Option<Symbol>,
    /// The registers of a thread of each role, in the order of the text.
    pub(crate) role_registers: Vec<u32>,
    pub(crate) turns: Vec<Turns>,
    /// The counters of the source, and those of them that some scope loops over.
    pub(crate) made_counters: Vec<MadeCounter>,
    pub(crate) counters: Vec<Counter>,
    /// The requirements on a launch that follow from the body.
    pub(crate) more_requires: Vec<Requirement>,
    /// The loops and branches of the source around the statement, innermost last.
    pub(crate) around: Vec<Around>,
    /// The peeled loops around the statement, innermost last.
    pub(crate) peels: Vec<Peel>,
    /// The number of open run-time loops and branches.
    pub(crate) depth: usize,
    /// All variables of the program.
    pub(crate) variables: BTreeSet<Symbol>,
    /// The element types of the variables that have one.
    pub(crate) variable_types: BTreeMap<Symbol, DType>,
    /// The facts about variables at the end of the nested statements that were lowered last.
    pub(crate) last_end: Known,
    /// The conditions of assertions before this place. A launch in which one fails runs on, so nothing may rely on them for its
    /// safety.
    pub(crate) asserted: Vec<Cond>,
    /// The number of expressions evaluated so far.
    pub(crate) steps: u32,
    /// The report of the bound that was reached, if one was; nothing more is evaluated after it.
    pub(crate) bound_reached: Option<Reported>,
    /// The index in `origins` of each origin.
    origin_of: HashMap<OriginPlace, Origin>,
    /// The tensor names in use. For each requested name, the first numeric suffix that may be free.
    names: HashMap<String, u32>,
    next_op: u32,
    next_var: u32,
}

impl<'db> Cx<'db> {
    pub(crate) fn new(db: &'db dyn Db, target: Target) -> Cx<'db> {
        Cx {
            db,
            target,
            frames: Vec::new(),
            facts: Facts::default(),
            params: Vec::new(),
            tensors: Vec::new(),
            pipes: Vec::new(),
            stages: BTreeMap::new(),
            signalled: false,
            blocks: vec![Vec::new()],
            origins: Vec::new(),
            unboxed: BTreeMap::new(),
            rounds: BTreeMap::new(),
            made: BTreeMap::new(),
            parts: BTreeSet::new(),
            noted: Vec::new(),
            errors: Vec::new(),
            failed: false,
            block_requires: Vec::new(),
            grid: Vec::new(),
            cluster: [1; 3],
            cluster_axes: 0,
            multiprocessors: false,
            block: Scope::block(0),
            scopes: Vec::new(),
            scope: ScopeId::BLOCK,
            group: None,
            role_registers: Vec::new(),
            turns: Vec::new(),
            made_counters: Vec::new(),
            counters: Vec::new(),
            more_requires: Vec::new(),
            around: Vec::new(),
            peels: Vec::new(),
            depth: 0,
            variables: BTreeSet::new(),
            variable_types: BTreeMap::new(),
            last_end: Known::default(),
            asserted: Vec::new(),
            steps: 0,
            bound_reached: None,
            origin_of: HashMap::new(),
            names: HashMap::new(),
            next_op: 0,
            next_var: 0,
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
        let at = if frame.in_signature { At::Signature(expr) } else { At::Body(expr) };
        Place { item: frame.key.clone(), at }
    }

    pub(crate) fn place_at(&self, at: At) -> Place {
        Place { item: self.frame().key.clone(), at }
    }

    /// Makes an error at an expression; the caller completes it and passes it to [`Cx::report`].
    pub(crate) fn error(&self, code: &'static Code, at: ExprId, message: impl Into<String>) -> LowerError {
        LowerError::new(code, self.place(at), message)
    }

    pub(crate) fn report(&mut self, mut error: LowerError) -> Reported {
        let mut call = self.frames.last().and_then(|f| f.call);
        while let Some(origin) = call.and_then(|c| self.origins.get(c.0 as usize)) {
            error.calls.push(origin.place.clone());
            call = origin.call;
        }
        shorten(&mut error);
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
        Reported(())
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
        let origin = OriginPlace { place, call: self.frame().call };
        let next = Origin(self.origins.len() as u32);
        let known = *self.origin_of.entry(origin.clone()).or_insert(next);
        if known == next {
            self.origins.push(origin);
        }
        known
    }

    pub(crate) fn push(&mut self, stmt: Stmt) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(stmt);
        }
    }

    pub(crate) fn emit(&mut self, kind: OpKind, at: ExprId) {
        let origin = self.origin(at);
        self.record_made(&kind, origin);
        let op = Op { id: self.next_op(), kind, scope: self.scope, origin };
        self.push(Stmt::Leaf(Leaf::Op(op)));
    }

    /// Returns the number of the next operation.
    pub(crate) fn next_op(&mut self) -> OpId {
        self.next_op += 1;
        OpId(self.next_op - 1)
    }

    /// Runs `body` one level deeper in run-time control flow and returns the statements that it emitted.
    pub(crate) fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> (T, Vec<Stmt>) {
        self.blocks.push(Vec::new());
        self.depth += 1;
        let (known, asserted) = (self.known_now(), self.asserted.len());
        let result = body(self);
        self.depth -= 1;
        // The statements run any number of times, or not at all: behind them, the facts before them hold.
        self.last_end = self.known_now();
        self.set_known(&known);
        self.asserted.truncate(asserted);
        (result, self.blocks.pop().unwrap_or_default())
    }

    /// Makes a symbol for a counter or local integer, distinct from all others.
    pub(crate) fn new_var(&mut self, name: Name) -> Symbol {
        self.next_var += 1;
        Symbol::Var(name, self.next_var - 1)
    }

    /// Returns the number that the next symbol of [`Cx::new_var`] gets. Those made before it have smaller ones.
    pub(crate) fn numbers_made(&self) -> u32 {
        self.next_var
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
        let name = self.unique_name(hint);
        let origin = self.origin(at);
        let id = TensorId(self.tensors.len() as u32);
        let base = kind.base(id);
        let extents: Vec<Expr> = shape.iter().map(|&e| Expr::constant(e)).collect();
        let mut view = SymView::whole(base, &extents);
        let (shape, kind) = self.for_each_group(shape, kind, &mut view);
        self.tensors.push(TileTensor {
            name,
            dtype,
            shape,
            kind,
            scope: self.scope,
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
                let (Base::Register(id) | Base::Shared(id)) = view.base else { return };
                let binder = self.origin_at(self.place_at(At::Pat(pat)));
                if let Some(tensor) = self.tensors.get_mut(id.0 as usize) {
                    tensor.binder = Some(binder);
                }
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
        let tensor = self.new_tensor(hint, dtype, shape, TensorKind::Register { pinned: None }, at);
        (TensorId(self.tensors.len() as u32 - 1), tensor)
    }

    pub(crate) fn unique_name(&mut self, hint: &str) -> String {
        let mut name = hint.to_owned();
        let mut n = self.names.get(hint).copied().unwrap_or(0).max(1);
        while self.names.contains_key(&name) || self.params.iter().any(|p| param_name(p) == name) {
            name = format!("{hint}_{n}");
            n += 1;
        }
        self.names.insert(hint.to_owned(), n);
        self.names.entry(name.clone()).or_insert(1);
        name
    }

    /// Returns the name of the parameter or tensor below a view.
    pub(crate) fn base_name(&self, base: Base) -> &str {
        match base {
            Base::Global(p) => self.params.get(p.0 as usize).map_or("", param_name),
            Base::Shared(t) | Base::Register(t) => {
                self.tensors.get(t.0 as usize).map_or("", |t| t.name.as_str())
            }
        }
    }

    /// Returns the extents of the parameter or tensor below a view.
    pub(crate) fn base_shape(&self, base: Base) -> Vec<Expr> {
        match base {
            Base::Global(p) => match self.params.get(p.0 as usize) {
                Some(Param::Tensor(t)) => t.shape.clone(),
                _ => Vec::new(),
            },
            Base::Shared(t) | Base::Register(t) => {
                let shape = self.tensors.get(t.0 as usize).map_or(&[][..], |t| &t.shape);
                shape.iter().map(|&e| Expr::constant(e)).collect()
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
        match base.param().and_then(|param| self.params.get(param.0 as usize)) {
            Some(Param::Tensor(t)) => t.stride.clone(),
            Some(Param::Int { .. } | Param::Float { .. }) | None => Vec::new(),
        }
    }

    /// Reports whether `base` is a global tensor with a block layout.
    pub(crate) fn is_in_blocks(&self, base: Base) -> bool {
        let Base::Global(p) = base else { return false };
        matches!(self.params.get(p.0 as usize), Some(Param::Tensor(t)) if t.block.is_some())
    }

    /// Returns the id and shape of a register tensor; `None` for other tensors.
    pub(crate) fn register_of(&self, tensor: &Tensor) -> Option<(TensorId, Vec<i64>)> {
        let id = tensor.view.base.register()?;
        Some((id, self.tensors.get(id.0 as usize)?.shape.clone()))
    }

    /// Returns a view of the whole register tensor.
    pub(crate) fn whole(&self, id: TensorId) -> View {
        let shape = self.tensors.get(id.0 as usize).map_or(&[][..], |t| &t.shape);
        View::whole(Base::Register(id), shape)
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

fn param_name(param: &Param) -> &str {
    match param {
        Param::Tensor(t) => &t.name,
        Param::Int { name, .. } | Param::Float { name, .. } => name,
    }
}

/// Formats a shape as in the source.
pub(crate) fn shape_text(shape: &[Expr]) -> String {
    let parts: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("[{}]", parts.join(", "))
}
