//! Small expressions over layouts, for the command line and the REPL: `compose((4,8):(8,1), 8:2)`.
//!
//! An expression is a literal of the notation, a call of the algebra's functions, a composition with `∘` (or `o`), a comparison
//! with `==`, or a layout applied to a coordinate. `+` or `∪` unite relations, and `∩` intersects them. `a = ..;` names a value for the text after it. A relation is written as isl
//! writes it, in braces, or as a text in quotes. This is not the language: it has no types, no constants of a program and no
//! tensors. Start at [`eval_expr`].

mod convert;
mod functions;
mod read;
mod values;

use std::fmt;
use std::ops::Range;

use crate::isl::{Relation, RelationError};
use crate::{
    AfterSwizzle, ComposedLayout, LayoutError, LinearError, LinearLayout, Swizzle, Tiler, labels::Labeled,
};

pub use functions::{FUNCTIONS, Function};
pub(crate) use read::UNKNOWN;
pub use read::{eval_expr, sides};
pub use values::{apply, call, compose, equal, layout};

/// The value of an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    Int(i64),
    Bool(bool),
    /// `_`.
    Keep,
    /// A tuple, each entry with its label.
    List(Vec<(Option<String>, Value)>),
    /// `<...>`.
    Tiler(Tiler),
    Layout(Labeled),
    Swizzle(Swizzle),
    Composed(ComposedLayout),
    /// `layout ∘ swizzle`.
    AfterSwizzle(AfterSwizzle),
    Linear(LinearLayout),
    Relation(Relation),
    Text(String),
}

/// The reason why an expression has no value. `range` holds the bytes of the text at fault; `None` means the whole text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    pub range: Option<Range<usize>>,
    pub message: String,
}

impl ExprError {
    fn new(range: Range<usize>, message: impl Into<String>) -> ExprError {
        ExprError { range: Some(range), message: message.into() }
    }

    /// Makes an error of the whole expression.
    pub fn whole(message: impl Into<String>) -> ExprError {
        ExprError { range: None, message: message.into() }
    }
}

/// An error whose place is not known yet.
struct Fault(String);

impl From<LayoutError> for Fault {
    fn from(error: LayoutError) -> Self {
        Fault(error.to_string())
    }
}

impl From<LinearError> for Fault {
    fn from(error: LinearError) -> Self {
        Fault(error.to_string())
    }
}

impl From<RelationError> for Fault {
    fn from(error: RelationError) -> Self {
        Fault(error.to_string())
    }
}

impl Value {
    /// Returns the kind of the value with its article, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Int(_) => "an integer",
            Value::Bool(_) => "a truth value",
            Value::Keep => "`_`",
            Value::List(_) => "a tuple",
            Value::Tiler(_) => "a tiler",
            Value::Layout(_) => "a layout",
            Value::Swizzle(_) => "a swizzle",
            Value::Composed(_) => "a composed layout",
            Value::AfterSwizzle(_) => "a layout after a swizzle",
            Value::Linear(_) => "a linear layout",
            Value::Relation(_) => "a relation",
            Value::Text(_) => "a text",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(i) => write!(f, "{i}"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Keep => f.write_str("_"),
            Value::List(entries) => {
                f.write_str("(")?;
                for (i, (label, entry)) in entries.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    if let Some(label) = label {
                        write!(f, "{label}: ")?;
                    }
                    write!(f, "{entry}")?;
                }
                f.write_str(if entries.len() == 1 { ",)" } else { ")" })
            }
            Value::Tiler(tiler) => write!(f, "{tiler}"),
            Value::Layout(layout) => write!(f, "{layout}"),
            Value::Swizzle(swizzle) => write!(f, "{}", swizzle.source_form()),
            Value::Composed(composed) => write!(f, "{}", composed.source_form()),
            Value::AfterSwizzle(after) => write!(f, "{}", after.source_form()),
            Value::Linear(linear) => write!(f, "{linear}"),
            Value::Relation(relation) => write!(f, "{relation}"),
            Value::Text(text) => f.write_str(text),
        }
    }
}
