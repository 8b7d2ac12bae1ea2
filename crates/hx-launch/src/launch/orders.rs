//! The orders in memory of packed tensors: the one that a kernel infers for a tensor, and the check that an argument has the order that its
//! parameter is read in.

use hx_base::codes;
use hx_compile::{Db, orders_left_open};
use hx_hir::{Kernel, open_orders};
use hx_host::HostError;
use hx_host::device::{LaunchError, OrderQuestion};
use hx_host::tensor::Order;
use hx_layout::Layout;
use hx_lower::{CtArgs, CtValue, LowerError};
use hx_target::Target;
use hx_tile::Param;

use super::bind::{Header, Prepared, compile_time, declared_dtype};
use super::{BoundParam, BoundTensor};

/// Returns the error of orders that cannot be inferred.
pub(super) fn unknown(db: &dyn Db, errors: &[LowerError]) -> LaunchError {
    LaunchError::Found(errors.iter().filter_map(|error| error.to_diagnostic(db)).collect())
}

/// Answers a question about the order that a kernel infers.
///
/// # Errors
/// If the kernel infers no order for a tensor of this type, or several and the question names none.
pub(super) fn answer<'db>(
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    question: &OrderQuestion,
    target: Target,
) -> Result<Option<Layout>, LaunchError> {
    let refuse = |error: HostError| LaunchError::call(error);
    let header = Header::new(db, kernel);
    let name = header.name();
    let mut args = CtArgs::new();
    for (generic, value) in &question.generics {
        let CtValue::DType(dtype) = compile_time(value).map_err(refuse)? else {
            let message = format!("the order that `{name}` infers does not depend on `{generic}`");
            let help = "all instances for the same element types have one order: leave the argument out";
            return Err(refuse(HostError::call(message).help(help)));
        };
        args.insert(generic.clone(), CtValue::DType(dtype));
    }
    let index = param(&header, question).map_err(refuse)?;
    let declared = &header.signature.params[index].name;
    let dtype = match declared_dtype(&header, index, &args) {
        Ok(dtype) => dtype,
        Err(generic) => {
            args.insert(generic, CtValue::DType(question.dtype));
            Some(question.dtype)
        }
    };
    if let Some(dtype) = dtype.filter(|dtype| *dtype != question.dtype) {
        let message = format!("found a tensor of {}, `{declared}` of `{name}` is {dtype}", question.dtype);
        return Err(refuse(HostError::new(&codes::LAUNCH_DTYPE, message)));
    }
    let orders = orders_left_open(db, kernel, &args, target).map_err(|errors| unknown(db, errors))?;
    let order = orders.into_iter().find(|order| order.params.contains(&index));
    Ok(order.and_then(|order| order.block.clone()))
}

/// Returns the position of the parameter that a question is about.
fn param(header: &Header<'_>, question: &OrderQuestion) -> Result<usize, HostError> {
    let (name, params) = (header.name(), &header.signature.params);
    let open: Vec<usize> =
        open_orders(header.db, header.kernel).into_iter().flat_map(|order| order.params).collect();
    let names: Vec<String> = open.iter().map(|at| format!("`{}`", params[*at].name)).collect();
    if open.is_empty() {
        let message = format!("`{name}` infers the order of no tensor");
        let help = "a layout with the default `infer` is inferred: `kernel f<W: layout = infer>(w: u4[n, k] : W, …)`";
        return Err(HostError::call(message).help(help));
    }
    match (&question.param, open.as_slice()) {
        (Some(wanted), _) => open.iter().copied().find(|at| params[*at].name == *wanted).ok_or_else(|| {
            let known = names.join(", ");
            HostError::call(format!("`{name}` infers no order for `{wanted}`, only for {known}"))
        }),
        (None, [only]) => Ok(*only),
        (None, _) => {
            let message = format!("`{name}` infers the orders of {}", names.join(" and "));
            let first = &params[open[0]].name;
            Err(HostError::call(message).help(format!("`pack(x, {name}, of: \"{first}\")` names one")))
        }
    }
}

/// Checks that the arguments lie in the orders that a kernel infers. Members of its family take the same orders, so this is the only place
/// that knows them to be inferred.
///
/// # Errors
/// If an argument lies in another order.
pub(super) fn check_inferred<'db>(
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    prepared: &Prepared,
    target: Target,
) -> Result<(), LaunchError> {
    let header = Header::new(db, kernel);
    for order in orders_left_open(db, kernel, &prepared.args, target).map_err(|errors| unknown(db, errors))? {
        for &index in &order.params {
            let Some(BoundParam::Tensor(bound)) = prepared.params.get(index) else { continue };
            let block = order.block.as_ref();
            if bound.tensor.lies_in(block) {
                continue;
            }
            let error = other(&header, index, bound, block);
            let help = match (bound.tensor.order(), block) {
                (Order::Plain, Some(_)) => {
                    let (name, types) = (&header.signature.params[index].name, types(&prepared.args));
                    format!("`pack({name}, {}{types})` makes a tensor in this order", header.name())
                }
                (Order::Blocks(_) | Order::Part, _) | (Order::Plain, None) => unpacks(),
            };
            return Err(LaunchError::arg(prepared.sources[index], error.help(help)));
        }
    }
    Ok(())
}

/// Formats the element types among compile-time arguments, on which an inferred order depends: `<T = bf16>`.
fn types(args: &CtArgs) -> String {
    let types = args.iter().filter(|(_, value)| matches!(value, CtValue::DType(_)));
    let types: Vec<String> = types.map(|(name, value)| format!("{name} = {value}")).collect();
    if types.is_empty() { String::new() } else { format!("<{}>", types.join(", ")) }
}

fn unpacks() -> String {
    "`unpack` of the whole tensor, with the layout or kernel that it was packed for, reverts `pack`"
        .to_owned()
}

/// Checks that an argument that was packed has the order that its parameter declares. A tensor that was not packed is taken as declared.
///
/// # Errors
/// If it has another order.
pub(super) fn check_declared(
    header: &Header<'_>,
    index: usize,
    bound: &BoundTensor,
    declared: Option<&Layout>,
) -> Result<(), HostError> {
    let is_plain = matches!(bound.tensor.order(), Order::Plain);
    if is_plain || bound.tensor.lies_in(declared) {
        return Ok(());
    }
    Err(other(header, index, bound, declared).help(unpacks()))
}

/// States the orders of the tensors that a launch has written.
pub(super) fn mark_written(params: &[BoundParam], declared: &[Param]) {
    for (bound, declared) in params.iter().zip(declared) {
        let (BoundParam::Tensor(bound), Param::Tensor(declared)) = (bound, declared) else { continue };
        if bound.mutable {
            bound.tensor.put_in_order(declared.block.as_ref());
        }
    }
}

fn other(header: &Header<'_>, index: usize, bound: &BoundTensor, wanted: Option<&Layout>) -> HostError {
    let text = |order: Option<&Layout>| match order {
        Some(block) => format!("in blocks `{block}`"),
        None => "in row-major order".to_owned(),
    };
    let name = &header.signature.params[index].name;
    let found = match bound.tensor.order() {
        Order::Plain => format!("lies {}", text(None)),
        Order::Blocks(order) => format!("lies {}", text(Some(&order))),
        Order::Part => "is a part or another view of a packed tensor".to_owned(),
    };
    let message =
        format!("the argument for `{name}` {found}, and `{}` reads it {}", header.name(), text(wanted));
    let error = HostError::new(&codes::OTHER_ORDER, message);
    match header.at_type(index, "declared here") {
        Some(label) => error.label(label),
        None => error,
    }
}
