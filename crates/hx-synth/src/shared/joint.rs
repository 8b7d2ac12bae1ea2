//! Which accesses of a tensor keep a wide form together.
//!
//! Each use of the tensor has several instructions, and each instruction a constraint. Choosing one instruction for each use would be
//! exponential in the uses; but many choices unify to the same constraint, and the layouts to look at depend on that alone. So the uses
//! are taken in one after the other, and of all choices that lead to one constraint only the cheapest is kept.

use super::constraint::Constraint;
use super::options::Options;

/// A constraint that instructions for all uses meet together.
#[derive(Clone, Debug)]
pub(super) struct Joint {
    pub(super) constraint: Constraint,
    /// For each use its candidate in the cheapest choice with this constraint.
    pub(super) chosen: Vec<usize>,
    /// Cycles of that choice, without bank conflicts.
    pub(super) cost: f64,
    /// Without what asynchronous copies take of global memory.
    pub(super) least: f64,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Joints {
    /// The one with the cheapest choice first.
    pub(super) all: Vec<Joint>,
    /// Those that were left out, after each use.
    pub(super) left: u64,
}

/// Constraints kept after each use. Accesses of a tensor of three dimensions and three widths have ten.
const KEPT: usize = 128;

/// Every constraint that instructions for all uses can meet together.
pub(super) fn joints(shape: &[i64], options: &[Options]) -> Joints {
    let mut all =
        vec![Joint { constraint: Constraint::free(shape), chosen: Vec::new(), cost: 0.0, least: 0.0 }];
    let mut left = 0;
    for Options { usable: candidates, .. } in options {
        let mut next: Vec<(Constraint, Joint)> = Vec::new();
        for joint in &all {
            let mut met: Vec<&Constraint> = Vec::new();
            for (i, candidate) in candidates.iter().enumerate() {
                // Of those that ask for the same the first is the cheapest.
                if met.contains(&&candidate.constraint) {
                    continue;
                }
                met.push(&candidate.constraint);
                let Some(constraint) = joint.constraint.unify(&candidate.constraint) else { continue };
                let merged = constraint.merged();
                let cost = joint.cost + candidate.cost;
                let least = joint.least + candidate.cost - candidate.global;
                let chosen = || joint.chosen.iter().copied().chain([i]).collect();
                match next.iter_mut().find(|(known, _)| *known == merged) {
                    Some((_, known)) if cost < known.cost => {
                        *known = Joint { constraint, chosen: chosen(), cost, least };
                    }
                    Some(_) => {}
                    None => next.push((merged, Joint { constraint, chosen: chosen(), cost, least })),
                }
            }
        }
        all = next.into_iter().map(|(_, joint)| joint).collect();
        all.sort_by(|a, b| a.cost.total_cmp(&b.cost).then_with(|| a.chosen.cmp(&b.chosen)));
        if all.len() > KEPT {
            // Single elements fit any layout: that way out stays, whatever is cut off.
            let widths = |joint: &Joint| -> i64 {
                joint.chosen.iter().zip(options).map(|(i, o)| o.usable[*i].access.run.width()).sum()
            };
            let narrowest = all.iter().min_by_key(|joint| widths(joint)).cloned();
            left += (all.len() - KEPT) as u64;
            all.truncate(KEPT);
            all.extend(narrowest);
        }
    }
    Joints { all, left }
}
