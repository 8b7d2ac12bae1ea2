//! Finds the launch that wrote the tensor of a failed comparison.

use std::collections::HashMap;

use crate::device::{LaunchReport, LaunchRequest};
use crate::picture::Mark;
use crate::tensor::Tensor;
use crate::value::Value;

/// A launch of an evaluation, and one of its arguments, whose elements are wrong.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// The position of the launch among those of the evaluation.
    pub launch: usize,
    /// The position of the argument in the request.
    pub arg: usize,
    /// The compared tensor, a view of the argument's buffer.
    pub tensor: Tensor,
    /// Marks the wrong elements of `tensor`, in row-major order.
    pub wrong: Vec<bool>,
}

/// The last launch that wrote each buffer.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    launches: usize,
    /// The launch and the position of its argument, by [`Tensor::buffer_id`].
    writers: HashMap<u64, (usize, usize)>,
}

impl Ledger {
    /// Records a launch, after it has run.
    pub(super) fn launched(&mut self, request: &LaunchRequest, report: &LaunchReport) {
        for &arg in &report.written {
            if let Some(Value::Tensor(tensor)) = request.args.get(arg).map(|arg| &arg.value) {
                self.writers.insert(tensor.buffer_id(), (self.launches, arg));
            }
        }
        self.launches += 1;
    }

    /// Records a write of the host.
    pub(super) fn overwritten(&mut self, tensor: &Tensor) {
        self.writers.remove(&tensor.buffer_id());
    }

    /// Returns the launch that wrote the compared tensor; `None` if the host computed it.
    pub(super) fn suspect(&self, tensor: &Tensor, marks: &[Mark]) -> Option<Suspect> {
        let (launch, arg) = *self.writers.get(&tensor.buffer_id())?;
        let wrong: Vec<bool> = marks.iter().map(|mark| *mark != Mark::Right).collect();
        wrong.contains(&true).then(|| Suspect { launch, arg, tensor: tensor.clone(), wrong })
    }
}
