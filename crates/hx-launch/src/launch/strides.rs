//! Strides of tensors as numbers: which are packed, which repeat elements, and the values of strides that no element uses.

/// The first dimension or stride that is too large: kernels compute coordinates in signed 32-bit integers.
pub(super) const DIM_LIMIT: i64 = 1 << 31;

/// A stride that a parameter declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Declared {
    /// Whether it is a name that no other entry of the header has.
    pub(super) is_single: bool,
    /// Whether it is the number 1.
    pub(super) is_one: bool,
}

/// Chooses the strides that no element uses, those of dimensions with at most one element, so that the launch can promise most:
/// multiples of 16, and 1 for the last one if no other stride is 1. A name that stands at several places keeps its value.
pub(super) fn with_free(declared: &[Declared], extents: &[i64], actual: &[i64]) -> Vec<i64> {
    let is_empty = extents.contains(&0);
    let free = |axis: usize| {
        let is_used = !is_empty && extents.get(axis).is_some_and(|extent| *extent > 1);
        !is_used && declared.get(axis).is_some_and(|stride| stride.is_single)
    };
    let axes = 0..actual.len();
    let is_unit = |axis: usize| match declared.get(axis) {
        Some(Declared { is_one: true, .. }) => true,
        _ => !free(axis) && actual[axis] == 1,
    };
    let unit = if axes.clone().any(is_unit) { None } else { axes.clone().rev().find(|axis| free(*axis)) };
    let reach = extents.iter().zip(actual).map(|(extent, stride)| extent.saturating_mul(*stride)).max();
    let apart = (reach.filter(|reach| *reach < DIM_LIMIT - 16).unwrap_or(0).max(1) + 15) / 16 * 16;
    let value = |axis| match free(axis) {
        true if unit == Some(axis) => 1,
        true => apart,
        false => actual[axis],
    };
    axes.map(value).collect()
}

/// Reports whether the elements of a tensor are consecutive in row-major order.
pub(super) fn is_packed(extents: &[i64], strides: &[i64]) -> bool {
    let mut next = 1i64;
    let mut is_packed = true;
    for (extent, stride) in extents.iter().zip(strides).rev() {
        is_packed &= *extent == 1 || *stride == next;
        next = next.saturating_mul(*extent);
    }
    is_packed || extents.contains(&0)
}

/// Reports whether each stride steps over everything that the smaller ones reach, so that no two indices refer to one element. A tensor
/// that does not may still repeat none.
pub(super) fn steps_over(extents: &[i64], strides: &[i64]) -> bool {
    if extents.contains(&0) {
        return true;
    }
    let mut dims: Vec<(i64, i64)> =
        strides.iter().zip(extents).filter(|(_, extent)| **extent > 1).map(|(s, n)| (*s, *n)).collect();
    dims.sort_unstable();
    let mut reach = 0i64;
    dims.iter().all(|(stride, extent)| {
        let is_over = *stride > reach;
        reach = reach.saturating_add((extent - 1).saturating_mul(*stride));
        is_over
    })
}
