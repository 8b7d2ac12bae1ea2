//! Lists the accesses of all threads to shared memory, in program order.

mod accesses;
mod loops;

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Atom, Cond, Expr, Facts, Symbol};
use hx_thread::{Address, Control, Group, Leaf, Stmt, ThreadProgram, Warps};
use hx_tile::{Completion, OpId};

use crate::column::{Column, Named, Scope, is_among};
use crate::event::Event;
use crate::once::{Equation, Equations};
use crate::products::{self, Reads};
use crate::scan;
use crate::suppose::{Run, allowed, lengths};
use accesses::Move;

/// The least number of rounds for which a loop is followed if only a launch knows its trip count or if it is too long to
/// follow to its end.
const ROUNDS: i64 = 4;

#[derive(Debug, Clone, Default)]
pub(crate) struct Trace {
    pub(crate) events: Vec<Event>,
    /// The number of threads of the block.
    pub(crate) threads: u32,
    /// Lanes of a warp.
    pub(crate) lanes: u32,
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
    /// The equations that [`Access::only`](crate::event::Access::only) refers to.
    pub(crate) equations: Equations,
    /// Whether a condition depends on the trip count of a loop of unknown length.
    pub(crate) asks_for_ends: bool,
    /// Whether a loop of unknown length closes groups of copies, so that only a launch knows their number.
    pub(crate) closes_groups: bool,
    /// Whether a loop of unknown length accesses shared memory, and may have no round.
    pub(crate) skips: bool,
    /// Whether some access is at an unknown address.
    pub(crate) asks_for_places: bool,
    /// After a loop of unknown trip count, the index of the last stage is periodic in the trip count. This is the period; 1
    /// if nothing after the loop depends on it.
    pub(crate) stages: i64,
    /// The assumptions of the trace; `None` if it holds for every launch.
    pub(crate) run: Option<Run>,
}

impl Trace {
    /// Reports whether two traces of a program have the same events and conditions, and so the same hazards.
    pub(crate) fn is_like(&self, other: &Trace) -> bool {
        self.units == other.units
            && self.conditions == other.conditions
            && self.equations == other.equations
            && self.events == other.events
    }
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
    // Without a round of a loop, accesses after the loop directly follow accesses before it.
    if any.skips {
        runs.push(Run { ends: true, ..run(Some(0), 0) });
    }
    if scan::nests_again(&traced.program.body) {
        runs.push(Run { again: true, ends: true, ..run(Some(0), 0) });
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
        data: BTreeMap::new(),
        trace: Trace {
            lanes: program.target.limits.lanes,
            threads: program.block_threads(),
            sizes: sizes.map(|s| (u64::from(s.bytes) * 8 / u64::from(s.dtype.bits())) as usize).collect(),
            complete: true,
            stages: 1,
            run,
            ..Trace::default()
        },
    };
    tracer.suppose_numbers();
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
    tracer.trace.conditions.iter().flatten().for_each(|cond| decide.extend(tracer.sources(cond.symbols())));
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
    /// The equation that holds wherever the statements being followed run; `None` where none is known.
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
    /// The numbers that come from data, each with those that it was computed from. All threads have the same.
    data: BTreeMap<Symbol, BTreeSet<Symbol>>,
    trace: Trace,
}

impl<'a> Tracer<'a, '_> {
    /// Assumes, in addresses of shared memory, an allowed number for each symbol for which the facts do not allow the number of
    /// the run.
    fn suppose_numbers(&mut self) {
        let Some(number) = self.scope.anything else { return };
        for symbol in scan::launch_symbols(&self.program.body) {
            let guess = allowed(&Atom::Symbol(symbol.clone()), number, self.facts);
            if guess != number {
                let guess = Some(Column::Same(Some(guess)));
                self.scope.known.push(Named { symbol, values: Column::Same(None), guess });
            }
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
            Stmt::Control(control) => self.control(control, out),
            Stmt::Leaf(leaf) => self.leaf(leaf, out),
        }
    }

    fn control(&mut self, control: &'a Control, out: &mut Vec<Event>) {
        match control {
            Control::Group(group) => self.group(group, out),
            Control::For { var, start, end, body, .. } => self.counted((var, None), start, end, body, out),
            Control::Drawn(drawn) => self.drawn(drawn, out),
            Control::While { cond, body, .. } => self.repeated(cond, body, out),
            Control::If { cond, then, otherwise } => self.branch(cond, then, otherwise, out),
            // The trace follows threads that run the same statements.
            Control::Roles(_) => self.trace.complete = false,
        }
    }

    fn leaf(&mut self, leaf: &'a Leaf, out: &mut Vec<Event>) {
        match leaf {
            Leaf::Let { var, value } | Leaf::Uniform { var, value } => self.name(var, value),
            Leaf::Assign { var, value } => {
                self.scope.assign(var, value);
                self.data.remove(var);
            }
            Leaf::LoadInteger { var, address } => {
                self.global(address, false);
                self.scope.read(var);
                self.comes_from_data(var);
            }
            Leaf::LoadIndex { var, address, guard } => self.load_index(var, address, guard, out),
            // Threads that look up elements may find any, and different ones.
            Leaf::ReadIndex { var, .. } => self.scope.unknown(var),
            // Numbers computed from data are known only at run time.
            Leaf::LetNumber { var, .. } | Leaf::AssignNumber { var, .. } => {
                self.scope.forget(var);
                self.comes_from_data(var);
            }
            // A barrier inside another operation comes from the compiler and orders only its scratch memory.
            Leaf::Barrier if (self.is_sync)(self.op) => {
                self.trace.barriers.insert(self.op);
                out.push(Event::Barrier(self.op));
            }
            Leaf::WarpBarrier => out.push(Event::WarpBarrier),
            Leaf::Commit => out.push(Event::Commit(self.op)),
            Leaf::Wait { groups } => out.push(Event::Wait(self.op, *groups)),
            Leaf::Transfer(transfer) => self.transfer(transfer, out),
            Leaf::AsyncCopy(copy) => self.async_copy(copy, out),
            Leaf::MultiplyAsync(product) => self.product(product, out),
            Leaf::CommitProducts => out.push(Event::CommitProducts),
            Leaf::WaitProducts { leave, .. } => out.push(Event::WaitProducts(*leave)),
            // The slots of a sum over the cluster are no tensor of the source, and its barriers order nothing else.
            Leaf::Send(_) => {}
            Leaf::Barrier => {}
            Leaf::Await { barrier, .. } | Leaf::Arrive { barrier, .. } if self.sums(*barrier) => {}
            Leaf::Await { barrier, index, .. } => {
                let of = scan::told_by(&self.program.body, &self.program.barriers, *barrier);
                self.at_stage(index, |stage| Event::Await(of, stage), out);
            }
            Leaf::Arrive { barrier, index, by, .. } => {
                self.at_stage(index, |stage| Event::Arrive(*barrier, stage, *by), out);
            }
            // [`crate::protocol`] follows bulk copies. The threads that read a stage learn from no thread that it is full.
            Leaf::Expect { .. } => {}
            // The threads of a group take their turn together, so it is a barrier of theirs as well.
            Leaf::NamedSync { .. } => {
                out.push(Event::Barrier(self.op));
                self.trace.complete = false;
            }
            Leaf::NamedArrive { .. }
            | Leaf::Bulk(_)
            | Leaf::BulkStore(_)
            | Leaf::BulkCommit
            | Leaf::Prefetch(_)
            | Leaf::BulkWait { .. } => self.trace.complete = false,
            // Those that order launches, tickets, prints and assertions order no threads, and no other statement accesses their memory.
            other => self.trace.complete &= other.description().is_private(),
        }
    }

    /// Reports whether a barrier belongs to sums over the cluster.
    fn sums(&self, barrier: u32) -> bool {
        self.program.barriers.get(barrier as usize).is_some_and(|barrier| barrier.sums)
    }

    fn group(&mut self, group: &'a Group, out: &mut Vec<Event>) {
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

    fn name(&mut self, var: &Symbol, value: &Expr) {
        if self.partial.iter().any(|partial| value.mentions(partial)) {
            self.partial.push(var.clone());
        }
        self.scope.name(var, value);
        let symbols = value.symbols();
        if symbols.iter().any(|symbol| self.data.contains_key(symbol)) {
            let sources = self.sources(symbols);
            self.data.insert(var.clone(), sources);
        } else {
            self.data.remove(var);
        }
    }

    /// Records that a number comes from data.
    fn comes_from_data(&mut self, var: &Symbol) {
        self.data.insert(var.clone(), BTreeSet::from([var.clone()]));
    }

    /// Returns the symbols, with each number that was computed from data replaced by the numbers that it was computed from.
    fn sources(&self, symbols: BTreeSet<Symbol>) -> BTreeSet<Symbol> {
        let of = |symbol: Symbol| match self.data.get(&symbol) {
            Some(sources) => sources.clone(),
            None => BTreeSet::from([symbol]),
        };
        symbols.into_iter().flat_map(of).collect()
    }

    fn load_index(&mut self, var: &Symbol, address: &Address, guard: &Cond, out: &mut Vec<Event>) {
        let dtype = self.program.memory_dtype(address.memory);
        let bytes = dtype.map_or(1, |d| d.bits().div_ceil(8));
        let completion = Completion::AtOnce;
        let read = Move { bytes, addressing: (1, 1), write: false, atomic: false, completion };
        self.access(address, read, guard, out);
        self.scope.read(var);
    }

    /// Records an event at a stage of a ring. The trace is incomplete if the threads do not agree on a known stage.
    fn at_stage(&mut self, index: &Expr, event: impl FnOnce(i64) -> Event, out: &mut Vec<Event>) {
        match self.scope.places().uniform(index) {
            Some(stage) => out.push(event(stage)),
            None => self.trace.complete = false,
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
        let warps = Warps::all_of(&threads, self.trace.lanes);
        let outer = self.scope.running.replace(threads);
        self.body(body, &mut events);
        if let Some(threads) = std::mem::replace(&mut self.scope.running, outer) {
            self.scope.restore(&before, &threads);
        }
        out.push(Event::Only(warps, events));
    }

    /// Records a condition that only a launch decides. Data may be such that it holds in every round, or in none.
    fn condition(&mut self, cond: &Cond) {
        let symbols = cond.symbols();
        let varies = |symbol: &Symbol| {
            !self.data.contains_key(symbol) && self.scope.known.iter().any(|known| known.symbol == *symbol)
        };
        let cond = (!symbols.iter().any(varies)).then(|| cond.clone());
        let sources = self.sources(symbols);
        self.open.extend(sources);
        let conditions = &mut self.trace.conditions;
        if cond.is_none() || !conditions.contains(&cond) {
            conditions.push(cond);
        }
    }
}
