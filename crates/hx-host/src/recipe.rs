//! Descriptions of tensors that are made later: by the host at the first read, or by a device, bit for bit the same.
//!
//! A recipe is a draw of random numbers (or one repeated element), functions of each element, and a block layout in which the
//! elements are stored. It knows no device: `hx-launch` makes the same bits on a GPU. There the numbers come from the same
//! ChaCha8 stream, whose blocks are independent of each other, and every operation of the arithmetic (`+ - * /`, `sqrt` of `f64`,
//! the polynomials of `libm::log`) is rounded correctly on both.

use hx_dtype::{Class, DType, load, packed_bytes, store};
use hx_layout::Layout;

use crate::dense::{element_count, stored_count};
use crate::error::HostResult;
use crate::pack::{Digit, fitting, packed, places};
use crate::random::{Seed, check_normal, check_uniform, normal_values, uniform_values};
use crate::stretch::for_each;
use crate::tensor::{HostTensor, convert_bits};

/// Integers of this width and more may be positions.
const POSITION_BITS: u32 = 32;

/// How the elements of a tensor are made.
#[derive(Clone, PartialEq, Debug)]
pub struct Recipe {
    shape: Vec<usize>,
    draw: Draw,
    /// Functions of each element, in the order in which they are applied.
    steps: Vec<Each>,
    block: Option<Layout>,
}

/// The elements before the steps, in row-major order.
#[derive(Clone, PartialEq, Debug)]
pub enum Draw {
    /// Whole bytes that repeat: one element, or several if a byte holds several.
    Repeated { dtype: DType, unit: Vec<u8> },
    /// Standard normal numbers, as [`crate::random::randn`] draws them.
    Normal { dtype: DType, seed: Seed },
    /// Numbers in `[low, high)`, as [`crate::random::uniform`] draws them.
    Uniform { dtype: DType, low: f64, high: f64, seed: Seed },
}

impl Draw {
    /// Returns the element type of the draw.
    pub fn dtype(&self) -> DType {
        match self {
            Draw::Repeated { dtype, .. } | Draw::Normal { dtype, .. } | Draw::Uniform { dtype, .. } => *dtype,
        }
    }
}

/// A function of an element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Each {
    /// The product with a number; the result is an `f64`.
    Scale(f64),
    /// The largest whole number that is not larger; the result is an `f64`.
    Floor,
    /// The conversion of kernels to a type: cut toward zero to integers, rounded to floats.
    Convert(DType),
}

impl Each {
    /// Returns the element type of the results.
    pub fn dtype(self) -> DType {
        match self {
            Each::Scale(_) | Each::Floor => DType::F64,
            Each::Convert(dtype) => dtype,
        }
    }

    /// Applies the function to an element of type `from`.
    fn apply(self, from: DType, bits: u64) -> u64 {
        match self {
            Each::Scale(factor) => (from.decode(bits) * factor).to_bits(),
            Each::Floor => libm::floor(from.decode(bits)).to_bits(),
            Each::Convert(dtype) => convert_bits(from, dtype, bits),
        }
    }
}

impl Recipe {
    fn new(shape: &[usize], draw: Draw) -> Recipe {
        Recipe { shape: shape.to_vec(), draw, steps: Vec::new(), block: None }
    }

    /// Describes a tensor of standard normal numbers.
    ///
    /// # Errors
    /// As for [`crate::random::randn`].
    pub fn normal(dtype: DType, shape: &[usize], seed: Seed) -> HostResult<Recipe> {
        check_normal(dtype)?;
        element_count(shape)?;
        Ok(Recipe::new(shape, Draw::Normal { dtype, seed }))
    }

    /// Describes a tensor of uniform numbers.
    ///
    /// # Errors
    /// As for [`crate::random::uniform`].
    pub fn uniform(dtype: DType, shape: &[usize], low: f64, high: f64, seed: Seed) -> HostResult<Recipe> {
        check_uniform(dtype, low, high)?;
        element_count(shape)?;
        Ok(Recipe::new(shape, Draw::Uniform { dtype, low, high, seed }))
    }

    /// Describes the contents of a tensor that a kernel reads while it is timed: floats are standard normal, and integers of less than 32
    /// bits uniform over all their values. Others are zero ([`Recipe::is_zero_input`]).
    ///
    /// # Errors
    /// If the machine has no room for the shape.
    pub fn of_input(dtype: DType, shape: &[usize], seed: Seed) -> HostResult<Recipe> {
        if Recipe::is_zero_input(dtype) {
            Recipe::full(dtype, shape, 0)
        } else if dtype.is_float() {
            Recipe::normal(dtype, shape, seed)
        } else {
            Recipe::uniform(dtype, shape, dtype.min_value(), dtype.max_value() + 1.0, seed)
        }
    }

    /// Reports whether [`Recipe::of_input`] is zero: kernels use wide integers as positions, and the others are no numbers.
    pub fn is_zero_input(dtype: DType) -> bool {
        !dtype.is_float() && (!dtype.is_int() || dtype.bits() >= POSITION_BITS)
    }

    /// Describes a tensor whose elements all have these bits.
    ///
    /// # Errors
    /// If the machine has no room for the shape.
    pub fn full(dtype: DType, shape: &[usize], bits: u64) -> HostResult<Recipe> {
        stored_count(dtype, shape)?;
        // The unit is a whole number of bytes that repeats: one element, or several if a byte holds several.
        let period = (8 / dtype.bits() as usize).max(1);
        let mut unit = vec![0; packed_bytes(dtype, period)];
        (0..period).for_each(|i| store(dtype, &mut unit, i, bits));
        Ok(Recipe::new(shape, Draw::Repeated { dtype, unit }))
    }

    /// Describes a tensor whose bytes all are `byte`.
    ///
    /// # Errors
    /// If the machine has no room for the shape.
    pub fn bytewise(dtype: DType, shape: &[usize], byte: u8) -> HostResult<Recipe> {
        stored_count(dtype, shape)?;
        Ok(Recipe::new(shape, Draw::Repeated { dtype, unit: vec![byte] }))
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.steps.last().map_or(self.draw.dtype(), |step| step.dtype())
    }

    /// Returns the extents in elements.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Reports whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the elements before the steps.
    pub fn draw(&self) -> &Draw {
        &self.draw
    }

    /// Returns the functions of each element, in order.
    pub fn steps(&self) -> &[Each] {
        &self.steps
    }

    /// Returns the digits that map a place in memory to the element there; `None` if the elements are stored in row-major order.
    pub fn places(&self) -> Option<Vec<Digit>> {
        places(&self.shape, self.block.as_ref()?)
    }

    /// Returns the recipe of `step` of each element. `None` if the host computes it otherwise: elements that are no floats count
    /// in `i64`, and a repeated byte may hold different elements.
    pub fn then(&self, step: Each) -> Option<Recipe> {
        let from = self.dtype();
        if let Draw::Repeated { unit, .. } = &self.draw {
            let bits = load(from, unit, 0);
            let all = (0..(unit.len() * 8) / from.bits() as usize).all(|i| load(from, unit, i) == bits);
            if !all || unit.len() * 8 < from.bits() as usize {
                return None;
            }
            if from.class() != Class::Float && step.dtype() == DType::F64 {
                return None;
            }
            return Recipe::full(step.dtype(), &self.shape, step.apply(from, bits)).ok();
        }
        if from.class() != Class::Float {
            return None;
        }
        let mut next = self.clone();
        next.steps.push(step);
        Some(next)
    }

    /// Returns the recipe of `pack(x, block)`. `None` if the host has to compute it.
    ///
    /// # Errors
    /// As for [`crate::pack::pack`].
    pub fn in_blocks(&self, block: &Layout) -> HostResult<Option<Recipe>> {
        fitting(&self.shape, block)?;
        if let Draw::Repeated { unit, dtype } = &self.draw {
            let whole = unit.len() * 8 >= dtype.bits() as usize;
            let bits = if whole { load(*dtype, unit, 0) } else { 0 };
            let all =
                whole && (0..unit.len() * 8 / dtype.bits() as usize).all(|i| load(*dtype, unit, i) == bits);
            return Ok(all.then(|| self.clone()));
        }
        if self.block.is_some() || places(&self.shape, block).is_none() {
            return Ok(None);
        }
        Ok(Some(Recipe { block: Some(block.clone()), ..self.clone() }))
    }

    /// Makes the packed bytes on the host.
    pub fn bytes(&self) -> Vec<u8> {
        let count = self.len();
        let values = match &self.draw {
            Draw::Repeated { dtype, unit } => {
                let bytes = packed_bytes(*dtype, count);
                let mut data = unit.repeat(bytes.div_ceil(unit.len().max(1)));
                data.truncate(bytes);
                return data;
            }
            Draw::Normal { seed, .. } => normal_values(count, *seed),
            Draw::Uniform { dtype, low, high, seed } => uniform_values(*dtype, count, *low, *high, *seed),
        };
        let (first, dtype) = (self.draw.dtype(), self.dtype());
        let mut data = vec![0; packed_bytes(dtype, count)];
        for_each(0..count, |i| {
            let (mut from, mut bits) = (first, first.encode(values[i]));
            for step in &self.steps {
                bits = step.apply(from, bits);
                from = step.dtype();
            }
            store(dtype, &mut data, i, bits);
        });
        let host = HostTensor { dtype, shape: self.shape.clone(), data };
        match self.block.as_ref().map(|block| packed(&host, block)) {
            // `in_blocks` has checked the layout.
            Some(Ok(blocks)) => blocks.data,
            Some(Err(_)) | None => host.data,
        }
    }

    /// Makes the tensor on the host.
    pub fn host(self) -> HostTensor {
        HostTensor { dtype: self.dtype(), data: self.bytes(), shape: self.shape }
    }
}
