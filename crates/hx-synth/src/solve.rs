//! The whole way: constraints, components, search, redistributions, shared memory, choices.

use std::collections::BTreeSet;
use std::rc::Rc;

use hx_target::Arch;
use hx_tile::{Choice, Edits, Move, OpId, OpKind, Reason, Solution, TensorKind, TileProgram};

use crate::component::components;
use crate::constraints::{Known, Layouts, System};
use crate::failure::{Blocked, Failure, FailureKind};
use crate::pool::Pool;
use crate::search::{Cx, search};
use crate::{choices, convertible, pinned, size};

/// Finds layouts and instructions for a program, the same ones every time.
///
/// # Errors
/// A [`Failure`] that says what conflicts or lacks an instruction, or that `cancelled` returned true.
pub fn solve(program: &TileProgram, arch: Arch, cancelled: &dyn Fn() -> bool) -> Result<Solution, Failure> {
    size::check(program, arch)?;
    convertible::check(program, arch)?;
    let pool = Pool::default();
    let solver = Solver { program, arch, pool: &pool, cancelled };
    let mut tries = TRIES;
    let mut still = BTreeSet::new();
    let found = solver.mended(&[], &still, &mut tries);
    let mut best = found.map_err(|blocked| blocked.failure)?;
    // A rearrangement whose target is free may cost nothing: where it stays is tried one by one.
    for (op, _) in program.ops(1.0) {
        let OpKind::Rearrange { dst, .. } = op.kind else { continue };
        if matches!(program.tensor(dst).kind, TensorKind::Register { pinned: None }) {
            still.insert(op.id);
            match solver.attempt(&best.edits.moves, &still) {
                Ok((solution, _)) if solution.cost < best.cost => best = solution,
                Err(blocked) if blocked.failure.kind == FailureKind::Cancelled => return Err(blocked.failure),
                _ => {
                    still.remove(&op.id);
                }
            }
        }
    }
    Ok(best)
}

/// Solutions that are tried with redistributions.
const TRIES: usize = 64;
/// Redistributions of one solution.
const DEPTH: usize = 4;

struct Solver<'s> {
    program: &'s TileProgram,
    arch: Arch,
    pool: &'s Pool,
    cancelled: &'s dyn Fn() -> bool,
}

impl Solver<'_> {
    /// The cheapest solution with these moves and as few more as it takes.
    fn mended(&self, moves: &[Move], still: &BTreeSet<OpId>, tries: &mut usize) -> Result<Solution, Blocked> {
        let blocked = match self.attempt(moves, still) {
            Ok((solution, ways)) => return Ok(self.bettered(solution, ways, still, tries)),
            Err(blocked) => blocked,
        };
        let mut level = vec![(moves.to_vec(), blocked.moves.clone())];
        for _ in moves.len()..DEPTH {
            let mut best: Option<Solution> = None;
            let mut next = Vec::new();
            for (moves, ways) in &level {
                for way in ways.iter().filter(|way| !moves.contains(way)) {
                    if *tries == 0 || blocked.failure.kind == FailureKind::Cancelled {
                        break;
                    }
                    *tries -= 1;
                    let mut more = moves.clone();
                    more.push(*way);
                    match self.attempt(&more, still) {
                        Ok((solution, _)) if best.as_ref().is_none_or(|b| solution.cost < b.cost) => {
                            best = Some(solution);
                        }
                        Ok(_) => {}
                        Err(blocked) => next.push((more, blocked.moves)),
                    }
                }
            }
            if let Some(best) = best {
                return Ok(best);
            }
            level = next;
        }
        Err(blocked)
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
        for way in ways {
            if *tries == 0 {
                break;
            }
            *tries -= 1;
            let more: Vec<Move> = moves.iter().copied().chain([way]).collect();
            match self.attempt(&more, still) {
                Ok((solution, _)) if solution.cost < best.cost => best = solution,
                _ => {}
            }
        }
        best
    }

    /// The cheapest solution with just these moves, and the moves that may lead to a cheaper one.
    fn attempt(&self, moves: &[Move], still: &BTreeSet<OpId>) -> Result<(Solution, BTreeSet<Move>), Blocked> {
        let mut ways = BTreeSet::new();
        let mut edits = Edits { moves: moves.to_vec(), exchanges: vec![] };
        let moved = edits.apply(self.program);
        let system = System::of(&moved, still);
        let cx = Cx::new(&system, self.arch, self.pool, self.cancelled);
        let start = pins(&cx)?;
        let mut solution = Solution { constraints: system.demands(), ..Solution::default() };
        let mut known = start.clone();
        for component in components(&system) {
            if (self.cancelled)() {
                return Err(Failure::cancelled().into());
            }
            let found = search(&cx, &component, start.clone(), 1)?;
            solution.unexplored += found.left;
            ways.extend(found.moves);
            let Some(leaf) = found.leaves.into_iter().next() else { continue };
            solution.cost += leaf.cost;
            for (gemm, tiling) in &leaf.tilings {
                let choice = choices::gemm(gemm, tiling, &leaf.layouts)?;
                solution.constraints.push(choices::gemm_demand(gemm, tiling));
                solution.choices.insert(gemm.op.id, Choice::Gemm(choice));
            }
            for tensor in &component.tensors {
                if let Some(layout) = leaf.layouts.get(*tensor) {
                    known.set(*tensor, layout.clone());
                }
            }
        }
        edits.exchanges = choices::exchanges(&cx, &known);
        let whole = edits.apply(self.program);
        let system = System::of(&whole, still);
        let cx = Cx::new(&system, self.arch, self.pool, self.cancelled);
        choices::global(&cx, &known, &mut solution)?;
        choices::convert(&cx, &known, &mut solution)?;
        choices::map(&cx, &known, &mut solution)?;
        choices::within(&cx, &known, &mut solution);
        choices::shared(&cx, &known, &mut solution)?;
        choices::reduce(&cx, &known, &mut solution)?;
        choices::parts(&cx, &known, &mut solution)?;
        choices::fits(&whole, self.arch, &solution)?;
        for (tensor, layout) in known.iter() {
            let distribution = layout.tv.to_distribution(layout.reason.clone());
            let distribution = distribution.map_err(|e| choices::too_large(e.to_string()))?;
            solution.registers.insert(tensor, distribution);
        }
        // The constraint first, then the instruction chosen for it.
        solution.constraints.sort_by_key(|d| d.op);
        solution.edits = edits;
        Ok((solution, ways))
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
                "the pinned layout `{layout}` of `{}` is no thread-value layout of {} threads over {:?}: {problem}",
                info.name, program.threads, info.shape
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
            let moves = conflicts.iter().flat_map(|c| cx.system.moves(*c, &start)).collect();
            Err(Blocked { failure: cx.system.conflict(*first, &start), moves })
        }
        None => Ok(start),
    }
}
