//! `hx test`.

mod junit;
mod tell;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use hx_base::{Diagnostic, codes};
use hx_driver::{
    Each, Filter, History, Listing, Machine, Setup, TestOptions, Tuned, Verdict, list_tests, open_compiler,
    run_tests_on,
};

use self::tell::Teller;
use super::run::lacks_environment;
use super::tuned::{self, Once};
use super::{Loaded, announce, load, machine_warnings, machines, setup, simulated};
use crate::cli::TestArgs;
use crate::output::Output;
use crate::{Exit, interrupt};

/// Number of tests by result.
#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Number of assertions that could not be judged, by reason.
    unjudged: BTreeMap<String, usize>,
}

pub(crate) fn run(args: TestArgs, output: &Output) -> Exit {
    tested(&args, output).unwrap_or_else(|exit| exit)
}

fn tested(args: &TestArgs, output: &Output) -> Result<Exit, Exit> {
    let (paths, names) = paths_and_names(&args.choice.what);
    let mut loaded = load(&paths, output)?;
    loaded.choose(args.candidate);
    let tuned = match args.tuned.tuned.as_deref() {
        Some(named) => tuned::tuned(&mut loaded, &paths[0], Some(named), output)?,
        None => None,
    };
    let filter = Filter { names, exact: args.choice.exact, skip: args.choice.skip.clone() };
    // Ctrl-C ends the process directly while tests are listed, because no test has run yet.
    let each = Each { limit: time_limit(args.each.timeout, &loaded), ..Each::unlimited() };
    let mut listing = list_tests(&loaded.db, &loaded.files, &filter, each);
    let flag = args.orders.map(|_| "--orders").or(args.order.order.map(|_| "--order"));
    let device = simulated(args.device.device, flag, output)?;
    let setup = setup(device, &args.device.target, loaded.manifest.as_ref(), output)?;
    let here = std::env::current_dir().unwrap_or_default();
    let mut history = History::open(setup.cache.as_ref().map(|cache| cache.dir()), &here);
    if args.failed {
        listing.cases.retain(|case| history.has_failed(&case.name));
        listing.broken.retain(|name| history.has_failed(name));
    }
    output.diagnostics(&loaded.db, &listing.diagnostics);
    let none = listing.cases.is_empty() && listing.broken.is_empty();
    if let Some(shard) = args.shard {
        // Tests that cannot run come first, as in the report.
        let mut at = 0..;
        let mut is_in = || at.next().is_some_and(|position| shard.has(position));
        listing.broken.retain(|_| is_in());
        listing.cases.retain(|_| is_in());
    }
    let mut teller = Teller::new(args, &loaded, output);
    if args.choice.list {
        teller.list(&listing);
        let exit = if none { Exit::NoTest } else { broken_files(&listing).unwrap_or(Exit::Good) };
        return Ok(loaded.exit(exit));
    }
    if none {
        let broken = broken_files(&listing);
        // Without a filter the reported errors already explain why there is no test.
        if broken.is_none() || args.failed || !filter.names.is_empty() {
            output.remark(if args.failed {
                "no test failed when it was last run"
            } else {
                "no test matches"
            });
        }
        teller.counts(&Counts::default());
        return Ok(loaded.exit(broken.unwrap_or(Exit::NoTest)));
    }
    if filter.names.is_empty() && filter.skip.is_empty() && !args.failed && args.shard.is_none() {
        let known: BTreeSet<&str> =
            listing.cases.iter().map(|c| &c.name).chain(&listing.broken).map(String::as_str).collect();
        loaded.files.iter().for_each(|file| history.keep_known(file.path(&loaded.db), &known));
    }
    let exit = execute(&mut teller, &listing, &setup, &mut history, tuned.as_ref())?;
    if let Err(reason) = history.save() {
        output.placeless_parts(&codes::CACHE_UNWRITABLE, &reason, &[], &[]);
    }
    Ok(loaded.exit(exit))
}

/// Returns the time limit of each test or bench, from the flag or from the project.
pub(super) fn time_limit(flag: Option<f64>, loaded: &Loaded) -> Option<Duration> {
    flag.or(loaded.manifest.as_ref().and_then(|m| m.timeout)).map(Duration::from_secs_f64)
}

fn broken_files(listing: &Listing) -> Option<Exit> {
    listing.diagnostics.iter().any(Diagnostic::is_error).then_some(Exit::Bad)
}

fn execute(
    teller: &mut Teller<'_>,
    listing: &Listing,
    setup: &Setup,
    history: &mut History,
    tuned: Option<&Tuned>,
) -> Result<Exit, Exit> {
    let (args, loaded, output) = (teller.args, teller.loaded, teller.output);
    let manifest = loaded.manifest.as_ref();
    super::limit_memory(args.each.memory, manifest);
    let machines =
        if args.no_run { vec![announce(open_compiler(setup), output)?] } else { machines(setup, output)? };
    if args.require_gpu && !args.no_run && !machines.iter().all(Machine::is_gpu) {
        let reason = "`--require-gpu` was given, and the tests would run on the simulator";
        output.placeless_parts(&codes::NO_GPU, reason, &[], &[]);
        return Err(Exit::Environment);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let only = args.order.order.unwrap_or(0);
    let options = TestOptions {
        orders: args.orders.map_or(only..=only, |orders| 0..=orders - 1),
        seed: args.each.seed.or(manifest.and_then(|m| m.seed)).unwrap_or(0),
        timeout: time_limit(args.each.timeout, loaded),
        jobs: args.jobs.unwrap_or(cores.max(machines.len())),
        tuned,
        fail_fast: args.fail_fast,
    };
    let mut once = Once::default();
    let mut counts = Counts::default();
    for name in &listing.broken {
        counts.failed += 1;
        history.record(name, true);
        teller.broken(name);
    }
    let mut only_environment = listing.broken.is_empty();
    let mut times = Vec::new();
    let stop = interrupt::flag();
    // A test that cannot run has failed already.
    let cases = if args.fail_fast && !listing.broken.is_empty() { &[] } else { listing.cases.as_slice() };
    run_tests_on(&loaded.db, cases, &machines, &options, stop, |report| {
        times.push((report.time, report.case.name.clone()));
        once.remark(&report.remarks, output);
        match &report.verdict {
            Verdict::Passed => counts.passed += 1,
            Verdict::Skipped(_) => counts.skipped += 1,
            Verdict::Failed(found) => {
                counts.failed += 1;
                only_environment &= lacks_environment(found);
            }
        }
        for reason in &report.unjudged {
            *counts.unjudged.entry(reason.clone()).or_default() += 1;
        }
        if !matches!(report.verdict, Verdict::Skipped(_)) {
            history.record(&report.case.name, matches!(report.verdict, Verdict::Failed(_)));
        }
        teller.case(&report, &machines, &options);
    });
    let (told, all) =
        (counts.passed + counts.failed + counts.skipped, listing.cases.len() + listing.broken.len());
    if interrupt::requested() {
        output.remark(&format!("interrupted: {told} of {all} tests ended"));
    } else if args.fail_fast && counts.failed > 0 {
        output.remark(&format!("stopped after a failure: {told} of {all} tests ended"));
    } else {
        // A case without a report has lost its thread, so it counts as failed.
        counts.failed += all.saturating_sub(told);
    }
    machine_warnings(&machines, output);
    for (reason, count) in &counts.unjudged {
        let s = if *count == 1 { " was" } else { "s were" };
        output.remark(&format!("{count} assertion{s} skipped: {reason}"));
    }
    if let Some(count) = args.slowest {
        teller.slowest(times, count);
    }
    teller.counts(&counts);
    Ok(match counts.failed {
        0 => broken_files(listing).unwrap_or(Exit::Good),
        _ if only_environment => Exit::Environment,
        _ => Exit::Bad,
    })
}

/// Splits arguments into paths and filters. Existing files and names that look like files are paths; `path::title` is both.
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
