//! Runs all stages: constraints, components, search, redistributions, shared memory, choices.

pub(crate) mod family;
pub(crate) mod loads;
pub(crate) mod rounds;
pub(crate) mod second;
pub(crate) mod solved;
pub(crate) mod solver;
pub(crate) mod staged;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use hx_tile::{Choice, Demand, Op, OpId, OpKind, Solution, TileProgram};

use crate::checks::size::Together;
use crate::checks::{convertible, crossing, pipes, size};
use crate::choices::{resident, roles};
use crate::constraints::System;
use crate::cost::floor;
use crate::edits::{Edits, Move};
use crate::failure::{Blocked, Failure, FailureKind};
use crate::search::pool::Pool;
use crate::search::wish::Wish;
use crate::search::{ALL, Conflicts, Wanted};
use crate::solve::family::{DraftOutcome, Family};
use crate::solve::loads::{Means, loaded, routes};
use crate::solve::solved::Solved;
use crate::solve::solver::Solver;
use crate::{estimate, shared};

/// Finds layouts and instructions for a program, the same ones every time.
///
/// # Errors
/// A [`Failure`] that says which demands conflict or which instruction is missing, or that `cancelled` returned true.
pub fn solve(program: &TileProgram, cancelled: &dyn Fn() -> bool) -> Result<Solved, Failure> {
    counted(program, cancelled).0
}

/// Finds the cheapest layouts and instructions that take an alternative.
///
/// # Errors
/// As [`solve`]: the failure says why the program cannot have the alternative.
pub fn solve_wishing(
    program: &TileProgram,
    wish: &Wish,
    cancelled: &dyn Fn() -> bool,
) -> Result<Solved, Failure> {
    let run = Run::new(program, Means::ALL, cancelled).wishing(wish.clone());
    run.best().map(|found| found.solved)
}

/// Returns the result of [`solve`] and the number of branches that were searched.
pub(crate) fn counted(
    program: &TileProgram,
    cancelled: &dyn Fn() -> bool,
) -> (Result<Solved, Failure>, usize) {
    let run = Run::new(program, Means::ALL, cancelled);
    let found = run.best();
    (found.map(|found| found.solved), run.branches.get())
}

/// Returns the result of [`solve`] with only these means.
///
/// # Errors
/// As [`solve`].
#[cfg(test)]
pub(crate) fn solve_with(program: &TileProgram, means: Means) -> Result<Solved, Failure> {
    Run::new(program, means, &|| false).best().map(|found| found.solved)
}

/// A run over the routes of a program's operands. All of them share what the solver keeps.
struct Run<'r> {
    program: &'r TileProgram,
    means: Means,
    cancelled: &'r dyn Fn() -> bool,
    pool: Pool,
    /// Branches searched, in all routes.
    branches: Cell<usize>,
}

/// The cheapest solution for a route.
struct Routed {
    solved: Solved,
    /// The rearrangements that move nothing in it.
    still: BTreeSet<OpId>,
    /// [`Solver::ended`].
    ended: [f64; 2],
}

impl<'r> Run<'r> {
    fn new(program: &'r TileProgram, means: Means, cancelled: &'r dyn Fn() -> bool) -> Run<'r> {
        Run { program, means, cancelled, pool: Pool::new(program), branches: Cell::new(0) }
    }

    /// Returns the run that must take an alternative.
    fn wishing(self, wish: Wish) -> Run<'r> {
        Run { pool: Pool::wishing(self.program, wish), ..self }
    }

    /// Returns the cheapest solution over all routes, the first of equally cheap ones. A route whose cycles cannot fall below those
    /// of a solution found already is not searched. The search compares sums over all operations; if the roles of a program run at
    /// the same time, their estimate decides between the solutions that the search kept.
    ///
    /// # Errors
    /// If no route has a solution, the failure of the last route; with a wish, the first failure that is not about instructions,
    /// because the wish excludes those of the other routes.
    fn best(&self) -> Result<Routed, Failure> {
        let mut kept: Vec<Routed> = Vec::new();
        let mut failed = None;
        for route in routes(self.program, &self.pool, self.means.by_descriptor) {
            let loaded = route.loaded(self.program);
            let cost = kept.last().map_or(f64::INFINITY, |best| best.solved.solution.cost);
            if !kept.is_empty() && is_reached(floor::of_program(&loaded, &self.pool), cost) {
                continue;
            }
            match self.on(&route, &loaded, cost) {
                Ok(found) if found.solved.solution.cost < cost => kept.push(found),
                Ok(_) => {}
                Err(failure) if failure.kind == FailureKind::Cancelled => return Err(failure),
                Err(failure) => {
                    let is_kept = failed.as_ref().is_some_and(|first: &Failure| {
                        self.pool.wish != Wish::default() && first.kind != FailureKind::NoInstruction
                    });
                    if !is_kept {
                        failed = Some(failure);
                    }
                }
            }
        }
        let last = kept.pop().ok_or_else(|| failed.unwrap_or_else(Failure::cancelled))?;
        // The last one has the least sum, so it is the best one unless roles run at the same time.
        let cheaper = |best: Routed, other: Routed| {
            let [a, b] = [&best, &other].map(|routed| compared(&routed.solved));
            if b < a { other } else { best }
        };
        Ok(kept.into_iter().rev().fold(last, cheaper))
    }

    /// Returns the cheapest solution for a route. Each route has the whole budget of branches.
    ///
    /// # Errors
    /// The failure of the route. If all its solutions take `below` cycles or more, the failure tells nothing about the route.
    fn on(&self, route: &Edits, loaded: &TileProgram, below: f64) -> Result<Routed, Failure> {
        check(loaded)?;
        self.pool.branches.set(0);
        let solver = Solver::new(loaded, &self.pool, self.cancelled);
        let solver = solver.in_boxes(self.means.in_boxes).below(below);
        let found = solver.solve();
        self.branches.set(self.branches.get() + self.pool.branches.get());
        let (draft, still) = found?;
        let ended = solver.ended.each_ref().map(Cell::get);
        Ok(Routed { solved: draft.solved(loaded, route), still, ended })
    }

    /// Returns the other solutions of a route's program, cheapest first.
    ///
    /// # Errors
    /// `Cancelled` if the caller cancelled.
    fn others(&self, routed: &Routed) -> Result<Vec<Solved>, Failure> {
        let Edits { cuts, loads, moves, .. } = &routed.solved.edits;
        let route = Edits { cuts: cuts.clone(), loads: loads.clone(), ..Edits::default() };
        let loaded = route.loaded(self.program);
        let solver = Solver::new(&loaded, &self.pool, self.cancelled);
        let solver = solver.in_boxes(self.means.in_boxes);
        solver.ended.iter().zip(routed.ended).for_each(|(cell, ended)| cell.set(ended));
        let best = (&routed.solved.solution, moves.as_slice());
        let mut others = solver.others(best, &routed.still)?;
        others.extend(solver.staged(best, &routed.still)?);
        let others = others.into_iter().map(|draft| draft.solved(&loaded, &route));
        let mut others: Vec<(f64, Solved)> = others.map(|solved| (compared(&solved), solved)).collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.solution.cost.total_cmp(&b.1.solution.cost)));
        Ok(others.into_iter().map(|(_, solved)| solved).collect())
    }
}

fn compared(solved: &Solved) -> f64 {
    estimate::compared(&solved.program, &solved.solution)
}

/// Reports whether a lower bound on the cycles of a solution reaches `cost`, whatever the rounding of their sums.
pub(crate) fn is_reached(floor: f64, cost: f64) -> bool {
    floor * (1.0 - ROUNDING) >= cost
}

/// Rejects programs that no search can solve.
///
/// # Errors
/// The first failure that the pins, roles, scopes, sizes, pipelines or element types of the program cause.
fn check(program: &TileProgram) -> Result<(), Failure> {
    shared::check_pins(program)?;
    roles::check(program)?;
    crossing::check(program)?;
    size::check(program)?;
    pipes::check(program)?;
    convertible::check(program)
}

/// Returns the constraints of a program without a solution, in the order of its text: those of its operations, and those of the
/// instructions that were found before the search failed.
pub fn demands(program: &TileProgram, cancelled: &dyn Fn() -> bool) -> Vec<Demand> {
    let program = &loaded(program);
    if check(program).is_err() {
        return System::of(program, &BTreeSet::new()).demands();
    }
    let pool = Pool::new(program);
    let solver = Solver::new(program, &pool, cancelled);
    match solver.attempt(&[], &BTreeSet::new(), f64::INFINITY) {
        Ok((draft, _)) => draft.solution.constraints,
        Err(_) => solver.built.take(),
    }
}

/// Returns all solutions that differ in the generated code: the choices for each component of the program, with and without
/// collective copies, and those that move values before a narrow store. The first is the solution of [`solve`]. At most
/// [`crate::CANDIDATES`] others follow, and those that move values, in the order of their cost. One that moves values may cost less
/// than the first: a redistribution that layouts do not need is made only where the text has `rearrange`.
///
/// # Errors
/// As [`solve`].
pub fn candidates(program: &TileProgram, cancelled: &dyn Fn() -> bool) -> Result<Vec<Solved>, Failure> {
    let run = Run::new(program, Means::ALL, cancelled);
    let best = run.best()?;
    let others = run.others(&best)?;
    Ok(std::iter::once(best.solved).chain(others).collect())
}

/// Relative difference up to which two costs count as equal.
pub(crate) const ROUNDING: f64 = 1e-9;

/// A solution of a program without moves, and the edits of that program that it is for.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) solution: Solution,
    pub(crate) edits: Edits,
}

impl Draft {
    /// Returns the solved program, with the cost of each operation, the blocks that should run together, and the registers of roles.
    /// `loaded` is the source with the rounds and loads of a route.
    pub(crate) fn solved(self, loaded: &TileProgram, route: &Edits) -> Solved {
        let program = self.edits.apply(loaded).into_owned();
        let resident_blocks = resident::blocks(&program, &self.solution);
        // The costs depend on the registers of roles.
        let role_registers = roles::role_registers_with(&program, &self.solution.choices);
        let mut solution = Solution { resident_blocks, role_registers, ..self.solution };
        for (op, pin) in &program.pins {
            if let Some(reason) = solution.choices.get_mut(op).and_then(Choice::reason_mut) {
                reason.text = format!("the text names `{}`; {}", pin.text, reason.text);
            }
        }
        let costs = estimate::costs(&program, &solution);
        let edits = Edits { cuts: route.cuts.clone(), loads: route.loads.clone(), ..self.edits };
        Solved { program: Arc::new(program), solution: Solution { costs, ..solution }, edits }
    }
}

/// The result of an attempt.
enum Attempt {
    Draft(Box<Draft>, BTreeSet<Move>),
    /// No solution without these additional moves.
    Needs(Vec<Move>),
}

impl Solver<'_> {
    /// Returns the best solution, and the rearrangements that move nothing in it.
    ///
    /// # Errors
    /// As [`solve`].
    pub(crate) fn solve(&self) -> Result<(Draft, BTreeSet<OpId>), Failure> {
        let mut tries = TRIES;
        let (mut best, mut still) = self.first(&mut tries).map_err(|blocked| blocked.failure)?;
        best = self.bettered_in_family(best, &still);
        // If the caller cancelled, some alternatives were never tried, so `best` may not be the cheapest.
        if (self.cancelled)() {
            return Err(Failure::cancelled());
        }
        let before = still.len();
        // A rearrangement whose target is free may cost nothing if values stay in place. Try this for each of them.
        for (op, _) in self.program.ops(1.0) {
            let OpKind::Rearrange { dst, .. } = op.kind else { continue };
            if self.is_free(dst) && still.insert(op.id) {
                match self.attempt(&best.edits.moves, &still, best.solution.cost.min(self.below)) {
                    Ok((draft, _)) if draft.solution.cost < best.solution.cost => best = draft,
                    Err(blocked) if blocked.failure.kind == FailureKind::Cancelled => {
                        return Err(blocked.failure);
                    }
                    _ => {
                        still.remove(&op.id);
                    }
                }
            }
        }
        // Keeping rearrangements in place changes the constraints and so the family; search the new family.
        if still.len() > before {
            best = self.bettered_in_family(best, &still);
        }
        best = self.with_wide_stores(best, &still)?;
        if (self.cancelled)() {
            return Err(Failure::cancelled());
        }
        Ok((best, still))
    }
}

impl Solver<'_> {
    /// Returns a solution in which all rearrangements may move values. Elements narrower than a byte cannot move between
    /// threads one by one. If there is no solution, rearrangements of such elements with a free target keep their values in
    /// place: the second result.
    ///
    /// # Errors
    /// The failure of the attempt in which all rearrangements may move values, if neither attempt has a solution, or
    /// `Cancelled`.
    fn first(&self, tries: &mut usize) -> Result<(Draft, BTreeSet<OpId>), Blocked> {
        let blocked = match self.mended(&BTreeSet::new(), tries) {
            Ok(found) => return Ok((found, BTreeSet::new())),
            Err(blocked) => blocked,
        };
        let narrow = |(op, _): (&Op, f64)| {
            let OpKind::Rearrange { dst, .. } = op.kind else { return None };
            (self.is_free(dst) && self.program.tensor(dst).dtype.bits() < 8).then_some(op.id)
        };
        let still: BTreeSet<OpId> = self.program.ops(1.0).into_iter().filter_map(narrow).collect();
        if still.is_empty() || blocked.failure.kind == FailureKind::Cancelled {
            return Err(blocked);
        }
        match self.mended(&still, tries) {
            Ok(found) => Ok((found, still)),
            Err(other) if other.failure.kind == FailureKind::Cancelled => Err(other),
            Err(_) => Err(blocked),
        }
    }
}

/// Limit on the attempts with redistributions.
const TRIES: usize = 32;
/// Limit on the redistributions of one solution.
const DEPTH: usize = 4;

impl Solver<'_> {
    /// Returns the cheapest solution found: without moves or, if layouts conflict, with few.
    ///
    /// # Errors
    /// The failure of the attempt without moves, if no moves mend it, or `Cancelled`.
    fn mended(&self, still: &BTreeSet<OpId>, tries: &mut usize) -> Result<Draft, Blocked> {
        let blocked = match self.attempt(&[], still, f64::INFINITY) {
            Ok((draft, candidates)) => {
                let best = self.bettered(draft, candidates, still, tries);
                return if self.spills(&best) { self.spread(best, still) } else { Ok(best) };
            }
            Err(blocked) => blocked,
        };
        if blocked.failure.kind == FailureKind::Cancelled {
            return Err(blocked);
        }
        // Other places for moves are searched from this solution, so it is of use whatever it costs.
        let below = if blocked.moves.is_empty() { self.below } else { f64::INFINITY };
        let Some(mut best) = self.exchanged(still, below)? else { return Err(blocked) };
        // Search for a solution with fewer moves, or with moves at other places. Moves beyond the budget are counted as
        // unexplored.
        let mut level: Vec<(Vec<Move>, BTreeSet<Move>)> = vec![(Vec::new(), blocked.moves)];
        for _ in 0..best.edits.moves.len().min(DEPTH) {
            let open = |(moves, candidates): &(Vec<Move>, BTreeSet<Move>)| {
                candidates.iter().filter(|candidate| !moves.contains(candidate)).count() as u64
            };
            let mut untried: u64 = level.iter().map(open).sum();
            let mut found = false;
            let mut next = Vec::new();
            for (moves, candidates) in &level {
                for candidate in candidates.iter().filter(|candidate| !moves.contains(candidate)) {
                    if !self.may_try(tries) {
                        best.solution.unexplored += untried;
                        return Ok(best);
                    }
                    untried -= 1;
                    let more: Vec<Move> = moves.iter().copied().chain([*candidate]).collect();
                    match self.attempt(&more, still, f64::INFINITY) {
                        Ok((draft, _)) => {
                            found = true;
                            if draft.solution.cost < best.solution.cost {
                                best = draft;
                            }
                        }
                        Err(blocked) if blocked.failure.kind == FailureKind::Cancelled => {
                            return Err(blocked);
                        }
                        Err(blocked) => next.push((more, blocked.moves)),
                    }
                }
            }
            if found {
                break;
            }
            level = next;
        }
        Ok(best)
    }

    /// Reports whether threads have too few registers for a solution.
    fn spills(&self, draft: &Draft) -> bool {
        let program = draft.edits.apply(self.program);
        let values = |tensor| Some(draft.solution.registers.get(&tensor)?.layout.mode(1).size());
        Together::of(&program).spills(&program, &values) > 0.0
    }

    /// Returns the cheaper of `best`, which spills, and a solution with moves at several places at once. The layouts of a
    /// solution without conflicts may leave too many elements in each thread.
    ///
    /// # Errors
    /// `Cancelled` if the caller cancelled.
    fn spread(&self, best: Draft, still: &BTreeSet<OpId>) -> Result<Draft, Blocked> {
        match self.exchanged(still, best.solution.cost.min(self.below)) {
            Ok(Some(other)) if other.solution.cost < best.solution.cost => Ok(other),
            Err(blocked) if blocked.failure.kind == FailureKind::Cancelled => Err(blocked),
            _ => Ok(best),
        }
    }

    /// Reports whether the budget allows one more attempt with redistributions, and counts it.
    fn may_try(&self, tries: &mut usize) -> bool {
        let may = *tries > 0 && self.pool.branches.get() < ALL;
        *tries = tries.saturating_sub(1);
        may
    }

    /// Returns a solution with a move wherever layouts conflict. `None` if the user's pins or the size of shared memory exclude
    /// it, or if it takes `below` cycles or more.
    ///
    /// # Errors
    /// `Cancelled` if the caller cancelled.
    fn exchanged(&self, still: &BTreeSet<OpId>, below: f64) -> Result<Option<Draft>, Blocked> {
        let mut moves: Vec<Move> = Vec::new();
        loop {
            let more = match self.attempt_with(&moves, still, Conflicts::Mend, below) {
                Ok(Attempt::Draft(draft, _)) => return Ok(Some(*draft)),
                Ok(Attempt::Needs(more)) => more,
                Err(blocked) if blocked.failure.kind == FailureKind::Cancelled => return Err(blocked),
                Err(blocked) => blocked.moves.into_iter().filter(|m| !moves.contains(m)).take(1).collect(),
            };
            let before = moves.len();
            for m in more {
                if !moves.contains(&m) {
                    moves.push(m);
                }
            }
            if moves.len() == before {
                return Ok(None);
            }
        }
    }

    /// Tries a move in a solution that needs none: it may be cheaper, for example if it makes matrix instructions usable.
    fn bettered(
        &self,
        mut best: Draft,
        candidates: BTreeSet<Move>,
        still: &BTreeSet<OpId>,
        tries: &mut usize,
    ) -> Draft {
        let moves = best.edits.moves.clone();
        let count = candidates.len();
        for (i, candidate) in candidates.into_iter().enumerate() {
            if !self.may_try(tries) {
                best.solution.unexplored += (count - i) as u64;
                break;
            }
            let more: Vec<Move> = moves.iter().copied().chain([candidate]).collect();
            match self.attempt(&more, still, best.solution.cost.min(self.below)) {
                Ok((draft, _)) if draft.solution.cost < best.solution.cost => best = draft,
                _ => {}
            }
        }
        best
    }

    /// Returns the cheapest solution with exactly these moves, and the moves that may lead to a cheaper one.
    ///
    /// # Errors
    /// The failure of the search or of the chosen layouts; a failure also if every solution takes `below` cycles or more.
    pub(crate) fn attempt(
        &self,
        moves: &[Move],
        still: &BTreeSet<OpId>,
        below: f64,
    ) -> Result<(Draft, BTreeSet<Move>), Blocked> {
        match self.attempt_with(moves, still, Conflicts::Leave, below)? {
            Attempt::Draft(draft, candidates) => Ok((*draft, candidates)),
            // `Conflicts::Leave` drops branches with conflicts, so no leaf has moves.
            Attempt::Needs(_) => Err(Failure::new(FailureKind::Conflict, "no layout was found").into()),
        }
    }

    /// Returns a solution made of the best leaf of every component, or the moves that these leaves need beyond `moves`.
    ///
    /// # Errors
    /// As [`Solver::attempt`].
    fn attempt_with(
        &self,
        moves: &[Move],
        still: &BTreeSet<OpId>,
        conflicts: Conflicts,
        below: f64,
    ) -> Result<Attempt, Blocked> {
        self.on_ground(Family { moves, still, single: false }, |ground| {
            let (mut leaves, mut candidates, mut unexplored) = (Vec::new(), BTreeSet::new(), 0);
            let mut least = floor::of_transfers(self.program);
            for component in &ground.components {
                // A move between threads may turn out cheaper than the search counts, so leaves with moves have no limit.
                let of_leaf = match conflicts {
                    Conflicts::Leave => below * (1.0 + ROUNDING) - least,
                    Conflicts::Mend => f64::INFINITY,
                };
                let wanted = Wanted { below: of_leaf, ..Wanted::one(conflicts) };
                let mut found = ground.search(component, wanted)?;
                least += found.leaves.first().map_or(0.0, |leaf| leaf.cost);
                unexplored += found.left;
                candidates.extend(found.moves);
                leaves.extend(found.leaves.drain(..).take(1));
            }
            let needed: Vec<Move> = leaves.iter().flat_map(|leaf| leaf.moves.clone()).collect();
            if !needed.is_empty() {
                return Ok(Attempt::Needs(needed));
            }
            if (self.cancelled)() {
                return Err(Failure::cancelled().into());
            }
            match ground.solution(&leaves.iter().collect::<Vec<_>>(), below)? {
                DraftOutcome::Draft(mut draft) => {
                    draft.solution.unexplored += unexplored;
                    Ok(Attempt::Draft(draft, candidates))
                }
                DraftOutcome::Dearer => {
                    Err(Failure::new(FailureKind::Conflict, "no layout was found").into())
                }
            }
        })
    }
}
