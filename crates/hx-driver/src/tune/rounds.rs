//! Successive halving: measures candidates in rounds, each with more runs than the one before, and drops the clearly slower ones.
//!
//! Candidates are measured in batches, interleaved with the anchor, which is part of every batch. Only the time relative to the
//! anchor of the same batch is compared, so that batches at other clock rates, and those of an earlier interrupted run, compare.

use std::sync::atomic::{AtomicBool, Ordering};

use hx_host::device::LaunchError;

use super::sample::Sample;
use super::store::{Record, Store};

/// The most candidates that one interleaved run measures, so that an interruption loses few of them.
const BATCH: usize = 8;
/// A candidate of the slower half stays if its time is at most this multiple of the best one's.
const CLOSE: f64 = 1.02;
/// A candidate is dropped beyond this multiple of the best time, even from the faster half.
const FAR: f64 = 1.3;
/// The faster half of a round has at least this many candidates, if there are as many.
const FINAL: usize = 3;

/// The time for which a batch is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Effort {
    /// The time of unreported runs, in milliseconds.
    pub(crate) warmup_ms: u32,
    /// The maximal number of reported runs of each work.
    pub(crate) repeats: u32,
    /// The time limit of the reported runs of the whole batch, in milliseconds.
    pub(crate) budget_ms: u32,
}

/// The rounds, in order. A candidate that stays is measured in each of them.
pub(crate) const ROUNDS: [Effort; 4] = [
    Effort { warmup_ms: 50, repeats: 10, budget_ms: 1500 },
    Effort { warmup_ms: 50, repeats: 20, budget_ms: 2000 },
    Effort { warmup_ms: 100, repeats: 50, budget_ms: 3000 },
    Effort { warmup_ms: 100, repeats: 150, budget_ms: 4000 },
];

/// Times works in turns. A GPU does; tests state the times.
pub(crate) trait Measurer {
    /// Times the works of these numbers in one interleaved run, and returns one sample for each, in their order.
    ///
    /// # Errors
    /// If a work does not launch.
    fn time(&mut self, works: &[usize], effort: Effort) -> Result<Vec<Sample>, LaunchError>;
}

/// The works of a race.
#[derive(Clone, Debug)]
pub(crate) struct Field<'f> {
    /// The name of each candidate, which is its key in the store. Work `i` is candidate `i`.
    pub(crate) names: &'f [String],
    /// The candidate that every batch contains.
    pub(crate) anchor: usize,
    /// The work of the baseline, if it is none of the candidates.
    pub(crate) baseline: Option<usize>,
    /// Measure every candidate in every round.
    pub(crate) all: bool,
}

/// The measurement of one candidate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Measured {
    pub(crate) sample: Sample,
    /// Its median divided by that of the anchor in the same batch.
    pub(crate) relative: f64,
    /// The baseline's median divided by that of the anchor in the same batch.
    pub(crate) baseline: Option<f64>,
    /// The last round that measured it, counted from 0.
    pub(crate) round: usize,
    /// Whether that measurement is of an earlier run.
    pub(crate) stored: bool,
}

/// The result of a race.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Raced {
    /// In the order of the candidates.
    pub(crate) measured: Vec<Option<Measured>>,
    /// The baseline's median in microseconds, from the batch of the chosen candidate's last measurement.
    pub(crate) baseline: Option<f64>,
    /// The fastest candidate of the last round.
    pub(crate) chosen: Option<usize>,
    /// Whether the race was stopped before its end.
    pub(crate) stopped: bool,
}

/// A measurement, and the baseline of its batch: the median in microseconds, and that median divided by the anchor's.
#[derive(Clone, Copy)]
struct Entry {
    measured: Measured,
    baseline: Option<(f64, f64)>,
}

/// Measures candidates until the fastest is known. `on_progress` receives the round (from 0), the number of its candidates that are
/// measured, and the number of all of them.
///
/// # Errors
/// If a work does not launch.
pub(crate) fn race(
    field: &Field<'_>,
    measurer: &mut dyn Measurer,
    store: &mut Store,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(usize, usize, usize),
) -> Result<Raced, LaunchError> {
    let mut left: Vec<usize> = (0..field.names.len()).collect();
    let mut last: Vec<Option<Entry>> = vec![None; field.names.len()];
    let mut stopped = false;
    for (round, effort) in ROUNDS.iter().enumerate() {
        let mut of_round: Vec<(usize, Entry)> = left
            .iter()
            .filter_map(|&at| Some((at, stored(store.find(&field.names[at], round)?, round))))
            .collect();
        let known = |at: usize, of: &[(usize, Entry)]| of.iter().any(|(other, _)| *other == at);
        let missing: Vec<usize> =
            left.iter().copied().filter(|&at| at != field.anchor && !known(at, &of_round)).collect();
        // An anchor without competitors is still measured once.
        let alone = missing.is_empty() && left == [field.anchor] && !known(field.anchor, &of_round);
        on_progress(round, left.len() - missing.len(), left.len());
        let batches: Vec<&[usize]> = if alone { vec![&[]] } else { missing.chunks(BATCH).collect() };
        for batch in batches {
            if stop.load(Ordering::Relaxed) {
                stopped = true;
                break;
            }
            let entries = measure(field, batch, round, *effort, measurer)?;
            for (at, entry) in entries {
                store.add(record(field, at, &entry));
                of_round.retain(|(other, _)| *other != at);
                of_round.push((at, entry));
            }
            on_progress(round, of_round.len().min(left.len()), left.len());
        }
        of_round.iter().for_each(|(at, entry)| last[*at] = Some(*entry));
        if stopped {
            break;
        }
        let times: Vec<(usize, f64)> =
            of_round.iter().map(|(at, entry)| (*at, entry.measured.relative)).collect();
        left = if field.all { left } else { kept(&times, field.anchor) };
        if let Some(chosen) = fastest(&times).filter(|_| round + 1 == ROUNDS.len() || left.len() == 1) {
            let baseline = last[chosen].and_then(|entry| entry.baseline).map(|(median, _)| median);
            let measured = last.into_iter().map(|entry| entry.map(|entry| entry.measured)).collect();
            return Ok(Raced { measured, baseline, chosen: Some(chosen), stopped: false });
        }
    }
    let measured = last.into_iter().map(|entry| entry.map(|entry| entry.measured)).collect();
    Ok(Raced { measured, baseline: None, chosen: None, stopped })
}

/// Measures a batch of candidates with the anchor and the baseline. Returns an entry for the anchor and one for each candidate
/// of the batch.
fn measure(
    field: &Field<'_>,
    batch: &[usize],
    round: usize,
    effort: Effort,
    measurer: &mut dyn Measurer,
) -> Result<Vec<(usize, Entry)>, LaunchError> {
    let mut works = vec![field.anchor];
    works.extend_from_slice(batch);
    works.extend(field.baseline);
    let samples = measurer.time(&works, effort)?;
    let anchor = samples.first().map_or(f64::NAN, |sample| sample.median_us);
    let baseline =
        field.baseline.and(samples.last()).map(|sample| (sample.median_us, sample.median_us / anchor));
    let entry = |sample: &Sample| Entry {
        measured: Measured {
            sample: *sample,
            relative: sample.median_us / anchor,
            baseline: baseline.map(|(_, relative)| relative),
            round,
            stored: false,
        },
        baseline,
    };
    let candidates = &works[..=batch.len()];
    Ok(candidates.iter().zip(&samples).map(|(at, sample)| (*at, entry(sample))).collect())
}

fn stored(record: &Record, round: usize) -> Entry {
    let baseline = record.baseline.map(|(_, relative)| relative);
    let measured =
        Measured { sample: record.sample, relative: record.relative, baseline, round, stored: true };
    Entry { measured, baseline: record.baseline }
}

fn record(field: &Field<'_>, at: usize, entry: &Entry) -> Record {
    Record {
        arguments: field.names[at].clone(),
        round: entry.measured.round,
        sample: entry.measured.sample,
        relative: entry.measured.relative,
        baseline: entry.baseline,
    }
}

/// Returns the candidate with the least time. Among equals the first one wins, which has the better estimate.
fn fastest(times: &[(usize, f64)]) -> Option<usize> {
    times.iter().min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0))).map(|(at, _)| *at)
}

/// Returns the candidates of the next round, in order: those of the faster half within [`FAR`], those within [`CLOSE`], and the
/// anchor.
fn kept(times: &[(usize, f64)], anchor: usize) -> Vec<usize> {
    let mut sorted = times.to_vec();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let best = sorted.first().map_or(f64::NAN, |(_, time)| *time);
    let half = sorted.len().div_ceil(2).max(FINAL);
    let stays = |rank: usize, time: f64| time <= best * CLOSE || (rank < half && time <= best * FAR);
    let mut left: Vec<usize> = sorted
        .iter()
        .enumerate()
        .filter(|(rank, (at, time))| *at == anchor || stays(*rank, *time))
        .map(|(_, (at, _))| *at)
        .collect();
    left.sort_unstable();
    left
}
