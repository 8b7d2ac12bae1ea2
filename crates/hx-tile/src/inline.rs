//! Instructions that the source writes itself.

use hx_dtype::DType;

use crate::Origin;

/// A text of PTX that a function of the source stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inline {
    /// The name of the function.
    pub name: String,
    /// The text, as in the catalogue: `{d}` is the result, `{s0}`, `{s1}`, … are the operands, and `{{` and `}}` are the braces of PTX.
    /// An operand that the text does not name gives only the elements to which the text is applied.
    pub ptx: String,
    /// The number of instructions of the text.
    pub instructions: u32,
    /// The type of the result.
    pub dtype: DType,
    /// True if two runs with the same operands may differ, so that none may be left out or stand for another.
    pub is_volatile: bool,
    /// The text in the source.
    pub origin: Origin,
}
