//! The estimates of the cost model for the works of a bench, without a GPU.

use std::sync::atomic::AtomicBool;

use hx_base::interrupt::Until;
use hx_host::bench::{Group, Work};
use hx_host::device::{LaunchError, Step};
use hx_launch::{Launcher, Machine, Tuned};
use hx_workspace::Database;

/// Formats the estimates of the measured works of a bench as lines of CSV: the bench with its file, the label of the work and the
/// cycles, which are empty where there is no estimate.
pub(super) fn lines(
    db: &Database,
    machine: &Machine,
    tuned: Option<&Tuned>,
    bench: &str,
    groups: &[Group],
) -> String {
    static NEVER: AtomicBool = AtomicBool::new(false);
    let until = Until { stop: &NEVER, deadline: None };
    let launcher = Launcher::new(db, machine, until).with_tuned(tuned);
    let works = groups.iter().flat_map(|group| &group.measures);
    let line = |work: &Work| {
        let cycles = match cycles(&launcher, work) {
            Ok(Some(cycles)) => format!("{cycles:.0}"),
            Ok(None) | Err(_) => String::new(),
        };
        format!("{},{},{cycles}\n", quoted(bench), quoted(&work.label))
    };
    works.map(line).collect()
}

/// Returns the sum over the launches of a work; `None` if one of them has no estimate.
fn cycles(launcher: &Launcher<'_>, work: &Work) -> Result<Option<f64>, LaunchError> {
    let mut all = Some(0.0);
    for step in &work.steps {
        let of = match step {
            Step::Launch(request) => launcher.estimated_cycles(request)?,
            Step::Gemm(_) | Step::Copy { .. } | Step::Read { .. } => None,
        };
        all = all.zip(of).map(|(all, of)| all + of);
    }
    Ok(all)
}

/// Quotes a field of CSV (RFC 4180).
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn fields_are_quoted() {
        assert_eq!(quoted("a.hx::gemm \"wide\""), "\"a.hx::gemm \"\"wide\"\"\"");
    }
}
