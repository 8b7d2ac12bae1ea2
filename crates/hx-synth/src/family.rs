//! One attempt at a program, and its family: the solutions in which one component takes another leaf than its cheapest.
//!
//! Components are searched one by one, as if each access to shared memory alone decided on the layout of its memory. What a leaf costs is
//! therefore the least that a solution with it costs; where accesses that share a memory pay for it, or values change hands, a
//! solution with another leaf may be cheaper. Both the choice ([`Solver::bettered_in_family`]) and the list of candidates
//! ([`Solver::others`]) look at the same family, so the list has nothing that the choice did not consider.

use std::collections::BTreeSet;
use std::rc::Rc;

use hx_tile::{Choice, Edits, Move, OpId, Reason, Solution, TensorKind, TileProgram};

use crate::component::{Component, components};
use crate::constraints::{Known, Layouts, System};
use crate::failure::{Blocked, Failure, FailureKind};
use crate::search::{Conflicts, Cx, Found, Leaf, Wanted, freeing, search};
use crate::solve::{CANDIDATES, Solver};
use crate::{choices, pinned, route};

/// Leaves of a component that are kept.
const LEAVES: usize = CANDIDATES;
/// Branches that the search for them looks at, in each component.
const BRANCHES: usize = 1024;
/// Solutions of a family that are made to find a cheaper one.
const TRIES: u64 = 96;
/// Addresses that the layouts of shared memory for them may look at.
const ADDRESSES: u64 = 16_000_000;

/// What all solutions of a family share.
pub(crate) struct Ground<'s, 'p> {
    solver: &'s Solver<'s>,
    still: &'s BTreeSet<OpId>,
    cx: Cx<'s, 'p>,
    edits: Edits,
    /// The layouts that the user pinned, with what follows from them.
    start: Layouts,
    pub(crate) components: Vec<Component<'p>>,
}

/// What became of an attempt to make a solution of leaves.
pub(crate) enum Made {
    Solution(Box<Solution>),
    /// It cannot be as cheap as was asked for.
    Dearer,
}

/// A family, and what of it is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family<'a> {
    pub(crate) moves: &'a [Move],
    pub(crate) still: &'a BTreeSet<OpId>,
    /// No copies in which lanes exchange.
    pub(crate) single: bool,
}

impl<'s> Solver<'s> {
    /// Does something with the constraints and components of a program with these moves.
    pub(crate) fn on_ground<R>(
        &self,
        family: Family<'_>,
        body: impl FnOnce(&Ground<'_, '_>) -> Result<R, Blocked>,
    ) -> Result<R, Blocked> {
        let edits = Edits { moves: family.moves.to_vec(), exchanges: vec![] };
        let moved = edits.apply(self.program);
        let system = System::of(&moved, family.still);
        self.built.replace(system.demands());
        let cx = Cx::new(&system, self.arch, self.pool, self.cancelled);
        let cx = cx.single(family.single).after(family.moves);
        let start = pins(&cx)?;
        let components = components(&system);
        body(&Ground { solver: self, still: family.still, cx, edits, start, components })
    }

    /// The cheapest solution of the families of `best`, with and without copies in which lanes exchange, or `best` itself.
    pub(crate) fn bettered_in_family(&self, mut best: Solution, still: &BTreeSet<OpId>) -> Solution {
        let moves = best.edits.moves.clone();
        let mut tries = TRIES;
        for single in [false, true] {
            if best.strain <= 0.0 || single && !self.has_collective() {
                break;
            }
            // A family without a solution changes nothing.
            let family = Family { moves: &moves, still, single };
            let ended = self.on_ground(family, |ground| ground.better(&mut best, &mut tries));
            self.ended[usize::from(single)].set(ended.unwrap_or(f64::INFINITY));
        }
        best
    }

    /// The solutions of the families of `best`, each with one other leaf, until there are as many as are listed. Without those that its
    /// budget kept the choice from: they are counted as unexplored.
    ///
    /// # Errors
    /// Where the caller cancelled.
    pub(crate) fn others(&self, best: &Solution, still: &BTreeSet<OpId>) -> Result<Vec<Solution>, Failure> {
        let moves = best.edits.moves.clone();
        let mut others: Vec<Solution> = Vec::new();
        for single in [false, true] {
            if single && !self.has_collective() {
                break;
            }
            let family = Family { moves: &moves, still, single };
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
        self.cx.program()
    }

    fn is_cancelled(&self) -> bool {
        (self.solver.cancelled)()
    }

    /// The leaves of a component.
    pub(crate) fn search(&self, component: &Component<'p>, wanted: Wanted) -> Result<Found<'p>, Blocked> {
        if self.is_cancelled() {
            return Err(Failure::cancelled().into());
        }
        search(&self.cx, component, self.start.clone(), wanted)
    }

    /// The leaves of every component that take less than `within` cycles more than its cheapest, cheapest first.
    fn leaves(&self, within: f64) -> Result<Vec<Vec<Leaf<'p>>>, Blocked> {
        let wanted = Wanted { keep: LEAVES, within, ..Wanted::one(Conflicts::Leave).branches(BRANCHES) };
        self.components.iter().map(|component| Ok(self.search(component, wanted)?.leaves)).collect()
    }

    /// Looks for a cheaper solution than `best`, the most promising ones first, until the least that the next one costs is more. Returns
    /// the least cycles of the first one that was not looked at any more.
    fn better(&self, best: &mut Solution, tries: &mut u64) -> Result<f64, Blocked> {
        let leaves = self.leaves(best.strain)?;
        let firsts: Vec<&Leaf<'p>> = leaves.iter().filter_map(|leaves| leaves.first()).collect();
        let all: f64 = firsts.iter().map(|leaf| leaf.cost).sum();
        let mut picks: Vec<(f64, usize, usize)> = vec![(all, 0, 0)];
        for (component, leaves) in leaves.iter().enumerate() {
            let others = leaves.iter().enumerate().skip(1);
            picks.extend(others.map(|(i, leaf)| (all - leaves[0].cost + leaf.cost, component, i)));
        }
        picks.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let before = self.solver.pool.looked.get();
        for (i, (least, component, leaf)) in picks.iter().enumerate() {
            if *least >= best.cost || self.is_cancelled() {
                break;
            }
            if *tries == 0 || self.solver.pool.looked.get() - before > ADDRESSES {
                best.unexplored += (picks.len() - i) as u64;
                return Ok(*least);
            }
            let mut picked = firsts.clone();
            picked[*component] = &leaves[*component][*leaf];
            let made = self.solution(&picked, best.cost);
            *tries -= u64::from(!matches!(made, Ok(Made::Dearer)));
            // What only rounding makes cheaper is not.
            if let Ok(Made::Solution(made)) = made
                && made.cost < best.cost * (1.0 - 1e-9)
            {
                *best = Solution { unexplored: best.unexplored, ..*made };
            }
        }
        Ok(f64::INFINITY)
    }

    /// Adds what differs from `best` and from each other. Solutions that take `ended` cycles at least, and perhaps fewer than `best`, are
    /// those that the choice did not look at any more.
    fn list(&self, best: &Solution, ended: f64, others: &mut Vec<Solution>) -> Result<(), Blocked> {
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
                // Layouts that leave a register tensor no room in a thread are nobody's candidates; others fit nothing else, such as
                // shared memory.
                if !self.has_room(&picked) {
                    continue;
                }
                let Ok(Made::Solution(made)) = self.solution(&picked, f64::INFINITY) else { continue };
                if !alike(best, &made) && !others.iter().any(|other| alike(other, &made)) {
                    others.push(*made);
                }
            }
        }
        Ok(())
    }

    /// The layouts of a leaf of each component.
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

    /// Whether each register tensor alone has room in a thread.
    fn has_room(&self, leaves: &[&Leaf<'p>]) -> bool {
        let most = i64::from(self.solver.arch.limits().registers_per_thread);
        self.known(leaves).iter().all(|(tensor, known)| {
            known.tv.values() * i64::from(self.program().tensor(tensor).dtype.bits()) <= 32 * most
        })
    }

    /// The solution with a leaf of each component, unless it takes `limit` cycles or more whatever the layouts of shared memory.
    ///
    /// # Errors
    /// What stands against it, with the moves that might help.
    pub(crate) fn solution(&self, leaves: &[&Leaf<'p>], limit: f64) -> Result<Made, Blocked> {
        let mut solution = Solution { constraints: self.cx.system.demands(), ..Solution::default() };
        let made = self.made(leaves, limit, &mut solution);
        if made.is_err() {
            self.solver.built.replace(solution.constraints);
            return made.map(|_| Made::Dearer);
        }
        Ok(if made? { Made::Solution(Box::new(solution)) } else { Made::Dearer })
    }

    /// The same; a solution that fails is left as far as it was built. False where it is too dear.
    fn made(&self, leaves: &[&Leaf<'p>], limit: f64, solution: &mut Solution) -> Result<bool, Blocked> {
        let (solver, cx) = (self.solver, &self.cx);
        let known = self.known(leaves);
        for leaf in leaves {
            solution.cost += leaf.cost;
            for (gemm, tiling) in &leaf.tilings {
                let choice = choices::gemm(cx, gemm, tiling, &leaf.layouts)?;
                solution.constraints.push(choices::gemm_demand(gemm, tiling));
                solution.choices.insert(gemm.op.id, Choice::Gemm(choice));
            }
        }
        let least = solution.cost;
        solution.steps = cx.steps.get();
        let routes = route::routes(cx, &known);
        let mut edits = self.edits.clone();
        // What has no cheaper way goes through shared memory.
        edits.exchanges = routes.iter().filter(|(_, route)| route.is_none()).map(|(op, _)| *op).collect();
        let whole = edits.apply(solver.program);
        let system = System::of(&whole, self.still);
        let cx = Cx::new(&system, solver.arch, solver.pool, solver.cancelled).single(cx.single);
        for (op, choice) in routes.into_iter().filter_map(|(op, route)| Some((op, route?))) {
            solution.cost += choice.cycles;
            solution.choices.insert(op, Choice::Rearrange(choice));
        }
        // What takes least to find out comes first.
        let uses = choices::uses(&cx, &known, solution)?;
        if solution.cost + uses.least_cycles(&cx, limit)? >= limit {
            return Ok(false);
        }
        choices::global(&cx, &known, solution)?;
        choices::convert(&cx, &known, solution)?;
        choices::map(&cx, &known, solution)?;
        let within = choices::shared(&cx, &known, uses, limit, solution).map_err(|failure| {
            let taking_part = failure.op.into_iter().chain(failure.parts.iter().filter_map(|part| part.op));
            let narrow = |t: &hx_tile::TensorId| solver.program.tensor(*t).dtype.bits() < 8;
            let ops = taking_part.filter_map(|op| solver.program.op(op));
            let ops = ops.filter(|op| op.kind.registers().iter().any(narrow));
            let moves = ops.flat_map(|op| freeing(solver.program, &known, op)).collect();
            Blocked { failure, moves }
        })?;
        if !within {
            return Ok(false);
        }
        choices::reduce(&cx, &known, solution)?;
        choices::parts(&cx, &known, solution)?;
        choices::fits(&whole, solver.arch, solution)?;
        solution.steps += cx.steps.get();
        for (tensor, layout) in known.iter() {
            let distribution = layout.tv.to_distribution(layout.reason.clone());
            let distribution = distribution.map_err(|e| choices::too_large(e.to_string()))?;
            solution.registers.insert(tensor, distribution);
        }
        // The constraint first, then the instruction chosen for it.
        solution.constraints.sort_by_key(|d| d.op);
        solution.edits = edits;
        solution.strain = solution.cost - least;
        Ok(true)
    }
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
