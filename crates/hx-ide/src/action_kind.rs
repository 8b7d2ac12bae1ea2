//! The kinds of changes that an editor offers.

/// The kind of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActionKind {
    /// A fix of a diagnostic.
    Fix,
    Rewrite,
    Extract,
    Inline,
}
