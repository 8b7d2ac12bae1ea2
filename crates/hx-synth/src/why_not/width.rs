//! The widest access that the addresses of a copy allow, whatever its layouts.

use hx_tile::{Op, OpKind, TileProgram, View};

use crate::access::global;

/// Returns the bytes of the widest access that the addresses in global memory allow an operation, and the fact that sets this limit.
/// `None` if the operation moves nothing from or to global memory.
pub fn widest_access(program: &TileProgram, op: &Op) -> Option<(i64, String)> {
    let (OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst, .. } | OpKind::Store { src, dst, .. }) =
        &op.kind
    else {
        return None;
    };
    let of = |view: &View| {
        let param = global::param_of(program, view)?;
        let aligned = global::alignment(program, view, param);
        let bytes = aligned.elements.saturating_mul(i64::from(param.dtype.bits())) / 8;
        Some((bytes, aligned.limit))
    };
    [src, dst].into_iter().find_map(of)
}
