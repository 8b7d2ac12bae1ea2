//! Bulk copies: one thread moves a tile between global and shared memory box by box. A box is compact in shared memory, under a
//! swizzle of the closed set. [`super::runs`] cuts tiles into runs.
//!
//! Elements narrower than a byte are moved as the bytes that hold them. Extents here are in elements; only the limit on the
//! extent of a box along the contiguous dimension counts bytes then.

use hx_dtype::DType;
use hx_target::{BulkRow, MapLimits, Space, SwizzleMode};
use hx_tile::{Base, Constant, Op, OpKind, Tensor, TensorParam, View, bytes_text};

use super::buffer::{Boxes, By, Candidate, Use};
use super::constraint::Constraint;
use super::demanded::Demanded;
use super::mode::Mode;
use super::operand::is_met;
use super::{pin_of, runs};
use crate::access::global;
use crate::cost;
use crate::search::context::SolverContext;

/// The widths of a box's rows, in the order in which they are tried: the width of a swizzle, or `None` for whole rows of the
/// tile without a swizzle.
const WIDTHS: [Option<SwizzleMode>; 5] = [
    Some(SwizzleMode::Bytes128),
    Some(SwizzleMode::Bytes64),
    Some(SwizzleMode::Bytes32),
    None,
    Some(SwizzleMode::Plain),
];

/// Returns the bulk rows that can make a copy, boxes before runs: a load that signals a pipeline, or a store.
pub(super) fn rows_of(context: &SolverContext<'_, '_>, dtype: DType, u: &Use<'_>) -> Vec<&'static BulkRow> {
    let target = context.target();
    let (ends, adds) = if let OpKind::CopyAsync { signal: Some(_), .. } = u.op.kind {
        ([Space::Global, Space::Shared], false)
    } else if let OpKind::Store { adds, .. } = u.op.kind {
        ([Space::Shared, Space::Global], adds)
    } else {
        return Vec::new();
    };
    let is_allowed = |row: &BulkRow| context.pool.wish.allows(u.op.id, &row.name);
    let fits = |row: &&BulkRow| [row.from, row.to] == ends && row.moves(dtype, adds) && is_allowed(row);
    target.rows().bulks.iter().filter(fits).collect()
}

/// Returns the ways to cut a copy into boxes or into runs.
///
/// # Errors
/// The reason why there is none.
pub(super) fn candidates(
    context: &SolverContext<'_, '_>,
    info: &Tensor,
    u: &Use<'_>,
    global: &View,
    row: &'static BulkRow,
) -> Result<Vec<Candidate>, String> {
    let param = global::param_of(context.program(), global).ok_or("it is not a tensor of global memory")?;
    if row.is_load() && is_written(context, global.base) {
        return Err(format!("the kernel writes `{}` too", param.name));
    }
    if let Some(unit) = row.run {
        let (boxes, constraint) = runs::cut(context, (info, u), (param, global), (row, unit))?;
        return made(context, (info, u), boxes, constraint).map(|candidate| vec![candidate]);
    }
    let dims = dimensions(context, param, global, !row.is_load())?;
    let blocks = i64::from(context.program().blocks_of(u.op));
    let mut out = Vec::new();
    let mut refused = None;
    for width in WIDTHS {
        let (share, alone, found) = match dealt(context, (info, u), (param, global), &dims, width, blocks) {
            Some(Ok((mode, cut))) => (Some(mode), None, Ok(cut)),
            Some(Err(why)) => (None, Some(why), cut(context, (info, u), (param, global), &dims, width, None)),
            None => (None, None, cut(context, (info, u), (param, global), &dims, width, None)),
        };
        let candidate = found.and_then(|(extents, align, constraint)| {
            let boxes = Boxes { row, dims: dims.clone(), extents, align, share, alone };
            made(context, (info, u), boxes, constraint)
        });
        match candidate {
            Ok(candidate) => out.push(candidate),
            Err(why) => refused = refused.or(Some(why)),
        }
    }
    if out.is_empty() { Err(refused.unwrap_or_default()) } else { Ok(out) }
}

/// Returns the boxes in which one thread fetches a tile into the L2 cache: the dimensions of the tensor, the contiguous one first, and the
/// extents of a box along them, as long as the tile allows.
///
/// # Errors
/// The reason why the tile is not made of boxes.
pub(crate) fn fetched(
    context: &SolverContext<'_, '_>,
    global: &View,
) -> Result<(Vec<usize>, Vec<u32>), String> {
    let param = global::param_of(context.program(), global).ok_or("it is not a tensor of global memory")?;
    let dims = dimensions(context, param, global, false)?;
    let (limits, bits) = (&context.target().rows().map, i64::from(param.dtype.bits()));
    let mut extents: Vec<u32> = Vec::with_capacity(dims.len());
    for dim in &dims {
        let all = global.modes.iter().find(|mode| mode.dim == *dim).map_or(1, |mode| mode.extent);
        let unit = if extents.is_empty() { i64::from(limits.row) * 8 } else { bits };
        let fits = |n: &i64| all % n == 0 && n * bits % unit == 0;
        let extent = (1..=all.min(longest(limits, param.dtype, extents.is_empty()))).rev().find(fits);
        let extent = extent.and_then(|extent| u32::try_from(extent).ok());
        extents
            .push(extent.ok_or_else(|| {
                format!("a row of {all} elements of `{}` is not made of boxes", param.name)
            })?);
    }
    Ok((dims, extents))
}

/// Returns the candidate of these boxes or runs.
///
/// # Errors
/// If the shared tensor is pinned to a layout of another form.
fn made(
    context: &SolverContext<'_, '_>,
    (info, u): (&Tensor, &Use<'_>),
    boxes: Boxes,
    constraint: Constraint,
) -> Result<Candidate, String> {
    let target = context.target();
    let pin = u.tensor().and_then(|tensor| pin_of(context.program(), tensor));
    if pin.is_some_and(|pin| !is_met(&constraint, &u.view, pin)) {
        return Err(format!("the layout pinned to `{}` has another form", info.name));
    }
    let elements = u.shape.iter().product::<i64>() as f64;
    let bytes = info.dtype.bits() as f64 / 8.0 * elements;
    let each = boxes.extents.iter().map(|extent| f64::from(*extent)).product::<f64>();
    // Each block reads its share of the tile from global memory, and gets all of it in shared memory.
    let of = boxes.share.map_or(1.0, |_| f64::from(context.program().blocks_of(u.op)));
    let global = cost::in_boxes(target, bytes / of, elements / each / of) * u.trips;
    let alone = bytes / f64::from(target.limits.wavefront_bytes());
    let costs = [alone * u.trips + global, global, alone];
    Ok(Candidate::new(By::Boxes(boxes), constraint, costs))
}

/// Reports whether some operation writes a tensor. Bulk copies read through the asynchronous proxy, which does not see writes of threads
/// without a fence.
fn is_written(context: &SolverContext<'_, '_>, base: Base) -> bool {
    let writes = |op: &Op| {
        op.kind.description().accesses.iter().any(|access| access.base() == base && access.mode.writes())
    };
    context.program().ops(1.0).into_iter().any(|(op, _)| writes(op))
}

/// Returns the dimensions of a tensor map, the contiguous one first.
///
/// # Errors
/// The limit that the tensor or its view breaks.
fn dimensions(
    context: &SolverContext<'_, '_>,
    param: &TensorParam,
    view: &View,
    writes: bool,
) -> Result<Vec<usize>, String> {
    let target = context.target();
    let (facts, name, limits) = (&context.program().facts, &param.name, &target.rows().map);
    let bits = i64::from(param.dtype.bits());
    if param.block.is_some() {
        return Err(format!("the elements of `{name}` lie in blocks, of which no box is made"));
    }
    if view.picked.is_some() {
        return Err(format!("the rows of `{name}` are picked"));
    }
    if view.pad != Constant::ZERO {
        return Err(format!("elements outside of `{name}` read as {}", view.pad));
    }
    view.box_end(param, limits.dims, facts)?;
    let rank = param.stride.len();
    if rank > limits.dims {
        return Err(format!("`{name}` has {rank} dimensions, and boxes have at most {}", limits.dims));
    }
    if i64::from(param.align) % limits.stride != 0 {
        return Err(format!(
            "`{name}` begins at a multiple of {} B, not of {} B",
            param.align, limits.stride
        ));
    }
    let is_plain = |mode: &hx_tile::ViewMode| mode.factor.as_const() == Some(1);
    let walked: Vec<usize> = view.modes.iter().map(|mode| mode.dim).collect();
    let is_twice = walked.iter().enumerate().any(|(i, dim)| walked[..i].contains(dim));
    if is_twice || !view.modes.iter().all(is_plain) {
        return Err(format!("the tile of `{name}` does not consist of neighbours"));
    }
    let is_unit = |dim: &usize| param.stride[*dim].as_const() == Some(1);
    let inner = walked.iter().copied().find(is_unit);
    let inner = inner.ok_or_else(|| format!("no dimension of the tile is contiguous in `{name}`"))?;
    for dim in (0..rank).filter(|dim| *dim != inner) {
        let stride = &param.stride[dim];
        let known = facts.divisor(&stride.scale(bits));
        if known % (limits.stride * 8) != 0 {
            let known = bytes_text(known);
            // A stride that the kernel fixes has one length; a stride of a launch has a known divisor only.
            return Err(match stride.as_const() {
                Some(_) => {
                    format!("stride `{stride}` of `{name}` is {known}, no multiple of {} B", limits.stride)
                }
                None => format!(
                    "stride `{stride}` of `{name}` is known to be a multiple of {known} only, not of {} B",
                    limits.stride
                ),
            });
        }
    }
    view.box_rows(param, limits, writes, facts)?;
    Ok(std::iter::once(inner).chain((0..rank).rev().filter(|dim| *dim != inner)).collect())
}

/// Returns the boxes of a copy that several blocks deal out among each other, with the mode of the tile along which they do, the
/// outermost that allows it. `None` if the copy is for one block.
///
/// # Errors
/// The reason why no mode has equal runs of whole boxes for the blocks.
fn dealt(
    context: &SolverContext<'_, '_>,
    (info, u): (&Tensor, &Use<'_>),
    (param, global): (&TensorParam, &View),
    dims: &[usize],
    width: Option<SwizzleMode>,
    blocks: i64,
) -> Option<Result<(usize, Cut), String>> {
    if blocks < 2 {
        return None;
    }
    let mut refused = None;
    for mode in dims.iter().rev().filter_map(|dim| global.modes.iter().position(|mode| mode.dim == *dim)) {
        if u.shape[mode] % blocks != 0 {
            continue;
        }
        match cut(context, (info, u), (param, global), dims, width, Some((mode, blocks))) {
            Ok(cut) => return Some(Ok((mode, cut))),
            Err(why) => refused = refused.or(Some(why)),
        }
    }
    let odd = || format!("no extent of the tile of `{}` is a multiple of {blocks}", param.name);
    Some(Err(refused.unwrap_or_else(odd)))
}

/// Returns the most elements of a box along a dimension: along the contiguous one, if `is_inner`, as many as its bytes hold.
fn longest(limits: &MapLimits, dtype: DType, is_inner: bool) -> i64 {
    i64::from(limits.r#box) * if is_inner { i64::from(dtype.per_byte()) } else { 1 }
}

/// The extents of a box along the dimensions, its alignment in bytes, and the constraint on the shared tensor.
type Cut = (Vec<u32>, u32, Constraint);

/// Returns the boxes of a copy. A box has rows as wide as the swizzle, or whole rows of the tile. With `share`, a mode of the
/// tile and a number of blocks, the part of each block along the mode consists of whole boxes.
///
/// # Errors
/// The reason why the tile is not made of such boxes.
fn cut(
    context: &SolverContext<'_, '_>,
    (info, u): (&Tensor, &Use<'_>),
    (param, global): (&TensorParam, &View),
    dims: &[usize],
    width: Option<SwizzleMode>,
    share: Option<(usize, i64)>,
) -> Result<Cut, String> {
    let target = context.target();
    let (name, limits) = (&info.name, &target.rows().map);
    let bits = i64::from(info.dtype.bits());
    let mode = width.unwrap_or(SwizzleMode::Plain);
    let swizzle = Demanded::mode(mode, info.dtype).ok_or("the swizzle tears elements apart")?;
    let mut constraint = Constraint { swizzle: Some(swizzle), ..Constraint::free(&info.shape) };
    let (mut extents, mut stride, mut several) = (Vec::new(), 1, false);
    for dim in dims {
        let Some(at) = global.modes.iter().position(|m| m.dim == *dim) else {
            extents.push(1);
            continue;
        };
        let own = &u.view.modes[at];
        let all = share.filter(|(mode, _)| *mode == at).map_or(u.shape[at], |(_, of)| u.shape[at] / of);
        let most = longest(limits, info.dtype, extents.is_empty());
        let extent = match width {
            Some(mode) if extents.is_empty() => i64::from(mode.width_bytes()) * 8 / bits,
            None if extents.is_empty() => all,
            _ => (1..=all.min(most)).rev().find(|n| all % n == 0).unwrap_or(1),
        };
        let is_row = !extents.is_empty() || (extent * bits) % (i64::from(limits.row) * 8) == 0;
        if extent == 0 || all % extent != 0 || extent > most || !is_row {
            return Err(format!("a row of {all} elements of `{}` is not made of boxes", param.name));
        }
        // The rows of a box begin with a block of the swizzle, or the box is all that the shared tensor has.
        let size = info.shape[own.dim];
        let starts = context.program().facts.divisor(&u.view.offsets[own.dim]) % extent == 0;
        let is_block = extents.is_empty() || mode == SwizzleMode::Plain || extent % 8 == 0 || extent == size;
        if own.factor.as_const() != Some(1) || !starts || size % extent != 0 || !is_block {
            return Err(format!("the boxes of the tile do not begin where boxes of `{name}` do"));
        }
        let modes = &mut constraint.dims[own.dim];
        *modes = vec![if extent > 1 { Mode::known(extent, stride) } else { Mode::free(1) }];
        several |= size > extent;
        if size > extent {
            modes.push(Mode::free(size / extent));
            if extent == 1 {
                modes.remove(0);
            }
        }
        stride *= extent;
        extents.push(u32::try_from(extent).map_err(|e| e.to_string())?);
    }
    let align = mode.block_bytes().max(target.limits.wavefront_bytes());
    let size = stride * bits / 8;
    if several && size % i64::from(align) != 0 {
        return Err(format!("boxes of {size} B do not begin at multiples of {align} B in `{name}`"));
    }
    Ok((extents, align, constraint))
}
