//! The accesses of all threads to shared memory, in the order of the program.

use std::collections::BTreeSet;

use hx_index::{Cond, Expr, Symbol, gcd};
use hx_target::{CopyRow, WARP, catalogue};
use hx_thread::{Address, AsyncCopy, Memory, Stmt, ThreadProgram, Transfer};
use hx_tile::OpId;

use super::column::{self, Column, Scope};

/// How often at least a loop is followed whose count only a launch knows, or that runs too long to be followed to its end.
const ROUNDS: i64 = 4;
/// The longest loop that is followed to its end: what its last rounds leave in flight is what comes after it meets.
const WHOLE: i64 = 16;
/// The same for a loop that only begins copies: how many are in flight decides what a `wait` waits for.
const WHOLE_FILLING: i64 = 64;

/// Rows of a matrix that a warp moves at once, and the bytes of it that each lane holds.
const MATRIX_ROWS: u32 = 8;
const MATRIX_BYTES_PER_LANE: u32 = 4;

/// How an instruction reaches memory.
#[derive(Clone, Copy)]
struct Move {
    /// Of one address.
    bytes: u32,
    /// Lanes move what others address.
    collective: bool,
    /// So many lanes of a warp say where something lies; what the others compute is no address.
    addressing: u32,
    write: bool,
}

impl Move {
    fn of(row: &CopyRow, write: bool) -> Move {
        let collective = row.is_collective();
        // Every row of a matrix has its lane.
        let addressing = if collective { MATRIX_ROWS * row.bytes / MATRIX_BYTES_PER_LANE } else { WARP };
        Move { bytes: row.access, collective, addressing, write }
    }
}

/// What happens, in order.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// An operation begins.
    Begin(OpId),
    Access(Access),
    /// A written barrier.
    Barrier(OpId),
    /// A barrier of each warp on its own.
    WarpBarrier,
    Commit,
    /// Waits until at most so many groups are in flight.
    Wait(OpId, u32),
    /// One of the two happens, and only a launch knows which; the condition is in [`Trace::conditions`].
    Either(Vec<Event>, Vec<Event>),
}

/// One access of each of some threads: elements of one buffer, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Access {
    pub(super) buffer: usize,
    /// The operation that it belongs to.
    pub(super) op: OpId,
    /// Other lanes take part in what a thread does.
    pub(super) collective: bool,
    pub(super) write: bool,
    /// Done only when waited for.
    pub(super) asynchronous: bool,
    /// Where in the buffer only a launch knows, so it may be anywhere: all of the buffer is listed.
    pub(super) anywhere: bool,
    /// Elements of each thread.
    pub(super) len: i64,
    /// The threads in their order, with the first element of each.
    pub(super) threads: Vec<(u32, i64)>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Trace {
    pub(super) events: Vec<Event>,
    /// Elements of each buffer.
    pub(super) sizes: Vec<usize>,
    /// For each buffer a number of elements that divides its size and the start and length of every access.
    pub(super) units: Vec<i64>,
    /// The written barriers that were met.
    pub(super) barriers: BTreeSet<OpId>,
    /// Nothing was left out that a barrier could be there for.
    pub(super) complete: bool,
    /// The conditions that only a launch decides, each once; nothing for one that is not the same wherever it is met.
    pub(super) conditions: Vec<Option<Cond>>,
}

/// Lists what a program does to its first `buffers` shared buffers.
pub(super) fn trace(
    program: &ThreadProgram,
    buffers: usize,
    is_sync: &dyn Fn(OpId) -> bool,
    poll: &dyn Fn(),
) -> Trace {
    let sizes = program.shared.iter().take(buffers);
    let mut tracer = Tracer {
        program,
        is_sync,
        poll,
        scope: vec![(Symbol::Thread, Column::Each((0..i64::from(program.threads)).map(Some).collect()))],
        op: OpId(0),
        // A copy is in flight for as many rounds as a wait leaves groups; then one reads it, and one more writes over it.
        rounds: ROUNDS.max(i64::from(deepest_wait(&program.body)) + 2),
        partial: Vec::new(),
        bounds: BTreeSet::new(),
        read: BTreeSet::new(),
        written: BTreeSet::new(),
        trace: Trace {
            sizes: sizes.map(|s| (u64::from(s.bytes) * 8 / u64::from(s.dtype.bits())) as usize).collect(),
            complete: true,
            ..Trace::default()
        },
    };
    tracer.trace.units = tracer.trace.sizes.iter().map(|&size| size as i64).collect();
    let mut events = Vec::new();
    tracer.body(&program.body, &mut events);
    // A barrier also orders what threads hand each other through global memory.
    tracer.trace.complete &= tracer.read.is_disjoint(&tracer.written);
    tracer.trace.events = events;
    // A way on which a loop would not run at all is followed as if it did, so it proves nothing.
    let mut decide = BTreeSet::new();
    tracer.trace.conditions.iter().flatten().for_each(|cond| decide.extend(cond.symbols()));
    if !decide.is_disjoint(&tracer.bounds) {
        tracer.trace.conditions.push(None);
    }
    tracer.trace
}

struct Tracer<'a> {
    program: &'a ThreadProgram,
    is_sync: &'a dyn Fn(OpId) -> bool,
    poll: &'a dyn Fn(),
    /// The value of each symbol for each thread, where it is known; inner scopes come last.
    scope: Scope,
    op: OpId,
    /// How often a loop is followed that does not end sooner.
    rounds: i64,
    /// Counters of loops that are not followed to their end.
    partial: Vec<Symbol>,
    /// What the counts of loops depend on that only a launch knows.
    bounds: BTreeSet<Symbol>,
    /// Global tensors.
    read: BTreeSet<u32>,
    written: BTreeSet<u32>,
    trace: Trace,
}

impl Tracer<'_> {
    /// A value that is the same for all threads, as that of the first.
    fn uniform(&self, expr: &Expr) -> Option<i64> {
        column::values(expr, &self.scope).get(0)
    }

    fn body(&mut self, body: &[Stmt], out: &mut Vec<Event>) {
        let depth = self.scope.len();
        for stmt in body {
            self.stmt(stmt, out);
        }
        self.scope.truncate(depth);
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Vec<Event>) {
        match stmt {
            Stmt::Group(group) => {
                (self.poll)();
                let outer = std::mem::replace(&mut self.op, group.op);
                out.push(Event::Begin(group.op));
                self.body(&group.body, out);
                self.op = outer;
            }
            Stmt::Let { var, value } => {
                let values = column::values(value, &self.scope);
                if self.partial.iter().any(|partial| value.mentions(partial)) {
                    self.partial.push(var.clone());
                }
                self.scope.push((var.clone(), values));
            }
            Stmt::Assign { var, value } => {
                let values = column::values(value, &self.scope);
                self.assign(var, values);
            }
            Stmt::LoadInteger { var, address } => {
                self.global(address, false);
                self.scope.push((var.clone(), Column::Same(None)));
            }
            Stmt::LoadIndex { var, address, guard } => {
                let dtype = self.program.memory_dtype(address.memory);
                let bytes = dtype.map_or(1, |d| d.bits().div_ceil(8));
                let read = Move { bytes, collective: false, addressing: WARP, write: false };
                self.access(address, read, guard, false, out);
                self.scope.push((var.clone(), Column::Same(None)));
            }
            // What data decide is known only at run time.
            Stmt::LetNumber { var, .. } => self.scope.push((var.clone(), Column::Same(None))),
            Stmt::AssignNumber { var, .. } => self.assign(var, Column::Same(None)),
            Stmt::For { var, start, end, body, .. } => self.counted(var, start, end, body, out),
            Stmt::While { cond, body } => {
                if touches_shared(body) {
                    self.bounds.extend(cond.symbols());
                    // What the rounds change is known for those that are followed only.
                    let depth = self.partial.len();
                    assigned(body, &mut self.partial);
                    (0..self.rounds).for_each(|_| self.body(body, out));
                    self.partial.truncate(depth);
                }
            }
            Stmt::If { cond, then, otherwise } => match column::holds(cond, &self.scope).get(0) {
                Some(true) => self.body(then, out),
                Some(false) => self.body(otherwise, out),
                None => {
                    let (mut a, mut b) = (Vec::new(), Vec::new());
                    self.body(then, &mut a);
                    self.body(otherwise, &mut b);
                    self.condition(cond);
                    out.push(Event::Either(a, b));
                }
            },
            // A barrier inside another operation is the compiler's own and orders only its scratch memory.
            Stmt::Barrier if (self.is_sync)(self.op) => {
                self.trace.barriers.insert(self.op);
                out.push(Event::Barrier(self.op));
            }
            Stmt::WarpBarrier => out.push(Event::WarpBarrier),
            Stmt::Commit => out.push(Event::Commit),
            Stmt::Wait { groups } => out.push(Event::Wait(self.op, *groups)),
            Stmt::Transfer(transfer) => self.transfer(transfer, out),
            Stmt::AsyncCopy(copy) => self.async_copy(copy, out),
            Stmt::Barrier
            | Stmt::Multiply(_)
            | Stmt::Convert(_)
            | Stmt::Fill(_)
            | Stmt::Compute(_)
            | Stmt::Exchange(_)
            // They read registers and write a buffer that no other statement touches.
            | Stmt::Log(_)
            | Stmt::Put(_) => {}
        }
    }

    /// Notes a condition that only a launch decides.
    fn condition(&mut self, cond: &Cond) {
        let symbols = cond.symbols();
        let varies = |symbol: &Symbol| self.scope.iter().any(|(known, _)| known == symbol);
        let cond = (!symbols.iter().any(varies)).then(|| cond.clone());
        let conditions = &mut self.trace.conditions;
        if cond.is_none() || !conditions.contains(&cond) {
            conditions.push(cond);
        }
    }

    fn assign(&mut self, var: &Symbol, values: Column<i64>) {
        match self.scope.iter_mut().rev().find(|(known, _)| known == var) {
            Some((_, known)) => *known = values,
            None => self.scope.push((var.clone(), values)),
        }
    }

    fn counted(&mut self, var: &Symbol, start: &Expr, end: &Expr, body: &[Stmt], out: &mut Vec<Event>) {
        if !touches_shared(body) {
            // Nothing to order, but global memory may be touched.
            let mut nothing = Vec::new();
            self.scope.push((var.clone(), Column::Same(None)));
            self.body(body, &mut nothing);
            self.scope.pop();
            return;
        }
        let (first, last) = (self.uniform(start), self.uniform(end));
        let trips = first.zip(last).map(|(first, last)| (last - first).max(0));
        if trips.is_none() {
            self.bounds.extend(start.symbols());
            self.bounds.extend(end.symbols());
        }
        let longest = if begins_copies_only(body) { WHOLE_FILLING } else { WHOLE };
        let rounds = trips.map_or(self.rounds, |trips| if trips <= longest { trips } else { self.rounds });
        let whole = trips == Some(rounds);
        let depth = self.partial.len();
        if !whole {
            self.partial.push(var.clone());
        }
        for round in 0..rounds {
            let value = first.and_then(|first| first.checked_add(round));
            self.scope.push((var.clone(), Column::Same(value)));
            self.body(body, out);
            self.scope.pop();
        }
        self.partial.truncate(depth);
    }

    fn transfer(&mut self, transfer: &Transfer, out: &mut Vec<Event>) {
        let Some(row) = catalogue().copy(&transfer.row) else { return };
        let access = Move::of(row, !row.is_load());
        self.access(&transfer.address, access, &transfer.guard, false, out);
    }

    fn async_copy(&mut self, copy: &AsyncCopy, out: &mut Vec<Event>) {
        let Some(row) = catalogue().copy(&copy.row) else { return };
        self.global(&copy.src, false);
        self.access(&copy.dst, Move::of(row, true), &copy.active, true, out);
    }

    fn global(&mut self, address: &Address, write: bool) {
        if let Memory::Global(param) = address.memory {
            if write {
                self.written.insert(param)
            } else {
                self.read.insert(param)
            };
        }
    }

    fn access(
        &mut self,
        address: &Address,
        Move { bytes, collective, addressing, write }: Move,
        guard: &Cond,
        asynchronous: bool,
        out: &mut Vec<Event>,
    ) {
        let buffer = match address.memory {
            Memory::Global(_) => return self.global(address, write),
            Memory::Shared(buffer) => buffer as usize,
        };
        let (Some(shared), true) = (self.program.shared.get(buffer), buffer < self.trace.sizes.len()) else {
            return;
        };
        let len = i64::from(bytes * 8 / shared.dtype.bits()).max(1);
        if self.partial.iter().any(|var| address.offset.mentions(var)) {
            self.trace.complete = false;
        }
        let guards = column::holds(guard, &self.scope);
        let firsts = column::values(&address.offset, &self.scope);
        let mut threads = Vec::new();
        let mut anywhere = None;
        for thread in 0..self.program.threads {
            // A guard that only a launch decides is taken to hold.
            if guards.get(thread as usize) == Some(false) || thread % WARP >= addressing {
                continue;
            }
            match firsts.get(thread as usize) {
                Some(first) => threads.push((thread, first)),
                None => {
                    // One thread stands for all: wherever they look, any of them may.
                    anywhere = Some(thread);
                    break;
                }
            }
        }
        let unit = &mut self.trace.units[buffer];
        *unit = threads.iter().fold(gcd(*unit, len), |unit, (_, first)| gcd(unit, *first));
        let op = self.op;
        let access = Access { buffer, op, collective, write, asynchronous, anywhere: false, len, threads };
        if !access.threads.is_empty() {
            out.push(Event::Access(access.clone()));
        }
        if let Some(thread) = anywhere {
            let len = self.trace.sizes[buffer] as i64;
            out.push(Event::Access(Access { anywhere: true, len, threads: vec![(thread, 0)], ..access }));
        }
    }
}

/// The locals that a body changes.
fn assigned(body: &[Stmt], out: &mut Vec<Symbol>) {
    visit(body, &mut |stmt| {
        if let Stmt::Assign { var, .. } = stmt {
            out.push(var.clone());
        }
    });
}

/// Shows every statement of a body, and of the bodies in it.
fn visit(body: &[Stmt], see: &mut impl FnMut(&Stmt)) {
    for stmt in body {
        see(stmt);
        match stmt {
            Stmt::Group(group) => visit(&group.body, see),
            Stmt::For { body, .. } | Stmt::While { body, .. } => visit(body, see),
            Stmt::If { then, otherwise, .. } => {
                visit(then, see);
                visit(otherwise, see);
            }
            _ => {}
        }
    }
}

/// The most groups that a wait leaves in flight.
fn deepest_wait(body: &[Stmt]) -> u32 {
    let mut deepest = 0;
    visit(body, &mut |stmt| {
        if let Stmt::Wait { groups } = stmt {
            deepest = deepest.max(*groups);
        }
    });
    deepest
}

/// Whether a body begins copies and waits for nothing.
fn begins_copies_only(body: &[Stmt]) -> bool {
    let (mut commits, mut waits) = (false, false);
    visit(body, &mut |stmt| match stmt {
        Stmt::Commit => commits = true,
        Stmt::Wait { .. } | Stmt::Barrier | Stmt::WarpBarrier => waits = true,
        _ => {}
    });
    commits && !waits
}

/// Whether a body does anything that belongs in a trace.
fn touches_shared(body: &[Stmt]) -> bool {
    let shared = |address: &Address| matches!(address.memory, Memory::Shared(_));
    let mut touches = false;
    visit(body, &mut |stmt| {
        touches |= match stmt {
            Stmt::Transfer(transfer) => shared(&transfer.address),
            Stmt::LoadIndex { address, .. } => shared(address),
            Stmt::AsyncCopy(_) | Stmt::Barrier | Stmt::WarpBarrier | Stmt::Commit | Stmt::Wait { .. } => true,
            _ => false,
        };
    });
    touches
}
