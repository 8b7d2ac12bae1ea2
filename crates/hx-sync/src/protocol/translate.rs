//! Makes the protocol of a tile program.

mod data;
mod far;

use std::collections::BTreeSet;

use hx_index::{Expr, Symbol};
use hx_target::Form;

use hx_tile::{
    Base, Completion, Control as TileControl, Counter, Leaf as TileLeaf, Mode, NamedBarrierId, Op, OpId,
    OpKind, Operand, Order, ParamId, Pick, PipeId, Role as TileRole, RoleKind, Rounds, Rows, ScopeId,
    ScopeKind, Stmt as TileStmt, SyncOp, TensorId, TileProgram, View,
};

use self::data::Data;
use self::far::handed_on;
use super::program::{Multicast, Number};
use super::reach::Reach;
use super::{Act, Drawn, Launchable, NamedBarrier, Operands, Pipe, Place, Protocol, Role, Stmt, Turns};

/// The multiprocessors for each block of a cluster: so few that a persistent kernel has more tiles than blocks.
const MULTIPROCESSORS: i64 = 2;
/// As [`MULTIPROCESSORS`], if the header has conditions on multiprocessors: the number of blocks may have to be a multiple of
/// 16.
const MANY_MULTIPROCESSORS: i64 = 32;

/// Returns the protocol of a program and what is known of its launches; `None` if nothing in the program needs the machine.
pub fn translate(tile: &TileProgram) -> Option<(Protocol, Launchable)> {
    let needed = !tile.roles().is_empty() || tile.ops(1.0).iter().any(|(op, _)| needs_machine(op));
    if !needed {
        return None;
    }
    let cluster = tile.cluster.map(i64::from).to_vec();
    let blocks: i64 = cluster.iter().product();
    let groups = tile.block_threads().div_ceil(tile.target.limits.group).max(1);
    let drawn = |counter: &Counter| Drawn::new(&counter.name, counter.limit.clone(), blocks);
    let drawn: Vec<Drawn> = tile.counters.iter().map(drawn).collect();
    let translator = Translator { tile, drawn: &drawn, data: Data::of(tile), handed_on: handed_on(tile) };
    let mut roles: Vec<Role> = tile.roles().iter().map(|role| translator.role(role)).collect();
    let mut body = translator.body(&tile.body);
    // The blocks of a cluster end together: no copy comes to a block that has ended.
    if blocks > 1
        && let Some((last, _)) = tile.ops(1.0).last()
    {
        let end = Stmt::Act(last.id, Act::SyncCluster);
        let all = roles.iter_mut().map(|role| &mut role.body);
        match tile.roles() {
            [] => body.push(end),
            _ => all.for_each(|body| body.push(end.clone())),
        }
    }
    let pipe = |at: usize| {
        let pipe = &tile.pipes[at];
        let readers = pipe.readers.unwrap_or_else(|| translator.readers(PipeId(at as u32)));
        let fillers = tile.fillers_of_stage(PipeId(at as u32));
        let by_groups = tile.is_released_by_groups(PipeId(at as u32));
        Pipe { name: pipe.name.clone(), stages: pipe.stages.max(1), readers, fillers, by_groups }
    };
    let protocol = Protocol {
        pipes: (0..tile.pipes.len()).map(pipe).collect(),
        turns: tile.turns.iter().map(|turns| Turns { name: turns.name.clone() }).collect(),
        barriers: tile.named_barrier_ids().map(|id| translator.barrier(id)).collect(),
        groups,
        body,
        roles,
    };
    let launchable = Launchable {
        facts: tile.facts.clone(),
        requires: tile.requires.iter().map(|requirement| requirement.cond.clone()).collect(),
        grid: tile.grid.iter().map(|axis| axis.blocks.clone()).collect(),
        derived: (0..).zip(&tile.grid).map(|(at, axis)| (Symbol::GridDim(at), axis.blocks.clone())).collect(),
        given: vec![(Symbol::Multiprocessors, multiprocessors(tile) * blocks)],
        cluster,
        drawn,
    };
    Some((protocol, launchable))
}

fn multiprocessors(tile: &TileProgram) -> i64 {
    let mut conds = tile.requires.iter().map(|requirement| &requirement.cond);
    let is_bound = conds.any(|cond| cond.symbols().contains(&Symbol::Multiprocessors));
    if is_bound { MANY_MULTIPROCESSORS } else { MULTIPROCESSORS }
}

/// Reports whether others wait for the operation, or it for others, in a way that the machine follows.
fn needs_machine(op: &Op) -> bool {
    match op.kind.description().form {
        Some(Form::Product | Form::BulkStore | Form::BulkAdd | Form::Send) => true,
        Some(Form::CopyInGroup | Form::CopyToBarrier | Form::BulkLoad) | None => {
            matches!(&op.kind, OpKind::Sync(sync) if act_of(sync).is_some())
        }
    }
}

struct Translator<'a> {
    tile: &'a TileProgram,
    /// The counters of the program, by their position.
    drawn: &'a [Drawn],
    data: Data<'a>,
    /// The parameters that a store of one scope writes and another scope uses.
    handed_on: BTreeSet<ParamId>,
}

/// Returns the loads in a loop that acquire a flag in shared memory, each with its tensor.
fn flags(body: &[TileStmt]) -> Vec<(OpId, TensorId)> {
    let loads = body.iter().flat_map(TileStmt::ops).filter_map(|op| {
        let OpKind::Atomic(atomic) = &op.kind else { return None };
        let Base::Shared(tensor) = atomic.memory.base else { return None };
        (atomic.is_load() && atomic.order.acquires()).then_some((op.id, tensor))
    });
    loads.collect()
}

/// Returns the act of an operation on pipelines or turns; `None` for synchronization without a protocol of its own.
fn act_of(op: &SyncOp) -> Option<Act> {
    match op {
        SyncOp::Acquire { pipe, var } => Some(Act::Acquire { pipe: pipe.0, var: Some(var.clone()) }),
        SyncOp::Publish { pipe } => Some(Act::Publish { pipe: pipe.0 }),
        SyncOp::WaitStage { pipe, var } => Some(Act::Wait { pipe: pipe.0, var: Some(var.clone()) }),
        SyncOp::Release { pipe, keep } => Some(Act::Release { pipe: pipe.0, keep: *keep }),
        SyncOp::Skip { pipe, count } => Some(Act::Skip { pipe: pipe.0, count: count.clone() }),
        SyncOp::Take { turns } => Some(Act::Take { turns: turns.0 }),
        SyncOp::Pass { turns } => Some(Act::Pass { turns: turns.0 }),
        SyncOp::SyncAt { barrier } => Some(Act::Come { barrier: barrier.0, waits: true }),
        SyncOp::ArriveAt { barrier } => Some(Act::Come { barrier: barrier.0, waits: false }),
        SyncOp::Scope
        | SyncOp::Warp
        | SyncOp::Commit
        | SyncOp::Wait { .. }
        | SyncOp::GemmWait { .. }
        | SyncOp::WaitStores { .. }
        | SyncOp::WaitPrevious
        | SyncOp::AllowNext => None,
    }
}

impl Translator<'_> {
    fn role(&self, role: &TileRole) -> Role {
        let scope = self.tile.scope(role.scope);
        let each = scope.kind == ScopeKind::Group;
        let group = self.tile.target.limits.group;
        let groups = if each { scope.groups } else { scope.threads.div_ceil(group) };
        let (name, threads) = self.role_name(role);
        let body = self.body(&role.body);
        Role { name, threads, first: scope.first / group, groups, each, index: role.index.clone(), body }
    }

    /// Returns the word of the source for the role, and its threads if several roles have the same word.
    fn role_name(&self, role: &TileRole) -> (String, Option<String>) {
        let word = match role.kind {
            RoleKind::Producer => "producer",
            RoleKind::Consumer => "consumer",
        };
        let roles = self.tile.roles().iter().filter(|other| other.kind == role.kind);
        let scope = self.tile.scope(role.scope);
        let threads = format!("threads {}..{}", scope.first, scope.end());
        (word.to_owned(), (roles.count() > 1).then_some(threads))
    }

    fn barrier(&self, id: NamedBarrierId) -> NamedBarrier {
        let group = u64::from(self.tile.target.limits.group);
        let numbers = |scope: ScopeId| {
            let scope = self.tile.scope(scope);
            u64::from(scope.first) / group..scope.end().div_ceil(group)
        };
        let groups = self.tile.scopes_at(id).into_iter().flat_map(numbers).map(|number| number as u32);
        NamedBarrier { name: self.tile.named_barrier(id).name.clone(), groups: groups.collect() }
    }

    /// Returns the number of groups of all scopes that wait for stages of a pipe.
    fn readers(&self, pipe: PipeId) -> u32 {
        let waits =
            |op: &Op| matches!(&op.kind, OpKind::Sync(SyncOp::WaitStage { pipe: of, .. }) if *of == pipe);
        let ops = self.tile.ops(1.0);
        let mut scopes: Vec<ScopeId> =
            ops.iter().filter(|(op, _)| waits(op)).map(|(op, _)| op.scope).collect();
        scopes.sort();
        scopes.dedup();
        let groups = |scope: &ScopeId| {
            let scope = self.tile.scope(*scope);
            scope.groups * scope.threads.div_ceil(self.tile.target.limits.group)
        };
        scopes.iter().map(groups).sum()
    }

    fn body(&self, body: &[TileStmt]) -> Vec<Stmt> {
        let mut out = Vec::new();
        body.iter().for_each(|stmt| self.stmt(stmt, &mut out));
        out
    }

    fn stmt(&self, stmt: &TileStmt, out: &mut Vec<Stmt>) {
        match stmt {
            TileStmt::Leaf(TileLeaf::Op(op)) => {
                self.op(op, out);
                self.data.op(op, out);
            }
            TileStmt::Control(TileControl::For { var, rounds, body }) => {
                let body = self.body(body);
                // Registers are whole tensors, so every round uses them alike.
                match body.iter().all(|stmt| matches!(stmt, Stmt::Act(_, Act::Touch { .. }))) {
                    true => out.extend(body),
                    false => out.push(match rounds {
                        Rounds::Range { start, end, .. } => {
                            Stmt::For { var: var.clone(), start: start.clone(), end: end.clone(), body }
                        }
                        Rounds::Drawn { counter, .. } => self.drawn[counter.0 as usize].repeat(var, body),
                    }),
                }
            }
            TileStmt::Control(TileControl::If { cond, then, otherwise }) => {
                let (then, otherwise) = (self.body(then), self.body(otherwise));
                if !(then.is_empty() && otherwise.is_empty()) {
                    out.push(Stmt::If { cond: cond.clone(), then, otherwise });
                }
            }
            TileStmt::Control(TileControl::While { cond, body, .. }) => {
                let flags = flags(body);
                let body = self.body(body);
                if flags.is_empty() {
                    out.push(Stmt::While { cond: cond.clone(), body });
                } else {
                    // The loop ends once another scope has raised the flag, however often it runs before.
                    out.extend(body);
                    out.extend(
                        flags.into_iter().map(|(op, tensor)| Stmt::Act(op, Act::AwaitFlag { tensor })),
                    );
                }
            }
            TileStmt::Leaf(TileLeaf::Let { var, value }) => {
                out.push(Stmt::Let { var: var.clone(), value: value.clone() });
            }
            TileStmt::Leaf(TileLeaf::Assign { var, value }) => {
                out.push(Stmt::Assign { var: var.clone(), value: value.clone() });
            }
            TileStmt::Leaf(TileLeaf::LoadScalar { var, src, .. }) => out.push(self.data.element(var, src)),
            TileStmt::Leaf(TileLeaf::LetNumber { var, value } | TileLeaf::AssignNumber { var, value }) => {
                let changes = matches!(stmt, TileStmt::Leaf(TileLeaf::AssignNumber { .. }));
                let number = Number::Computed(value.clone());
                out.push(Stmt::Number { var: var.clone(), changes, number });
            }
            TileStmt::Control(TileControl::Roles(_)) => {}
        }
    }

    fn op(&self, op: &Op, out: &mut Vec<Stmt>) {
        let mut push = |act: Act| out.push(Stmt::Act(op.id, act));
        match &op.kind {
            OpKind::Sync(sync) => match act_of(sync) {
                Some(act) => push(act),
                None => self.effects(&op.kind, op.scope, &mut push),
            },
            OpKind::CopyAsync { src, dst, signal: Some(pipe), multicast } => {
                let into = self.place(dst);
                let elements = dst.shape().iter().fold(1, |all: i64, extent| all.saturating_mul(*extent));
                let bits = match dst.base {
                    Base::Shared(tensor) => self.tile.tensor(tensor).dtype.bits(),
                    Base::Global(_) | Base::Register(_) => 0,
                };
                let bytes = elements.unsigned_abs().saturating_mul(u64::from(bits)) / 8;
                let multicast = multicast.map(|axis| Multicast { axis, source: src.offsets.clone() });
                push(Act::Fill { pipe: pipe.0, into, bytes, multicast });
            }
            OpKind::Gemm { c, a, b, asynchronous, .. } => {
                let mut operands = Operands {
                    c: *c,
                    registers: Vec::new(),
                    shared: Vec::new(),
                    asynchronous: *asynchronous,
                };
                for Operand { view, .. } in [a, b] {
                    match view.register() {
                        Some(tensor) => operands.registers.push(tensor),
                        None => operands.shared.extend(self.place(view)),
                    }
                }
                push(Act::Multiply(operands));
            }
            OpKind::ClusterSum { axis, .. } => {
                self.effects(&op.kind, op.scope, &mut push);
                push(Act::Meet { axis: *axis });
            }
            OpKind::Store { src, dst, adds, .. } => {
                push(Act::Store { from: self.place(src), to: self.far(dst), adds: *adds });
            }
            OpKind::Atomic(atomic) if matches!(atomic.memory.base, Base::Shared(_)) => {
                let registers = op.kind.description().accesses.into_iter();
                for access in registers.filter(|access| access.mode.reads()) {
                    if let Some(tensor) = access.register() {
                        push(Act::Touch { tensor, write: false });
                    }
                }
                let (writes, releases) = (!atomic.is_load(), atomic.order.releases());
                if let Some(place) = self.place(&atomic.memory) {
                    push(Act::Atomic { place, writes, releases });
                }
                for tensor in atomic.results() {
                    push(Act::Touch { tensor, write: true });
                }
            }
            other => self.effects(other, op.scope, &mut push),
        }
    }

    /// Pushes the acts for the accesses of an operation and for the order that it makes, if it has no protocol of its own.
    fn effects(&self, kind: &OpKind, scope: ScopeId, push: &mut dyn FnMut(Act)) {
        let effects = kind.description();
        let mut accesses = effects.accesses.clone();
        // Sources are read before results are written.
        accesses.sort_by_key(|access| access.mode != Mode::Read);
        for access in &accesses {
            let write = access.mode.writes();
            match (access.base(), access.region) {
                (Base::Register(tensor), _) => push(Act::Touch { tensor, write }),
                (Base::Shared(_), hx_tile::Region::View(view)) => match self.place(view) {
                    Some(into) if access.completion == Completion::Group => push(Act::Copy { into }),
                    Some(place) => push(Act::Access { place, write }),
                    None => {}
                },
                (Base::Shared(tensor), hx_tile::Region::Whole(_)) => {
                    push(Act::Access { place: self.whole(tensor), write });
                }
                (Base::Shared(_), hx_tile::Region::Table(rows)) => {
                    if let Some(place) = self.table(rows) {
                        push(Act::Access { place, write });
                    }
                }
                (Base::Global(_), hx_tile::Region::View(view)) => {
                    let mode = access.mode;
                    self.far(view).into_iter().for_each(|far| push(Act::Far { far, mode }));
                }
                // The rest of global memory is not followed.
                (Base::Global(_), hx_tile::Region::Whole(_) | hx_tile::Region::Table(_)) => {}
            }
        }
        match effects.order {
            Order::Scope => push(Act::Sync),
            Order::Warp if self.tile.scope(scope).threads <= self.tile.target.limits.lanes => push(Act::Sync),
            Order::Close => push(Act::Commit),
            Order::Wait(leave) => push(Act::WaitCopies { leave }),
            Order::WaitProducts(leave) => push(Act::WaitProducts { leave }),
            Order::WaitStores { leave, read } => push(Act::WaitStores { leave, read }),
            Order::Nothing | Order::Warp | Order::Await | Order::Arrive => {}
        }
    }

    fn own(&self, tensor: TensorId) -> bool {
        self.tile.scope(self.tile.tensor(tensor).scope).groups > 1
    }

    fn whole(&self, tensor: TensorId) -> Place {
        let shape = self.tile.tensor(tensor).shape.iter();
        let ranges = shape.map(|extent| (Expr::default(), Reach::Run(*extent))).collect();
        Place { tensor, ranges, own: self.own(tensor) }
    }

    /// Returns the elements of a shared tensor that a view shows. Data may pick any of the coordinates that an index can name.
    /// `None` for other memory.
    fn place(&self, view: &View) -> Option<Place> {
        let Base::Shared(tensor) = view.base else { return None };
        let mut place = self.whole(tensor);
        for (dim, range) in place.ranges.iter_mut().enumerate() {
            let start = view.offsets.get(dim).cloned().unwrap_or_default();
            let pick = view.picks().iter().find(|pick| pick.dim == dim);
            let modes: Option<Vec<(i64, i64)>> = match pick {
                Some(Pick { factor, extent, .. }) => {
                    factor.as_const().zip(extent.as_const()).map(|mode| vec![mode])
                }
                None if view.is_picked(dim) => None,
                None => {
                    let own = view.modes.iter().filter(|mode| mode.dim == dim && mode.extent != 1);
                    own.map(|mode| Some((mode.factor.as_const()?, mode.extent))).collect()
                }
            };
            // A part of unknown coordinates may be all of the tensor.
            if let Some(reach) = modes.and_then(|modes| Reach::of(&modes)) {
                *range = (start, reach);
            }
        }
        Some(place)
    }

    /// Returns the part of a shared table from which rows are picked: all elements along [`Rows::along`]. `None` for other
    /// memory.
    fn table(&self, rows: &Rows) -> Option<Place> {
        let Base::Shared(tensor) = rows.base else { return None };
        let mut place = self.whole(tensor);
        for (dim, range) in place.ranges.iter_mut().enumerate().filter(|(dim, _)| *dim != rows.along) {
            *range = (rows.offsets.get(dim).cloned().unwrap_or_default(), Reach::Run(1));
        }
        Some(place)
    }
}
