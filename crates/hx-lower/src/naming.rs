//! The instructions that a call names by `by`, while it is lowered.

use hx_target::{Instructions, Target};
use hx_tile::{InstructionPin, OpKind};

/// The instructions that a call names.
pub(crate) struct Naming {
    pub(crate) named: Instructions,
    /// Whether an operation of the call is of their kind.
    pub(crate) is_met: bool,
}

impl Naming {
    /// Returns the pin of an operation that the call emits; `None` if none of the instructions makes such an operation.
    pub(crate) fn pin(&mut self, target: Target, kind: &OpKind) -> Option<InstructionPin> {
        let rows = match kind.moved() {
            Some(ends) if self.named.ends(target.rows()).contains(&ends) => self.named.moving(),
            None if matches!(kind, OpKind::Gemm { .. }) && !self.named.products.is_empty() => {
                self.named.products.clone()
            }
            _ => return None,
        };
        self.is_met = true;
        Some(InstructionPin { text: self.named.text.clone(), rows })
    }
}
