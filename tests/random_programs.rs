//! Random programs agree with a reference. `hx check` must find nothing in a program, its layouts are verified, and its results on
//! the simulator are compared, in several orders of events, with those of the same program on whole tensors in f64. All elements are
//! integers that f64 holds, so the comparison is exact.
//!
//! A program of tiles is a kernel of loads, products, reductions, casts, transposes and more; one that divides by 0 must be reported.
//! A program of tasks (`tasks.rs`) has threads, blocks and launches that hand tiles to each other.
//!
//! A kernel and its reference are one `.hx` file, so `cargo xtask programs --out FOLDER` writes them for `hx test` on a GPU.
//! `HX_RANDOM_PROGRAMS=N` runs N programs, `HX_RANDOM_SEED=S` others. Start at `draw.rs`, which draws programs, then read
//! `write.rs`.

mod bits;
mod coverage;
mod draw;
mod draw_bits;
mod draw_changes;
mod draw_integers;
mod draw_more;
mod draw_places;
mod draw_products;
mod draw_roles;
mod draw_rows;
mod draw_slices;
mod draw_views;
mod integers;
mod judge;
mod program;
mod shrink;
mod tasks;
mod write;
mod write_bits;
mod write_changes;
mod write_expressions;
mod write_integers;
mod write_more;
mod write_places;
mod write_products;
mod write_roles;
mod write_slices;
mod write_views;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use coverage::{BEYOND, TASK_PARTS, rows, too_few, within_reach};
use judge::{Fault, judge};
use program::Program;
use tasks::{Family, Tasks};
use write::{PARTS, Written, write};

/// Number of programs that a test run tries: two of each turn.
const COUNT: u64 = 2 * TURNS.len() as u64;

/// A run of at least this many programs tells how often each row of the catalogue and each part of the language occurs, and
/// needs each part for tiles in 4 of 100 programs.
const SOME: u64 = 150;

/// A run of at least [`MANY`] programs must contain each row of the catalogue at least [`OFTEN`] times, and each draw of integers and each
/// part of tasks at least [`SELDOM`] times. Programs take turns with the requests for rows, and the solver may choose another row than the
/// one requested.
const MANY: u64 = 3000;
const OFTEN: u64 = 10;
const SELDOM: u64 = 3;

/// The families of programs in the order in which they take turns; `None` for a program of tiles.
const TURNS: &[Option<Family>] = &[
    None,
    Some(Family::Products),
    None,
    Some(Family::Atomics),
    None,
    Some(Family::Streams),
    None,
    Some(Family::Products),
    None,
    Some(Family::Clusters),
    None,
    Some(Family::Products),
    None,
    Some(Family::Chains),
    None,
    Some(Family::Products),
    None,
    Some(Family::Atomics),
    Some(Family::Attend),
    Some(Family::Parts),
    Some(Family::Runs),
    Some(Family::Rows),
];

/// Number of programs in a hundred that the solver may refuse: pins that contradict each other, and packed elements that other
/// threads read one by one. In a run of 3000 there are 36.
const REFUSED: u64 = 2;

/// Number of programs in a hundred for which `hx check` may warn that it did not follow their pipelines: most often because the end of a
/// part is a number from memory. In a run of 500 there are 6.
const UNCHECKED: u64 = 2;

/// Time limit of one program. Most take a tenth of a second; the margin is for slow and busy machines.
const LIMIT: Duration = Duration::from_secs(600);

fn given(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// A drawn program.
#[derive(Clone)]
enum Drawn {
    Tiles(Program),
    Tasks(Tasks),
}

impl Drawn {
    /// Draws program number `case` of a seed. `HX_RANDOM_FAMILY` names the family of all programs.
    fn new(seed: u64, case: u64) -> Drawn {
        if let Some(only) = std::env::var_os("HX_RANDOM_FAMILY") {
            let named = TURNS.iter().flatten().find(|family| only == family.name());
            assert!(named.is_some() || only == "tiles", "there is no family {only:?}");
            return match named {
                Some(family) => Drawn::Tasks(Tasks::drawn(*family, (seed, case, case))),
                None => Drawn::Tiles(draw::program(seed, case, case)),
            };
        }
        let (round, at) = (case / TURNS.len() as u64, (case % TURNS.len() as u64) as usize);
        let family = TURNS[at];
        let alike = |turns: &[Option<Family>]| turns.iter().filter(|turn| **turn == family).count() as u64;
        let turn = round * alike(TURNS) + alike(&TURNS[..at]);
        match family {
            None => Drawn::Tiles(draw::program(seed, case, turn)),
            Some(family) => Drawn::Tasks(Tasks::drawn(family, (seed, case, turn))),
        }
    }

    fn write(&self) -> Written {
        match self {
            Drawn::Tiles(program) => write(program),
            Drawn::Tasks(tasks) => tasks.write(),
        }
    }

    /// Returns the smallest program found that still fails.
    fn shrunk(&self, mut fails: impl FnMut(&Drawn) -> bool) -> Drawn {
        match self {
            Drawn::Tiles(program) => {
                Drawn::Tiles(shrink::shrink(program, |smaller| fails(&Drawn::Tiles(smaller.clone()))))
            }
            Drawn::Tasks(tasks) => {
                let with = |taken: &[usize]| Tasks { taken: taken.to_vec(), ..tasks.clone() };
                let taken = tasks::choices::shrink(tasks.taken.clone(), |t| fails(&Drawn::Tasks(with(t))));
                Drawn::Tasks(with(&taken))
            }
        }
    }
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
    /// Kinds of warnings that pipelines are not checked, each with its programs.
    unchecked: BTreeMap<String, Vec<u64>>,
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
    if count >= SOME {
        let tiles = count * TURNS.iter().filter(|turn| turn.is_none()).count() as u64 / TURNS.len() as u64;
        for (what, kinds, most) in
            [("refused", &seen.refused, REFUSED), ("not checked", &seen.unchecked, UNCHECKED)]
        {
            let those: u64 = kinds.values().map(|cases| cases.len() as u64).sum();
            assert!(those * 100 <= count * most, "{those} of {count} programs are {what}: {kinds:#?}");
        }
        let rare = |part: &&&str| seen.parts.get(**part).copied().unwrap_or(0) * 40 < tiles;
        let rare: Vec<_> = PARTS.iter().filter(rare).collect();
        assert!(rare.is_empty(), "in less than 2.5 % of the programs: {rare:?}");
    }
    if count >= MANY {
        let rows = too_few(within_reach(), &seen.rows, OFTEN);
        assert!(rows.is_empty(), "rows of the catalogue in less than {OFTEN} programs: {rows:?}");
        let often = |name: &&str| seen.rows.get(*name).is_some_and(|count| *count >= OFTEN);
        let reached: Vec<&str> = BEYOND.iter().map(|(name, _)| *name).filter(often).collect();
        assert!(reached.is_empty(), "rows that are said to be out of reach: {reached:?}");
        let times = |part: &str| seen.parts.get(part).copied().unwrap_or(0);
        let rare: Vec<_> = TASK_PARTS.iter().filter(|part| times(part) < SELDOM).collect();
        assert!(rare.is_empty(), "parts of the language in less than {SELDOM} programs: {rare:?}");
        let is_new = |part: &&&str| !PARTS.contains(*part) && !TASK_PARTS.contains(*part);
        let new: Vec<_> = seen.parts.keys().filter(is_new).collect();
        assert!(new.is_empty(), "parts that no list names: {new:?}");
        let draws = too_few(integers::draws(), &seen.draws, SELDOM);
        assert!(draws.is_empty(), "computed with integers in less than {SELDOM} programs: {draws:?}");
    }
}

/// Equal seeds and numbers give equal programs.
#[test]
fn programs_are_repeatable() {
    for case in 0..20 {
        let [a, b] = [0, 1].map(|_| Drawn::new(5, case).write().text);
        assert_eq!(a, b);
    }
}

/// Number of programs whose candidates are compared with the chosen solution.
const COMPARED: u64 = 24;

/// The part of the estimated cycles by which a listed candidate may be cheaper than the chosen solution. The search ends before it has tried
/// everything: of 240 programs, one had a candidate that was cheaper by 0.5 %, and two had one that was cheaper by less than 0.01 %.
const MISSED: f64 = 0.01;

/// No listed candidate has much fewer estimated cycles than the chosen solution.
#[test]
fn the_choice_is_about_the_cheapest_candidate() {
    let count = given("HX_RANDOM_CANDIDATES").unwrap_or(COMPARED);
    let seed = given("HX_RANDOM_SEED").unwrap_or(14);
    let mut compared = 0;
    for case in 0..count {
        let written = write(&draw::program(seed, case, case));
        let costs = judge::costs(&written);
        let Some((chosen, others)) = costs.split_first() else { continue };
        compared += others.len();
        let cheaper: Vec<&f64> = others.iter().filter(|cost| **cost < chosen * (1.0 - MISSED)).collect();
        assert!(
            cheaper.is_empty(),
            "case {case} of seed {seed} costs {chosen}, others {cheaper:?}:\n{}",
            written.text
        );
    }
    assert!(compared > count as usize, "{compared} candidates of {count} programs");
}

/// A failing program is shrunk while it keeps failing.
#[test]
fn failures_become_small() {
    let has = |program: &Program| write(program).text.contains("sum(");
    let with_sum = (0..200).map(|case| draw::program(1, case, case)).filter(has);
    let all_small: Vec<Program> = with_sum.take(5).map(|program| shrink::shrink(&program, has)).collect();
    let small = all_small.iter().min_by_key(|small| small.kept().count()).expect("a program with a sum");
    // The rest is a load or two, the sum, and perhaps a conversion or a product between them.
    assert!(all_small.iter().all(has) && small.kept().count() <= 4, "{}", write(small).text);
}

fn say(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Writes the programs that a GPU can judge: it does not report a division by 0.
fn write_all(folder: &Path, seed: u64, first: u64, count: u64) {
    std::fs::create_dir_all(folder).expect("the folder can be made");
    for case in first..first + count {
        let written = Drawn::new(seed, case).write();
        if written.divides_by_zero {
            continue;
        }
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
                    let program = Drawn::new(seed, case);
                    let written = program.write();
                    let judged = judge(&written, limit);
                    // Refusals are shown in full only for a single requested program.
                    let (refused, fault) = match judged.fault {
                        Some(fault) if fault.is_refusal() && one.is_none() => (Some(fault.kind), None),
                        fault => (None, fault),
                    };
                    let failure = fault.map(|fault| smallest(case, &program, fault, limit));
                    let mut seen = lock();
                    refused.into_iter().for_each(|kind| seen.refused.entry(kind).or_default().push(case));
                    let unchecked = judged.unchecked.into_iter();
                    unchecked.for_each(|open| seen.unchecked.entry(open.kind).or_default().push(case));
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

fn smallest(case: u64, program: &Drawn, fault: Fault, limit: Duration) -> Failure {
    let mut tries = 200;
    let fails = |program: &Drawn| {
        tries -= 1;
        tries > 0 && judge(&program.write(), limit).fault.is_some_and(|found| found.kind == fault.kind)
    };
    // Do not shrink a program that hangs: each try would leave a busy thread behind.
    let small = if fault.kind == "does not end" { program.clone() } else { program.shrunk(fails) };
    let written = small.write();
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
    for (what, kinds) in [("refused", &seen.refused), ("not checked", &seen.unchecked)] {
        for (kind, cases) in kinds {
            let first: Vec<String> = cases.iter().take(5).map(u64::to_string).collect();
            let _ = writeln!(text, "{what} {}: {kind}, as {}", cases.len(), first.join(", "));
        }
    }
    let (names, within_reach) = (rows(), within_reach());
    if count >= SOME {
        let parts: Vec<String> = PARTS
            .iter()
            .chain(TASK_PARTS)
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
        let draws: Vec<String> = too_few(integers::draws(), &seen.draws, SELDOM)
            .into_iter()
            .map(|(n, name)| format!("{name} {n}"))
            .collect();
        let of = integers::draws().len();
        let _ = writeln!(
            text,
            "integers: {} of {of} draws at least {SELDOM} times; seldom: {}",
            of - draws.len(),
            draws.join(", ")
        );
        for (name, reason) in BEYOND {
            let _ = writeln!(text, "out of reach: {name}: {reason}");
        }
    }
    if count >= SOME {
        let rows: Vec<String> = seen.rows.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let _ = writeln!(text, "{}", rows.join(", "));
    }
    text
}
