//! Launches that name one tensor for an input and an output.

use hx_compile::Db;
use hx_host::device::{LaunchError, LaunchRequest};

use super::{BoundParam, Launcher};

impl Launcher<'_> {
    /// Returns the pairs `[input, output]` of positions in the request whose arguments may be the same tensor. `align` has the
    /// alignment of each argument's address in bytes.
    ///
    /// # Errors
    /// If the arguments do not fit the kernel.
    pub fn in_place(&self, request: &LaunchRequest, align: &[u32]) -> Result<Vec<[usize; 2]>, LaunchError> {
        let chosen = self.placed(request, align)?;
        Ok(chosen.pairs_in_place(self.db))
    }
}

impl super::Chosen<'_> {
    /// Returns the pairs `[input, output]` of positions in the request whose arguments may be the same tensor.
    pub(super) fn pairs_in_place(&self, db: &dyn Db) -> Vec<[usize; 2]> {
        let instance = self.checked.get();
        let is_tensor = |at: &usize, written: bool| matches!(&self.bound.params[*at], BoundParam::Tensor(tensor) if tensor.mutable == written);
        let all = 0..self.bound.params.len();
        let inputs = all.clone().filter(|at| is_tensor(at, false));
        let pairs = inputs.flat_map(|input| {
            let outputs = all.clone().filter(|at| is_tensor(at, true));
            outputs.map(move |output| [input, output]).collect::<Vec<_>>()
        });
        let known = pairs.filter(|pair| hx_inspect::in_place(db, instance, *pair).is_ok());
        known.map(|pair| pair.map(|at| self.sources[at])).collect()
    }
}
