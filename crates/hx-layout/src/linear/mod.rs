//! Linear layouts over F2: functions between named bit spaces whose values are xors of basis vectors.
//!
//! Dimensions are listed minor to major: flattened, the first dimension holds the lowest bits. This module knows bits and names,
//! not what a lane or a register is. Start at [`LinearLayout`]. `ops` has the operations, `convert` the conversions from and to
//! shape:stride layouts, `gf2` the elimination that both use.

mod convert;
mod divide;
mod gf2;
mod ops;
mod position;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::LayoutError;

/// The largest number of bits that the inputs together, or the outputs together, may have.
const MAX_BITS: u32 = 62;

/// An input dimension: its name and, for each of its bits from the lowest, the flattened output of that bit alone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InDim {
    pub name: String,
    pub bases: Vec<u64>,
}

/// An output dimension: its name and number of bits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OutDim {
    pub name: String,
    pub bits: u32,
}

impl OutDim {
    /// Returns the number of its values, a power of two.
    pub fn size(&self) -> u64 {
        1 << self.bits
    }
}

/// A function from named input dimensions to named output dimensions, linear over F2.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Spelled", into = "Spelled")]
pub struct LinearLayout {
    ins: Vec<InDim>,
    outs: Vec<OutDim>,
}

/// The reason why an operation on linear layouts has no result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinearError {
    #[error("size {0} is not a power of two")]
    NotPowerOfTwo(i64),
    #[error("dimension `{0}` is listed twice")]
    DuplicateDim(String),
    #[error("there is no dimension `{0}`")]
    UnknownDim(String),
    #[error("dimensions {found} were given where {wanted} were expected")]
    Dims { found: String, wanted: String },
    #[error(
        "dimension `{name}` is at different positions in {found} and {wanted}, whose other names differ: give both the same names"
    )]
    Moved { name: String, found: String, wanted: String },
    #[error("{what} has {bits} bits, more than {}", MAX_BITS)]
    TooManyBits { what: &'static str, bits: u64 },
    #[error("value {value} does not fit dimension `{dim}` of size {size}")]
    Range { dim: String, value: i64, size: u64 },
    #[error("the layout is not invertible: {0}")]
    NotInvertible(&'static str),
    #[error("the layout is not surjective")]
    NotSurjective,
    #[error("the value of input bit {bit} of `{dim}` is not a value of the other layout")]
    NotInImage { dim: String, bit: usize },
    #[error("no order of dimensions keeps both that of {first} and that of {second}")]
    Order { first: String, second: String },
    #[error("sizes differ: {found} where {wanted} was expected")]
    Size { found: u64, wanted: u64 },
    #[error("the function is not linear over F2: {0}")]
    NotLinear(String),
    #[error(
        "no shape:stride layout has this function: values {0} and {1} share bits, so their sum is not their xor"
    )]
    NotALayout(u64, u64),
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// The serialized form: vectors with one entry for each output dimension.
#[derive(Serialize, Deserialize)]
struct Spelled {
    r#in: Vec<(String, Vec<Vec<i64>>)>,
    out: Vec<(String, i64)>,
}

impl TryFrom<Spelled> for LinearLayout {
    type Error = LinearError;

    fn try_from(spelled: Spelled) -> Result<Self, LinearError> {
        LinearLayout::new(spelled.r#in, spelled.out)
    }
}

impl From<LinearLayout> for Spelled {
    fn from(layout: LinearLayout) -> Self {
        let unpack = |v: &u64| layout.unflatten_out(*v).into_iter().map(|x| x as i64).collect();
        let ins = layout.ins.iter().map(|d| (d.name.clone(), d.bases.iter().map(unpack).collect())).collect();
        let out = layout.outs.iter().map(|d| (d.name.clone(), d.size() as i64)).collect();
        Spelled { r#in: ins, out }
    }
}

impl LinearLayout {
    /// Makes a linear layout from its basis vectors, one entry for each output, and its outputs with their sizes.
    ///
    /// # Errors
    /// If a size is no power of two, a name occurs twice, a vector has another number of entries than there are outputs, an
    /// entry is outside its dimension, or there are too many bits.
    pub fn new(
        ins: Vec<(String, Vec<Vec<i64>>)>,
        outs: Vec<(String, i64)>,
    ) -> Result<LinearLayout, LinearError> {
        let outs = outs.into_iter().map(|(name, size)| Ok(OutDim { name, bits: log2(size)? }));
        let outs = outs.collect::<Result<Vec<_>, LinearError>>()?;
        let mut dims = Vec::with_capacity(ins.len());
        for (name, vectors) in ins {
            let bases = vectors.iter().map(|v| flatten_checked(&outs, v)).collect::<Result<_, _>>()?;
            dims.push(InDim { name, bases });
        }
        LinearLayout::from_flat(dims, outs)
    }

    /// Makes a linear layout from basis vectors that are already flattened.
    ///
    /// # Errors
    /// If a name occurs twice, there are too many bits, or a vector is outside the outputs.
    pub fn from_flat(ins: Vec<InDim>, outs: Vec<OutDim>) -> Result<LinearLayout, LinearError> {
        check_unique(ins.iter().map(|d| &d.name))?;
        check_unique(outs.iter().map(|d| &d.name))?;
        let in_bits = ins.iter().map(|d| d.bases.len() as u64).sum();
        let out_bits = outs.iter().map(|d| u64::from(d.bits)).sum();
        for (what, bits) in [("the input", in_bits), ("the output", out_bits)] {
            if bits > u64::from(MAX_BITS) {
                return Err(LinearError::TooManyBits { what, bits });
            }
        }
        for value in ins.iter().flat_map(|d| &d.bases) {
            if value >> out_bits != 0 {
                let dim = outs.last().map_or(String::new(), |d| d.name.clone());
                return Err(LinearError::Range { dim, value: *value as i64, size: 1 << out_bits });
            }
        }
        Ok(LinearLayout { ins, outs })
    }

    /// Returns the identity on one dimension of this size, from `input` to `output`.
    ///
    /// # Errors
    /// If the size is no power of two.
    pub fn identity(input: &str, output: &str, size: i64) -> Result<LinearLayout, LinearError> {
        let bits = log2(size)?;
        let ins = vec![InDim { name: input.into(), bases: (0..bits).map(|b| 1 << b).collect() }];
        LinearLayout::from_flat(ins, vec![OutDim { name: output.into(), bits }])
    }

    /// Returns the layout that maps every value of one dimension of this size to 0.
    ///
    /// # Errors
    /// If the size is no power of two.
    pub fn zero(input: &str, output: &str, size: i64) -> Result<LinearLayout, LinearError> {
        let ins = vec![InDim { name: input.into(), bases: vec![0; log2(size)? as usize] }];
        LinearLayout::from_flat(ins, vec![OutDim { name: output.into(), bits: 0 }])
    }

    /// Returns the input dimensions, minor to major.
    pub fn ins(&self) -> &[InDim] {
        &self.ins
    }

    /// Returns the output dimensions, minor to major.
    pub fn outs(&self) -> &[OutDim] {
        &self.outs
    }

    /// Returns the number of bits of all inputs together.
    pub fn in_bits(&self) -> u32 {
        self.ins.iter().map(|d| d.bases.len() as u32).sum()
    }

    /// Returns the number of bits of all outputs together.
    pub fn out_bits(&self) -> u32 {
        self.outs.iter().map(|d| d.bits).sum()
    }

    /// Returns the flattened values of the input bits, lowest first.
    pub(crate) fn columns(&self) -> Vec<u64> {
        self.ins.iter().flat_map(|d| d.bases.iter().copied()).collect()
    }

    /// Returns the flattened value at a flattened input. Bits beyond the inputs are ignored.
    pub fn apply_flat(&self, x: u64) -> u64 {
        let mut value = 0;
        for (bit, base) in self.ins.iter().flat_map(|d| &d.bases).enumerate() {
            if (x >> bit) & 1 == 1 {
                value ^= base;
            }
        }
        value
    }

    /// Returns the value at a point, with one entry for each dimension in order.
    ///
    /// # Errors
    /// If the point has another number of entries or one is outside its dimension.
    pub fn apply(&self, point: &[i64]) -> Result<Vec<u64>, LinearError> {
        if point.len() != self.ins.len() {
            return Err(LinearError::Size { found: point.len() as u64, wanted: self.ins.len() as u64 });
        }
        let (mut x, mut shift) = (0u64, 0);
        for (dim, &value) in self.ins.iter().zip(point) {
            let size = 1u64 << dim.bases.len();
            if value < 0 || value as u64 >= size {
                return Err(LinearError::Range { dim: dim.name.clone(), value, size });
            }
            x |= (value as u64) << shift;
            shift += dim.bases.len();
        }
        Ok(self.unflatten_out(self.apply_flat(x)))
    }

    /// Yields the flattened value at each flattened input, in order.
    pub fn table(&self) -> impl Iterator<Item = u64> + '_ {
        (0..1u64 << self.in_bits()).map(|x| self.apply_flat(x))
    }

    /// Splits a flattened output into one entry for each dimension.
    pub fn unflatten_out(&self, value: u64) -> Vec<u64> {
        let mut rest = value;
        let mut take = |d: &OutDim| {
            let here = rest & (d.size() - 1);
            rest >>= d.bits;
            here
        };
        self.outs.iter().map(&mut take).collect()
    }
}

/// Returns the exponent of a power of two. Fails for other numbers.
fn log2(size: i64) -> Result<u32, LinearError> {
    match u64::try_from(size) {
        Ok(n) if n.is_power_of_two() => Ok(n.trailing_zeros()),
        _ => Err(LinearError::NotPowerOfTwo(size)),
    }
}

fn flatten_checked(outs: &[OutDim], vector: &[i64]) -> Result<u64, LinearError> {
    if vector.len() != outs.len() {
        return Err(LinearError::Size { found: vector.len() as u64, wanted: outs.len() as u64 });
    }
    let bits: u64 = outs.iter().map(|d| u64::from(d.bits)).sum();
    if bits > u64::from(MAX_BITS) {
        return Err(LinearError::TooManyBits { what: "the output", bits });
    }
    let (mut value, mut shift) = (0u64, 0);
    for (dim, &entry) in outs.iter().zip(vector) {
        if entry < 0 || entry as u64 >= dim.size() {
            return Err(LinearError::Range { dim: dim.name.clone(), value: entry, size: dim.size() });
        }
        value |= (entry as u64) << shift;
        shift += dim.bits;
    }
    Ok(value)
}

fn check_unique<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), LinearError> {
    let mut seen: Vec<&String> = Vec::new();
    for name in names {
        if seen.contains(&name) {
            return Err(LinearError::DuplicateDim(name.clone()));
        }
        seen.push(name);
    }
    Ok(())
}

/// Lists names for a message: `(lane, register)`.
fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    format!("({})", names.into_iter().collect::<Vec<_>>().join(", "))
}

impl fmt::Display for LinearLayout {
    /// Writes the call that makes the layout: `linear((lane: [(0, 2), (0, 4)], register: [(1, 0)]), (row: 2, col: 8))`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims = |dims: Vec<String>| match dims.is_empty() {
            true => "[]".to_string(),
            false => format!("({})", dims.join(", ")),
        };
        let vector = |value: &u64| match self.unflatten_out(*value).as_slice() {
            [] => "[]".to_string(),
            [only] => only.to_string(),
            more => format!("({})", more.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
        };
        let bases = |dim: &InDim| dim.bases.iter().map(vector).collect::<Vec<_>>().join(", ");
        let ins = self.ins.iter().map(|dim| format!("{}: [{}]", dim.name, bases(dim))).collect();
        let outs = self.outs.iter().map(|out| format!("{}: {}", out.name, out.size())).collect();
        write!(f, "linear({}, {})", dims(ins), dims(outs))
    }
}

impl fmt::Debug for LinearLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
