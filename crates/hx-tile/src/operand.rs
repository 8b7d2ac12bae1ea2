//! Operands of matrix products: views of register or shared tensors.

use crate::{Base, OpId, TensorId, View};

/// An operand of a matrix product.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    /// The elements: a whole register tensor, or a view of a shared tensor.
    pub view: View,
    /// The numbers that are reserved for a load of a shared view; `None` for a register tensor.
    pub load: Option<LoadIds>,
}

/// The numbers of a load that only a solution adds. The program reserves them, in the order of its text, so that an operation and a tensor
/// have the same number in the program and in every solution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadIds {
    pub op: OpId,
    /// The register tensor that the load fills. The load's origin is the tensor's.
    pub tensor: TensorId,
}

impl Operand {
    /// Returns a whole register tensor as an operand.
    pub fn register(tensor: TensorId, shape: &[i64]) -> Operand {
        Operand { view: View::whole(Base::Register(tensor), shape), load: None }
    }

    /// Returns the tensor that holds the elements; `None` for global memory.
    pub fn tensor(&self) -> Option<TensorId> {
        self.view.base.tensor()
    }
}
