//! Lists the accesses of all threads to shared memory, in program order.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    rc::Rc,
};

use hx_index::{Cond, Expr, Facts, Symbol, gcd};
use hx_target::{CopyRow, catalogue};
use hx_thread::{
    Address, AsyncCopy, Drawn, Memory, MultiplyAsync, Stmt, ThreadProgram, Transfer, Warps, visit,
};
use hx_tile::{Completion, OpId};

use crate::column::{Column, Named, Scope, is_among};
use crate::event::{Access, Event};
use crate::once::{Equation, Equations};
use crate::products::{self, Reads};
use crate::scan;
use crate::suppose::{Run, lengths, suppose};

/// The least number of rounds for which a loop is followed if only a launch knows its trip count or if it is too long to
/// follow to its end.
const ROUNDS: i64 = 4;
/// The longest loop that is followed from its beginning to its end. A longer loop is followed for its first and its last
/// rounds: the code after the loop meets what its last rounds leave in flight.
const WHOLE: i64 = 16;
/// As [`WHOLE`], for a loop that only begins copies: the number of groups in flight decides which of them a `wait` covers.
const WHOLE_FILLING: i64 = 64;
/// The most rounds that are followed because constants of the program distinguish them.
const LONGEST: i64 = 128;

/// How an instruction accesses memory.
#[derive(Clone, Copy)]
struct Move {
    /// The bytes at one address.
    bytes: u32,
    /// `(n, k)`: `n` threads move data together, and the first `k` of them supply an address that counts.
    addressing: (u32, u32),
    write: bool,
    completion: Completion,
}

impl Move {
    fn of(row: &CopyRow, write: bool, completion: Completion) -> Move {
        Move { bytes: row.access, addressing: row.addressing(), write, completion }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Trace {
    pub(crate) events: Vec<Event>,
    /// The number of threads of the block.
    pub(crate) threads: u32,
    /// The size of each buffer, in elements.
    pub(crate) sizes: Vec<usize>,
    /// For each buffer a number of elements that divides its size and the start and length of every access.
    pub(crate) units: Vec<i64>,
    /// The barriers of the source that the trace passes.
    pub(crate) barriers: BTreeSet<OpId>,
    /// Whether the trace has every access that a barrier may be needed for.
    pub(crate) complete: bool,
    /// The conditions that only a launch decides, each once; `None` for a condition that may change between two evaluations.
    pub(crate) conditions: Vec<Option<Cond>>,
    /// The equations that [`Access::only`] refers to.
    pub(crate) equations: Equations,
    /// Whether a condition depends on the trip count of a loop of unknown length.
    pub(crate) asks_for_ends: bool,
    /// Whether a loop of unknown length closes groups of copies, so that only a launch knows their number.
    pub(crate) closes_groups: bool,
    /// Whether some access is at an unknown address.
    pub(crate) asks_for_places: bool,
    /// After a loop of unknown trip count, the index of the last stage is periodic in the trip count. This is the period; 1
    /// if nothing after the loop depends on it.
    pub(crate) stages: i64,
    /// The assumptions of the trace; `None` if it holds for every launch.
    pub(crate) run: Option<Run>,
}

/// The program to trace.
#[derive(Clone, Copy)]
pub(crate) struct Traced<'a> {
    pub(crate) program: &'a ThreadProgram,
    /// The facts about symbols.
    pub(crate) facts: &'a Facts,
    /// The number of shared buffers to trace, counted from the first.
    pub(crate) buffers: usize,
    /// Reports whether an operation is a barrier of the source.
    pub(crate) is_sync: &'a dyn Fn(OpId) -> bool,
}

/// Returns the trace that holds for every launch, followed by traces under assumptions about what the first leaves open.
pub(crate) fn traces(traced: Traced<'_>, poll: &dyn Fn()) -> Vec<Trace> {
    let reads = Reads::default();
    let any = trace(traced, None, &reads, poll);
    let (ends, places, stages) = (any.asks_for_ends, any.asks_for_places, any.stages);
    let run = |trips, number| Run { trips, again: false, number, ends, places };
    let mut runs = Vec::new();
    if ends || places {
        runs.push(run(None, 0));
    }
    if places {
        runs.push(run(None, 1));
    }
    // In a short loop the last rounds are the first ones.
    let short = ends || any.closes_groups;
    if short {
        runs.extend([(1, 0), (2, 1)].map(|(trips, number)| Run { ends: true, ..run(Some(trips), number) }));
    }
    // The code after a loop must be ordered in whichever stage the loop ends.
    if stages > 1 {
        let again = scan::nests_again(&traced.program.body);
        let known = |trips: &i64| !again && short && matches!(trips, 1 | 2);
        let others = lengths(stages).filter(|trips| !known(trips));
        runs.extend(others.map(|trips| Run { again, ends: true, ..run(Some(trips), 0) }));
    }
    std::iter::once(any).chain(runs.into_iter().map(|run| trace(traced, Some(run), &reads, poll))).collect()
}

fn trace<'a>(traced: Traced<'a>, run: Option<Run>, reads: &Reads<'a>, poll: &dyn Fn()) -> Trace {
    let Traced { program, facts, buffers, is_sync } = traced;
    let sizes = program.shared.iter().take(buffers);
    let threads = Column::Each((0..i64::from(program.block_threads())).map(Some).collect());
    let mut tracer = Tracer {
        program,
        facts,
        is_sync,
        reads,
        poll,
        scope: Scope {
            known: vec![Named { symbol: Symbol::Thread, values: threads, guess: None }],
            supposed: Vec::new(),
            anything: run.map(|run| run.number),
            running: None,
        },
        op: OpId(0),
        only: None,
        // A copy stays in flight for as many rounds as a wait leaves groups. One more round reads its data, and another one
        // overwrites them.
        rounds: ROUNDS.max(i64::from(scan::deepest_wait(&program.body)) + 2),
        partial: Vec::new(),
        ended: BTreeMap::new(),
        bounds: BTreeSet::new(),
        open: BTreeSet::new(),
        read: BTreeSet::new(),
        written: BTreeSet::new(),
        trace: Trace {
            threads: program.block_threads(),
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
    // A barrier also orders accesses of different threads to global memory, which this trace does not list.
    tracer.trace.complete &= tracer.read.is_disjoint(&tracer.written);
    products::units(&events, &mut tracer.trace.units);
    tracer.trace.events = events;
    // A branch in which a loop would have no rounds is followed as if it had some, so it proves nothing on its own. A second
    // condition makes `check` join the branches.
    let mut decide = BTreeSet::new();
    tracer.trace.conditions.iter().flatten().for_each(|cond| decide.extend(cond.symbols()));
    if !decide.is_disjoint(&tracer.bounds) {
        tracer.trace.conditions.push(None);
    }
    tracer.trace.asks_for_ends = !tracer.open.is_disjoint(&tracer.bounds);
    tracer.trace
}

/// The truth of a condition in the threads that run.
enum Truth {
    Same(bool),
    /// The condition depends on the thread. The two sets have the threads in which it holds, and in which it fails.
    Differs {
        holds: Vec<bool>,
        fails: Vec<bool>,
    },
    /// Only a launch decides it, at least in some thread.
    Unknown,
}

struct Tracer<'a, 'r> {
    program: &'a ThreadProgram,
    facts: &'a Facts,
    is_sync: &'a dyn Fn(OpId) -> bool,
    reads: &'r Reads<'a>,
    poll: &'r dyn Fn(),
    /// The value of each symbol for each thread, where it is known.
    scope: Scope,
    op: OpId,
    /// The equation that holds wherever the statements being followed run.
    only: Option<Equation>,
    /// The number of rounds for which a loop is followed if it does not end sooner.
    rounds: i64,
    /// The counters of loops that are not followed to their end, and locals that depend on the rounds of such loops.
    partial: Vec<Symbol>,
    /// The buffers that loops of unknown length accessed, with the number of rounds after which their stages repeat.
    ended: BTreeMap<usize, i64>,
    /// The symbols that trip counts depend on and that only a launch determines.
    bounds: BTreeSet<Symbol>,
    /// The symbols of conditions that only a launch decides.
    open: BTreeSet<Symbol>,
    /// Global tensors that are read; `written` has those that are written.
    read: BTreeSet<u32>,
    written: BTreeSet<u32>,
    trace: Trace,
}

impl<'a> Tracer<'a, '_> {
    /// Assumes the trip count of every loop whose bounds depend on the launch alone, so that statements before a loop see
    /// the same values as the loop.
    fn suppose_lengths(&mut self) {
        let mut loops = Vec::new();
        visit(&self.program.body, &mut |stmt| {
            if let Stmt::For { var, start, end, body, .. } = stmt
                && scan::touches_shared(body)
            {
                loops.push((var, start, end, body));
            }
        });
        // If one number bounds an inner and an outer loop, the inner loop decides its value: this run is about inner loops.
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

    /// Assumes a trip count for a loop if its bounds are unknown: the run's, or enough rounds to show what the loop does.
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

    /// Returns how many rounds of a loop show its behaviour, except at its end, and the number of rounds after which it
    /// repeats.
    fn rounds_of(&self, body: &[Stmt], counter: Option<&Symbol>) -> (i64, i64) {
        let mut rounds = scan::rounds(body, counter, None);
        // A ring repeats after its stages, and its second round is the first that waits for stages that were given back.
        for stages in scan::rings(body, &self.program.barriers) {
            rounds.period = scan::common(rounds.period, stages);
            rounds.settled = rounds.settled.max(2 * stages + 1);
        }
        (self.rounds.max(rounds.settled.min(LONGEST)), rounds.period)
    }

    /// Records the end of a loop whose trip count may differ between launches.
    fn leave(&mut self, body: &[Stmt], counter: Option<&Symbol>) {
        self.trace.closes_groups |= scan::closes_groups(body);
        for buffer in scan::buffers(body) {
            let period = scan::rounds(body, counter, Some(buffer)).period;
            let ended = self.ended.entry(buffer as usize).or_insert(1);
            *ended = scan::common(*ended, period);
        }
    }

    fn body(&mut self, body: &'a [Stmt], out: &mut Vec<Event>) {
        let depth = self.scope.known.len();
        for stmt in body {
            self.stmt(stmt, out);
        }
        self.scope.known.truncate(depth);
    }

    fn stmt(&mut self, stmt: &'a Stmt, out: &mut Vec<Event>) {
        match stmt {
            Stmt::Group(group) => {
                (self.poll)();
                let outer = std::mem::replace(&mut self.op, group.op);
                out.push(Event::Begin(group.op));
                let from = out.len();
                self.body(&group.body, out);
                self.reads.merge(out, from);
                self.op = outer;
                if scan::copies(&group.body) {
                    out.push(Event::Begun(group.op));
                }
            }
            Stmt::Let { var, value } | Stmt::Uniform { var, value } => {
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
                let completion = Completion::AtOnce;
                let read = Move { bytes, addressing: (1, 1), write: false, completion };
                self.access(address, read, guard, out);
                self.scope.read(var);
            }
            // Numbers computed from data are known only at run time.
            Stmt::LetNumber { var, .. } | Stmt::AssignNumber { var, .. } => self.scope.forget(var),
            Stmt::For { var, start, end, body, .. } => self.counted((var, None), start, end, body, out),
            Stmt::Drawn(drawn) => self.drawn(drawn, out),
            Stmt::While { cond, body } => self.repeated(cond, body, out),
            Stmt::If { cond, then, otherwise } => self.branch(cond, then, otherwise, out),
            // A barrier inside another operation comes from the compiler and orders only its scratch memory.
            Stmt::Barrier if (self.is_sync)(self.op) => {
                self.trace.barriers.insert(self.op);
                out.push(Event::Barrier(self.op));
            }
            Stmt::WarpBarrier => out.push(Event::WarpBarrier),
            Stmt::Commit => out.push(Event::Commit(self.op)),
            Stmt::Wait { groups } => out.push(Event::Wait(self.op, *groups)),
            Stmt::Transfer(transfer) => self.transfer(transfer, out),
            Stmt::AsyncCopy(copy) => self.async_copy(copy, out),
            Stmt::MultiplyAsync(product) => self.product(product, out),
            Stmt::CommitProducts => out.push(Event::CommitProducts),
            Stmt::WaitProducts { leave, .. } => out.push(Event::WaitProducts(*leave)),
            Stmt::Barrier
            | Stmt::Multiply(_)
            | Stmt::Fence(_)
            | Stmt::Convert(_)
            | Stmt::Fill(_)
            | Stmt::Compute(_)
            | Stmt::Exchange(_)
            // `Log` and `Put` read registers and write a buffer that no other statement accesses.
            | Stmt::Log(_)
            | Stmt::Put(_) => {}
            Stmt::Await { barrier, index, .. } => match self.scope.places().uniform(index) {
                Some(stage) => {
                    let of = scan::told_by(&self.program.body, &self.program.barriers, *barrier);
                    out.push(Event::Await(of, stage));
                }
                None => self.trace.complete = false,
            },
            Stmt::Arrive { barrier, index, by, .. } => match self.scope.places().uniform(index) {
                Some(stage) => out.push(Event::Arrive(*barrier, stage, *by)),
                None => self.trace.complete = false,
            },
            // [`crate::protocol`] follows bulk copies. The threads that read a stage learn from no thread that it is full.
            Stmt::Expect { .. } => {}
            // Nothing else accesses a ticket, and a ticket orders nothing.
            Stmt::Draw(_) => {}
            // The trace follows threads that run the same statements.
            Stmt::Roles(_)
            | Stmt::NamedSync { .. }
            | Stmt::NamedArrive { .. }
            | Stmt::Bulk(_)
            | Stmt::BulkStore(_)
            | Stmt::BulkCommit
            | Stmt::BulkWait { .. } => self.trace.complete = false,
        }
    }

    fn branch(&mut self, cond: &Cond, then: &'a [Stmt], otherwise: &'a [Stmt], out: &mut Vec<Event>) {
        match self.truth(cond) {
            Truth::Same(true) => self.body(then, out),
            Truth::Same(false) => self.body(otherwise, out),
            Truth::Differs { holds, fails } => {
                self.only_in(holds, then, out);
                self.only_in(fails, otherwise, out);
            }
            Truth::Unknown => {
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

    /// Returns the truth of a condition in the threads that run.
    fn truth(&self, cond: &Cond) -> Truth {
        let running = self.scope.running.as_deref();
        let truth = self.scope.in_run().holds(cond);
        if let Some(same) = truth.same(running) {
            return Truth::Same(same);
        }
        let threads =
            || (0..self.program.block_threads() as usize).map(|thread| (is_among(running, thread), thread));
        if threads().any(|(runs, thread)| runs && truth.get(thread).is_none()) {
            return Truth::Unknown;
        }
        let are =
            |wanted| threads().map(|(runs, thread)| runs && truth.get(thread) == Some(wanted)).collect();
        Truth::Differs { holds: are(true), fails: are(false) }
    }

    /// Follows a body that only these threads run.
    fn only_in(&mut self, threads: Vec<bool>, body: &'a [Stmt], out: &mut Vec<Event>) {
        let (before, mut events) = (self.scope.known.clone(), Vec::new());
        let warps = Warps::all_of(&threads);
        let outer = self.scope.running.replace(threads);
        self.body(body, &mut events);
        if let Some(threads) = std::mem::replace(&mut self.scope.running, outer) {
            self.scope.restore(&before, &threads);
        }
        out.push(Event::Only(warps, events));
    }

    fn repeated(&mut self, cond: &Cond, body: &'a [Stmt], out: &mut Vec<Event>) {
        if !scan::touches_shared(body) {
            return;
        }
        self.bounds.extend(cond.symbols());
        // Locals that the rounds change are known only for the rounds that are followed.
        let depth = self.partial.len();
        scan::assigned(body, &mut self.partial);
        let wanted = self.trace.run.filter(|run| !run.again || !scan::nests(body)).and_then(|run| run.trips);
        let most = wanted.unwrap_or_else(|| self.rounds_of(body, None).0);
        for round in 0..most.max(WHOLE) {
            match self.truth(cond) {
                Truth::Same(false) if round > 0 => break,
                Truth::Unknown if round >= most => break,
                // Threads that have left the loop do not return: their numbers stay as they are.
                Truth::Differs { holds, .. } => self.only_in(holds, body, out),
                Truth::Same(_) | Truth::Unknown => self.body(body, out),
            }
        }
        self.partial.truncate(depth);
        self.leave(body, None);
    }

    /// Records a condition that only a launch decides.
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

    /// Follows a loop over a counter: as a loop of unknown length, with another number in every round.
    fn drawn(&mut self, drawn: &'a Drawn, out: &mut Vec<Event>) {
        let number = if let Symbol::Var(_, number) = &drawn.var { *number } else { 0 };
        let round = Symbol::Var("round of a counter".into(), number);
        let rounds = Expr::dim("rounds of a counter");
        self.counted((&round, Some(&drawn.var)), &Expr::default(), &rounds, &drawn.body, out);
    }

    /// Follows a loop over a range. `number` has an unknown value in each round.
    fn counted(
        &mut self,
        (var, number): (&Symbol, Option<&Symbol>),
        start: &Expr,
        end: &Expr,
        body: &'a [Stmt],
        out: &mut Vec<Event>,
    ) {
        let named = self.scope.known.len();
        if !scan::touches_shared(body) {
            // The body has nothing to order, but its accesses to global memory count.
            [Some(var), number].into_iter().flatten().for_each(|var| self.scope.read(var));
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
        // No launch runs the loop more often than the facts allow.
        let most = self.facts.range(&(end.clone() - start.clone())).1;
        let (head, tail) = match (trips, most) {
            (None, Some(most)) => (self.followed(None, body, var).0.min(most.max(0)), 0..0),
            _ => self.followed(trips, body, var),
        };
        let depth = self.partial.len();
        if trips != Some(head) {
            self.partial.push(var.clone());
        }
        for round in (0..head).chain(tail) {
            self.scope.name(var, &(start.clone() + Expr::constant(round)));
            number.into_iter().for_each(|number| self.scope.read(number));
            self.body(body, out);
            self.scope.known.truncate(named);
        }
        self.partial.truncate(depth);
        self.scope.supposed.truncate(supposed);
        if open {
            self.leave(body, Some(var));
        }
    }

    /// Returns which rounds of a loop are followed: the number of rounds from its beginning and, for a longer loop, the
    /// range of its last rounds. The number of rounds left out in between is a multiple of the period, so that the last
    /// rounds find each stage in its real state.
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
        let access = Move::of(row, !row.is_load(), Completion::AtOnce);
        self.access(&transfer.address, access, &transfer.guard, out);
    }

    fn async_copy(&mut self, copy: &AsyncCopy, out: &mut Vec<Event>) {
        let Some(row) = catalogue().copy(&copy.row) else { return };
        self.global(&copy.src, false);
        let completion = if copy.signals.is_some() { Completion::Barrier } else { Completion::Group };
        self.access(&copy.dst, Move::of(row, true, completion), &copy.active, out);
    }

    /// Records the elements that the groups of threads read by descriptor.
    fn product(&mut self, product: &'a MultiplyAsync, out: &mut Vec<Event>) {
        let Some(row) = catalogue().gemm(&product.row) else { return };
        for (descriptor, runs) in self.reads.operands(product, self.program).iter() {
            let Memory::Shared(buffer) = descriptor.start.memory else { continue };
            let buffer = buffer as usize;
            let Some(&size) = self.trace.sizes.get(buffer) else { continue };
            if let Some(stages) = self.ended.get(&buffer) {
                self.trace.stages = scan::common(self.trace.stages, *stages);
            }
            if self.partial.iter().any(|var| descriptor.start.offset.mentions(var)) {
                self.trace.complete = false;
            }
            let values = self.scope.places().values(&descriptor.start.offset);
            let (mut starts, mut anywhere) = (Vec::new(), None);
            for first in (0..self.program.block_threads()).step_by(row.threads as usize) {
                if !is_among(self.scope.running.as_deref(), first as usize) {
                    continue;
                }
                match values.get(first as usize) {
                    Some(start) => starts.push((first, start)),
                    None => anywhere = Some(first),
                }
            }
            let access = Access {
                buffer,
                op: self.op,
                lanes: row.threads as u16,
                write: false,
                completion: Completion::Product,
                anywhere: false,
                only: self.only,
                len: runs.len,
                threads: Rc::default(),
            };
            if !starts.is_empty() {
                let threads = self.reads.firsts(descriptor, runs, starts);
                out.push(Event::Product(Access { threads, ..access.clone() }));
            }
            if let Some(thread) = anywhere {
                self.trace.asks_for_places = true;
                let threads = Rc::from([(thread, 0)]);
                out.push(Event::Product(Access { anywhere: true, len: size as i64, threads, ..access }));
            }
        }
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
        Move { bytes, addressing, write, completion }: Move,
        guard: &Cond,
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
        for thread in 0..self.program.block_threads() {
            // A guard that only a launch decides counts as true.
            let runs = is_among(self.scope.running.as_deref(), thread as usize);
            let addresses = thread % addressing.0 < addressing.1;
            if !runs || !addresses || guards.get(thread as usize) == Some(false) {
                continue;
            }
            match firsts.get(thread as usize) {
                Some(first) => threads.push((thread, first)),
                None => {
                    // A single thread with an unknown address stands for all threads: any of them may access any element.
                    anywhere = Some(thread);
                    break;
                }
            }
        }
        let unit = &mut self.trace.units[buffer];
        *unit = threads.iter().fold(gcd(*unit, len), |unit, (_, first)| gcd(unit, *first));
        let (op, only, lanes) = (self.op, self.only, addressing.0 as u16);
        let threads = threads.into();
        let access = Access { buffer, op, lanes, write, completion, anywhere: false, only, len, threads };
        if !access.threads.is_empty() {
            out.push(Event::Access(access.clone()));
        }
        if let Some(thread) = anywhere {
            self.trace.asks_for_places = true;
            let len = self.trace.sizes[buffer] as i64;
            let threads = Rc::from([(thread, 0)]);
            out.push(Event::Access(Access { anywhere: true, len, threads, ..access }));
        }
    }
}
