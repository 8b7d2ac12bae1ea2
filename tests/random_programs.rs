//! Random tile programs agree with a reference. A kernel of loads, products, reductions, casts, transposes and more is compiled
//! and its layouts are verified. Its results on the simulator are compared with those of the same program on whole tensors, in
//! f64. All elements are integers that f64 holds, so the comparison is exact. A program that divides by 0 must be reported.
//!
//! A kernel and its reference are one `.hx` file, so `cargo xtask programs --out FOLDER` writes them for `hx test` on a GPU.
//! `HX_RANDOM_PROGRAMS=N` runs N programs, `HX_RANDOM_SEED=S` others. Start at `draw.rs`, which draws programs, then read
//! `write.rs`.

mod bits;
mod draw;
mod draw_bits;
mod draw_changes;
mod draw_integers;
mod draw_more;
mod draw_places;
mod draw_roles;
mod draw_rows;
mod draw_slices;
mod draw_views;
mod integers;
mod judge;
mod program;
mod shrink;
mod write;
mod write_bits;
mod write_changes;
mod write_integers;
mod write_more;
mod write_places;
mod write_products;
mod write_roles;
mod write_slices;
mod write_views;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hx_target::catalogue;
use judge::{Fault, judge};
use program::Program;
use write::{PARTS, write};

/// Number of programs that a test run tries.
const COUNT: u64 = 150;

/// A run of at least [`MANY`] programs must contain each row of the catalogue, and each draw of integers, at least [`OFTEN`]
/// times. Programs take turns with the requests for rows, and the solver may choose another row than the one requested.
const MANY: u64 = 3000;
const OFTEN: u64 = 5;

/// Rows that no program of the language can request, by prefixes of their names, with the reason.
const BEYOND: &[(&[&str], &str)] = &[
    (
        &["atom.", "red.shared.", "ld.relaxed.", "st.relaxed."],
        "atomic accesses are counted by operation, and the programs have none without arithmetic",
    ),
    (
        &["red.global.min.", "red.global.max.", "red.global.and.", "red.global.or.", "red.global.xor."],
        "atomic accesses are counted by operation",
    ),
    (&["tma.reduce."], "the programs add from registers"),
    (&["launch."], "the programs are launched alone"),
    (
        &["bulk.load", "bulk.store"],
        "runs lie inside of their tensors for certain, and the launch alone knows the extents of the programs' tensors",
    ),
    (&["elect"], "the first thread of a scope does what one thread does"),
    (&["named.arrive"], "the programs have no turns"),
    (&["counter.draw", "ticket.read", "ticket.write"], "the programs have no counters"),
    (&["barrier.arrive.remote", "cluster.sync", "send."], "the programs have no clusters"),
];

/// Number of programs in a hundred that the solver may refuse: pins that contradict each other, and packed elements that other
/// threads read one by one. In a run of 3000 there are 9.
const REFUSED: u64 = 1;

/// Time limit of one program. Most take a tenth of a second; the margin is for slow and busy machines.
const LIMIT: Duration = Duration::from_secs(120);

fn given(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// A failure with its smallest program.
struct Failure {
    case: u64,
    text: String,
    fault: Fault,
}

/// The results and counts of a run.
#[derive(Default)]
struct Seen {
    failures: Vec<Failure>,
    /// Number of programs that use a part of the language, a row of the catalogue, or one of [`integers::draws`].
    parts: BTreeMap<&'static str, u64>,
    rows: BTreeMap<String, u64>,
    draws: BTreeMap<String, u64>,
    slowest: (Duration, u64),
    /// Kinds of refusals, each with its programs.
    refused: BTreeMap<String, Vec<u64>>,
}

#[test]
fn random_programs_agree() {
    let seed = given("HX_RANDOM_SEED").unwrap_or(1);
    let one = given("HX_RANDOM_CASE");
    let count = if one.is_some() { 1 } else { given("HX_RANDOM_PROGRAMS").unwrap_or(COUNT) };
    let first = one.or_else(|| given("HX_RANDOM_FIRST")).unwrap_or(0);
    if let Some(folder) = std::env::var_os("HX_RANDOM_OUT") {
        return write_all(&PathBuf::from(folder), seed, first, count);
    }
    let seen = run(seed, first, count);
    let failures = report(&seen, seed);
    say(&coverage(&seen, seed, count));
    assert!(seen.failures.is_empty(), "{failures}");
    if count >= COUNT {
        let refused: u64 = seen.refused.values().map(|cases| cases.len() as u64).sum();
        assert!(
            refused * 100 <= count * REFUSED,
            "{refused} of {count} programs are refused: {:#?}",
            seen.refused
        );
        let rare = |part: &&&str| seen.parts.get(**part).copied().unwrap_or(0) * 20 < count;
        let rare: Vec<_> = PARTS.iter().filter(rare).collect();
        assert!(rare.is_empty(), "in less than 5 % of the programs: {rare:?}");
    }
    if count >= MANY {
        let rows = too_few(rows_within_reach(), &seen.rows);
        assert!(rows.is_empty(), "rows of the catalogue in less than {OFTEN} programs: {rows:?}");
        let draws = too_few(integers::draws(), &seen.draws);
        assert!(draws.is_empty(), "computed with integers in less than {OFTEN} programs: {draws:?}");
    }
}

/// Returns the names that occurred in fewer than [`OFTEN`] programs, with their counts.
fn too_few(wanted: BTreeSet<String>, seen: &BTreeMap<String, u64>) -> Vec<(u64, String)> {
    let counted = wanted.into_iter().map(|name| (seen.get(&name).copied().unwrap_or(0), name));
    counted.filter(|(count, _)| *count < OFTEN).collect()
}

/// Returns the name of every row of the catalogue, except for products by descriptor: a program asks for none of these.
fn rows() -> BTreeSet<String> {
    let all = catalogue();
    let gemms = all.gemms.iter().filter(|row| !row.is_by_descriptor()).map(|r| r.name.clone());
    let names = all.copies.iter().map(|r| r.name.clone()).chain(gemms);
    let names = names.chain(all.converts.iter().map(|r| r.name.clone()));
    let names = names.chain(all.exchanges.iter().map(|r| r.name.clone()));
    let names = names.chain(all.groups.iter().map(|r| r.name.clone()));
    let names = names.chain(all.bulks.iter().map(|r| r.name.clone()));
    let names = names.chain(all.syncs.iter().map(|r| r.name.clone()));
    names.chain(all.computes.iter().map(|r| format!("{}.{}", r.operator, r.dtype))).collect()
}

/// Returns the rows that a program of the language can request.
fn rows_within_reach() -> BTreeSet<String> {
    let is_beyond =
        |name: &String| BEYOND.iter().any(|(heads, _)| heads.iter().any(|head| name.starts_with(head)));
    rows().into_iter().filter(|name| !is_beyond(name)).collect()
}

/// Equal seeds and numbers give equal programs.
#[test]
fn programs_are_repeatable() {
    for case in 0..20 {
        let [a, b] = [0, 1].map(|_| write(&draw::program(5, case)).text);
        assert_eq!(a, b);
    }
}

/// Number of programs whose candidates are compared with the chosen solution.
const COMPARED: u64 = 24;

/// The chosen solution has the fewest estimated cycles of all listed candidates.
#[test]
fn the_choice_is_the_cheapest_candidate() {
    let count = given("HX_RANDOM_CANDIDATES").unwrap_or(COMPARED);
    let seed = given("HX_RANDOM_SEED").unwrap_or(14);
    let mut compared = 0;
    for case in 0..count {
        let written = write(&draw::program(seed, case));
        let costs = judge::costs(&written);
        let Some((chosen, others)) = costs.split_first() else { continue };
        compared += others.len();
        let cheaper: Vec<&f64> = others.iter().filter(|cost| **cost < chosen * (1.0 - 1e-9)).collect();
        assert!(cheaper.is_empty(), "case {case} of seed {seed} costs {chosen}, others {cheaper:?}");
    }
    assert!(compared > count as usize, "{compared} candidates of {count} programs");
}

/// A failing program is shrunk while it keeps failing.
#[test]
fn failures_become_small() {
    let program = draw::program(1, 3);
    let has = |program: &Program| write(program).text.contains("sum(");
    let with_sum = (0..200).map(|case| draw::program(1, case)).find(has).unwrap_or(program);
    let small = shrink::shrink(&with_sum, has);
    // The rest is a load, the sum, and perhaps a conversion between them.
    assert!(has(&small) && small.kept().count() <= 3, "{}", write(&small).text);
}

fn say(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn write_all(folder: &Path, seed: u64, first: u64, count: u64) {
    std::fs::create_dir_all(folder).expect("the folder can be made");
    for case in first..first + count {
        let written = write(&draw::program(seed, case));
        std::fs::write(folder.join(format!("random_{case}.hx")), written.text).expect("files can be written");
    }
}

fn run(seed: u64, first: u64, count: u64) -> Seen {
    let next = AtomicU64::new(first);
    let seen = Mutex::new(Seen::default());
    let lock = || seen.lock().unwrap_or_else(PoisonError::into_inner);
    let one = given("HX_RANDOM_CASE");
    let jobs = given("HX_RANDOM_JOBS").unwrap_or(2).clamp(1, 64);
    let limit = given("HX_RANDOM_LIMIT").map_or(LIMIT, Duration::from_secs);
    let told = Mutex::new(Instant::now());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    if case >= first + count {
                        return;
                    }
                    let program = draw::program(seed, case);
                    let written = write(&program);
                    let judged = judge(&written, limit);
                    // Refusals are shown in full only for a single requested program.
                    let (refused, fault) = match judged.fault {
                        Some(fault) if fault.is_refusal() && one.is_none() => (Some(fault.kind), None),
                        fault => (None, fault),
                    };
                    let failure = fault.map(|fault| smallest(case, &program, fault, limit));
                    let mut seen = lock();
                    refused.into_iter().for_each(|kind| seen.refused.entry(kind).or_default().push(case));
                    written.parts.iter().for_each(|part| *seen.parts.entry(part).or_default() += 1);
                    judged.rows.into_iter().for_each(|row| *seen.rows.entry(row).or_default() += 1);
                    written.draws.into_iter().for_each(|name| *seen.draws.entry(name).or_default() += 1);
                    seen.slowest = seen.slowest.max((judged.time, case));
                    if let Some(failure) = &failure {
                        say(&format!("case {case}: {}", failure.fault.kind));
                    }
                    seen.failures.extend(failure);
                    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
                    if told.elapsed() > Duration::from_secs(30) {
                        *told = Instant::now();
                        say(&format!("{} programs, {} failures", case - first, seen.failures.len()));
                    }
                }
            });
        }
    });
    seen.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn smallest(case: u64, program: &Program, fault: Fault, limit: Duration) -> Failure {
    let mut tries = 60;
    let fails = |program: &Program| {
        tries -= 1;
        tries > 0 && judge(&write(program), limit).fault.is_some_and(|found| found.kind == fault.kind)
    };
    // Do not shrink a program that hangs: each try would leave a busy thread behind.
    let small = if fault.kind == "does not end" { program.clone() } else { shrink::shrink(program, fails) };
    let written = write(&small);
    let fault = judge(&written, limit).fault.unwrap_or(fault);
    Failure { case, text: written.text, fault }
}

fn report(seen: &Seen, seed: u64) -> String {
    let mut text = String::new();
    for Failure { case, text: program, fault } in &seen.failures {
        let _ = writeln!(text, "case {case}: {}\n{}\n{program}", fault.kind, fault.details);
        let _ = writeln!(text, "again: cargo xtask programs --seed {seed} --case {case}\n");
    }
    text
}

/// Formats the counts of each part of the language and of each row of the catalogue.
fn coverage(seen: &Seen, seed: u64, count: u64) -> String {
    let (time, case) = seen.slowest;
    let mut text = format!("random programs: {count} from seed {seed}, {} failures", seen.failures.len());
    let _ = writeln!(text, "; the slowest is {case}, {} ms", time.as_millis());
    for (kind, cases) in &seen.refused {
        let first: Vec<String> = cases.iter().take(5).map(u64::to_string).collect();
        let _ = writeln!(text, "refused {}: {kind}, as {}", cases.len(), first.join(", "));
    }
    let (names, within_reach) = (rows(), rows_within_reach());
    if count >= COUNT {
        let parts: Vec<String> = PARTS
            .iter()
            .map(|part| format!("{part} {}", seen.parts.get(part).copied().unwrap_or(0)))
            .collect();
        let _ = writeln!(text, "parts: {}", parts.join(", "));
        let count = |name: &String| seen.rows.get(name).copied().unwrap_or(0);
        let never = within_reach.iter().filter(|name| count(name) == 0);
        let never: Vec<&str> = never.map(String::as_str).collect();
        let seldom = names.iter().filter(|name| (1..OFTEN).contains(&count(name)));
        let seldom: Vec<String> = seldom.map(|name| format!("{name} {}", count(name))).collect();
        let often = names.iter().filter(|name| count(name) >= OFTEN).count();
        let _ = writeln!(
            text,
            "rows: {often} of {} at least {OFTEN} times; seldom: {}; never: {}",
            names.len(),
            seldom.join(", "),
            never.join(", ")
        );
        let draws: Vec<String> = too_few(integers::draws(), &seen.draws)
            .into_iter()
            .map(|(n, name)| format!("{name} {n}"))
            .collect();
        let of = integers::draws().len();
        let _ = writeln!(
            text,
            "integers: {} of {of} draws at least {OFTEN} times; seldom: {}",
            of - draws.len(),
            draws.join(", ")
        );
        for (heads, reason) in BEYOND {
            let those = names.iter().filter(|name| heads.iter().any(|head| name.starts_with(head)));
            let those: Vec<&str> = those.map(String::as_str).collect();
            let _ = writeln!(text, "out of reach, as {reason}: {}", those.join(", "));
        }
    }
    if count >= MANY {
        let rows: Vec<String> = seen.rows.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let _ = writeln!(text, "{}", rows.join(", "));
    }
    text
}
