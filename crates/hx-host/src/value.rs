//! Values of the host language, and conversions between them.

use std::sync::Arc;

use hx_base::{codes, limits};
use hx_dtype::DType;

use crate::archive::Archive;
use crate::dense::{Class, Dense, Numbers};
use crate::error::{HostError, HostResult};
use crate::eval::Closure;
use crate::show::show_tensor;
use crate::tensor::Tensor;

/// What a host expression evaluates to.
#[derive(Clone, Debug)]
pub enum Value {
    /// What a statement leaves: `()`.
    Unit,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    DType(DType),
    /// A view of a host tensor; copies of the value share memory.
    Tensor(Tensor),
    Tuple(Vec<Value>),
    /// `[a, b]`.
    List(Vec<Value>),
    /// `start..end`, whole numbers.
    Range(i64, i64),
    /// A layout of any kind, a swizzle or a tiler.
    Layout(Box<hx_layout::expr::Value>),
    /// `|a, b| a + b`.
    Closure(Arc<Closure>),
    /// An open `.safetensors` file.
    Archive(Arc<Archive>),
    /// `auto`.
    Auto,
    /// `_`, a mode that a tiler keeps.
    Wildcard,
}

impl Value {
    /// What kind of value it is, with its article.
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
            Value::Archive(_) => "a file of tensors".to_owned(),
            Value::Auto => "`auto`".to_owned(),
            Value::Wildcard => "`_`".to_owned(),
        }
    }

    /// Refuses a tuple or list whose parts, counted one by one, are more than the memory limit has room for.
    pub(crate) fn claim_parts(&self) -> HostResult<()> {
        fn count(value: &Value, left: &mut u64) -> bool {
            match value {
                Value::Tuple(parts) | Value::List(parts) => parts.iter().all(|part| count(part, left)),
                _ => {
                    *left = left.saturating_sub(size_of::<Value>() as u64);
                    *left > 0
                }
            }
        }
        // Most are small, and need no look at what else there is.
        if count(self, &mut (1 << 20)) {
            return Ok(());
        }
        let limit = crate::memory::limit();
        let mut left = limit;
        if !count(self, &mut left) {
            let message = format!(
                "found a tuple or list that takes more than the limit of {}",
                limits::byte_text(limit)
            );
            return Err(
                HostError::new(&codes::MEMORY_LIMIT, message).help("`--memory SIZE` changes the limit")
            );
        }
        crate::memory::claim(usize::try_from(limit - left).ok(), || "a tuple or list".to_owned())
    }

    /// The same value over other tensors.
    pub(crate) fn map_tensors(&self, map: &mut dyn FnMut(&Tensor) -> Tensor) -> Value {
        match self {
            Value::Tensor(t) => Value::Tensor(map(t)),
            Value::Tuple(v) => Value::Tuple(v.iter().map(|v| v.map_tensors(map)).collect()),
            Value::List(v) => Value::List(v.iter().map(|v| v.map_tensors(map)).collect()),
            Value::Closure(c) => Value::Closure(Arc::new(c.map_tensors(map))),
            other => other.clone(),
        }
    }

    /// As a number or tensor of numbers; nested lists of numbers are tensors.
    pub fn dense(&self) -> HostResult<Dense> {
        match self {
            Value::Bool(b) => Ok(Dense::scalar(Numbers::Bool(vec![*b]))),
            Value::Int(i) => Ok(Dense::scalar(Numbers::Int(vec![*i]))),
            Value::Float(x) => Ok(Dense::scalar(Numbers::Float(vec![*x]))),
            Value::Tensor(t) => t.dense(),
            Value::List(items) => stack(items),
            other => Err(HostError::ty(format!("{} is no number and no tensor", other.kind()))),
        }
    }

    /// As a tensor; a number becomes one without dimensions.
    pub fn tensor(&self) -> HostResult<Tensor> {
        match self {
            Value::Tensor(t) => Ok(t.clone()),
            other => Ok(Tensor::from_dense(other.dense()?)),
        }
    }

    /// A computed array as a value: one without dimensions is a plain number.
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

    /// A view as a value: one without dimensions is a plain number.
    pub fn from_view(tensor: Tensor) -> HostResult<Value> {
        if tensor.shape().is_empty() {
            Ok(Value::from_dense(tensor.dense()?))
        } else {
            Ok(Value::Tensor(tensor))
        }
    }

    /// As a whole number.
    pub fn int(&self) -> HostResult<i64> {
        match self {
            Value::Int(i) => Ok(*i),
            other => Err(HostError::ty(format!("found {}, an integer is needed", other.kind()))),
        }
    }

    /// As a real number; integers convert.
    pub fn float(&self) -> HostResult<f64> {
        match self {
            Value::Int(i) => Ok(*i as f64),
            Value::Float(x) => Ok(*x),
            other => Err(HostError::ty(format!("found {}, a number is needed", other.kind()))),
        }
    }

    /// As a string.
    pub fn str(&self) -> HostResult<&str> {
        match self {
            Value::Str(s) => Ok(s),
            other => Err(HostError::ty(format!("found {}, a string is needed", other.kind()))),
        }
    }

    /// As an element type.
    pub fn dtype(&self) -> HostResult<DType> {
        match self {
            Value::DType(d) => Ok(*d),
            other => {
                Err(HostError::ty(format!("found {}, an element type such as `f16` is needed", other.kind())))
            }
        }
    }

    /// As extents: an integer, or a tuple or list of them.
    pub fn shape(&self) -> HostResult<Vec<usize>> {
        match self {
            Value::Int(_) => Ok(vec![extent(self)?]),
            Value::Tuple(v) | Value::List(v) => v.iter().map(extent).collect(),
            other => {
                Err(HostError::ty(format!("found {}, a shape such as `[64, 64]` is needed", other.kind())))
            }
        }
    }

    /// As a string of the language for messages: short, on one line.
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

fn extent(value: &Value) -> HostResult<usize> {
    let n = value.int()?;
    usize::try_from(n).map_err(|_| HostError::shape(format!("{n} is no extent")))
}

fn enclose(open: &str, items: &[Value], close: &str, show: impl Fn(&Value) -> String) -> String {
    let shown: Vec<String> = items.iter().map(show).collect();
    let comma = if open == "(" && items.len() == 1 { "," } else { "" };
    format!("{open}{}{comma}{close}", shown.join(", "))
}

/// `print` shows values this way; strings without quotes.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Value::Unit => "()".to_owned(),
            Value::Bool(b) => b.to_string(),
            Value::Int(i) => i.to_string(),
            Value::Float(x) if x.is_nan() => "nan".to_owned(),
            Value::Float(x) => format!("{x:?}"),
            Value::Str(s) => s.clone(),
            Value::DType(d) => d.to_string(),
            Value::Tensor(t) => show_tensor(t),
            Value::Tuple(v) => enclose("(", v, ")", Value::brief),
            Value::List(v) => enclose("[", v, "]", Value::brief),
            Value::Range(a, b) => format!("{a}..{b}"),
            Value::Layout(l) => l.to_string(),
            Value::Closure(_) => "a closure".to_owned(),
            Value::Archive(a) => a.to_string(),
            Value::Auto => "auto".to_owned(),
            Value::Wildcard => "_".to_owned(),
        };
        f.write_str(&text)
    }
}

/// A list of numbers or of equally shaped lists as one array with a new first dimension.
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
