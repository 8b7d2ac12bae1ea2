//! The search: which instruction and arrangement each gemm gets and how copies are dealt. Depth-first, with what is decided so far as
//! a bound; the rest follows from the constraints.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use hx_target::Arch;
use hx_tile::{Move, Op, OpId, OpKind, Reason, TensorId, TileMode, TileProgram};

use crate::access::{Transfer, global};
use crate::anchor::copy::{coalesced, deal_plain};
use crate::anchor::gemm::{Gemm, Tiling, tilings};
use crate::component::Component;
use crate::constraints::{Known, Layouts, System};
use crate::distribution::Tv;
use crate::failure::{Blocked, Failure, FailureKind};
use crate::pool::{LayoutKey, Pool, key};
use crate::size::Together;
use crate::{cost, parts, reduce, shared};

/// What every part of one run of the solver reads.
pub(crate) struct Cx<'s, 'p> {
    pub(crate) system: &'s System<'p>,
    pub(crate) arch: Arch,
    pub(crate) pool: &'s Pool,
    pub(crate) cancelled: &'s dyn Fn() -> bool,
    /// No copies in which lanes exchange.
    pub(crate) single: bool,
    /// What changes hands already.
    moved: Vec<Move>,
    /// Branches and layouts looked at.
    pub(crate) steps: Cell<u64>,
    /// Cycles of operations under layouts that were met before.
    costs: RefCell<HashMap<(OpId, Vec<LayoutKey>), f64>>,
    together: Together,
    /// Cycles that an exchange through shared memory holds up.
    pub(crate) drain: f64,
}

/// One complete choice for a component.
#[derive(Clone, Debug)]
pub(crate) struct Leaf<'p> {
    pub(crate) layouts: Layouts,
    pub(crate) tilings: Vec<(Gemm<'p>, Rc<Tiling>)>,
    /// What has to change hands between threads for it; nothing unless conflicts are mended.
    pub(crate) moves: Vec<Move>,
    /// Estimated cycles, with every access to shared memory free of conflicts.
    pub(crate) cost: f64,
}

/// What becomes of a branch in which layouts conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conflicts {
    /// It is left.
    Leave,
    /// Values change hands, which costs what it costs. Only what the user pinned stays where it is.
    Mend,
}

/// Branches of one component that are looked at.
const BUDGET: usize = 4096;
/// Branches of one run, in all components of all attempts. Where they are used up, no more attempts are made than it takes to have a
/// solution, each with few branches.
pub(crate) const ALL: usize = 4 * BUDGET;
/// Branches after which a component counts as one without a choice that needs no moves, or as one whose moves are few enough.
const FEW: usize = 256;

impl<'s, 'p> Cx<'s, 'p> {
    pub(crate) fn new(
        system: &'s System<'p>,
        arch: Arch,
        pool: &'s Pool,
        cancelled: &'s dyn Fn() -> bool,
    ) -> Cx<'s, 'p> {
        let together = Together::of(system.program);
        let (steps, costs) = (Cell::new(0), RefCell::default());
        let drain = cost::drain(system.program, arch, together.registers(system.program));
        Cx { system, arch, pool, cancelled, single: false, moved: Vec::new(), steps, costs, together, drain }
    }

    pub(crate) fn single(self, single: bool) -> Cx<'s, 'p> {
        Cx { single, ..self }
    }

    /// The program has these moves.
    pub(crate) fn after(self, moves: &[Move]) -> Cx<'s, 'p> {
        Cx { moved: moves.to_vec(), ..self }
    }

    pub(crate) fn program(&self) -> &'p TileProgram {
        self.system.program
    }

    /// Cycles of all executions of the operations whose layouts are all known, and of the moves.
    fn cost(&self, component: &Component<'p>, branch: &Branch<'p>) -> Result<f64, Failure> {
        let mut cost = branch.moves.iter().map(|m| self.move_cost(component, *m)).sum();
        let mut paid = branch.paid.borrow_mut();
        paid.resize(component.ops.len(), None);
        for ((op, trips), paid) in component.ops.iter().zip(paid.iter_mut()) {
            if branch.freed.contains(&op.id) {
                continue;
            }
            if paid.is_none() {
                *paid = self.paid(op, branch)?;
            }
            cost += trips * paid.unwrap_or(0.0);
        }
        Ok(cost)
    }

    /// Cycles of one execution of an operation, once its layouts are known: no branch from here on changes them.
    fn paid(&self, op: &'p Op, branch: &Branch<'p>) -> Result<Option<f64>, Failure> {
        if let OpKind::Gemm { .. } = &op.kind {
            let tiling = branch.chosen.iter().find(|(g, _)| g.op.id == op.id);
            return Ok(tiling.map(|(_, t)| cost::gemm(t, self.program().threads)));
        }
        self.cycles(op, &branch.known)
    }

    /// Cycles of one execution of an operation without matrix instructions, if its layouts are known.
    fn cycles(&self, op: &'p Op, known: &Layouts) -> Result<Option<f64>, Failure> {
        let layouts: Option<Vec<LayoutKey>> =
            op.kind.registers().iter().map(|t| known.get(*t).map(|k| key(&k.tv))).collect();
        let Some(layouts) = layouts else { return Ok(None) };
        let entry = (op.id, layouts);
        let met = self.costs.borrow().get(&entry).copied();
        let cycles = match met {
            Some(cycles) => cycles,
            None => {
                let cycles = self.cost_of(op, known)?;
                self.costs.borrow_mut().insert(entry, cycles);
                cycles
            }
        };
        Ok(Some(cycles))
    }

    /// A tiling of a gemm that runs so often, with the loads of operands that nothing else takes.
    fn way(&self, gemm: &Gemm<'p>, trips: f64, own_loads: &[(&'p Op, f64)], tiling: Tiling) -> Way {
        let mut known = Layouts::new(self.program().tensors.len());
        for (tensor, tv) in [(gemm.a, &tiling.a), (gemm.b, &tiling.b)] {
            let reason = Reason { text: String::new(), from: vec![] };
            known.set(tensor, Rc::new(Known { tv: tv.clone(), reason, pin: None }));
        }
        let load = |(op, trips): &(&'p Op, f64)| match self.cycles(op, &known) {
            Ok(cycles) => trips * cycles.unwrap_or(0.0),
            Err(_) => f64::INFINITY,
        };
        let loads = own_loads.iter().map(load).sum();
        let cycles = trips * cost::gemm(&tiling, self.program().threads);
        Way { tiling: Rc::new(tiling), cycles, loads }
    }

    /// The least cycles that moving an operand takes.
    fn move_cost(&self, component: &Component<'p>, m: Move) -> f64 {
        let Some((op, trips)) = component.ops.iter().find(|(op, _)| op.id == m.at) else {
            return f64::INFINITY;
        };
        let Some(tensor) = op.kind.registers().get(m.operand).copied() else { return f64::INFINITY };
        let tensor = self.program().tensor(tensor);
        let bytes = tensor.size() as f64 * f64::from(tensor.dtype.bits()) / 8.0;
        let times = if m.after && op.kind.updates(m.operand) { 2.0 } else { 1.0 };
        times * trips * cost::exchange(self.program(), bytes)
    }

    /// Cycles of one execution of an operation without matrix instructions.
    fn cost_of(&self, op: &'p Op, known: &Layouts) -> Result<f64, Failure> {
        let (program, op_id) = (self.program(), op.id);
        Ok(match &op.kind {
            OpKind::Copy { .. } | OpKind::AtomicAdd { .. } => {
                let Some(transfer) = Transfer::of(op) else { return Ok(0.0) };
                let dtype = program.tensor(transfer.register).dtype;
                let tv = &known[transfer.register].tv;
                match transfer.shared() {
                    None => {
                        let (access, _) = global::best(program, &transfer, tv, dtype, self.arch)?;
                        cost::global(program, transfer.memory, &access)
                    }
                    Some(tensor) => {
                        let used = shared::Use::register(program, transfer, tv.clone(), 1.0);
                        shared::ideal(self, tensor, &used)?
                    }
                }
            }
            OpKind::Cast { dst, src } => {
                let [from, to] = [*src, *dst].map(|t| program.tensor(t).dtype);
                cost::cast(program, [from, to], known[*dst].tv.values(), self.arch)
            }
            OpKind::Map(map) => cost::map(program, &map.value, known[map.dst].tv.values()),
            OpKind::Reduce { dst, src, axis, .. } => {
                let (d, s) = (&known[*dst].tv, &known[*src].tv);
                let steps = reduce::steps(program, s, *axis, self.arch);
                let across = (!steps.digits.is_empty()).then_some(self.drain);
                cost::reduce(program, s.values(), d.values(), steps.lanes.len(), across)
            }
            OpKind::Scan { dst, src: _, axis, op } => {
                let Some(first) = dst.first() else { return Ok(0.0) };
                let tv = &known[*first].tv;
                let Some(levels) = parts::levels(program, tv, *axis, self.arch) else {
                    let message = "the axis of the scan is dealt to threads in no regular order";
                    return Err(Failure::new(FailureKind::Conflict, message).at(op_id));
                };
                op.iter().map(|value| cost::scan(program, value, tv.values(), &levels, self.drain)).sum()
            }
            _ => 0.0,
        })
    }
}

/// The moves that give an operation tensors of its own, where no instruction takes the layouts that they have. Elements narrower than a
/// byte, which do not change hands one by one, have the layout of another tensor, and that one moves.
pub(crate) fn freeing(program: &TileProgram, known: &Layouts, op: &Op) -> Vec<Move> {
    let is_narrow = |tensor: &TensorId| program.tensor(*tensor).dtype.bits() < 8;
    let registers = op.kind.registers();
    let Some(narrow) = registers.iter().copied().find(is_narrow) else {
        return (0..registers.len()).map(|operand| Move::of(op, operand)).collect();
    };
    let (mut moves, mut open, mut seen) = (Vec::new(), vec![(narrow, op.id)], BTreeSet::from([narrow]));
    while let Some((tensor, met)) = open.pop() {
        let from = known.get(tensor).and_then(|k| k.reason.from.first().copied());
        let maker = from.and_then(|from| program.op(from));
        let Some(maker) = maker.filter(|m| m.id != met && !matches!(m.kind, OpKind::Gemm { .. })) else {
            continue;
        };
        for (operand, other) in maker.kind.registers().into_iter().enumerate() {
            if other == tensor {
                continue;
            } else if !is_narrow(&other) {
                moves.push(Move::of(maker, operand));
            } else if seen.insert(other) {
                open.push((other, maker.id));
            }
        }
    }
    moves
}

/// What a search looks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// So many leaves at most.
    pub(crate) keep: usize,
    /// Leaves that take less than so many cycles more than the cheapest.
    pub(crate) within: f64,
    pub(crate) conflicts: Conflicts,
    /// Branches to look at; nothing for what is left of the whole run.
    pub(crate) branches: Option<usize>,
}

impl Wanted {
    /// The cheapest leaf.
    pub(crate) fn one(conflicts: Conflicts) -> Wanted {
        Wanted { keep: 1, within: f64::INFINITY, conflicts, branches: None }
    }

    pub(crate) fn branches(self, branches: usize) -> Wanted {
        Wanted { branches: Some(branches), ..self }
    }
}

/// Finds the cheapest choices for a component that are wanted, cheapest first; of equal ones the first in the order of the
/// catalogue, and of arrangements, stays first.
///
/// # Errors
/// The first thing that stood in the way, if there is no choice at all.
pub(crate) fn search<'p>(
    cx: &Cx<'_, 'p>,
    component: &Component<'p>,
    start: Layouts,
    wanted: Wanted,
) -> Result<Found<'p>, Blocked> {
    let Wanted { keep, within, conflicts, branches } = wanted;
    let program = cx.program();
    let packed = component.packed(program);
    let (mut gemms, mut ways): (Vec<Gemm<'p>>, Vec<Vec<Way>>) = Default::default();
    for (op, trips) in component.gemms() {
        let Some(gemm) = Gemm::of(program, op) else { continue };
        let tilings = tilings(program, &gemm, cx.arch, cx.pool, packed)?;
        // Where conflicts are mended, a product may get other tensors than those that are loaded.
        let own =
            if conflicts == Conflicts::Leave { component.own_loads(program, &gemm) } else { Vec::new() };
        let mut found: Vec<Way> = tilings.into_iter().map(|t| cx.way(&gemm, trips, &own, t)).collect();
        // The first leaf is then as good as the bound foresees; of equal ways the one with the fewest cycles of its own comes first.
        found.sort_by(|a, b| a.bound().total_cmp(&b.bound()).then(a.cycles.total_cmp(&b.cycles)));
        gemms.push(gemm);
        ways.push(found);
    }
    // Where an operand cannot be loaded in any way, the search says why.
    let cheapest = |ways: &Vec<Way>| ways.first().map(Way::bound).filter(|b| b.is_finite()).unwrap_or(0.0);
    let mut least: Vec<f64> = ways.iter().map(cheapest).collect();
    for i in (1..least.len()).rev() {
        least[i - 1] += least[i];
    }
    least.push(0.0);
    let mut search = Search {
        cx,
        component,
        conflicts,
        gemms,
        ways,
        least,
        keep,
        leaves: Vec::new(),
        branches: 0,
        within,
        most: branches.unwrap_or_else(|| ALL.saturating_sub(cx.pool.branches.get())),
        left: 0,
        failure: None,
        moves: BTreeMap::new(),
    };
    search.settle(Branch { known: start, ..Branch::default() })?;
    if search.leaves.is_empty() {
        let none = || Failure::new(FailureKind::Conflict, "no layout was found");
        let mut failure = search.failure.unwrap_or_else(none);
        if search.left > 0 {
            let text =
                format!("the search stopped at its budget and left {} branches unexplored", search.left);
            failure = failure.part(None, None, text);
        }
        return Err(Blocked { failure, moves: search.moves.into_keys().collect() });
    }
    let least = search.leaves.first().map_or(f64::INFINITY, |leaf| leaf.cost);
    search.leaves.retain(|leaf| leaf.cost <= least || leaf.cost < least + within);
    let pays = |(m, bound): (Move, f64)| (bound + cx.move_cost(component, m) < least).then_some(m);
    let moves = search.moves.into_iter().filter_map(pays).collect();
    Ok(Found { leaves: search.leaves, left: search.left, moves })
}

/// What a search found.
#[derive(Debug)]
pub(crate) struct Found<'p> {
    /// Cheapest first, at least one.
    pub(crate) leaves: Vec<Leaf<'p>>,
    /// Branches that the budget left alone.
    pub(crate) left: u64,
    /// Moves that would mend branches which failed and may be cheaper than the first leaf, even with what the move costs.
    pub(crate) moves: BTreeSet<Move>,
}

/// What is decided so far.
#[derive(Clone, Debug, Default)]
struct Branch<'p> {
    known: Layouts,
    /// The gemms that have their tiling, in the order of the text.
    chosen: Vec<(Gemm<'p>, Rc<Tiling>)>,
    /// What changes hands.
    moves: Vec<Move>,
    /// The constraints that the moves cut.
    cut: BTreeSet<usize>,
    /// The operations that work on tensors of their own only, which have no layouts yet.
    freed: BTreeSet<OpId>,
    /// Of each operation of the component the cycles of one execution, as far as they follow.
    paid: RefCell<Vec<Option<f64>>>,
}

impl Branch<'_> {
    fn moved(&mut self, m: Move) {
        if !self.moves.contains(&m) {
            self.moves.push(m);
        }
    }
}

/// One tiling of a gemm.
struct Way {
    tiling: Rc<Tiling>,
    /// Cycles of all executions.
    cycles: f64,
    /// Cycles of all loads of operands that nothing but the gemm takes; infinite where no instruction can load one so.
    loads: f64,
}

impl Way {
    fn bound(&self) -> f64 {
        self.cycles + self.loads
    }
}

/// Depth-first: the gemms in the order of the text, then anchors for what they do not reach.
struct Search<'s, 'c, 'p> {
    cx: &'s Cx<'c, 'p>,
    component: &'s Component<'p>,
    conflicts: Conflicts,
    gemms: Vec<Gemm<'p>>,
    /// For each gemm its tilings, cheapest first.
    ways: Vec<Vec<Way>>,
    /// The least cycles of the gemms from each one on, with the loads of operands that nothing else touches.
    least: Vec<f64>,
    keep: usize,
    within: f64,
    leaves: Vec<Leaf<'p>>,
    branches: usize,
    /// Branches that were left for the whole run when the search began.
    most: usize,
    left: u64,
    failure: Option<Failure>,
    /// What might have mended the branches that failed, each with the least cycles of such a branch.
    moves: BTreeMap<Move, f64>,
}

impl<'p> Search<'_, '_, 'p> {
    /// Notes a move that would mend a branch of at least these cycles.
    fn might(&mut self, m: Move, bound: f64) {
        let least = self.moves.entry(m).or_insert(f64::INFINITY);
        *least = least.min(bound);
    }

    /// Whether a branch of which this much is decided can still be among the kept.
    fn promises(&self, bound: f64) -> bool {
        let is_kept = self.leaves.len() < self.keep || self.leaves.last().is_some_and(|w| bound < w.cost);
        is_kept && self.leaves.first().is_none_or(|best| bound < best.cost + self.within)
    }

    /// Whether enough branches were looked at. Without moves there may be no choice at all, however long one looks; where conflicts
    /// are mended there is one, unless what the user pinned stands against it.
    fn is_over(&self) -> bool {
        let most = match (self.conflicts, self.leaves.is_empty()) {
            (Conflicts::Leave, true) => 2 * FEW,
            // What is left of the whole run; the last attempts have a few branches.
            (Conflicts::Leave, false) => BUDGET.min(FEW.max(self.most)),
            (Conflicts::Mend, true) => BUDGET,
            (Conflicts::Mend, false) => FEW,
        };
        self.branches >= most
    }

    fn descend(&mut self, branch: Branch<'p>) -> Result<(), Failure> {
        if (self.cx.cancelled)() {
            return Err(Failure::cancelled());
        }
        if let Some(gemm) = self.gemms.get(branch.chosen.len()).copied() {
            return self.gemm(gemm, branch);
        }
        let known = &branch.known;
        if let Some(missing) = self.component.tensors.iter().find(|t| known.get(**t).is_none()) {
            let missing = *missing;
            if let Some((tensor, tv, op)) = self.cx.system.lift(known)
                && self.component.tensors.contains(&tensor)
            {
                let found = self.leaves.len();
                let mut next = branch.clone();
                let repeats = tv.values() * tv.threads() > tv.tile.iter().product::<i64>();
                let text = "as its narrower operand, each thread with all of the other axes".into();
                let reason = Reason { text, from: vec![op] };
                next.known.set(tensor, Rc::new(Known { tv: self.cx.pool.keep(tv), reason, pin: None }));
                self.enter(next, &[tensor])?;
                // Where several threads hold the same, dealing it to them may be cheaper.
                if self.leaves.len() > found && !repeats {
                    return Ok(());
                }
            }
            return self.anchor(missing, branch);
        }
        let values = |tensor| Some(branch.known.get(tensor)?.tv.values());
        let spills = self.cx.together.spills(self.cx.program(), self.cx.arch, &values);
        let cost = self.cx.cost(self.component, &branch)? + spills;
        if self.promises(cost) {
            let Branch { known: layouts, chosen: tilings, moves, .. } = branch;
            let at = self.leaves.partition_point(|leaf| leaf.cost <= cost);
            self.leaves.insert(at, Leaf { layouts, tilings, moves, cost });
            self.leaves.truncate(self.keep);
        }
        Ok(())
    }

    /// Goes on where the constraints hold, or are mended, and the cost may be among the least.
    fn enter(&mut self, mut branch: Branch<'p>, changed: &[TensorId]) -> Result<(), Failure> {
        if self.is_over() {
            self.left += 1;
            return Ok(());
        }
        self.branches += 1;
        self.cx.pool.branches.set(self.cx.pool.branches.get() + 1);
        self.cx.steps.set(self.cx.steps.get() + 1);
        let system = self.cx.system;
        let mut conflicts = system.propagate(self.cx.pool, &mut branch.known, changed);
        conflicts.retain(|conflict| !branch.cut.contains(conflict));
        if let Some(first) = conflicts.first() {
            self.failure.get_or_insert_with(|| system.conflict(*first, &branch.known));
            if self.conflicts == Conflicts::Leave {
                let bound = self.cx.cost(self.component, &branch).unwrap_or(f64::INFINITY);
                let bound = bound + self.least[branch.chosen.len()];
                for conflict in &conflicts {
                    system
                        .moves(*conflict, self.cx.pool, &branch.known)
                        .into_iter()
                        .for_each(|m| self.might(m, bound));
                }
                return Ok(());
            }
            for conflict in conflicts {
                let ways = system.moves(conflict, self.cx.pool, &branch.known).into_iter();
                let ways = ways.filter(|m| !self.cx.moved.contains(m));
                let cost = |m: &Move| self.cx.move_cost(self.component, *m);
                let Some(cheapest) = ways.min_by(|a, b| cost(a).total_cmp(&cost(b))) else { return Ok(()) };
                branch.moved(cheapest);
                branch.cut.insert(conflict);
            }
        }
        self.settle(branch)
    }

    /// Goes on where every operation has an instruction, or gets tensors for which it has one, and the cost may be among the least.
    fn settle(&mut self, mut branch: Branch<'p>) -> Result<(), Failure> {
        loop {
            match self.cx.cost(self.component, &branch) {
                Ok(cost) if self.promises(cost + self.least[branch.chosen.len()]) => {
                    return self.descend(branch);
                }
                Ok(_) => return Ok(()),
                Err(failure) => {
                    let op = failure.op.and_then(|op| self.cx.program().op(op));
                    self.failure.get_or_insert(failure);
                    let Some(op) = op.filter(|_| self.conflicts == Conflicts::Mend) else { return Ok(()) };
                    let moves = freeing(self.cx.program(), &branch.known, op);
                    if moves.is_empty() || !branch.freed.insert(op.id) {
                        return Ok(());
                    }
                    moves.into_iter().for_each(|m| branch.moved(m));
                }
            }
        }
    }

    fn gemm(&mut self, gemm: Gemm<'p>, branch: Branch<'p>) -> Result<(), Failure> {
        let mut fits = false;
        let at = branch.chosen.len();
        let ways = self.ways[at].len();
        let so_far = self.cx.cost(self.component, &branch).unwrap_or(0.0);
        for i in 0..ways {
            if self.is_over() {
                self.left += (ways - i) as u64;
                return Ok(());
            }
            let way = &self.ways[at][i];
            // It would be left as soon as it is entered.
            if !self.promises(so_far + way.bound() + self.least[at + 1]) {
                continue;
            }
            let tiling = way.tiling.clone();
            let operands =
                [(gemm.c, &tiling.c, "accumulator"), (gemm.a, &tiling.a, "A"), (gemm.b, &tiling.b, "B")];
            let pool = self.cx.pool;
            let mut next = branch.clone();
            let (mut changed, mut stand) = (Vec::new(), Vec::new());
            for (operand, (tensor, tv, what)) in operands.into_iter().enumerate() {
                // One tensor may be both operands.
                if let Some(known) = next.known.get(tensor) {
                    if !tiling.reads(pool, &known.tv, tv, operand) {
                        stand.push(operand);
                    }
                    continue;
                }
                let text = format!("{what} fragment of `{}`", tiling.row.name);
                let reason = Reason { text, from: vec![gemm.op.id] };
                next.known.set(tensor, Rc::new(Known { tv: tv.clone(), reason, pin: None }));
                changed.push(tensor);
            }
            if !stand.is_empty() && self.conflicts == Conflicts::Leave {
                let cost = self.cx.cost(self.component, &branch).unwrap_or(f64::INFINITY);
                let bound = cost + self.least[branch.chosen.len()];
                for operand in stand {
                    self.apart(&gemm, operand, &next.known).into_iter().for_each(|m| self.might(m, bound));
                }
                continue;
            }
            stand.into_iter().for_each(|operand| next.moved(Move::of(gemm.op, operand)));
            fits = true;
            next.chosen.push((gemm, tiling));
            self.enter(next, &changed)?;
        }
        if !fits && self.failure.is_none() {
            self.failure = Some(self.no_tiling_fits(&gemm, &branch.known));
        }
        Ok(())
    }

    /// The moves that would free an operand of a gemm: the operand itself, but for the accumulator, which stays where it is; or
    /// the tensor at the operation that its layout follows from.
    fn apart(&self, gemm: &Gemm<'_>, operand: usize, known: &Layouts) -> Vec<Move> {
        let mut moves = Vec::new();
        if operand > 0 {
            moves.push(Move { at: gemm.op.id, operand, after: false });
        }
        let tensor = [gemm.c, gemm.a, gemm.b][operand];
        let from = known.get(tensor).and_then(|k| k.reason.from.first().copied());
        if let Some(op) = from.and_then(|op| self.cx.program().op(op))
            && op.id != gemm.op.id
            && let Some(operand) = op.kind.registers().iter().position(|t| *t == tensor)
        {
            moves.push(Move::of(op, operand));
        }
        moves
    }

    fn no_tiling_fits(&self, gemm: &Gemm<'_>, known: &Layouts) -> Failure {
        let message =
            "no instruction and arrangement of warps fits the layouts that this gemm's tensors already have";
        let mut failure = Failure::new(FailureKind::Conflict, message).at(gemm.op.id);
        for tensor in [gemm.c, gemm.a, gemm.b] {
            if let Some(k) = known.get(tensor) {
                let name = &self.cx.program().tensor(tensor).name;
                let text = format!("`{name}` is fixed here: {}", k.reason.text);
                failure = failure.part(k.reason.from.first().copied(), Some(tensor), text);
            }
        }
        failure.help("`rearrange` moves a tensor to another layout")
    }

    /// Anchors what no gemm reaches, in the ways that a copy can be dealt.
    fn anchor(&mut self, missing: TensorId, branch: Branch<'p>) -> Result<(), Failure> {
        let (tensor, mut ways, reason) = self.anchor_copy(missing, &branch.known);
        ways.extend(self.as_reduced(tensor, &branch.known).filter(|tv| !ways.contains(tv)));
        for (i, tv) in ways.iter().enumerate() {
            if self.is_over() {
                self.left += (ways.len() - i) as u64;
                return Ok(());
            }
            let mut next = branch.clone();
            let tv = self.cx.pool.keep(tv.clone());
            next.known.set(tensor, Rc::new(Known { tv, reason: reason.clone(), pin: None }));
            self.enter(next, &[tensor])?;
        }
        Ok(())
    }

    /// As the result of its reduction, if that has a layout, with the whole axis in each thread.
    fn as_reduced(&self, tensor: TensorId, known: &Layouts) -> Option<Tv> {
        let program = self.cx.program();
        let (result, axis) = self.component.ops.iter().find_map(|(op, _)| match op.kind {
            OpKind::Reduce { dst, src, axis, .. } if src == tensor => Some((known.get(dst)?, axis)),
            _ => None,
        })?;
        let shape = &program.tensor(tensor).shape;
        let mut along = vec![0; shape.len()];
        along[axis] = 1;
        let value = result.tv.value.iter().cloned().chain([TileMode::new(shape[axis], along)]);
        Some(Tv::covering(shape, result.tv.thread.clone(), value.collect()))
    }

    /// The copy that moves most bytes among those of tensors without a layout; global memory before shared.
    fn anchor_copy(&self, missing: TensorId, known: &Layouts) -> (TensorId, Vec<Tv>, Reason) {
        let program = self.cx.program();
        let unknown = self.component.copies().filter_map(|(op, trips)| Some((Transfer::of(op)?, trips)));
        let unknown = unknown.filter(|(t, _)| known.get(t.register).is_none());
        let weight = |t: &Transfer<'_>, trips: f64| {
            let tensor = program.tensor(t.register);
            let bytes = tensor.size() as f64 * f64::from(tensor.dtype.bits()) * trips;
            (t.shared().is_none(), bytes)
        };
        // The first of equal weight wins.
        let mut heaviest: Option<(Transfer<'_>, (bool, f64))> = None;
        for (transfer, trips) in unknown {
            let w = weight(&transfer, trips);
            if heaviest.as_ref().is_none_or(|(_, h)| w.0 & !h.0 || (w.0 == h.0 && w.1 > h.1)) {
                heaviest = Some((transfer, w));
            }
        }
        match heaviest {
            Some((transfer, _)) => {
                let dtype = program.tensor(transfer.register).dtype;
                // Elements narrower than a byte, at whatever end of the component, come in whole bytes.
                let narrow = |(op, _)| {
                    let bits = program.tensor(Transfer::of(op)?.register).dtype.bits();
                    Some(i64::from((8 / bits).max(1)))
                };
                let least = self.component.copies().filter_map(narrow).max().unwrap_or(1);
                let (ways, text) = coalesced(program, &transfer, dtype, self.cx.arch, least);
                (transfer.register, ways, Reason { text, from: vec![transfer.op.id] })
            }
            // Never moved: any layout does, best the one with the whole extent.
            None => {
                let unknown = self.component.tensors.iter().filter(|t| known.get(**t).is_none());
                let largest = unknown.max_by_key(|t| (program.tensor(**t).size(), std::cmp::Reverse(**t)));
                let tensor = *largest.unwrap_or(&missing);
                let shape = &program.tensor(tensor).shape;
                let tv = deal_plain(shape, i64::from(program.threads));
                let text = "touched by no copy and no gemm".into();
                (tensor, vec![tv], Reason { text, from: vec![] })
            }
        }
    }
}
