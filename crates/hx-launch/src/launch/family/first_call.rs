//! Measures the members of a family that the cost model finds fastest, at the first launch of a shape.
//!
//! The measured launches run on memory of their own, over the contents of the launch's tensors, or over random numbers if the caller
//! holds the tensors. So the arguments of the launch do not change.

use hx_host::device::{LaunchArg, LaunchError, LaunchRequest, Step};
use hx_host::random::Seed;
use hx_host::recipe::Recipe;
use hx_host::{HostResult, Tensor, Value};
use hx_worker::TimePlan;

use super::super::cuda::cuda_text;
use super::super::resident::Memory;
use super::super::{Launcher, Timing};
use super::{Choice, Considered, Fit};
use crate::machine::Gpu;

/// The largest number of members that are measured.
const MOST: usize = 8;
/// Members whose estimates are longer than this many times that of the first one, and [`FIXED`], are not measured.
const NEAR: f64 = 1.5;
/// The microseconds of a launch that do not depend on its work, about, which the estimates leave out.
const FIXED: f64 = 2.0;
/// A few runs of each member. The cost model has left out the slow ones.
const PLAN: TimePlan = TimePlan { warmup: 2, warmup_ms: 20, repeats: 15, budget_ms: 200, flush_l2: true };
/// The seed of random contents.
const SEED: u64 = 17;

impl Launcher<'_> {
    /// Measures the members with the shortest estimates; `None` if there is only one. `launch_of` returns the launch of a member by its
    /// position in the family.
    ///
    /// # Errors
    /// If a member cannot be compiled or fails while it runs.
    pub(super) fn measured(
        &self,
        gpu: &Gpu,
        choice: &Choice,
        launch_of: &dyn Fn(usize) -> Result<LaunchRequest, LaunchError>,
    ) -> Result<Option<Choice>, LaunchError> {
        let near = choice.first().and_then(Considered::micros).unwrap_or(0.0) * NEAR + FIXED;
        let is_near = |member: &&Considered| member.micros().is_some_and(|micros| micros <= near);
        let few: Vec<usize> =
            choice.fitting().filter(is_near).take(MOST).map(|member| member.index).collect();
        if few.len() < 2 {
            return Ok(None);
        }
        let mut works = Vec::new();
        for index in &few {
            // The first candidate is the one that a launch runs. A launch that states it runs this very kernel.
            let request = LaunchRequest { candidate: Some(0), ..launch_of(*index)? };
            works.push(vec![Step::Launch(with_contents(request).map_err(LaunchError::call)?)]);
        }
        let timed = Launcher::new(self.db, self.machine, self.until);
        let timed = timed.timed(Timing { plan: PLAN, ..Timing::default() });
        let mut sources = Vec::new();
        for step in works.iter().flatten() {
            if let Step::Launch(request) = step {
                sources.push(cuda_text(self.db, timed.chosen(request)?.checked)?);
            }
        }
        self.compile_all(&gpu.cuda, &sources);
        let mut memory = Memory::default();
        let times = timed.time_on_gpu(gpu, &works, &mut memory);
        self.release(gpu, memory)?;
        let times = times?;
        let mut members = choice.members.clone();
        for member in &mut members {
            let at = few.iter().position(|index| *index == member.index);
            if let (Some(times), Fit::Estimated(estimate)) = (at.and_then(|at| times.get(at)), &member.fit) {
                member.fit = Fit::Measured { micros: times.median, estimate: *estimate };
            }
        }
        Ok(Some(Choice::of(members)))
    }
}

/// Gives contents to the tensors that the caller holds: random floats and small integers, and zeros for integers that may be positions.
fn with_contents(request: LaunchRequest) -> HostResult<LaunchRequest> {
    let filled = |(at, arg): (usize, LaunchArg)| {
        let value = match arg.value {
            Value::Tensor(tensor) if tensor.is_elsewhere() || tensor.is_away() => {
                Value::Tensor(like(&tensor, at as u64)?)
            }
            other => other,
        };
        Ok(LaunchArg { value, ..arg })
    };
    let args = request.args.into_iter().enumerate().map(filled).collect::<HostResult<_>>()?;
    Ok(LaunchRequest { args, ..request })
}

/// Makes a tensor of the same type, shape and strides. A product of random numbers takes more power, and so more time, than one of zeros.
fn like(tensor: &Tensor, stream: u64) -> HostResult<Tensor> {
    let span = [tensor.span().len()];
    tensor.made_anew(Recipe::of_input(tensor.dtype(), &span, Seed { seed: SEED, stream })?)
}
