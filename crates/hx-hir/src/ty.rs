//! Types of device code. Shapes are symbolic: compile-time parameters and dimensions are symbols.

use std::fmt;

use hx_dtype::DType;
use hx_index::{Expr, Symbol};

use crate::{MemorySpace, Name};

/// The type of a device expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ty {
    /// Something is wrong and has been reported; whatever touches it stays quiet.
    Error,
    /// Right or wrong cannot be said here; later stages decide.
    Unknown,
    Unit,
    Bool,
    /// A block-uniform integer, with its value where that is known.
    Int(Option<Expr>),
    /// A block-uniform floating-point number; a literal has no element type yet and adapts.
    Float(Option<Elem>),
    Str,
    /// An element type as a value.
    DType(Elem),
    /// A layout, with the extents of its top-level modes where they are known.
    Layout(Option<Vec<Extent>>),
    Range {
        start: Option<Box<Ty>>,
        end: Option<Box<Ty>>,
    },
    /// `new`, in an index.
    New,
    Closure,
    Tuple(Vec<Ty>),
    Array(Vec<Ty>),
    Tensor(TensorTy),
}

/// An extent; nothing where it is not known.
pub type Extent = Option<Expr>;

/// A tensor or a view of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorTy {
    pub elem: Elem,
    pub shape: Vec<Extent>,
    pub space: MemorySpace,
    /// Whether it may be written here.
    pub mutable: bool,
    /// The parameter that it is or looks into.
    pub param: Option<u32>,
    /// Its rows are picked by a table, so it is for reading whatever the parameter is.
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
    /// Whether both are known and differ.
    pub fn differs(&self, other: &Elem) -> bool {
        matches!((self, other), (Elem::Known(a), Elem::Known(b)) if a != b)
    }
}

impl Ty {
    /// Whether nothing can be said of it, so that checks have to stay quiet.
    pub fn is_quiet(&self) -> bool {
        matches!(self, Ty::Error | Ty::Unknown)
    }

    /// Whether it has more parts than `limit`, those of its tuples and arrays counted one by one.
    pub fn has_more_parts_than(&self, limit: usize) -> bool {
        fn count(ty: &Ty, left: &mut usize) -> bool {
            match ty {
                Ty::Tuple(parts) | Ty::Array(parts) => parts.iter().any(|part| count(part, left)),
                Ty::Layout(Some(extents)) => {
                    *left = left.saturating_sub(extents.len());
                    *left == 0
                }
                _ if *left == 0 => true,
                _ => {
                    *left -= 1;
                    false
                }
            }
        }
        count(self, &mut { limit })
    }

    /// What it is in words, for messages.
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
            Ty::Tuple(parts) => format!("a tuple of {}", parts.len()),
            Ty::Array(parts) => format!("an array of {}", parts.len()),
            Ty::Tensor(t) => format!("a {} tensor", space_word(t.space)),
        }
    }
}

/// The word of the language for a memory.
pub fn space_word(space: MemorySpace) -> &'static str {
    match space {
        MemorySpace::Global => "global",
        MemorySpace::Shared => "shared",
        MemorySpace::Register => "register",
    }
}

/// The symbol of a compile-time parameter, as types hold it. It is no dimension: it may have any sign.
pub fn generic_symbol(name: &Name) -> Symbol {
    Symbol::Var(name.clone(), u32::MAX)
}

/// Whether a value is fixed by compile-time parameters alone.
pub fn is_compile_time(value: &Expr) -> bool {
    value.symbols().iter().all(|s| matches!(s, Symbol::Var(_, u32::MAX)))
}

/// Whether two values differ in every case.
pub fn definitely_differ(a: &Expr, b: &Expr) -> bool {
    (a.clone() - b.clone()).as_const().is_some_and(|d| d != 0)
}

/// Whether two shapes of equal rank differ somewhere in every case.
pub fn shapes_differ(a: &[Extent], b: &[Extent]) -> bool {
    a.iter().zip(b).any(|pair| matches!(pair, (Some(a), Some(b)) if definitely_differ(a, b)))
}

/// A shape as it is written; `_` where an extent is not known.
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
            Ty::Tuple(parts) => list(f, parts, "(", if parts.len() == 1 { ",)" } else { ")" }),
            Ty::Array(parts) => list(f, parts, "[", "]"),
            Ty::Tensor(t) => {
                let mutable = if t.mutable && t.space != MemorySpace::Register { "mut " } else { "" };
                write!(f, "{} {mutable}{}{}", space_word(t.space), t.elem, shape_text(&t.shape))
            }
        }
    }
}
