//! Launches that name one tensor for an input and an output.

use hx_compile::{Db, Instance, solution, tile_program};
use hx_host::device::{LaunchError, LaunchRequest};
use hx_tile::in_place::is_elementwise;
use hx_tile::{Param, ParamId, TensorParam};

use super::{BoundParam, Launcher};

/// Proves that an instance updates a tensor in place if it is given for an input and for an output, by parameter.
///
/// # Errors
/// The reason why the proof fails.
pub(super) fn known(db: &dyn Db, instance: Instance<'_>, pair: [usize; 2]) -> Result<(), String> {
    let (Ok(lowered), Ok(solution)) = (tile_program(db, instance).as_ref(), solution(db, instance).as_ref())
    else {
        return Err("the kernel has no layouts".to_owned());
    };
    let program = solution.program(&lowered.program);
    is_elementwise(&program, solution, pair.map(|at| ParamId(at as u32)))
}

/// Returns the pairs of an input and an output, by name, that may be the same tensor.
pub(crate) fn pairs(db: &dyn Db, instance: Instance<'_>) -> Vec<[String; 2]> {
    let Ok(lowered) = tile_program(db, instance).as_ref() else { return Vec::new() };
    let tensors = lowered.program.params.iter().enumerate().filter_map(|(at, param)| match param {
        Param::Tensor(tensor) => Some((at, tensor)),
        Param::Int { .. } | Param::Float { .. } => None,
    });
    let tensors: Vec<(usize, &TensorParam)> = tensors.collect();
    let mut pairs = Vec::new();
    for (input, read) in tensors.iter().filter(|(_, tensor)| !tensor.mutable) {
        for (output, written) in tensors.iter().filter(|(_, tensor)| tensor.mutable) {
            if known(db, instance, [*input, *output]).is_ok() {
                pairs.push([read.name.clone(), written.name.clone()]);
            }
        }
    }
    pairs
}

impl Launcher<'_> {
    /// Returns the pairs of an input and an output, by position in the request, that may be the same tensor.
    ///
    /// # Errors
    /// If the arguments do not fit the kernel.
    pub fn in_place(&self, request: &LaunchRequest, align: &[u32]) -> Result<Vec<[usize; 2]>, LaunchError> {
        let chosen = self.placed(request, align)?;
        Ok(chosen.pairs_in_place(self.db))
    }
}

impl super::Chosen<'_> {
    /// Returns the pairs of an input and an output, by position in the request, that may be the same tensor.
    pub(super) fn pairs_in_place(&self, db: &dyn Db) -> Vec<[usize; 2]> {
        let instance = self.checked.get();
        let is_tensor = |at: &usize, written: bool| matches!(&self.bound.params[*at], BoundParam::Tensor(tensor) if tensor.mutable == written);
        let all = 0..self.bound.params.len();
        let inputs = all.clone().filter(|at| is_tensor(at, false));
        let pairs = inputs.flat_map(|input| {
            let outputs = all.clone().filter(|at| is_tensor(at, true));
            outputs.map(move |output| [input, output]).collect::<Vec<_>>()
        });
        let known = pairs.filter(|pair| known(db, instance, *pair).is_ok());
        known.map(|pair| pair.map(|at| self.sources[at])).collect()
    }
}
