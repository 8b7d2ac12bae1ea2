//! Host tensors: packed bytes as a GPU reads them, and views into them.
//!
//! [`HostTensor`] is the plain, owned form that files and devices exchange. [`Tensor`] is what a host program holds:
//! a rectangular, possibly strided view of a shared buffer, so that a slice passed to a kernel is written in place.
//! Arithmetic is not here: it happens on [`Dense`] numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use hx_dtype::{DType, load, packed_bytes, store};

use crate::dense::{
    Class, Dense, Numbers, element_count, for_each_offset, row_major, show_shape, stored_count,
};
use crate::error::{HostError, HostResult};
use crate::memory::Held;

/// The byte with which fresh memory of non-float types is filled.
const POISON_BYTE: u8 = 0xcd;

/// A whole tensor in row-major order, packed as in GPU memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostTensor {
    pub dtype: DType,
    /// Extents in elements.
    pub shape: Vec<usize>,
    /// [`hx_dtype::packed_bytes`] of the element count.
    pub data: Vec<u8>,
}

impl HostTensor {
    /// A tensor whose every element is the poison that marks memory never written.
    ///
    /// Fails where the shape does not fit an address space.
    pub fn poisoned(dtype: DType, shape: &[usize]) -> HostResult<HostTensor> {
        let count = stored_count(dtype, shape)?;
        let byte = if dtype.is_float() { 0xff } else { POISON_BYTE };
        Ok(HostTensor { dtype, shape: shape.to_vec(), data: vec![byte; packed_bytes(dtype, count)] })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// True for no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// True for the bits that fresh memory holds: a NaN no computation makes, or `0xcd` bytes.
///
/// Below a byte every pattern is an ordinary value, so the answer is false.
pub fn is_poison(dtype: DType, bits: u64) -> bool {
    if dtype.bits() < 8 {
        false
    } else if dtype.is_float() {
        bits == dtype.mask()
    } else {
        bits == u64::from_le_bytes([POISON_BYTE; 8]) & dtype.mask()
    }
}

/// The bits of an integer in a type, saturated to its range; floats round to nearest.
pub fn encode_int(dtype: DType, x: i64) -> u64 {
    match Class::of(dtype) {
        Class::Float => dtype.encode(x as f64),
        Class::Bool => u64::from(x != 0),
        Class::Int if dtype == DType::U64 => x.max(0) as u64,
        Class::Int if dtype.is_signed_int() => {
            let top = (dtype.mask() >> 1) as i64;
            (x.clamp(-top - 1, top) as u64) & dtype.mask()
        }
        Class::Int => (x.max(0) as u64).min(dtype.mask()),
    }
}

/// The bits of a converted float: rounded to nearest even where the type has fractions, else cut toward zero and kept within the range
/// of the type; NaN becomes 0.
pub fn convert_float(dtype: DType, x: f64) -> u64 {
    match Class::of(dtype) {
        Class::Float => dtype.encode(x),
        Class::Bool => u64::from(x != 0.0),
        Class::Int if dtype == DType::U64 => x as u64,
        Class::Int => encode_int(dtype, x as i64),
    }
}

/// The bits of a converted integer: between integers it wraps.
pub fn convert_int(dtype: DType, x: i64) -> u64 {
    match Class::of(dtype) {
        Class::Int => (x as u64) & dtype.mask(),
        Class::Float | Class::Bool => encode_int(dtype, x),
    }
}

/// Memory that views share.
#[derive(Debug)]
struct Buffer {
    dtype: DType,
    /// Distinguishes buffers, so that overlapping arguments can be found.
    id: u64,
    /// Copied at a write while someone else holds the content, too.
    bytes: RwLock<Arc<Vec<u8>>>,
    _held: Held,
}

impl Buffer {
    fn new(dtype: DType, bytes: Arc<Vec<u8>>) -> Arc<Buffer> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let held = Held::new(bytes.len());
        Arc::new(Buffer {
            dtype,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            bytes: RwLock::new(bytes),
            _held: held,
        })
    }
}

/// The content of a buffer at some time, for whoever may want it back.
#[derive(Debug)]
pub(crate) struct Saved {
    dtype: DType,
    bytes: Arc<Vec<u8>>,
    /// The buffer that the views of the content share once there is one.
    buffer: Option<Arc<Buffer>>,
}

impl Saved {
    /// A view of the saved content, shaped as that one.
    pub(crate) fn view(&mut self, like: &Tensor) -> Tensor {
        let Saved { dtype, bytes, buffer } = self;
        let buffer = buffer.get_or_insert_with(|| Buffer::new(*dtype, Arc::clone(bytes)));
        Tensor { buffer: Arc::clone(buffer), ..like.clone() }
    }
}

/// A view of a host buffer.
///
/// Cloning shares the buffer. Strides and offset count elements and are never negative.
#[derive(Clone, Debug)]
pub struct Tensor {
    buffer: Arc<Buffer>,
    shape: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
}

impl Tensor {
    /// A tensor over memory of its own.
    pub fn from_host(host: HostTensor) -> Tensor {
        let strides = row_major(&host.shape);
        let buffer = Buffer::new(host.dtype, Arc::new(host.data));
        Tensor { buffer, shape: host.shape, strides, offset: 0 }
    }

    /// Computed numbers, stored as `f64`, `i64` or `bool`.
    pub fn from_dense(dense: Dense) -> Tensor {
        let dtype = dense.data.class().dtype();
        Tensor::from_host(encode(dtype, dense))
    }

    pub fn dtype(&self) -> DType {
        self.buffer.dtype
    }

    /// Extents in elements.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Distance between neighbours of each dimension, in elements of the buffer.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// Position of the first element in the buffer, in elements.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Which buffer this looks into; equal for views of one buffer.
    pub fn buffer_id(&self) -> u64 {
        self.buffer.id
    }

    /// True where both look at the same elements in the same order.
    pub fn is_same_view(&self, other: &Tensor) -> bool {
        let view = |t: &Tensor| (t.buffer_id(), t.offset);
        view(self) == view(other) && self.shape == other.shape && self.strides == other.strides
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// True for no elements.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Elements of the buffer from the first that this covers to one past the last.
    pub fn span(&self) -> std::ops::Range<usize> {
        if self.is_empty() {
            return self.offset..self.offset;
        }
        let reach: usize = self.shape.iter().zip(&self.strides).map(|(n, s)| (n - 1) * s).sum();
        self.offset..self.offset + reach + 1
    }

    /// True where the elements lie one after the other in row-major order.
    pub fn is_contiguous(&self) -> bool {
        let packed = row_major(&self.shape);
        let mut dims = self.shape.iter().zip(self.strides.iter().zip(&packed));
        self.is_empty() || dims.all(|(&n, (s, p))| n == 1 || s == p)
    }

    /// Bytes of the covered span, starting at its first element.
    ///
    /// Fails where a sub-byte element type makes the span start inside a byte.
    pub fn span_bytes(&self) -> HostResult<Vec<u8>> {
        let range = self.byte_range()?;
        Ok(self.read(|bytes| bytes[range].to_vec()))
    }

    /// Replaces the bytes of the covered span by `data`, which has as many.
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

    /// The stored bits of every element, in row-major order.
    pub fn bits(&self) -> Vec<u64> {
        let dtype = self.dtype();
        let mut out = Vec::with_capacity(self.len());
        self.read(|bytes| self.offsets(|i| out.push(load(dtype, bytes, i))));
        out
    }

    /// The elements as numbers: floats as `f64`, integers as `i64`.
    ///
    /// Fails on a `u64` above the range of `i64`, and where the machine has no room for them.
    pub fn numbers(&self) -> HostResult<Numbers> {
        let dtype = self.dtype();
        let count = element_count(&self.shape)?;
        self.read(|bytes| match Class::of(dtype) {
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

    /// The elements as computed numbers with their shape.
    pub fn dense(&self) -> HostResult<Dense> {
        Ok(Dense { shape: self.shape.clone(), data: self.numbers()? })
    }

    /// A row-major copy.
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

    /// A tensor of its own with every element converted to `dtype`, as kernels convert ([`convert_float`], [`convert_int`]).
    pub fn cast(&self, dtype: DType) -> HostResult<Tensor> {
        if dtype == self.dtype() {
            return Ok(Tensor::from_host(self.to_host()));
        }
        let dense = self.dense()?;
        let bits: Vec<u64> = match dense.data {
            Numbers::Float(v) => v.into_iter().map(|x| convert_float(dtype, x)).collect(),
            Numbers::Int(v) => v.into_iter().map(|x| convert_int(dtype, x)).collect(),
            Numbers::Bool(v) => v.into_iter().map(|x| convert_int(dtype, i64::from(x))).collect(),
        };
        let mut data = vec![0; packed_bytes(dtype, bits.len())];
        bits.into_iter().enumerate().for_each(|(i, bits)| store(dtype, &mut data, i, bits));
        Ok(Tensor::from_host(HostTensor { dtype, shape: dense.shape, data }))
    }

    /// Writes computed numbers of a shape that broadcasts to this one, rounded to the element type.
    pub fn assign(&self, value: &Dense) -> HostResult<()> {
        if crate::dense::broadcast_shape(&value.shape, &self.shape).as_deref() != Some(&self.shape) {
            return Err(HostError::shape(format!(
                "a value of shape {} does not broadcast to {}",
                show_shape(&value.shape),
                show_shape(&self.shape)
            )));
        }
        let dtype = self.dtype();
        let bits = encode_all(dtype, value.broadcast_to(&self.shape));
        let mut next = 0;
        self.write(|bytes| {
            self.offsets(|i| {
                store(dtype, bytes, i, bits[next]);
                next += 1;
            });
        });
        Ok(())
    }

    /// Replaces every element by those of `data`, packed in row-major order as [`Tensor::to_host`] gives them.
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

    /// True where an element of this view lies at the same place as one of the other.
    pub fn overlaps(&self, other: &Tensor) -> bool {
        let (a, b) = (self.span(), other.span());
        let shared = a.start.max(b.start)..a.end.min(b.end);
        if self.buffer_id() != other.buffer_id() || shared.is_empty() {
            return false;
        }
        // Two interleaved views share a span and no element.
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

    /// The view with its dimensions in another order; `order` holds each dimension once.
    pub fn permute(&self, order: &[usize]) -> HostResult<Tensor> {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if sorted != (0..self.shape.len()).collect::<Vec<_>>() {
            return Err(HostError::shape(format!(
                "{} is no order of the {} dimensions of {}",
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

    /// The view with its last two dimensions swapped.
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

    /// The same elements in row-major order under another shape: a view where they are contiguous, else a copy.
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

    /// A view built from this one's parts; the caller keeps it inside of the buffer.
    pub(crate) fn with_view(&self, shape: Vec<usize>, strides: Vec<usize>, offset: usize) -> Tensor {
        Tensor { buffer: Arc::clone(&self.buffer), shape, strides, offset }
    }

    fn offsets(&self, f: impl FnMut(usize)) {
        for_each_offset(&self.shape, &self.strides, self.offset, f);
    }

    // A panic while the lock was held cannot leave bytes half-valid, so a poisoned lock is taken as it is.
    fn read<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.buffer.bytes.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<R>(&self, f: impl FnOnce(&mut [u8]) -> R) -> R {
        let mut bytes = self.buffer.bytes.write().unwrap_or_else(PoisonError::into_inner);
        f(Arc::make_mut(&mut *bytes).as_mut_slice())
    }

    /// The content of the whole buffer as it is now.
    pub(crate) fn save(&self) -> Saved {
        let bytes = self.buffer.bytes.read().unwrap_or_else(PoisonError::into_inner);
        Saved { dtype: self.dtype(), bytes: Arc::clone(&bytes), buffer: None }
    }
}

/// Computed numbers rounded and packed.
pub(crate) fn encode(dtype: DType, dense: Dense) -> HostTensor {
    let count = dense.data.len();
    let mut data = vec![0; packed_bytes(dtype, count)];
    match dense.data {
        Numbers::Float(v) => {
            for (i, &x) in v.iter().enumerate() {
                store(dtype, &mut data, i, dtype.encode(x));
            }
        }
        other => {
            for (i, bits) in encode_all(dtype, other).into_iter().enumerate() {
                store(dtype, &mut data, i, bits);
            }
        }
    }
    HostTensor { dtype, shape: dense.shape, data }
}

fn encode_all(dtype: DType, numbers: Numbers) -> Vec<u64> {
    match numbers {
        Numbers::Float(v) => v.into_iter().map(|x| dtype.encode(x)).collect(),
        Numbers::Int(v) => v.into_iter().map(|x| encode_int(dtype, x)).collect(),
        Numbers::Bool(v) => v.into_iter().map(|x| encode_int(dtype, i64::from(x))).collect(),
    }
}
