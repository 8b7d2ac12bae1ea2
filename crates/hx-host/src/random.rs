//! Random tensors and other new tensors.
//!
//! Numbers come from ChaCha8 and platform-independent arithmetic, so a seed gives the same tensor on every platform. The
//! element type affects a number only through rounding.

use hx_base::interrupt::look;
use hx_dtype::DType;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::dense::{Dense, Numbers, element_count};
use crate::error::{HostError, HostResult};
use crate::recipe::Recipe;
use crate::stretch::{STRETCH, generate};
use crate::tensor::{HostTensor, encode, held_int, integer};

/// The source of the numbers of one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seed {
    pub seed: u64,
    /// Distinguishes calls under one seed; 0 if the call names its own seed.
    pub stream: u64,
}

impl Seed {
    fn generator(self) -> ChaCha8Rng {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.seed.to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(bytes);
        generator.set_stream(self.stream);
        generator
    }
}

/// Draws a uniform number in [0, 1), a multiple of 2^-53.
pub(crate) fn unit(generator: &mut ChaCha8Rng) -> f64 {
    (generator.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Draws standard normal numbers of a float type.
///
/// # Errors
/// If `dtype` is not a float, or the machine has no room for the shape.
pub fn randn(dtype: DType, shape: &[usize], seed: Seed) -> HostResult<HostTensor> {
    Recipe::normal(dtype, shape, seed).map(Recipe::host)
}

/// Refuses types that have no normal numbers.
pub(crate) fn check_normal(dtype: DType) -> HostResult<()> {
    if dtype.is_float() {
        return Ok(());
    }
    Err(HostError::ty(format!("`randn` makes floats, and {dtype} is none"))
        .help(format!("`uniform({dtype}, shape, low: 0, high: 10)` makes integers")))
}

/// Returns normal numbers before they are rounded to a type.
pub(crate) fn normal_values(count: usize, seed: Seed) -> Vec<f64> {
    let mut generator = seed.generator();
    let mut values = Vec::with_capacity(count + 1);
    while values.len() < count {
        if values.len().is_multiple_of(STRETCH) {
            look();
        }
        // Marsaglia's polar method gives two independent normal numbers for a point in the unit disc.
        let (u, v) = (2.0 * unit(&mut generator) - 1.0, 2.0 * unit(&mut generator) - 1.0);
        let s = u * u + v * v;
        if s > 0.0 && s < 1.0 {
            let scale = (-2.0 * libm::log(s) / s).sqrt();
            values.push(u * scale);
            values.push(v * scale);
        }
    }
    values.truncate(count);
    values
}

/// Returns the largest number of a float type below a bound.
fn below(dtype: DType, bound: f64) -> f64 {
    let spacing = dtype.ulp(bound);
    // Below a power of two the spacing is half of that above it.
    let near = dtype.round(bound - spacing / 2.0);
    if near < bound { near } else { dtype.round(bound - spacing) }
}

/// Draws uniform numbers in [low, high): real ones for floats, whole ones for integers. A number that the element type would round to
/// `high` becomes the largest one below it.
///
/// # Errors
/// If a bound is not finite, `low >= high`, an integer type does not hold the bounds, or the machine has no room for the shape.
pub fn uniform(dtype: DType, shape: &[usize], low: f64, high: f64, seed: Seed) -> HostResult<HostTensor> {
    Recipe::uniform(dtype, shape, low, high, seed).map(Recipe::host)
}

/// Refuses bounds that hold no number of the type.
pub(crate) fn check_uniform(dtype: DType, low: f64, high: f64) -> HostResult<()> {
    if !(low.is_finite() && high.is_finite() && low < high) {
        return Err(HostError::call(format!(
            "`uniform` needs finite bounds with low < high, and has {low} and {high}"
        )));
    }
    // A draw of scales may begin at 0: its lowest numbers are rounded up, as all are.
    if dtype.is_scale() && (low < 0.0 || high <= dtype.min_value()) {
        return Err(HostError::arithmetic(format!(
            "found the bounds {low} and {high}, and `{dtype}` holds positive numbers"
        )));
    }
    if dtype.is_int() && (low < dtype.min_value() || high > dtype.max_value() + 1.0) {
        return Err(HostError::arithmetic(format!(
            "found the bounds {low} and {high}, and `{dtype}` holds {} to {}",
            integer(dtype, dtype.encode(dtype.min_value())),
            integer(dtype, dtype.encode(dtype.max_value()))
        )));
    }
    Ok(())
}

/// Returns the number that a uniform draw gives instead of one that would be rounded to `high` or beyond.
pub fn largest_below(dtype: DType, high: f64) -> f64 {
    if dtype.is_float() { below(dtype, high) } else { (high - 1.0).ceil() }
}

/// Returns uniform numbers before they are rounded to a type.
pub(crate) fn uniform_values(dtype: DType, count: usize, low: f64, high: f64, seed: Seed) -> Vec<f64> {
    let mut generator = seed.generator();
    let (float, most) = (dtype.is_float(), largest_below(dtype, high));
    generate(count, |_| {
        let x = low + (high - low) * unit(&mut generator);
        match float {
            true if dtype.round(x) < high => x,
            true => most,
            false => x.floor().min(most),
        }
    })
}

/// Makes a tensor whose elements all are `value`, rounded to `dtype`.
///
/// # Errors
/// If the machine has no room for the shape.
pub fn full(dtype: DType, shape: &[usize], value: f64) -> HostResult<HostTensor> {
    full_bits(dtype, shape, dtype.encode(value))
}

/// Makes a tensor whose elements all have these bits.
///
/// # Errors
/// If the machine has no room for the shape.
pub fn full_bits(dtype: DType, shape: &[usize], bits: u64) -> HostResult<HostTensor> {
    Recipe::full(dtype, shape, bits).map(Recipe::host)
}

/// Makes the tensor `start, start + 1, …` below `end`.
///
/// # Errors
/// If an integer type does not hold the first or the last number, or the machine has no room for the numbers.
pub fn arange(dtype: DType, start: i64, end: i64) -> HostResult<HostTensor> {
    let count = usize::try_from(end.saturating_sub(start).max(0)).unwrap_or(usize::MAX);
    element_count(&[count])?;
    if dtype.is_int() && count > 0 {
        held_int(dtype, start)?;
        held_int(dtype, end - 1)?;
    }
    Ok(encode(dtype, Dense { shape: vec![count], data: Numbers::Int((start..end.max(start)).collect()) }))
}

/// Makes the n×m matrix with ones on its diagonal.
///
/// # Errors
/// If the machine has no room for the shape.
pub fn eye(dtype: DType, n: usize, m: usize) -> HostResult<HostTensor> {
    let count = element_count(&[n, m])?;
    let mut values = vec![0.0; count];
    for i in 0..n.min(m) {
        values[i * m + i] = 1.0;
    }
    Ok(encode(dtype, Dense { shape: vec![n, m], data: Numbers::Float(values) }))
}
