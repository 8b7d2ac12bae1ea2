//! The operands of matrix instructions: in the registers of lanes, or in shared memory.

use hx_dtype::DType;
use serde::Deserialize;

use crate::Fragment;

/// An operand of a matrix product.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Operand {
    /// In registers, with the lane that holds each element.
    Registers(Fragment),
    /// In shared memory, read by the instruction itself.
    Shared(Staged),
}

/// An operand that an instruction reads from memory.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Staged {
    #[serde(rename = "type")]
    pub dtype: DType,
    pub memory: Memory,
}

/// The memories that an instruction reads an operand from.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    Shared,
}

impl Operand {
    pub fn dtype(&self) -> DType {
        match self {
            Operand::Registers(fragment) => fragment.dtype,
            Operand::Shared(staged) => staged.dtype,
        }
    }

    /// Returns the fragment of an operand in registers.
    pub fn fragment(&self) -> Option<&Fragment> {
        match self {
            Operand::Registers(fragment) => Some(fragment),
            Operand::Shared(_) => None,
        }
    }

    /// Returns the number of elements in registers of each lane: 0 for an operand in shared memory.
    pub fn values(&self) -> i64 {
        self.fragment().map_or(0, Fragment::values)
    }
}
