//! HX0204: operands of two element types, and which of them to convert.
//!
//! A conversion in registers is cheap. An operand of a product in shared memory is read by the instruction itself, so converting it
//! would move it through registers first: the operand in registers is converted instead, even to a narrower type.

use hx_base::{Applicability, Diagnostic, codes};
use hx_dtype::DType;

use super::Reporter;
use crate::{Builtin, Elem, Expr, ExprId, KernelFn, MemorySpace, Resolution, Ty, infer_body};

/// The operation that needs two operands of one type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The operands are factors of a matrix product.
    Product,
    /// The operation is elementwise, so the wider of the two types holds the result.
    Elementwise,
    /// The operation writes the first operand into the second.
    Write,
}

/// An operand, and the type that it would have to be converted to.
type Conversion<'a> = (ExprId, &'a Elem);

/// Reports that `expr` has elements of type `found` where `other` has `wanted`.
pub(super) fn diagnostic(
    at: &Reporter<'_>,
    expr: ExprId,
    found: &Elem,
    other: ExprId,
    wanted: &Elem,
) -> Diagnostic {
    let message = format!("expected `{wanted}`, found elements of type `{found}`");
    let diagnostic = at
        .diagnostic(&codes::DTYPE_MISMATCH, at.expr(expr), message)
        .label(format!("this is `{found}`"))
        .also(at.file(), at.expr(other), format!("this is `{wanted}`"));
    match converted(at, (expr, found), (other, wanted)) {
        Some((operand, to)) => {
            let range = at.expr(operand);
            let text = format!("cast({}, {to})", at.text(range));
            diagnostic.fix(format!("convert it with `cast(…, {to})`"), range, text, Applicability::Maybe)
        }
        None => diagnostic.help(
            "make both tensors with one element type: converting an operand in shared memory moves it through registers",
        ),
    }
}

/// Returns the operand to convert, and its new type; `None` if both are factors of a product in shared memory, where converting
/// costs too much.
fn converted<'a>(
    at: &Reporter<'_>,
    (expr, found): (ExprId, &'a Elem),
    (other, wanted): (ExprId, &'a Elem),
) -> Option<Conversion<'a>> {
    let (first, second) = ((expr, wanted), (other, found));
    match use_of(at, expr, other) {
        Use::Write => Some(first),
        Use::Elementwise if holds(found, wanted) => Some(second),
        Use::Elementwise => Some(first),
        Use::Product => match [(expr, found), (other, wanted)].map(|(operand, elem)| Factor {
            in_registers: is_in_registers(at, operand),
            has_products: has_products(elem),
        }) {
            // A type without products is the one to leave.
            [Factor { has_products: false, in_registers }, Factor { has_products: true, .. }] => {
                in_registers.then_some(first)
            }
            [Factor { has_products: true, .. }, Factor { has_products: false, in_registers }] => {
                in_registers.then_some(second)
            }
            [Factor { in_registers: true, .. }, Factor { in_registers: false, .. }] => Some(first),
            [Factor { in_registers: false, .. }, Factor { in_registers: true, .. }] => Some(second),
            [Factor { in_registers: false, .. }, Factor { in_registers: false, .. }] => None,
            // The narrower type is the one that is multiplied faster.
            [Factor { in_registers: true, .. }, Factor { in_registers: true, .. }] => {
                Some(if holds(wanted, found) { second } else { first })
            }
        },
    }
}

/// A factor of a matrix product.
struct Factor {
    in_registers: bool,
    has_products: bool,
}

/// Reports whether any target multiplies elements of this type: no instruction takes block scales, so their elements are widened.
fn has_products(elem: &Elem) -> bool {
    !matches!(elem, Elem::Known(dtype) if *dtype == DType::F4E2m1 || dtype.is_scale())
}

fn is_in_registers(at: &Reporter<'_>, expr: ExprId) -> bool {
    if at.in_signature {
        return true;
    }
    match infer_body(at.db, at.item).exprs.get(expr) {
        Some(Ty::Tensor(t)) => t.space == MemorySpace::Register,
        _ => true,
    }
}

/// Finds the operation that takes two operands; [`Use::Write`] unless it is a built-in function or an operator.
fn use_of(at: &Reporter<'_>, expr: ExprId, other: ExprId) -> Use {
    let (store, names) = at.contents();
    for (_, parent) in store.exprs.iter() {
        match parent {
            Expr::Call { callee, args } => {
                let has = |operand: ExprId| args.iter().any(|arg| arg.value == operand);
                if !has(expr) || !has(other) {
                    continue;
                }
                let Some(Resolution::Builtin(called)) = names.exprs.get(*callee) else { return Use::Write };
                return use_by(called);
            }
            Expr::Binary { lhs, rhs, .. }
                if [*lhs, *rhs] == [other, expr] || [*lhs, *rhs] == [expr, other] =>
            {
                return Use::Elementwise;
            }
            _ => {}
        }
    }
    Use::Write
}

/// Returns the use that a call makes of its operands.
fn use_by(called: &Builtin) -> Use {
    if matches!(called, Builtin::Kernel(KernelFn::Gemm | KernelFn::GemmAsync)) {
        return Use::Product;
    }
    let is_elementwise = matches!(
        called,
        Builtin::Common(_) | Builtin::Kernel(KernelFn::Max | KernelFn::Min | KernelFn::Concat)
    );
    if is_elementwise { Use::Elementwise } else { Use::Write }
}

/// Reports whether the type `wide` has every value of the type `narrow`. Every integer type counts as held by `f64`, although
/// an `f64` is exact only up to 2^53.
fn holds(wide: &Elem, narrow: &Elem) -> bool {
    let (Elem::Known(wide), Elem::Known(narrow)) = (wide, narrow) else { return false };
    match (wide.is_float(), narrow.is_float()) {
        // The largest scales are beyond `f16`.
        (true, true) => {
            wide.bits() > narrow.bits() && !wide.is_scale() && (!narrow.is_scale() || *wide != DType::F16)
        }
        // An `f32` has a significand of 24 bits, so it holds every integer type of up to 16 bits.
        (true, false) => narrow.is_int() && (wide.bits() >= 32 && narrow.bits() <= 16 || wide.bits() == 64),
        (false, false) => {
            let sign = u32::from(wide.is_signed() && !narrow.is_signed());
            narrow.is_int()
                && wide.bits() >= narrow.bits() + sign
                && (wide.is_signed() || !narrow.is_signed())
        }
        (false, true) => false,
    }
}
