//! Reports of `hx test`: lines for people, JSON objects for programs, or a JUnit file at the end.

use std::time::Duration;

use hx_base::{Diagnostic, line_index};
use hx_driver::{CaseReport, Listing, ReportedErrors, TestOptions, Verdict, case_place};
use hx_inspect::KernelReport;
use hx_launch::Machine;
use hx_report::{Renderer, summed_counters};

use super::junit::{self, Outcome};
use super::{Counts, Loaded};
use crate::cli::{TestArgs, TestFormat};
use crate::output::Output;

/// Reports the tests of one run, in order.
pub(super) struct Teller<'a> {
    pub args: &'a TestArgs,
    pub loaded: &'a Loaded,
    pub output: &'a Output,
    /// The cases of the JUnit file.
    pub cases: Vec<junit::Case>,
    /// The kernel errors that people have already seen.
    told: ReportedErrors,
}

impl<'a> Teller<'a> {
    pub(super) fn new(args: &'a TestArgs, loaded: &'a Loaded, output: &'a Output) -> Teller<'a> {
        Teller { args, loaded, output, cases: Vec::new(), told: ReportedErrors::default() }
    }

    /// Prints only the names of tests, and in JSON also their places. The tests whose text has errors come last.
    pub(super) fn list(&self, listing: &Listing) {
        let db = &self.loaded.db;
        let mut text = String::new();
        if self.args.format != TestFormat::Json {
            let names = listing.cases.iter().map(|c| &c.name).chain(&listing.broken);
            text.extend(names.map(|name| format!("{name}\n")));
            return self.output.result(&text);
        }
        for case in &listing.cases {
            let place = case_place(db, case).map(|(file, at)| {
                let at = line_index(db, file).line_col(at);
                serde_json::json!({ "path": file.path(db), "line": at.line + 1, "column": at.col + 1 })
            });
            let object = serde_json::json!({ "type": "case", "name": case.name, "place": place });
            text += &format!("{object}\n");
        }
        for name in &listing.broken {
            text += &format!("{}\n", serde_json::json!({ "type": "broken", "name": name }));
        }
        self.output.result(&text);
    }

    /// Reports a test that cannot run because its text has errors.
    pub(super) fn broken(&mut self, name: &str) {
        let reason = "it has errors";
        match self.args.format {
            TestFormat::Json => {
                let object =
                    serde_json::json!({ "type": "test", "name": name, "result": "failed", "reason": reason });
                self.output.result(&format!("{object}\n"));
            }
            TestFormat::Human => {
                self.output
                    .result(&format!("test {name} ... {} ({reason})\n", self.output.paint("FAILED", false)));
            }
            TestFormat::Junit => self.cases.push(junit::Case {
                name: name.to_owned(),
                seconds: 0.0,
                outcome: Outcome::Failed { message: reason.to_owned(), kind: "broken", text: String::new() },
                output: Vec::new(),
            }),
        }
    }

    /// Lists the tests that took longest, the longest first, and the time of all.
    pub(super) fn slowest(&self, mut times: Vec<(Duration, String)>, count: usize) {
        let all: Duration = times.iter().map(|(time, _)| *time).sum();
        times.sort_by(|(a, a_name), (b, b_name)| b.cmp(a).then_with(|| a_name.cmp(b_name)));
        let (listed, of) = (count.min(times.len()), times.len());
        self.output.remark(&format!("slowest {listed} of {of} tests, which took {} in all:", show_time(all)));
        for (time, name) in times.iter().take(listed) {
            self.output.remark(&format!("  {:>8}  {name}", show_time(*time)));
        }
    }

    /// Reports a test that ran or was skipped.
    pub(super) fn case(&mut self, report: &CaseReport, machines: &[Machine], options: &TestOptions) {
        let Some(machine) = machines.get(report.machine) else { return };
        let rerun = self.rerun(report, machine, options);
        // With a single machine, the first line of the output names it for all tests.
        let device = (machines.len() > 1).then(|| machine.device());
        match self.args.format {
            TestFormat::Json => self.output.result(&self.json(report, options, &rerun, device)),
            TestFormat::Junit => self.cases.push(self.junit(report, options, &rerun)),
            TestFormat::Human => self.human(report, options, &rerun, device),
        }
    }

    fn human(&mut self, report: &CaseReport, options: &TestOptions, rerun: &str, device: Option<String>) {
        let (name, time, output) = (&report.case.name, show_time(report.time), self.output);
        let mut time = match report.drawn.as_ref().map(|drawn| drawn.cases) {
            None => time,
            Some(1) => format!("1 case, {time}"),
            Some(n) => format!("{n} cases, {time}"),
        };
        match report.unjudged.len() {
            0 => {}
            1 => time += ", 1 assertion skipped",
            n => time += &format!(", {n} assertions skipped"),
        }
        let line = match &report.verdict {
            Verdict::Passed if report.is_flaky() => {
                format!("test {name} ... {} ({time})", output.paint(&flaky(report), true))
            }
            Verdict::Passed => format!("test {name} ... {} ({time})", output.paint("ok", true)),
            Verdict::Failed(_) => {
                let on = device.map_or_else(String::new, |device| format!(" on {device}"));
                format!("test {name} ... {}{on} ({time})", output.paint("FAILED", false))
            }
            Verdict::Skipped(reason) => format!("test {name} ... skipped ({reason})"),
        };
        output.result(&format!("{line}\n"));
        if report.is_flaky() {
            let first = report.failures.first().and_then(|found| found.first());
            let message = first.map_or("it failed", |found| &found.message);
            output.remark(&format!("  failed before with: {message}"));
        }
        if matches!(report.verdict, Verdict::Failed(_)) || self.args.nocapture {
            report.output.iter().for_each(|line| output.remark(&format!("  | {line}")));
        }
        if let Verdict::Failed(found) = &report.verdict {
            let (new, known) = self.told.news(&self.loaded.db, name, found);
            output.diagnostics(&self.loaded.db, &new);
            known.iter().for_each(|line| output.remark(&format!("  {line}")));
            if report.uses_seed {
                output.remark(&format!("  seed: {}", options.seed));
            }
            if let Some(order) = report.order {
                output.remark(&format!("  order: {order}"));
            }
            let step = report.steps.then(|| format!("\n  step:  {}", self.step(report, options)));
            output.remark(&format!("  rerun: {rerun}{}\n", step.unwrap_or_default()));
        }
        for kernel in &report.kernels {
            output.result(&format!("{}\n", summed_counters(kernel, output.columns())));
        }
    }

    /// Returns a renderer without colour, for output that programs read.
    fn renderer(&self) -> Renderer<'_> {
        Renderer::new(&self.loaded.db, hx_report::Config::default())
    }

    fn json(
        &self,
        report: &CaseReport,
        options: &TestOptions,
        rerun: &str,
        device: Option<String>,
    ) -> String {
        let (result, reason, found) = match &report.verdict {
            Verdict::Passed => ("passed", None, [].as_slice()),
            Verdict::Failed(found) => ("failed", found.first().map(|d| d.message.clone()), found.as_slice()),
            Verdict::Skipped(reason) => ("skipped", Some(reason.clone()), [].as_slice()),
        };
        let mut renderer = self.renderer();
        let parse = |d: &Diagnostic| {
            let line = renderer.json(d);
            serde_json::from_str::<serde_json::Value>(&line).unwrap_or_default()
        };
        let diagnostics: Vec<_> = found.iter().map(parse).collect();
        let mut object = serde_json::json!({
            "type": "test",
            "name": report.case.name,
            "result": result,
            "reason": reason,
            "seconds": report.time.as_secs_f64(),
            "seed": options.seed,
            "order": report.order,
            "rerun": rerun,
            "output": report.output,
            "skipped_assertions": report.unjudged,
            "diagnostics": diagnostics,
        });
        if let Some(picture) = &report.picture {
            object["picture"] = serde_json::json!({ "lines": picture.lines, "scale": picture.scale, "legend": picture.legend() });
        }
        if !report.failures.is_empty() {
            object["runs"] = (report.failures.len() + 1).into();
            object["flaky"] = report.is_flaky().into();
        }
        if let Some(drawn) = &report.drawn {
            object["cases"] = drawn.cases.into();
            object["failing_case"] = drawn.failing.clone().into();
        }
        if let Some(device) = device {
            object["device"] = device.into();
        }
        if self.args.report.report {
            object["kernels"] = report.kernels.iter().map(KernelReport::json).collect();
        }
        format!("{object}\n")
    }

    fn junit(&self, report: &CaseReport, options: &TestOptions, rerun: &str) -> junit::Case {
        let outcome = match &report.verdict {
            Verdict::Passed => Outcome::Passed,
            Verdict::Skipped(reason) => Outcome::Skipped(reason.clone()),
            Verdict::Failed(found) => {
                let mut renderer = self.renderer();
                let mut text: String = found.iter().map(|d| renderer.render(d)).collect();
                if report.uses_seed {
                    text += &format!("seed: {}\n", options.seed);
                }
                if let Some(order) = report.order {
                    text += &format!("order: {order}\n");
                }
                text += &format!("rerun: {rerun}\n");
                Outcome::Failed {
                    message: found.first().map(|d| d.message.clone()).unwrap_or_default(),
                    kind: found.first().map_or("", |d| d.code.name),
                    text,
                }
            }
        };
        let mut output = report.output.clone();
        for kernel in &report.kernels {
            output.extend(summed_counters(kernel, self.output.columns()).lines().map(str::to_owned));
        }
        junit::Case { name: report.case.name.clone(), seconds: report.time.as_secs_f64(), outcome, output }
    }

    /// Returns the command that runs one test again with the same settings.
    fn rerun(&self, report: &CaseReport, machine: &Machine, options: &TestOptions) -> String {
        let quoted = quoted(&report.rerun_name());
        let target = match self.args.device.target.target {
            Some(target) if !machine.is_gpu() => format!(" --target {target}"),
            _ => String::new(),
        };
        let limit = self.args.each.timeout.map_or(String::new(), |seconds| format!(" --timeout {seconds}"));
        let candidate = match self.args.candidate.candidate {
            0 => String::new(),
            number => format!(" --candidate {number}"),
        };
        // A failed case of a `forall` runs without draws.
        let draws = report.drawn.as_ref().is_some_and(|drawn| drawn.failing.is_none());
        let cases =
            self.args.cases.filter(|_| draws).map_or(String::new(), |cases| format!(" --cases {cases}"));
        let order = report.order.map_or(String::new(), |order| format!(" --order {order}"));
        let (device, seed) = (machine.flag(), options.seed);
        format!(
            "hx test {quoted} --exact --device {device}{target} --seed {seed}{limit}{candidate}{order}{cases}"
        )
    }

    /// Returns the command that steps to the failure.
    fn step(&self, report: &CaseReport, options: &TestOptions) -> String {
        let mut command = format!("hx step {} --exact --seed {}", quoted(&report.rerun_name()), options.seed);
        if let Some(target) = self.args.device.target.target {
            command += &format!(" --target {target}");
        }
        if self.args.candidate.candidate > 0 {
            command += &format!(" --candidate {}", self.args.candidate.candidate);
        }
        if let Some(order) = report.order {
            command += &format!(" --order {order}");
        }
        command
    }

    /// Reports the counts at the end of a run. For people the last line has all three numbers.
    pub(super) fn counts(&mut self, counts: &Counts, time: Duration) {
        let Counts { passed, failed, skipped, flaky, .. } = counts;
        let text = match self.args.format {
            TestFormat::Json => {
                let object = serde_json::json!({
                    "type": "summary", "passed": passed, "failed": failed, "skipped": skipped,
                    "flaky": flaky, "seconds": time.as_secs_f64()
                });
                format!("{object}\n")
            }
            TestFormat::Junit => junit::document(&std::mem::take(&mut self.cases)),
            TestFormat::Human => format!("{passed} passed, {failed} failed, {skipped} skipped\n"),
        };
        self.output.result(&text);
    }
}

/// Formats the number of the run in which a flaky test passed: `flaky, ok in run 2`.
fn flaky(report: &CaseReport) -> String {
    format!("flaky, ok in run {}", report.failures.len() + 1)
}

/// Formats a time: `117 ms`, `2.4 s`.
pub(super) fn show_time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

/// Quotes an argument for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
