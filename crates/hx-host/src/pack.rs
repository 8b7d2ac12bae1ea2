//! `pack` and `unpack`: the elements of a tensor in the order of a block layout, as a kernel parameter `w: T[n, k] : L` has them.

use hx_dtype::{load, packed_bytes, store};
use hx_layout::Layout;

use crate::dense::show_shape;
use crate::error::{HostError, HostResult};
use crate::tensor::{HostTensor, Tensor};

/// A tensor of the same shape whose memory has the elements in blocks: within each as `block` says, blocks in row-major order.
///
/// # Errors
/// When the block has not a mode for each dimension, leaves places empty or uses one twice, or does not divide the shape.
pub fn pack(x: &Tensor, block: &Layout) -> HostResult<Tensor> {
    moved(x, block, |element, place| (element, place))
}

/// The inverse of [`pack`].
///
/// # Errors
/// As [`pack`].
pub fn unpack(x: &Tensor, block: &Layout) -> HostResult<Tensor> {
    moved(x, block, |element, place| (place, element))
}

/// `ends` gives the positions to read and to write, from that of an element in row-major order and its place.
fn moved(x: &Tensor, block: &Layout, ends: impl Fn(usize, usize) -> (usize, usize)) -> HostResult<Tensor> {
    let source = x.to_host();
    let sizes = fitting(&source.shape, block)?;
    let modes = block.modes();
    let blocks: Vec<usize> = source.shape.iter().zip(&sizes).map(|(n, size)| n / size).collect();
    let mut data = vec![0; packed_bytes(source.dtype, source.len())];
    let mut at = vec![0; source.shape.len()];
    for element in 0..source.len() {
        let mut rest = element;
        for (c, n) in at.iter_mut().zip(&source.shape).rev() {
            *c = rest % n;
            rest /= n;
        }
        let inside: i64 =
            at.iter().zip(&sizes).zip(&modes).map(|((c, size), mode)| mode.eval((c % size) as i64)).sum();
        let number =
            at.iter().zip(&sizes).zip(&blocks).fold(0, |number, ((c, size), n)| number * n + c / size);
        let (from, to) = ends(element, number * block.size() as usize + inside as usize);
        store(source.dtype, &mut data, to, load(source.dtype, &source.data, from));
    }
    Ok(Tensor::from_host(HostTensor { data, ..source }))
}

/// The extents of a block that fits a shape.
fn fitting(shape: &[usize], block: &Layout) -> HostResult<Vec<usize>> {
    let sizes: Vec<usize> = block.modes().iter().map(|mode| mode.size() as usize).collect();
    if sizes.len() != shape.len() {
        return Err(HostError::shape(format!(
            "the layout `{block}` has rank {}, and a tensor of shape {} has rank {}",
            sizes.len(),
            show_shape(shape),
            shape.len()
        )));
    }
    if !block.is_injective().unwrap_or(false) || block.cosize() != block.size() {
        return Err(HostError::shape(format!(
            "the layout `{block}` has {} elements in {} places, and a block has each in one of its own and none left over",
            block.size(),
            block.cosize()
        )));
    }
    match shape.iter().zip(&sizes).position(|(n, size)| n % size != 0) {
        Some(axis) => Err(HostError::shape(format!(
            "dimension {axis} is {}, no multiple of {}, that of the block `{block}`",
            shape[axis], sizes[axis]
        ))
        .help("pad the tensor with zeros first")),
        None => Ok(sizes),
    }
}
