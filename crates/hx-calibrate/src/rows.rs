//! The numbers of the cost model's file that probes measure, each with the fit that gives it.

use hx_target::{Space, Target};

use crate::probe::{Blocks, Results};
use crate::{barriers, boxes, clusters, global, products, shared};

/// A number of the cost model's file, with its fit.
#[derive(Debug)]
pub struct Row {
    /// The key in the file, a field of [`hx_target::Costs`].
    pub key: &'static str,
    /// The meaning, as sentences of the file.
    pub meaning: &'static str,
    /// The probes that the fit reads.
    pub probes: Vec<String>,
    fit: fn(&Results, Target) -> Option<f64>,
}

impl Row {
    /// Returns the number, rounded to three digits after the point; `None` if its probes have not run or give no finite number.
    pub fn value(&self, results: &Results, target: Target) -> Option<f64> {
        let value = (self.fit)(results, target)?;
        value.is_finite().then_some((value * 1e3).round() / 1e3)
    }
}

/// The columns of the products that are waited for one by one.
const WAITED: [i64; 3] = [64, 128, 256];

/// Returns the offset and the slope of the line with the least squares through points; `None` without two different x.
pub(crate) fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let square: f64 = points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
    let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / square;
    (points.len() > 1 && square > 0.0).then_some((y - slope * x, slope))
}

fn barrier(results: &Results) -> Option<(f64, f64)> {
    let points: Option<Vec<(f64, f64)>> = barriers::WARPS
        .iter()
        .map(|warps| Some((f64::from(*warps), results.get(&barriers::block_name(*warps))?)))
        .collect();
    line(&points?)
}

fn meeting_of(results: &Results, values: u32) -> Option<f64> {
    results.get(&shared::meeting_name(8, values))
}

fn meeting_value(results: &Results) -> Option<f64> {
    Some((meeting_of(results, 4)? - meeting_of(results, 1)?) / 3.0)
}

fn loads(target: Target) -> Option<String> {
    let row = global::widest(Space::Global, Space::Register, target)?;
    Some(global::bytes_name(row, Blocks::All))
}

/// Returns the rows of all numbers that probes measure on a target.
pub fn rows(target: Target) -> Vec<Row> {
    let barriers_of = || barriers::WARPS.iter().map(|warps| barriers::block_name(*warps)).collect::<Vec<_>>();
    let meetings = || vec![shared::meeting_name(8, 1), shared::meeting_name(8, 4)];
    vec![
        Row {
            key: "barrier",
            meaning: "A barrier of the block, without the part for each warp: the line through barriers of 4, 8, 16 and 32 warps.",
            probes: barriers_of(),
            fit: |results, _| Some(barrier(results)?.0),
        },
        Row {
            key: "barrier_warp",
            meaning: "A barrier of the block for each of its warps: the slope of the same line.",
            probes: barriers_of(),
            fit: |results, _| Some(barrier(results)?.1),
        },
        Row {
            key: "meeting",
            meaning: "From the store of a partial result to shared memory until other warps have it, without the two barriers.",
            probes: meetings(),
            fit: |results, _| {
                let (fixed, warp) = barrier(results)?;
                Some(meeting_of(results, 1)? - meeting_value(results)? - 2.0 * (fixed + 8.0 * warp))
            },
        },
        Row {
            key: "meeting_value",
            meaning: "From the store of a partial result until other warps have it, for each further result.",
            probes: meetings(),
            fit: |results, _| meeting_value(results),
        },
        Row {
            key: "global_bytes",
            meaning: "Bytes that a multiprocessor moves from the L2 cache in a cycle while all multiprocessors do.",
            probes: loads(target).into_iter().collect(),
            fit: |results, target| results.get(&loads(target)?),
        },
        Row {
            key: "box_bytes",
            meaning: "Bytes that bulk copies bring to a multiprocessor in a cycle while those of all multiprocessors do, in boxes of 16 KiB of which each is read by 12 blocks at the same time, as the tiles of a product are.",
            probes: vec![boxes::shared_name(boxes::READERS)],
            fit: |results, _| results.get(&boxes::shared_name(boxes::READERS)),
        },
        Row {
            key: "box_latency",
            meaning: "From the issue of a bulk copy until its thread sees its bytes, beyond the latency of a load from the L2 cache.",
            probes: vec![boxes::LATENCY.to_owned(), global::LATENCY.to_owned()],
            fit: |results, _| Some(results.get(boxes::LATENCY)? - results.get(global::LATENCY)?),
        },
        Row {
            key: "box_issue",
            meaning: "The cycles in which one thread issues a bulk copy.",
            probes: vec![boxes::ISSUE.to_owned()],
            fit: |results, _| results.get(boxes::ISSUE),
        },
        Row {
            key: "product_latency",
            meaning: "From the end of the last product of a group by descriptor until a wait for it returns, with the fence and the commit: a product that is waited for, without n/2.",
            probes: WAITED.map(products::latency_name).to_vec(),
            fit: |results, _| {
                let rest = WAITED.map(|n| Some(results.get(&products::latency_name(n))? - n as f64 / 2.0));
                let rest: Option<Vec<f64>> = rest.into_iter().collect();
                rest.map(|rest| rest.iter().sum::<f64>() / rest.len() as f64)
            },
        },
        Row {
            key: "product_least",
            meaning: "The least cycles of a product by descriptor: one with few columns and A in registers.",
            probes: vec![products::name(8, true)],
            fit: |results, _| results.get(&products::name(8, true)),
        },
        Row {
            key: "stage_wait",
            meaning: "A wait for a stage that is complete, or an acquisition of one that is free.",
            probes: vec![barriers::READY.to_owned()],
            fit: |results, _| results.get(barriers::READY),
        },
        Row {
            key: "stage_arrive",
            meaning: "An arrival at the barrier of a stage: a release, or the expectation of bytes.",
            probes: vec![barriers::ARRIVE.to_owned(), barriers::EXPECT.to_owned()],
            fit: |results, _| Some((results.get(barriers::ARRIVE)? + results.get(barriers::EXPECT)?) / 2.0),
        },
        Row {
            key: "cluster_barrier",
            meaning: "A barrier of the blocks of a cluster.",
            probes: vec![clusters::barrier_name(2), clusters::barrier_name(4)],
            fit: |results, _| results.get(&clusters::barrier_name(2)),
        },
        Row {
            key: "hand_over",
            meaning: "A named barrier by which one group of four warps lets another one go on.",
            probes: vec![barriers::HAND_OVER.to_owned()],
            fit: |results, _| results.get(barriers::HAND_OVER),
        },
    ]
}
