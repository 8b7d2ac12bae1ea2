//! Tensors that are only a description of elements in other memory.

use std::sync::Arc;

use hx_dtype::DType;

use super::Tensor;
use crate::buffer::Buffer;
use crate::error::{HostError, HostResult};
use crate::recipe::Recipe;

impl Tensor {
    /// Makes the description of a tensor whose elements are in other memory, such as that of a device: an element type, a shape
    /// and strides in elements. It has no elements to read or write, and it overlaps no other tensor.
    pub fn elsewhere(dtype: DType, shape: Vec<usize>, strides: Vec<usize>) -> Tensor {
        Tensor { buffer: Buffer::new(dtype, Arc::default()), shape, strides, offset: 0 }
    }

    /// Reports whether the tensor is only a description of elements in other memory, as [`Tensor::elsewhere`] makes it.
    pub fn is_elsewhere(&self) -> bool {
        self.span().end > self.buffer.len
    }

    /// Makes a tensor of the same element type, shape and strides, whose elements a recipe makes. The recipe has as many elements as
    /// [`Tensor::span`].
    ///
    /// # Errors
    /// If the recipe has fewer.
    pub fn made_anew(&self, recipe: Recipe) -> HostResult<Tensor> {
        let (needed, found) = (self.span().len(), recipe.len());
        if found < needed {
            return Err(HostError::shape(format!(
                "found {found} elements, the tensor reaches over {needed}"
            )));
        }
        let (shape, strides) = (self.shape.clone(), self.strides.clone());
        Ok(Tensor { buffer: Buffer::unmade(recipe), shape, strides, offset: 0 })
    }
}
