//! Edits with which shared tensors hold whole bytes in place of narrower elements.

use hx_base::{Applicability, Edit, Fix, TextRange};
use hx_dtype::DType;
use hx_lower::Lowered;
use hx_syntax::ast::{AstNode, CallExpr};
use hx_tile::{Base, Op, OpKind, TensorId};

use super::super::calls::call_at;
use super::{Places, argument};

/// Describes the repair, for the title of a fix or as advice.
pub(super) fn title(lowered: &Lowered, tensors: &[TensorId]) -> String {
    let names: Vec<String> =
        tensors.iter().map(|tensor| format!("`{}`", lowered.program.tensor(*tensor).name)).collect();
    let narrow = lowered.program.tensor(tensors[0]).dtype;
    let byte = byte_of(narrow);
    let names = names.join(" and ");
    format!(
        "hold {names} in `{byte}`: `cast` what is copied in to `{byte}`, and what is loaded back to `{narrow}`"
    )
}

fn byte_of(dtype: DType) -> DType {
    if dtype == DType::I4 { DType::I8 } else { DType::U8 }
}

/// Returns the edits; `None` if the type is not written out, or if an access is in a function.
pub(super) fn fix(places: &Places<'_>, lowered: &Lowered, tensors: &[TensorId]) -> Option<Fix> {
    let mut edits: Vec<Edit> = Vec::new();
    for &tensor in tensors {
        let narrow = lowered.program.tensor(tensor).dtype;
        edits.push(declared(places, lowered, tensor, narrow)?);
        for (op, _) in lowered.program.ops(1.0) {
            if op.kind.tensors().contains(&tensor) {
                let edit = access(places, lowered, op, narrow)?;
                // A statement that is lowered several times is changed once.
                if !edits.contains(&edit) {
                    edits.push(edit);
                }
            }
        }
    }
    Some(Fix { title: title(lowered, tensors), edits, applicability: Applicability::Maybe })
}

/// Returns the edit of the type in the declaration of a tensor; `None` if the kernel itself does not declare it with `narrow`.
fn declared(places: &Places<'_>, lowered: &Lowered, tensor: TensorId, narrow: DType) -> Option<Edit> {
    let file = places.kernel().0;
    let range = places.own(lowered, lowered.program.tensor(tensor).origin)?;
    let call = call_at(places, (file, range))?;
    let dtype = match argument(&call, "dtype") {
        Some(arg) => arg.expr()?,
        None => call.arg_list()?.args().next()?.expr()?,
    };
    let written = dtype.syntax().text() == narrow.to_string().as_str();
    written.then(|| Edit { file, range: dtype.syntax().text_range(), text: byte_of(narrow).to_string() })
}

/// Returns the edit that puts a cast around the value copied into a tensor, or around the value loaded from it; `None` if the
/// kernel itself does not write such a call.
fn access(places: &Places<'_>, lowered: &Lowered, op: &Op, narrow: DType) -> Option<Edit> {
    let OpKind::Copy { src, .. } = &op.kind else { return None };
    let file = places.kernel().0;
    let at = places.own(lowered, op.origin)?;
    let text = |range: TextRange| &file.text(places.db)[range];
    let call = call_at(places, (file, at));
    let first = |call: &CallExpr| Some(call.arg_list()?.args().next()?.expr()?.syntax().text_range());
    let is_call_of =
        |call: &CallExpr, name: &str| call.callee().is_some_and(|callee| callee.syntax().text() == name);
    if matches!(src.base, Base::Shared(_)) {
        let (range, value) = match &call {
            Some(call) if is_call_of(call, "load") => (at, text(at).to_owned()),
            Some(call) if is_call_of(call, "copy") => {
                let range = first(call)?;
                (range, format!("load({})", text(range)))
            }
            Some(_) => return None,
            None => (at, format!("load({})", text(at))),
        };
        return Some(Edit { file, range, text: format!("cast({value}, {narrow})") });
    }
    let (range, byte) = (first(call.as_ref().filter(|call| is_call_of(call, "copy"))?)?, byte_of(narrow));
    let Base::Register(held) = src.base else { return None };
    // If this statement itself loads the tensor, the edit adds a `load` inside the cast. A value is cast as it is.
    let is_value = call_at(places, (file, range)).is_some_and(|call| is_call_of(&call, "load"));
    let loads = |op: &Op| {
        let OpKind::Copy { src, dst } = &op.kind else { return false };
        matches!((src.base, dst.base), (Base::Global(_), Base::Register(to)) if to == held)
            && places.own(lowered, op.origin).is_some_and(|origin| at.contains_range(origin))
    };
    let is_loaded = !is_value && lowered.program.ops(1.0).into_iter().any(|(op, _)| loads(op));
    let value = if is_loaded { format!("load({})", text(range)) } else { text(range).to_owned() };
    Some(Edit { file, range, text: format!("cast({value}, {byte})") })
}
