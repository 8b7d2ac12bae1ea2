//! The shape of a launch as a command line states it, `m=4096,n=4096,k=4096,T=bf16`, and tensors of that shape.

use std::collections::BTreeMap;

use hx_base::{codes, nearest};
use hx_compile::{Db, Instance, tile_program};
use hx_dtype::DType;
use hx_hir::{Expr, Item, Kernel, Literal, Name, TypeRef, kernel_signature, signature_names};
use hx_host::device::{LaunchArg, LaunchError};
use hx_host::random::Seed;
use hx_host::recipe::Recipe;
use hx_host::{HostError, HostResult, Tensor, Value};
use hx_index::Symbol;
use hx_lower::{CtArgs, CtValue, LaunchFacts};
use hx_target::Target;
use hx_tile::Param;

use hx_inspect::{Overrides, parse_override, stopped_at};

/// The seed of the tensors' contents. Every run and every candidate gets the same contents.
const SEED: u64 = 17;

/// The dimensions and arguments that a launch of one kernel fixes, checked against the kernel's header.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct FixedInputs {
    /// Dimensions by name.
    pub(crate) dims: BTreeMap<Name, i64>,
    /// Compile-time arguments.
    pub(crate) args: CtArgs,
    /// Numbers for the run-time parameters that are no tensors.
    pub(crate) numbers: BTreeMap<Name, CtValue>,
}

/// Parses `m=4096,n=4096,T=bf16`. Commas inside of parentheses separate nothing.
///
/// # Errors
/// The problem with the text, as text.
pub fn parse_shape(text: &str) -> Result<Overrides, String> {
    let (mut parts, mut depth) = (vec![String::new()], 0usize);
    for c in text.chars() {
        match c {
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    let parsed: Overrides = parts.iter().map(|part| parse_override(part.trim())).collect::<Result<_, _>>()?;
    match parsed
        .iter()
        .enumerate()
        .find(|(at, (name, _))| parsed[..*at].iter().any(|(other, _)| other == name))
    {
        Some((_, (name, _))) => Err(format!("`{name}` is given twice")),
        None => Ok(parsed),
    }
}

impl FixedInputs {
    /// Assigns values to the dimensions, compile-time parameters and numbers of a kernel. All dimensions and numbers need one.
    ///
    /// # Errors
    /// A name that the kernel does not have, a value that does not fit, or a value that is missing, as text.
    pub(crate) fn new<'db>(
        db: &'db dyn Db,
        kernel: Kernel<'db>,
        given: &Overrides,
    ) -> Result<FixedInputs, String> {
        let out = FixedInputs::of_shape(db, kernel, given)?;
        let missing: Vec<Name> =
            numbers(db, kernel).into_iter().filter(|name| !out.numbers.contains_key(name)).collect();
        lacking(db, kernel, &missing).map_or(Ok(out), Err)
    }

    /// Assigns values as [`FixedInputs::new`] does, but numbers may be left out.
    ///
    /// # Errors
    /// A name that the kernel does not have, a value that does not fit, or a dimension that is missing, as text.
    pub(crate) fn of_shape<'db>(
        db: &'db dyn Db,
        kernel: Kernel<'db>,
        given: &Overrides,
    ) -> Result<FixedInputs, String> {
        let signature = kernel_signature(db, kernel);
        let (dims, numbers) = (dimensions(db, kernel), numbers(db, kernel));
        let mut out = FixedInputs::default();
        for (name, value) in given {
            let value = &value.resolve(db, kernel.file(db))?;
            if signature.generics.iter().any(|generic| generic.name == *name) {
                out.args.insert(name.clone(), value.clone());
            } else if dims.contains(name) {
                let CtValue::Int(extent @ 1..) = value else {
                    return Err(format!(
                        "found `{name}={value}`, the dimension `{name}` is a positive integer"
                    ));
                };
                out.dims.insert(name.clone(), *extent);
            } else if numbers.contains(name) {
                out.numbers.insert(name.clone(), value.clone());
            } else {
                let known = || signature.generics.iter().map(|g| &g.name).chain(&dims).chain(&numbers);
                let hint = match nearest(name, known().map(Name::as_str)) {
                    Some(near) => format!("; perhaps `{near}` is meant"),
                    None => format!("; it has {}", listed(known())),
                };
                return Err(format!("`{}` has no dimension or parameter `{name}`{hint}", kernel.name(db)));
            }
        }
        let missing: Vec<Name> = dims.into_iter().filter(|name| !out.dims.contains_key(name)).collect();
        lacking(db, kernel, &missing).map_or(Ok(out), Err)
    }
}

/// Returns the message about names without a value; `None` if there is none.
fn lacking<'db>(db: &'db dyn Db, kernel: Kernel<'db>, missing: &[Name]) -> Option<String> {
    let values = if missing.len() == 1 { "a value" } else { "values" };
    let text = || format!("the shape lacks {values} for {} of `{}`", listed(missing.iter()), kernel.name(db));
    (!missing.is_empty()).then(text)
}

fn listed<'n>(names: impl Iterator<Item = &'n Name>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the dimensions that the shapes of a kernel's parameters name, in the order of the text.
fn dimensions<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> Vec<Name> {
    let signature = kernel_signature(db, kernel);
    let rank = |param: u32| match signature.params.get(param as usize).map(|param| &signature.store[param.ty])
    {
        Some(TypeRef::Named { shape: Some(shape), .. }) => Some(shape),
        _ => None,
    };
    let dims = &signature_names(db, Item::Kernel(kernel)).dims;
    // A stride has the position of an entry in the strides: only the expression tells it from a dimension.
    let in_shape = |dim: &&hx_hir::Dim| rank(dim.param).is_some_and(|shape| shape.contains(&dim.at));
    dims.iter().filter(in_shape).map(|dim| dim.name.clone()).collect()
}

/// Returns the run-time parameters of a kernel that are no tensors.
fn numbers<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> Vec<Name> {
    let signature = kernel_signature(db, kernel);
    let is_number = |ty| !matches!(&signature.store[ty], TypeRef::Named { shape: Some(_), .. });
    signature.params.iter().filter(|param| is_number(param.ty)).map(|param| param.name.clone()).collect()
}

/// The run-time arguments of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    pub(crate) args: Vec<LaunchArg>,
    /// The positions of the arguments that the kernel writes.
    pub(crate) written: Vec<usize>,
    /// The tensors that are filled with zeros because their elements may be positions.
    pub(crate) zeros: Vec<String>,
}

impl Inputs {
    /// Returns the bytes of all tensors, each once.
    pub(crate) fn bytes(&self) -> f64 {
        let tensors = self.args.iter().filter_map(|arg| match &arg.value {
            Value::Tensor(tensor) => Some(hx_dtype::packed_bytes(tensor.dtype(), tensor.len()) as f64),
            _ => None,
        });
        tensors.sum()
    }
}

/// Makes the arguments of a launch: floats are standard normal, integers of less than 32 bits uniform, other
/// integers and tensors that the kernel writes zero. If `empty`, all are zero, for launches that do not run.
///
/// # Errors
/// If the kernel has no instance for these arguments, or a tensor cannot be made.
pub(crate) fn inputs<'db>(
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    target: Target,
    args: CtArgs,
    given: &FixedInputs,
    empty: bool,
) -> Result<Inputs, LaunchError> {
    let instance = Instance::chosen(db, kernel, args, target, LaunchFacts::all_16());
    let lowered = tile_program(db, instance).as_ref().map_err(|stop| stopped_at(db, instance, stop))?;
    let mut out = Inputs { args: Vec::new(), written: Vec::new(), zeros: Vec::new() };
    let lookup = |symbol: &Symbol| match symbol {
        Symbol::Dim(name) => given.dims.get(name).copied(),
        _ => None,
    };
    for (at, param) in lowered.program.params.iter().enumerate() {
        let value = match param {
            Param::Int { name, .. } | Param::Float { name, .. } => {
                number(name, given.numbers.get(name.as_str())).map_err(LaunchError::call)?
            }
            Param::Tensor(tensor) => {
                let extent = |expr: &hx_index::Expr| {
                    let value = expr.eval(&lookup).ok().and_then(|n| usize::try_from(n).ok());
                    value.ok_or_else(|| {
                        let text =
                            format!("the extent `{expr}` of `{}` has no value in this shape", tensor.name);
                        LaunchError::call(HostError::new(&codes::LAUNCH_DIMENSION, text))
                    })
                };
                let shape = tensor.shape.iter().map(extent).collect::<Result<Vec<_>, _>>()?;
                if tensor.mutable {
                    out.written.push(at);
                } else if Recipe::is_zero_input(tensor.dtype) {
                    out.zeros.push(tensor.name.clone());
                }
                let order = order(db, kernel, at, shape.len());
                let made = filled(tensor.dtype, &shape, &order, tensor.mutable || empty, at as u64);
                let made = made.map_err(LaunchError::call)?;
                Value::Tensor(match &tensor.block {
                    Some(block) => made.in_order(block),
                    None => made,
                })
            }
        };
        out.args.push(LaunchArg { name: None, value, temporary: false });
    }
    Ok(out)
}

fn number(name: &str, given: Option<&CtValue>) -> HostResult<Value> {
    match given {
        Some(CtValue::Int(x)) => Ok(Value::Int(*x)),
        Some(CtValue::Float(x)) => Ok(Value::Float(x.value())),
        Some(CtValue::Bool(x)) => Ok(Value::Bool(*x)),
        Some(other) => {
            Err(HostError::ty(format!("found `{name}={other}`, the parameter `{name}` is a number")))
        }
        None => Err(HostError::call(format!("the parameter `{name}` has no value"))),
    }
}

/// Returns the axes of a parameter from the slowest to the fastest. Declared strides may make an axis other than the last one
/// contiguous, as in `[1, ldb]`.
fn order<'db>(db: &'db dyn Db, kernel: Kernel<'db>, param: usize, rank: usize) -> Vec<usize> {
    let signature = kernel_signature(db, kernel);
    let layout = signature.params.get(param).map(|param| &signature.store[param.ty]);
    let strides = match layout {
        Some(TypeRef::Named { layout: Some(layout), .. }) => match &signature.store[*layout] {
            Expr::Array(strides) => strides.as_slice(),
            _ => &[],
        },
        _ => &[],
    };
    let is_one = |at: &usize| {
        strides.get(*at).is_some_and(|e| matches!(&signature.store[*e], Expr::Literal(Literal::Int(1))))
    };
    let mut order: Vec<usize> = (0..rank).filter(|at| !is_one(at)).collect();
    order.extend((0..rank).filter(is_one));
    order
}

/// Makes a tensor whose axes lie in memory in this order, slowest first: of zeros, or with contents for a kernel that reads it.
fn filled(dtype: DType, shape: &[usize], order: &[usize], is_zero: bool, stream: u64) -> HostResult<Tensor> {
    let stored: Vec<usize> = order.iter().map(|axis| shape[*axis]).collect();
    let recipe = if is_zero {
        Recipe::full(dtype, &stored, 0)
    } else {
        Recipe::of_input(dtype, &stored, Seed { seed: SEED, stream })
    };
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, axis)| back[*axis] = at);
    let tensor = Tensor::from_recipe(recipe?);
    if order.iter().copied().eq(0..order.len()) { Ok(tensor) } else { tensor.permute(&back) }
}

impl FixedInputs {
    /// Returns the integers among the numbers.
    pub(crate) fn ints(&self) -> BTreeMap<Name, i64> {
        let ints = self.numbers.iter().filter_map(|(name, value)| match value {
            CtValue::Int(value) => Some((name.clone(), *value)),
            _ => None,
        });
        ints.collect()
    }
}
