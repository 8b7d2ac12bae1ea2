//! Checks arguments against the parameters in a kernel's header: count, kind, rank, element type, dimensions, strides, overlap.
//!
//! Checks that need compile-time arithmetic, such as `f16[BM * 2]` or a `where`, happen with the instance.

use std::collections::BTreeMap;

use hx_base::{Code, Label, TextRange, codes, nearest};
use hx_compile::Db;
use hx_dtype::DType;
use hx_hir::{
    Expr, ExprId, Float, Item, Kernel, KernelSignature, Literal, Name, Names, Resolution, TypeRef,
    kernel_signature, signature_names, signature_source_map,
};
use hx_host::device::{LaunchArg, LaunchError, LaunchPlace, LaunchRequest};
use hx_host::{HostError, Tensor, Value};
use hx_lower::{CtArgs, CtValue};

use super::strides::{DIM_LIMIT, Declared, with_free};
use super::{BoundParam, BoundTensor};

/// Arguments that match the header.
#[derive(Clone)]
pub(super) struct Prepared {
    pub args: CtArgs,
    /// Dimensions and strides by name.
    pub dims: BTreeMap<Name, i64>,
    /// Values, in the order of the kernel's parameters.
    pub params: Vec<BoundParam>,
    /// For each parameter, the position of its argument in the request.
    pub sources: Vec<usize>,
    /// The candidate that the launch requests.
    pub candidate: Option<u32>,
    /// Pairs `[input, output]` of positions of parameters for which the launch names the same tensor.
    pub same: Vec<[usize; 2]>,
    /// The alignment of pointers in bytes, by the names of their parameters. A pointer without an entry has the maximal
    /// alignment.
    pub align: BTreeMap<Name, u32>,
}

/// The value of a dimension, and the place that bound it.
#[derive(Clone)]
struct Binding {
    value: i64,
    /// The parameter that bound the dimension; `at` is the place in its type.
    param: usize,
    at: ExprId,
}

/// The kernel's header, which every step of the binding reads.
pub(super) struct Header<'db> {
    pub db: &'db dyn Db,
    pub kernel: Kernel<'db>,
    pub signature: &'db KernelSignature,
    names: &'db Names,
}

impl<'db> Header<'db> {
    pub(super) fn new(db: &'db dyn Db, kernel: Kernel<'db>) -> Header<'db> {
        let names = &signature_names(db, Item::Kernel(kernel)).names;
        Header { db, kernel, signature: kernel_signature(db, kernel), names }
    }

    pub(super) fn name(&self) -> &'db Name {
        self.kernel.name(self.db)
    }

    fn label(&self, range: Option<TextRange>, message: impl Into<String>) -> Option<Label> {
        let range = range? + self.kernel.offset(self.db);
        Some(Label { file: self.kernel.file(self.db), range, message: message.into() })
    }

    /// Returns a label at an expression of the header.
    pub(super) fn at_expr(&self, expr: ExprId, message: impl Into<String>) -> Option<Label> {
        let map = signature_source_map(self.db, Item::Kernel(self.kernel))?;
        self.label(map.map.expr(expr), message)
    }

    /// Returns a label at the type of a parameter.
    pub(super) fn at_type(&self, param: usize, message: impl Into<String>) -> Option<Label> {
        let map = signature_source_map(self.db, Item::Kernel(self.kernel))?;
        let ty = self.signature.params.get(param)?.ty;
        self.label(map.map.type_ref(ty).or_else(|| map.params.get(param).copied()), message)
    }

    fn at_name(&self, message: impl Into<String>) -> Option<Label> {
        self.label(signature_source_map(self.db, Item::Kernel(self.kernel))?.name, message)
    }

    /// Reports whether an entry of shapes and strides is the name of a dimension or stride that no other entry names.
    fn is_single_dimension(&self, expr: ExprId) -> bool {
        let Some(Resolution::Dim(name)) = self.resolution(expr) else { return false };
        let entries = self.signature.params.iter().flat_map(|param| match &self.signature.store[param.ty] {
            TypeRef::Named { shape, layout, .. } => {
                let strides = match layout.map(|layout| &self.signature.store[layout]) {
                    Some(Expr::Array(strides)) => strides.as_slice(),
                    _ => &[],
                };
                shape.iter().flatten().chain(strides).copied().collect()
            }
            _ => Vec::new(),
        });
        entries.filter(|at| self.resolution(*at) == Some(&Resolution::Dim(name.clone()))).count() == 1
    }

    /// Describes the strides that a parameter declares.
    pub(super) fn declared_strides(&self, strides: &[ExprId]) -> Vec<Declared> {
        let is_one = |at| matches!(&self.signature.store[at], Expr::Literal(Literal::Int(1)));
        let declared =
            |at: &ExprId| Declared { is_single: self.is_single_dimension(*at), is_one: is_one(*at) };
        strides.iter().map(declared).collect()
    }

    pub(super) fn resolution(&self, expr: ExprId) -> Option<&Resolution> {
        self.names.exprs.get(expr)
    }
}

fn with(error: HostError, label: Option<Label>) -> HostError {
    match label {
        Some(label) => error.label(label),
        None => error,
    }
}

/// Binds the arguments of a launch to the kernel's parameters.
pub(super) fn bind<'db>(
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    request: &LaunchRequest,
) -> Result<Prepared, LaunchError> {
    let header = Header::new(db, kernel);
    let sources = assign(&header, request)?;
    let mut args = explicit(&header, request)?;
    let mut dims = BTreeMap::new();
    let mut params = Vec::new();
    for (index, &source) in sources.iter().enumerate() {
        let arg = &request.args[source];
        let bound = param(&header, index, arg, &mut args, &mut dims);
        params.push(bound.map_err(|error| LaunchError::arg(source, error))?);
    }
    for generic in &header.signature.generics {
        if generic.default.is_none() && !args.contains_key(&generic.name) {
            let error = HostError::new(
                &codes::UNINFERRED_PARAMETER,
                format!("the compile-time parameter `{}` of `{}` has no value", generic.name, header.name()),
            );
            let help = format!("give it: `{}<{} = ...>(...)`", header.name(), generic.name);
            return Err(LaunchError::call(with(error.help(help), header.at_name("declared here"))));
        }
    }
    let same = overlaps(&header, request, &params, &sources)?;
    let dims = dims.into_iter().map(|(name, b)| (name, b.value)).collect();
    let candidate = request.candidate;
    Ok(Prepared { args, dims, params, sources, candidate, same, align: BTreeMap::new() })
}

/// Returns for each parameter the position of its argument in the request.
fn assign(header: &Header<'_>, request: &LaunchRequest) -> Result<Vec<usize>, LaunchError> {
    let params = &header.signature.params;
    let mut sources: Vec<Option<usize>> = vec![None; params.len()];
    let mut next = 0;
    for (i, arg) in request.args.iter().enumerate() {
        let index = match &arg.name {
            None => {
                next += 1;
                next - 1
            }
            Some(name) => match params.iter().position(|p| p.name == *name) {
                Some(index) => index,
                None => {
                    let error = HostError::call(format!("`{}` has no parameter `{name}`", header.name()));
                    let near = nearest(name, params.iter().map(|p| p.name.as_str()));
                    let error =
                        near.map_or(error.clone(), |near| error.help(format!("perhaps `{near}` is meant")));
                    return Err(LaunchError::arg(i, with(error, header.at_name("declared here"))));
                }
            },
        };
        match sources.get_mut(index) {
            Some(slot @ None) => *slot = Some(i),
            Some(Some(_)) => {
                let error = HostError::call(format!("the parameter `{}` is given twice", params[index].name));
                return Err(LaunchError::arg(i, error));
            }
            None => return Err(wrong_count(header, request)),
        }
    }
    sources.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| wrong_count(header, request))
}

fn wrong_count(header: &Header<'_>, request: &LaunchRequest) -> LaunchError {
    let names: Vec<&str> = header.signature.params.iter().map(|p| p.name.as_str()).collect();
    let (given, taken) = (request.args.len(), names.len());
    let s = |n: usize| if n == 1 { "" } else { "s" };
    let error = HostError::call(format!(
        "{given} argument{} given, `{}` takes {taken}: {}",
        s(given),
        header.name(),
        names.join(", ")
    ));
    LaunchError::call(with(error, header.at_name("declared here")))
}

/// Checks the compile-time arguments that the launch writes, and returns them.
fn explicit(header: &Header<'_>, request: &LaunchRequest) -> Result<CtArgs, LaunchError> {
    let mut args = CtArgs::new();
    for (i, (name, value)) in request.generics.iter().enumerate() {
        let refuse = |error: HostError| LaunchError::Refused {
            error: Box::new(error),
            place: LaunchPlace::Generic(i),
        };
        let generics = &header.signature.generics;
        if !generics.iter().any(|g| g.name == *name) {
            let error =
                HostError::call(format!("`{}` has no compile-time parameter `{name}`", header.name()));
            let near = nearest(name, generics.iter().map(|g| g.name.as_str()));
            let error = near.map_or(error.clone(), |near| error.help(format!("perhaps `{near}` is meant")));
            return Err(refuse(with(error, header.at_name("declared here"))));
        }
        let value = compile_time(value).map_err(refuse)?;
        if args.insert(name.clone(), value).is_some() {
            return Err(refuse(HostError::call(format!(
                "the compile-time parameter `{name}` is given twice"
            ))));
        }
    }
    Ok(args)
}

pub(super) fn compile_time(value: &Value) -> Result<CtValue, HostError> {
    Ok(match value {
        Value::Int(i) => CtValue::Int(*i),
        Value::Float(x) => CtValue::Float(Float::new(*x)),
        Value::Bool(b) => CtValue::Bool(*b),
        Value::DType(d) => CtValue::DType(*d),
        Value::Layout(l) => match &**l {
            hx_layout::expr::Value::Layout(l) => CtValue::Layout(l.layout.clone()),
            other => {
                return Err(HostError::unsupported(format!(
                    "{} is not a compile-time argument yet, only a layout `shape : stride` is",
                    other.kind()
                )));
            }
        },
        Value::Auto => CtValue::Auto,
        Value::Function(key) => CtValue::Function(key.clone()),
        Value::Tuple(v) => CtValue::Tuple(v.iter().map(compile_time).collect::<Result<_, _>>()?),
        other => return Err(HostError::ty(format!("{} is not a compile-time value", other.kind()))),
    })
}

/// Checks one argument, and binds the dimensions, strides and compile-time parameters that its parameter names.
fn param(
    header: &Header<'_>,
    index: usize,
    arg: &LaunchArg,
    args: &mut CtArgs,
    dims: &mut BTreeMap<Name, Binding>,
) -> Result<BoundParam, HostError> {
    let declared = &header.signature.params[index];
    let name = &declared.name;
    let TypeRef::Named { mutable, shape, layout, .. } = &header.signature.store[declared.ty] else {
        return Err(HostError::unsupported(format!(
            "the parameter `{name}` has no type that can be launched"
        )));
    };
    let Some(shape) = shape else { return scalar(header, index, arg, args) };
    let Value::Tensor(tensor) = &arg.value else {
        let error = HostError::new(
            &codes::LAUNCH_DTYPE,
            format!("found {}, the parameter `{name}` is a tensor", arg.value.kind()),
        );
        return Err(with(error, header.at_type(index, "declared here")));
    };
    if tensor.shape().len() != shape.len() {
        let found = Value::Tensor(tensor.clone()).brief();
        let error = HostError::new(
            &codes::LAUNCH_RANK,
            format!(
                "found rank {} in {found}, the parameter `{name}` has rank {}",
                tensor.shape().len(),
                shape.len()
            ),
        );
        return Err(with(error, header.at_type(index, "declared here")));
    }
    element_type(header, index, tensor, args)?;
    if *mutable && arg.temporary {
        let error =
            HostError::call(format!("the kernel writes `{name}`, and this value is held by no variable"));
        let error = error.help("give it a name with `let` first, or the result is lost");
        return Err(with(error, header.at_type(index, "`mut` here")));
    }
    let extents = bind_shape(header, index, shape, tensor, args, dims)?;
    let strides = match layout.map(|l| &header.signature.store[l]) {
        None => None,
        Some(Expr::Array(strides)) => Some(strides),
        // The parameter declares no strides: the tensor is packed, either row-major or in a layout that the instance checks.
        Some(_) => None,
    };
    let stride = match strides {
        None => row_major(&extents),
        Some(strides) => {
            let actual: Vec<i64> = tensor.strides().iter().map(|&s| s as i64).collect();
            let values = with_free(&header.declared_strides(strides), &extents, &actual);
            bind_strides(header, index, strides, &extents, &values, args, dims)?;
            actual
        }
    };
    Ok(BoundParam::Tensor(BoundTensor {
        tensor: tensor.clone(),
        mutable: *mutable,
        strided: strides.is_some(),
        shape: extents,
        stride,
    }))
}

/// Binds the dimensions that the shape of a parameter names. Returns the extents of the tensor.
fn bind_shape(
    header: &Header<'_>,
    index: usize,
    shape: &[ExprId],
    tensor: &Tensor,
    args: &mut CtArgs,
    dims: &mut BTreeMap<Name, Binding>,
) -> Result<Vec<i64>, HostError> {
    let name = &header.signature.params[index].name;
    let extents: Vec<i64> = tensor.shape().iter().map(|&n| n as i64).collect();
    for (axis, (&expr, &extent)) in shape.iter().zip(&extents).enumerate() {
        if extent >= DIM_LIMIT {
            let error = HostError::new(
                &codes::DIMENSION_TOO_LARGE,
                format!("dimension {axis} of `{name}` is {extent}, and a kernel counts in 32 bits"),
            );
            return Err(with(error, header.at_expr(expr, "this dimension")));
        }
        bind_extent(header, index, expr, extent, &format!("dimension {axis} of `{name}`"), args, dims)?;
    }
    Ok(extents)
}

fn row_major(extents: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; extents.len()];
    for d in (1..extents.len()).rev() {
        strides[d - 1] = strides[d] * extents[d];
    }
    strides
}

/// Returns the element type that a parameter declares; `None` if it declares none. Fails with the name of the compile-time
/// parameter that stands for the type, if it has no value yet.
pub(super) fn declared_dtype(
    header: &Header<'_>,
    index: usize,
    args: &CtArgs,
) -> Result<Option<DType>, Name> {
    let ty = header.signature.params[index].ty;
    match header.names.types.get(ty) {
        Some(Resolution::DType(dtype)) => Ok(Some(*dtype)),
        Some(Resolution::Generic(i)) => {
            let generic = &header.signature.generics[*i as usize];
            match args.get(&generic.name) {
                Some(CtValue::DType(dtype)) => Ok(Some(*dtype)),
                _ => Err(generic.name.clone()),
            }
        }
        _ => Ok(None),
    }
}

fn element_type(
    header: &Header<'_>,
    index: usize,
    tensor: &Tensor,
    args: &mut CtArgs,
) -> Result<(), HostError> {
    match declared_dtype(header, index, args) {
        Ok(Some(wanted)) if wanted != tensor.dtype() => {
            let name = &header.signature.params[index].name;
            let found = tensor.dtype();
            let error = HostError::new(
                &codes::LAUNCH_DTYPE,
                format!("found {found} elements, the parameter `{name}` has {wanted}"),
            );
            let error = error.help(format!("`cast(x, {wanted})` converts, with rounding where needed"));
            Err(with(error, header.at_type(index, "declared here")))
        }
        Ok(_) => Ok(()),
        Err(generic) => {
            args.insert(generic, CtValue::DType(tensor.dtype()));
            Ok(())
        }
    }
}

/// Binds a dimension or stride to `value` if it is an unbound name. Otherwise compares `value` with the bound value or literal.
fn bind_extent(
    header: &Header<'_>,
    param: usize,
    expr: ExprId,
    value: i64,
    what: &str,
    args: &mut CtArgs,
    dims: &mut BTreeMap<Name, Binding>,
) -> Result<(), HostError> {
    let mismatch =
        |code: &'static Code, wanted: String| HostError::new(code, format!("{what} is {value}, {wanted}"));
    let code = &codes::LAUNCH_DIMENSION;
    match (&header.signature.store[expr], header.resolution(expr)) {
        (Expr::Literal(Literal::Int(i)), _) if *i != i128::from(value) => {
            Err(with(mismatch(code, format!("and must be {i}")), header.at_expr(expr, "declared here")))
        }
        (_, Some(Resolution::Dim(name))) => match dims.get(name) {
            None => {
                dims.insert(name.clone(), Binding { value, param, at: expr });
                Ok(())
            }
            Some(bound) if bound.value == value => Ok(()),
            Some(bound) => {
                let owner = &header.signature.params[bound.param].name;
                let error = mismatch(code, format!("but `{name}` is {} in `{owner}`", bound.value));
                let error = with(error, header.at_expr(bound.at, format!("`{name}` = {} here", bound.value)));
                Err(with(error, header.at_expr(expr, format!("`{name}` = {value} here"))))
            }
        },
        (_, Some(Resolution::Generic(i))) => {
            let generic = header.signature.generics[*i as usize].name.clone();
            match args.get(&generic) {
                None => {
                    args.insert(generic, CtValue::Int(value));
                    Ok(())
                }
                Some(CtValue::Int(given)) if *given == value => Ok(()),
                Some(given) => {
                    let error = mismatch(code, format!("but `{generic}` is {given}"));
                    Err(with(error, header.at_expr(expr, "declared here")))
                }
            }
        }
        _ => Ok(()),
    }
}

fn bind_strides(
    header: &Header<'_>,
    index: usize,
    strides: &[ExprId],
    extents: &[i64],
    actual: &[i64],
    args: &mut CtArgs,
    dims: &mut BTreeMap<Name, Binding>,
) -> Result<(), HostError> {
    let name = &header.signature.params[index].name;
    if strides.len() != actual.len() {
        let error = HostError::call(format!(
            "`{name}` declares {} strides for {} dimensions",
            strides.len(),
            actual.len()
        ));
        return Err(with(error, header.at_type(index, "declared here")));
    }
    for (axis, (&expr, &stride)) in strides.iter().zip(actual).enumerate() {
        if stride >= DIM_LIMIT {
            let error = HostError::new(
                &codes::DIMENSION_TOO_LARGE,
                format!(
                    "the stride of dimension {axis} of `{name}` is {stride}, and a kernel counts in 32 bits"
                ),
            );
            return Err(with(error, header.at_expr(expr, "this stride")));
        }
        // The stride of a dimension with one element is never used, so a literal need not match. A name still needs a value.
        let literal = matches!(&header.signature.store[expr], Expr::Literal(_));
        if extents[axis] > 1 || !literal {
            bind_extent(
                header,
                index,
                expr,
                stride,
                &format!("the stride of dimension {axis} of `{name}`"),
                args,
                dims,
            )?;
        }
    }
    Ok(())
}

/// Reports whether an integer is in the range of an element type.
pub(super) fn integer_fits(dtype: DType, value: i64) -> bool {
    (dtype.min_value()..=dtype.max_value()).contains(&(value as f64))
}

/// Checks a number for a parameter without a shape.
fn scalar(
    header: &Header<'_>,
    index: usize,
    arg: &LaunchArg,
    args: &CtArgs,
) -> Result<BoundParam, HostError> {
    let name = &header.signature.params[index].name;
    let dtype = declared_dtype(header, index, args).map_err(|generic| {
        HostError::new(
            &codes::UNINFERRED_PARAMETER,
            format!("`{generic}` has no value, and numbers do not fix it"),
        )
    })?;
    let wanted = dtype.map_or_else(|| "a number".to_owned(), |d| format!("of type {d}"));
    let refuse = |found: String| {
        let error = HostError::new(
            &codes::LAUNCH_DTYPE,
            format!("found {found}, the parameter `{name}` is {wanted}"),
        );
        with(error, header.at_type(index, "declared here"))
    };
    match (&arg.value, dtype) {
        (Value::Int(i), Some(d)) if d.is_float() => Ok(BoundParam::Float(*i as f64)),
        (Value::Int(i), Some(d)) if !integer_fits(d, *i) => Err(refuse(format!("{i}, which does not fit"))),
        (Value::Int(i), _) => Ok(BoundParam::Int(*i)),
        (Value::Bool(b), Some(DType::Bool)) => Ok(BoundParam::Int(i64::from(*b))),
        (Value::Float(x), Some(d)) if d.is_float() => Ok(BoundParam::Float(*x)),
        (other, _) => Err(refuse(other.kind())),
    }
}

/// Checks that no argument that the kernel writes repeats elements or shares memory with another argument. The exception is an
/// input that is the same tensor as an output. Such pairs are returned as positions of parameters, `[input, output]`, and the
/// instance decides about them.
fn overlaps(
    header: &Header<'_>,
    request: &LaunchRequest,
    params: &[BoundParam],
    sources: &[usize],
) -> Result<Vec<[usize; 2]>, LaunchError> {
    let mut same = Vec::new();
    let tensors: Vec<(usize, &BoundTensor)> = params
        .iter()
        .enumerate()
        .filter_map(|(i, p)| if let BoundParam::Tensor(t) = p { Some((i, t)) } else { None })
        .collect();
    for (n, &(i, a)) in tensors.iter().enumerate() {
        if a.mutable && a.tensor.repeats() {
            let name = &header.signature.params[i].name;
            let message =
                format!("the argument for `{name}` repeats elements, and the kernel writes `{name}`");
            let error = HostError::new(&codes::OVERLAPPING_ARGUMENTS, message);
            let error = error.help("`x.copy()` makes a tensor with an element for each index");
            return Err(LaunchError::arg(sources[i], with(error, header.at_type(i, "`mut` here"))));
        }
        for &(j, b) in &tensors[n + 1..] {
            if !(a.mutable || b.mutable) || !a.tensor.overlaps(&b.tensor) {
                continue;
            }
            if a.mutable != b.mutable && is_same(&a.tensor, &b.tensor) {
                same.push(if b.mutable { [i, j] } else { [j, i] });
                continue;
            }
            let reason = "they are different parts of one tensor, or the kernel writes both";
            let mutable = if b.mutable { j } else { i };
            return Err(refused(header, (request, sources), [i, j], (mutable, reason)));
        }
    }
    Ok(same)
}

/// Reports whether two views show the same elements of the same memory.
fn is_same(a: &Tensor, b: &Tensor) -> bool {
    let strides = |tensor: &Tensor| {
        let dims = tensor.shape().iter().zip(tensor.strides());
        dims.filter(|(extent, _)| **extent > 1).map(|(_, stride)| *stride).collect::<Vec<_>>()
    };
    (a.buffer_id(), a.dtype(), a.shape(), a.span().start, strides(a))
        == (b.buffer_id(), b.dtype(), b.shape(), b.span().start, strides(b))
}

/// Returns the error of two arguments that share memory, with the reason why this is no update in place. `i`, `j` and `mutable`
/// are positions of parameters; the kernel writes `mutable`, one of the two.
pub(super) fn refused(
    header: &Header<'_>,
    (request, sources): (&LaunchRequest, &[usize]),
    [i, j]: [usize; 2],
    (mutable, reason): (usize, &str),
) -> LaunchError {
    let [i, j] = [i.min(j), i.max(j)];
    let [first, second] = [i, j].map(|at| &header.signature.params[at].name);
    let written = &header.signature.params[mutable].name;
    let error = HostError::new(
        &codes::OVERLAPPING_ARGUMENTS,
        format!("the arguments for `{first}` and `{second}` share memory, and the kernel writes `{written}`"),
    );
    let error = error.note(format!("not known to be an update in place: {reason}"));
    let error = error.help("`x.copy()` makes a tensor of its own");
    let at = sources[j].min(request.args.len().saturating_sub(1));
    LaunchError::arg(at, with(error, header.at_type(mutable, "`mut` here")))
}
