//! The built-in functions of the host, by the families of their table. Some are also methods of tensors.

use std::path::Path;
use std::sync::Arc;

use hx_base::codes;
use hx_dtype::{DType, Operator};
use hx_hir::{Builtin, CommonFn, HostFn, LayoutFn, MathFn};

use super::args::Args;
use super::{Session, bits, layouts, operators};
use crate::archive::{self, Archive};
use crate::arith::{self, Binary, Unary, floor_div};
use crate::compare::{Mismatch, Tolerance, assert_close, assert_equal};
use crate::dense::{Dense, Numbers, element_count};
use crate::device::{CodeAnswer, CodeQuestion};
use crate::error::{HostError, HostResult};
use crate::npy;
use crate::order;
use crate::pack::{pack, unpack};
use crate::picture::Picture;
use crate::random::{self, Seed};
use crate::recipe::{Each, Recipe};
use crate::reduce::{Reduction, axis_of, cumsum, reduce};
use crate::stretch::generate;
use crate::tensor::{HostTensor, Tensor, convert_float, convert_int, held_int, poison_byte};
use crate::value::Value;

/// Calls a function with its arguments.
///
/// # Errors
/// If the arguments do not fit the function, or the function fails.
pub(super) fn function(session: &mut Session<'_>, builtin: Builtin, args: &mut Args) -> HostResult<Value> {
    let value = match builtin {
        Builtin::Common(function) => common_fn(session, function, args)?,
        Builtin::Math(function) => match unary_of(function) {
            Ok(op) => unary(op, args)?,
            Err(operator) => bits::count(operator, &args.required("x")?)?,
        },
        Builtin::Layout(LayoutFn::Size) => size(&args.required("l")?)?,
        Builtin::Layout(_) | Builtin::HostLayout(_) => layouts::function(builtin, args)?,
        Builtin::Host(function) => host_fn(session, function, args)?,
        // Name resolution refuses names of kernels in host code and calls of values, so no program gets here.
        Builtin::Value(_) | Builtin::Kernel(_) | Builtin::Atomic(_) | Builtin::Method(_) => {
            return Err(not_evaluated(builtin.name()));
        }
    };
    args.finish()?;
    Ok(value)
}

fn not_evaluated(name: &str) -> HostError {
    HostError::unsupported(format!("`{name}` is not evaluated on the host yet"))
}

/// Calls a function that kernels have too.
///
/// # Errors
/// As for [`function`].
fn common_fn(session: &mut Session<'_>, function: CommonFn, args: &mut Args) -> HostResult<Value> {
    match function {
        CommonFn::Print => {
            print(session, &args.rest());
            Ok(Value::Unit)
        }
        CommonFn::Cast => {
            let x = args.required("t")?;
            cast(&x, args.required("dtype")?.dtype()?)
        }
        CommonFn::Bitcast => {
            let x = args.required("t")?;
            let dtype = args.required("dtype")?.dtype()?;
            let axis = args.named("axis").map(|axis| axis.int()).transpose()?;
            bits::bitcast(&x, dtype, axis)
        }
        CommonFn::Mulhi => bits::mulhi(&args.required("a")?, &args.required("b")?),
        CommonFn::Pow => of_two(Binary::Pow, args, ["a", "b"]),
        CommonFn::Fmod => of_two(Binary::Fmod, args, ["a", "b"]),
        CommonFn::Copysign => of_two(Binary::Copysign, args, ["a", "b"]),
        CommonFn::Atan2 => of_two(Binary::Atan2, args, ["y", "x"]),
        CommonFn::Clamp => {
            let (x, low, high) = (args.required("x")?, args.required("low")?, args.required("high")?);
            let least = arith::binary(Binary::Max, &x.dense()?, &low.dense()?)?;
            arith::binary(Binary::Min, &least, &high.dense()?).map(Value::from_dense)
        }
        CommonFn::Where => {
            let (c, x, y) = (args.required("c")?, args.required("x")?, args.required("y")?);
            arith::select(&c.dense()?, &x.dense()?, &y.dense()?).map(Value::from_dense)
        }
        CommonFn::Fma => {
            let (a, b, c) = (args.required("a")?, args.required("b")?, args.required("c")?);
            fma(&a.dense()?, &b.dense()?, &c.dense()?)
        }
        CommonFn::Cdiv => {
            let (a, b) = (args.required("a")?.int()?, args.required("b")?.int()?);
            let quotient = a.checked_neg().and_then(|n| floor_div(n, b)).and_then(i64::checked_neg);
            quotient
                .map(Value::Int)
                .ok_or_else(|| HostError::arithmetic(format!("`cdiv({a}, {b})` has no value")))
        }
        CommonFn::Permute => {
            let t = args.required("t")?.tensor()?;
            t.permute(&args.required("order")?.shape()?).map(Value::Tensor)
        }
        CommonFn::Flip => {
            let t = args.required("t")?.tensor()?;
            let axis = axis_of(args.required("axis")?.int()?, t.shape().len())?;
            Ok(Value::Tensor(order::flip(&t, axis)))
        }
        // `call` evaluates it, because its message has the text of the condition.
        CommonFn::Assert => Err(not_evaluated(function.name())),
    }
}

/// Calls a function that only the host has.
///
/// # Errors
/// As for [`function`].
fn host_fn(session: &mut Session<'_>, function: HostFn, args: &mut Args) -> HostResult<Value> {
    match function {
        HostFn::Randn => randn(session, args),
        HostFn::Uniform => uniform(session, args),
        HostFn::Arange => fresh(args, arange),
        HostFn::Zeros => {
            repeated(session, args, |dtype, shape| Recipe::full(dtype, shape, dtype.encode(0.0)))
        }
        HostFn::Ones => repeated(session, args, |dtype, shape| Recipe::full(dtype, shape, dtype.encode(1.0))),
        HostFn::Empty => {
            repeated(session, args, |dtype, shape| Recipe::bytewise(dtype, shape, poison_byte(dtype)))
        }
        HostFn::Full => full(session, args),
        HostFn::Eye => fresh(args, eye),
        HostFn::Load => load(args.required("path")?.str()?),
        HostFn::Save => {
            let path = args.required("path")?;
            save(path.str()?, &args.required("x")?).map(|()| Value::Unit)
        }
        HostFn::AssertEq => equal(session, args),
        HostFn::AssertClose => close(session, args),
        HostFn::Assume => assume(session, args),
        HostFn::Uses => {
            let question = CodeQuestion::Uses(args.required("instruction")?.str()?.to_owned());
            code(session, function, &question, args)
        }
        HostFn::Supports => {
            let question = CodeQuestion::Supports(args.required("instruction")?.str()?.to_owned());
            code(session, function, &question, args)
        }
        HostFn::BytesPerAccess => {
            let question = CodeQuestion::BytesPerAccess(args.required("tensor")?.str()?.to_owned());
            code(session, function, &question, args)
        }
        HostFn::Conflicts => code(session, function, &CodeQuestion::Conflicts, args),
        HostFn::Redistributions => code(session, function, &CodeQuestion::Redistributions, args),
        HostFn::Target => code(session, function, &CodeQuestion::Target, args),
        HostFn::Spills => code(session, function, &CodeQuestion::Spills, args),
        HostFn::Min => extreme(Reduction::Min, Binary::Min, args),
        HostFn::Max => extreme(Reduction::Max, Binary::Max, args),
        HostFn::Sum => reduction(Reduction::Sum, args),
        HostFn::Mean => reduction(Reduction::Mean, args),
        HostFn::Prod => reduction(Reduction::Prod, args),
        HostFn::Any => reduction(Reduction::Any, args),
        HostFn::All => reduction(Reduction::All, args),
        HostFn::Argmax | HostFn::Argmin => {
            let x = args.required("t")?.dense()?;
            // Without an axis, the result is a position in the flattened tensor, row-major.
            let (x, axis) = match args.named("axis") {
                Some(axis) => (x.clone(), axis_of(axis.int()?, x.shape.len())?),
                None => (Dense { shape: vec![x.data.len()], data: x.data }, 0),
            };
            let keep = keeps(args)?;
            order::position(function == HostFn::Argmax, &x, axis, keep).map(Value::from_dense)
        }
        HostFn::Sort => {
            let x = args.required("t")?.dense()?;
            let axis = args.named("axis").map_or(Ok(-1), |v| v.int())?;
            Ok(Value::from_dense(order::sort(&x, axis_of(axis, x.shape.len())?)))
        }
        HostFn::Cumsum => {
            let x = args.required("x")?.dense()?;
            let axis = axis_of(args.required("axis")?.int()?, x.shape.len())?;
            cumsum(&x, axis).map(Value::from_dense)
        }
        HostFn::Softmax => {
            let x = args.required("t")?.dense()?;
            let axis = args.named("axis").map_or(Ok(-1), |v| v.int())?;
            softmax(&x, axis_of(axis, x.shape.len())?)
        }
        HostFn::Isinf => unary(Unary::IsInf, args),
        HostFn::Isfinite => unary(Unary::IsFinite, args),
        HostFn::Reshape => {
            let t = args.required("x")?.tensor()?;
            t.reshape(&reshape_target(&args.required("shape")?, t.len())?).map(Value::Tensor)
        }
        HostFn::BroadcastTo => {
            let t = args.required("x")?.tensor()?;
            t.broadcast_to(&args.required("shape")?.shape()?).map(Value::Tensor)
        }
        HostFn::Pack => blocks(args, pack),
        HostFn::Unpack => blocks(args, unpack),
        HostFn::Copy => Ok(Value::Tensor(Tensor::from_host(args.required("x")?.tensor()?.to_host()))),
        HostFn::Len => length(&args.required("x")?),
        HostFn::Int => to_int(&args.required("x")?),
        HostFn::Float => to_float(&args.required("x")?),
        // `call` evaluates them: they run closures, or write to the place of an argument.
        HostFn::Reduce | HostFn::Scan | HostFn::CublasGemm => Err(not_evaluated(function.name())),
    }
}

/// Returns the elementwise function of the host for a function of kernels; `Err` has the operator if it counts bits.
fn unary_of(function: MathFn) -> Result<Unary, Operator> {
    Ok(match function {
        MathFn::Exp2 => Unary::Exp2,
        MathFn::Exp => Unary::Exp,
        MathFn::Log2 => Unary::Log2,
        MathFn::Log => Unary::Log,
        MathFn::Sqrt => Unary::Sqrt,
        MathFn::Rsqrt => Unary::Rsqrt,
        MathFn::Tanh => Unary::Tanh,
        MathFn::Sigmoid => Unary::Sigmoid,
        MathFn::Erf => Unary::Erf,
        MathFn::Log10 => Unary::Log10,
        MathFn::Exp10 => Unary::Exp10,
        MathFn::Expm1 => Unary::Expm1,
        MathFn::Log1p => Unary::Log1p,
        MathFn::Cbrt => Unary::Cbrt,
        MathFn::Sinh => Unary::Sinh,
        MathFn::Cosh => Unary::Cosh,
        MathFn::Tan => Unary::Tan,
        MathFn::Asin => Unary::Asin,
        MathFn::Acos => Unary::Acos,
        MathFn::Atan => Unary::Atan,
        MathFn::Erfinv => Unary::Erfinv,
        MathFn::Lgamma => Unary::Lgamma,
        MathFn::Trunc => Unary::Trunc,
        MathFn::Sign => Unary::Sign,
        MathFn::Sin => Unary::Sin,
        MathFn::Cos => Unary::Cos,
        MathFn::Floor => Unary::Floor,
        MathFn::Ceil => Unary::Ceil,
        MathFn::Round => Unary::Round,
        MathFn::Abs => Unary::Abs,
        MathFn::Isnan => Unary::IsNan,
        MathFn::Popcount => return Err(Operator::Popcount),
        MathFn::Clz => return Err(Operator::Clz),
    })
}

fn unary(op: Unary, args: &mut Args) -> HostResult<Value> {
    let x = args.required("x")?;
    match op {
        Unary::Floor => match operators::each(&x, Each::Floor) {
            Some(later) => Ok(later),
            None => arith::unary(op, &x.dense()?).map(Value::from_dense),
        },
        _ => arith::unary(op, &x.dense()?).map(Value::from_dense),
    }
}

fn of_two(op: Binary, args: &mut Args, [a, b]: [&'static str; 2]) -> HostResult<Value> {
    let (a, b) = (args.required(a)?, args.required(b)?);
    arith::binary(op, &a.dense()?, &b.dense()?).map(Value::from_dense)
}

fn print(session: &mut Session<'_>, values: &[Value]) {
    let look = session.surroundings.look();
    let shown: Vec<String> = values.iter().map(|value| value.shown(look)).collect();
    for line in shown.join(" ").split('\n') {
        session.surroundings.print(line);
    }
}

/// Answers a question about the code of the kernel that was launched last.
///
/// # Errors
/// If the answer is unknown, with the code `UNKNOWN_FACT`, or the code cannot be obtained.
fn code(
    session: &mut Session<'_>,
    function: HostFn,
    question: &CodeQuestion,
    args: &Args,
) -> HostResult<Value> {
    args.finish()?;
    match session.device.code(question)? {
        CodeAnswer::Bool(b) => Ok(Value::Bool(b)),
        CodeAnswer::Int(i) => Ok(Value::Int(i)),
        CodeAnswer::Name(name) => Ok(Value::Str(name.into())),
        CodeAnswer::Unknown(reason) => {
            let message = format!("`{}` is not known: {reason}", function.name());
            let error = HostError::new(&codes::UNKNOWN_FACT, message);
            Err(error.help("in an `assert` this is a skip that is counted, and no failure"))
        }
    }
}

/// Evaluates `pack(x, layout)` or `unpack(x, layout)`; `moved` is the function that was called.
///
/// # Errors
/// If `layout` is no layout `shape : stride`, or as for [`pack`].
fn blocks(
    args: &mut Args,
    moved: fn(&Tensor, &hx_layout::Layout) -> HostResult<Tensor>,
) -> HostResult<Value> {
    let t = args.required("x")?.tensor()?;
    if args.named("of").is_some() {
        let error = HostError::call("`of:` names a parameter of a kernel, and the argument is a layout");
        return Err(error.help("`pack(x, kernel, of: \"w\")` takes the order that the kernel infers for `w`"));
    }
    let layout = match args.required("layout")? {
        // An order that was inferred to be row-major.
        Value::Auto => return Ok(Value::Tensor(Tensor::from_host(t.to_host()))),
        Value::Layout(l) => l,
        other => return Err(HostError::ty(format!("expected a layout, found {}", other.kind()))),
    };
    let hx_layout::expr::Value::Layout(block) = &*layout else {
        let message = format!("found {}, expected a layout `shape : stride`", layout.kind());
        return Err(HostError::ty(message));
    };
    moved(&t, &block.layout).map(Value::Tensor)
}

/// Evaluates `size(x)` of a layout or tensor.
///
/// # Errors
/// If the layout has no size, or as for [`Value::dense`].
fn size(x: &Value) -> HostResult<Value> {
    match x {
        Value::Layout(l) => layouts::field(l, "size"),
        other => Ok(Value::Int(other.dense()?.data.len() as i64)),
    }
}

/// Evaluates `max(a, b)` of two values, or a reduction `max(a)`, `a.max(axis: 1)`.
///
/// # Errors
/// If `a` is missing, or as for [`arith::binary`] or [`reduced`].
fn extreme(op: Reduction, binary: Binary, args: &mut Args) -> HostResult<Value> {
    let x = args.required("a")?;
    match args.optional("b") {
        Some(y) => arith::binary(binary, &x.dense()?, &y.dense()?).map(Value::from_dense),
        None => reduced(op, &x, args),
    }
}

/// Evaluates `sum(x)` and `x.sum(axis: 1, keepdims: true)`.
///
/// # Errors
/// If `t` is missing, or as for [`reduced`].
fn reduction(op: Reduction, args: &mut Args) -> HostResult<Value> {
    let x = args.required("t")?;
    reduced(op, &x, args)
}

/// Reduces over the axes that `axis:` names, or over all.
///
/// # Errors
/// If there is no such axis, or as for [`reduce`].
fn reduced(op: Reduction, x: &Value, args: &mut Args) -> HostResult<Value> {
    let x = x.dense()?;
    let axes = match args.named("axis") {
        None => None,
        Some(Value::Tuple(v) | Value::List(v)) => {
            Some(v.iter().map(|a| axis_of(a.int()?, x.shape.len())).collect::<HostResult<Vec<_>>>()?)
        }
        Some(axis) => Some(vec![axis_of(axis.int()?, x.shape.len())?]),
    };
    let keep = keeps(args)?;
    reduce(op, &x, axes.as_deref(), keep).map(Value::from_dense)
}

/// Returns the value of `keepdims:`; false if the call does not name it.
///
/// # Errors
/// If the value is no bool.
fn keeps(args: &mut Args) -> HostResult<bool> {
    match args.named("keepdims") {
        None => Ok(false),
        Some(Value::Bool(keep)) => Ok(keep),
        Some(other) => Err(HostError::ty(format!("`keepdims:` is a bool, found {}", other.kind()))),
    }
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

/// Converts a value to `dtype` as kernels do ([`convert_float`], [`convert_int`]). A tensor or list becomes a tensor, a number
/// stays a number.
///
/// # Errors
/// If the value is no number, tensor or list of these.
fn cast(x: &Value, dtype: DType) -> HostResult<Value> {
    let number = |bits: u64| Value::from_bits(dtype, bits);
    match x {
        Value::Float(x) => Ok(number(convert_float(dtype, *x))),
        Value::Int(i) => Ok(number(convert_int(dtype, *i))),
        Value::Bool(b) => Ok(number(convert_int(dtype, i64::from(*b)))),
        other => match operators::each(other, Each::Convert(dtype)) {
            Some(later) => Ok(later),
            None => other.tensor()?.cast(dtype).map(Value::Tensor),
        },
    }
}

/// Returns `dtype` and `shape`, the first arguments of every function that makes a tensor.
///
/// # Errors
/// If one of them is missing or of another kind.
fn described(args: &mut Args) -> HostResult<(DType, Vec<usize>)> {
    let dtype = args.required("dtype")?.dtype()?;
    Ok((dtype, args.required("shape")?.shape()?))
}

/// Returns the seed of the argument `seed:`, or without it that of the session with the next stream.
///
/// # Errors
/// If the argument is no integer.
fn seed(session: &mut Session<'_>, args: &mut Args) -> HostResult<Seed> {
    match args.named("seed") {
        Some(seed) => Ok(Seed { seed: seed.int()? as u64, stream: 0 }),
        None => {
            session.draws += 1;
            Ok(Seed { seed: session.options.seed, stream: session.draws })
        }
    }
}

/// Makes the tensor of a recipe. A bench leaves the elements unmade, because a device makes them faster, and an evaluation that only
/// compiles needs none.
fn made(session: &Session<'_>, recipe: Recipe) -> Value {
    Value::Tensor(match session.recording {
        Some(_) => Tensor::from_recipe(recipe),
        None => Tensor::from_host(recipe.host()),
    })
}

fn randn(session: &mut Session<'_>, args: &mut Args) -> HostResult<Value> {
    let (dtype, shape) = described(args)?;
    let seed = seed(session, args)?;
    let drawn = Recipe::normal(dtype, &shape, seed)?;
    let hollow = session.options.hollow.then(|| Recipe::full(dtype, &shape, dtype.encode(0.0)));
    Ok(made(session, hollow.transpose()?.unwrap_or(drawn)))
}

fn uniform(session: &mut Session<'_>, args: &mut Args) -> HostResult<Value> {
    let (dtype, shape) = described(args)?;
    let seed = seed(session, args)?;
    let low = args.named("low").map_or(Ok(0.0), |v| v.float())?;
    let default_high = if dtype.is_float() { 1.0 } else { dtype.max_value() + 1.0 };
    let high = args.named("high").map_or(Ok(default_high), |v| v.float())?;
    let drawn = Recipe::uniform(dtype, &shape, low, high, seed)?;
    // `low` is a valid element for the bench: a divisor drawn from 1..10 is not 0.
    let hollow = session.options.hollow.then(|| Recipe::full(dtype, &shape, dtype.encode(low)));
    Ok(made(session, hollow.transpose()?.unwrap_or(drawn)))
}

/// Makes a tensor with `make` from the arguments `dtype` and `shape`.
///
/// # Errors
/// As for [`described`], and if `make` fails.
fn fresh(args: &mut Args, make: fn(DType, &[usize]) -> HostResult<HostTensor>) -> HostResult<Value> {
    let (dtype, shape) = described(args)?;
    Ok(Value::Tensor(Tensor::from_host(make(dtype, &shape)?)))
}

/// Makes a tensor of one repeated number, or of memory never written, from the arguments `dtype` and `shape`.
///
/// # Errors
/// As for [`described`], and if the machine has no room.
fn repeated(
    session: &Session<'_>,
    args: &mut Args,
    make: fn(DType, &[usize]) -> HostResult<Recipe>,
) -> HostResult<Value> {
    let (dtype, shape) = described(args)?;
    Ok(made(session, make(dtype, &shape)?))
}

fn full(session: &Session<'_>, args: &mut Args) -> HostResult<Value> {
    let (dtype, shape) = described(args)?;
    let bits = match args.required("x")? {
        Value::Int(x) if dtype.is_int() => held_int(dtype, x)?,
        Value::Tensor(x) if x.shape().is_empty() && x.dtype() == dtype => x.bits()[0],
        x => dtype.encode(x.float()?),
    };
    Ok(made(session, Recipe::full(dtype, &shape, bits)?))
}

fn eye(dtype: DType, shape: &[usize]) -> HostResult<HostTensor> {
    match *shape {
        [n] => random::eye(dtype, n, n),
        [n, m] => random::eye(dtype, n, m),
        _ => Err(HostError::shape("`eye` makes matrices")),
    }
}

fn arange(dtype: DType, shape: &[usize]) -> HostResult<HostTensor> {
    let count = element_count(shape)? as i64;
    Ok(HostTensor { shape: shape.to_vec(), ..random::arange(dtype, 0, count)? })
}

fn load(path: &str) -> HostResult<Value> {
    if path.ends_with(".safetensors") {
        return Ok(Value::Archive(Arc::new(Archive::open(Path::new(path))?)));
    }
    Ok(Value::Tensor(Tensor::from_host(npy::load(Path::new(path))?)))
}

/// Writes one tensor to an `.npy` file, or `[("w", w), ("b", b)]` to a `.safetensors` file.
///
/// # Errors
/// If the value has another form than the ending of the path needs, or as for [`npy::save`] and [`archive::save`].
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

/// Evaluates `assert_eq(x, y)`; it always holds in an unchecked evaluation.
///
/// # Errors
/// If the two are not equal or cannot be compared.
fn equal(session: &mut Session<'_>, args: &mut Args) -> HostResult<Value> {
    let (x, y) = (args.required("x")?, args.required("y")?);
    args.finish()?;
    if session.options.unchecked {
        return Ok(Value::Unit);
    }
    if let (Ok(x), Ok(y)) = (x.tensor(), y.tensor()) {
        return compared(session, (&x, &y), assert_equal(&x, &y));
    }
    if operators::same(&x, &y)? {
        return Ok(Value::Unit);
    }
    Err(HostError::new(&codes::ASSERTION_FAILED, "the values are not equal")
        .note(format!("got {}", x.brief()))
        .note(format!("expected {}", y.brief())))
}

/// Evaluates `assume(condition)`. If the condition does not hold, `session.forall` marks the case as refused.
///
/// # Errors
/// If the condition does not hold, which ends the case, or is no single bool, or the test has no `forall`.
fn assume(session: &mut Session<'_>, args: &mut Args) -> HostResult<Value> {
    let condition = args.required("condition")?;
    args.finish()?;
    let Value::Bool(holds) = condition else {
        let message = format!("found {}, expected `true` or `false`", condition.kind());
        return Err(HostError::ty(message));
    };
    if session.forall.is_none() {
        let message = "found `assume` outside of a test with `forall`: only drawn cases can be left out";
        return Err(HostError::call(message).help("an `if` runs the rest of the test for some cases only"));
    }
    if holds {
        return Ok(Value::Unit);
    }
    session.forall = Some(true);
    Err(HostError::assertion("`assume` does not hold for this case"))
}

/// Evaluates `assert_close(x, y, rtol: 1e-3)`; it always holds in an unchecked evaluation.
///
/// # Errors
/// If the two are not close, no tolerance is given, or one of them is no tensor or number.
fn close(session: &mut Session<'_>, args: &mut Args) -> HostResult<Value> {
    let (x, y) = (args.required("x")?, args.required("y")?);
    let mut tolerance = |name: &str| args.named(name).map(|v| v.float()).transpose();
    let tolerance = Tolerance { rtol: tolerance("rtol")?, atol: tolerance("atol")?, ulp: tolerance("ulp")? };
    args.finish()?;
    if session.options.unchecked {
        return Ok(Value::Unit);
    }
    let (x, y) = (x.tensor()?, y.tensor()?);
    compared(session, (&x, &y), assert_close(&x, &y, tolerance))
}

/// Converts the result of a comparison. If it failed, the session remembers the marks and the picture of the elements, and the
/// launch that wrote one of the two tensors.
///
/// # Errors
/// That of the comparison.
fn compared(
    session: &mut Session<'_>,
    (x, y): (&Tensor, &Tensor),
    result: Result<(), Mismatch>,
) -> HostResult<Value> {
    let Err(Mismatch { error, marks }) = result else { return Ok(Value::Unit) };
    session.picture = Picture::new(x.shape(), &marks);
    let of = |tensor: &Tensor| session.ledger.suspect(tensor, &marks);
    session.suspect = of(x).or_else(|| if y.shape() == x.shape() { of(y) } else { None });
    session.marks = marks;
    Err(error)
}

/// Returns the extents of a reshape of `count` elements. At most one extent may be `-1`, which stands for the remaining
/// elements.
///
/// # Errors
/// If an extent is not an integer or is negative, or several are `-1`. The caller checks that the number of elements is the
/// same.
fn reshape_target(shape: &Value, count: usize) -> HostResult<Vec<usize>> {
    let (Value::Tuple(dims) | Value::List(dims)) = shape else { return shape.shape() };
    let dims = dims.iter().map(Value::int).collect::<HostResult<Vec<i64>>>()?;
    if dims.iter().filter(|&&d| d == -1).count() > 1 {
        return Err(HostError::shape("only one extent can be -1"));
    }
    let known = dims.iter().filter(|&&d| d != -1).try_fold(1i64, |n, &d| n.checked_mul(d)).unwrap_or(0);
    let rest = if known > 0 { count as i64 / known } else { 0 };
    let extent = |d: i64| usize::try_from(if d == -1 { rest } else { d });
    dims.iter().map(|&d| extent(d).map_err(|_| HostError::shape(format!("{d} is not an extent")))).collect()
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
        Value::Float(f) => Err(HostError::arithmetic(format!("{f} is not an i64"))),
        Value::Str(s) => {
            let parsed = s.trim().parse().map(Value::Int);
            parsed.map_err(|_| HostError::call(format!("`{s}` is not a whole number")))
        }
        other => Err(HostError::ty(format!("{} is not a number", other.kind()))),
    }
}

fn to_float(x: &Value) -> HostResult<Value> {
    match x {
        Value::Int(i) => Ok(Value::Float(*i as f64)),
        Value::Float(_) => Ok(x.clone()),
        Value::Str(s) => {
            let parsed = s.trim().parse().map(Value::Float);
            parsed.map_err(|_| HostError::call(format!("`{s}` is not a number")))
        }
        other => Err(HostError::ty(format!("{} is not a number", other.kind()))),
    }
}
