//! Operations on typed tensors in structured control flow.

use std::collections::{BTreeMap, BTreeSet};

use hx_dtype::{DType, Operator};
use hx_index::{Cond, Expr, Facts, Symbol};
use hx_layout::{ComposedLayout, Layout};
use hx_target::{Allocation, Limits, Space, Target};

use crate::{
    Atomic, Base, Constant, Counter, Map, NamedBarrier, OpId, Operand, Origin, ParamId, Pipe, PipeId, Rest,
    Rounds, Scalar, Scope, ScopeId, SyncOp, TensorId, TurnsId, View,
};

/// An instance of a kernel: compile-time parameters are replaced by their values, run-time dimensions are symbolic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TileProgram {
    /// The kernel's name.
    pub name: String,
    /// The architecture that the program is for.
    pub target: Target,
    pub params: Vec<Param>,
    /// The facts about all symbols: `where` clauses, launch facts, ranges of block indices and counters.
    pub facts: Facts,
    /// The number of blocks along each axis, at most three axes.
    pub grid: Vec<GridAxis>,
    /// The number of blocks of a cluster along each axis; `[1, 1, 1]` without clusters.
    pub cluster: [u32; 3],
    /// The number of blocks that a multiprocessor holds together, at least; `None` if the source leaves it to the compiler.
    pub blocks_per_sm: Option<u32>,
    /// True if an expression may mention [`Symbol::Multiprocessors`], which every launch then binds.
    pub multiprocessors: bool,
    /// The scopes, indexed by [`ScopeId`]. The first is the block.
    pub scopes: Vec<Scope>,
    /// The conditions that a launch must satisfy.
    pub requires: Vec<Requirement>,
    /// The tensors, indexed by [`TensorId`].
    pub tensors: Vec<Tensor>,
    /// The register tensors that hold the tile of a copy between two memories as it is loaded: see [`Passage`](crate::Passage).
    pub passing: BTreeSet<TensorId>,
    /// The last chunks of the copies that a solver has cut into rounds; none in the program that it was given.
    pub rests: Vec<Rest>,
    /// The pipelines, indexed by [`PipeId`].
    pub pipes: Vec<Pipe>,
    /// The orders in which groups take turns, indexed by [`TurnsId`].
    pub turns: Vec<Turns>,
    /// The barriers that several scopes come to, indexed by [`NamedBarrierId`](crate::NamedBarrierId).
    pub named_barriers: Vec<NamedBarrier>,
    /// The counters that blocks draw from, indexed by [`CounterId`](crate::CounterId).
    pub counters: Vec<Counter>,
    /// The instructions that the source names for operations, with `by`.
    pub pins: BTreeMap<OpId, InstructionPin>,
    pub body: Vec<Stmt>,
}

/// The instructions of which an operation must use one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstructionPin {
    /// The text of the source.
    pub text: String,
    /// The names of the rows.
    pub rows: BTreeSet<String>,
}

impl Default for TileProgram {
    /// Returns a program for the usual target without parameters, scopes and statements.
    fn default() -> TileProgram {
        TileProgram {
            name: String::new(),
            target: Target::usual(),
            params: Vec::new(),
            facts: Facts::default(),
            grid: Vec::new(),
            cluster: [1, 1, 1],
            blocks_per_sm: None,
            multiprocessors: false,
            scopes: Vec::new(),
            requires: Vec::new(),
            tensors: Vec::new(),
            passing: BTreeSet::new(),
            rests: Vec::new(),
            pipes: Vec::new(),
            turns: Vec::new(),
            named_barriers: Vec::new(),
            counters: Vec::new(),
            pins: BTreeMap::new(),
            body: Vec::new(),
        }
    }
}

/// The groups of one scope take turns, in the order of their numbers from group 0, again and again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turns {
    pub name: String,
    /// The groups that take turns; the block if no operation names these turns.
    pub scope: ScopeId,
    pub origin: Origin,
}

/// The number of blocks along one axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GridAxis {
    pub blocks: Expr,
}

/// A parameter of the kernel that a launch sets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Param {
    Tensor(TensorParam),
    /// A run-time integer.
    Int {
        name: String,
        dtype: DType,
    },
    /// A run-time floating-point number.
    Float {
        name: String,
        dtype: DType,
    },
}

/// A tensor in global memory, passed by pointer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorParam {
    pub name: String,
    pub dtype: DType,
    pub mutable: bool,
    /// Extent of each dimension, in elements.
    pub shape: Vec<Expr>,
    /// Stride of each dimension, in elements. With a block, these are the strides of row-major order.
    pub stride: Vec<Expr>,
    /// The layout of the elements within a block, one top-level mode for each dimension; `None` for a tensor without blocks.
    /// Blocks follow each other in row-major order, and extents are multiples of the block's extents.
    pub block: Option<Layout>,
    /// The known alignment of the pointer, in bytes.
    pub align: u32,
}

/// A `where` clause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    pub cond: Cond,
    /// The condition as written in the source.
    pub text: String,
}

/// A tensor in registers or in shared memory. Tensors in global memory are parameters: [`TensorParam`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    pub name: String,
    pub dtype: DType,
    /// Extents in elements, all known.
    pub shape: Vec<i64>,
    pub kind: TensorKind,
    /// The threads that hold a register tensor, or that may access a shared tensor.
    pub scope: ScopeId,
    pub origin: Origin,
    /// The pattern of the source that names the tensor; `None` for a value without a name of its own.
    pub binder: Option<Origin>,
    /// The tensor whose values it holds, for a tensor that the solver added: to hold them in other threads, or in shared memory on
    /// their way there. It has no name in the source.
    pub moved_from: Option<TensorId>,
}

/// The memory that holds a tensor, and the layout that the user fixed for it, if any. The solver chooses all other layouts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TensorKind {
    /// Held in registers, distributed over the threads; `pinned` is the user's thread-value layout.
    Register { pinned: Option<Layout> },
    /// Held in shared memory; `pinned` is the user's memory layout, with its swizzle.
    Shared { pinned: Option<ComposedLayout> },
}

impl TensorKind {
    /// Returns the memory that holds the tensor.
    pub fn space(&self) -> Space {
        match self {
            TensorKind::Register { .. } => Space::Register,
            TensorKind::Shared { .. } => Space::Shared,
        }
    }

    /// Reports whether the user fixed the layout.
    pub fn is_pinned(&self) -> bool {
        match self {
            TensorKind::Register { pinned } => pinned.is_some(),
            TensorKind::Shared { pinned } => pinned.is_some(),
        }
    }

    /// Leaves the layout to the solver.
    pub fn unpin(&mut self) {
        match self {
            TensorKind::Register { pinned } => *pinned = None,
            TensorKind::Shared { pinned } => *pinned = None,
        }
    }

    /// Returns the base of a view of the tensor.
    pub fn base(&self, tensor: TensorId) -> Base {
        match self {
            TensorKind::Register { .. } => Base::Register(tensor),
            TensorKind::Shared { .. } => Base::Shared(tensor),
        }
    }
}

/// A statement of a tile program. Control flow is uniform over the scope.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all statements are operations")]
pub enum Stmt {
    Control(Control),
    Leaf(Leaf),
}

/// A statement that contains others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Control {
    /// Runs the body for each number of the rounds. The facts know the range of `var`.
    For {
        var: Symbol,
        rounds: Rounds,
        body: Vec<Stmt>,
    },
    If {
        cond: Cond,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    /// Runs while the condition holds. The origin is that of the condition.
    While {
        cond: Cond,
        body: Vec<Stmt>,
        origin: Origin,
    },
    /// Different threads run different bodies. Only the last statement of a program's body is one.
    Roles(Vec<Role>),
}

/// A statement that contains no others: an operation of a whole scope, or a number of the block.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all leaves are operations")]
pub enum Leaf {
    Op(Op),
    /// Defines a block-uniform integer that an [`Leaf::Assign`] changes later. Other integers are replaced by their values.
    Let {
        var: Symbol,
        value: Expr,
    },
    Assign {
        var: Symbol,
        value: Expr,
    },
    /// Reads a block-uniform number from an element of a global tensor. The view has no modes.
    LoadScalar {
        var: Symbol,
        src: View,
        origin: Origin,
    },
    /// Defines a block-uniform number that is not an expression of integers. As an integer, a truth value is 1 or 0.
    LetNumber {
        var: Symbol,
        value: Scalar,
    },
    AssignNumber {
        var: Symbol,
        value: Scalar,
    },
}

/// The task of some groups of threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Role {
    pub scope: ScopeId,
    pub kind: RoleKind,
    /// The registers of each thread that the source gives; `None` if it leaves them to the solver. A solution has the registers of
    /// all roles: [`Solution::role_registers`](crate::Solution::role_registers).
    pub registers: Option<u32>,
    /// The number of the group, from 0, if the scope has several. The facts know its range.
    pub index: Option<Symbol>,
    pub body: Vec<Stmt>,
}

/// The kind of a role's task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoleKind {
    /// It moves data, and needs few registers.
    Producer,
    /// It computes.
    Consumer,
}

/// An operation on tiles, which all threads of a scope execute together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Op {
    pub id: OpId,
    pub kind: OpKind,
    /// The threads that execute the operation together.
    pub scope: ScopeId,
    pub origin: Origin,
}

/// The effect of an operation. Extents and strides are in elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OpKind {
    /// Orders other operations, and touches no tensor itself.
    Sync(SyncOp),
    /// Sets every element to `value`.
    Fill { dst: TensorId, value: Constant },
    /// Moves a tile between a memory and registers; one side is a whole register tensor.
    Copy { src: View, dst: View },
    /// Computes `c[m, n] += a[m, k] · b[n, k]`. `c` is in registers, the operands in registers or in shared memory. An
    /// asynchronous product is complete at a [`SyncOp::GemmWait`] that covers it. Until then no other operation writes its
    /// operands, and only further asynchronous products access `c`.
    Gemm { c: TensorId, a: Operand, b: Operand, warps: Option<[i64; 3]>, asynchronous: bool },
    /// Converts each element. Between equal types it is a plain move. Between different shapes, elements have the same row-major
    /// index.
    Cast { dst: TensorId, src: TensorId },
    /// Starts to move a tile from global to shared memory and does not wait for it. The copy joins the current group. With
    /// `signal` it belongs to the stage of the pipeline that its scope acquired last instead. With `multicast` the tile goes
    /// to all blocks of the cluster along this axis.
    CopyAsync { src: View, dst: View, signal: Option<PipeId>, multicast: Option<u8> },
    /// Starts to move a tile from shared to global memory, or to add it there, and does not wait for it. Each store is a group of
    /// its own.
    Store { src: View, dst: View, adds: bool },
    /// Fetches a tile of global memory into the L2 cache. It changes no value and orders nothing.
    Prefetch { view: View },
    /// Evaluates an elementwise expression.
    Map(Map),
    /// Moves the same elements to other threads. If the two layouts require it, the elements pass through the shared tensor
    /// `through`, which only a solution names.
    Rearrange { dst: TensorId, src: TensorId, through: Option<TensorId> },
    /// Combines all elements of `src` along `axis` by an associative and commutative operator. `dst` has extent 1 along
    /// `axis`.
    Reduce { dst: TensorId, src: TensorId, axis: usize, operator: Operator },
    /// Sets `dst` to the elements of a view of a register tensor. The view may reorder, cut, drop or add modes, or
    /// reverse modes that it shows as a whole.
    Slice { dst: TensorId, src: View },
    /// Sets the elements of a register tensor that a view of it shows to those of `src`; the others keep their values. The view
    /// cuts modes, or keeps them.
    Insert { dst: View, src: TensorId },
    /// Reads the only element of a register tensor, which every thread holds, into a number of the block. The number is in
    /// scope until the end of the enclosing statements.
    ReadNumber { var: Symbol, src: TensorId },
    /// Scans tensors of one shape along an axis, inclusively, by an associative operator on tuples. `op[i]` is component `i`
    /// of the operator; its inputs `0..n` are the earlier operand, its inputs `n..2n` the later one. With `reverse` the scan begins at
    /// the last element: the earlier operand is the one nearer to the end of the axis.
    Scan { dst: Vec<TensorId>, src: Vec<TensorId>, axis: usize, op: Vec<Scalar>, reverse: bool },
    /// Accesses every element of a view of memory atomically, with the same element of a register tensor.
    Atomic(Atomic),
    /// Adds to every element of `x` the same element of the other blocks of the cluster along this axis, in the order of their
    /// coordinates. With `to`, only the block with this coordinate gets the sum, and the others keep their elements. With `parts`,
    /// one for each block, each block sets its `x` to the sum of the parts with its coordinate. All blocks of the cluster execute it.
    ClusterSum { x: TensorId, parts: Vec<TensorId>, axis: u8, to: Option<u8> },
    /// Sends a text to the host, followed by the elements of a register tensor if there is one.
    Print { text: String, src: Option<TensorId>, uniform: bool },
    /// Requires that every element of a `bool` tensor is true; otherwise the launch fails after it has ended. `uniform`
    /// means, here and for a print, that the only element is a number or truth value of the block and not a tensor of the
    /// source. `sides` are the two numbers that the condition compares, as tensors of one element; empty if it compares none.
    Assert { cond: TensorId, sides: Vec<TensorId>, message: String, uniform: bool },
}

impl TileProgram {
    /// Returns the limits of a block: those of the target, or its part of them if several blocks share a multiprocessor.
    pub fn limits(&self) -> Limits {
        self.target.limits.shared_by(self.blocks_per_sm.unwrap_or(1), self.block_threads())
    }

    /// Returns a tensor of the program.
    ///
    /// # Panics
    /// If the program has no such id among its tensors.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.0 as usize]
    }

    /// Returns a pipeline of the program.
    ///
    /// # Panics
    /// If the program has no such id among its pipelines.
    pub fn pipe(&self, id: PipeId) -> &Pipe {
        &self.pipes[id.0 as usize]
    }

    /// Returns a parameter of the program.
    ///
    /// # Panics
    /// If the program has no such id among its parameters.
    pub fn param(&self, id: ParamId) -> &Param {
        &self.params[id.0 as usize]
    }

    /// Returns turns of the program.
    ///
    /// # Panics
    /// If the program has no such id among its turns.
    pub fn turns(&self, id: TurnsId) -> &Turns {
        &self.turns[id.0 as usize]
    }

    /// Returns the roles at the end of the body; none if all threads run the same statements.
    pub fn roles(&self) -> &[Role] {
        if let Some(Stmt::Control(Control::Roles(roles))) = self.body.last() { roles } else { &[] }
    }

    /// Returns the parameter as a tensor, `None` if it is of another kind. A view never refers to such a parameter.
    pub fn tensor_param(&self, id: ParamId) -> Option<&TensorParam> {
        match self.param(id) {
            Param::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// Returns the name of a tensor or parameter; the empty text for a parameter that is no tensor.
    pub fn base_name(&self, base: Base) -> &str {
        match (base.tensor(), base.param()) {
            (Some(tensor), _) => &self.tensor(tensor).name,
            (None, param) => param.and_then(|param| self.tensor_param(param)).map_or("", |param| &param.name),
        }
    }

    /// Returns the element type of a tensor or parameter; `None` for a parameter that is no tensor.
    pub fn base_dtype(&self, base: Base) -> Option<DType> {
        match (base.tensor(), base.param()) {
            (Some(tensor), _) => Some(self.tensor(tensor).dtype),
            (None, param) => Some(self.tensor_param(param?)?.dtype),
        }
    }

    /// Yields the tensors of the program, in the order of [`TileProgram::tensors`].
    pub fn tensor_ids(&self) -> impl Iterator<Item = TensorId> + use<> {
        (0..self.tensors.len() as u32).map(TensorId)
    }

    /// Reports whether the solver added an operation to move values between threads.
    pub fn is_move(&self, op: &Op) -> bool {
        let OpKind::Rearrange { dst, src, .. } = op.kind else { return false };
        self.tensor(dst).moved_from == Some(src) || self.tensor(src).moved_from == Some(dst)
    }

    /// Returns every operation in program order, with its number of executions relative to the body: the product of the trip
    /// counts around it. A symbolic trip count counts as `unknown_trips`.
    pub fn ops(&self, unknown_trips: f64) -> Vec<(&Op, f64)> {
        let mut out = Vec::new();
        collect(&self.body, 1.0, unknown_trips, &mut out);
        out
    }

    /// Returns the register tensors that are reserved for loads of operands, but that no load of the program fills.
    pub fn unloaded(&self) -> BTreeSet<TensorId> {
        let mut out = BTreeSet::new();
        for (op, _) in self.ops(1.0) {
            let OpKind::Gemm { a, b, .. } = &op.kind else { continue };
            out.extend([a, b].into_iter().filter_map(|operand| Some(operand.load?.tensor)));
        }
        out
    }

    /// Formats the warps of a product into `c` as in the source: along M and N, and along the batch if the product has one.
    pub fn warps_text(&self, c: TensorId, [m, n, batch]: [i64; 3]) -> String {
        if self.tensor(c).shape.len() > 2 { format!("[{m}, {n}, {batch}]") } else { format!("[{m}, {n}]") }
    }

    /// Returns the operation with this id, in the body or in the body of any role; `None` if the program has none.
    pub fn op(&self, id: OpId) -> Option<&Op> {
        find(&self.body, id)
    }
}

impl Stmt {
    /// Returns the bodies inside the statement: those of [`Control::bodies`], none for a leaf.
    pub fn bodies(&self) -> impl Iterator<Item = &[Stmt]> + use<'_> {
        let control = if let Stmt::Control(control) = self { Some(control) } else { None };
        control.into_iter().flat_map(Control::bodies)
    }

    /// Returns [`Stmt::bodies`] to change them.
    pub fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Vec<Stmt>> + use<'_> {
        let control = if let Stmt::Control(control) = self { Some(control) } else { None };
        control.into_iter().flat_map(Control::bodies_mut)
    }

    /// Returns the operations of the statement, in program order.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        let mut out = Vec::new();
        collect(std::slice::from_ref(self), 1.0, 1.0, &mut out);
        out.into_iter().map(|(op, _)| op)
    }
}

impl Control {
    /// Returns the body of a loop, the two branches of a condition, those of all roles.
    pub fn bodies(&self) -> impl Iterator<Item = &[Stmt]> + use<'_> {
        let (bodies, roles): ([Option<&[Stmt]>; 2], &[Role]) = match self {
            Control::For { body, .. } | Control::While { body, .. } => ([Some(body), None], &[]),
            Control::If { then, otherwise, .. } => ([Some(then), Some(otherwise)], &[]),
            Control::Roles(roles) => ([None, None], roles),
        };
        bodies.into_iter().flatten().chain(roles.iter().map(|role| role.body.as_slice()))
    }

    /// Returns [`Control::bodies`] to change them.
    pub fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Vec<Stmt>> + use<'_> {
        let (bodies, roles): (_, &mut [Role]) = match self {
            Control::For { body, .. } | Control::While { body, .. } => ([Some(body), None], &mut []),
            Control::If { then, otherwise, .. } => ([Some(then), Some(otherwise)], &mut []),
            Control::Roles(roles) => ([None, None], roles),
        };
        bodies.into_iter().flatten().chain(roles.iter_mut().map(|role| &mut role.body))
    }
}

fn find(stmts: &[Stmt], id: OpId) -> Option<&Op> {
    stmts.iter().find_map(|stmt| match stmt {
        Stmt::Leaf(Leaf::Op(op)) => (op.id == id).then_some(op),
        control => control.bodies().find_map(|body| find(body, id)),
    })
}

fn collect<'a>(stmts: &'a [Stmt], trips: f64, unknown: f64, out: &mut Vec<(&'a Op, f64)>) {
    for stmt in stmts {
        let within = match stmt {
            Stmt::Leaf(leaf) => {
                out.extend(leaf.op().map(|op| (op, trips)));
                continue;
            }
            Stmt::Control(Control::For { rounds, .. }) => {
                trips * rounds.count().map_or(unknown, |n| n as f64)
            }
            Stmt::Control(Control::While { .. }) => trips * unknown,
            Stmt::Control(Control::If { .. } | Control::Roles(_)) => trips,
        };
        stmt.bodies().for_each(|body| collect(body, within, unknown, out));
    }
}

impl Leaf {
    /// Returns the operation; `None` for a number of the block.
    pub fn op(&self) -> Option<&Op> {
        if let Leaf::Op(op) = self { Some(op) } else { None }
    }
}

impl Tensor {
    /// Returns the number of elements.
    pub fn size(&self) -> i64 {
        self.shape.iter().product()
    }

    /// Returns who reserves the memory of the tensor.
    pub fn allocation(&self) -> Allocation {
        self.kind.space().row().allocation
    }

    /// Reports whether each thread holds its elements in registers. Otherwise they have an address in a memory.
    pub fn is_register(&self) -> bool {
        self.kind.space().is_held()
    }
}

impl OpKind {
    /// Returns the memories between which the operation moves a tile; `None` if it is no copy.
    pub fn moved(&self) -> Option<[Space; 2]> {
        let (OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst, .. } | OpKind::Store { src, dst, .. }) =
            self
        else {
            return None;
        };
        Some([src.base.space(), dst.base.space()])
    }

    /// Returns the word of the language for the operation.
    pub fn name(&self) -> &'static str {
        self.description().name
    }
}
