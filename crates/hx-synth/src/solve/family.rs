//! An attempt at a program, and its family: the solutions in which one component uses another leaf than its cheapest.
//!
//! Components are searched one by one, as if each access to shared memory alone determined the layout of its memory. The cost of
//! a leaf is therefore a lower bound on the cost of a solution with it. If accesses that share a memory interfere, or values move
//! between threads, a solution with another leaf may be cheaper. The choice ([`Solver::bettered_in_family`]) and the list of
//! candidates ([`Solver::others`]) search the same family, so the list contains no solution that the choice did not consider.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use hx_tile::{Choice, OpId, OpKind, RearrangeChoice, Reason, Solution, TensorId, TensorKind, TileProgram};

use crate::choices::stream;
use crate::constraints::System;
use crate::constraints::component::{Component, UNKNOWN_TRIPS, components};
use crate::cost::floor;
use crate::distribution::layouts::{Layouts, ReasonedLayout};
use crate::distribution::pinned;
use crate::edits::{Edits, Move};
use crate::failure::{Blocked, Failure, FailureKind};
use crate::movement::route;
use crate::search::context::SolverContext;
use crate::search::{Conflicts, Found, Leaf, Wanted, freeing, search};
use crate::shared::barriers;
use crate::solve::solver::{CANDIDATES, Solver};
use crate::solve::{Draft, ROUNDING, is_reached};
use crate::{choices, cost};

/// Limit on the leaves that are kept for a component.
const LEAVES: usize = CANDIDATES;
/// Limit on the branches that the search for these leaves visits, in each component.
const BRANCHES: usize = 1024;
/// Limit on the solutions of a family that are built to find a cheaper one.
const TRIES: u64 = 96;
/// Limit on the addresses that are counted for the shared layouts of these solutions.
const ADDRESSES: u64 = 16_000_000;

/// The state that all solutions of a family share.
pub(crate) struct Ground<'s, 'p> {
    solver: &'s Solver<'s>,
    still: &'s BTreeSet<OpId>,
    context: SolverContext<'s, 'p>,
    edits: Edits,
    /// The layouts that the user pinned, with the layouts that follow from them.
    start: Layouts,
    pub(crate) components: Vec<Component<'p>>,
}

/// The result of building a solution from leaves.
pub(crate) enum DraftOutcome {
    Draft(Box<Draft>),
    /// The solution cannot cost less than the limit.
    Dearer,
}

/// A family, and the part of it that is searched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family<'a> {
    pub(crate) moves: &'a [Move],
    pub(crate) still: &'a BTreeSet<OpId>,
    /// Excludes collective copies.
    pub(crate) single: bool,
}

impl<'s> Solver<'s> {
    /// Calls `body` with the constraints and components of the program after the family's moves.
    ///
    /// # Errors
    /// The failure of the pinned layouts if they conflict, else the failure of `body`.
    pub(crate) fn on_ground<R>(
        &self,
        family: Family<'_>,
        body: impl FnOnce(&Ground<'_, '_>) -> Result<R, Blocked>,
    ) -> Result<R, Blocked> {
        let edits = Edits { moves: family.moves.to_vec(), ..Edits::default() };
        let moved = edits.apply(self.program);
        let system = System::of(&moved, family.still);
        self.built.replace(system.demands());
        let context = SolverContext::new(&system, self.pool, self.cancelled);
        let context = context.single(family.single).in_boxes(self.in_boxes).after(family.moves);
        let start = pins(&context)?;
        let components = components(&system);
        body(&Ground { solver: self, still: family.still, context, edits, start, components })
    }

    /// Returns the cheapest solution of the families of `best`, with and without collective copies, or `best` itself.
    pub(crate) fn bettered_in_family(&self, mut best: Draft, still: &BTreeSet<OpId>) -> Draft {
        let moves = best.edits.moves.clone();
        let mut tries = TRIES;
        // No leaf changes these cycles.
        let fixed = floor::of_transfers(self.program);
        for single in [false, true] {
            let within = best.solution.strain - fixed - ROUNDING * best.solution.cost;
            if within <= 0.0 || single && !self.has_collective() {
                break;
            }
            // An error means that this family has no solution: keep `best`.
            let family = Family { moves: &moves, still, single };
            let ended =
                self.on_ground(family, |ground| ground.better(&mut best, [within, fixed], &mut tries));
            self.ended[usize::from(single)].set(ended.unwrap_or(f64::INFINITY));
        }
        best
    }

    /// Returns solutions of the families of `best`, which has these moves, each with one other leaf, up to the limit of the
    /// list. Solutions that the budget kept the choice from trying are left out: they are counted as unexplored.
    ///
    /// # Errors
    /// `Cancelled` if the caller cancelled.
    pub(crate) fn others(
        &self,
        (best, moves): (&Solution, &[Move]),
        still: &BTreeSet<OpId>,
    ) -> Result<Vec<Draft>, Failure> {
        let mut others: Vec<Draft> = Vec::new();
        for single in [false, true] {
            if single && !self.has_collective() {
                break;
            }
            let family = Family { moves, still, single };
            let ended = self.ended[usize::from(single)].get();
            let listed = self.on_ground(family, |ground| ground.list(best, ended, &mut others));
            match listed {
                Err(blocked) if blocked.failure.kind == FailureKind::Cancelled => return Err(blocked.failure),
                _ => {}
            }
        }
        Ok(others)
    }
}

impl<'p> Ground<'_, 'p> {
    fn program(&self) -> &'p TileProgram {
        self.context.program()
    }

    fn is_cancelled(&self) -> bool {
        (self.solver.cancelled)()
    }

    /// Returns the cheapest leaves of a component.
    ///
    /// # Errors
    /// The failure that the search met first if the component has no leaf, or `Cancelled`.
    pub(crate) fn search(&self, component: &Component<'p>, wanted: Wanted) -> Result<Found<'p>, Blocked> {
        if self.is_cancelled() {
            return Err(Failure::cancelled().into());
        }
        search(&self.context, component, self.start.clone(), wanted)
    }

    /// Returns, for every component, the leaves within `within` cycles of its cheapest, cheapest first.
    ///
    /// # Errors
    /// As [`Ground::search`].
    fn leaves(&self, within: f64) -> Result<Vec<Vec<Leaf<'p>>>, Blocked> {
        let wanted = Wanted { keep: LEAVES, within, ..Wanted::one(Conflicts::Leave).branches(BRANCHES) };
        self.components.iter().map(|component| Ok(self.search(component, wanted)?.leaves)).collect()
    }

    /// Searches for a cheaper solution than `best`, in the order of the lower bounds, until a bound reaches the best cost.
    /// Every solution takes `fixed` cycles besides those of its leaves, so only leaves that cost at most `within` cycles more
    /// than the cheapest may be part of a cheaper one. Returns the lowest sum of the leaves' cycles among the solutions that
    /// the budget excluded; infinite if there are none.
    ///
    /// # Errors
    /// As [`Ground::search`].
    fn better(&self, best: &mut Draft, [within, fixed]: [f64; 2], tries: &mut u64) -> Result<f64, Blocked> {
        let leaves = self.leaves(within)?;
        let firsts: Vec<&Leaf<'p>> = leaves.iter().filter_map(|leaves| leaves.first()).collect();
        let all: f64 = firsts.iter().map(|leaf| leaf.cost).sum();
        let mut picks: Vec<(f64, usize, usize)> = vec![(all, 0, 0)];
        for (component, leaves) in leaves.iter().enumerate() {
            let others = leaves.iter().enumerate().skip(1);
            picks.extend(others.map(|(i, leaf)| (all - leaves[0].cost + leaf.cost, component, i)));
        }
        picks.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let before = self.solver.pool.looked.get();
        let mut ended = f64::INFINITY;
        for (least, component, leaf) in picks {
            if is_reached(least + fixed, best.solution.cost) || self.is_cancelled() {
                break;
            }
            let mut picked = firsts.clone();
            // A program without register tensors has no components, and one pick: the empty one.
            if let Some(place) = picked.get_mut(component) {
                *place = &leaves[component][leaf];
            }
            if *tries == 0 || self.solver.pool.looked.get() - before > ADDRESSES {
                // Count only the solutions that may be cheaper as unexplored.
                if self.may_take_less(&picked, best.solution.cost) {
                    best.solution.unexplored += 1;
                    ended = ended.min(least);
                }
                continue;
            }
            let outcome = self.solution(&picked, best.solution.cost);
            *tries -= u64::from(!matches!(outcome, Ok(DraftOutcome::Dearer)));
            // Ignore improvements within rounding errors.
            if let Ok(DraftOutcome::Draft(draft)) = outcome
                && draft.solution.cost < best.solution.cost * (1.0 - ROUNDING)
            {
                let unexplored = best.solution.unexplored;
                *best = *draft;
                best.solution.unexplored = unexplored;
            }
        }
        Ok(ended)
    }

    /// Reports whether a solution with one leaf of each component may take less than `limit` cycles, from bounds that need no
    /// solution.
    fn may_take_less(&self, leaves: &[&Leaf<'p>], limit: f64) -> bool {
        let known = self.known(leaves);
        let cost: f64 = leaves.iter().map(|leaf| leaf.cost).sum();
        let least = self.least((&known, &rows(leaves)), &route::routes(&self.context, &known), limit);
        least.is_ok_and(|least| cost + least < limit)
    }

    /// Adds the solutions that differ from `best` and from each other. Skips solutions with a lower bound of at least `ended`
    /// that may be cheaper than `best`: the choice did not try them.
    ///
    /// # Errors
    /// As [`Ground::search`].
    fn list(&self, best: &Solution, ended: f64, others: &mut Vec<Draft>) -> Result<(), Blocked> {
        let leaves = self.leaves(f64::INFINITY)?;
        let firsts: Vec<&Leaf<'p>> = leaves.iter().filter_map(|leaves| leaves.first()).collect();
        let all: f64 = firsts.iter().map(|leaf| leaf.cost).sum();
        for (component, leaves) in leaves.iter().enumerate() {
            for leaf in leaves {
                if others.len() >= CANDIDATES {
                    return Ok(());
                }
                if self.is_cancelled() {
                    return Err(Failure::cancelled().into());
                }
                let least = all - firsts[component].cost + leaf.cost;
                if least >= ended && least < best.cost {
                    continue;
                }
                let mut picked = firsts.clone();
                picked[component] = leaf;
                // Skip leaves with a register tensor that exceeds the registers of a thread. Other limits, such as the size of
                // shared memory, are checked when the solution is built.
                if !self.has_room(&picked) {
                    continue;
                }
                let Ok(DraftOutcome::Draft(draft)) = self.solution(&picked, f64::INFINITY) else { continue };
                let is_new = |other: &Solution| !alike(other, &draft.solution);
                if is_new(best) && others.iter().all(|other| is_new(&other.solution)) {
                    others.push(*draft);
                }
            }
        }
        Ok(())
    }

    /// Returns the layouts of one leaf of each component.
    fn known(&self, leaves: &[&Leaf<'p>]) -> Layouts {
        let mut known = self.start.clone();
        for (component, leaf) in self.components.iter().zip(leaves) {
            for tensor in &component.tensors {
                if let Some(layout) = leaf.layouts.get(*tensor) {
                    known.set(*tensor, layout.clone());
                }
            }
        }
        known
    }

    /// Reports whether each register tensor alone fits the registers of a thread.
    fn has_room(&self, leaves: &[&Leaf<'p>]) -> bool {
        let most = i64::from(self.solver.program.limits().registers_per_thread);
        self.known(leaves).iter().all(|(tensor, known)| {
            known.layout.values() * i64::from(self.program().tensor(tensor).dtype.bits()) <= 32 * most
        })
    }

    /// Returns the solution with one leaf of each component, or `Dearer` if it takes at least `limit` cycles.
    ///
    /// # Errors
    /// The failure of the solution, with the moves that might repair it.
    pub(crate) fn solution(&self, leaves: &[&Leaf<'p>], limit: f64) -> Result<DraftOutcome, Blocked> {
        let mut solution = Solution { constraints: self.context.system.demands(), ..Solution::default() };
        match self.build(leaves, limit, &mut solution) {
            Ok(edits) => Ok(edits.map_or(DraftOutcome::Dearer, |edits| {
                DraftOutcome::Draft(Box::new(Draft { solution, edits }))
            })),
            Err(blocked) => {
                self.solver.built.replace(solution.constraints);
                Err(blocked)
            }
        }
    }

    /// Returns a lower bound on the cycles of a solution besides those of its leaves, for any layouts of shared memory. The
    /// bound needs no program with exchanges, so it is computed before that program is built.
    ///
    /// # Errors
    /// The failure of an access to shared memory that no instruction serves.
    fn least(
        &self,
        (known, rows): (&Layouts, &choices::Rows),
        routes: &BTreeMap<OpId, Option<RearrangeChoice>>,
        limit: f64,
    ) -> Result<f64, Failure> {
        let context = &self.context;
        let target = context.target();
        let mut moved: f64 = routes.values().flatten().map(|choice| choice.cycles).sum();
        for (op, trips) in context.program().ops(UNKNOWN_TRIPS) {
            let OpKind::Rearrange { dst, src, .. } = op.kind else { continue };
            if let Some(None) = routes.get(&op.id) {
                let exchange = route::exchange_of(context, known, [dst, src], trips);
                let accesses = context.pool.exchanges.borrow().get(&exchange).copied().unwrap_or(0.0);
                moved += trips
                    * cost::exchange_cycles(target, context.program().threads_of(op), context.drain)
                    + accesses;
            }
        }
        // Take back the cycles that the search counted for each access alone.
        let mut corrected = Solution::default();
        let uses = choices::uses(context, known, rows, &mut corrected)?;
        Ok(moved + corrected.cost + uses.least_cycles(context, limit)?)
    }

    /// Adds the moves that might repair a failure of shared memory: those of the packed tensors that take part in it.
    fn with_moves(&self, failure: Failure, known: &Layouts) -> Blocked {
        let program = self.solver.program;
        let taking_part = failure.op.into_iter().chain(failure.parts.iter().filter_map(|part| part.op));
        let narrow = |t: &TensorId| program.tensor(*t).dtype.bits() < 8;
        let ops = taking_part.filter_map(|op| program.op(op));
        let ops = ops.filter(|op| op.kind.registers().iter().any(narrow));
        let moves = ops.flat_map(|op| freeing(program, known, op)).collect();
        Blocked { failure, moves }
    }

    /// Builds the [`Ground::solution`] in place, so that a failed one keeps the parts that were built. Returns the edits
    /// that it is for; `None` if it takes `limit` cycles or more.
    ///
    /// # Errors
    /// As [`Ground::solution`].
    fn build(
        &self,
        leaves: &[&Leaf<'p>],
        limit: f64,
        solution: &mut Solution,
    ) -> Result<Option<Edits>, Blocked> {
        let (solver, context) = (self.solver, &self.context);
        let (known, rows) = (self.known(leaves), rows(leaves));
        for leaf in leaves {
            solution.cost += leaf.cost;
            for (gemm, tiling) in &leaf.tilings {
                let choice = choices::gemm(context, gemm, tiling, &leaf.layouts)?;
                solution.constraints.push(choices::gemm_demand(gemm, tiling));
                solution.choices.insert(gemm.op.id, Choice::Gemm(choice));
            }
        }
        let least = solution.cost;
        solution.steps = context.steps.get();
        let routes = route::routes(context, &known);
        if limit.is_finite() && least + self.least((&known, &rows), &routes, limit)? >= limit {
            return Ok(None);
        }
        solver.pool.made.set(solver.pool.made.get() + 1);
        let mut edits = self.edits.clone();
        // Rearrangements without a cheaper way move through shared memory.
        edits.exchanges = routes.iter().filter(|(_, route)| route.is_none()).map(|(op, _)| *op).collect();
        let whole = edits.apply(solver.program);
        let system = System::of(&whole, self.still);
        let context = SolverContext::new(&system, solver.pool, solver.cancelled).single(context.single);
        let context = context.in_boxes(solver.in_boxes);
        for (op, choice) in routes.into_iter().filter_map(|(op, route)| Some((op, route?))) {
            solution.cost += choice.cycles;
            solution.choices.insert(op, Choice::Rearrange(choice));
        }
        // Check the bounds that are cheapest to compute first.
        let uses = choices::uses(&context, &known, &rows, solution)?;
        if limit.is_finite() {
            uses.note_exchanges(&context, &known)?;
        }
        if solution.cost + uses.least_cycles(&context, limit)? >= limit {
            return Ok(None);
        }
        choices::global(&context, &known, solution)?;
        choices::prefetch::prefetches(&context, solution);
        choices::convert(&context, &known, solution)?;
        choices::map(&context, &known, solution)?;
        let within = choices::shared(&context, &known, uses, limit, solution)
            .map_err(|failure| self.with_moves(failure, &known))?;
        if !within {
            return Ok(None);
        }
        choices::reduce(&context, &known, solution)?;
        choices::parts(&context, &known, solution)?;
        barriers::place(&whole, &|tensor| known[tensor].layout.values(), solution);
        choices::fits(&whole, solution)?;
        stream::streams(&whole, solution);
        solution.steps += context.steps.get();
        held(&known, solution)?;
        // The sort is stable: the constraint stays before the instruction chosen for it.
        solution.constraints.sort_by_key(|d| d.op);
        solution.strain = solution.cost - least;
        Ok(Some(edits))
    }
}

/// Records the layouts of all register tensors.
///
/// # Errors
/// The failure of a layout that is too large.
fn held(known: &Layouts, solution: &mut Solution) -> Result<(), Failure> {
    for (tensor, reasoned) in known.iter() {
        let distribution = reasoned.layout.to_distribution(reasoned.reason.clone());
        let distribution = distribution.map_err(|e| choices::too_large(e.to_string()))?;
        solution.registers.insert(tensor, distribution);
    }
    Ok(())
}

/// Returns the instructions of all products of a choice.
fn rows(leaves: &[&Leaf<'_>]) -> choices::Rows {
    let tilings = leaves.iter().flat_map(|leaf| &leaf.tilings);
    tilings.map(|(gemm, tiling)| (gemm.op.id, tiling.row)).collect()
}

/// Reports whether the generated code of two solutions is the same.
fn alike(a: &Solution, b: &Solution) -> bool {
    let registers = |s: &Solution| -> Vec<_> { s.registers.values().map(|d| d.layout.clone()).collect() };
    let shared =
        |s: &Solution| -> Vec<_> { s.shared.values().map(|l| (l.layout.clone(), l.swizzle)).collect() };
    let rows = |s: &Solution| -> Vec<String> {
        s.choices
            .values()
            .map(|choice| match choice {
                Choice::Copy(c) => format!("{} {} {}", c.row, c.memory, c.register),
                Choice::Gemm(g) => format!("{} {:?}", g.row, g.arrangement),
                // They follow from the layouts.
                Choice::Convert(_)
                | Choice::Map(_)
                | Choice::Reduce(_)
                | Choice::Rearrange(_)
                | Choice::Slice(_)
                | Choice::Scan(_)
                | Choice::Bulk(_)
                | Choice::Prefetch(_) => String::new(),
            })
            .collect()
    };
    registers(a) == registers(b) && shared(a) == shared(b) && rows(a) == rows(b)
}

/// Returns the layouts that the user pinned, with the layouts that follow from them.
///
/// # Errors
/// `Pin` if a pinned layout does not fit its tensor, `Conflict` if pinned layouts contradict each other.
fn pins(context: &SolverContext<'_, '_>) -> Result<Layouts, Blocked> {
    let program = context.program();
    let mut start = Layouts::new(program.tensors.len());
    let mut pinned = Vec::new();
    for tensor in program.tensor_ids() {
        let info = program.tensor(tensor);
        let TensorKind::Register { pinned: Some(layout) } = &info.kind else { continue };
        let threads = program.threads_holding(tensor);
        let thread_value = pinned::read(layout, &info.shape, i64::from(threads)).map_err(|problem| {
            let message = format!(
                "the layout `{layout}` pinned to `{0}` does not deal the {1:?} elements of `{0}` to {threads} threads: {problem}",
                info.name, info.shape
            );
            Failure::new(FailureKind::Pin, message).part(None, Some(tensor), "pinned here")
        })?;
        let reason = Reason { text: "pinned".into(), from: vec![] };
        start.set(
            tensor,
            Rc::new(ReasonedLayout { layout: context.pool.keep(thread_value), reason, pin: Some(tensor) }),
        );
        pinned.push(tensor);
    }
    let conflicts = context.system.propagate(context.pool, &mut start, &pinned);
    match conflicts.first() {
        Some(first) => {
            let moves =
                conflicts.iter().flat_map(|c| context.system.moves(*c, context.pool, &start)).collect();
            Err(Blocked { failure: context.system.conflict(*first, &start), moves })
        }
        None => Ok(start),
    }
}
