//! The work that a bench gives a device to time, and the results.
//!
//! A bench is evaluated into [`Group`]s of works that are timed in turn, so that clock rates and temperature affect all of them
//! alike. This module knows neither the statements (`eval::bench`) nor how a device measures.

use hx_dtype::packed_bytes;

use crate::compare::Difference;
use crate::device::{Device, Kept, LaunchError, Step, Times};
use crate::error::HostError;
use crate::tensor::Tensor;

/// A work that writes less than this part of what it reads is compared with a read; another one with a copy.
const MOSTLY_READ: f64 = 0.125;

/// A work, with the tensors that it wrote.
#[derive(Clone, Debug)]
pub struct Work {
    /// `matmul<BM = 128>`, `cublas::gemm`, `copy`.
    pub label: String,
    /// The index of the candidate that the work's kernels run, counted from the cheapest; `None` for the compiler's choice.
    pub candidate: Option<u32>,
    pub steps: Vec<Step>,
    /// Floating-point operations of one run, if they are stated or known.
    pub flops: Option<f64>,
    /// Bytes that one run reads and writes, if they are stated or known.
    pub bytes: Option<f64>,
    /// The measured times; `None` if the work was only compiled.
    pub times: Option<Times>,
    /// The contents of the tensors that one run wrote, until the group was timed.
    pub(crate) outputs: Vec<(Tensor, Kept)>,
    /// The bytes of the tensors of one run.
    pub(crate) traffic: Traffic,
    /// The largest difference from each work that it is compared with, in the order of [`Group::comparisons`].
    pub(crate) differences: Vec<Option<Difference>>,
    /// The position of the read or copy of the same size in [`Group::references`].
    pub(crate) reference: Option<usize>,
}

/// The bytes of the tensors that a work reads and writes, each tensor once for each call.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Traffic {
    pub read: f64,
    pub written: f64,
}

impl Traffic {
    /// Adds a tensor.
    pub(crate) fn add(&mut self, tensor: &Tensor, is_written: bool) {
        // A view may repeat elements, as after `broadcast_to`.
        let bytes = packed_bytes(tensor.dtype(), tensor.len().min(tensor.span().len())) as f64;
        if is_written { self.written += bytes } else { self.read += bytes }
    }
}

impl Work {
    pub(crate) fn new(label: String, steps: Vec<Step>) -> Work {
        Work {
            label,
            candidate: None,
            steps,
            flops: None,
            bytes: None,
            times: None,
            outputs: Vec::new(),
            traffic: Traffic::default(),
            differences: Vec::new(),
            reference: None,
        }
    }

    /// Makes the work that copies `bytes` bytes. It moves twice as many bytes, because it reads and writes each.
    pub(crate) fn copy(bytes: u64) -> Work {
        let moved = 2.0 * bytes as f64;
        Work { bytes: Some(moved), ..Work::new("copy".to_owned(), vec![Step::Copy { bytes }]) }
    }

    /// Makes the work that reads `bytes` bytes.
    fn read(bytes: u64) -> Work {
        Work { bytes: Some(bytes as f64), ..Work::new("read".to_owned(), vec![Step::Read { bytes }]) }
    }

    /// Returns the bytes that one run moves: those that are stated, or else those of its tensors.
    pub fn moved(&self) -> Option<f64> {
        self.bytes.or_else(|| Some(self.traffic.read + self.traffic.written).filter(|bytes| *bytes > 0.0))
    }

    /// Makes the read or copy that moves as many bytes. `None` if the work moves none, or is one itself.
    fn like(&self) -> Option<Work> {
        const QUAD: u64 = 16;
        if matches!(self.steps[..], [Step::Copy { .. } | Step::Read { .. }]) {
            return None;
        }
        let bytes = self.moved()? as u64;
        let Traffic { read, written } = self.traffic;
        let whole = |bytes: u64| (bytes / QUAD).max(1) * QUAD;
        Some(if written < MOSTLY_READ * read {
            Work::read(whole(bytes))
        } else {
            Work::copy(whole(bytes / 2))
        })
    }

    fn per_second(&self, amount: Option<f64>) -> Option<f64> {
        let median = self.times.as_ref()?.median;
        let amount = amount?;
        (median > 0.0).then(|| amount / (median * 1e-6))
    }

    /// Returns the floating-point operations per second at the median time; `None` if their number is unknown or nothing was
    /// timed.
    pub fn flops_per_second(&self) -> Option<f64> {
        self.per_second(self.flops)
    }

    /// Returns the bytes per second at the median time; `None` if their number is unknown or nothing was timed.
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.per_second(self.bytes)
    }

    fn is_copy(&self) -> bool {
        matches!(self.steps[..], [Step::Copy { .. }])
    }

    fn compared_with<'w>(&self, other: &'w Work, difference: Option<Difference>) -> Comparison<'w> {
        let by_bytes = self.bytes_per_second().zip(other.bytes_per_second());
        let (ratio, compared) = match by_bytes {
            Some((mine, theirs)) if other.is_copy() => (Some(mine / theirs), Compared::Bandwidth),
            // Only bytes per second compare with a copy, and the measured work has none.
            _ if other.is_copy() => (None, Compared::Bandwidth),
            _ => {
                let medians = self.times.as_ref().zip(other.times.as_ref());
                (medians.map(|(mine, theirs)| theirs.median / mine.median), Compared::Time)
            }
        };
        let ratio = ratio.filter(|r| r.is_finite());
        Comparison { other, ratio, compared, difference }
    }
}

/// The quantity that a ratio compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compared {
    /// The times of the same work.
    Time,
    /// The bytes per second of works of different sizes.
    Bandwidth,
}

/// The comparison of a measured work with another.
#[derive(Clone, Debug)]
pub struct Comparison<'g> {
    /// The baseline; for a candidate, the work that the compiler chose.
    pub other: &'g Work,
    /// The speedup of the measured work: above 1 it is faster. `None` if one of the works was not timed, or if the other is a
    /// copy and the bytes of the measured work are unknown.
    pub ratio: Option<f64>,
    pub compared: Compared,
    /// The largest difference between the results, if both wrote the same tensors.
    pub difference: Option<Difference>,
}

/// Works that are timed in turn.
#[derive(Clone, Debug, Default)]
pub struct Group {
    pub measures: Vec<Work>,
    pub baselines: Vec<Work>,
    /// Baselines that the machine cannot run and candidates that do not launch, each with the reason.
    pub missing: Vec<(String, HostError)>,
    /// Reads and copies of as many bytes as the works move, each once.
    pub references: Vec<Work>,
}

/// The speed of a work against memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryShare<'g> {
    /// The read or copy of as many bytes.
    pub of: &'g Work,
    /// The time of the read or copy divided by that of the work: 1.0 is as fast.
    pub share: f64,
}

impl Group {
    /// Returns the works in the order in which a device times them.
    pub(crate) fn works(&mut self) -> impl Iterator<Item = &mut Work> {
        self.measures.iter_mut().chain(&mut self.baselines).chain(&mut self.references)
    }

    /// Adds the reads and copies that the works are compared with.
    pub(crate) fn add_references(&mut self) {
        let Group { measures, baselines, references, .. } = self;
        for work in measures.iter_mut().chain(baselines) {
            let Some(like) = work.like() else { continue };
            let same = |other: &Work| other.label == like.label && other.bytes == like.bytes;
            let at = references.iter().position(same);
            work.reference = Some(at.unwrap_or(references.len()));
            if at.is_none() {
                references.push(like);
            }
        }
    }

    /// Compares the results of each measured work with those of the works that it is compared with, on the device, and drops the
    /// results.
    ///
    /// # Errors
    /// As for [`Device::difference`].
    pub(crate) fn compare(&mut self, device: &mut dyn Device) -> Result<(), LaunchError> {
        for at in 0..self.measures.len() {
            let measure = &self.measures[at];
            let others = self.others(at);
            // Without times the works were only compiled, so there are no results to compare.
            let apart = others.iter().map(|other| match (&measure.times, &other.times) {
                (Some(_), Some(_)) => apart(measure, other, device),
                _ => Ok(None),
            });
            let differences = apart.collect::<Result<_, _>>()?;
            self.measures[at].differences = differences;
        }
        self.works().for_each(|work| work.outputs.clear());
        Ok(())
    }

    /// Returns the works that the measured work at index `measure` is compared with.
    fn others(&self, measure: usize) -> Vec<&Work> {
        let (before, measure) = (&self.measures[..measure], &self.measures[measure]);
        if measure.candidate.is_none() {
            return self.baselines.iter().collect();
        }
        before.iter().rev().find(|work| work.candidate.is_none()).into_iter().collect()
    }

    /// Compares the measured work at index `measure` with every baseline. A candidate is compared only with the work that the
    /// compiler chose.
    ///
    /// # Panics
    /// If there is no measured work at this index.
    pub fn comparisons(&self, measure: usize) -> Vec<Comparison<'_>> {
        let differences = &self.measures[measure].differences;
        let compared = |(at, other)| {
            let difference = differences.get(at).copied().flatten();
            self.measures[measure].compared_with(other, difference)
        };
        self.others(measure).into_iter().enumerate().map(compared).collect()
    }

    /// Returns the speed of a work of this group against a read or a copy of the same size; `None` if it moves no known bytes, is
    /// one itself, or was not timed.
    pub fn memory_share(&self, work: &Work) -> Option<MemoryShare<'_>> {
        let of = self.references.get(work.reference?)?;
        let share = of.times.as_ref()?.median / work.times.as_ref()?.median;
        share.is_finite().then_some(MemoryShare { of, share })
    }
}

/// Returns the largest difference over the tensors that both works wrote. `None` if they wrote none in common.
///
/// # Errors
/// As for [`Device::difference`].
fn apart(
    measure: &Work,
    baseline: &Work,
    device: &mut dyn Device,
) -> Result<Option<Difference>, LaunchError> {
    let mut worst: Option<Difference> = None;
    for (tensor, mine) in &measure.outputs {
        let Some((_, theirs)) = baseline.outputs.iter().find(|(other, _)| other.is_same_view(tensor)) else {
            continue;
        };
        let found = device.difference(tensor, mine, theirs)?;
        worst = Some(worst.map_or(found, |worst| worst.larger(found)));
    }
    Ok(worst)
}

/// Returns the packed size of a tensor's elements in bytes.
pub(crate) fn bytes_of(tensor: &Tensor) -> u64 {
    packed_bytes(tensor.dtype(), tensor.len()) as u64
}
