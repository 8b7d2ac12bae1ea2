//! Halving and storage without a GPU: the times are stated.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use expect_test::{Expect, expect};
use hx_host::device::LaunchError;

use super::rounds::{Effort, Field, Measurer, Raced, race};
use super::sample::Sample;
use super::shape::parse_shape;
use super::store::{Key, Record, Store};

/// States the time of each work, and writes down what is measured.
struct Stated<'s> {
    times: Vec<f64>,
    log: String,
    /// Stops the run at the end of this batch.
    stop: Option<(usize, &'s AtomicBool)>,
    batches: Cell<usize>,
    /// The clock slows by this factor with each batch.
    slower: f64,
}

impl Stated<'_> {
    fn of(times: &[f64]) -> Stated<'static> {
        Stated { times: times.to_vec(), log: String::new(), stop: None, batches: Cell::new(0), slower: 1.0 }
    }
}

impl Measurer for Stated<'_> {
    fn time(&mut self, works: &[usize], effort: Effort) -> Result<Vec<Sample>, LaunchError> {
        let batch = self.batches.replace(self.batches.get() + 1);
        self.log += &format!("{} runs of {works:?}\n", effort.repeats);
        if let Some((last, stop)) = self.stop {
            stop.store(batch >= last, Ordering::Relaxed);
        }
        let clock = self.slower.powi(batch as i32);
        let sample = |work: &usize| {
            let median_us = self.times[*work] * clock;
            Sample { median_us, low_us: median_us, high_us: median_us, runs: effort.repeats as usize }
        };
        Ok(works.iter().map(sample).collect())
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("N = {at}")).collect()
}

fn run(stated: &mut Stated<'_>, candidates: usize, store: &mut Store, stop: &AtomicBool) -> Raced {
    let names = names(candidates);
    let baseline = (stated.times.len() > candidates).then_some(candidates);
    let field = Field { names: &names, anchor: 0, baseline, all: false };
    race(&field, stated, store, stop, &mut |_, _, _| {}).expect("stated times do not fail")
}

fn check(times: &[f64], candidates: usize, want: Expect) {
    let mut stated = Stated::of(times);
    let raced = run(&mut stated, candidates, &mut Store::in_memory(), &AtomicBool::new(false));
    let rounds: Vec<_> = raced.measured.iter().map(|m| m.map_or(0, |m| m.round + 1)).collect();
    let text = format!(
        "{}chosen {:?}, rounds {rounds:?}, baseline {:?}\n",
        stated.log, raced.chosen, raced.baseline
    );
    want.assert_eq(&text);
}

#[test]
fn the_slower_half_is_dropped_unless_it_is_close() {
    check(
        &[100.0, 80.0, 90.0, 81.0, 200.0, 95.0, 81.5, 120.0],
        8,
        expect![[r#"
            10 runs of [0, 1, 2, 3, 4, 5, 6, 7]
            20 runs of [0, 1, 2, 3, 6]
            50 runs of [0, 1, 3, 6]
            150 runs of [0, 1, 3, 6]
            chosen Some(1), rounds [4, 4, 2, 4, 1, 1, 4, 1], baseline None
        "#]],
    );
}

#[test]
fn every_batch_has_the_anchor_and_the_baseline() {
    let mut times: Vec<f64> = (0..18).map(|at| 100.0 + f64::from(at)).collect();
    times.push(50.0);
    check(
        &times,
        18,
        expect![[r#"
            10 runs of [0, 1, 2, 3, 4, 5, 6, 7, 8, 18]
            10 runs of [0, 9, 10, 11, 12, 13, 14, 15, 16, 18]
            10 runs of [0, 17, 18]
            20 runs of [0, 1, 2, 3, 4, 5, 6, 7, 8, 18]
            50 runs of [0, 1, 2, 3, 4, 18]
            150 runs of [0, 1, 2, 18]
            chosen Some(0), rounds [4, 4, 4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1], baseline Some(50.0)
        "#]],
    );
}

#[test]
fn an_anchor_alone_is_measured() {
    check(
        &[10.0, 20.0],
        1,
        expect![[r#"
            10 runs of [0, 1]
            chosen Some(0), rounds [1], baseline Some(20.0)
        "#]],
    );
}

#[test]
fn batches_at_other_clocks_compare() {
    // 17 candidates take three batches. Without the anchor the slower clock of the last would decide.
    let mut times = vec![100.0; 17];
    times[16] = 99.0;
    let mut stated = Stated { slower: 1.5, ..Stated::of(&times) };
    let raced = run(&mut stated, 17, &mut Store::in_memory(), &AtomicBool::new(false));
    assert_eq!(raced.chosen, Some(16));
}

fn key() -> Key {
    let text = |text: &str| text.to_owned();
    Key {
        hx: text("0"),
        device: text("G"),
        driver: text("13.0"),
        kernel: text("k.hx::k"),
        text: text("ab"),
        shape: text("m = 4"),
        anchor: text("N = 0"),
        baseline: text("defaults"),
        memory: text("cold"),
    }
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let cache = tempfile::tempdir().expect("a folder");
    let times: Vec<f64> = (0..12).map(|at| 100.0 - f64::from(at)).collect();
    let open = |fresh| Store::open(cache.path(), &key(), fresh).expect("writable");
    let stop = AtomicBool::new(false);
    let mut first = Stated { stop: Some((0, &stop)), ..Stated::of(&times) };
    let raced = run(&mut first, 12, &mut open(false), &stop);
    assert!(raced.stopped && raced.chosen.is_none());
    stop.store(false, Ordering::Relaxed);
    let mut second = Stated::of(&times);
    let raced = run(&mut second, 12, &mut open(false), &stop);
    assert_eq!(raced.chosen, Some(11));
    expect![[r#"
        first:
        10 runs of [0, 1, 2, 3, 4, 5, 6, 7, 8]
        second:
        10 runs of [0, 9, 10, 11]
        20 runs of [0, 6, 7, 8, 9, 10, 11]
        50 runs of [0, 8, 9, 10, 11]
        150 runs of [0, 9, 10, 11]
    "#]]
    .assert_eq(&format!("first:\n{}second:\n{}", first.log, second.log));
    // A finished run measures nothing again, and finds the same.
    let mut third = Stated::of(&times);
    let raced = run(&mut third, 12, &mut open(false), &stop);
    assert_eq!((raced.chosen, third.log.as_str()), (Some(11), ""));
    assert!(raced.measured.iter().flatten().all(|measured| measured.stored));
    // With `--fresh` the earlier results are removed, so everything is measured again.
    let mut fresh = Stated::of(&times);
    run(&mut fresh, 12, &mut open(true), &stop);
    assert!(!fresh.log.is_empty());
}

fn record(name: &str, median_us: f64) -> Record {
    let sample = Sample { median_us, low_us: median_us, high_us: median_us, runs: 3 };
    Record { arguments: name.to_owned(), round: 0, sample, relative: 1.0, baseline: None }
}

#[test]
fn runs_at_the_same_time_append_to_one_file() {
    let cache = tempfile::tempdir().expect("a folder");
    let open = || Store::open(cache.path(), &key(), false).expect("writable");
    let (mut a, mut b) = (open(), open());
    for at in 0..20 {
        a.add(record(&format!("a{at}"), 1.0));
        b.add(record(&format!("b{at}"), 2.0));
    }
    assert_eq!(open().len(), 40);
    // Of two lines about the same measurement, the later one counts.
    b.add(record("a0", 9.0));
    assert_eq!(open().find("a0", 0).map(|r| r.sample.median_us), Some(9.0));
    // Another key has another file, or replaces one of the same hash.
    let other =
        Store::open(cache.path(), &Key { driver: "14.0".to_owned(), ..key() }, false).expect("writable");
    assert_eq!(other.len(), 0);
}

#[test]
fn a_line_that_was_cut_off_is_not_read() {
    let cache = tempfile::tempdir().expect("a folder");
    let open = || Store::open(cache.path(), &key(), false).expect("writable");
    open().add(record("a", 1.0));
    let file = std::fs::read_dir(cache.path().join("tune"))
        .expect("a folder")
        .next()
        .expect("a file")
        .expect("readable");
    let text = std::fs::read_to_string(file.path()).expect("readable");
    std::fs::write(file.path(), format!("{text}{{\"arguments\":\"b\",")).expect("writable");
    open().add(record("c", 3.0));
    let again = open();
    assert!(again.find("a", 0).is_some() && again.find("b", 0).is_none() && again.find("c", 0).is_some());
    Store::clear(cache.path()).expect("removable");
    assert_eq!(open().len(), 0);
}

#[test]
fn shapes_as_written() {
    let shown = |text: &str| match parse_shape(text) {
        Ok(values) => {
            values.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("; ")
        }
        Err(reason) => reason,
    };
    expect!["m: 4096; T: bf16; scale: 0.5"].assert_eq(&shown("m=4096, T=bf16,scale=0.5"));
    expect!["found ``, expected `NAME=VALUE`"].assert_eq(&shown("m=1,"));
    expect!["`m` is given twice"].assert_eq(&shown("m=1,m=2"));
}
