//! Reductions and scans of elements narrower than a byte: threads exchange whole bytes, so such elements are combined as bytes.

use hx_dtype::DType;
use hx_hir::ExprId;
use hx_tile::{OpKind, Scalar, TensorId};

use crate::lowering::Lowering;
use crate::value::Tensor;

/// Returns the type in which threads exchange elements of this type.
pub(crate) fn carrier(dtype: DType) -> DType {
    if dtype == DType::F4E2m1 {
        // It has every value of the narrower float.
        return DType::F8E4m3;
    }
    match dtype {
        _ if !dtype.is_int() || dtype.bits() >= 8 => dtype,
        _ if dtype.is_signed_int() => DType::I8,
        _ => DType::U8,
    }
}

/// Returns an operator on elements of the types `dtypes` as one on their carriers. Every operand is narrowed and every result widened,
/// so results wrap as those of the narrow types do.
pub(crate) fn carried(op: &[Scalar], dtypes: &[DType]) -> Vec<Scalar> {
    let wide = |leaf: &Scalar| match leaf {
        Scalar::Input { index, dtype } if carrier(*dtype) != *dtype => {
            Some(Scalar::Input { index: *index, dtype: carrier(*dtype) }.cast(*dtype))
        }
        _ => None,
    };
    let parts = op.iter().zip(dtypes);
    parts.map(|(value, dtype)| value.map_leaves(&mut |leaf| wide(leaf)).cast(carrier(*dtype))).collect()
}

impl Lowering<'_> {
    /// Returns the register tensor with its elements in their carrier.
    pub(crate) fn widened_elements(&mut self, src: TensorId, at: ExprId) -> TensorId {
        let tensor = &self.output.tensor(src);
        let (dtype, shape, name) = (tensor.dtype, tensor.shape.clone(), tensor.name.clone());
        if carrier(dtype) == dtype {
            return src;
        }
        let (dst, _) = self.new_register(&format!("{name}_bytes"), carrier(dtype), shape, at);
        self.emit(OpKind::Cast { dst, src }, at);
        dst
    }

    /// Returns the result of a reduction or scan, which has its elements in their carrier, with elements of the type `dtype`.
    pub(crate) fn narrowed_elements(
        &mut self,
        (src, result): (TensorId, Tensor),
        dtype: DType,
        hint: &str,
        at: ExprId,
    ) -> (TensorId, Tensor) {
        if result.dtype == dtype {
            return (src, result);
        }
        let shape = self.output.tensor(src).shape.clone();
        let (dst, narrow) = self.new_register(hint, dtype, shape, at);
        self.emit(OpKind::Cast { dst, src }, at);
        (dst, narrow)
    }
}
