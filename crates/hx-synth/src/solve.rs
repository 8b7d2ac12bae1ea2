//! The whole way: constraints, components, search, redistributions, shared memory, choices.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use hx_target::Arch;
use hx_tile::{
    Choice, Demand, Edits, Move, Op, OpId, OpKind, Reason, Solution, TensorId, TensorKind, TileProgram,
};

use crate::component::components;
use crate::constraints::{Known, Layouts, System};
use crate::failure::{Blocked, Failure, FailureKind};
use crate::pool::Pool;
use crate::search::{ALL, Conflicts, Cx, freeing, search};
use crate::size::Together;
use crate::{choices, convertible, pinned, route, size};

/// Finds layouts and instructions for a program, the same ones every time.
///
/// # Errors
/// A [`Failure`] that says what conflicts or lacks an instruction, or that `cancelled` returned true.
pub fn solve(program: &TileProgram, arch: Arch, cancelled: &dyn Fn() -> bool) -> Result<Solution, Failure> {
    counted(program, arch, cancelled).0
}

/// The same, with the branches that were looked at.
pub(crate) fn counted(
    program: &TileProgram,
    arch: Arch,
    cancelled: &dyn Fn() -> bool,
) -> (Result<Solution, Failure>, usize) {
    let pool = Pool::default();
    let checked = size::check(program, arch).and_then(|()| convertible::check(program, arch));
    let solver = Solver::new(program, arch, &pool, cancelled);
    let found = checked.and_then(|()| solver.solve());
    (found.map(|(best, _)| best), pool.branches.get())
}

/// The constraints of a program that has no solution, in the order of its text: what its operations demand, and of the instructions that
/// were looked for what was found before the search failed.
pub fn demands(program: &TileProgram, arch: Arch, cancelled: &dyn Fn() -> bool) -> Vec<Demand> {
    if size::check(program, arch).and_then(|()| convertible::check(program, arch)).is_err() {
        return System::of(program, &BTreeSet::new()).demands();
    }
    let pool = Pool::default();
    let solver = Solver::new(program, arch, &pool, cancelled);
    match solver.attempt(&[], &BTreeSet::new()) {
        Ok((solution, _)) => solution.constraints,
        Err(_) => solver.built.take(),
    }
}

/// All solutions that differ in what runs: the choices for each component of the program, with and without collective copies; at most
/// [`CANDIDATES`] besides the first. The first is what [`solve`] finds, the others are ordered by their cost.
///
/// # Errors
/// As [`solve`].
pub fn candidates(
    program: &TileProgram,
    arch: Arch,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<Solution>, Failure> {
    size::check(program, arch)?;
    let pool = Pool::default();
    let solver = Solver::new(program, arch, &pool, cancelled);
    let (best, still) = solver.solve()?;
    let moves = best.edits.moves.clone();
    let mut others: Vec<Solution> = Vec::new();
    for single in [false, true] {
        let mut component = 0;
        let mut leaf = 0;
        // Components and leaves are counted up until there are none.
        while others.len() < CANDIDATES {
            if leaf == CANDIDATES {
                (component, leaf) = (component + 1, 0);
            }
            let pick =
                Pick { component, leaf, single, conflicts: Conflicts::Leave, keep: CANDIDATES, held: true };
            // Each is looked for as the first was.
            pool.branches.set(0);
            match solver.attempt_with(&moves, &still, &pick) {
                Ok(Picked::Solution(solution, _)) => {
                    if !alike(&best, &solution) && !others.iter().any(|other| alike(other, &solution)) {
                        others.push(*solution);
                    }
                    leaf += 1;
                }
                Ok(Picked::NoLeaf | Picked::Needs(_)) => (component, leaf) = (component + 1, 0),
                Ok(Picked::NoComponent) => break,
                Ok(Picked::TooLarge) => leaf += 1,
                Err(blocked) if blocked.failure.kind == FailureKind::Cancelled => return Err(blocked.failure),
                // This leaf fits nothing else, such as shared memory.
                Err(_) => leaf += 1,
            }
        }
    }
    others.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    Ok(std::iter::once(best).chain(others).collect())
}

/// Whether each register tensor alone has room in a thread.
fn held(program: &TileProgram, known: &Layouts, arch: Arch) -> bool {
    let most = i64::from(arch.limits().registers_per_thread);
    known.iter().all(|(tensor, known)| {
        known.tv.values() * i64::from(program.tensor(tensor).dtype.bits()) <= 32 * most
    })
}

/// Solutions of which nothing that runs differs.
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
                _ => String::new(),
            })
            .collect()
    };
    registers(a) == registers(b) && shared(a) == shared(b) && rows(a) == rows(b)
}

/// Candidates of one program besides the chosen one: where [`candidates`] gives as many, there may be more.
pub const CANDIDATES: usize = 64;

/// Which leaf one of the components takes; the others take their best.
#[derive(Clone, Copy, Debug)]
struct Pick {
    component: usize,
    leaf: usize,
    /// No copy in which lanes exchange.
    single: bool,
    conflicts: Conflicts,
    /// Leaves of the component that are looked for.
    keep: usize,
    /// Each register tensor alone has to have room in a thread.
    held: bool,
}

impl Pick {
    /// The best leaf of every component.
    fn best(conflicts: Conflicts) -> Pick {
        Pick { component: 0, leaf: 0, single: false, conflicts, keep: 1, held: false }
    }
}

enum Picked {
    Solution(Box<Solution>, BTreeSet<Move>),
    /// A solution takes these moves besides.
    Needs(Vec<Move>),
    NoLeaf,
    NoComponent,
    /// A register tensor has no room in a thread.
    TooLarge,
}

impl Solver<'_> {
    /// The best solution, with the rearrangements that move nothing in it.
    fn solve(&self) -> Result<(Solution, BTreeSet<OpId>), Failure> {
        let mut tries = TRIES;
        let (mut best, mut still) = self.first(&mut tries).map_err(|blocked| blocked.failure)?;
        best = self.neighbour(best, &still);
        // What was not tried because nobody wants it any more was not worse.
        if (self.cancelled)() {
            return Err(Failure::cancelled());
        }
        // A rearrangement whose target is free may cost nothing: where it stays is tried one by one.
        for (op, _) in self.program.ops(1.0) {
            let OpKind::Rearrange { dst, .. } = op.kind else { continue };
            if self.is_free(dst) && still.insert(op.id) {
                match self.attempt(&best.edits.moves, &still) {
                    Ok((solution, _)) if solution.cost < best.cost => best = solution,
                    Err(blocked) if blocked.failure.kind == FailureKind::Cancelled => {
                        return Err(blocked.failure);
                    }
                    _ => {
                        still.remove(&op.id);
                    }
                }
            }
        }
        Ok((best, still))
    }
}

impl Solver<'_> {
    /// A solution in which all rearrangements may move values. Elements narrower than a byte do not change hands one by one: if there is
    /// none, those rearrangements whose target is free keep them where they are.
    fn first(&self, tries: &mut usize) -> Result<(Solution, BTreeSet<OpId>), Blocked> {
        let blocked = match self.mended(&BTreeSet::new(), tries) {
            Ok(found) => return Ok((found, BTreeSet::new())),
            Err(blocked) => blocked,
        };
        let narrow = |(op, _): (&Op, f64)| match op.kind {
            OpKind::Rearrange { dst, .. } if self.is_free(dst) => {
                (self.program.tensor(dst).dtype.bits() < 8).then_some(op.id)
            }
            _ => None,
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

    /// Whether a register tensor may have any layout.
    fn is_free(&self, tensor: TensorId) -> bool {
        matches!(self.program.tensor(tensor).kind, TensorKind::Register { pinned: None })
    }
}

/// Solutions that are tried with redistributions.
const TRIES: usize = 32;
/// Leaves of each component that are tried where its accesses to shared memory pay for those of others.
const NEIGHBOURS: usize = 6;
/// The share of a solution's cost from which on they are.
const STRAIN: f64 = 0.05;
/// Redistributions of one solution.
const DEPTH: usize = 4;

struct Solver<'s> {
    program: &'s TileProgram,
    arch: Arch,
    pool: &'s Pool,
    cancelled: &'s dyn Fn() -> bool,
    /// The constraints of the last attempt that failed, as far as it got.
    built: RefCell<Vec<Demand>>,
}

impl<'s> Solver<'s> {
    fn new(
        program: &'s TileProgram,
        arch: Arch,
        pool: &'s Pool,
        cancelled: &'s dyn Fn() -> bool,
    ) -> Solver<'s> {
        Solver { program, arch, pool, cancelled, built: RefCell::default() }
    }
}

impl Solver<'_> {
    /// The cheapest solution that is found: without moves, or where layouts conflict with few.
    fn mended(&self, still: &BTreeSet<OpId>, tries: &mut usize) -> Result<Solution, Blocked> {
        let blocked = match self.attempt(&[], still) {
            Ok((solution, ways)) => {
                let best = self.bettered(solution, ways, still, tries);
                return if self.spills(&best) { self.spread(best, still) } else { Ok(best) };
            }
            Err(blocked) => blocked,
        };
        if blocked.failure.kind == FailureKind::Cancelled {
            return Err(blocked);
        }
        let Some(mut best) = self.exchanged(still)? else { return Err(blocked) };
        // Fewer moves, or at other places, may do. What is not tried any more is left unexplored.
        let mut level: Vec<(Vec<Move>, BTreeSet<Move>)> = vec![(Vec::new(), blocked.moves)];
        for _ in 0..best.edits.moves.len().min(DEPTH) {
            let open = |(moves, ways): &(Vec<Move>, BTreeSet<Move>)| {
                ways.iter().filter(|way| !moves.contains(way)).count() as u64
            };
            let mut untried: u64 = level.iter().map(open).sum();
            let mut found = false;
            let mut next = Vec::new();
            for (moves, ways) in &level {
                for way in ways.iter().filter(|way| !moves.contains(way)) {
                    if !self.may_try(tries) {
                        best.unexplored += untried;
                        return Ok(best);
                    }
                    untried -= 1;
                    let more: Vec<Move> = moves.iter().copied().chain([*way]).collect();
                    match self.attempt(&more, still) {
                        Ok((solution, _)) => {
                            found = true;
                            if solution.cost < best.cost {
                                best = solution;
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

    /// Whether threads have too few registers for a solution.
    fn spills(&self, solution: &Solution) -> bool {
        let program = solution.program(self.program);
        let values = |tensor| Some(solution.registers.get(&tensor)?.layout.mode(1).size());
        Together::of(&program).spills(&program, self.arch, &values) > 0.0
    }

    /// Where layouts without conflicts leave too much to each thread, values may rather change hands at several places at once.
    fn spread(&self, best: Solution, still: &BTreeSet<OpId>) -> Result<Solution, Blocked> {
        match self.exchanged(still) {
            Ok(Some(other)) if other.cost < best.cost => Ok(other),
            Err(blocked) if blocked.failure.kind == FailureKind::Cancelled => Err(blocked),
            _ => Ok(best),
        }
    }

    /// Whether one more attempt with redistributions is made.
    fn may_try(&self, tries: &mut usize) -> bool {
        let may = *tries > 0 && self.pool.branches.get() < ALL;
        *tries = tries.saturating_sub(1);
        may
    }

    /// A solution in which values change hands wherever layouts conflict: there is one, unless what the user pinned or the size of
    /// shared memory stands against it.
    fn exchanged(&self, still: &BTreeSet<OpId>) -> Result<Option<Solution>, Blocked> {
        let mut moves: Vec<Move> = Vec::new();
        loop {
            let more = match self.attempt_with(&moves, still, &Pick::best(Conflicts::Mend)) {
                Ok(Picked::Solution(solution, _)) => return Ok(Some(*solution)),
                Ok(Picked::Needs(more)) => more,
                Ok(Picked::NoLeaf | Picked::NoComponent | Picked::TooLarge) => vec![],
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

    /// A solution that needs no move may still be dearer than one with a move, as where it does without matrix instructions.
    fn bettered(
        &self,
        mut best: Solution,
        ways: BTreeSet<Move>,
        still: &BTreeSet<OpId>,
        tries: &mut usize,
    ) -> Solution {
        let moves = best.edits.moves.clone();
        let count = ways.len();
        for (i, way) in ways.into_iter().enumerate() {
            if !self.may_try(tries) {
                best.unexplored += (count - i) as u64;
                break;
            }
            let more: Vec<Move> = moves.iter().copied().chain([way]).collect();
            match self.attempt(&more, still) {
                Ok((solution, _)) if solution.cost < best.cost => best = solution,
                _ => {}
            }
        }
        best
    }

    /// Components are solved one by one, as if each access alone decided on the layout of its memory. Where accesses that share one pay for
    /// it, or values change hands, another leaf of one of their components may be cheaper for all.
    fn neighbour(&self, mut best: Solution, still: &BTreeSet<OpId>) -> Solution {
        let (mut component, mut leaf) = (0, 1);
        // As many for any number of components, so that the time stays linear in it.
        let mut tries = 2 * NEIGHBOURS;
        let worth = |best: &Solution| {
            let exchanges = !best.edits.moves.is_empty() || !best.edits.exchanges.is_empty();
            exchanges || best.strain > STRAIN * best.cost
        };
        while tries > 0 && worth(&best) && !(self.cancelled)() {
            tries -= 1;
            let pick = Pick {
                component,
                leaf,
                single: false,
                conflicts: Conflicts::Leave,
                keep: NEIGHBOURS + 1,
                held: false,
            };
            match self.attempt_with(&best.edits.moves, still, &pick) {
                Ok(Picked::Solution(solution, _)) if solution.cost < best.cost => best = *solution,
                Ok(Picked::NoComponent) => break,
                Ok(Picked::NoLeaf | Picked::Needs(_) | Picked::TooLarge) => leaf = NEIGHBOURS,
                Ok(Picked::Solution(..)) | Err(_) => {}
            }
            (component, leaf) = if leaf < NEIGHBOURS { (component, leaf + 1) } else { (component + 1, 1) };
        }
        best
    }

    /// The cheapest solution with just these moves, and the moves that may lead to a cheaper one.
    fn attempt(&self, moves: &[Move], still: &BTreeSet<OpId>) -> Result<(Solution, BTreeSet<Move>), Blocked> {
        match self.attempt_with(moves, still, &Pick::best(Conflicts::Leave))? {
            Picked::Solution(solution, ways) => Ok((*solution, ways)),
            // Every search has a best leaf.
            _ => Err(Failure::new(FailureKind::Conflict, "no layout was found").into()),
        }
    }

    /// The same with the leaf that is picked.
    fn attempt_with(&self, moves: &[Move], still: &BTreeSet<OpId>, pick: &Pick) -> Result<Picked, Blocked> {
        let mut solution = Solution::default();
        let found = self.filled(moves, still, pick, &mut solution);
        if found.is_err() {
            self.built.replace(solution.constraints);
        }
        found
    }

    /// The same; a solution that fails is left as far as it was built.
    fn filled(
        &self,
        moves: &[Move],
        still: &BTreeSet<OpId>,
        pick: &Pick,
        solution: &mut Solution,
    ) -> Result<Picked, Blocked> {
        let mut ways = BTreeSet::new();
        let mut edits = Edits { moves: moves.to_vec(), exchanges: vec![] };
        let moved = edits.apply(self.program);
        let system = System::of(&moved, still);
        solution.constraints = system.demands();
        let cx = Cx::new(&system, self.arch, self.pool, self.cancelled).single(pick.single).after(moves);
        let start = pins(&cx)?;
        let mut known = start.clone();
        let mut needed = Vec::new();
        let components = components(&system);
        if pick.component > 0 && pick.component >= components.len() {
            return Ok(Picked::NoComponent);
        }
        for (i, component) in components.iter().enumerate() {
            if (self.cancelled)() {
                return Err(Failure::cancelled().into());
            }
            let wanted = if i == pick.component { pick.leaf } else { 0 };
            let keep = if wanted > 0 { pick.keep } else { 1 };
            let found = search(&cx, component, start.clone(), keep, pick.conflicts)?;
            solution.unexplored += found.left;
            ways.extend(found.moves);
            let Some(leaf) = found.leaves.into_iter().nth(wanted) else { return Ok(Picked::NoLeaf) };
            if !leaf.moves.is_empty() {
                needed.extend(leaf.moves);
                continue;
            }
            solution.cost += leaf.cost;
            for (gemm, tiling) in &leaf.tilings {
                let choice = choices::gemm(&cx, gemm, tiling, &leaf.layouts)?;
                solution.constraints.push(choices::gemm_demand(gemm, tiling));
                solution.choices.insert(gemm.op.id, Choice::Gemm(choice));
            }
            for tensor in &component.tensors {
                if let Some(layout) = leaf.layouts.get(*tensor) {
                    known.set(*tensor, layout.clone());
                }
            }
        }
        if (self.cancelled)() {
            return Err(Failure::cancelled().into());
        }
        if !needed.is_empty() {
            return Ok(Picked::Needs(needed));
        }
        // Before shared memory is laid out for it, which takes longest.
        if pick.held && !held(&moved, &known, self.arch) {
            return Ok(Picked::TooLarge);
        }
        solution.steps = cx.steps.get();
        let routes = route::routes(&cx, &known);
        // What has no cheaper way goes through shared memory.
        edits.exchanges = routes.iter().filter(|(_, route)| route.is_none()).map(|(op, _)| *op).collect();
        let whole = edits.apply(self.program);
        let system = System::of(&whole, still);
        let cx = Cx::new(&system, self.arch, self.pool, self.cancelled).single(pick.single);
        choices::global(&cx, &known, solution)?;
        choices::convert(&cx, &known, solution)?;
        choices::map(&cx, &known, solution)?;
        for (op, choice) in routes.into_iter().filter_map(|(op, route)| Some((op, route?))) {
            solution.cost += choice.cycles;
            solution.choices.insert(op, Choice::Rearrange(choice));
        }
        choices::shared(&cx, &known, solution).map_err(|failure| {
            let taking_part = failure.op.into_iter().chain(failure.parts.iter().filter_map(|part| part.op));
            let narrow = |t: &TensorId| self.program.tensor(*t).dtype.bits() < 8;
            let ops = taking_part.filter_map(|op| self.program.op(op));
            let ops = ops.filter(|op| op.kind.registers().iter().any(narrow));
            let moves = ops.flat_map(|op| freeing(self.program, &known, op)).collect();
            Blocked { failure, moves }
        })?;
        choices::reduce(&cx, &known, solution)?;
        choices::parts(&cx, &known, solution)?;
        choices::fits(&whole, self.arch, solution)?;
        solution.steps += cx.steps.get();
        for (tensor, layout) in known.iter() {
            let distribution = layout.tv.to_distribution(layout.reason.clone());
            let distribution = distribution.map_err(|e| choices::too_large(e.to_string()))?;
            solution.registers.insert(tensor, distribution);
        }
        // The constraint first, then the instruction chosen for it.
        solution.constraints.sort_by_key(|d| d.op);
        solution.edits = edits;
        Ok(Picked::Solution(Box::new(std::mem::take(solution)), ways))
    }
}

/// The layouts that the user pinned, with what follows from them.
fn pins(cx: &Cx<'_, '_>) -> Result<Layouts, Blocked> {
    let program = cx.program();
    let mut start = Layouts::new(program.tensors.len());
    let mut pinned = Vec::new();
    for tensor in program.tensor_ids() {
        let info = program.tensor(tensor);
        let TensorKind::Register { pinned: Some(layout) } = &info.kind else { continue };
        let tv = pinned::read(layout, &info.shape, i64::from(program.threads)).map_err(|problem| {
            let message = format!(
                "the layout `{layout}` pinned to `{0}` does not deal the {1:?} elements of `{0}` to {2} threads: {problem}",
                info.name, info.shape, program.threads
            );
            Failure::new(FailureKind::Pin, message).part(None, Some(tensor), "pinned here")
        })?;
        let reason = Reason { text: "pinned".into(), from: vec![] };
        start.set(tensor, Rc::new(Known { tv: cx.pool.keep(tv), reason, pin: Some(tensor) }));
        pinned.push(tensor);
    }
    let conflicts = cx.system.propagate(cx.pool, &mut start, &pinned);
    match conflicts.first() {
        Some(first) => {
            let moves = conflicts.iter().flat_map(|c| cx.system.moves(*c, cx.pool, &start)).collect();
            Err(Blocked { failure: cx.system.conflict(*first, &start), moves })
        }
        None => Ok(start),
    }
}
