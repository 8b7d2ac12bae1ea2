//! Lowers, solves and forecasts combinations.

use std::collections::BTreeMap;

use hx_hir::{Kernel, Sound};
use hx_index::Symbol;
use hx_lower::{CtArgs, LaunchFacts, Lowered};
use hx_synth::{Failure, FailureKind, Forecast, Known, forecast};
use hx_target::Target;
use rayon::prelude::*;

use super::{Candidate, Reason, Shape};
use crate::forms::best_forms;
use crate::instance::Form;
use crate::needs;
use crate::orders::with_orders;
use crate::{Db, Instance, instance_errors};

/// The number of combinations whose programs are held at the same time.
const TOGETHER: usize = 256;

/// The launch that combinations are ranked for.
pub(super) struct Ranking<'db> {
    db: &'db dyn Db,
    kernel: Sound<Kernel<'db>>,
    target: Target,
    facts: LaunchFacts,
    known: BTreeMap<Symbol, i64>,
}

impl<'db> Ranking<'db> {
    pub(super) fn new(
        db: &'db dyn Db,
        kernel: Sound<Kernel<'db>>,
        target: Target,
        shape: &Shape,
    ) -> Ranking<'db> {
        Ranking { db, kernel, target, facts: shape.facts(db, kernel.get()), known: shape.symbols(target) }
    }

    /// Returns the combinations that the target can hold, with their forecasts, in the order of `all`.
    pub(super) fn legal(&self, all: Vec<CtArgs>, refused: &mut BTreeMap<Reason, u64>) -> Vec<Candidate> {
        let mut legal = Vec::new();
        for some in all.chunks(TOGETHER) {
            let lowered: Vec<(&CtArgs, Result<Lowered, Reason>)> =
                some.iter().map(|args| (args, self.lowered(args))).collect();
            self.db.unwind_if_revision_cancelled();
            let (target, known) = (self.target, &self.known);
            let forecasts: Vec<Result<Forecast, Reason>> =
                lowered.par_iter().map(|(_, lowered)| solved(lowered, target, known)).collect();
            for ((args, _), found) in lowered.iter().zip(forecasts) {
                match found {
                    Ok(estimate) => legal.push(Candidate { args: (*args).clone(), estimate }),
                    Err(reason) => *refused.entry(reason).or_default() += 1,
                }
            }
        }
        legal
    }

    /// Returns the kernel's defaults with the fixed arguments: their forecast, and the values of all parameters. The forecast
    /// is `None` if they are illegal. Both are `None` if they have no tile program, as when a parameter has no default.
    pub(super) fn default(&self, fixed: &CtArgs) -> (Option<Candidate>, Option<CtArgs>) {
        let lowered = self.lowered(fixed);
        let estimate = solved(&lowered, self.target, &self.known).ok();
        let candidate = estimate.map(|estimate| Candidate { args: fixed.clone(), estimate });
        (candidate, lowered.ok().map(|lowered| lowered.sources.args.clone()))
    }

    fn lowered(&self, args: &CtArgs) -> Result<Lowered, Reason> {
        let form = Form::new(self.db, self.kernel.get(), args.clone(), self.facts.clone(), self.target);
        let lower = |forms| {
            let args = with_orders(self.db, form)?;
            hx_lower::lower(self.db, self.kernel, &args, &self.facts, (self.target, forms))
        };
        let poll = || {
            self.db.unwind_if_revision_cancelled();
            false
        };
        best_forms(&lower, &poll).map(|chosen| chosen.lowered).map_err(|errors| {
            let first = errors.first();
            let message = first.map(|error| error.message.clone()).unwrap_or_default();
            Reason::Program { code: first.map_or("", |error| error.code.id), message }
        })
    }

    /// Reports whether the static checks find no error in a combination. Counts it as refused if they do.
    pub(super) fn checked(&self, candidate: &Candidate, refused: &mut BTreeMap<Reason, u64>) -> bool {
        let (db, args) = (self.db, candidate.args.clone());
        let instance = Instance::chosen(db, self.kernel.get(), args, self.target, self.facts.clone());
        let errors = instance_errors(db, instance);
        if let Some(first) = errors.first() {
            *refused.entry(Reason::Check { code: first.code.id }).or_default() += 1;
        }
        errors.is_empty()
    }
}

fn solved(
    lowered: &Result<Lowered, Reason>,
    target: Target,
    known: &BTreeMap<Symbol, i64>,
) -> Result<Forecast, Reason> {
    let program = &lowered.as_ref().map_err(Reason::clone)?.program;
    needs::check(program).map_err(|_| Reason::Target)?;
    let solved = hx_synth::solve(program, &|| false).map_err(|failure| refusal(&failure, target))?;
    let found = forecast(&solved.program, &solved.solution, Known::symbols(known)).ok_or(Reason::Grid)?;
    if found.spilled > 0 { Err(Reason::Registers) } else { Ok(found) }
}

fn refusal(failure: &Failure, target: Target) -> Reason {
    match failure.kind {
        FailureKind::Resource => Reason::Resources { shared_bytes: target.limits.shared_bytes },
        FailureKind::Registers => Reason::Registers,
        FailureKind::Conflict | FailureKind::Pin | FailureKind::NoInstruction | FailureKind::Cancelled => {
            Reason::NoLayout
        }
    }
}
