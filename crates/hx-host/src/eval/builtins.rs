//! The built-in functions of the host, by name. Most are also methods of tensors.

use std::path::Path;
use std::sync::Arc;

use hx_base::codes;
use hx_dtype::DType;

use super::call::Args;
use super::{Session, layouts};
use crate::archive::{self, Archive};
use crate::arith::{self, Binary, Unary, floor_div};
use crate::compare::{Tolerance, assert_close, assert_equal};
use crate::dense::{Dense, Numbers, element_count};
use crate::device::{CodeAnswer, CodeQuestion};
use crate::error::{HostError, HostResult};
use crate::npy;
use crate::pack::{pack, unpack};
use crate::random::{self, Seed};
use crate::reduce::{Reduction, axis_of, cumsum, reduce};
use crate::stretch::generate;
use crate::tensor::{HostTensor, Tensor, convert_float, convert_int, held_int};
use crate::value::Value;

/// Reports whether a function can also be called on a tensor, as in `x.sum(axis: 1)`.
pub fn is_method(name: &str) -> bool {
    Reduction::by_name(name).is_some()
        || Unary::by_name(name).is_some()
        || matches!(name, "reshape" | "permute" | "cast" | "cumsum" | "softmax" | "copy" | "len" | "pow")
}

/// Calls a function with its arguments.
pub(super) fn function(session: &mut Session<'_>, name: &str, args: &mut Args) -> HostResult<Value> {
    let value = match name {
        "print" => {
            let shown: Vec<String> = args.rest().iter().map(Value::to_string).collect();
            for line in shown.join(" ").split('\n') {
                session.surroundings.print(line);
            }
            Value::Unit
        }
        "randn" | "uniform" => randomized(session, name, args)?,
        "zeros" | "ones" | "empty" | "full" | "arange" | "eye" => fresh(name, args)?,
        "load" => load(args.required("path")?.str()?)?,
        "save" => {
            let path = args.required("path")?;
            save(path.str()?, &args.required("x")?)?;
            Value::Unit
        }
        "uses" | "conflicts" | "redistributions" | "spills" | "bytes_per_access" => {
            code(session, name, args)?
        }
        "assert_eq" => {
            let (x, y) = (args.required("x")?, args.required("y")?);
            args.finish()?;
            return if session.options.unchecked { Ok(Value::Unit) } else { equal(&x, &y) };
        }
        "assert_close" => {
            let (x, y) = (args.required("x")?, args.required("y")?);
            let mut tolerance = |name: &str| args.named(name).map(|v| v.float()).transpose();
            let tolerance =
                Tolerance { rtol: tolerance("rtol")?, atol: tolerance("atol")?, ulp: tolerance("ulp")? };
            args.finish()?;
            if !session.options.unchecked {
                assert_close(&x.tensor()?, &y.tensor()?, tolerance)?;
            }
            Value::Unit
        }
        _ => computed(name, args)?,
    };
    args.finish()?;
    Ok(value)
}

/// Answers a question about the code of the kernel that was launched last.
fn code(session: &mut Session<'_>, name: &str, args: &mut Args) -> HostResult<Value> {
    let question = match name {
        "uses" => CodeQuestion::Uses(args.required("instruction")?.str()?.to_owned()),
        "bytes_per_access" => CodeQuestion::BytesPerAccess(args.required("tensor")?.str()?.to_owned()),
        "conflicts" => CodeQuestion::Conflicts,
        "redistributions" => CodeQuestion::Redistributions,
        _ => CodeQuestion::Spills,
    };
    args.finish()?;
    match session.device.code(&question)? {
        CodeAnswer::Bool(b) => Ok(Value::Bool(b)),
        CodeAnswer::Int(i) => Ok(Value::Int(i)),
        CodeAnswer::Unknown(reason) => {
            let error = HostError::new(&codes::UNKNOWN_FACT, format!("`{name}` is not known: {reason}"));
            Err(error.help("in an `assert` this is a skip that is counted, and no failure"))
        }
    }
}

/// Calls a function whose result depends only on its arguments.
fn computed(name: &str, args: &mut Args) -> HostResult<Value> {
    match name {
        "cast" => {
            let x = args.required("t")?;
            cast(&x, args.required("dtype")?.dtype()?)
        }
        "where" => {
            let (c, x, y) = (args.required("c")?, args.required("x")?, args.required("y")?);
            arith::select(&c.dense()?, &x.dense()?, &y.dense()?).map(Value::from_dense)
        }
        "fma" => {
            let (a, b, c) = (args.required("a")?, args.required("b")?, args.required("c")?);
            fma(&a.dense()?, &b.dense()?, &c.dense()?)
        }
        "cdiv" => {
            let (a, b) = (args.required("a")?.int()?, args.required("b")?.int()?);
            let quotient = a.checked_neg().and_then(|n| floor_div(n, b)).and_then(i64::checked_neg);
            quotient
                .map(Value::Int)
                .ok_or_else(|| HostError::arithmetic(format!("`cdiv({a}, {b})` has no value")))
        }
        "permute" => {
            let t = args.required("t")?.tensor()?;
            t.permute(&args.required("order")?.shape()?).map(Value::Tensor)
        }
        "reshape" => {
            let t = args.required("x")?.tensor()?;
            t.reshape(&reshape_target(&args.required("shape")?, t.len())?).map(Value::Tensor)
        }
        "pack" | "unpack" => {
            let t = args.required("x")?.tensor()?;
            let layout = match args.required("layout")? {
                Value::Layout(l) => l,
                other => return Err(HostError::ty(format!("found {}, wanted a layout", other.kind()))),
            };
            let hx_layout::expr::Value::Layout(block) = &*layout else {
                return Err(HostError::ty(format!(
                    "found {}, wanted a layout `shape : stride`",
                    layout.kind()
                )));
            };
            let moved = if name == "pack" { pack(&t, &block.layout) } else { unpack(&t, &block.layout) };
            moved.map(Value::Tensor)
        }
        "copy" => Ok(Value::Tensor(Tensor::from_host(args.required("x")?.tensor()?.to_host()))),
        "cumsum" => {
            let x = args.required("x")?.dense()?;
            let axis = axis_of(args.required("axis")?.int()?, x.shape.len())?;
            cumsum(&x, axis).map(Value::from_dense)
        }
        "softmax" => {
            let x = args.required("t")?.dense()?;
            let axis = args.named("axis").map_or(Ok(-1), |v| v.int())?;
            softmax(&x, axis_of(axis, x.shape.len())?)
        }
        "pow" => {
            let (a, b) = (args.required("a")?, args.required("b")?);
            arith::binary(Binary::Pow, &a.dense()?, &b.dense()?).map(Value::from_dense)
        }
        "size" => match args.required("l")? {
            Value::Layout(l) => layouts::field(&l, "size"),
            other => Ok(Value::Int(other.dense()?.data.len() as i64)),
        },
        "len" => length(&args.required("x")?),
        "int" => to_int(&args.required("x")?),
        "float" => to_float(&args.required("x")?),
        _ => {
            if let Some(op) = Reduction::by_name(name) {
                return reduction(op, args);
            }
            if let Some(op) = Unary::by_name(name) {
                return arith::unary(op, &args.required("x")?.dense()?).map(Value::from_dense);
            }
            if let Some(result) = layouts::function(name, args) {
                return result;
            }
            Err(HostError::unsupported(format!("`{name}` is not evaluated on the host yet")))
        }
    }
}

/// Evaluates `sum(x)`, `x.max(axis: 1, keepdims: true)`, or `max(a, b)` of two values.
fn reduction(op: Reduction, args: &mut Args) -> HostResult<Value> {
    let x = args.required(if matches!(op, Reduction::Max | Reduction::Min) { "a" } else { "t" })?;
    if let (Reduction::Max | Reduction::Min, Some(y)) = (op, args.optional("b")) {
        let binary = if op == Reduction::Max { Binary::Max } else { Binary::Min };
        return arith::binary(binary, &x.dense()?, &y.dense()?).map(Value::from_dense);
    }
    let x = x.dense()?;
    let axes = match args.named("axis") {
        None => None,
        Some(Value::Tuple(v) | Value::List(v)) => {
            Some(v.iter().map(|a| axis_of(a.int()?, x.shape.len())).collect::<HostResult<Vec<_>>>()?)
        }
        Some(axis) => Some(vec![axis_of(axis.int()?, x.shape.len())?]),
    };
    let keep = match args.named("keepdims") {
        None => false,
        Some(Value::Bool(keep)) => keep,
        Some(other) => return Err(HostError::ty(format!("`keepdims:` is a bool, found {}", other.kind()))),
    };
    reduce(op, &x, axes.as_deref(), keep).map(Value::from_dense)
}

fn softmax(x: &Dense, axis: usize) -> HostResult<Value> {
    let top = reduce(Reduction::Max, x, Some(&[axis]), true)?;
    let exp = arith::unary(Unary::Exp, &arith::binary(Binary::Sub, x, &top)?)?;
    let sum = reduce(Reduction::Sum, &exp, Some(&[axis]), true)?;
    arith::binary(Binary::Div, &exp, &sum).map(Value::from_dense)
}

fn fma(a: &Dense, b: &Dense, c: &Dense) -> HostResult<Value> {
    // The shape of the result is that of `a * b + c`. The values come from `fma`, which rounds once.
    let shape = arith::binary(Binary::Add, &arith::binary(Binary::Mul, a, b)?, c)?.shape;
    let floats = |d: &Dense| d.broadcast_to(&shape).into_floats();
    let (x, y, z) = (floats(a), floats(b), floats(c));
    let values = generate(x.len(), |i| libm::fma(x[i], y[i], z[i]));
    Ok(Value::from_dense(Dense { shape, data: Numbers::Float(values) }))
}

/// Converts a value to `dtype`, like kernels do. A tensor or list becomes a tensor; a number becomes a number that the type can
/// hold.
fn cast(x: &Value, dtype: DType) -> HostResult<Value> {
    let number = |bits: u64| Value::from_bits(dtype, bits);
    match x {
        Value::Float(x) => Ok(number(convert_float(dtype, *x))),
        Value::Int(i) => Ok(number(convert_int(dtype, *i))),
        Value::Bool(b) => Ok(number(convert_int(dtype, i64::from(*b)))),
        other => other.tensor()?.cast(dtype).map(Value::Tensor),
    }
}

fn randomized(session: &mut Session<'_>, name: &str, args: &mut Args) -> HostResult<Value> {
    let dtype = args.required("dtype")?.dtype()?;
    let shape = args.required("shape")?.shape()?;
    let seed = match args.named("seed") {
        Some(seed) => Seed { seed: seed.int()? as u64, stream: 0 },
        None => {
            session.draws += 1;
            Seed { seed: session.options.seed, stream: session.draws }
        }
    };
    let host = if name == "randn" {
        random::randn(dtype, &shape, seed)?
    } else {
        let low = args.named("low").map_or(Ok(0.0), |v| v.float())?;
        let default_high = if dtype.is_float() { 1.0 } else { dtype.max_value() + 1.0 };
        let high = args.named("high").map_or(Ok(default_high), |v| v.float())?;
        random::uniform(dtype, &shape, low, high, seed)?
    };
    Ok(Value::Tensor(Tensor::from_host(host)))
}

fn fresh(name: &str, args: &mut Args) -> HostResult<Value> {
    let dtype = args.required("dtype")?.dtype()?;
    let shape = args.required("shape")?.shape()?;
    let host = match name {
        "zeros" => random::full(dtype, &shape, 0.0)?,
        "ones" => random::full(dtype, &shape, 1.0)?,
        "empty" => HostTensor::poisoned(dtype, &shape)?,
        "full" => match args.required("x")? {
            Value::Int(x) if dtype.is_int() => random::full_bits(dtype, &shape, held_int(dtype, x)?)?,
            x => random::full(dtype, &shape, x.float()?)?,
        },
        "eye" => match shape[..] {
            [n] => random::eye(dtype, n, n)?,
            [n, m] => random::eye(dtype, n, m)?,
            _ => return Err(HostError::shape("`eye` makes matrices")),
        },
        _ => {
            let count = element_count(&shape)? as i64;
            HostTensor { shape, ..random::arange(dtype, 0, count)? }
        }
    };
    Ok(Value::Tensor(Tensor::from_host(host)))
}

fn load(path: &str) -> HostResult<Value> {
    if path.ends_with(".safetensors") {
        return Ok(Value::Archive(Arc::new(Archive::open(Path::new(path))?)));
    }
    Ok(Value::Tensor(Tensor::from_host(npy::load(Path::new(path))?)))
}

/// Writes one tensor to an `.npy` file, or `[("w", w), ("b", b)]` to a `.safetensors` file.
fn save(path: &str, value: &Value) -> HostResult<()> {
    let file = Path::new(path);
    if !path.ends_with(".safetensors") {
        return npy::save(file, &value.tensor()?.to_host());
    }
    let refuse = || {
        let error = HostError::ty(format!("found {}, a list of names and tensors is needed", value.kind()));
        error.help(format!("`save({path:?}, [(\"w\", w)])` writes `w` under its name"))
    };
    let Value::List(pairs) = value else { return Err(refuse()) };
    let pair = |pair: &Value| match pair {
        Value::Tuple(parts) => match &**parts {
            [Value::Str(name), x] => Ok((name.to_string(), x.tensor()?.to_host())),
            _ => Err(refuse()),
        },
        _ => Err(refuse()),
    };
    archive::save(file, &pairs.iter().map(pair).collect::<HostResult<Vec<_>>>()?)
}

fn equal(x: &Value, y: &Value) -> HostResult<Value> {
    if let (Ok(x), Ok(y)) = (x.tensor(), y.tensor()) {
        assert_equal(&x, &y)?;
        return Ok(Value::Unit);
    }
    if super::operators::same(x, y)? {
        return Ok(Value::Unit);
    }
    Err(HostError::new(&codes::ASSERTION_FAILED, "the values are not equal")
        .note(format!("got {}", x.brief()))
        .note(format!("expected {}", y.brief())))
}

/// Returns the extents of a reshape. At most one extent may be `-1`, which stands for the remaining elements.
fn reshape_target(shape: &Value, count: usize) -> HostResult<Vec<usize>> {
    let (Value::Tuple(dims) | Value::List(dims)) = shape else { return shape.shape() };
    let dims = dims.iter().map(Value::int).collect::<HostResult<Vec<i64>>>()?;
    if dims.iter().filter(|&&d| d == -1).count() > 1 {
        return Err(HostError::shape("only one extent can be -1"));
    }
    let known = dims.iter().filter(|&&d| d != -1).try_fold(1i64, |n, &d| n.checked_mul(d)).unwrap_or(0);
    let rest = if known > 0 { count as i64 / known } else { 0 };
    let extent = |d: i64| usize::try_from(if d == -1 { rest } else { d });
    dims.iter().map(|&d| extent(d).map_err(|_| HostError::shape(format!("{d} is no extent")))).collect()
}

fn length(x: &Value) -> HostResult<Value> {
    let count = match x {
        Value::Tensor(t) if !t.shape().is_empty() => t.shape()[0],
        Value::List(v) | Value::Tuple(v) => v.len(),
        Value::Archive(file) => file.names().len(),
        Value::Str(s) => s.chars().count(),
        Value::Range(a, b) => return Ok(Value::Int((b - a).max(0))),
        other => return Err(HostError::ty(format!("{} has no length", other.kind()))),
    };
    Ok(Value::Int(count as i64))
}

fn to_int(x: &Value) -> HostResult<Value> {
    match x {
        Value::Int(_) => Ok(x.clone()),
        Value::Bool(b) => Ok(Value::Int(i64::from(*b))),
        Value::Float(f) if f.is_finite() && f.abs() < 9.2e18 => Ok(Value::Int(f.trunc() as i64)),
        Value::Float(f) => Err(HostError::arithmetic(format!("{f} is no i64"))),
        Value::Str(s) => {
            let parsed = s.trim().parse().map(Value::Int);
            parsed.map_err(|_| HostError::call(format!("`{s}` is no whole number")))
        }
        other => Err(HostError::ty(format!("{} is no number", other.kind()))),
    }
}

fn to_float(x: &Value) -> HostResult<Value> {
    match x {
        Value::Int(i) => Ok(Value::Float(*i as f64)),
        Value::Float(_) => Ok(x.clone()),
        Value::Str(s) => {
            let parsed = s.trim().parse().map(Value::Float);
            parsed.map_err(|_| HostError::call(format!("`{s}` is no number")))
        }
        other => Err(HostError::ty(format!("{} is no number", other.kind()))),
    }
}
