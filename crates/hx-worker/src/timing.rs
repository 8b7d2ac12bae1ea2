//! Times work on the device, and evaluates the samples.
//!
//! The worker returns all samples; medians and quantiles are computed here.

use std::path::PathBuf;

use crate::client::{Buffer, Launch, Parcel, WorkerClient};
use crate::error::WorkerError;
use crate::limits::{Budget, Limits};
use crate::protocol::{self, Element, GemmRequest, Reply, Request, TimePlan, WireMatrix};

/// A step of a work: a kernel, a product, a copy or a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<'a> {
    /// Run a kernel without reading its buffers back.
    Launch(Launch<'a>),
    /// Multiply matrices with the vendor's library.
    Gemm(Gemm),
    /// Copy the first `bytes` bytes of an allocation to another.
    Copy {
        /// The allocation that is read.
        from: Buffer,
        /// The allocation that is written.
        to: Buffer,
        /// The number of bytes, at most the size of either.
        bytes: u64,
    },
    /// Read the first `bytes` bytes of an allocation.
    Read {
        /// The allocation.
        from: Buffer,
        /// The number of bytes, a multiple of 16 and at most the size.
        bytes: u64,
    },
}

/// A unit of timing: the same steps, on different memory if runs must not find their data in a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work<'a> {
    /// At least one. Successive runs use them in turn.
    pub variants: Vec<Vec<Step<'a>>>,
}

/// The products `c[m, n] = a[m, k] · b[k, n]` of a batch by the vendor's library, accumulated in f32, or in i32 if `a` and `b` are
/// integers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gemm {
    /// The path of cuBLASLt, found by [`crate::toolkit::find_cublaslt`].
    pub library: PathBuf,
    /// The number of products.
    pub batch: u64,
    /// Rows of `a` and `c`.
    pub m: u64,
    /// Columns of `b` and `c`.
    pub n: u64,
    /// Columns of `a`, rows of `b`.
    pub k: u64,
    /// `m` × `k`.
    pub a: Matrix,
    /// `k` × `n`.
    pub b: Matrix,
    /// `m` × `n`, written.
    pub c: Matrix,
}

/// A matrix in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    /// The allocation that contains the matrix.
    pub buffer: Buffer,
    /// Offset from its start, in bytes.
    pub offset: u64,
    /// The type of the elements in memory.
    pub element: Element,
    /// Distance in elements from a row to the next, and from a column to the next. One of them is 1, unless there is a single
    /// row or column.
    pub strides: [u64; 2],
    /// Distance in elements to the next matrix of the batch.
    pub apart: u64,
}

/// The times of a work's runs, in milliseconds and in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// An entry for each reported run.
    pub gpu_ms: Vec<f32>,
}

impl Timing {
    /// Returns the median of the runs, in milliseconds; `None` without runs.
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// Returns the quantile `q` (0 to 1) of the runs, in milliseconds, interpolated between neighbours; `None` without runs.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let mut sorted: Vec<f64> = self.gpu_ms.iter().map(|ms| f64::from(*ms)).collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = q.clamp(0.0, 1.0) * last as f64;
        let (low, part) = (at.floor() as usize, at.fract());
        let high = (low + 1).min(last);
        Some(sorted[low] + (sorted[high] - sorted[low]) * part)
    }
}

impl WorkerClient {
    /// Runs steps once. Their results stay in device memory.
    ///
    /// # Errors
    /// If a step fails, or the worker does.
    pub fn run(&mut self, device: u32, steps: &[Step<'_>], limits: &Limits<'_>) -> Result<(), WorkerError> {
        let during = during("running", steps);
        let budget = Budget::of(limits);
        let mut parcel = Parcel::default();
        let steps = self.wire_steps(steps, &mut parcel, &budget)?;
        match self.call(&during, Request::Run { device, steps }, parcel.blobs, &budget)? {
            (Reply::Done, _) => {
                self.remember_modules(parcel.modules);
                Ok(())
            }
            (other, _) => Err(self.unexpected(&during, &other)),
        }
    }

    /// Runs works repeatedly and interleaved. Returns one timing for each. Buffers keep the content of the last runs.
    ///
    /// # Errors
    /// If a step fails, or the worker does.
    pub fn time(
        &mut self,
        device: u32,
        works: &[Work<'_>],
        plan: TimePlan,
        limits: &Limits<'_>,
    ) -> Result<Vec<Timing>, WorkerError> {
        let first = works.first().and_then(|work| work.variants.first());
        let during = during("timing", first.map_or(&[], Vec::as_slice));
        let budget = Budget::of(limits);
        let mut parcel = Parcel::default();
        let mut wire = Vec::with_capacity(works.len());
        for work in works {
            let variants = work.variants.iter().map(|steps| self.wire_steps(steps, &mut parcel, &budget));
            wire.push(protocol::Work { variants: variants.collect::<Result<_, _>>()? });
        }
        match self.call(&during, Request::Time { device, works: wire, plan }, parcel.blobs, &budget)? {
            (Reply::Timed { gpu_ms }, _) => {
                self.remember_modules(parcel.modules);
                Ok(gpu_ms.into_iter().map(|gpu_ms| Timing { gpu_ms }).collect())
            }
            (other, _) => Err(self.unexpected(&during, &other)),
        }
    }

    /// Fills the buffer with repetitions of `pattern`; the last may be cut off.
    ///
    /// # Errors
    /// If the pattern is empty, the buffer was lost with its worker, or the worker fails.
    pub fn fill(&mut self, buffer: Buffer, pattern: &[u8], limits: &Limits<'_>) -> Result<(), WorkerError> {
        let buffer = self.live(buffer)?;
        let request = Request::Fill { buffer, pattern: 0 };
        self.done("filling device memory", request, vec![pattern.to_vec()], limits)
    }

    fn wire_steps(
        &mut self,
        steps: &[Step<'_>],
        parcel: &mut Parcel,
        budget: &Budget<'_>,
    ) -> Result<Vec<protocol::Step>, WorkerError> {
        let mut wire = Vec::with_capacity(steps.len());
        for step in steps {
            wire.push(match step {
                Step::Launch(launch) => protocol::Step::Launch(self.launch_request(launch, parcel, budget)?),
                Step::Gemm(gemm) => protocol::Step::Gemm(GemmRequest {
                    library: gemm.library.clone(),
                    batch: gemm.batch,
                    m: gemm.m,
                    n: gemm.n,
                    k: gemm.k,
                    a: self.wire_matrix(&gemm.a)?,
                    b: self.wire_matrix(&gemm.b)?,
                    c: self.wire_matrix(&gemm.c)?,
                }),
                Step::Copy { from, to, bytes } => {
                    protocol::Step::Copy { from: self.live(*from)?, to: self.live(*to)?, bytes: *bytes }
                }
                Step::Read { from, bytes } => protocol::Step::Read { from: self.live(*from)?, bytes: *bytes },
            });
        }
        Ok(wire)
    }

    fn wire_matrix(&self, matrix: &Matrix) -> Result<WireMatrix, WorkerError> {
        let Matrix { buffer, offset, element, strides, apart } = *matrix;
        Ok(WireMatrix { buffer: self.live(buffer)?, offset, element, strides, apart })
    }
}

/// Returns the name of an operation, for its errors.
fn during(verb: &str, steps: &[Step<'_>]) -> String {
    match steps.first() {
        Some(Step::Launch(launch)) => format!("{verb} `{}`", launch.symbol),
        Some(Step::Gemm(_)) => format!("{verb} a matrix product of cuBLASLt"),
        Some(Step::Copy { .. }) => format!("{verb} a copy"),
        Some(Step::Read { .. }) => format!("{verb} a read"),
        None => format!("{verb} nothing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let timing = |gpu_ms: &[f32]| Timing { gpu_ms: gpu_ms.to_vec() };
        assert_eq!(timing(&[]).median(), None);
        assert_eq!(timing(&[3.0]).quantile(0.8), Some(3.0));
        let five = timing(&[5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!(five.median(), Some(3.0));
        assert_eq!(five.quantile(0.0), Some(1.0));
        assert_eq!(five.quantile(1.0), Some(5.0));
        assert!((five.quantile(0.2).unwrap_or_default() - 1.8).abs() < 1e-9);
        assert_eq!(timing(&[1.0, 2.0]).median(), Some(1.5));
    }

    #[test]
    fn a_budget_bounds_the_rounds() {
        let plan = TimePlan { repeats: 100, budget_ms: 1000, ..TimePlan::default() };
        assert_eq!(plan.rounds(0.01), 100);
        assert_eq!(plan.rounds(50.0), 20);
        assert_eq!(plan.rounds(5000.0), 5);
        assert_eq!(plan.rounds(0.0), 100);
        assert_eq!(TimePlan { repeats: 3, ..plan }.rounds(5000.0), 3);
        assert_eq!(TimePlan { repeats: 0, ..plan }.rounds(1.0), 1);
    }
}
