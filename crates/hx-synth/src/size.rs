//! Tensors that are too large for any device are refused before the search, which enumerates them.

use hx_target::Arch;
use hx_tile::{Tensor, TensorId, TensorKind, TileProgram};

use crate::failure::{Failure, FailureKind};

/// Bytes of one register tensor in one thread: twice the 255 registers that a thread can have, so nothing that runs well is
/// refused.
const THREAD_BYTES: i64 = 2 << 10;

/// So many times a block's shared memory is searched, for a message that counts all tensors.
const SHARED_TIMES: i64 = 16;

/// Refuses a program with a tensor of such a size.
pub(crate) fn check(program: &TileProgram, arch: Arch) -> Result<(), Failure> {
    for id in program.tensor_ids() {
        let tensor = program.tensor(id);
        match &tensor.kind {
            TensorKind::Register { .. } => register(program, id, tensor)?,
            TensorKind::Shared { .. } => shared(id, tensor, arch)?,
        }
    }
    Ok(())
}

fn register(program: &TileProgram, id: TensorId, tensor: &Tensor) -> Result<(), Failure> {
    let threads = i64::from(program.threads.max(1));
    if bytes(tensor).is_some_and(|bytes| bytes / threads <= THREAD_BYTES) {
        return Ok(());
    }
    let Tensor { name, dtype, shape, .. } = tensor;
    let message = format!(
        "`{name}` of type {dtype} and shape {shape:?} does not fit the registers of {threads} threads"
    );
    Err(Failure::new(FailureKind::Registers, message)
        .part(None, Some(id), "made here")
        .help("a smaller tile or more threads"))
}

fn shared(id: TensorId, tensor: &Tensor, arch: Arch) -> Result<(), Failure> {
    let limit = arch.limits().shared_bytes;
    if bytes(tensor).is_some_and(|bytes| bytes <= SHARED_TIMES * i64::from(limit)) {
        return Ok(());
    }
    let Tensor { name, dtype, shape, .. } = tensor;
    let message = format!(
        "`{name}` of type {dtype} and shape {shape:?} does not fit in shared memory, and {arch} has {limit} B"
    );
    Err(Failure::new(FailureKind::Resource, message)
        .part(None, Some(id), "made here")
        .help("smaller tiles or fewer stages"))
}

/// The bytes of a tensor, if they can be counted.
fn bytes(tensor: &Tensor) -> Option<i64> {
    let elements = tensor.shape.iter().try_fold(1i64, |product, extent| product.checked_mul(*extent))?;
    Some(elements.checked_mul(i64::from(tensor.dtype.bits()))? / 8)
}
