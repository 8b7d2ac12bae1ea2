//! Finds element types that a target cannot compute with. Operators on types without rows of their own compute in f32, and a target
//! may lack the conversion between 8-bit floats and f32.

use hx_dtype::DType;
use hx_target::Target;
use hx_tile::{OpKind, Scalar, TileProgram};

use crate::failure::{Failure, FailureKind};

/// Reports whether the target can compute with elements of this type.
pub fn is_convertible(dtype: DType, target: Target) -> bool {
    let row = |from, to| target.rows().converts_of(from, to).any(|row| row.values == 1);
    let narrow = dtype.is_float() && dtype.bits() <= 8;
    !narrow || row(dtype, DType::F32) && row(DType::F32, dtype)
}

/// Checks the expressions and reductions of a program.
///
/// # Errors
/// `NoInstruction` at the first operation that computes with a type which the target cannot convert.
pub(crate) fn check(program: &TileProgram) -> Result<(), Failure> {
    let target = program.target;
    for (op, _) in program.ops(1.0) {
        // Other operations compute nothing or, as products and scans do, with rows of their own types.
        let found = if let OpKind::Map(map) = &op.kind {
            inconvertible(&map.value, target)
        } else if let OpKind::Reduce { src, .. } = &op.kind {
            Some(program.tensor(*src).dtype).filter(|dtype| !is_convertible(*dtype, target))
        } else {
            None
        };
        let Some(dtype) = found else { continue };
        let message = format!(
            "no instruction of {target} converts between `{dtype}` and `f32`, in which it is computed"
        );
        let failure = Failure::new(FailureKind::NoInstruction, message).at(op.id);
        return Err(failure.or_later(target, |target| is_convertible(dtype, target)));
    }
    Ok(())
}

/// Returns the first type that the expression computes with and that the target cannot convert; `None` if there is no such
/// type.
fn inconvertible(value: &Scalar, target: Target) -> Option<DType> {
    let lacks = |dtype: DType| (!is_convertible(dtype, target)).then_some(dtype);
    match value {
        Scalar::Apply { dtype, args, .. } => {
            lacks(*dtype).or_else(|| args.iter().find_map(|arg| inconvertible(arg, target)))
        }
        Scalar::Bitcast { arg, .. } => inconvertible(arg, target),
        // The instruction computes with the types of the text: only its operands are computed here.
        Scalar::Inlined(inlined) => inlined.args.iter().find_map(|arg| inconvertible(arg, target)),
        Scalar::Cast { to, arg } => {
            let moved = arg.dtype() == *to;
            let here = if moved { None } else { lacks(arg.dtype()).or_else(|| lacks(*to)) };
            here.or_else(|| inconvertible(arg, target))
        }
        _ => None,
    }
}
