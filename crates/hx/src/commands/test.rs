//! `hx test`.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hx_base::Diagnostic;
use hx_driver::{
    CaseReport, Filter, Listing, Machine, TestOptions, Verdict, list_tests, open_compiler, run_tests,
};

use super::run::lacks_environment;
use super::{Loaded, announce, load, machine, machine_warnings, setup};
use crate::Exit;
use crate::cli::{TestArgs, TestFormat};
use crate::output::Output;

/// How many tests came to which end.
#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

pub(crate) fn run(args: TestArgs, output: &Output) -> Exit {
    tested(&args, output).unwrap_or_else(|exit| exit)
}

fn tested(args: &TestArgs, output: &Output) -> Result<Exit, Exit> {
    let (paths, names) = paths_and_names(&args.what);
    let loaded = load(&paths, output)?;
    let filter = Filter { names, exact: args.exact, skip: args.skip.clone() };
    let listing = list_tests(&loaded.db, &loaded.files, &filter);
    output.diagnostics(&loaded.db, &listing.diagnostics);
    if args.list {
        let names = listing.cases.iter().map(|c| &c.name).chain(&listing.broken);
        let text: String = names.map(|name| format!("{name}\n")).collect();
        output.result(&text);
        let none = listing.cases.is_empty() && listing.broken.is_empty();
        return Ok(if none { Exit::NoTest } else { broken_files(&listing).unwrap_or(Exit::Good) });
    }
    if listing.cases.is_empty() && listing.broken.is_empty() {
        if let Some(exit) = broken_files(&listing) {
            return Ok(exit);
        }
        output.remark("no test matches");
        tell_counts(args, &Counts::default(), output);
        return Ok(Exit::NoTest);
    }
    execute(args, &loaded, &listing, output)
}

fn broken_files(listing: &Listing) -> Option<Exit> {
    listing.diagnostics.iter().any(Diagnostic::is_error).then_some(Exit::Bad)
}

fn execute(args: &TestArgs, loaded: &Loaded, listing: &Listing, output: &Output) -> Result<Exit, Exit> {
    let manifest = loaded.manifest.as_ref();
    let setup = setup(args.device.device, &args.device.target, manifest, output)?;
    let machine =
        if args.no_run { announce(open_compiler(&setup), output)? } else { machine(&setup, output)? };
    if args.require_gpu && !args.no_run && !machine.is_gpu() {
        let reason = "`--require-gpu` was given, and the tests would run on the simulator";
        output.placeless_parts(&hx_base::codes::NO_GPU, reason, &[], &[]);
        return Err(Exit::Environment);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = TestOptions {
        seed: args.seed.or(manifest.and_then(|m| m.seed)).unwrap_or(0),
        timeout: args.timeout.or(manifest.and_then(|m| m.timeout)).map(Duration::from_secs_f64),
        jobs: args.jobs.unwrap_or(cores),
    };
    let mut counts = Counts::default();
    for name in &listing.broken {
        counts.failed += 1;
        tell_line(args, name, "FAILED", "it has errors", output);
    }
    let mut only_environment = listing.broken.is_empty();
    let stop = AtomicBool::new(false);
    run_tests(&loaded.db, &listing.cases, &machine, &options, &stop, |report| {
        match &report.verdict {
            Verdict::Passed => counts.passed += 1,
            Verdict::Skipped(_) => counts.skipped += 1,
            Verdict::Failed(found) => {
                counts.failed += 1;
                only_environment &= lacks_environment(found);
            }
        }
        tell(args, loaded, &report, &machine, &options, output);
    });
    // A case without a report has lost its thread; it did not pass.
    let told = counts.passed + counts.failed + counts.skipped;
    counts.failed += (listing.cases.len() + listing.broken.len()).saturating_sub(told);
    machine_warnings(&machine, output);
    tell_counts(args, &counts, output);
    Ok(match counts.failed {
        0 => broken_files(listing).unwrap_or(Exit::Good),
        _ if only_environment => Exit::Environment,
        _ => Exit::Bad,
    })
}

/// Tells paths from filters: what exists or looks like a file is a path, and `path::title` names both.
pub(super) fn paths_and_names(what: &[String]) -> (Vec<String>, Vec<String>) {
    let is_path = |text: &str| Path::new(text).exists() || text.ends_with(".hx") || text == "std";
    let (mut paths, mut names) = (Vec::new(), Vec::new());
    let mut named_files = Vec::new();
    for text in what {
        if is_path(text) {
            paths.push(text.clone());
            continue;
        }
        names.push(text.clone());
        if let Some((file, _)) = text.split_once("::")
            && is_path(file)
        {
            named_files.push(file.to_owned());
        }
    }
    if paths.is_empty() {
        paths = named_files;
    }
    if paths.is_empty() {
        paths.push(".".to_owned());
    }
    (paths, names)
}

fn tell_line(args: &TestArgs, name: &str, verdict: &str, detail: &str, output: &Output) {
    if args.format == TestFormat::Json {
        let object =
            serde_json::json!({ "type": "test", "name": name, "result": "failed", "reason": detail });
        return output.result(&format!("{object}\n"));
    }
    output.result(&format!("test {name} ... {} ({detail})\n", output.paint(verdict, false)));
}

fn tell(
    args: &TestArgs,
    loaded: &Loaded,
    report: &CaseReport,
    machine: &Machine,
    options: &TestOptions,
    output: &Output,
) {
    let name = &report.case.name;
    if args.format == TestFormat::Json {
        return output.result(&json_report(loaded, report, options));
    }
    let time = show_time(report.time);
    let line = match &report.verdict {
        Verdict::Passed => format!("test {name} ... {} ({time})", output.paint("ok", true)),
        Verdict::Failed(_) => format!("test {name} ... {} ({time})", output.paint("FAILED", false)),
        Verdict::Skipped(reason) => format!("test {name} ... skipped ({reason})"),
    };
    output.result(&format!("{line}\n"));
    let failed = matches!(report.verdict, Verdict::Failed(_));
    if failed || args.nocapture {
        for line in &report.output {
            output.remark(&format!("  | {line}"));
        }
    }
    if let Verdict::Failed(found) = &report.verdict {
        output.diagnostics(&loaded.db, found);
        if report.uses_seed {
            output.remark(&format!("  seed: {}", options.seed));
        }
        let quoted = format!("'{}'", name.replace('\'', r"'\''"));
        output.remark(&format!(
            "  rerun: hx test {quoted} --exact --device {} --seed {}\n",
            machine.flag(),
            options.seed
        ));
    }
}

fn json_report(loaded: &Loaded, report: &CaseReport, options: &TestOptions) -> String {
    let (result, reason, found) = match &report.verdict {
        Verdict::Passed => ("passed", None, [].as_slice()),
        Verdict::Failed(found) => ("failed", found.first().map(|d| d.message.clone()), found.as_slice()),
        Verdict::Skipped(reason) => ("skipped", Some(reason.clone()), [].as_slice()),
    };
    let parse = |d: &Diagnostic| {
        let line = hx_report::json(&loaded.db, d);
        serde_json::from_str::<serde_json::Value>(&line).unwrap_or_default()
    };
    let diagnostics: Vec<_> = found.iter().map(parse).collect();
    let object = serde_json::json!({
        "type": "test",
        "name": report.case.name,
        "result": result,
        "reason": reason,
        "seconds": report.time.as_secs_f64(),
        "seed": options.seed,
        "output": report.output,
        "diagnostics": diagnostics,
    });
    format!("{object}\n")
}

fn show_time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

/// The last line of every run.
fn tell_counts(args: &TestArgs, counts: &Counts, output: &Output) {
    let Counts { passed, failed, skipped } = counts;
    if args.format == TestFormat::Json {
        let object =
            serde_json::json!({ "type": "summary", "passed": passed, "failed": failed, "skipped": skipped });
        return output.result(&format!("{object}\n"));
    }
    output.result(&format!("{passed} passed, {failed} failed, {skipped} skipped\n"));
}
