//! Element types that a target cannot compute with: operators on types without rows of their own go through f32, and 8-bit floats
//! have no conversion to it on older architectures.

use hx_dtype::DType;
use hx_target::{Arch, catalogue};
use hx_tile::{OpKind, Scalar, TileProgram};

use crate::failure::{Failure, FailureKind};

/// Whether elements of this type can be computed with on the target.
pub fn is_convertible(dtype: DType, arch: Arch) -> bool {
    let row = |from, to| catalogue().converts_of(from, to, arch).any(|row| row.values == 1);
    let narrow = dtype.is_float() && dtype.bits() <= 8;
    !narrow || row(dtype, DType::F32) && row(DType::F32, dtype)
}

/// Checks the expressions and reductions of a program.
///
/// # Errors
/// At the first operation that computes with a type which the target cannot convert.
pub(crate) fn check(program: &TileProgram, arch: Arch) -> Result<(), Failure> {
    for (op, _) in program.ops(1.0) {
        let found = match &op.kind {
            OpKind::Map(map) => inconvertible(&map.value, arch),
            OpKind::Reduce { src, .. } => {
                Some(program.tensor(*src).dtype).filter(|dtype| !is_convertible(*dtype, arch))
            }
            _ => None,
        };
        let Some(dtype) = found else { continue };
        let message =
            format!("no instruction of {arch} converts between `{dtype}` and `f32`, in which it is computed");
        let failure = Failure::new(FailureKind::NoInstruction, message).at(op.id);
        return Err(failure.from_later(arch, |arch| is_convertible(dtype, arch)));
    }
    Ok(())
}

/// A type that the expression computes with and the target cannot convert.
fn inconvertible(value: &Scalar, arch: Arch) -> Option<DType> {
    let lacks = |dtype: DType| (!is_convertible(dtype, arch)).then_some(dtype);
    match value {
        Scalar::Apply { dtype, args, .. } => {
            lacks(*dtype).or_else(|| args.iter().find_map(|arg| inconvertible(arg, arch)))
        }
        Scalar::Cast { to, arg } => {
            let moved = arg.dtype() == *to;
            let here = if moved { None } else { lacks(arg.dtype()).or_else(|| lacks(*to)) };
            here.or_else(|| inconvertible(arg, arch))
        }
        _ => None,
    }
}
