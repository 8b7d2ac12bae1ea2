//! Mutants of kernels with pipelines, roles or asynchronous products: each statement of synchronization is deleted, weakened by one,
//! or moved by one. A mutant is an error of `hx check`, or it is shown to be harmless: its launches are followed in all orders of
//! their events (`hx_sync::protocol::orders`), and the tests of its file pass on the simulator in several orders. A mutant that is
//! neither is missed, and one with a warning that its pipelines were not checked is missed, too.
//!
//! A normal test run judges a few mutants of each kernel. `cargo xtask mutants --every 1` judges all of them and prints the table.

mod judge;
mod mutate;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use expect_test::expect;

use crate::support::root;
use judge::{Judge, Verdict};
use mutate::{Mutant, mutants};

/// The folders of the kernels, each with its files.
const FOLDERS: &[&str] = &["std", "tests/kernels_sm_90a", "tests/mutants/kernels"];

/// A normal test run judges each mutant whose number is a multiple of this; `HX_MUTANTS_EVERY` replaces the number.
const SPARSE: usize = 97;

/// The row of a kernel in the table.
#[derive(Default)]
struct Row {
    mutants: usize,
    errors: usize,
    /// Mutants that are no programs any more: a name is used before its definition.
    broken: usize,
    harmless: usize,
    missed: Vec<String>,
}

/// Returns the files, ordered by name.
fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        let entries = std::fs::read_dir(root().join(folder)).expect("the folder is there");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|e| e == "hx")).collect();
        paths.sort();
        files.extend(paths);
    }
    files
}

#[test]
fn mutants_are_errors_or_harmless() {
    let every = std::env::var("HX_MUTANTS_EVERY").ok().and_then(|number| number.parse().ok());
    let wanted = std::env::var("HX_MUTANTS_OF").unwrap_or_default();
    let shows = every.is_some() || !wanted.is_empty();
    let mut work: Vec<(PathBuf, Mutant)> = Vec::new();
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("a text");
        let is_wanted = |mutant: &Mutant| mutant.kernel.contains(&wanted);
        work.extend(mutants(&text).into_iter().filter(is_wanted).map(|mutant| (path.clone(), mutant)));
    }
    let every = every.unwrap_or(if wanted.is_empty() { SPARSE } else { 1 });
    work = work.into_iter().step_by(every.max(1)).collect();
    let rows = judged(&work, shows);
    let mut table = String::new();
    let mut sum = Row::default();
    for (kernel, row) in &rows {
        let Row { mutants, errors, broken, harmless, missed } = row;
        let missed = missed.len();
        writeln!(table, "{kernel:<42} {mutants:>4} {errors:>4} {broken:>4} {harmless:>4} {missed:>4}")
            .expect("a text");
        sum.mutants += mutants;
        sum.errors += errors;
        sum.broken += broken;
        sum.harmless += harmless;
        sum.missed.extend(row.missed.iter().cloned());
    }
    let missed = sum.missed.join("\n");
    if shows {
        println!("{:<42} {:>4} {:>4} {:>4} {:>4} {:>4}", "kernel", "all", "err", "none", "safe", "miss");
        let (all, errors, broken, harmless) = (sum.mutants, sum.errors, sum.broken, sum.harmless);
        println!("{table}{:<42} {all:>4} {errors:>4} {broken:>4} {harmless:>4} {:>4}", "", sum.missed.len());
        println!("{missed}");
    }
    assert!(sum.mutants > 0, "no kernel has mutants");
    expect![[""]].assert_eq(&missed);
}

/// Judges the mutants on as many threads as there are cores. Returns the rows by file and kernel, in the order of the work.
/// With `shows`, prints the missed ones as they are found.
fn judged(work: &[(PathBuf, Mutant)], shows: bool) -> Vec<(String, Row)> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Verdict)>> = Mutex::new(Vec::new());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let mut judge = Judge::default();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((path, mutant)) = work.get(at) else { break };
                    let verdict = judge.judge(path, mutant);
                    if let (true, Verdict::Missed(why)) = (shows, &verdict) {
                        println!("{at} of {}: {}: {why}", work.len(), named(path, mutant));
                    }
                    found.lock().unwrap_or_else(PoisonError::into_inner).push((at, verdict));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(at, _)| *at);
    let mut rows: Vec<(String, Row)> = Vec::new();
    for (at, verdict) in found {
        let (path, mutant) = &work[at];
        let name = format!("{}::{}", shown(path), mutant.kernel);
        if rows.last().is_none_or(|(last, _)| *last != name) {
            rows.push((name, Row::default()));
        }
        let Some((_, row)) = rows.last_mut() else { continue };
        row.mutants += 1;
        match verdict {
            Verdict::Error => row.errors += 1,
            Verdict::Broken => row.broken += 1,
            Verdict::Harmless => row.harmless += 1,
            Verdict::Missed(why) => row.missed.push(format!("{}: {why}", named(path, mutant))),
        }
    }
    rows
}

fn named(path: &Path, mutant: &Mutant) -> String {
    format!("{}::{}:{}: {}", shown(path), mutant.kernel, mutant.line, mutant.change)
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
