//! Finds accesses to global memory that a bulk store of the same scope is still writing.
//!
//! The elements that a store writes are in flight until the scope waits for the writes of its stores. Other threads see them after a
//! barrier behind that wait. In between nothing may access the elements, except that sums may meet sums. Elements are compared by ranges
//! of coordinates: a finding is an access that certainly meets elements of the store, in the same round or in the first block of the grid.
//! The simulator covers the rest, also what blocks do to each other.
//!
//! Start at [`faults`].

use std::collections::BTreeSet;

use hx_index::{Expr, Facts, Symbol};
use hx_target::Mode;
use hx_tile::{
    Base, Leaf, Op, OpId, OpKind, Order, ParamId, Region as Touched, ScopeId, Stmt, SyncOp, TileProgram, View,
};

use crate::paths::{Debt, Debts, Follow, Here, follow};

/// An access to elements that a store writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub store: OpId,
    pub access: OpId,
    pub param: ParamId,
    pub mode: Mode,
    /// The store is complete, but only its own thread knows: a barrier is missing.
    pub complete: bool,
    /// A change that removes the fault and adds no other; `None` if none was found.
    pub fix: Option<Fix>,
    /// The accesses of further faults that the same change removes.
    pub others: Vec<OpId>,
}

/// A change of the program that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fix {
    /// This wait waits for writes, too.
    Complete(OpId),
    /// Inserts statements before an operation: a wait for writes that leaves `wait` stores in flight, unless it is `None`, and
    /// with `barrier` a barrier.
    Before { op: OpId, wait: Option<u32>, barrier: bool },
}

/// The most changes that are tried for a fault.
const TRIED: usize = 12;
/// The largest age of a store: more later stores are not counted.
const OLDEST: u32 = 8;

/// Returns the faults of a program in program order. `poll` is called now and then, and may unwind.
pub fn faults(program: &TileProgram, poll: &dyn Fn()) -> Vec<Fault> {
    let mut left = found(program, poll);
    let mut out = Vec::new();
    while !left.is_empty() {
        let mut fault = left.remove(0);
        let key = |fault: &Fault| (fault.store, fault.access);
        for fix in candidates(program, &fault).into_iter().take(TRIED) {
            let rest = found(&changed(program, fix), poll);
            let is_known = |other: &Fault| left.iter().any(|known| key(known) == key(other));
            if rest.iter().all(is_known) {
                fault.fix = Some(fix);
                let (stay, gone) =
                    left.into_iter().partition(|other| rest.iter().any(|rest| key(rest) == key(other)));
                left = stay;
                let gone: Vec<Fault> = gone;
                fault.others = gone.into_iter().map(|other| other.access).collect();
                break;
            }
        }
        out.push(fault);
    }
    out
}

fn found(program: &TileProgram, poll: &dyn Fn()) -> Vec<Fault> {
    let stores = |(op, _): &(&Op, f64)| matches!(op.kind, OpKind::Store { .. });
    if !program.ops(1.0).iter().any(stores) {
        return Vec::new();
    }
    let mut stores = Stores { program, faults: Vec::new() };
    follow(program, Vec::new(), &mut stores, poll);
    stores.faults
}

/// A store that is not complete, or of whose completion only its thread knows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Store {
    op: OpId,
    scope: ScopeId,
    param: ParamId,
    part: Option<Part>,
    adds: bool,
    /// The number of stores of the scope since.
    age: u32,
    complete: bool,
}

/// A part of a tensor.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Part {
    offsets: Vec<Expr>,
    /// Extent, dimension and factor of each mode.
    modes: Vec<(i64, usize, Expr)>,
    /// The number of consecutive coordinates in each dimension; `None` if they are not consecutive.
    lengths: Option<Vec<i64>>,
}

impl Part {
    /// Returns the part that a view shows; `None` if a table or registers pick the elements.
    fn of(view: &View, here: &Here<'_>) -> Option<Part> {
        if view.picked.is_some() {
            return None;
        }
        let offsets = view.offsets.iter().map(|offset| here.value(offset)).collect();
        let modes = view.modes.iter().map(|mode| (mode.extent, mode.dim, mode.factor.clone())).collect();
        let lengths = (0..view.offsets.len()).map(|dim| view.length(dim)).collect();
        Some(Part { offsets, modes, lengths })
    }

    fn mentions(&self, symbols: &BTreeSet<Symbol>) -> bool {
        let mut all = self.offsets.iter().chain(self.modes.iter().map(|(.., factor)| factor));
        all.any(|expr| !expr.symbols().is_disjoint(symbols))
    }

    /// Reports whether two parts certainly have elements in common.
    fn meets(&self, other: &Part, facts: &Facts, first_block: bool) -> bool {
        if self.offsets == other.offsets && self.modes == other.modes {
            return true;
        }
        let (Some(mine), Some(theirs)) = (&self.lengths, &other.lengths) else { return false };
        let starts = self.offsets.iter().zip(&other.offsets);
        starts.zip(mine.iter().zip(theirs)).all(|((a, b), (mine, theirs))| {
            let distance = b.clone() - a.clone();
            let at_first =
                |symbol: &Symbol| matches!(symbol, Symbol::BlockIdx(_) if first_block).then(Expr::default);
            let distance = distance.simplify(facts).as_const();
            let distance = distance
                .or_else(|| (b.clone() - a.clone()).substitute(facts, &at_first).as_const())
                .filter(|distance| (-theirs < *distance) && distance < mine);
            distance.is_some()
        })
    }
}

struct Stores<'p> {
    program: &'p TileProgram,
    faults: Vec<Fault>,
}

impl Follow for Stores<'_> {
    type Key = Store;
    const WATCHES: bool = true;

    fn op(&mut self, op: &Op, debts: &mut Debts<Store>, here: &Here<'_>) {
        let effects = op.kind.description();
        for access in &effects.accesses {
            if let (Base::Global(param), Touched::View(view)) = (access.base(), access.region)
                && debts.iter().any(|debt| debt.key.param == param)
            {
                let part = Part::of(view, here);
                debts
                    .iter()
                    .for_each(|debt| self.access(op, (param, access.mode), part.as_ref(), debt, here));
            }
        }
        match effects.order {
            Order::WaitStores { leave, read: false } => {
                let covered = |store: &Store| store.scope == op.scope && store.age >= leave;
                let keys = debts.iter_mut().map(|debt| &mut debt.key);
                keys.filter(|store| covered(store)).for_each(|store| store.complete = true);
            }
            Order::Scope => self.barrier(op, debts),
            Order::Warp if self.program.threads_of(op) <= self.program.target.limits.lanes => {
                self.barrier(op, debts)
            }
            Order::Nothing
            | Order::Warp
            | Order::Close
            | Order::Wait(_)
            | Order::WaitProducts(_)
            | Order::Await
            | Order::Arrive
            | Order::WaitStores { .. } => {}
        }
        if let OpKind::Store { dst, adds, .. } = &op.kind
            && let Base::Global(param) = dst.base
        {
            let of_scope = debts.iter_mut().map(|debt| &mut debt.key).filter(|store| store.scope == op.scope);
            of_scope.for_each(|store| store.age = (store.age + 1).min(OLDEST));
            let (scope, part) = (op.scope, Part::of(dst, here));
            let store = Store { op: op.id, scope, param, part, adds: *adds, age: 0, complete: false };
            debts.retain(|debt| debt.key != store);
            debts.push(Debt::new(store, here.depth()));
            debts.sort();
        }
    }
}

impl Stores<'_> {
    /// Ends the debts that a barrier settles.
    fn barrier(&self, op: &Op, debts: &mut Debts<Store>) {
        let knows = |scope: ScopeId| self.program.scope(op.scope).contains(self.program.scope(scope));
        debts.retain(|debt| !(debt.key.complete && knows(debt.key.scope)));
    }

    fn access(
        &mut self,
        op: &Op,
        (param, mode): (ParamId, Mode),
        part: Option<&Part>,
        debt: &Debt<Store>,
        here: &Here<'_>,
    ) {
        let store = &debt.key;
        // The thread that stores is always the same one of the scope.
        let knows = store.complete && op.scope == store.scope && matches!(op.kind, OpKind::Store { .. });
        if store.param != param || store.adds && mode == Mode::Add || knows || !here.is_certain(debt) {
            return;
        }
        let told = |fault: &Fault| (fault.store, fault.access) == (store.op, op.id);
        let (Some(mine), Some(part)) = (&store.part, part) else { return };
        let first_block = !here.depends_on_block(debt);
        if mine.mentions(&debt.stale)
            || self.faults.iter().any(told)
            || !mine.meets(part, here.facts, first_block)
        {
            return;
        }
        let (store, complete) = (store.op, store.complete);
        self.faults.push(Fault {
            store,
            access: op.id,
            param,
            mode,
            complete,
            fix: None,
            others: Vec::new(),
        });
    }
}

/// Returns the changes to try, the smallest first.
fn candidates(program: &TileProgram, fault: &Fault) -> Vec<Fix> {
    let before = |wait, barrier| Fix::Before { op: fault.access, wait, barrier };
    if fault.complete {
        return vec![before(None, true)];
    }
    let of = |op: OpId| program.op(op).map(|op| op.scope);
    let reads = |op: &Op| {
        matches!(op.kind, OpKind::Sync(SyncOp::WaitStores { read: true, .. }))
            && Some(op.scope) == of(fault.store)
    };
    let waits = program.ops(1.0).into_iter().filter(|(op, _)| reads(op)).map(|(op, _)| Fix::Complete(op.id));
    // The threads of another scope cannot wait for the stores of this one.
    let here = (of(fault.access) == of(fault.store)).then_some([1, 0]).into_iter().flatten();
    let inserted = here.flat_map(|leave| [false, true].map(|barrier| before(Some(leave), barrier)));
    waits.chain(inserted).collect()
}

fn changed(program: &TileProgram, fix: Fix) -> TileProgram {
    let mut program = program.clone();
    change(&mut program.body, fix);
    program
}

fn change(body: &mut Vec<Stmt>, fix: Fix) {
    body.iter_mut().flat_map(Stmt::bodies_mut).for_each(|body| change(body, fix));
    match fix {
        Fix::Complete(wait) => {
            for stmt in body {
                if let Stmt::Leaf(Leaf::Op(Op {
                    id,
                    kind: OpKind::Sync(SyncOp::WaitStores { read, .. }),
                    ..
                })) = stmt
                    && *id == wait
                {
                    *read = false;
                }
            }
        }
        Fix::Before { op, wait, barrier } => {
            let is_it = |stmt: &Stmt| matches!(stmt, Stmt::Leaf(Leaf::Op(found)) if found.id == op);
            let Some(at) = body.iter().position(is_it) else { return };
            let Stmt::Leaf(Leaf::Op(next)) = body[at].clone() else { return };
            let wait = wait.map(|leave| SyncOp::WaitStores { leave, read: false });
            let new = wait.into_iter().chain(barrier.then_some(SyncOp::Scope));
            // No operation of a program has this number.
            let stmt = |sync| {
                Stmt::Leaf(Leaf::Op(Op { id: OpId(u32::MAX), kind: OpKind::Sync(sync), ..next.clone() }))
            };
            let new: Vec<Stmt> = new.map(stmt).collect();
            body.splice(at..at, new);
        }
    }
}
