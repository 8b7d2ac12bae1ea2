//! Tensors that an instance updates in place: an input and an output that may be the same memory.

use hx_compile::{Db, Instance, solved, tile_program};
use hx_tile::in_place::is_elementwise;
use hx_tile::{Param, ParamId, TensorParam};

/// Proves that a launch of the instance may name one tensor for an input and an output: the kernel then updates the tensor in
/// place. `pair` has the positions of the two parameters, the input first.
///
/// # Errors
/// The reason why the proof fails.
pub fn in_place(db: &dyn Db, instance: Instance<'_>, pair: [usize; 2]) -> Result<(), String> {
    let Ok(solved) = solved(db, instance) else {
        return Err("the kernel has no layouts".to_owned());
    };
    is_elementwise(&solved.program, &solved.solution, pair.map(|at| ParamId(at as u32)))
}

/// Returns the pairs `[input, output]` of names of parameters for which a launch may name one tensor.
pub fn pairs_in_place(db: &dyn Db, instance: Instance<'_>) -> Vec<[String; 2]> {
    let Ok(lowered) = tile_program(db, instance).as_ref() else { return Vec::new() };
    let tensors = lowered.program.params.iter().enumerate().filter_map(|(at, param)| match param {
        Param::Tensor(tensor) => Some((at, tensor)),
        Param::Int { .. } | Param::Float { .. } => None,
    });
    let tensors: Vec<(usize, &TensorParam)> = tensors.collect();
    let mut pairs = Vec::new();
    for (input, read) in tensors.iter().filter(|(_, tensor)| !tensor.mutable) {
        for (output, written) in tensors.iter().filter(|(_, tensor)| tensor.mutable) {
            if in_place(db, instance, [*input, *output]).is_ok() {
                pairs.push([read.name.clone(), written.name.clone()]);
            }
        }
    }
    pairs
}
