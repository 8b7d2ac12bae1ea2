//! Texts that no kernel of `hx` has: the goldens of the emitter, and the probes that `hx calibrate` measures. The compiler accepts each
//! for its architectures without a warning and without spills.

use hx_target::Target;

use crate::ledger::{Asked, CodeReport, Extent, outcomes};
use crate::support::root;

/// One target of each generation.
const TARGETS: [&str; 5] = ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"];

/// Fails if the compiler refuses a text, or if `judge` rejects its report. Each text has the name by which a failure shows it,
/// and its target.
fn check(test: &str, texts: &[(String, String, Target)], judge: impl Fn(&CodeReport) -> bool) {
    let asked =
        texts.iter().map(|(_, text, target)| Asked { text, target: *target, extent: Extent::Resources });
    let Some(outcomes) = outcomes(test, &asked.collect::<Vec<_>>()) else { return };
    let wrong = texts.iter().zip(outcomes).filter_map(|((name, _, target), outcome)| match outcome {
        Ok(report) if judge(&report) => None,
        other => Some(format!("{name} for {target}: {other:?}")),
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty() && !texts.is_empty(), "{wrong:#?}");
}

/// The goldens of `golden` compile for every generation, those of `golden_sm_90a` for `sm_90a`. All compile without a warning
/// and use no local memory.
#[test]
fn goldens_compile() {
    let folders = [("golden", &TARGETS[..]), ("golden_sm_90a", &["sm_90a"])];
    let texts = folders.into_iter().flat_map(|(folder, targets)| {
        let folder = root().join("crates/hx-codegen/tests").join(folder);
        let entries = std::fs::read_dir(folder).expect("there are goldens");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
        paths.sort();
        paths.into_iter().flat_map(|path| {
            let text = std::fs::read_to_string(&path).expect("a text in UTF-8");
            targets
                .iter()
                .map(move |target| (path.display().to_string(), text.clone(), Target::builtin(target)))
        })
    });
    let texts: Vec<_> = texts.collect();
    check("compiled::written::goldens_compile", &texts, |report| {
        (report.stack, report.spilled, report.warnings) == (0, 0, 0)
    });
}

#[test]
fn probes_of_calibration_compile() {
    let texts = TARGETS.into_iter().map(Target::builtin).flat_map(|target| {
        let groups = hx_calibrate::probes(target);
        let text =
            move |(at, group): (usize, &Vec<_>)| (format!("group {at}"), hx_calibrate::source(group), target);
        groups.iter().enumerate().map(text).collect::<Vec<_>>()
    });
    let texts: Vec<_> = texts.collect();
    check("compiled::written::probes_of_calibration_compile", &texts, |report| {
        (report.spilled, report.warnings) == (0, 0)
    });
}
