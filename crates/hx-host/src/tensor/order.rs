//! The order of packed elements in memory, which launches check. It belongs to the memory, so all views of a packed tensor know it.

use hx_layout::Layout;

use super::Tensor;
use crate::buffer::Packed;

/// The order in which the elements of a view lie.
#[derive(Clone, Debug)]
pub enum Order {
    /// That of the shape and strides, as far as the host knows.
    Plain,
    /// In blocks, which follow each other in row-major order.
    Blocks(Layout),
    /// A part or another view of memory that is packed.
    Part,
}

impl Tensor {
    /// Returns the order of the elements.
    pub fn order(&self) -> Order {
        let Some(packed) = self.buffer.order() else { return Order::Plain };
        let is_whole = self.offset == 0 && self.is_contiguous() && packed.shape.as_ref() == Some(&self.shape);
        if is_whole { Order::Blocks(packed.block.clone()) } else { Order::Part }
    }

    /// Reports whether the elements lie in these blocks, or in row-major order for `None`.
    pub fn lies_in(&self, block: Option<&Layout>) -> bool {
        match (self.order(), block) {
            (Order::Plain, None) => true,
            (Order::Blocks(order), Some(block)) => order.is_same_block(block),
            (Order::Plain | Order::Part, Some(_)) | (Order::Blocks(_) | Order::Part, None) => false,
        }
    }

    /// Returns the tensor, which is the whole of its memory, with its elements declared to lie in blocks of this layout.
    #[must_use]
    pub fn in_order(self, block: &Layout) -> Tensor {
        self.buffer.put_in_order(Some(Packed { shape: Some(self.shape.clone()), block: block.clone() }));
        self
    }

    /// States the order in which a kernel or the host has written all elements of the view; `None` for that of its strides. If the view is a
    /// part of its memory that is packed, or becomes so, no view of the memory has a known order.
    pub fn put_in_order(&self, block: Option<&Layout>) {
        let is_whole = self.offset == 0 && self.is_contiguous() && self.len() == self.buffer.len;
        let before = self.buffer.order();
        let order = match (block, &before) {
            (Some(block), _) => {
                Some(Packed { shape: is_whole.then(|| self.shape.clone()), block: block.clone() })
            }
            (None, Some(packed)) if !is_whole => Some(Packed { shape: None, block: packed.block.clone() }),
            (None, _) => None,
        };
        self.buffer.put_in_order(order);
    }
}
