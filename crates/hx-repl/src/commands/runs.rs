//! `:run`, `:bench` and `:time`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hx_base::interrupt::Until;
use hx_base::{Diagnostic, SourceFile};
use hx_driver::{
    BenchFile, BenchOptions, Case, Filter, Launches, Listing, ReportedErrors, Roofs, RunOutcome, TestOptions,
    Verdict, WorkLimit, list_benches, list_tests, run_benches, run_main, run_tests,
};
use hx_hir::{Name, file_items};
use hx_host::HostError;
use hx_launch::Machine;
use hx_workspace::Database;

use crate::device::Launched;
use crate::machines::Machines;
use crate::screen::Screen;
use crate::session::{Live, Outcome, Session, outcome_of};
use crate::work::{Inside, Said};

/// The result of a run on the evaluation's thread.
enum Ran {
    Done(Outcome),
    NoMachine(HostError),
    /// There is nothing to run, for this reason.
    Nothing(String),
    Stopped,
}

pub(super) fn run(session: &mut Session, name: &str, screen: &mut Screen<'_>) -> Outcome {
    let files = session.files();
    let main = files.iter().copied().find(|&file| file_items(&session.db, file).main().is_some());
    match main.filter(|_| name.is_empty()) {
        Some(file) => main_of(session, file, screen),
        None => tests(session, files, name, screen),
    }
}

fn main_of(session: &mut Session, file: SourceFile, screen: &mut Screen<'_>) -> Outcome {
    let (options, deadline, machines) = (session.options(), session.deadline(), session.machines.clone());
    let (announced, look) = (session.announced.clone(), session.precision.look(screen.style()));
    let work = move |db: &Database, inside: &Inside| {
        let machine = match opened(&machines, inside) {
            Ok(machine) => machine,
            Err(ran) => return ran,
        };
        let mut live = Live { inside, announced, machines: &machines, look };
        let until = Until { stop: &inside.stop, deadline };
        match run_main(db, file, &machine, Launches::default(), options, &mut live, until) {
            RunOutcome::Finished => Ran::Done(Outcome::Good),
            RunOutcome::Refused(_) | RunOutcome::Failed(_) if inside.stopped() => Ran::Stopped,
            RunOutcome::Refused(found) | RunOutcome::Failed(found) => {
                let outcome = outcome_of(&found);
                inside.say(Said::Found(found));
                Ran::Done(outcome)
            }
        }
    };
    // No common deadline: files, lists of cases and cases each have their own time limit.
    let ran = session.work(screen, None, work);
    ended(session, ran, screen)
}

fn tests(session: &mut Session, files: Vec<SourceFile>, name: &str, screen: &mut Screen<'_>) -> Outcome {
    let filter = Filter { names: names(name), ..Filter::default() };
    let none = match name {
        "" => "there is no `main` and no test to run".to_owned(),
        name => format!("no test has `{name}` in its title"),
    };
    let options =
        TestOptions { seed: session.config.seed, timeout: session.config.timeout, ..TestOptions::default() };
    let machines = session.machines.clone();
    let work = move |db: &Database, inside: &Inside| {
        let each = WorkLimit { stop: &inside.stop, limit: options.timeout };
        let listing = newest(list_tests(db, &files, &filter, each));
        let (listing, machine) = match machine_for(listing, none, &machines, inside) {
            Ok(found) => found,
            Err(ran) => return ran,
        };
        let (mut outcome, mut told) = (Outcome::Good, ReportedErrors::default());
        run_tests(db, &listing.cases, &machine, &options, &inside.stop, |report| {
            report.output.iter().for_each(|line| inside.say(Said::Printed(line.clone())));
            let name = &report.case.name;
            match report.verdict {
                Verdict::Passed => {
                    inside.say(Said::Printed(format!("{name} ... ok ({})", time_text(report.time))));
                }
                Verdict::Skipped(reason) => {
                    inside.say(Said::Printed(format!("{name} ... skipped: {reason}")));
                }
                Verdict::Failed(found) => {
                    inside.say(Said::Printed(format!("{name} ... FAILED")));
                    let (new, known) = told.news(db, name, &found);
                    inside.say(Said::Found(new));
                    known.into_iter().for_each(|line| inside.say(Said::Remark(line)));
                    outcome = Outcome::Failed;
                }
            }
        });
        Ran::Done(outcome)
    };
    // No common deadline: files, lists of cases and cases each have their own time limit.
    let ran = session.work(screen, None, work);
    ended(session, ran, screen)
}

pub(super) fn bench(session: &mut Session, name: &str, screen: &mut Screen<'_>) -> Outcome {
    let filter = Filter { names: names(name), ..Filter::default() };
    let none = match name {
        "" => "the session has no bench; `:time` measures one entry".to_owned(),
        name => format!("no bench has `{name}` in its title"),
    };
    let files = session.files();
    let options = BenchOptions {
        seed: session.config.seed,
        timeout: session.config.timeout,
        ..BenchOptions::default()
    };
    let machines = session.machines.clone();
    let work = move |db: &Database, inside: &Inside| {
        let each = WorkLimit { stop: &inside.stop, limit: options.timeout };
        let listing = newest(list_benches(db, &files, &filter, each));
        let (listing, machine) = match machine_for(listing, none, &machines, inside) {
            Ok(found) => found,
            Err(ran) => return ran,
        };
        let mut outcome = Outcome::Good;
        let mut file = BenchFile::new(env!("CARGO_PKG_VERSION"), &machine, options.timing.plan.flush_l2);
        run_benches(db, &listing.cases, &machine, &options, &inside.stop, &|_, _| {}, |report| {
            report.output.iter().for_each(|line| inside.say(Said::Printed(line.clone())));
            let name = &report.case.name;
            match report.outcome {
                Err(found) => {
                    outcome = outcome.max(outcome_of(&found));
                    inside.say(Said::Printed(format!("{name} ... FAILED")));
                    inside.say(Said::Found(found));
                }
                Ok(groups) => {
                    let record = file.add(name, &groups, &Roofs::default());
                    inside.say(Said::Printed(name.clone()));
                    let works = record.groups.iter().flat_map(|g| g.measures.iter().chain(&g.baselines));
                    for work in works {
                        let time = work.median_us.map_or("not timed".to_owned(), |us| format!("{us:.2} µs"));
                        let rate = work.tflops.map_or(String::new(), |t| format!("  {t:.1} TFLOP/s"));
                        let moved = work.gbs.map_or(String::new(), |g| format!("  {g:.0} GB/s"));
                        let share = work.memory.as_ref().map_or(String::new(), |memory| {
                            format!("  {:.1}% of a {} of the same size", memory.share * 100.0, memory.of)
                        });
                        let peak = work.peak.as_ref().map_or(String::new(), |peak| {
                            format!("  {:.1}% of the peak of `{}`", peak.share * 100.0, peak.instruction)
                        });
                        inside.say(Said::Printed(format!(
                            "  {}  {time}{rate}{moved}{share}{peak}",
                            work.label
                        )));
                    }
                }
            }
        });
        Ran::Done(outcome)
    };
    // No common deadline: files, lists of cases and cases each have their own time limit.
    let ran = session.work(screen, None, work);
    ended(session, ran, screen)
}

pub(super) fn time(session: &mut Session, text: &str, screen: &mut Screen<'_>) -> Outcome {
    if text.is_empty() {
        screen.usage("`:time` evaluates an entry: write one behind it");
        return Outcome::Failed;
    }
    let times = match session.cell(text, screen) {
        Ok(times) => times,
        Err(outcome) => return outcome,
    };
    let mut told = format!("{} to check, {} to evaluate", time_text(times.check), time_text(times.run));
    for line in launches(&times.launches) {
        told += &format!("\n    {line}");
    }
    screen.remark(&told);
    Outcome::Good
}

/// Returns a line for each kernel, in the order of their first launches: the time of the first launch, and the median of the
/// others.
fn launches(all: &[Launched]) -> Vec<String> {
    let mut names: Vec<&Name> = Vec::new();
    for launch in all {
        if !names.contains(&&launch.kernel) {
            names.push(&launch.kernel);
        }
    }
    let line = |name: &&Name| {
        let mut times: Vec<Duration> = all.iter().filter(|l| l.kernel == **name).map(|l| l.time).collect();
        let first = time_text(times[0]);
        match times.len() {
            1 => format!("{name}: {first}"),
            count => {
                times.remove(0);
                times.sort();
                let median = time_text(times[times.len() / 2]);
                format!("{name}: {count} launches, the first {first}, median of the others {median}")
            }
        }
    };
    names.iter().map(line).collect()
}

/// Formats a time with two decimals or as whole milliseconds: `1.23 ms`, `12 ms`, `4.56 s`.
pub(super) fn time_text(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    match ms {
        _ if ms >= 1000.0 => format!("{:.2} s", ms / 1e3),
        _ if ms >= 10.0 => format!("{ms:.0} ms"),
        _ => format!("{ms:.2} ms"),
    }
}

fn names(name: &str) -> Vec<String> {
    let name = name.trim_matches('"');
    if name.is_empty() { Vec::new() } else { vec![name.to_owned()] }
}

/// Returns the cases of a listing, and waits for the machine on which they run.
///
/// # Errors
/// How the run ended: it was stopped, there are no cases (`none` is the reason if the files have no errors), or the machine
/// cannot be opened.
fn machine_for(
    listing: Listing,
    none: String,
    machines: &Machines,
    inside: &Inside,
) -> Result<(Listing, Arc<Machine>), Ran> {
    if inside.stopped() {
        return Err(Ran::Stopped);
    }
    if listing.cases.is_empty() {
        return Err(without_cases(listing, none, inside));
    }
    Ok((listing, opened(machines, inside)?))
}

/// Ends a command without cases: reports the errors that hide them, or else returns the reason `none`.
fn without_cases(listing: Listing, none: String, inside: &Inside) -> Ran {
    let errors: Vec<Diagnostic> = listing.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    if listing.broken.is_empty() || errors.is_empty() {
        return Ran::Nothing(none);
    }
    let outcome = outcome_of(&errors);
    inside.say(Said::Found(errors));
    Ran::Done(outcome)
}

/// Removes cases of older items whose title a newer file has as well, and repeated cases of one title. The files of the listing
/// come newest first.
fn newest(mut listing: Listing) -> Listing {
    let mut seen: BTreeSet<(Name, Option<usize>)> = BTreeSet::new();
    let mut owner: Vec<(Name, SourceFile)> = Vec::new();
    listing.cases.retain(|case: &Case| {
        let title = case.test.name.clone();
        let first = owner.iter().find(|(name, _)| *name == title).map(|(_, file)| *file);
        match first {
            Some(file) => file == case.test.file && seen.insert((title, case.index)),
            None => {
                owner.push((title.clone(), case.test.file));
                seen.insert((title, case.index))
            }
        }
    });
    listing
}

fn opened(machines: &Machines, inside: &Inside) -> Result<Arc<Machine>, Ran> {
    match machines.wait(&|| inside.stopped()) {
        None => Err(Ran::Stopped),
        Some(Err(error)) => Err(Ran::NoMachine(error.0)),
        Some(Ok(machine)) => Ok(machine),
    }
}

fn ended(session: &mut Session, ran: Result<Ran, Outcome>, screen: &mut Screen<'_>) -> Outcome {
    let outcome = match ran {
        Ok(Ran::Done(outcome)) => outcome,
        Ok(Ran::Stopped) => {
            screen.interrupted();
            Outcome::Interrupted
        }
        Ok(Ran::Nothing(text)) => {
            screen.usage(&text);
            Outcome::Failed
        }
        Ok(Ran::NoMachine(error)) => {
            screen.placeless(&error);
            Outcome::Environment
        }
        Err(outcome) => outcome,
    };
    if outcome != Outcome::Good {
        session.revive(screen);
    }
    outcome
}
