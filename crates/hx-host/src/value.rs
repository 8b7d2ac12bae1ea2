//! Values of the host language, and conversions between them.

use std::sync::Arc;

use hx_base::{codes, limits};
use hx_dtype::{Class, DType};
use hx_hir::{ExprId, ItemKey, PatId};
use la_arena::ArenaMap;

use crate::archive::Archive;
use crate::counted::{Parts, Text};
use crate::dense::{Dense, Numbers};
use crate::error::{HostError, HostResult};
use crate::show::{Look, show_tensor, show_tensor_at};
use crate::tensor::{HostTensor, Tensor, integer};

/// The largest number of parts of a tuple or list, including those of nested ones. Visiting that many takes a few milliseconds.
const MAX_PARTS: usize = 1 << 18;
/// The largest number of bytes of a string.
const MAX_TEXT: usize = 16 << 20;

/// The value of a host expression.
#[derive(Clone, Debug)]
pub enum Value {
    /// `()`: the value of a statement.
    Unit,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Text),
    DType(DType),
    /// A view of a host tensor; clones share its memory.
    Tensor(Tensor),
    Tuple(Parts),
    /// `[a, b]`.
    List(Parts),
    /// `start..end` of whole numbers.
    Range(i64, i64),
    /// A layout of any kind, a swizzle or a tiler.
    Layout(Box<hx_layout::expr::Value>),
    /// `|a, b| a + b`.
    Closure(Arc<Closure>),
    /// A tile function, as a compile-time argument of a launch.
    Function(ItemKey),
    /// An open `.safetensors` file.
    Archive(Arc<Archive>),
    /// `auto`.
    Auto,
    /// `_`: a mode that a tiler keeps.
    Wildcard,
}

/// A closure with the locals that were visible where it was written.
#[derive(Clone, Debug)]
pub struct Closure {
    pub(crate) key: ItemKey,
    pub(crate) params: Vec<PatId>,
    pub(crate) body: ExprId,
    pub(crate) locals: ArenaMap<PatId, Value>,
}

impl Closure {
    /// Returns the closure with its captured tensors replaced.
    pub(crate) fn map_tensors(&self, map: &mut dyn FnMut(&Tensor) -> Tensor) -> Closure {
        let locals = self.locals.iter().map(|(pat, value)| (pat, value.map_tensors(map))).collect();
        Closure { locals, ..self.clone() }
    }
}

impl Value {
    /// Describes the kind of the value, with its article: `a tensor f16[2, 3]`, `an integer`.
    pub fn kind(&self) -> String {
        match self {
            Value::Unit => "nothing".to_owned(),
            Value::Bool(_) => "a bool".to_owned(),
            Value::Int(_) => "an integer".to_owned(),
            Value::Float(_) => "a float".to_owned(),
            Value::Str(_) => "a string".to_owned(),
            Value::DType(_) => "an element type".to_owned(),
            Value::Tensor(t) => format!("a tensor {}{}", t.dtype(), crate::dense::show_shape(t.shape())),
            Value::Tuple(v) => format!("a tuple of {}", v.len()),
            Value::List(v) => format!("a list of {}", v.len()),
            Value::Range(..) => "a range".to_owned(),
            Value::Layout(l) => l.kind().to_owned(),
            Value::Closure(_) => "a closure".to_owned(),
            Value::Function(key) => format!("the function `{}`", key.name),
            Value::Archive(_) => "a file of tensors".to_owned(),
            Value::Auto => "`auto`".to_owned(),
            Value::Wildcard => "`_`".to_owned(),
        }
    }

    /// Makes a tuple or list of parts.
    ///
    /// # Errors
    /// If there are too many parts, including those of nested tuples and lists, or if they exceed the memory limit.
    pub(crate) fn compound(parts: Vec<Value>, make: fn(Parts) -> Value) -> HostResult<Value> {
        crate::memory::claim(Some(size_of_val(&*parts)), || "a tuple or list".to_owned())?;
        let value = make(parts.into());
        value.claim_parts().map(|()| value)
    }

    fn claim_parts(&self) -> HostResult<()> {
        fn count(value: &Value, left: &mut usize) -> bool {
            match value {
                Value::Tuple(parts) | Value::List(parts) if !parts.is_empty() => {
                    parts.iter().all(|part| count(part, left))
                }
                _ => match left.checked_sub(1) {
                    Some(rest) => {
                        *left = rest;
                        true
                    }
                    None => false,
                },
            }
        }
        let most = most_parts();
        if count(self, &mut { most }) { Ok(()) } else { Err(too_many(most)) }
    }

    /// Checks a number of parts before they are made.
    ///
    /// # Errors
    /// If a tuple or list cannot have that many parts.
    pub(crate) fn claim_count(count: usize) -> HostResult<()> {
        let most = most_parts();
        if count <= most { Ok(()) } else { Err(too_many(most)) }
    }

    /// Joins two strings.
    ///
    /// # Errors
    /// If the result is too long.
    pub(crate) fn joined(a: &str, b: &str) -> HostResult<Value> {
        let bytes = a.len().saturating_add(b.len());
        if bytes > MAX_TEXT {
            let message = format!(
                "found a string of {}, expected at most {}",
                limits::byte_text(bytes as u64),
                limits::byte_text(MAX_TEXT as u64)
            );
            return Err(HostError::new(&codes::MEMORY_LIMIT, message).help("`print` it in pieces"));
        }
        crate::memory::claim(Some(bytes), || "a string".to_owned())?;
        Ok(Value::Str([a, b].concat().into()))
    }

    /// Returns the value with each tensor in it, nested ones included, replaced by `map` of the tensor.
    pub(crate) fn map_tensors(&self, map: &mut dyn FnMut(&Tensor) -> Tensor) -> Value {
        match self {
            Value::Tensor(t) => Value::Tensor(map(t)),
            Value::Tuple(v) => Value::Tuple(v.iter().map(|v| v.map_tensors(map)).collect()),
            Value::List(v) => Value::List(v.iter().map(|v| v.map_tensors(map)).collect()),
            Value::Closure(c) => Value::Closure(Arc::new(c.map_tensors(map))),
            other => other.clone(),
        }
    }

    /// Calls `f` with each tensor in the value, nested ones included.
    pub(crate) fn each_tensor(&self, f: &mut dyn FnMut(&Tensor)) {
        match self {
            Value::Tensor(tensor) => f(tensor),
            Value::Tuple(parts) | Value::List(parts) => parts.iter().for_each(|part| part.each_tensor(f)),
            // The variables of a closure are brought when its body names them.
            _ => {}
        }
    }

    /// Converts to a number or tensor of numbers; nested lists of numbers become tensors.
    ///
    /// # Errors
    /// If the value is neither a number, a tensor nor a list of such; if the shapes in a list differ; or as for [`Tensor::numbers`].
    pub fn dense(&self) -> HostResult<Dense> {
        match self {
            Value::Bool(b) => Ok(Dense::scalar(Numbers::Bool(vec![*b]))),
            Value::Int(i) => Ok(Dense::scalar(Numbers::Int(vec![*i]))),
            Value::Float(x) => Ok(Dense::scalar(Numbers::Float(vec![*x]))),
            Value::Tensor(t) => t.dense(),
            Value::List(items) => stack(items),
            other => Err(HostError::ty(format!("{} is neither a number nor a tensor", other.kind()))),
        }
    }

    /// Converts to a tensor; a number becomes a tensor without dimensions.
    ///
    /// # Errors
    /// As for [`Value::dense`].
    pub fn tensor(&self) -> HostResult<Tensor> {
        match self {
            Value::Tensor(t) => Ok(t.clone()),
            other => Ok(Tensor::from_dense(other.dense()?)),
        }
    }

    /// Converts a computed array to a value; an array without dimensions becomes a plain number.
    pub fn from_dense(dense: Dense) -> Value {
        if !dense.shape.is_empty() {
            return Value::Tensor(Tensor::from_dense(dense));
        }
        match dense.data {
            Numbers::Float(v) => Value::Float(v.first().copied().unwrap_or_default()),
            Numbers::Int(v) => Value::Int(v.first().copied().unwrap_or_default()),
            Numbers::Bool(v) => Value::Bool(v.first().copied().unwrap_or_default()),
        }
    }

    /// Converts a view to a value; a view without dimensions becomes a number.
    pub fn from_view(tensor: Tensor) -> Value {
        // Only a single element is read: the elements of a larger view may not be made yet.
        match (tensor.shape(), tensor.dtype()) {
            ([], dtype) => Value::from_bits(dtype, tensor.bits()[0]),
            _ => Value::Tensor(tensor),
        }
    }

    /// Converts one element to a value: a plain number if that can hold it, otherwise (a `u64` of 2⁶³ or more) a tensor without
    /// dimensions.
    pub(crate) fn from_bits(dtype: DType, bits: u64) -> Value {
        match dtype.class() {
            Class::Float => Value::Float(dtype.decode(bits)),
            Class::Bool => Value::Bool(bits & 0xff != 0),
            Class::Int => match i64::try_from(integer(dtype, bits)) {
                Ok(plain) => Value::Int(plain),
                Err(_) => Value::Tensor(Tensor::from_host(HostTensor::of_bits(dtype, &[], &[bits]))),
            },
        }
    }

    /// Returns the value as a whole number.
    ///
    /// # Errors
    /// If the value is not an integer.
    pub fn int(&self) -> HostResult<i64> {
        match self {
            Value::Int(i) => Ok(*i),
            other => Err(HostError::ty(format!("found {}, an integer is needed", other.kind()))),
        }
    }

    /// Returns the value as a real number; integers convert.
    ///
    /// # Errors
    /// If the value is not a number.
    pub fn float(&self) -> HostResult<f64> {
        match self {
            Value::Int(i) => Ok(*i as f64),
            Value::Float(x) => Ok(*x),
            other => Err(HostError::ty(format!("found {}, a number is needed", other.kind()))),
        }
    }

    /// Returns the value as a string.
    ///
    /// # Errors
    /// If the value is not a string.
    pub fn str(&self) -> HostResult<&str> {
        match self {
            Value::Str(s) => Ok(s),
            other => Err(HostError::ty(format!("found {}, a string is needed", other.kind()))),
        }
    }

    /// Returns the value as an element type.
    ///
    /// # Errors
    /// If the value is not an element type.
    pub fn dtype(&self) -> HostResult<DType> {
        match self {
            Value::DType(d) => Ok(*d),
            other => {
                Err(HostError::ty(format!("found {}, an element type such as `f16` is needed", other.kind())))
            }
        }
    }

    /// Returns the value as extents: an integer, or a tuple or list of integers.
    ///
    /// # Errors
    /// If the value is not a shape, or an extent is negative.
    pub fn shape(&self) -> HostResult<Vec<usize>> {
        match self {
            Value::Int(_) => Ok(vec![extent(self)?]),
            Value::Tuple(v) | Value::List(v) => v.iter().map(extent).collect(),
            other => {
                Err(HostError::ty(format!("found {}, a shape such as `[64, 64]` is needed", other.kind())))
            }
        }
    }

    /// Formats the value for messages: short and on one line.
    pub fn brief(&self) -> String {
        match self {
            Value::Tensor(t) => format!("{}{}", t.dtype(), crate::dense::show_shape(t.shape())),
            Value::Str(s) => format!("{s:?}"),
            Value::Tuple(v) => enclose("(", v, ")", Value::brief),
            Value::List(v) => enclose("[", v, "]", Value::brief),
            other => other.to_string(),
        }
    }
}

/// Returns the largest number of parts of a tuple or list: [`MAX_PARTS`], or fewer if the memory limit has no room for them.
fn most_parts() -> usize {
    let room = usize::try_from(crate::memory::limit()).unwrap_or(usize::MAX) / size_of::<Value>();
    MAX_PARTS.min(room)
}

fn too_many(most: usize) -> HostError {
    let message = format!("found a tuple or list of more than {most} parts, which is the limit");
    let error = HostError::new(&codes::MEMORY_LIMIT, message);
    match most {
        MAX_PARTS => error.help("a tensor has room for more: `zeros(f64, [1000000])`"),
        _ => error.help("`--memory SIZE` changes the limit"),
    }
}

fn extent(value: &Value) -> HostResult<usize> {
    let n = value.int()?;
    usize::try_from(n).map_err(|_| HostError::shape(format!("{n} is not an extent")))
}

fn enclose(open: &str, items: &[Value], close: &str, show: impl Fn(&Value) -> String) -> String {
    let shown: Vec<String> = items.iter().map(show).collect();
    let comma = if open == "(" && items.len() == 1 { "," } else { "" };
    format!("{open}{}{comma}{close}", shown.join(", "))
}

impl Value {
    /// Formats the value as `print` does, a tensor in the width and digits of `look`.
    pub fn shown(&self, look: Look) -> String {
        match self {
            Value::Tensor(tensor) => show_tensor_at(tensor, "", look),
            other => other.to_string(),
        }
    }
}

/// Formats the value as `print` does, with strings unquoted.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Value::Unit => "()".to_owned(),
            Value::Bool(b) => b.to_string(),
            Value::Int(i) => i.to_string(),
            Value::Float(x) if x.is_nan() => "nan".to_owned(),
            Value::Float(x) => format!("{x:?}"),
            Value::Str(s) => s.to_string(),
            Value::DType(d) => d.to_string(),
            Value::Tensor(t) => show_tensor(t),
            Value::Tuple(v) => enclose("(", v, ")", Value::brief),
            Value::List(v) => enclose("[", v, "]", Value::brief),
            Value::Range(a, b) => format!("{a}..{b}"),
            Value::Layout(l) => l.to_string(),
            Value::Closure(_) => "a closure".to_owned(),
            Value::Function(key) => key.name.to_string(),
            Value::Archive(a) => a.to_string(),
            Value::Auto => "auto".to_owned(),
            Value::Wildcard => "_".to_owned(),
        };
        f.write_str(&text)
    }
}

/// Stacks numbers, or lists of equal shape, into one array with a new first dimension. An empty list becomes an array of floats
/// of shape `[0]`.
///
/// # Errors
/// If the shapes differ, or as for [`Value::dense`].
fn stack(items: &[Value]) -> HostResult<Dense> {
    let parts = items.iter().map(Value::dense).collect::<HostResult<Vec<_>>>()?;
    let Some(first) = parts.first() else {
        return Ok(Dense { shape: vec![0], data: Numbers::Float(Vec::new()) });
    };
    if let Some(odd) = parts.iter().find(|p| p.shape != first.shape) {
        return Err(HostError::shape(format!(
            "the entries of a list have different shapes: {} and {}",
            crate::dense::show_shape(&first.shape),
            crate::dense::show_shape(&odd.shape)
        )));
    }
    let mut shape = vec![parts.len()];
    shape.extend(&first.shape);
    let class = parts.iter().map(|p| p.data.class()).max().unwrap_or(Class::Float);
    let data = match class {
        Class::Float => Numbers::Float(parts.into_iter().flat_map(|p| p.data.into_floats()).collect()),
        Class::Int => {
            Numbers::Int(parts.into_iter().flat_map(|p| p.data.into_ints().unwrap_or_default()).collect())
        }
        Class::Bool => Numbers::Bool(parts.into_iter().flat_map(|p| bools(p.data)).collect()),
    };
    Ok(Dense { shape, data })
}

fn bools(data: Numbers) -> Vec<bool> {
    match data {
        Numbers::Bool(v) => v,
        _ => Vec::new(),
    }
}
