//! `pack` and `unpack`: reorder the elements of a tensor to a block layout, as a kernel parameter `w: T[n, k] : L` expects.

use hx_base::codes;
use hx_dtype::{load, packed_bytes, store};
use hx_layout::Layout;

use crate::dense::show_shape;
use crate::error::{HostError, HostResult};
use crate::stretch::for_each;
use crate::tensor::{HostTensor, Order, Tensor};

/// Returns a tensor of the same shape whose memory holds the elements in blocks: within each block in the order of `block`, and
/// the blocks in row-major order. The tensor carries the block, so that a launch refuses it where another one is declared.
///
/// # Errors
/// If the tensor is packed, or `block` does not have one mode for each dimension, leaves places empty, uses a place twice, or does not divide
/// the shape.
pub fn pack(x: &Tensor, block: &Layout) -> HostResult<Tensor> {
    match x.order() {
        Order::Plain => {}
        Order::Blocks(order) => {
            let message = format!("the tensor was packed before, as `{order}`");
            return Err(HostError::new(&codes::OTHER_ORDER, message).help("`unpack` reverts `pack`"));
        }
        Order::Part => return Err(part()),
    }
    if let Some(recipe) = x.own_recipe()
        && let Some(packed) = recipe.in_blocks(block)?
    {
        return Ok(Tensor::from_recipe(packed).in_order(block));
    }
    packed(&x.to_host(), block).map(|host| Tensor::from_host(host).in_order(block))
}

/// As [`pack`], of elements in row-major order.
///
/// # Errors
/// As for [`pack`].
pub(crate) fn packed(x: &HostTensor, block: &Layout) -> HostResult<HostTensor> {
    moved(x, block, |element, place| (element, place))
}

/// Reverts [`pack`].
///
/// # Errors
/// If [`pack`] would fail, or the tensor was packed in another order.
pub fn unpack(x: &Tensor, block: &Layout) -> HostResult<Tensor> {
    match x.order() {
        Order::Blocks(order) if !order.is_same_block(block) => {
            let message = format!("the tensor was packed as `{order}`, found `{block}`");
            return Err(HostError::new(&codes::OTHER_ORDER, message));
        }
        Order::Part => return Err(part()),
        // Memory that came from a file or from elsewhere is taken as it is said to be.
        Order::Plain | Order::Blocks(_) => {}
    }
    moved(&x.to_host(), block, |element, place| (place, element)).map(Tensor::from_host)
}

/// Returns the error of a view that is not the whole packed tensor.
fn part() -> HostError {
    HostError::new(
        &codes::OTHER_ORDER,
        "found a part or another view of a packed tensor, whose elements have no known order",
    )
}

/// Moves the elements. `ends` maps the row-major position of an element and its place in the blocks to the positions to read
/// and to write.
///
/// # Errors
/// As for [`pack`].
fn moved(
    source: &HostTensor,
    block: &Layout,
    ends: impl Fn(usize, usize) -> (usize, usize),
) -> HostResult<HostTensor> {
    let sizes = fitting(&source.shape, block)?;
    let modes = block.modes();
    let blocks: Vec<usize> = source.shape.iter().zip(&sizes).map(|(n, size)| n / size).collect();
    let mut data = vec![0; packed_bytes(source.dtype, source.len())];
    let mut at = vec![0; source.shape.len()];
    for_each(0..source.len(), |element| {
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
    });
    Ok(HostTensor { dtype: source.dtype, shape: source.shape.clone(), data })
}

/// A digit of the map from places to elements: place `p` holds the element `Σ (p / div % count) · times`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digit {
    pub div: u64,
    pub count: u64,
    pub times: u64,
}

/// Returns the digits that map each place of a packed tensor to the row-major position of the element there. `None` if the strides of
/// the block are no mixed radix.
pub(crate) fn places(shape: &[usize], block: &Layout) -> Option<Vec<Digit>> {
    let sizes = fitting(shape, block).ok()?;
    let strides = crate::dense::row_major(shape);
    let mut digits = Vec::new();
    let mut inside: Vec<Digit> = Vec::new();
    for (mode, stride) in block.modes().iter().zip(&strides) {
        let mut times = *stride as u64;
        for (count, div) in mode.flatten().into_iter().filter(|(count, _)| *count != 1) {
            let (count, div) = (u64::try_from(count).ok()?, u64::try_from(div).ok()?);
            inside.push(Digit { div, count, times });
            times *= count;
        }
    }
    inside.sort_by_key(|digit| digit.div);
    let mut next = 1;
    for digit in &inside {
        if digit.div != next {
            return None;
        }
        next *= digit.count;
    }
    if next != block.size() as u64 {
        return None;
    }
    digits.extend(inside);
    // The blocks themselves are in row-major order.
    for ((extent, size), stride) in shape.iter().zip(&sizes).zip(&strides).rev() {
        let count = (extent / size) as u64;
        digits.push(Digit { div: next, count, times: (size * stride) as u64 });
        next *= count;
    }
    Some(digits)
}

/// Returns the extents of a block.
///
/// # Errors
/// As for [`pack`].
pub(crate) fn fitting(shape: &[usize], block: &Layout) -> HostResult<Vec<usize>> {
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
