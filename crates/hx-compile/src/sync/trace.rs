//! The accesses of all threads to shared memory, in the order of the program.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use hx_index::{Cond, Expr, Facts, Symbol, gcd};
use hx_target::{CopyRow, WARP, catalogue};
use hx_thread::{Address, AsyncCopy, Memory, Stmt, ThreadProgram, Transfer};
use hx_tile::OpId;

use super::{
    column::{Column, Named, Scope},
    once::{Equation, Equations},
    scan,
    suppose::{Run, lengths, suppose},
};

/// How often at least a loop is followed whose count only a launch knows, or that runs too long to be followed to its end.
const ROUNDS: i64 = 4;
/// The longest loop that is followed from its beginning to its end. A longer one is followed for its first and its last rounds:
/// what those leave in flight is what comes after it meets.
const WHOLE: i64 = 16;
/// The same for a loop that only begins copies: how many are in flight decides what a `wait` waits for.
const WHOLE_FILLING: i64 = 64;
/// Where constants of the program tell rounds apart, so many are followed at most.
const LONGEST: i64 = 128;

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
    /// An operation has begun all of its asynchronous copies.
    Begun(OpId),
    Access(Access),
    /// A written barrier.
    Barrier(OpId),
    /// A barrier of each warp on its own.
    WarpBarrier,
    Commit(OpId),
    /// The condition that a commit stands under ends here.
    Left(OpId),
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
    /// It happens only in launches that satisfy this one of [`Trace::equations`].
    pub(super) only: Option<Equation>,
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
    /// What accesses need to happen at all.
    pub(super) equations: Equations,
    /// A condition depends on how long a loop of unknown length runs.
    pub(super) asks_for_ends: bool,
    /// A loop of unknown length closes groups of copies: how many there are is for the launch to say.
    pub(super) closes_groups: bool,
    /// Some access may be anywhere.
    pub(super) asks_for_places: bool,
    /// Where a loop of unknown length ends matters to what comes after it: which stage is the last one repeats after so many
    /// of its rounds. One if it does not matter.
    pub(super) stages: i64,
    /// What was supposed, if anything was.
    pub(super) run: Option<Run>,
}

/// What is traced.
#[derive(Clone, Copy)]
pub(super) struct Traced<'a> {
    pub(super) program: &'a ThreadProgram,
    /// What is known of symbols.
    pub(super) facts: &'a Facts,
    /// The first so many shared buffers.
    pub(super) buffers: usize,
    /// Whether an operation is a written barrier.
    pub(super) is_sync: &'a dyn Fn(OpId) -> bool,
}

/// What a program does whatever a launch decides; then, where that leaves something open, what it does in some launches.
pub(super) fn traces(traced: Traced<'_>, poll: &dyn Fn()) -> Vec<Trace> {
    let any = trace(traced, None, poll);
    let (ends, places, stages) = (any.asks_for_ends, any.asks_for_places, any.stages);
    let run = |trips, number| Run { trips, again: false, number, ends, places };
    let mut runs = Vec::new();
    if ends || places {
        runs.push(run(None, 0));
    }
    if places {
        runs.push(run(None, 1));
    }
    // The last rounds may be the first ones.
    let short = ends || any.closes_groups;
    if short {
        runs.extend([(1, 0), (2, 1)].map(|(trips, number)| Run { ends: true, ..run(Some(trips), number) }));
    }
    // Whatever the stage that a loop ends in, what follows it must be ordered.
    if stages > 1 {
        let again = scan::nests_again(&traced.program.body);
        let known = |trips: &i64| !again && short && matches!(trips, 1 | 2);
        let others = lengths(stages).filter(|trips| !known(trips));
        runs.extend(others.map(|trips| Run { again, ends: true, ..run(Some(trips), 0) }));
    }
    std::iter::once(any).chain(runs.into_iter().map(|run| trace(traced, Some(run), poll))).collect()
}

fn trace(traced: Traced<'_>, run: Option<Run>, poll: &dyn Fn()) -> Trace {
    let Traced { program, facts, buffers, is_sync } = traced;
    let sizes = program.shared.iter().take(buffers);
    let threads = Column::Each((0..i64::from(program.threads)).map(Some).collect());
    let mut tracer = Tracer {
        program,
        facts,
        is_sync,
        poll,
        scope: Scope {
            known: vec![Named { symbol: Symbol::Thread, values: threads, guess: None }],
            supposed: Vec::new(),
            anything: run.map(|run| run.number),
        },
        op: OpId(0),
        only: None,
        // A copy is in flight for as many rounds as a wait leaves groups; then one reads it, and one more writes over it.
        rounds: ROUNDS.max(i64::from(scan::deepest_wait(&program.body)) + 2),
        partial: Vec::new(),
        ended: BTreeMap::new(),
        bounds: BTreeSet::new(),
        open: BTreeSet::new(),
        read: BTreeSet::new(),
        written: BTreeSet::new(),
        trace: Trace {
            sizes: sizes.map(|s| (u64::from(s.bytes) * 8 / u64::from(s.dtype.bits())) as usize).collect(),
            complete: true,
            stages: 1,
            run,
            ..Trace::default()
        },
    };
    tracer.suppose_lengths();
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
    tracer.trace.asks_for_ends = !tracer.open.is_disjoint(&tracer.bounds);
    tracer.trace
}

struct Tracer<'a> {
    program: &'a ThreadProgram,
    facts: &'a Facts,
    is_sync: &'a dyn Fn(OpId) -> bool,
    poll: &'a dyn Fn(),
    /// The value of each symbol for each thread, where it is known.
    scope: Scope,
    op: OpId,
    /// What must be so for what is followed to happen.
    only: Option<Equation>,
    /// How often a loop is followed that does not end sooner.
    rounds: i64,
    /// Counters of loops that are not followed to their end.
    partial: Vec<Symbol>,
    /// The buffers that loops of unknown length left, with the number of rounds after which their stages repeat.
    ended: BTreeMap<usize, i64>,
    /// What the counts of loops depend on that only a launch knows.
    bounds: BTreeSet<Symbol>,
    /// What conditions depend on that only a launch decides.
    open: BTreeSet<Symbol>,
    /// Global tensors.
    read: BTreeSet<u32>,
    written: BTreeSet<u32>,
    trace: Trace,
}

impl Tracer<'_> {
    /// Supposes the length of every loop that depends on the launch alone, so that what stands before a loop knows it too.
    fn suppose_lengths(&mut self) {
        let mut loops = Vec::new();
        scan::visit(&self.program.body, &mut |stmt| {
            if let Stmt::For { var, start, end, body, .. } = stmt
                && scan::touches_shared(body)
            {
                loops.push((var, start, end, body));
            }
        });
        // Where the same number says how long two loops run, the inner one is what this run is for.
        if self.trace.run.is_some_and(|run| run.again) {
            loops.sort_by_key(|(.., body)| scan::nests(body));
        }
        for (var, start, end, body) in loops {
            let local = |symbol: &Symbol| matches!(symbol, Symbol::Var(..));
            if !start.symbols().iter().chain(&end.symbols()).any(local) {
                self.suppose_length(start, end, body, var);
            }
        }
    }

    /// Supposes that a loop has as many rounds as show what it does, or as this run wants, if they are not known.
    fn suppose_length(&mut self, start: &Expr, end: &Expr, body: &[Stmt], var: &Symbol) {
        let Some(run) = self.trace.run else { return };
        if self.scope.in_run().uniform(start).is_none() {
            suppose(start, run.number, &mut self.scope, self.facts);
        }
        if let (Some(first), None) = (self.scope.in_run().uniform(start), self.scope.in_run().uniform(end)) {
            let trips = run.trips.filter(|_| !run.again || !scan::nests(body));
            let trips = trips.unwrap_or_else(|| self.rounds_of(body, Some(var)).0);
            suppose(end, first.saturating_add(trips), &mut self.scope, self.facts);
        }
    }

    /// How many rounds of a loop show what it does, but for its last ones, and after how many it repeats.
    fn rounds_of(&self, body: &[Stmt], counter: Option<&Symbol>) -> (i64, i64) {
        let rounds = scan::rounds(body, counter, None);
        (self.rounds.max(rounds.settled.min(LONGEST)), rounds.period)
    }

    /// A loop ends that may have run longer or shorter.
    fn leave(&mut self, body: &[Stmt], counter: Option<&Symbol>) {
        self.trace.closes_groups |= scan::closes_groups(body);
        for buffer in scan::buffers(body) {
            let period = scan::rounds(body, counter, Some(buffer)).period;
            let ended = self.ended.entry(buffer as usize).or_insert(1);
            *ended = scan::common(*ended, period);
        }
    }

    fn body(&mut self, body: &[Stmt], out: &mut Vec<Event>) {
        let depth = self.scope.known.len();
        for stmt in body {
            self.stmt(stmt, out);
        }
        self.scope.known.truncate(depth);
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Vec<Event>) {
        match stmt {
            Stmt::Group(group) => {
                (self.poll)();
                let outer = std::mem::replace(&mut self.op, group.op);
                out.push(Event::Begin(group.op));
                self.body(&group.body, out);
                self.op = outer;
                if scan::copies(&group.body) {
                    out.push(Event::Begun(group.op));
                }
            }
            Stmt::Let { var, value } => {
                if self.partial.iter().any(|partial| value.mentions(partial)) {
                    self.partial.push(var.clone());
                }
                self.scope.name(var, value);
            }
            Stmt::Assign { var, value } => self.scope.assign(var, value),
            Stmt::LoadInteger { var, address } => {
                self.global(address, false);
                self.scope.read(var);
            }
            Stmt::LoadIndex { var, address, guard } => {
                let dtype = self.program.memory_dtype(address.memory);
                let bytes = dtype.map_or(1, |d| d.bits().div_ceil(8));
                let read = Move { bytes, collective: false, addressing: WARP, write: false };
                self.access(address, read, guard, false, out);
                self.scope.read(var);
            }
            // What data decide is known only at run time.
            Stmt::LetNumber { var, .. } | Stmt::AssignNumber { var, .. } => self.scope.forget(var),
            Stmt::For { var, start, end, body, .. } => self.counted(var, start, end, body, out),
            Stmt::While { cond, body } => self.repeated(cond, body, out),
            Stmt::If { cond, then, otherwise } => self.branch(cond, then, otherwise, out),
            // A barrier inside another operation is the compiler's own and orders only its scratch memory.
            Stmt::Barrier if (self.is_sync)(self.op) => {
                self.trace.barriers.insert(self.op);
                out.push(Event::Barrier(self.op));
            }
            Stmt::WarpBarrier => out.push(Event::WarpBarrier),
            Stmt::Commit => out.push(Event::Commit(self.op)),
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

    fn branch(&mut self, cond: &Cond, then: &[Stmt], otherwise: &[Stmt], out: &mut Vec<Event>) {
        match self.scope.in_run().holds(cond).get(0) {
            Some(true) => self.body(then, out),
            Some(false) => self.body(otherwise, out),
            None => {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                let before = self.scope.known.clone();
                let outer = self.only;
                let (holds, fails) = self.trace.equations.of(cond, &self.scope);
                self.only = holds.or(outer);
                self.body(then, &mut a);
                let after = std::mem::replace(&mut self.scope.known, before);
                self.only = fails.or(outer);
                self.body(otherwise, &mut b);
                self.only = outer;
                self.scope.join(&after);
                self.condition(cond);
                out.push(Event::Either(a, b));
            }
        }
        out.extend(scan::commit_of(then, otherwise).map(Event::Left));
    }

    fn repeated(&mut self, cond: &Cond, body: &[Stmt], out: &mut Vec<Event>) {
        if !scan::touches_shared(body) {
            return;
        }
        self.bounds.extend(cond.symbols());
        // What the rounds change is known for those that are followed only.
        let depth = self.partial.len();
        scan::assigned(body, &mut self.partial);
        let wanted = self.trace.run.filter(|run| !run.again || !scan::nests(body)).and_then(|run| run.trips);
        let most = wanted.unwrap_or_else(|| self.rounds_of(body, None).0);
        for round in 0..most.max(WHOLE) {
            let goes_on = self.scope.in_run().holds(cond).get(0);
            if (round > 0 && goes_on == Some(false)) || (round >= most && goes_on.is_none()) {
                break;
            }
            self.body(body, out);
        }
        self.partial.truncate(depth);
        self.leave(body, None);
    }

    /// Notes a condition that only a launch decides.
    fn condition(&mut self, cond: &Cond) {
        let symbols = cond.symbols();
        let varies = |symbol: &Symbol| self.scope.known.iter().any(|known| known.symbol == *symbol);
        let cond = (!symbols.iter().any(varies)).then(|| cond.clone());
        self.open.extend(symbols);
        let conditions = &mut self.trace.conditions;
        if cond.is_none() || !conditions.contains(&cond) {
            conditions.push(cond);
        }
    }

    fn counted(&mut self, var: &Symbol, start: &Expr, end: &Expr, body: &[Stmt], out: &mut Vec<Event>) {
        let named = self.scope.known.len();
        if !scan::touches_shared(body) {
            // Nothing to order, but global memory may be touched.
            self.scope.read(var);
            self.body(body, &mut Vec::new());
            return self.scope.known.truncate(named);
        }
        let supposed = self.scope.supposed.len();
        self.suppose_length(start, end, body, var);
        let view = self.scope.in_run();
        let trips =
            view.uniform(start).zip(view.uniform(end)).map(|(first, last)| last.saturating_sub(first).max(0));
        let certain = self.scope.certain();
        let open = certain.uniform(start).is_none() || certain.uniform(end).is_none();
        if open {
            self.bounds.extend(start.symbols());
            self.bounds.extend(end.symbols());
        }
        let (head, tail) = self.followed(trips, body, var);
        let depth = self.partial.len();
        if trips != Some(head) {
            self.partial.push(var.clone());
        }
        for round in (0..head).chain(tail) {
            self.scope.name(var, &(start.clone() + Expr::constant(round)));
            self.body(body, out);
            self.scope.known.truncate(named);
        }
        self.partial.truncate(depth);
        self.scope.supposed.truncate(supposed);
        if open {
            self.leave(body, Some(var));
        }
    }

    /// The rounds of a loop that are followed: so many from its beginning, and, if it is longer than that, its last ones. In
    /// between as many are left out as its stages repeat after, so that the last ones find them where they would be.
    fn followed(&self, trips: Option<i64>, body: &[Stmt], var: &Symbol) -> (i64, Range<i64>) {
        let whole = if scan::begins_copies_only(body) { WHOLE_FILLING } else { WHOLE };
        if let Some(trips) = trips.filter(|trips| *trips <= whole) {
            return (trips, 0..0);
        }
        let (rounds, period) = self.rounds_of(body, Some(var));
        let Some(trips) = trips.filter(|trips| *trips > rounds) else {
            return (trips.unwrap_or(rounds), 0..0);
        };
        let left_out = (trips - 2 * rounds).max(0) / period * period;
        if trips - left_out > 2 * rounds + LONGEST {
            return (rounds, 0..0);
        }
        (rounds, rounds + left_out..trips)
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
        if let Some(stages) = self.ended.get(&buffer) {
            self.trace.stages = scan::common(self.trace.stages, *stages);
        }
        if self.partial.iter().any(|var| address.offset.mentions(var)) {
            self.trace.complete = false;
        }
        let guards = self.scope.certain().holds(guard);
        let firsts = self.scope.places().values(&address.offset);
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
        let (op, only) = (self.op, self.only);
        let access =
            Access { buffer, op, collective, write, asynchronous, anywhere: false, only, len, threads };
        if !access.threads.is_empty() {
            out.push(Event::Access(access.clone()));
        }
        if let Some(thread) = anywhere {
            self.trace.asks_for_places = true;
            let len = self.trace.sizes[buffer] as i64;
            out.push(Event::Access(Access { anywhere: true, len, threads: vec![(thread, 0)], ..access }));
        }
    }
}
