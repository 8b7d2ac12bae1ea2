//! Updates of global memory in place: which threads load and store an element, and in which order.
//!
//! A tile that is loaded, computed with and stored back is one update in the text. Its threads race only if the layouts make them: if
//! an element is loaded by other threads than the one that stores it. [`stores_after_others`] finds these stores, so that the
//! lowering puts a barrier before them.
//!
//! A launch may also name one tensor for an input and an output. [`is_elementwise`] proves that the result is the same then: each
//! element of the input is loaded only by the thread that stores it, before it does, and for the value that it stores there.

use std::collections::BTreeSet;

use hx_index::{Expr, Facts, Symbol};
use hx_target::Space;

use crate::text::view_text;
use crate::{
    Base, Control, Distribution, Leaf, Mode, Op, OpId, OpKind, ParamId, Rounds, ScopeId, Solution, Stmt,
    SyncOp, TensorId, TileProgram, View, tile_modes,
};

/// Reports whether two views show the same elements of their bases, in the same order.
fn shows_alike(a: &View, b: &View) -> bool {
    a.picked.is_none()
        && b.picked.is_none()
        && (&a.offsets, &a.modes, &a.ends) == (&b.offsets, &b.modes, &b.ends)
}

/// Reports whether each element of two register tensors is held by the same thread, and by no other.
fn held_alike(solution: &Solution, a: TensorId, b: TensorId) -> bool {
    let [Some(a), Some(b)] = [a, b].map(|tensor| solution.registers.get(&tensor)) else { return false };
    let alone = |held: &Distribution| {
        let threads = tile_modes(&held.layout.mode(0), &held.tile);
        threads.is_some_and(|modes| modes.iter().all(|mode| mode.extent == 1 || !mode.is_still()))
    };
    (&a.tile, &a.layout) == (&b.tile, &b.layout) && alone(a)
}

/// Returns the register tensor that a view shows as a whole; `None` if it shows a part of one or other memory.
fn whole(program: &TileProgram, view: &View) -> Option<TensorId> {
    let tensor = view.register()?;
    let all = View::whole(view.base, &program.tensor(tensor).shape);
    shows_alike(view, &all).then_some(tensor)
}

/// A load of global memory since the last barrier.
#[derive(Clone, Copy)]
struct Loaded<'p> {
    view: &'p View,
    to: Option<TensorId>,
    scope: ScopeId,
}

/// Returns the stores that need a barrier before them: they overwrite elements that other threads may still load, in a load of the same
/// tile of the same tensor.
pub fn stores_after_others(program: &TileProgram, solution: &Solution) -> BTreeSet<OpId> {
    let mut search = Stores { program, solution, found: BTreeSet::new() };
    search.body(&program.body, &mut Vec::new());
    search.found
}

struct Stores<'p> {
    program: &'p TileProgram,
    solution: &'p Solution,
    found: BTreeSet<OpId>,
}

impl<'p> Stores<'p> {
    fn body(&mut self, body: &'p [Stmt], loaded: &mut Vec<Loaded<'p>>) {
        for stmt in body {
            match stmt {
                Stmt::Leaf(Leaf::Op(op)) => self.op(op, loaded),
                Stmt::Control(Control::If { then, otherwise, .. }) => {
                    let mut other = loaded.clone();
                    self.body(then, loaded);
                    self.body(otherwise, &mut other);
                    loaded.extend(other);
                }
                Stmt::Control(Control::For { body, .. } | Control::While { body, .. }) => {
                    let before = loaded.clone();
                    self.body(body, loaded);
                    loaded.extend(before);
                }
                Stmt::Control(Control::Roles(roles)) => {
                    roles.iter().for_each(|role| self.body(&role.body, &mut loaded.clone()));
                }
                Stmt::Leaf(_) => {}
            }
        }
    }

    fn op(&mut self, op: &'p Op, loaded: &mut Vec<Loaded<'p>>) {
        if matches!(op.kind, OpKind::Sync(SyncOp::Scope)) {
            loaded.retain(|load| load.scope != op.scope);
        }
        let OpKind::Copy { src, dst } = &op.kind else { return };
        if let (Some(param), Some(_)) = (src.base.param(), dst.register()) {
            if self.program.tensor_param(param).is_some_and(|param| param.mutable) {
                loaded.push(Loaded { view: src, to: whole(self.program, dst), scope: op.scope });
            }
        } else if src.register().is_some() && dst.base.space() == Space::Global {
            self.store(op, [src, dst], loaded);
        }
    }

    /// Records a store of `src` to `dst` that overwrites what other threads loaded.
    fn store(&mut self, op: &Op, [src, dst]: [&View; 2], loaded: &mut Vec<Loaded<'p>>) {
        let from = whole(self.program, src);
        let alike =
            |to: Option<TensorId>| to.zip(from).is_some_and(|(to, from)| held_alike(self.solution, to, from));
        let of_others = |load: &Loaded<'_>| {
            load.scope == op.scope
                && load.view.base == dst.base
                && shows_alike(load.view, dst)
                && !alike(load.to)
        };
        if loaded.iter().any(of_others) {
            self.found.insert(op.id);
            loaded.retain(|load| load.scope != op.scope);
        }
    }
}

/// A load of the input, or a store to the output.
struct Access<'p> {
    position: usize,
    view: &'p View,
    register: TensorId,
    scope: ScopeId,
    /// From the outermost: the number of the loop, its counter, its start and end.
    loops: Vec<(usize, &'p Symbol, &'p Expr, &'p Expr)>,
    /// The branches around it: the number of the `if`, and whether it is in its `then` branch.
    branches: Vec<(usize, bool)>,
}

struct Accesses<'p> {
    program: &'p TileProgram,
    input: ParamId,
    output: ParamId,
    loads: Vec<Access<'p>>,
    stores: Vec<Access<'p>>,
    /// The operations, in the order of the text.
    ops: Vec<&'p Op>,
    blocks: usize,
    loops: Vec<(usize, &'p Symbol, &'p Expr, &'p Expr)>,
    branches: Vec<(usize, bool)>,
}

/// Proves that a launch may pass the same tensor for the parameters `input` and `output`.
///
/// # Errors
/// The reason why the proof fails, for a message: "it loads …".
pub fn is_elementwise(
    program: &TileProgram,
    solution: &Solution,
    [input, output]: [ParamId; 2],
) -> Result<(), String> {
    let name = |param: ParamId| program.tensor_param(param).map_or("", |param| param.name.as_str());
    let (from, to) = (name(input), name(output));
    let params = [input, output].map(|param| program.tensor_param(param));
    let [Some(one), Some(other)] = params else { return Err("one of them is not a tensor".to_owned()) };
    if (one.dtype, &one.shape) != (other.dtype, &other.shape) {
        return Err(format!("`{from}` and `{to}` are declared with different types or dimensions"));
    }
    let mut all = Accesses {
        program,
        input,
        output,
        loads: Vec::new(),
        stores: Vec::new(),
        ops: Vec::new(),
        blocks: 0,
        loops: Vec::new(),
        branches: Vec::new(),
    };
    all.body(&program.body)?;
    let mut facts = program.facts.clone();
    (0..3).for_each(|axis| facts.at_least(Symbol::GridDim(axis), 1));
    let Some(first_store) = all.stores.iter().map(|store| store.position).min() else { return Ok(()) };
    if let Some(late) = all.loads.iter().find(|load| load.position > first_store) {
        let tile = view_text(program, late.view);
        return Err(format!("it loads `{tile}` after it has stored a tile of `{to}`"));
    }
    for (at, store) in all.stores.iter().enumerate() {
        all.expect_new_each_round(store, &facts)?;
        if all.stores[..at].iter().any(|earlier| !are_apart(earlier.view, store.view)) {
            return Err(format!("it stores two tiles of `{to}` that may share elements"));
        }
    }
    for load in &all.loads {
        let store = all.stores.iter().find(|store| is_same_tile(load, store, &facts));
        let loaded = view_text(program, load.view);
        let Some(store) = store else { return Err(all.elsewhere(&loaded, to)) };
        if !held_alike(solution, load.register, store.register) {
            return Err(format!(
                "an element of `{loaded}` is loaded by another thread than the one that stores it"
            ));
        }
        if !all.follows(store.register, store.position, load.register, 0) {
            let stored = view_text(program, store.view);
            return Err(format!(
                "an element that it stores to `{stored}` may not depend on the one of `{loaded}` at its place, so it may be stored before that is loaded"
            ));
        }
    }
    Ok(())
}

impl<'p> Accesses<'p> {
    fn body(&mut self, body: &'p [Stmt]) -> Result<(), String> {
        for stmt in body {
            self.blocks += 1;
            let number = self.blocks;
            match stmt {
                Stmt::Leaf(Leaf::Op(op)) => self.op(op)?,
                Stmt::Control(Control::For { var, rounds: Rounds::Range { start, end, .. }, body }) => {
                    self.loops.push((number, var, start, end));
                    self.body(body)?;
                    self.loops.pop();
                }
                Stmt::Control(Control::If { then, otherwise, .. }) => {
                    for (branch, body) in [(true, then), (false, otherwise)] {
                        self.branches.push((number, branch));
                        self.body(body)?;
                        self.branches.pop();
                    }
                }
                Stmt::Control(
                    Control::For { rounds: Rounds::Drawn { .. }, body, .. } | Control::While { body, .. },
                ) => {
                    let before = (self.loads.len(), self.stores.len());
                    self.body(body)?;
                    if before != (self.loads.len(), self.stores.len()) {
                        return Err("it accesses them in a loop whose rounds are not counted".to_owned());
                    }
                }
                Stmt::Control(Control::Roles(roles)) => {
                    roles.iter().try_for_each(|role| self.body(&role.body))?;
                    let scopes: BTreeSet<ScopeId> =
                        self.loads.iter().chain(&self.stores).map(|access| access.scope).collect();
                    if scopes.len() > 1 {
                        return Err("different roles access them".to_owned());
                    }
                }
                Stmt::Leaf(Leaf::LoadScalar { src, .. }) => self.expect_other(src.base)?,
                Stmt::Leaf(
                    Leaf::Let { .. }
                    | Leaf::Assign { .. }
                    | Leaf::LetNumber { .. }
                    | Leaf::AssignNumber { .. },
                ) => {}
            }
        }
        Ok(())
    }

    /// Returns the reason if no store writes a tile that is loaded as `loaded`.
    fn elsewhere(&self, loaded: &str, to: &str) -> String {
        let stored = match self.stores.as_slice() {
            [store] => format!("`{}`", view_text(self.program, store.view)),
            _ => format!("other tiles of `{to}`"),
        };
        format!("it loads `{loaded}` and stores {stored}, so other threads may store what it has yet to load")
    }

    fn expect_other(&self, base: Base) -> Result<(), String> {
        let name = |param: ParamId| self.program.tensor_param(param).map_or("", |param| param.name.as_str());
        match base {
            Base::Global(param) if param == self.input => {
                Err(format!("it reads `{}` by more than loads of tiles", name(param)))
            }
            Base::Global(param) if param == self.output => {
                Err(format!("it accesses `{}` by more than copies of tiles from registers", name(param)))
            }
            Base::Global(_) | Base::Shared(_) | Base::Register(_) => Ok(()),
        }
    }

    fn op(&mut self, op: &'p Op) -> Result<(), String> {
        let position = self.ops.len();
        self.ops.push(op);
        if let OpKind::Copy { src, dst } = &op.kind {
            let (loops, branches) = (self.loops.clone(), self.branches.clone());
            let access =
                |view, register| Access { position, view, register, scope: op.scope, loops, branches };
            if src.base == Base::Global(self.input)
                && let Some(register) = whole(self.program, dst).filter(|_| src.picked.is_none())
            {
                self.loads.push(access(src, register));
                return Ok(());
            }
            if dst.base == Base::Global(self.output)
                && let Some(register) = whole(self.program, src).filter(|_| dst.picked.is_none())
            {
                self.stores.push(access(dst, register));
                return Ok(());
            }
        }
        let effects = op.kind.description();
        effects.accesses.iter().try_for_each(|access| self.expect_other(access.base()))
    }

    /// Fails unless each round of the loops around a store writes elements that no other round loads or writes: along one dimension
    /// all tiles in the loop move by at least their extent.
    fn expect_new_each_round(&self, store: &Access<'p>, facts: &Facts) -> Result<(), String> {
        for &(number, var, ..) in &store.loops {
            let beside = |access: &&Access<'p>| access.loops.iter().any(|(other, ..)| *other == number);
            let inside: Vec<&Access<'p>> = self.loads.iter().chain(&self.stores).filter(beside).collect();
            let next =
                |symbol: &Symbol| (symbol == var).then(|| Expr::symbol(symbol.clone()) + Expr::constant(1));
            let moves = |dim: &usize| {
                let offset = &store.view.offsets[*dim];
                let others = store.loops.iter().filter(|(other, ..)| *other != number);
                let alone = others.into_iter().all(|(_, other, ..)| !offset.mentions(other));
                let step = offset.substitute(facts, &next) - offset.clone();
                alone
                    && facts.proves_le(&Expr::constant(reach(store.view, *dim)), &step)
                    && inside.iter().all(|access| {
                        access.view.offsets.get(*dim) == Some(offset)
                            && reach(access.view, *dim) == reach(store.view, *dim)
                    })
            };
            if !(0..store.view.offsets.len()).any(|dim| moves(&dim)) {
                return Err(format!("two rounds of the loop over `{var}` may access the same elements"));
            }
        }
        Ok(())
    }

    /// Reports whether each element of `register` before operation number `position` depends on the element of register tensor `load`
    /// at its place. Only this dependence orders the load of an element before the store to it: a compiler may move a load behind the
    /// store of another element. `depth` counts the operations that it has followed so far.
    fn follows(&self, register: TensorId, position: usize, load: TensorId, depth: usize) -> bool {
        if register == load {
            return true;
        }
        let writes = |op: &&&Op| {
            op.kind
                .description()
                .accesses
                .iter()
                .any(|access| access.mode != Mode::Read && access.register() == Some(register))
        };
        let Some(at) = (0..position).rev().find(|at| writes(&&self.ops[*at])) else { return false };
        let kind = &self.ops[at].kind;
        if !keeps_places(self.program, kind) {
            return false;
        }
        // A row of a product does not depend on the row of its second operand.
        let other = if let OpKind::Gemm { b, .. } = kind { b.view.register() } else { None };
        let effects = kind.description();
        let read = effects.accesses.iter().filter_map(|access| access.register());
        let read = read.filter(|read| Some(*read) != other || *read == register);
        // An operation that updates a tensor also reads its old value.
        depth < self.ops.len() && read.into_iter().any(|read| self.follows(read, at, load, depth + 1))
    }
}

/// Reports whether an element of a result of an operation depends on the element of an operand at its place, perhaps among others. A part
/// of a tensor, and a flip, have elements of other places.
fn keeps_places(program: &TileProgram, kind: &OpKind) -> bool {
    match kind {
        OpKind::Slice { src, .. } => whole(program, src).is_some(),
        OpKind::Cast { .. }
        | OpKind::Map(_)
        | OpKind::Rearrange { .. }
        | OpKind::Reduce { .. }
        | OpKind::Scan { .. }
        | OpKind::Gemm { .. }
        | OpKind::ClusterSum { .. } => true,
        OpKind::Insert { .. }
        | OpKind::Sync(_)
        | OpKind::Fill { .. }
        | OpKind::Copy { .. }
        | OpKind::CopyAsync { .. }
        | OpKind::Store { .. }
        | OpKind::Prefetch { .. }
        | OpKind::Atomic(_)
        | OpKind::ReadNumber { .. }
        | OpKind::Print { .. }
        | OpKind::Assert { .. } => false,
    }
}

/// Returns the number of coordinates along a dimension from the first to the last element that a view shows; a large number if they
/// are not known.
fn reach(view: &View, dim: usize) -> i64 {
    let modes = view.modes.iter().filter(|mode| mode.dim == dim && mode.extent > 1);
    let last = modes.map(|mode| mode.factor.as_const().map(|factor| factor.abs() * (mode.extent - 1)));
    last.sum::<Option<i64>>().map_or(i64::MAX / 2, |last| last + 1)
}

/// Reports whether two tiles of a tensor are known to share no element.
fn are_apart(a: &View, b: &View) -> bool {
    let apart = |dim: usize| {
        let ahead = b.offsets[dim].constant_distance(&a.offsets[dim]);
        ahead.is_some_and(|ahead| ahead >= reach(a, dim) || -ahead >= reach(b, dim))
    };
    a.offsets.len() == b.offsets.len() && (0..a.offsets.len()).any(apart)
}

/// Reports whether each execution of a load is of the tile that one execution of a store writes, in loops over the same rounds.
fn is_same_tile(load: &Access<'_>, store: &Access<'_>, facts: &Facts) -> bool {
    if load.loops.len() != store.loops.len()
        || load.scope != store.scope
        || !store.branches.iter().all(|branch| load.branches.contains(branch))
    {
        return false;
    }
    let rename = |symbol: &Symbol| {
        let at = load.loops.iter().position(|(_, var, ..)| *var == symbol)?;
        Some(Expr::symbol(store.loops[at].1.clone()))
    };
    let renamed = |expr: &Expr| expr.substitute(facts, &rename);
    let rounds = load.loops.iter().zip(&store.loops);
    let same_rounds = rounds.into_iter().all(|((one, _, from, to), (other, _, start, end))| {
        one == other || (renamed(from) == **start && renamed(to) == **end)
    });
    let same_ends = load.view.ends.len() == store.view.ends.len()
        && load.view.ends.iter().zip(&store.view.ends).all(|(a, b)| a.0 == b.0 && renamed(&a.1) == b.1);
    same_rounds
        && same_ends
        && load.view.modes == store.view.modes
        && load.view.offsets.iter().map(renamed).eq(store.view.offsets.iter().cloned())
}
