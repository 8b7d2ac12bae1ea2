//! Combines the constraints of all accesses of a tensor.
//!
//! Each use of the tensor has several candidate instructions, and each instruction has a constraint. The combinations are
//! exponential in the number of uses. Many of them unify to the same constraint, and the layouts to try depend on the constraint
//! alone. So the uses are combined one after the other, and for each constraint only the cheapest combination is kept.

use super::buffer::{Joint, Joints, Options};
use super::constraint::Constraint;

/// Limit on the constraints kept after each use. Accesses of three widths to a tensor of three dimensions have ten.
const KEPT: usize = 128;

/// Returns every constraint that instructions of all uses can meet together, under the demand of the tensor itself.
pub(super) fn joints(demand: Constraint, options: &[Options]) -> Joints {
    let mut all = vec![Joint { constraint: demand, chosen: Vec::new(), cost: 0.0, least: 0.0 }];
    let mut left = 0;
    for Options { usable: candidates, .. } in options {
        let mut next: Vec<(Constraint, Joint)> = Vec::new();
        for joint in &all {
            let mut met: Vec<&Constraint> = Vec::new();
            for (i, candidate) in candidates.iter().enumerate() {
                // Candidates are sorted by cost, so the first with a constraint is the cheapest.
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
            // Accesses of single elements fit any layout: keep the narrowest combination when pruning, so that a solution
            // remains.
            let widths = |joint: &Joint| -> i64 {
                joint.chosen.iter().zip(options).map(|(i, o)| o.usable[*i].by.width()).sum()
            };
            let narrowest = all.iter().min_by_key(|joint| widths(joint)).cloned();
            left += (all.len() - KEPT) as u64;
            all.truncate(KEPT);
            all.extend(narrowest);
        }
    }
    Joints { all, left }
}
