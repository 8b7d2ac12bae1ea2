//! The work that a bench gives a device to time, and the results.
//!
//! A bench is evaluated into [`Group`]s of works that are timed in turn, so that clock rates and temperature affect all of them
//! alike. This module knows neither the statements (`eval::bench`) nor how a device measures.

use hx_dtype::packed_bytes;

use crate::compare::{Difference, difference};
use crate::device::{Step, Times};
use crate::error::{HostError, HostResult};
use crate::tensor::{HostTensor, Tensor};

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
    /// The contents of the tensors that one run wrote.
    pub(crate) outputs: Vec<(Tensor, HostTensor)>,
}

impl Work {
    pub(crate) fn new(label: String, steps: Vec<Step>) -> Work {
        Work { label, candidate: None, steps, flops: None, bytes: None, times: None, outputs: Vec::new() }
    }

    /// Makes the work that copies `bytes` bytes. It moves twice as many bytes, because it reads and writes each.
    pub(crate) fn copy(bytes: u64) -> Work {
        let moved = 2.0 * bytes as f64;
        Work { bytes: Some(moved), ..Work::new("copy".to_owned(), vec![Step::Copy { bytes }]) }
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

    fn compared_with<'w>(&self, other: &'w Work) -> HostResult<Comparison<'w>> {
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
        // Without times the works were only compiled, so there are no results to compare.
        let ran = self.times.is_some() && other.times.is_some();
        let difference = if ran { apart(self, other)? } else { None };
        Ok(Comparison { other, ratio, compared, difference })
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
}

impl Group {
    /// Returns the works in the order in which a device times them.
    pub(crate) fn works(&mut self) -> impl Iterator<Item = &mut Work> {
        self.measures.iter_mut().chain(&mut self.baselines)
    }

    /// Compares the measured work at index `measure` with every baseline. A candidate is compared only with the work that the
    /// compiler chose.
    ///
    /// # Errors
    /// If the outputs of two works cannot be compared; see [`difference`].
    ///
    /// # Panics
    /// If there is no measured work at this index.
    pub fn comparisons(&self, measure: usize) -> HostResult<Vec<Comparison<'_>>> {
        let (before, measure) = (&self.measures[..measure], &self.measures[measure]);
        if measure.candidate.is_none() {
            return self.baselines.iter().map(|other| measure.compared_with(other)).collect();
        }
        let chosen = before.iter().rev().find(|work| work.candidate.is_none());
        chosen.iter().map(|chosen| measure.compared_with(chosen)).collect()
    }
}

/// Returns the largest difference over the tensors that both works wrote. `None` if they wrote none in common.
///
/// # Errors
/// As for [`difference`].
fn apart(measure: &Work, baseline: &Work) -> HostResult<Option<Difference>> {
    let mut worst: Option<Difference> = None;
    for (tensor, mine) in &measure.outputs {
        let Some((_, theirs)) = baseline.outputs.iter().find(|(other, _)| other.is_same_view(tensor)) else {
            continue;
        };
        let found = difference(&Tensor::from_host(mine.clone()), &Tensor::from_host(theirs.clone()))?;
        worst = Some(worst.map_or(found, |worst| worst.larger(found)));
    }
    Ok(worst)
}

/// Returns the packed size of a tensor's elements in bytes.
pub(crate) fn bytes_of(tensor: &Tensor) -> u64 {
    packed_bytes(tensor.dtype(), tensor.len()) as u64
}
