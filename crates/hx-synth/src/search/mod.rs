//! Searches the instruction and the arrangement of each gemm, and the deal of each copy to threads, by depth-first branch and
//! bound on the cycles. The constraints determine the other layouts.

pub(crate) mod context;
pub(crate) mod pool;
pub(crate) mod wish;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use hx_tile::{Op, OpId, OpKind, Reason, TensorId, TileMode, TileProgram};

use crate::access::Transfer;
use crate::anchor::across;
use crate::anchor::copy::{coalesced, deal_plain};
use crate::anchor::gemm::{Gemm, Tiling};
use crate::anchor::tilings::tilings;
use crate::constraints::component::Component;
use crate::cost;
use crate::distribution::ThreadValueLayout;
use crate::distribution::layouts::{Layouts, ReasonedLayout};
use crate::distribution::reshape;
use crate::edits::Move;
use crate::failure::{Blocked, Failure, FailureKind};
use crate::search::context::SolverContext;

/// A complete choice for a component.
#[derive(Clone, Debug)]
pub(crate) struct Leaf<'p> {
    pub(crate) layouts: Layouts,
    pub(crate) tilings: Vec<(Gemm<'p>, Rc<Tiling>)>,
    /// The moves of values between threads that the choice needs; empty unless conflicts are mended.
    pub(crate) moves: Vec<Move>,
    /// Estimated cycles, with every access to shared memory free of bank conflicts.
    pub(crate) cost: f64,
}

/// The treatment of a branch in which layouts conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conflicts {
    /// Prunes the branch.
    Leave,
    /// Moves values between threads and adds the cost of the moves. Pinned tensors keep their layouts.
    Mend,
}

/// Limit on the branches of one component.
const BUDGET: usize = 4096;
/// Limit on the branches of one run, in all components of all attempts. Beyond it, only the attempts that a solution needs are
/// made, each with few branches.
pub(crate) const ALL: usize = 4 * BUDGET;
/// Branches after which a search with moves stops if it has a leaf. A search without moves or a leaf stops after twice as many.
const FEW: usize = 256;

impl<'p> SolverContext<'_, 'p> {
    /// Returns the cycles of all executions of the operations with known layouts, and of the moves.
    ///
    /// # Errors
    /// The failure of an operation that has no instruction for its layouts.
    fn cost(&self, component: &Component<'p>, branch: &Branch<'p>) -> Result<f64, Failure> {
        let mut cost = branch.moves.iter().map(|m| self.move_cost(component, *m)).sum();
        let mut paid = branch.paid.borrow_mut();
        paid.resize(component.ops.len(), None);
        let ops = component.ops.iter().zip(&component.registers);
        for (((op, trips), registers), paid) in ops.zip(paid.iter_mut()) {
            if branch.freed.contains(&op.id) {
                continue;
            }
            if paid.is_none() {
                *paid = self.paid(op, registers, branch)?;
            }
            cost += trips * paid.unwrap_or(0.0);
        }
        Ok(cost)
    }

    /// Returns the cycles of one execution of an operation, which no deeper branch changes; `None` while its layouts are open.
    ///
    /// # Errors
    /// The failure of the operation, if it has no instruction for its layouts.
    fn paid(&self, op: &'p Op, registers: &[TensorId], branch: &Branch<'p>) -> Result<Option<f64>, Failure> {
        let target = self.target();
        if let OpKind::Gemm { .. } = &op.kind {
            let tiling = branch.chosen.iter().find(|(g, _)| g.op.id == op.id);
            return Ok(tiling.map(|(_, t)| cost::gemm(target, t, self.program().threads_of(op))));
        }
        self.cycles_with(op, registers, &branch.known)
    }

    /// Returns a tiling of a gemm with trip count `trips`, with the cost of the loads of operands that no other operation uses.
    fn candidate(
        &self,
        gemm: &Gemm<'p>,
        trips: f64,
        own_loads: &[(&'p Op, f64)],
        tiling: Rc<Tiling>,
    ) -> TilingCandidate {
        let target = self.target();
        let mut known = Layouts::new(self.program().tensors.len());
        for (tensor, operand) in gemm.registers().into_iter().zip(&tiling.operands) {
            let (Some(tensor), Some(operand)) = (tensor, operand) else { continue };
            let reason = Reason { text: String::new(), from: vec![] };
            known.set(tensor, Rc::new(ReasonedLayout { layout: operand.layout.clone(), reason, pin: None }));
        }
        let load = |(op, trips): &(&'p Op, f64)| match self.cycles(op, &known) {
            Ok(cycles) => trips * cycles.unwrap_or(0.0),
            Err(_) => f64::INFINITY,
        };
        let loads = own_loads.iter().map(load).sum();
        let cycles = trips * cost::gemm(target, &tiling, self.program().threads_of(gemm.op));
        TilingCandidate { tiling, cycles, loads }
    }

    /// Returns a lower bound on the cycles of moving an operand, in all executions; infinite if the operation does not belong
    /// to the component.
    fn move_cost(&self, component: &Component<'p>, m: Move) -> f64 {
        let target = self.target();
        let mut ops = component.ops.iter().zip(&component.registers);
        let Some(((op, trips), registers)) = ops.find(|((op, _), _)| op.id == m.at) else {
            return f64::INFINITY;
        };
        let Some(tensor) = registers.get(m.operand).copied() else { return f64::INFINITY };
        let tensor = self.program().tensor(tensor);
        let bytes = tensor.size() as f64 * f64::from(tensor.dtype.bits()) / 8.0;
        let times = if m.after && op.kind.updates(m.operand) { 2.0 } else { 1.0 };
        times * trips * cost::exchange(target, self.program().threads_of(op), bytes)
    }
}

/// Returns the moves that free an operation without an instruction for its layouts from the layouts of other operations. Elements
/// narrower than a byte cannot move one by one, so the wider tensors from which their layouts follow move instead.
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

/// The goal and the limits of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Limit on the number of leaves.
    pub(crate) keep: usize,
    /// Limit on the cycles by which a leaf exceeds the cheapest one.
    pub(crate) within: f64,
    pub(crate) conflicts: Conflicts,
    /// Limit on the cycles of a leaf.
    pub(crate) below: f64,
    /// Limit on the branches; `None` for the remaining branches of the run.
    pub(crate) branches: Option<usize>,
}

impl Wanted {
    /// Wants the cheapest leaf only.
    pub(crate) fn one(conflicts: Conflicts) -> Wanted {
        Wanted { keep: 1, within: f64::INFINITY, below: f64::INFINITY, conflicts, branches: None }
    }

    pub(crate) fn branches(self, branches: usize) -> Wanted {
        Wanted { branches: Some(branches), ..self }
    }
}

/// Returns the cheapest choices for a component, cheapest first. Of equally cheap ones, the first in the order of the catalogue
/// and of the arrangements comes first.
///
/// # Errors
/// The first failure that the search met, if there is no choice at all.
pub(crate) fn search<'p>(
    context: &SolverContext<'_, 'p>,
    component: &Component<'p>,
    start: Layouts,
    wanted: Wanted,
) -> Result<Found<'p>, Blocked> {
    let Wanted { keep, within, below, conflicts, branches } = wanted;
    let (gemms, candidates): (Vec<Gemm<'p>>, Vec<Vec<TilingCandidate>>) =
        candidates(context, component, conflicts)?.into_iter().unzip();
    // If no tiling can load an operand the bound is infinite: use 0 instead, so that the search runs and reports the reason.
    let cheapest = |candidates: &Vec<TilingCandidate>| {
        candidates.first().map(TilingCandidate::bound).filter(|b| b.is_finite()).unwrap_or(0.0)
    };
    let mut least: Vec<f64> = candidates.iter().map(cheapest).collect();
    for i in (1..least.len()).rev() {
        least[i - 1] += least[i];
    }
    least.push(0.0);
    let mut search = Search {
        context,
        component,
        conflicts,
        gemms,
        candidates,
        least,
        keep,
        leaves: Vec::new(),
        branches: 0,
        within,
        below,
        most: branches.unwrap_or_else(|| ALL.saturating_sub(context.pool.branches.get())),
        left: 0,
        failure: None,
        moves: BTreeMap::new(),
    };
    search.descend_if_promising(Branch { known: start, ..Branch::default() })?;
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
    let pays = |(m, bound): (Move, f64)| (bound + context.move_cost(component, m) < least).then_some(m);
    let moves = search.moves.into_iter().filter_map(pays).collect();
    Ok(Found { leaves: search.leaves, left: search.left, moves })
}

/// Returns the gemms of a component, each with the tilings that compute it, cheapest first.
///
/// # Errors
/// `NoInstruction` if the target cannot compute one of the gemms.
fn candidates<'p>(
    context: &SolverContext<'_, 'p>,
    component: &Component<'p>,
    conflicts: Conflicts,
) -> Result<Vec<(Gemm<'p>, Vec<TilingCandidate>)>, Failure> {
    let program = context.program();
    let packed = component.packed(program);
    let mut out = Vec::new();
    for (op, trips) in component.gemms() {
        let Some(gemm) = Gemm::of(program, op) else { continue };
        let tilings = tilings(program, &gemm, context.pool, packed)?;
        // If conflicts are mended, moves may give the gemm other tensors than the loaded ones, so their loads bound nothing.
        let own =
            if conflicts == Conflicts::Leave { component.own_loads(program, &gemm) } else { Vec::new() };
        let mut found: Vec<TilingCandidate> =
            tilings.iter().map(|t| context.candidate(&gemm, trips, &own, t.clone())).collect();
        // The first leaf is then as cheap as its bound. Of equal bounds, the fewest cycles of the gemm itself come first.
        found.sort_by(|a, b| a.bound().total_cmp(&b.bound()).then(a.cycles.total_cmp(&b.cycles)));
        out.push((gemm, found));
    }
    Ok(out)
}

/// The result of a search.
#[derive(Debug)]
pub(crate) struct Found<'p> {
    /// Cheapest first, at least one.
    pub(crate) leaves: Vec<Leaf<'p>>,
    /// Branches that the budget left unexplored.
    pub(crate) left: u64,
    /// Moves that would repair a failed branch and, with the cost of the move, may lead to a cheaper leaf than the first.
    pub(crate) moves: BTreeSet<Move>,
}

/// The decisions so far.
#[derive(Clone, Debug, Default)]
struct Branch<'p> {
    known: Layouts,
    /// The gemms with a tiling, in the order of the text.
    chosen: Vec<(Gemm<'p>, Rc<Tiling>)>,
    /// The moves between threads.
    moves: Vec<Move>,
    /// The constraints that the moves cut.
    cut: BTreeSet<usize>,
    /// The operations whose tensors the moves made independent; these tensors have no layouts yet.
    freed: BTreeSet<OpId>,
    /// Cycles of one execution of each operation of the component, as far as its layouts are known.
    paid: RefCell<Vec<Option<f64>>>,
}

impl Branch<'_> {
    fn moved(&mut self, m: Move) {
        if !self.moves.contains(&m) {
            self.moves.push(m);
        }
    }
}

/// A tiling of a gemm, with its cost.
struct TilingCandidate {
    tiling: Rc<Tiling>,
    /// Cycles of all executions.
    cycles: f64,
    /// Cycles of all loads of operands that only the gemm uses; infinite if no instruction can load one in this layout.
    loads: f64,
}

impl TilingCandidate {
    fn bound(&self) -> f64 {
        self.cycles + self.loads
    }
}

/// Depth-first search over the gemms in the order of the text, then over anchors for the tensors that no gemm reaches.
struct Search<'s, 'c, 'p> {
    context: &'s SolverContext<'c, 'p>,
    component: &'s Component<'p>,
    conflicts: Conflicts,
    gemms: Vec<Gemm<'p>>,
    /// The tilings of each gemm, cheapest first.
    candidates: Vec<Vec<TilingCandidate>>,
    /// Lower bounds on the cycles of the gemms from each one on, with the loads of operands that only they use.
    least: Vec<f64>,
    keep: usize,
    within: f64,
    below: f64,
    leaves: Vec<Leaf<'p>>,
    branches: usize,
    /// Limit on the branches: those wanted, or those that remained for the run when the search began.
    most: usize,
    left: u64,
    failure: Option<Failure>,
    /// Moves that might have repaired failed branches, each with the lowest bound of such a branch.
    moves: BTreeMap<Move, f64>,
}

impl<'p> Search<'_, '_, 'p> {
    /// Records a move that would repair a branch with this lower bound.
    fn might(&mut self, m: Move, bound: f64) {
        let least = self.moves.entry(m).or_insert(f64::INFINITY);
        *least = least.min(bound);
    }

    /// Reports whether a leaf of at least `bound` cycles can still be kept.
    fn promises(&self, bound: f64) -> bool {
        let is_kept = self.leaves.len() < self.keep || self.leaves.last().is_some_and(|w| bound < w.cost);
        is_kept
            && bound < self.below
            && self.leaves.first().is_none_or(|best| bound < best.cost + self.within)
    }

    /// Reports whether the budget is spent. A search without moves may have no leaf at all, so it soon gives up. A search with
    /// moves has one, unless the user's pins exclude it.
    fn is_over(&self) -> bool {
        // A limit on the cycles shows that the run has a solution, so such a search goes on as one with a leaf.
        let has_leaf = !self.leaves.is_empty() || self.below.is_finite();
        let most = match (self.conflicts, !has_leaf) {
            (Conflicts::Leave, true) => 2 * FEW,
            // As many branches as remain for the run, but at least `FEW`, so that the last attempts have some too.
            (Conflicts::Leave, false) => BUDGET.min(FEW.max(self.most)),
            (Conflicts::Mend, true) => BUDGET,
            (Conflicts::Mend, false) => FEW,
        };
        self.branches >= most
    }

    fn descend(&mut self, branch: Branch<'p>) -> Result<(), Failure> {
        if (self.context.cancelled)() {
            return Err(Failure::cancelled());
        }
        if let Some(gemm) = self.gemms.get(branch.chosen.len()).copied() {
            return self.gemm(gemm, branch);
        }
        let known = &branch.known;
        if let Some(missing) = self.component.tensors.iter().find(|t| known.get(**t).is_none()) {
            let missing = *missing;
            if let Some((tensor, layout, op)) = self.context.system.lift(known)
                && self.component.tensors.contains(&tensor)
            {
                let found = self.leaves.len();
                let mut next = branch.clone();
                let repeats = layout.values() * layout.threads() > layout.tile.iter().product::<i64>();
                let text = "as its narrower operand, each thread with all of the other axes".into();
                let reason = Reason { text, from: vec![op] };
                next.known.set(
                    tensor,
                    Rc::new(ReasonedLayout { layout: self.context.pool.keep(layout), reason, pin: None }),
                );
                self.enter(next, &[tensor])?;
                // If several threads hold the same elements, dealing the elements to them may be cheaper.
                if self.leaves.len() > found && !repeats {
                    return Ok(());
                }
            }
            return self.anchor(missing, branch);
        }
        let values = |tensor| Some(branch.known.get(tensor)?.layout.values());
        let spills = self.context.together.spills(self.context.program(), &values);
        let cost = self.context.cost(self.component, &branch)? + spills;
        if self.promises(cost) {
            let Branch { known: layouts, chosen: tilings, moves, .. } = branch;
            let at = self.leaves.partition_point(|leaf| leaf.cost <= cost);
            self.leaves.insert(at, Leaf { layouts, tilings, moves, cost });
            self.leaves.truncate(self.keep);
        }
        Ok(())
    }

    /// Goes on with a branch if its constraints hold, or moves mend them, and a leaf of its lower bound can still be kept.
    ///
    /// # Errors
    /// `Cancelled` if the caller cancelled.
    fn enter(&mut self, mut branch: Branch<'p>, changed: &[TensorId]) -> Result<(), Failure> {
        if self.is_over() {
            self.left += 1;
            return Ok(());
        }
        self.branches += 1;
        self.context.pool.branches.set(self.context.pool.branches.get() + 1);
        self.context.steps.set(self.context.steps.get() + 1);
        let system = self.context.system;
        let mut conflicts = system.propagate(self.context.pool, &mut branch.known, changed);
        conflicts.retain(|conflict| !branch.cut.contains(conflict));
        if let Some(first) = conflicts.first() {
            self.failure.get_or_insert_with(|| system.conflict(*first, &branch.known));
            if self.conflicts == Conflicts::Leave {
                let bound = self.context.cost(self.component, &branch).unwrap_or(f64::INFINITY);
                let bound = bound + self.least[branch.chosen.len()];
                for conflict in &conflicts {
                    system
                        .moves(*conflict, self.context.pool, &branch.known)
                        .into_iter()
                        .for_each(|m| self.might(m, bound));
                }
                return Ok(());
            }
            for conflict in conflicts {
                let moves = system.moves(conflict, self.context.pool, &branch.known).into_iter();
                let moves = moves.filter(|m| !self.context.moved.contains(m));
                let cost = |m: &Move| self.context.move_cost(self.component, *m);
                let Some(cheapest) = moves.min_by(|a, b| cost(a).total_cmp(&cost(b))) else { return Ok(()) };
                branch.moved(cheapest);
                branch.cut.insert(conflict);
            }
        }
        self.descend_if_promising(branch)
    }

    /// Goes on with a branch if every operation has an instruction, or moves give it tensors for which it has one, and a leaf
    /// of the branch's lower bound can still be kept.
    ///
    /// # Errors
    /// `Cancelled` if the caller cancelled.
    fn descend_if_promising(&mut self, mut branch: Branch<'p>) -> Result<(), Failure> {
        loop {
            match self.context.cost(self.component, &branch) {
                Ok(cost) if self.promises(cost + self.least[branch.chosen.len()]) => {
                    return self.descend(branch);
                }
                Ok(_) => return Ok(()),
                Err(failure) => {
                    let op = failure.op.and_then(|op| self.context.system.op(op));
                    self.failure.get_or_insert(failure);
                    let Some(op) = op.filter(|_| self.conflicts == Conflicts::Mend) else { return Ok(()) };
                    let moves = freeing(self.context.program(), &branch.known, op);
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
        let candidates = self.candidates[at].len();
        let so_far = self.context.cost(self.component, &branch).unwrap_or(0.0);
        for i in 0..candidates {
            if self.is_over() {
                self.left += (candidates - i) as u64;
                return Ok(());
            }
            let candidate = &self.candidates[at][i];
            // Skip a tiling that would be pruned as soon as it is entered.
            if !self.promises(so_far + candidate.bound() + self.least[at + 1]) {
                continue;
            }
            let tiling = candidate.tiling.clone();
            let [a, b] =
                tiling.operands.each_ref().map(|operand| operand.as_ref().map(|operand| &operand.layout));
            let operands = gemm.tensors().into_iter().zip([Some(&tiling.c), a, b]);
            let operands = operands.zip(["accumulator", "A", "B"]);
            let pool = self.context.pool;
            let mut next = branch.clone();
            let (mut changed, mut stand) = (Vec::new(), Vec::new());
            for (operand, ((tensor, layout), what)) in operands.enumerate() {
                let (Some(tensor), Some(layout)) = (tensor, layout) else { continue };
                // A and B may be the same tensor, which then has its layout already.
                if let Some(known) = next.known.get(tensor) {
                    if !tiling.reads(pool, &known.layout, layout, operand) {
                        stand.push(operand);
                    }
                    continue;
                }
                let text = format!("{what} fragment of `{}`", tiling.row.name);
                let reason = Reason { text, from: vec![gemm.op.id] };
                next.known.set(tensor, Rc::new(ReasonedLayout { layout: layout.clone(), reason, pin: None }));
                changed.push(tensor);
            }
            if !stand.is_empty() && self.conflicts == Conflicts::Leave {
                let cost = self.context.cost(self.component, &branch).unwrap_or(f64::INFINITY);
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

    /// Returns the moves that would free an operand of a gemm: a move of the operand, except for the accumulator, which stays;
    /// and a move of the tensor at the operation from which its layout follows.
    fn apart(&self, gemm: &Gemm<'_>, operand: usize, known: &Layouts) -> Vec<Move> {
        let mut moves = Vec::new();
        if operand > 0 {
            moves.push(Move { at: gemm.op.id, operand, after: false });
        }
        let Some(tensor) = gemm.tensors()[operand] else { return moves };
        let from = known.get(tensor).and_then(|k| k.reason.from.first().copied());
        if let Some(op) = from.and_then(|op| self.context.system.op(op))
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
        for tensor in gemm.tensors().into_iter().flatten() {
            if let Some(k) = known.get(tensor) {
                let name = &self.context.program().tensor(tensor).name;
                let text = format!("`{name}` is fixed here: {}", k.reason.text);
                failure = failure.part(k.reason.from.first().copied(), Some(tensor), text);
            }
        }
        failure.help("`rearrange` moves a tensor to another layout")
    }

    /// Anchors the tensors that no gemm reaches: enters one branch for each way to deal the elements of a copy to threads.
    ///
    /// # Errors
    /// `Cancelled` if the caller cancelled.
    fn anchor(&mut self, missing: TensorId, branch: Branch<'p>) -> Result<(), Failure> {
        let (tensor, mut layouts, reason) = self.anchor_copy(missing, &branch.known);
        layouts.extend(self.as_reduced(tensor, &branch.known).filter(|layout| !layouts.contains(layout)));
        let (program, shapes) = (self.context.program(), self.context.system.shapes(tensor));
        let (bits, threads) = (program.tensor(tensor).dtype.bits(), program.threads_holding(tensor));
        let reshaped = reshape::reshapable_layouts(&shapes, bits, threads, &reason);
        let across = across::layouts(program, tensor).into_iter().map(|(layout, row)| {
            let text = format!("fragments of `{}`", row.name);
            (layout, Reason { text, from: reason.from.clone() })
        });
        let layouts: Vec<(ThreadValueLayout, Reason)> = layouts
            .into_iter()
            .map(|layout| (layout, reason.clone()))
            .chain(reshaped)
            .chain(across)
            .collect();
        for (i, (layout, reason)) in layouts.iter().enumerate() {
            if self.is_over() {
                self.left += (layouts.len() - i) as u64;
                return Ok(());
            }
            let mut next = branch.clone();
            let layout = self.context.pool.keep(layout.clone());
            next.known.set(tensor, Rc::new(ReasonedLayout { layout, reason: reason.clone(), pin: None }));
            self.enter(next, &[tensor])?;
        }
        Ok(())
    }

    /// Returns a layout of a tensor that is reduced: the layout of the result, with the whole reduced axis in each thread.
    /// `None` if no operation reduces the tensor, or if the result has no layout yet.
    fn as_reduced(&self, tensor: TensorId, known: &Layouts) -> Option<ThreadValueLayout> {
        let program = self.context.program();
        let (result, axis) = self.component.ops.iter().find_map(|(op, _)| {
            let OpKind::Reduce { dst, src, axis, .. } = op.kind else { return None };
            if src == tensor { Some((known.get(dst)?, axis)) } else { None }
        })?;
        let shape = &program.tensor(tensor).shape;
        let mut along = vec![0; shape.len()];
        along[axis] = 1;
        let value = result.layout.value.iter().cloned().chain([TileMode::new(shape[axis], along)]);
        Some(ThreadValueLayout::covering(shape, result.layout.thread.clone(), value.collect()))
    }

    /// Returns a tensor without a layout, the layouts to try for it, and their reason. It is the tensor of the copy that moves
    /// most bytes, where copies of global memory come before those of shared memory; the largest tensor if no copy is left.
    fn anchor_copy(&self, missing: TensorId, known: &Layouts) -> (TensorId, Vec<ThreadValueLayout>, Reason) {
        let program = self.context.program();
        let unknown = self.component.copies().filter_map(|(op, trips)| Some((Transfer::of(op)?, trips)));
        let unknown = unknown.filter(|(t, _)| known.get(t.register).is_none());
        let weight = |t: &Transfer<'_>, trips: f64| {
            let tensor = program.tensor(t.register);
            let bytes = tensor.size() as f64 * f64::from(tensor.dtype.bits()) * trips;
            (t.shared().is_none(), bytes)
        };
        // Ties go to the first transfer.
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
                // If the component moves elements narrower than a byte, vectors must cover whole bytes of them.
                let narrow = |(op, _)| {
                    let bits = program.tensor(Transfer::of(op)?.register).dtype.bits();
                    Some(i64::from((8 / bits).max(1)))
                };
                let least = self.component.copies().filter_map(narrow).max().unwrap_or(1);
                let (layouts, text) = coalesced((program, self.context.pool), &transfer, dtype, least);
                (transfer.register, layouts, Reason { text, from: vec![transfer.op.id] })
            }
            // These tensors are never copied, so any layout works. Anchor the largest one: the others follow from it.
            None => {
                let unknown = self.component.tensors.iter().filter(|t| known.get(**t).is_none());
                let largest = unknown.max_by_key(|t| (program.tensor(**t).size(), std::cmp::Reverse(**t)));
                let tensor = *largest.unwrap_or(&missing);
                let shape = &program.tensor(tensor).shape;
                let layout = deal_plain(shape, i64::from(program.threads_holding(tensor)));
                let text = "touched by no copy and no gemm".into();
                (tensor, vec![layout], Reason { text, from: vec![] })
            }
        }
    }
}
