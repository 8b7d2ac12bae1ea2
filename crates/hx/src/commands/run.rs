//! `hx run`: runs the `main` of a file.

use std::path::Path;
use std::time::{Duration, Instant};

use hx_base::interrupt::{Ended, Until};
use hx_base::{Diagnostic, sort_diagnostics};
use hx_driver::{Launches, RunOutcome, run_main};
use hx_host::device::LaunchReport;
use hx_host::eval::{Options, Surroundings};
use hx_inspect::FormatReport;
use hx_report::ReportForm;

use super::tuned::{self, Once};
use super::{limit_memory, load, machine, machine_warnings, setup_choosing, simulated};
use crate::cli::RunArgs;
use crate::output::Output;
use crate::{Exit, interrupt};

/// Prints the program's output while it runs.
struct Live<'a> {
    output: &'a Output,
    /// Lines about tuned arguments that were printed.
    told: Once,
}

impl Surroundings for Live<'_> {
    fn print(&mut self, line: &str) {
        self.output.result(&format!("{line}\n"));
    }

    fn launched(&mut self, _: &str, report: &LaunchReport) {
        self.told.remark(&report.remarks, self.output);
        if let Some(counters) = &report.counters {
            self.output.result(counters);
        }
    }

    fn unjudged(&mut self, reason: &str) {
        self.output.remark(&format!("an assertion was skipped: {reason}"));
    }
}

pub(crate) fn run(args: RunArgs, output: &Output) -> Exit {
    ran(args, output).unwrap_or_else(|exit| exit)
}

fn ran(args: RunArgs, output: &Output) -> Result<Exit, Exit> {
    let no_file = || {
        output.usage(&format!("`{}` is a folder; `hx run` takes one file", args.file));
        Exit::Usage
    };
    if Path::new(&args.file).is_dir() {
        return Err(no_file());
    }
    let mut loaded = load(std::slice::from_ref(&args.file), output)?;
    loaded.choose(args.candidate);
    let &[file] = loaded.files.as_slice() else { return Err(no_file()) };
    let tuned = tuned::tuned_by_default(&loaded, &args.file, &args.tuned, output)?;
    let device = args.device.device;
    let device = simulated(device, args.report.report.then_some("--report"), output)?;
    let device = simulated(device, args.order.order.map(|_| "--order"), output)?;
    let setup =
        setup_choosing(args.choosing, (device, &args.device.target), loaded.manifest.as_ref(), output)?;
    limit_memory(args.memory, loaded.manifest.as_ref());
    let machine = machine(&setup, output)?;
    let limit = args.timeout.or(loaded.manifest.as_ref().and_then(|m| m.timeout));
    let deadline = limit.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let options = Options { args: args.args, seed: args.seed, ..Options::default() };
    let mut live = Live { output, told: Once::default() };
    let form = match output.json() {
        true => ReportForm::Json,
        false => ReportForm::Text { width: output.columns() },
    };
    let launches = Launches {
        order: args.order.order.unwrap_or(0),
        tuned: tuned::on(&machine, tuned.as_ref(), &args.tuned),
        report: args.report.report.then_some(&form as &dyn FormatReport),
    };
    let until = Until { stop: interrupt::flag(), deadline };
    let outcome = run_main(&loaded.db, file, &machine, launches, options, &mut live, until);
    machine_warnings(std::slice::from_ref(&machine), output);
    if interrupt::requested() {
        output.remark("interrupted");
        return Err(Exit::Interrupted);
    }
    let mut found = match outcome {
        RunOutcome::Finished => Vec::new(),
        RunOutcome::Refused(found) | RunOutcome::Failed(found) => found,
    };
    // Items that `main` does not use did not keep it from running, but their errors are reported and make the exit code bad.
    if !until.is_reached() {
        let rest = until.run(&loaded.db, |db| hx_inspect::front_diagnostics(db, file));
        let rest = rest.unwrap_or_else(|Ended| vec![hx_driver::ended_in(file)]);
        found.extend(rest.into_iter().filter(Diagnostic::is_error));
    }
    sort_diagnostics(&loaded.db, &mut found);
    if found.is_empty() {
        return Ok(loaded.exit(Exit::Good));
    }
    output.diagnostics(&loaded.db, &found);
    output.summary(&found);
    Ok(if lacks_environment(&found) { Exit::Environment } else { Exit::Bad })
}

/// Reports whether there are errors, and the machine causes all of them (no GPU, no compiler).
pub(super) fn lacks_environment(found: &[Diagnostic]) -> bool {
    let mut errors = found.iter().filter(|d| d.is_error()).peekable();
    errors.peek().is_some() && errors.all(|d| hx_launch::is_environmental(d.code))
}
