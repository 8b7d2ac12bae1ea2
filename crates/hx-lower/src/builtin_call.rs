//! A call of a built-in function, with its arguments matched to parameters.

use hx_hir::{Arg, ExprId};

/// A call of a built-in function.
pub(crate) struct BuiltinCall<'a, 'db> {
    pub(crate) id: ExprId,
    pub(crate) name: &'static str,
    /// The argument of each parameter, in the order of the parameters; `None` if the call omits it.
    pub(crate) slots: Vec<Option<ExprId>>,
    /// The arguments as written.
    pub(crate) args: &'db [Arg],
    /// The name of the variable that takes the result; `None` if none does.
    pub(crate) hint: Option<&'a str>,
}

impl BuiltinCall<'_, '_> {
    /// Returns the argument of a parameter; `None` if the call omits it.
    pub(crate) fn slot(&self, index: usize) -> Option<ExprId> {
        self.slots.get(index).copied().flatten()
    }
}
