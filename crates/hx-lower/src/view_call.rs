//! The calls of the source that made the views of global memory.

use std::sync::Arc;

use crate::error::Place;

/// A call of `tile` or `global_view`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewCall {
    pub call: Place,
    /// The value of its argument `pad:`, if it has one.
    pub pad: Option<Place>,
}

/// The call that made a view, if one did. Equality ignores it, so views of the same elements are equal wherever they were made.
#[derive(Clone, Default, Debug)]
pub(crate) struct CreatingCall(pub(crate) Option<Arc<ViewCall>>);

impl PartialEq for CreatingCall {
    fn eq(&self, _: &CreatingCall) -> bool {
        true
    }
}
