//! The order of a packed tensor's elements in memory, which the tensor carries into launches.

use std::sync::Arc;

use hx_layout::Layout;

use super::Tensor;
use crate::pack::is_same_order;

impl Tensor {
    /// Returns the block in which `pack` laid out the elements; `None` for a tensor in the order of its strides. Views of a packed tensor
    /// have none.
    pub fn order(&self) -> Option<&Layout> {
        self.order.as_deref()
    }

    /// Reports whether the elements lie in these blocks, or in row-major order for `None`.
    pub fn lies_in(&self, block: Option<&Layout>) -> bool {
        match (self.order(), block) {
            (None, None) => true,
            (Some(order), Some(block)) => is_same_order(order, block),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    /// Returns the tensor with its elements declared to lie in blocks of this layout.
    #[must_use]
    pub fn in_order(self, block: &Layout) -> Tensor {
        Tensor { order: Some(Arc::new(block.clone())), ..self }
    }
}
