//! Stores elements narrower than a byte in whole bytes in shared tensors: a byte can be moved alone, a part of one cannot.

use std::collections::BTreeSet;

use hx_dtype::DType;
use hx_tile::{Base, Op, OpKind, TensorId, TensorKind, TileProgram, View};

use super::{Adder, Repair, change};
use crate::conflict::Claim;

/// Returns the byte type that holds every value of a narrower integer type; `None` for another type.
fn byte_of(dtype: DType) -> Option<DType> {
    // Rows convert integers of 4 bits, and no narrower ones.
    let byte = if dtype.is_signed() { DType::I8 } else { DType::U8 };
    (dtype.is_int() && dtype.bits() == 4).then_some(byte)
}

/// Returns repairs for each narrow shared tensor that the claims touch, then one for all narrow shared tensors of the program.
pub(super) fn candidates(program: &TileProgram, claims: &[Claim]) -> Vec<Repair> {
    let narrow = |tensor: &TensorId| {
        let info = program.tensor(*tensor);
        matches!(info.kind, TensorKind::Shared { pinned: None }) && byte_of(info.dtype).is_some()
    };
    let ops = claims.iter().filter_map(|claim| match claim {
        Claim::Operation(op) => program.op(*op),
        _ => None,
    });
    let touched: BTreeSet<TensorId> = ops.flat_map(|op| op.kind.tensors()).filter(narrow).collect();
    let all: Vec<TensorId> = program.tensor_ids().filter(narrow).collect();
    let mut out: Vec<Repair> = touched.iter().map(|tensor| Repair::Bytes(vec![*tensor])).collect();
    if !touched.is_empty() && all.len() > 1 {
        out.push(Repair::Bytes(all));
    }
    out
}

/// Changes a tensor to bytes. Returns `None` if an operation other than a plain copy of a whole register tensor uses it.
pub(super) fn hold(program: &mut TileProgram, tensor: TensorId) -> Option<()> {
    let narrow = program.tensor(tensor).clone();
    let byte = byte_of(narrow.dtype)?;
    let used = |kind: &OpKind| kind.tensors().contains(&tensor);
    let users: Vec<Op> = program.ops(1.0).into_iter().map(|(op, _)| op.clone()).collect();
    program.tensors.get_mut(tensor.0 as usize)?.dtype = byte;
    let wide = hx_tile::Tensor { dtype: byte, ..narrow };
    for Op { id, kind, scope, .. } in users.into_iter().filter(|op| used(&op.kind)) {
        let OpKind::Copy { src, dst } = kind else { return None };
        let (memory, Base::Register(held)) = (match (src.base, dst.base) {
            (Base::Shared(_), held) => (&src, held),
            (held, _) => (&dst, held),
        }) else {
            return None;
        };
        let shape = memory.shape();
        if program.tensor(held).shape != shape {
            return None;
        }
        let mut new = Adder::new(program, scope);
        let bytes = new.tensor(&wide, shape.clone(), TensorKind::Register { pinned: None });
        let whole = View::whole(Base::Register(bytes), &shape);
        let (first, last) = if matches!(src.base, Base::Shared(_)) {
            (OpKind::Copy { src, dst: whole }, OpKind::Cast { dst: held, src: bytes })
        } else {
            (OpKind::Cast { dst: bytes, src: held }, OpKind::Copy { src: whole, dst })
        };
        let first = new.op(first);
        change(&mut program.body, id, &mut |op| {
            op.kind = last.clone();
            vec![first.clone()]
        });
    }
    Some(())
}
