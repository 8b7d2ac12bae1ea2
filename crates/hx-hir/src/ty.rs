//! Types of device code. Shapes are symbolic: compile-time parameters and dimensions are symbols.

use std::fmt;
use std::sync::Arc;

use hx_dtype::DType;
use hx_index::{Expr, Symbol};

use crate::{ItemKey, MemorySpace, Name};

/// The type of a device expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ty {
    /// The result of an error that has been reported; checks of it report nothing further.
    Error,
    /// A type that inference cannot determine; later stages check it.
    Unknown,
    Unit,
    Bool,
    /// A block-uniform integer, with its value if that is known.
    Int(Option<Expr>),
    /// A block-uniform floating-point number. A literal has no element type yet and adapts.
    Float(Option<Elem>),
    Str,
    /// An element type as a value.
    DType(Elem),
    /// A layout, with the extents of its top-level modes if they are known.
    Layout(Option<Vec<Extent>>),
    Range {
        start: Option<Box<Ty>>,
        end: Option<Box<Ty>>,
    },
    /// `new`, in an index.
    New,
    Closure,
    /// A tile function as an argument; `None` if only an instance knows which one.
    Function(Option<ItemKey>),
    Pipeline,
    /// An order in which groups take turns.
    Turns,
    /// A barrier that several roles come to.
    Barrier,
    /// Numbers that the blocks of a launch draw one at a time.
    Counter,
    /// Clones share the parts, so that a constant of constants takes memory for its own parts only.
    Tuple(Arc<[Ty]>),
    Array(Arc<[Ty]>),
    Tensor(TensorTy),
}

/// An extent; `None` if it is unknown.
pub type Extent = Option<Expr>;

/// A tensor or a view of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorTy {
    pub elem: Elem,
    pub shape: Vec<Extent>,
    pub space: MemorySpace,
    /// Whether the tensor may be written through this value.
    pub mutable: bool,
    /// The parameter that the tensor is, or is a view of.
    pub param: Option<u32>,
    /// Whether a table picks the rows. Such a view is read-only, even if the parameter is mutable.
    pub gathered: bool,
}

/// An element type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Elem {
    Known(DType),
    /// A compile-time parameter.
    Param(Name),
    Unknown,
}

impl Elem {
    /// Reports whether both are known and differ.
    pub fn differs(&self, other: &Elem) -> bool {
        matches!((self, other), (Elem::Known(a), Elem::Known(b)) if a != b)
    }
}

impl Ty {
    /// Reports whether the type is unknown or an error, so that checks must stay silent.
    pub fn is_quiet(&self) -> bool {
        matches!(self, Ty::Error | Ty::Unknown)
    }

    /// Reports whether a value of the type stands for something that compile time fixes and that a `fn` takes by kind: a function,
    /// a pipeline, turns, a barrier or a counter.
    pub fn is_handle(&self) -> bool {
        matches!(self, Ty::Function(_) | Ty::Pipeline | Ty::Turns | Ty::Barrier | Ty::Counter)
    }

    /// Reports whether the type has more than `limit` parts, counting those of nested tuples and arrays. A layout has a part
    /// for each mode.
    pub fn has_more_parts_than(&self, limit: usize) -> bool {
        fn count(ty: &Ty, left: &mut usize) -> bool {
            let own = match ty {
                Ty::Tuple(parts) | Ty::Array(parts) if !parts.is_empty() => {
                    return parts.iter().any(|part| count(part, left));
                }
                Ty::Layout(Some(extents)) => extents.len(),
                _ => 1,
            };
            match left.checked_sub(own) {
                Some(rest) => {
                    *left = rest;
                    false
                }
                None => true,
            }
        }
        count(self, &mut { limit })
    }

    /// Describes the type in words, for messages.
    pub fn what(&self) -> String {
        match self {
            Ty::Error | Ty::Unknown => "a value".into(),
            Ty::Unit => "nothing".into(),
            Ty::Bool => "a truth value".into(),
            Ty::Int(_) => "an integer".into(),
            Ty::Float(_) => "a floating-point number".into(),
            Ty::Str => "a string".into(),
            Ty::DType(_) => "an element type".into(),
            Ty::Layout(_) => "a layout".into(),
            Ty::Range { .. } => "a range".into(),
            Ty::New => "`new`".into(),
            Ty::Closure => "a closure".into(),
            Ty::Function(Some(key)) => format!("the function `{}`", key.name),
            Ty::Function(None) => "a function".into(),
            Ty::Pipeline => "a pipeline".into(),
            Ty::Turns => "turns".into(),
            Ty::Barrier => "a barrier".into(),
            Ty::Counter => "a counter".into(),
            Ty::Tuple(parts) => format!("a tuple of {}", parts.len()),
            Ty::Array(parts) => format!("an array of {}", parts.len()),
            Ty::Tensor(t) => format!("a {} tensor", space_word(t.space)),
        }
    }
}

/// Returns the keyword for a memory.
pub fn space_word(space: MemorySpace) -> &'static str {
    match space {
        MemorySpace::Global => "global",
        MemorySpace::Shared => "shared",
        MemorySpace::Register => "register",
    }
}

/// Returns the symbol of a compile-time parameter in types. It is no dimension symbol, because its value may have any sign.
pub fn generic_symbol(name: &Name) -> Symbol {
    Symbol::Var(name.clone(), u32::MAX)
}

/// Reports whether a value depends on compile-time parameters only.
pub fn is_compile_time(value: &Expr) -> bool {
    value.symbols().iter().all(|s| matches!(s, Symbol::Var(_, u32::MAX)))
}

/// Reports whether two values differ for all values of their symbols.
pub fn definitely_differ(a: &Expr, b: &Expr) -> bool {
    (a.clone() - b.clone()).as_const().is_some_and(|d| d != 0)
}

/// Reports whether two shapes of equal rank have a mode whose extents differ for all values of their symbols.
pub fn shapes_differ(a: &[Extent], b: &[Extent]) -> bool {
    a.iter().zip(b).any(|pair| matches!(pair, (Some(a), Some(b)) if definitely_differ(a, b)))
}

/// Formats a shape as in the source, with `_` for unknown extents.
pub fn shape_text(shape: &[Extent]) -> String {
    let parts: Vec<String> =
        shape.iter().map(|e| e.as_ref().map_or("_".into(), ToString::to_string)).collect();
    format!("[{}]", parts.join(", "))
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Elem::Known(dtype) => write!(f, "{dtype}"),
            Elem::Param(name) => f.write_str(name),
            Elem::Unknown => f.write_str("_"),
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, parts: &[Ty], open: &str, close: &str| {
            f.write_str(open)?;
            for (i, part) in parts.iter().enumerate() {
                let comma = if i > 0 { ", " } else { "" };
                write!(f, "{comma}{part}")?;
            }
            f.write_str(close)
        };
        match self {
            Ty::Error => f.write_str("{error}"),
            Ty::Unknown => f.write_str("_"),
            Ty::Unit => f.write_str("()"),
            Ty::Bool => f.write_str("bool"),
            Ty::Int(Some(value)) => write!(f, "int = {value}"),
            Ty::Int(None) => f.write_str("int"),
            Ty::Float(Some(elem)) => write!(f, "{elem}"),
            Ty::Float(None) => f.write_str("float"),
            Ty::Str => f.write_str("string"),
            Ty::DType(elem) => write!(f, "type = {elem}"),
            Ty::Layout(_) => f.write_str("layout"),
            Ty::Range { .. } => f.write_str("range"),
            Ty::New => f.write_str("new"),
            Ty::Closure => f.write_str("closure"),
            Ty::Function(_) => f.write_str("fn"),
            Ty::Pipeline => f.write_str("pipeline"),
            Ty::Turns => f.write_str("turns"),
            Ty::Barrier => f.write_str("barrier"),
            Ty::Counter => f.write_str("counter"),
            Ty::Tuple(parts) => list(f, parts, "(", if parts.len() == 1 { ",)" } else { ")" }),
            Ty::Array(parts) => list(f, parts, "[", "]"),
            Ty::Tensor(t) => {
                let mutable = if t.mutable && t.space != MemorySpace::Register { "mut " } else { "" };
                write!(f, "{} {mutable}{}{}", space_word(t.space), t.elem, shape_text(&t.shape))
            }
        }
    }
}
