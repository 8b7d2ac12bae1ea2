//! The choice between the forms of a program's loads: each is lowered and solved, and the cheapest is taken.

use hx_lower::{Forms, Loads, LowerError, Lowered, Rings};
use hx_synth::Solved;

use crate::needs;

/// The tile program of a form, and its solution if choosing the form of its loads took one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chosen {
    pub(crate) lowered: Lowered,
    pub(crate) solved: Option<Solved>,
}

/// Lowers a kernel with the best forms of its loads. A ring gets the first form of [`Rings`] that the target and the solver have. Other loads
/// that only products read are staged if the solution is then estimated to take fewer cycles, or if only then there is one.
///
/// # Errors
/// Returns the errors of `lower` as they are.
pub(crate) fn best_forms(
    lower: &dyn Fn(Forms) -> Result<Lowered, Vec<LowerError>>,
    poll: &dyn Fn() -> bool,
) -> Result<Chosen, Vec<LowerError>> {
    let plain = lower(Forms::PLAIN)?;
    let solve = |lowered: &Lowered| {
        needs::check(&lowered.program).ok()?;
        hx_synth::solve(&lowered.program, poll).ok()
    };
    let mut rings = Rings::Groups;
    let mut direct = Chosen { lowered: plain, solved: None };
    if direct.lowered.sources.rings {
        let mut tried: Option<Lowered> = None;
        for form in [Rings::InFlight, Rings::Signalled] {
            let lowered = lower(Forms { rings: form, ..Forms::PLAIN })?;
            if tried.as_ref().is_some_and(|tried| tried.program == lowered.program) {
                continue;
            }
            if let Some(solved) = solve(&lowered) {
                (rings, direct) = (form, Chosen { lowered, solved: Some(solved) });
                break;
            }
            tried = Some(lowered);
        }
    }
    if !direct.lowered.sources.stageable {
        return Ok(direct);
    }
    let lowered = lower(Forms { loads: Loads::Staged, rings, offers: false })?;
    let staged = solve(&lowered);
    direct.solved = direct.solved.take().or_else(|| solve(&direct.lowered));
    let cycles = |solved: &Solved| hx_synth::compared(&solved.program, &solved.solution);
    let is_better = staged
        .as_ref()
        .is_some_and(|staged| direct.solved.as_ref().is_none_or(|direct| cycles(staged) < cycles(direct)));
    Ok(if is_better { Chosen { lowered, solved: staged } } else { direct })
}
