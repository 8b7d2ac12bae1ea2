//! Host tensors: packed bytes in the format of a GPU, and views of them.
//!
//! [`HostTensor`] is the plain, owned form that files and devices exchange. [`Tensor`] is the value of a host program: a
//! rectangular, possibly strided view of a shared buffer, so that a kernel writes a slice in place. Arithmetic works on
//! [`Dense`] numbers instead.

mod described;
mod order;

pub use order::Order;

use std::sync::Arc;

use hx_dtype::{Class, DType, load, packed_bytes, store};

use crate::buffer::{Buffer, Life};
use crate::dense::{Dense, Numbers, element_count, for_each_offset, row_major, show_shape, stored_count};
use crate::error::{HostError, HostResult};
use crate::recipe::Recipe;
use crate::stretch::{for_each, map};

/// The byte that fills new memory of types without NaN.
const POISON_BYTE: u8 = 0xcd;

/// Returns the byte that fills memory never written.
pub(crate) fn poison_byte(dtype: DType) -> u8 {
    if dtype.decode(dtype.mask()).is_nan() { 0xff } else { POISON_BYTE }
}

/// A whole tensor in row-major order, packed as in GPU memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostTensor {
    pub dtype: DType,
    /// The extents in elements.
    pub shape: Vec<usize>,
    /// The elements, packed to [`hx_dtype::packed_bytes`] bytes.
    pub data: Vec<u8>,
}

impl HostTensor {
    /// Makes a tensor whose elements all hold the pattern of memory never written.
    ///
    /// # Errors
    /// If the machine has no room for the shape.
    pub fn poisoned(dtype: DType, shape: &[usize]) -> HostResult<HostTensor> {
        let count = stored_count(dtype, shape)?;
        let byte = poison_byte(dtype);
        Ok(HostTensor { dtype, shape: shape.to_vec(), data: vec![byte; packed_bytes(dtype, count)] })
    }

    /// Makes a tensor of these elements, in row-major order.
    pub(crate) fn of_bits(dtype: DType, shape: &[usize], bits: &[u64]) -> HostTensor {
        let mut data = vec![0; packed_bytes(dtype, bits.len())];
        for_each(0..bits.len(), |i| store(dtype, &mut data, i, bits[i]));
        HostTensor { dtype, shape: shape.to_vec(), data }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Reports whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Reports whether these bits are the pattern of new memory: a NaN that no computation produces, or `0xcd` bytes.
///
/// Returns false for types in which every pattern is an ordinary value.
pub fn is_poison(dtype: DType, bits: u64) -> bool {
    poison_bits(dtype) == Some(bits)
}

/// Returns the pattern of memory never written; `None` for types below 8 bits and for `f8e8m0`, in which every pattern is an ordinary
/// value.
pub fn poison_bits(dtype: DType) -> Option<u64> {
    (dtype.bits() >= 8 && !dtype.is_scale())
        .then(|| u64::from_le_bytes([poison_byte(dtype); 8]) & dtype.mask())
}

/// Decodes an element of an integer type.
pub(crate) fn integer(dtype: DType, bits: u64) -> i128 {
    if dtype.is_signed_int() { i128::from(dtype.sign_extend(bits)) } else { i128::from(bits & dtype.mask()) }
}

/// Encodes an integer, saturated to the range of an integer type. Float types round to nearest; a bool is true unless the
/// integer is 0.
pub fn encode_int(dtype: DType, x: i64) -> u64 {
    match dtype.class() {
        Class::Float => encode_as_float(dtype, i128::from(x)),
        Class::Bool => u64::from(x != 0),
        Class::Int if dtype == DType::U64 => x.max(0) as u64,
        Class::Int if dtype.is_signed_int() => {
            let top = (dtype.mask() >> 1) as i64;
            (x.clamp(-top - 1, top) as u64) & dtype.mask()
        }
        Class::Int => (x.max(0) as u64).min(dtype.mask()),
    }
}

/// Encodes an integer in a float type, rounded once to nearest even.
fn encode_as_float(dtype: DType, x: i128) -> u64 {
    if dtype == DType::F64 {
        return dtype.encode(x as f64);
    }
    // Two roundings, first to `f64` and then to the type, could go wrong: the first may land exactly between two numbers of the
    // type although the integer does not. The first step therefore rounds to odd: it sets the last kept bit if any nonzero bit
    // was cut.
    let (size, digits) = (x.unsigned_abs(), f64::MANTISSA_DIGITS);
    let cut = (u128::BITS - size.leading_zeros()).saturating_sub(digits);
    let kept = size >> cut;
    let kept = kept | u128::from(kept << cut != size);
    let wide = kept as f64 * (1u128 << cut) as f64;
    dtype.encode(if x < 0 { -wide } else { wide })
}

/// Encodes an integer in an integer type that can hold it.
///
/// # Errors
/// If the type cannot hold the integer. Only `cast` wraps.
pub(crate) fn held_int(dtype: DType, x: i64) -> HostResult<u64> {
    let bits = convert_int(dtype, x);
    if integer(dtype, bits) == i128::from(x) {
        return Ok(bits);
    }
    Err(HostError::arithmetic(format!("found {x}, which `{dtype}` cannot hold"))
        .help(format!("`cast({x}, {dtype})` wraps it")))
}

/// Converts a float to the bits of a type. Float types round to nearest even. Integer types cut toward zero and saturate to
/// their range; NaN becomes 0. A bool is true unless the float is 0.
pub fn convert_float(dtype: DType, x: f64) -> u64 {
    match dtype.class() {
        Class::Float => dtype.encode(x),
        Class::Bool => u64::from(x != 0.0),
        Class::Int if dtype == DType::U64 => x as u64,
        Class::Int => encode_int(dtype, x as i64),
    }
}

/// Converts an integer to the bits of a type. It wraps in integer types and is rounded to nearest even in floats; a bool is
/// true unless it is 0.
pub fn convert_int(dtype: DType, x: i64) -> u64 {
    convert_integer(dtype, i128::from(x))
}

fn convert_integer(dtype: DType, x: i128) -> u64 {
    match dtype.class() {
        Class::Int => (x as u64) & dtype.mask(),
        Class::Float => encode_as_float(dtype, x),
        Class::Bool => u64::from(x != 0),
    }
}

/// Converts an element from one type to another, like kernels do.
pub(crate) fn convert_bits(from: DType, to: DType, bits: u64) -> u64 {
    match from.class() {
        Class::Float => convert_float(to, from.decode(bits)),
        Class::Int => convert_integer(to, integer(from, bits)),
        Class::Bool => convert_integer(to, i128::from(bits & 0xff != 0)),
    }
}

/// A snapshot of a buffer's contents, from which views of it can be restored.
#[derive(Debug)]
pub(crate) struct Saved {
    dtype: DType,
    bytes: Arc<Vec<u8>>,
    /// The new buffer that restored views share, made with the first of them.
    buffer: Option<Arc<Buffer>>,
}

impl Saved {
    /// Returns a view of the saved contents with the shape, strides and offset of `like`.
    pub(crate) fn view(&mut self, like: &Tensor) -> Tensor {
        let Saved { dtype, bytes, buffer } = self;
        let buffer = buffer.get_or_insert_with(|| Buffer::new(*dtype, Arc::clone(bytes)));
        Tensor { buffer: Arc::clone(buffer), ..like.clone() }
    }
}

/// A view of a host buffer.
///
/// A clone shares the buffer. Strides and offset count elements and are never negative.
#[derive(Clone, Debug)]
pub struct Tensor {
    buffer: Arc<Buffer>,
    shape: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
}

impl Tensor {
    /// Makes a tensor with a new buffer.
    pub fn from_host(host: HostTensor) -> Tensor {
        let strides = row_major(&host.shape);
        let buffer = Buffer::new(host.dtype, Arc::new(host.data));
        Tensor { buffer, shape: host.shape, strides, offset: 0 }
    }

    /// Makes a tensor whose elements are made at the first read, or by a device.
    pub fn from_recipe(recipe: Recipe) -> Tensor {
        let (shape, strides) = (recipe.shape().to_vec(), row_major(recipe.shape()));
        Tensor { buffer: Buffer::unmade(recipe), shape, strides, offset: 0 }
    }

    /// Returns the recipe of the whole buffer; `None` once its elements were made.
    pub fn recipe(&self) -> Option<Arc<Recipe>> {
        self.buffer.recipe()
    }

    /// Returns the recipe if the view is the whole tensor in row-major order.
    pub(crate) fn own_recipe(&self) -> Option<Arc<Recipe>> {
        let recipe = self.buffer.recipe()?;
        (self.offset == 0 && self.is_contiguous() && self.shape == recipe.shape()).then_some(recipe)
    }

    /// Returns the view of the whole buffer, in one dimension.
    pub fn whole(&self) -> Tensor {
        self.with_view(vec![self.buffer.len], vec![1], 0)
    }

    /// Returns the view of this buffer that `like` is of its own.
    ///
    /// # Panics
    /// A later read panics if the view reaches past the end of this buffer.
    #[must_use]
    pub fn seen_as(&self, like: &Tensor) -> Tensor {
        Tensor { buffer: Arc::clone(&self.buffer), ..like.clone() }
    }

    /// Returns the number of writes to the buffer so far.
    pub fn version(&self) -> u64 {
        self.buffer.version()
    }

    /// Returns a handle that tells when no view of the buffer is left.
    pub fn life(&self) -> Life {
        self.buffer.life()
    }

    /// Drops the contents of the buffer, because a device has written newer ones. A read before [`Tensor::bring`] panics.
    pub fn put_away(&self) {
        self.buffer.put_away();
    }

    /// Reports whether only a device has the contents of the buffer.
    pub fn is_away(&self) -> bool {
        self.buffer.is_away()
    }

    /// Receives the contents of the whole buffer from the device that has them. Does nothing if they are here.
    pub fn bring(&self, bytes: Vec<u8>) {
        self.buffer.bring(bytes);
    }

    /// Makes a view of the bytes of a strided tensor: from its first element to its last.
    ///
    /// # Errors
    /// If there are fewer bytes than the shape and the strides reach.
    pub fn from_span(
        dtype: DType,
        shape: Vec<usize>,
        strides: Vec<usize>,
        bytes: Vec<u8>,
    ) -> HostResult<Tensor> {
        let tensor = Tensor { buffer: Buffer::new(dtype, Arc::new(bytes)), shape, strides, offset: 0 };
        let (needed, found) = (packed_bytes(dtype, tensor.span().len()), tensor.read(<[u8]>::len));
        if found < needed {
            return Err(HostError::shape(format!("found {found} bytes, the tensor reaches over {needed}")));
        }
        Ok(tensor)
    }

    /// Makes a tensor of computed numbers, stored as `f64`, `i64` or `bool`.
    pub fn from_dense(dense: Dense) -> Tensor {
        let dtype = dense.data.dtype();
        Tensor::from_host(encode(dtype, dense))
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.buffer.dtype
    }

    /// Returns the extents in elements.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the distance between neighbours in each dimension, in elements of the buffer.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// Returns the position of the first element in the buffer, in elements.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the identity of the buffer; views of one buffer have equal identities.
    pub fn buffer_id(&self) -> u64 {
        self.buffer.id
    }

    /// Reports whether both views have the same buffer, offset, shape and strides.
    pub fn is_same_view(&self, other: &Tensor) -> bool {
        let view = |t: &Tensor| (t.buffer_id(), t.offset);
        view(self) == view(other) && self.shape == other.shape && self.strides == other.strides
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Reports whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Returns the range of the buffer's elements from the first that this view covers to one past the last.
    pub fn span(&self) -> std::ops::Range<usize> {
        if self.is_empty() {
            return self.offset..self.offset;
        }
        let reach: usize = self.shape.iter().zip(&self.strides).map(|(n, s)| (n - 1) * s).sum();
        self.offset..self.offset + reach + 1
    }

    /// Reports whether the elements are consecutive in row-major order.
    pub fn is_contiguous(&self) -> bool {
        let packed = row_major(&self.shape);
        let mut dims = self.shape.iter().zip(self.strides.iter().zip(&packed));
        self.is_empty() || dims.all(|(&n, (s, p))| n == 1 || s == p)
    }

    /// Returns the position of each element in the buffer, in row-major order of the view.
    pub fn element_offsets(&self) -> Vec<usize> {
        let mut out = Vec::with_capacity(self.len());
        self.offsets(|i| out.push(i));
        out
    }

    /// Returns the bytes of [`Tensor::span`].
    ///
    /// # Errors
    /// If a sub-byte element type makes the span start inside a byte.
    pub fn span_bytes(&self) -> HostResult<Vec<u8>> {
        let range = self.byte_range()?;
        Ok(self.read(|bytes| bytes[range].to_vec()))
    }

    /// Replaces the bytes of [`Tensor::span`] by `data`.
    ///
    /// # Errors
    /// If `data` has another number of bytes, or a sub-byte element type makes the span start inside a byte.
    pub fn write_span_bytes(&self, data: &[u8]) -> HostResult<()> {
        let range = self.byte_range()?;
        if range.len() != data.len() {
            return Err(HostError::shape(format!("{} bytes came back for {}", data.len(), range.len())));
        }
        self.write(|bytes| bytes[range].copy_from_slice(data));
        Ok(())
    }

    fn byte_range(&self) -> HostResult<std::ops::Range<usize>> {
        let span = self.span();
        let (dtype, width) = (self.dtype(), self.dtype().bits() as usize);
        if !(span.start * width).is_multiple_of(8) {
            return Err(HostError::shape(format!(
                "a slice of {dtype} that starts inside a byte has no address"
            ))
            .help("copy it first: `cast(x, ...)` makes a tensor of its own"));
        }
        let start = span.start * width / 8;
        Ok(start..start + packed_bytes(dtype, span.len()))
    }

    /// Returns the stored bits of every element, in row-major order.
    pub fn bits(&self) -> Vec<u64> {
        let dtype = self.dtype();
        let mut out = Vec::with_capacity(self.len());
        self.read(|bytes| self.offsets(|i| out.push(load(dtype, bytes, i))));
        out
    }

    /// Returns the elements as numbers: floats as `f64`, integers as `i64`.
    ///
    /// # Errors
    /// If an element is a `u64` above the range of `i64`, or the machine has no room for the numbers.
    pub fn numbers(&self) -> HostResult<Numbers> {
        let dtype = self.dtype();
        let count = element_count(&self.shape)?;
        self.read(|bytes| match dtype.class() {
            Class::Float => {
                let mut out = Vec::with_capacity(count);
                self.offsets(|i| out.push(dtype.decode(load(dtype, bytes, i))));
                Ok(Numbers::Float(out))
            }
            Class::Int => {
                let mut out = Vec::with_capacity(count);
                let mut too_large = None;
                self.offsets(|i| {
                    let bits = load(dtype, bytes, i);
                    let value = if dtype.is_signed_int() { dtype.sign_extend(bits) } else { bits as i64 };
                    if value < 0 && !dtype.is_signed_int() {
                        too_large = Some(bits);
                    }
                    out.push(value);
                });
                match too_large {
                    Some(bits) => Err(HostError::arithmetic(format!(
                        "the u64 value {bits} does not fit i64, in which the host computes"
                    ))),
                    None => Ok(Numbers::Int(out)),
                }
            }
            Class::Bool => {
                let mut out = Vec::with_capacity(count);
                self.offsets(|i| out.push(load(dtype, bytes, i) & 0xff != 0));
                Ok(Numbers::Bool(out))
            }
        })
    }

    /// Returns the elements as computed numbers, with their shape.
    ///
    /// # Errors
    /// As for [`Tensor::numbers`].
    pub fn dense(&self) -> HostResult<Dense> {
        Ok(Dense { shape: self.shape.clone(), data: self.numbers()? })
    }

    /// Makes a row-major copy.
    pub fn to_host(&self) -> HostTensor {
        let dtype = self.dtype();
        let width = dtype.bits() as usize;
        let packed = packed_bytes(dtype, self.len());
        if self.is_contiguous() && (self.offset * width).is_multiple_of(8) {
            let start = self.offset * width / 8;
            let data = self
                .read(|bytes| if packed == 0 { Vec::new() } else { bytes[start..start + packed].to_vec() });
            return HostTensor { dtype, shape: self.shape.clone(), data };
        }
        let mut data = vec![0; packed];
        let mut next = 0;
        self.read(|bytes| {
            self.offsets(|i| {
                store(dtype, &mut data, next, load(dtype, bytes, i));
                next += 1;
            });
        });
        HostTensor { dtype, shape: self.shape.clone(), data }
    }

    /// Makes a tensor with every element converted to `dtype`, like kernels do ([`convert_float`], [`convert_int`]).
    ///
    /// # Errors
    /// If the machine has no room for the result.
    pub fn cast(&self, dtype: DType) -> HostResult<Tensor> {
        if dtype == self.dtype() {
            return Ok(Tensor::from_host(self.to_host()));
        }
        let from = self.dtype();
        stored_count(dtype, &self.shape)?;
        let bits = map(&self.bits(), |bits| convert_bits(from, dtype, bits));
        Ok(Tensor::from_host(HostTensor::of_bits(dtype, &self.shape, &bits)))
    }

    /// Writes computed numbers whose shape broadcasts to this one. Floats are rounded to the element type.
    ///
    /// # Errors
    /// If the shape of `value` does not broadcast to this one, or the element type cannot hold an integer. Nothing is written then.
    pub fn assign(&self, value: &Dense) -> HostResult<()> {
        if crate::dense::broadcast_shape(&value.shape, &self.shape).as_deref() != Some(&self.shape) {
            return Err(HostError::shape(format!(
                "a value of shape {} does not broadcast to {}",
                show_shape(&value.shape),
                show_shape(&self.shape)
            )));
        }
        let dtype = self.dtype();
        if let (Numbers::Int(v), Class::Int) = (&value.data, dtype.class()) {
            v.iter().try_for_each(|x| held_int(dtype, *x).map(drop))?;
        }
        let bits = encode_all(dtype, &value.broadcast_to(&self.shape));
        self.put_in_order(None);
        let mut next = 0;
        self.write(|bytes| {
            self.offsets(|i| {
                store(dtype, bytes, i, bits[next]);
                next += 1;
            });
        });
        Ok(())
    }

    /// Replaces all elements by `data`, packed in row-major order as [`Tensor::to_host`] returns it.
    ///
    /// # Errors
    /// If `data` has another number of bytes.
    pub fn write_packed(&self, data: &[u8]) -> HostResult<()> {
        let (dtype, wanted) = (self.dtype(), packed_bytes(self.dtype(), self.len()));
        if data.len() != wanted {
            return Err(HostError::shape(format!("{} bytes came back for {wanted}", data.len())));
        }
        let mut next = 0;
        self.write(|bytes| {
            self.offsets(|i| {
                store(dtype, bytes, i, load(dtype, data, next));
                next += 1;
            });
        });
        Ok(())
    }

    /// Reports whether the views share an element.
    pub fn overlaps(&self, other: &Tensor) -> bool {
        let (a, b) = (self.span(), other.span());
        let shared = a.start.max(b.start)..a.end.min(b.end);
        if self.buffer_id() != other.buffer_id() || shared.is_empty() {
            return false;
        }
        // Two interleaved views share a span but no element.
        let mut mine = vec![false; shared.len()];
        self.offsets(|i| {
            if shared.contains(&i) {
                mine[i - shared.start] = true;
            }
        });
        let mut both = false;
        other.offsets(|i| both |= shared.contains(&i) && mine[i - shared.start]);
        both
    }

    /// Returns the view with its dimensions reordered: dimension `i` of the result is dimension `order[i]`.
    ///
    /// # Errors
    /// If `order` does not contain each dimension once.
    pub fn permute(&self, order: &[usize]) -> HostResult<Tensor> {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if sorted != (0..self.shape.len()).collect::<Vec<_>>() {
            return Err(HostError::shape(format!(
                "{} is not an order of the {} dimensions of {}",
                show_shape(order),
                self.shape.len(),
                show_shape(&self.shape)
            )));
        }
        let mut out = self.clone();
        out.shape = order.iter().map(|&d| self.shape[d]).collect();
        out.strides = order.iter().map(|&d| self.strides[d]).collect();
        Ok(out)
    }

    /// Returns the view with its last two dimensions swapped.
    ///
    /// # Errors
    /// If there are fewer than two dimensions.
    pub fn transposed(&self) -> HostResult<Tensor> {
        let rank = self.shape.len();
        if rank < 2 {
            return Err(HostError::shape(format!(
                "`.T` needs two dimensions, and the tensor has shape {}",
                show_shape(&self.shape)
            )));
        }
        let mut out = self.clone();
        out.shape.swap(rank - 2, rank - 1);
        out.strides.swap(rank - 2, rank - 1);
        Ok(out)
    }

    /// Returns the view of this shape that repeats the elements: new leading dimensions, and dimensions of extent 1 that become
    /// longer, have stride 0.
    ///
    /// # Errors
    /// If an extent other than 1 differs from that of `shape`, `shape` has fewer dimensions, or the machine has no room to compute with
    /// that many elements.
    pub fn broadcast_to(&self, shape: &[usize]) -> HostResult<Tensor> {
        let refuse = || {
            HostError::shape(format!(
                "{} cannot be broadcast to {}",
                show_shape(&self.shape),
                show_shape(shape)
            ))
        };
        let added = shape.len().checked_sub(self.shape.len()).ok_or_else(refuse)?;
        element_count(shape)?;
        let mut strides = vec![0; added];
        for (&wanted, (&extent, &stride)) in shape[added..].iter().zip(self.shape.iter().zip(&self.strides)) {
            match extent {
                _ if extent == wanted => strides.push(stride),
                1 => strides.push(0),
                _ => return Err(refuse()),
            }
        }
        Ok(self.with_view(shape.to_vec(), strides, self.offset))
    }

    /// Reports whether two different indices of the view refer to the same element of the buffer, as in a result of
    /// `broadcast_to`.
    pub fn repeats(&self) -> bool {
        if self.is_empty() {
            return false;
        }
        let dims = self.shape.iter().zip(&self.strides).filter(|(extent, _)| **extent > 1);
        let mut dims: Vec<(usize, usize)> = dims.map(|(extent, stride)| (*stride, *extent)).collect();
        dims.sort_unstable();
        // If each stride steps over everything that the smaller ones reach, no two indices meet.
        let mut reach = 0;
        let steps_over = |(stride, extent): &(usize, usize)| {
            let is_over = *stride > reach;
            reach += (extent - 1) * stride;
            is_over
        };
        if dims.iter().all(steps_over) {
            return false;
        }
        let span = self.span();
        let (mut seen, mut again) = (vec![false; span.len()], false);
        self.offsets(|at| again |= std::mem::replace(&mut seen[at - span.start], true));
        again
    }

    /// Returns the same elements in row-major order with another shape: a view if they are contiguous, otherwise a copy.
    ///
    /// # Errors
    /// If the shape has another number of elements, or exceeds the memory limit.
    pub fn reshape(&self, shape: &[usize]) -> HostResult<Tensor> {
        if element_count(shape)? != self.len() {
            return Err(HostError::shape(format!(
                "{} has {} elements, and {} has {}",
                show_shape(&self.shape),
                self.len(),
                show_shape(shape),
                element_count(shape)?
            )));
        }
        let mut out = if self.is_contiguous() { self.clone() } else { Tensor::from_host(self.to_host()) };
        out.shape = shape.to_vec();
        out.strides = row_major(shape);
        Ok(out)
    }

    /// Makes a view of the same buffer. The caller ensures that it stays inside of the buffer.
    pub(crate) fn with_view(&self, shape: Vec<usize>, strides: Vec<usize>, offset: usize) -> Tensor {
        Tensor { buffer: Arc::clone(&self.buffer), shape, strides, offset }
    }

    fn offsets(&self, f: impl FnMut(usize)) {
        for_each_offset(&self.shape, &self.strides, self.offset, f);
    }

    fn read<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.buffer.bytes())
    }

    fn write<R>(&self, f: impl FnOnce(&mut [u8]) -> R) -> R {
        self.buffer.write(f)
    }

    /// Saves the contents of the whole buffer.
    pub(crate) fn save(&self) -> Saved {
        Saved { dtype: self.dtype(), bytes: self.buffer.bytes(), buffer: None }
    }
}

/// Rounds computed numbers to `dtype` and packs them. Integers saturate to the range of an integer type.
pub(crate) fn encode(dtype: DType, dense: Dense) -> HostTensor {
    let count = dense.data.len();
    let mut data = vec![0; packed_bytes(dtype, count)];
    let mut put = |i: usize, bits: u64| store(dtype, &mut data, i, bits);
    match dense.data {
        Numbers::Float(v) => for_each(0..count, |i| put(i, dtype.encode(v[i]))),
        Numbers::Int(v) => for_each(0..count, |i| put(i, encode_int(dtype, v[i]))),
        Numbers::Bool(v) => for_each(0..count, |i| put(i, encode_int(dtype, i64::from(v[i])))),
    }
    HostTensor { dtype, shape: dense.shape, data }
}

fn encode_all(dtype: DType, numbers: &Numbers) -> Vec<u64> {
    match numbers {
        Numbers::Float(v) => map(v, |x| dtype.encode(x)),
        Numbers::Int(v) => map(v, |x| encode_int(dtype, x)),
        Numbers::Bool(v) => map(v, |x| encode_int(dtype, i64::from(x))),
    }
}
