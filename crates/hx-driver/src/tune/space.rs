//! The candidates of a kernel's `tune` clause, ranked by the cost model.

use std::collections::BTreeMap;

use hx_compile::tune;
use hx_hir::{Item, Kernel, Name, reached_errors};
use hx_host::HostError;
use hx_host::device::LaunchError;
use hx_launch::Machine;
use hx_lower::CtArgs;
use hx_workspace::Database;

use super::TuneError;

/// The candidates of one shape.
#[derive(Clone, PartialEq, Debug)]
pub struct Space {
    /// Best estimate first.
    pub candidates: Vec<Candidate>,
    /// The kernel's defaults, if they are legal.
    pub default: Option<Candidate>,
    /// `312 combinations: 201 break …; 24 of 71 legal ones are kept`, and what the estimates have to say of their numbers.
    pub summary: String,
}

/// Compile-time arguments with their estimate.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    pub args: CtArgs,
    /// The estimated time of a launch in microseconds.
    pub micros: f64,
    /// The resource that bounds it.
    pub bound: String,
}

impl Candidate {
    fn of(candidate: &tune::Candidate) -> Candidate {
        let estimate = &candidate.estimate;
        Candidate {
            args: candidate.args.clone(),
            micros: estimate.micros(),
            bound: estimate.bound.name().to_owned(),
        }
    }
}

/// Returns the axes of a kernel's clause; at least one.
pub(super) fn axes<'db>(db: &'db Database, kernel: Kernel<'db>) -> Result<&'db [tune::Axis], TuneError> {
    match tune::axes(db, kernel) {
        Ok(axes) if axes.is_empty() => Err(failed(db, kernel, &tune::TuneError::NoClause)),
        Ok(axes) => Ok(axes),
        Err(error) => Err(failed(db, kernel, error)),
    }
}

/// Ranks the candidates of a shape.
pub(super) fn ranked<'db>(
    db: &'db Database,
    kernel: Kernel<'db>,
    machine: &Machine,
    args: &CtArgs,
    dims: &BTreeMap<Name, i64>,
    ints: &BTreeMap<Name, i64>,
    limit: usize,
) -> Result<Space, TuneError> {
    let shape = tune::Shape { args: args.clone(), dims: dims.clone(), ints: ints.clone() };
    let ranked =
        tune::ranked(db, kernel, machine.target(), &shape, limit).map_err(|e| failed(db, kernel, &e))?;
    Ok(Space {
        candidates: ranked.candidates.iter().map(Candidate::of).collect(),
        default: ranked.default.as_ref().map(Candidate::of),
        summary: match machine.target().caveat() {
            Some(caveat) => format!("{}; estimates {caveat}", ranked.summary()),
            None => ranked.summary(),
        },
    })
}

fn failed<'db>(db: &'db Database, kernel: Kernel<'db>, error: &tune::TuneError) -> TuneError {
    match error {
        tune::TuneError::Unsound => {
            LaunchError::Found(reached_errors(db, Item::Kernel(kernel)).clone()).into()
        }
        tune::TuneError::NoClause => {
            let error = HostError::call(format!(
                "`{}` has no `tune` clause: nothing says what to try",
                kernel.name(db)
            ));
            error
                .help("`tune BM in [64, 128], STAGES in 2..=4` after the parameters names values to try")
                .into()
        }
        other => HostError::call(other.to_string()).into(),
    }
}
