//! `hx bench`: times kernels against baselines, and shows and saves the results.

mod estimated;

use std::collections::BTreeSet;
use std::path::Path;

use hx_base::{Diagnostic, codes, limits};
use hx_driver::{
    AgainstRecord, BenchFile, BenchOptions, BenchRecord, BenchReport, BenchStage, Change, ChangeVerdict,
    Filter, MemoryRecord, PeakRecord, ReportedErrors, Roofs, WorkLimit, WorkRecord, changes, list_benches,
    run_benches,
};
use hx_launch::{Machine, Texts, Timing, Tuned, open_compiler};
use hx_worker::TimePlan;

use super::run::lacks_environment;
use super::test::{paths_and_names, time_limit};
use super::tuned::{self, Once};
use super::{Loaded, announce, files, load, machine, machine_warnings, setup_choosing};
use crate::Exit;
use crate::cli::BenchArgs;
use crate::output::Output;
use crate::progress::Progress;

pub(crate) fn run(args: BenchArgs, output: &Output) -> Exit {
    benched(&args, output).unwrap_or_else(|exit| exit)
}

fn benched(args: &BenchArgs, output: &Output) -> Result<Exit, Exit> {
    let (paths, names) = paths_and_names(&args.choice.what);
    let mut loaded = load(&paths, output)?;
    loaded.choose(args.candidate);
    let filter = Filter { names, exact: args.choice.exact, skip: args.choice.skip.clone() };
    let each = WorkLimit { limit: time_limit(args.each.timeout, &loaded), ..WorkLimit::unlimited() };
    let listing = list_benches(&loaded.db, &loaded.files, &filter, each);
    output.diagnostics(&loaded.db, &listing.diagnostics);
    let bad = listing.diagnostics.iter().any(Diagnostic::is_error) || !listing.broken.is_empty();
    if args.choice.list {
        let names = listing.cases.iter().map(|c| &c.name).chain(&listing.broken);
        output.result(&names.map(|name| format!("{name}\n")).collect::<String>());
    }
    if listing.cases.is_empty() {
        if bad {
            return Err(Exit::Bad);
        }
        output.remark("no bench matches");
        return Err(Exit::NoTest);
    }
    if args.choice.list {
        return Ok(if bad { Exit::Bad } else { Exit::Good });
    }
    // Read the earlier results first, so that a missing file is reported before minutes of timing.
    let before = args.compare.as_deref().map(BenchFile::load).transpose().map_err(|error| {
        output.placeless(&error);
        Exit::Bad
    })?;
    let tuned = tuned::tuned_by_default(&loaded, &paths[0], &args.tuned, output)?;
    let machine = open(args, &loaded, output)?;
    let mut session = Run {
        args,
        loaded: &loaded,
        machine: &machine,
        tuned: tuned::on(&machine, tuned.as_ref(), &args.tuned),
        output,
        file: BenchFile::new(env!("CARGO_PKG_VERSION"), &machine, !args.warm_l2),
        roofs: Roofs { flops: args.roof_tflops.map(|t| t * 1e12), bytes: args.roof_gbs.map(|g| g * 1e9) },
        exit: if bad { Exit::Bad } else { Exit::Good },
        told: ReportedErrors::default(),
        once: Once::default(),
    };
    let options = BenchOptions { tuned: session.tuned, ..options(args, &loaded) };
    let stop = crate::interrupt::flag();
    let (of, progress) = (listing.cases.len(), Progress::new(output));
    let on_progress = |stage: BenchStage, done: usize| match (stage, args.no_run) {
        (BenchStage::Compiling, _) => progress.show("compiling the kernels of benches:", done, of),
        // Without runs the second stage only reports.
        (BenchStage::Timing, true) => {}
        (BenchStage::Timing, false) => progress.show("timing benches:", done, of),
    };
    run_benches(&loaded.db, &listing.cases, &machine, &options, stop, &on_progress, |report| {
        progress.clear();
        session.take(report);
    });
    progress.clear();
    results(args, &peaks(&session.file), output);
    machine_warnings(std::slice::from_ref(&machine), output);
    if args.estimates && !args.no_run {
        results(args, &errors(ratios(&session.file)), output);
        if let Some(caveat) = machine.target().caveat() {
            results(args, &format!("the estimates are {caveat}\n"), output);
        }
    }
    if let Some(before) = &before {
        tell_changes(&changes(before, &session.file), before, args, output);
    }
    if let Some(path) = &args.json {
        write(path, &session.file, output)?;
    }
    Ok(loaded.exit(session.exit))
}

/// Opens the GPU, or with `--no-run` only the compiler.
///
/// # Errors
/// `Exit::Environment` if the machine has no GPU; the simulator cannot time a kernel. Otherwise that of the settings or of a
/// machine that cannot be opened. The reason has been reported.
fn open(args: &BenchArgs, loaded: &Loaded, output: &Output) -> Result<Machine, Exit> {
    let setup = setup_choosing(
        args.choosing,
        (args.device.device, &args.device.target),
        loaded.manifest.as_ref(),
        output,
    )?;
    if args.no_run && args.estimates {
        return Ok(Machine::TextOnly(Texts::new(setup.target)));
    }
    if args.no_run {
        return announce(open_compiler(&setup), output);
    }
    let machine = machine(&setup, output)?;
    if !machine.is_gpu() {
        let help = ["`hx test` checks results on any machine; `hx doctor` shows what is missing".to_owned()];
        let text = "benches need a GPU; the simulator does not time";
        output.placeless_parts(&codes::NO_GPU, text, &[], &help);
        return Err(Exit::Environment);
    }
    Ok(machine)
}

fn options(args: &BenchArgs, loaded: &Loaded) -> BenchOptions<'static> {
    let manifest = loaded.manifest.as_ref();
    let usual = TimePlan::default();
    super::limit_memory(args.each.memory, manifest);
    let plan = TimePlan {
        repeats: args.repeats.unwrap_or(usual.repeats),
        warmup: args.warmup.unwrap_or(usual.warmup),
        flush_l2: !args.warm_l2,
        ..usual
    };
    BenchOptions {
        seed: args.each.seed.or(manifest.and_then(|m| m.seed)).unwrap_or(0),
        timeout: time_limit(args.each.timeout, loaded),
        timing: Timing { plan, rotate: usize::from(args.rotate), estimates: args.estimates },
        candidates: args.candidates,
        tuned: None,
    }
}

/// Reports benches as they end, and collects their results in `file`.
struct Run<'a> {
    args: &'a BenchArgs,
    loaded: &'a Loaded,
    machine: &'a Machine,
    tuned: Option<&'a Tuned>,
    output: &'a Output,
    file: BenchFile,
    roofs: Roofs,
    exit: Exit,
    /// The kernel errors that were already reported.
    told: ReportedErrors,
    /// The lines about tuned arguments that were printed.
    once: Once,
}

impl Run<'_> {
    fn take(&mut self, report: BenchReport) {
        let name = &report.case.name;
        for line in &report.output {
            self.output.remark(&format!("  | {line}"));
        }
        self.once.remark(&report.remarks, self.output);
        let groups = match report.outcome {
            Ok(groups) => groups,
            Err(found) => {
                self.output.remark(&format!("bench {name} failed"));
                let (new, known) = self.told.news(&self.loaded.db, name, &found);
                self.output.diagnostics(&self.loaded.db, &new);
                known.iter().for_each(|line| self.output.remark(&format!("  {line}")));
                let lacks = lacks_environment(&found) && self.exit != Exit::Bad;
                self.exit = if lacks { Exit::Environment } else { Exit::Bad };
                return;
            }
        };
        if self.args.no_run && self.args.estimates {
            let text = estimated::lines(&self.loaded.db, self.machine, self.tuned, name, &groups);
            return results(self.args, &text, self.output);
        }
        let record = self.file.add(name, &groups, &self.roofs);
        let text = if self.args.no_run { format!("{name}: compiled\n") } else { show(&record) };
        results(self.args, &text, self.output);
    }
}

/// Prints text as a result, or as a remark if stdout is reserved for JSON.
fn results(args: &BenchArgs, text: &str, output: &Output) {
    if args.json.as_deref() == Some(Path::new("-")) {
        output.remark(text.trim_end());
    } else {
        output.result(text);
    }
}

/// Formats a bench as a table: a line for each work, followed by its comparisons; a judgement after the candidates of a work;
/// and a line for each work that was not measured.
fn show(record: &BenchRecord) -> String {
    let works = || record.groups.iter().flat_map(|g| g.measures.iter().chain(&g.baselines));
    let width = works().map(|w| name(w).chars().count()).max().unwrap_or(0);
    let mut out = format!("{}\n", record.name);
    for group in &record.groups {
        for (at, work) in group.measures.iter().enumerate() {
            out += &line(work, width);
            for against in &work.against {
                let deeper = if work.candidate.is_some() { "  " } else { "" };
                out += &format!("    {deeper}{}\n", comparison(work, against));
            }
            let later = &group.measures[at + 1..];
            if work.candidate.is_some() && later.first().is_none_or(|next| next.candidate.is_none()) {
                out += &judgement(&group.measures[..=at]);
            }
        }
        for work in &group.baselines {
            out += &line(work, width);
        }
        for missing in &group.missing {
            out += &format!("  {:width$}  not measured: {}\n", missing.label, missing.reason);
        }
    }
    out
}

/// Formats a work, with the median and its interval in microseconds: `  matmul      412.30 µs [410.90, 415.00]  333.3 TFLOP/s
/// 34.0% of the roof`.
fn line(work: &WorkRecord, width: usize) -> String {
    let mut parts = vec![format!("  {:width$}", name(work))];
    if let (Some(median), Some(low), Some(high)) = (work.median_us, work.low_us, work.high_us) {
        parts.push(format!("{:>10} µs [{}, {}]", micros(median), micros(low), micros(high)));
    }
    if let (Some(cycles), Some(estimated)) = (work.cycles, work.estimated_cycles) {
        parts.push(format!("{cycles:.0} cycles, estimate {estimated:.0} ({:.3}×)", estimated / cycles));
    }
    parts.extend(work.tflops.map(|t| format!("{t:.1} TFLOP/s")));
    parts.extend(work.gbs.map(|g| format!("{g:.0} GB/s")));
    parts.extend(work.memory.as_ref().map(against_memory));
    let against_peak =
        |peak: &PeakRecord| format!("{:.1}% of the peak of `{}`", peak.share * 100.0, peak.instruction);
    parts.extend(work.peak.as_ref().map(against_peak));
    parts.extend(work.roof_share.map(|s| format!("{:.1}% of the roof", s * 100.0)));
    parts.join("  ") + "\n"
}

/// Formats `91.3% of a copy of 64 MiB`. A copy of 64 MiB moves twice as many bytes, like the work.
fn against_memory(memory: &MemoryRecord) -> String {
    let bytes = if memory.of == "copy" { memory.bytes / 2.0 } else { memory.bytes };
    format!("{:.1}% of a {} of {}", memory.share * 100.0, memory.of, limits::byte_text(bytes as u64))
}

/// Says where each peak of the results comes from, one a line:
/// `peak of …: 4096 operations a cycle by the catalogue × 132 multiprocessors × 1.980 GHz by the driver = 1070.5 TFLOP/s`.
fn peaks(file: &BenchFile) -> String {
    let groups = file.benches.iter().flat_map(|bench| &bench.groups);
    let works = groups.flat_map(|group| group.measures.iter().chain(&group.baselines));
    let line = |peak: &PeakRecord| {
        format!(
            "peak of `{}`: {:.0} operations a cycle by the catalogue × {} multiprocessors × {:.3} GHz by the driver = {:.1} TFLOP/s\n",
            peak.instruction, peak.per_cycle, peak.multiprocessors, peak.clock_ghz, peak.tflops
        )
    };
    let lines: BTreeSet<String> = works.filter_map(|work| work.peak.as_ref()).map(line).collect();
    lines.into_iter().collect()
}

/// Returns the label of a work, or the number of a candidate, indented below its kernel.
fn name(work: &WorkRecord) -> String {
    work.candidate.map_or_else(|| work.label.clone(), |candidate| format!("  candidate {candidate}"))
}

/// Compares the last chosen work of `measures` with the candidates after it, by their medians; empty if none of them has a
/// time.
fn judgement(measures: &[WorkRecord]) -> String {
    let chosen = measures.iter().rposition(|work| work.candidate.is_none()).unwrap_or(0);
    let median = |work: &WorkRecord| work.median_us.unwrap_or(f64::INFINITY);
    let all = &measures[chosen..];
    let mut by_time: Vec<&WorkRecord> = all.iter().filter(|work| work.median_us.is_some()).collect();
    by_time.sort_by(|a, b| median(a).total_cmp(&median(b)));
    let (Some(best), Some(worst)) = (by_time.first(), by_time.last()) else { return String::new() };
    let ratio = median(&all[0]) / median(best);
    let what = match best.candidate {
        Some(candidate) => format!("{ratio:.3}× the time of the best, candidate {candidate}"),
        None => "the least time".to_owned(),
    };
    let spread = median(worst) / median(best);
    format!("  of {} candidates the chosen one takes {what}; the worst takes {spread:.2}×\n", all.len())
}

/// Formats `0.453× cublas::gemm, results differ by 2.500e-1 at most (1.0 ulp)`. A ratio above 1 means that `work` is faster.
fn comparison(work: &WorkRecord, against: &AgainstRecord) -> String {
    let what = if against.by == "bandwidth" { " by bandwidth" } else { "" };
    let other = if work.candidate.is_some() { "the chosen one" } else { &against.baseline };
    let mut text = match against.ratio {
        Some(ratio) => format!("{ratio:.3}× {other}{what}"),
        None => format!("beside {other}"),
    };
    if against.compared {
        text += &match (against.max_difference, against.max_ulps) {
            (Some(0.0), _) => ", same result".to_owned(),
            (Some(absolute), Some(ulps)) => {
                format!(", results differ by {absolute:.3e} at most ({ulps:.1} ulp)")
            }
            _ => ", results differ: NaN or infinity on one side only".to_owned(),
        };
    }
    text
}

/// Returns `estimated cycles / measured cycles` of each measured kernel that has both.
fn ratios(file: &BenchFile) -> Vec<f64> {
    let works = file.benches.iter().flat_map(|bench| &bench.groups).flat_map(|group| &group.measures);
    works.filter_map(|work| Some(work.estimated_cycles? / work.cycles?)).collect()
}

/// Formats the errors of the estimates: `estimate / measured of 40 kernels: 0.810 to 1.020, mean 0.930; mean error 8.1 %`. With
/// fewer than two ratios, the line says so instead.
fn errors(mut ratios: Vec<f64>) -> String {
    ratios.sort_by(f64::total_cmp);
    let [least, .., most] = ratios.as_slice() else {
        return "fewer than two kernels have an estimate\n".to_owned();
    };
    // Geometric means: an estimate of a half and one of the double are equally wrong.
    let mean = |of: fn(f64) -> f64| (ratios.iter().map(|r| of(*r)).sum::<f64>() / ratios.len() as f64).exp();
    let (middle, error) = (mean(f64::ln), mean(|ratio| ratio.ln().abs()));
    format!(
        "estimate / measured of {} kernels: {least:.3} to {most:.3}, mean {middle:.3}; mean error {:.1} %\n",
        ratios.len(),
        (error - 1.0) * 100.0
    )
}

fn micros(us: f64) -> String {
    if us >= 1000.0 { format!("{us:.1}") } else { format!("{us:.2}") }
}

fn tell_changes(changes: &[Change], before: &BenchFile, args: &BenchArgs, output: &Output) {
    let mut text = format!("compared with {} (hx {}):\n", before.device, before.hx);
    if changes.is_empty() {
        text += "  no work stands in both\n";
    }
    for change in changes {
        let percent = (change.after / change.before - 1.0) * 100.0;
        let verdict = match change.verdict {
            ChangeVerdict::Faster => "faster",
            ChangeVerdict::Slower => "slower",
            ChangeVerdict::Same => "no clear change",
        };
        let (was, is) = (micros(change.before), micros(change.after));
        let label = format!("{} {}", change.name, change.label);
        text += &format!("  {label}: {was} µs, now {is} µs ({percent:+.1}%, {verdict})\n");
    }
    results(args, &text, output);
}

fn write(path: &Path, file: &BenchFile, output: &Output) -> Result<(), Exit> {
    let text = file.to_json().map_err(|error| {
        output.placeless(&error);
        Exit::Bad
    })?;
    if path == Path::new("-") {
        output.result(&text);
        return Ok(());
    }
    files::write(path, &text, output)
}

#[cfg(test)]
mod tests {
    use hx_driver::BenchFile;
    use hx_launch::Machine;

    use super::{errors, write};
    use crate::cli::{Color, MessageFormat};
    use crate::output::Output;

    #[test]
    fn errors_of_estimates_are_geometric() {
        assert_eq!(errors(vec![1.0]), "fewer than two kernels have an estimate\n");
        assert_eq!(
            errors(vec![2.0, 0.5, 1.0]),
            "estimate / measured of 3 kernels: 0.500 to 2.000, mean 1.000; mean error 58.7 %\n"
        );
    }

    #[test]
    fn results_are_not_written_in_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let (results, other) = (folder.path().join("b.json"), folder.path().join("other"));
        std::fs::write(&results, "old").expect("writable");
        std::fs::hard_link(&results, &other).expect("one more name");
        let machine =
            Machine::Simulator { target: hx_target::Target::usual(), instead_of: None, compiler: None };
        let file = BenchFile::new("0", &machine, true);
        write(&results, &file, &Output::new(Color::Never, MessageFormat::Human)).expect("writable");
        assert_eq!(std::fs::read_to_string(&other).expect("readable"), "old");
        assert!(BenchFile::load(&results).is_ok());
    }
}
