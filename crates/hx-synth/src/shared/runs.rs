//! Bulk copies without a tensor map: one thread moves a tile in runs that are contiguous in both memories.
//!
//! Unlike a box, a run has no limit on its length or on the strides of its tensor. But the hardware does not stop a run at the
//! end of the tensor: the whole tile must be known to lie inside.
//!
//! A run of a tensor whose elements lie in blocks is a whole block. Its elements have the order of the block in shared memory, too.

use hx_index::Expr;
use hx_layout::Layout;
use hx_target::{BulkRow, SwizzleMode};
use hx_tile::{Tensor, TensorParam, View, bytes_text};

use super::buffer::{Boxes, Use};
use super::constraint::Constraint;
use super::demanded::Demanded;
use super::mode::Mode;
use crate::access::Run;
use crate::search::context::SolverContext;

/// The most runs of a copy. Each of them is an instruction of its own in the text.
const MOST: i64 = 64;

/// Returns the runs of a copy, as long as the tile allows, and their constraint on the shared tensor. Addresses and lengths are
/// multiples of `unit` bytes.
///
/// # Errors
/// The reason why there are none.
pub(super) fn cut(
    context: &SolverContext<'_, '_>,
    (info, u): (&Tensor, &Use<'_>),
    (param, global): (&TensorParam, &View),
    (row, unit): (&'static BulkRow, u32),
) -> Result<(Boxes, Constraint), String> {
    let name = &param.name;
    if global.picked.is_some() {
        return Err(format!("the rows of `{name}` are picked"));
    }
    let found = match &param.block {
        Some(block) => Some(whole_block(context, (param, block), global)?),
        None => longest(param, global),
    };
    let (dims, extents) =
        found.ok_or_else(|| format!("the tile of `{name}` does not consist of neighbours"))?;
    is_inside(context, param, global)?;
    let elements: i64 = extents.iter().product();
    let count = u.shape.iter().product::<i64>() / elements;
    if count > MOST {
        return Err(format!("the tile of `{name}` is made of {count} runs, more than {MOST}"));
    }
    check_alignment(context, (param, global), (&dims, &extents), i64::from(unit))?;
    let constraint = match &param.block {
        Some(block) => demanded_by_block(context, (info, u), global, block)?,
        None => demanded(context, (info, u), global, (&dims, &extents))?,
    };
    let extents = extents.into_iter().map(u32::try_from).collect::<Result<_, _>>();
    let extents = extents.map_err(|error| error.to_string())?;
    // A run goes to one block.
    let alone = (context.program().blocks_of(u.op) > 1).then(|| format!("`{}` goes to one block", row.name));
    Ok((Boxes { row, dims, extents, align: unit, share: None, alone }, constraint))
}

/// Reports whether a tile is one run, or one that runs alone could move: boxes are not made of blocks.
pub(super) fn is_one(param: &TensorParam, global: &View) -> bool {
    if param.block.is_some() {
        return true;
    }
    let all: i64 = global.modes.iter().map(|mode| mode.extent).product();
    longest(param, global).is_some_and(|(_, extents)| extents.iter().product::<i64>() == all)
}

/// Returns the dimensions of a tensor whose elements lie in blocks, and the extents of a block along them.
///
/// # Errors
/// The reason why a tile does not consist of whole blocks.
fn whole_block(
    context: &SolverContext<'_, '_>,
    (param, block): (&TensorParam, &Layout),
    global: &View,
) -> Result<(Vec<usize>, Vec<i64>), String> {
    let (facts, name) = (&context.program().facts, &param.name);
    if in_order(block).is_none() {
        return Err(format!("the block `{block}` of `{name}` has gaps"));
    }
    if !is_plain(global) {
        return Err(format!("the tile of `{name}` does not consist of neighbours"));
    }
    let extents: Vec<i64> = block.modes().iter().map(Layout::size).collect();
    for (dim, extent) in extents.iter().enumerate() {
        let all = global.modes.iter().find(|mode| mode.dim == dim).map_or(1, |mode| mode.extent);
        if all % extent != 0 {
            return Err(format!(
                "a tile of {all} does not consist of whole blocks of {extent} along dimension {dim} of `{name}`"
            ));
        }
        if !facts.divides(*extent, &global.offsets[dim]) {
            let first = &global.offsets[dim];
            let is = if first.as_const().is_some() { "no" } else { "not known to be a" };
            return Err(format!(
                "the tile begins at `{first}` in dimension {dim} of `{name}`, which is {is} multiple of the {extent} of a block"
            ));
        }
    }
    let dims = (0..extents.len()).rev();
    Ok((dims.clone().collect(), dims.map(|dim| extents[dim]).collect()))
}

/// Returns the elements of a block in the order of memory; `None` if there are gaps between them.
fn in_order(block: &Layout) -> Option<Run> {
    let modes: Vec<Layout> = block.modes().iter().map(Layout::coalesce).collect();
    let leaves: Vec<(usize, &[(i64, i64)])> =
        modes.iter().enumerate().map(|(dim, mode)| (dim, mode.leaves())).collect();
    Some(Run::in_block(&leaves)).filter(|run| run.width() == block.size())
}

/// Reports whether a view walks its dimensions one by one, each at most once.
fn is_plain(view: &View) -> bool {
    view.modes.iter().enumerate().all(|(at, mode)| {
        mode.factor.as_const() == Some(1) && view.modes[..at].iter().all(|other| other.dim != mode.dim)
    })
}

/// Returns the dimensions of a tensor, the contiguous one first, and the extents of the longest runs of a tile along them. Returns
/// `None` if the tile does not walk the dimensions one by one, or if its neighbours lie apart.
fn longest(param: &TensorParam, global: &View) -> Option<(Vec<usize>, Vec<i64>)> {
    let walked = |dim: usize| global.modes.iter().find(|mode| mode.dim == dim);
    if !is_plain(global) {
        return None;
    }
    let (mut dims, mut extents, mut length) = (Vec::new(), Vec::new(), 1);
    let mut rest: Vec<usize> = (0..param.stride.len()).rev().collect();
    loop {
        // If several dimensions have this stride, skip those of extent 1: they do not lengthen the run.
        let goes_on = |dim: &usize| {
            param.stride[*dim].as_const() == Some(length) && walked(*dim).is_some_and(|mode| mode.extent > 1)
        };
        let Some(at) = rest.iter().position(goes_on) else { break };
        let dim = rest.remove(at);
        let extent = walked(dim).map_or(1, |mode| mode.extent);
        dims.push(dim);
        extents.push(extent);
        length *= extent;
    }
    if dims.is_empty() {
        return None;
    }
    extents.extend(rest.iter().map(|_| 1));
    dims.extend(rest);
    Some((dims, extents))
}

/// Checks that all elements of a tile lie inside of the tensor.
///
/// # Errors
/// The dimension whose end the tile may pass.
fn is_inside(context: &SolverContext<'_, '_>, param: &TensorParam, global: &View) -> Result<(), String> {
    let facts = &context.program().facts;
    let own = global.ends.iter().map(|(dim, end)| (*dim, (&global.offsets[*dim], end)));
    for (dim, (first, extent)) in global.offsets.iter().zip(&param.shape).enumerate().chain(own) {
        let along = global.modes.iter().filter(|mode| mode.dim == dim).map(|mode| mode.extent - 1);
        let last = first.clone() + Expr::constant(along.sum());
        if !facts.proves_le(&Expr::default(), first) || !facts.proves_lt(&last, extent) {
            let name = &param.name;
            return Err(format!("the tile may pass the end `{extent}` of dimension {dim} of `{name}`"));
        }
    }
    Ok(())
}

/// Checks that runs begin at multiples of `unit` bytes of global memory, and are multiples of it.
///
/// # Errors
/// The number that is no multiple.
fn check_alignment(
    context: &SolverContext<'_, '_>,
    (param, global): (&TensorParam, &View),
    (dims, extents): (&[usize], &[i64]),
    unit: i64,
) -> Result<(), String> {
    let (facts, name, bits) = (&context.program().facts, &param.name, i64::from(param.dtype.bits()));
    let length = extents.iter().product::<i64>() * bits;
    if length % (unit * 8) != 0 {
        return Err(format!("a run of `{name}` has {}, no multiple of {unit} B", bytes_text(length)));
    }
    // A run begins at the tile's first element, or some steps along the dimensions that the runs do not cover.
    let walked = |dim: usize| global.modes.iter().any(|mode| mode.dim == dim && mode.extent > 1);
    let apart = dims.iter().zip(extents).filter(|(dim, extent)| **extent == 1 && walked(**dim));
    let apart = apart.filter(|_| param.block.is_none());
    let steps = apart.map(|(dim, _)| facts.divisor(&param.stride[*dim]) * bits);
    let first = facts.divisor(&param.offset(&global.offsets, facts)) * bits;
    let known = steps.chain([first, i64::from(param.align) * 8]).find(|known| known % (unit * 8) != 0);
    match known.map(bytes_text) {
        Some(known) => Err(format!("the runs of `{name}` begin at multiples of {known}, not of {unit} B")),
        None => Ok(()),
    }
}

/// Returns the constraint of whole blocks on the shared tensor: their elements have the order of the block there, without a swizzle.
///
/// # Errors
/// The reason why no layout of the tensor has them so.
fn demanded_by_block(
    context: &SolverContext<'_, '_>,
    (info, u): (&Tensor, &Use<'_>),
    global: &View,
    block: &Layout,
) -> Result<Constraint, String> {
    let apart = || format!("the blocks of the tile do not begin where blocks of `{}` do", info.name);
    for (mode, own) in global.modes.iter().zip(&u.view.modes) {
        let extent = block.modes()[mode.dim].size();
        let starts = context.program().facts.divides(extent, &u.view.offsets[own.dim]);
        if own.factor.as_const() != Some(1) || !starts || info.shape[own.dim] % extent != 0 {
            return Err(apart());
        }
    }
    let beside = |dim: usize| {
        let at = global.modes.iter().position(|mode| mode.dim == dim)?;
        Some(u.view.modes.get(at)?.dim)
    };
    let constraint = in_order(block).and_then(|run| Constraint::run(&info.shape, &run.renamed(beside)?));
    let swizzle = Demanded::mode(SwizzleMode::Plain, info.dtype);
    Ok(Constraint { swizzle, ..constraint.ok_or_else(apart)? })
}

/// Returns the constraint of runs on the shared tensor: their elements lie one after the other there, without a swizzle.
///
/// # Errors
/// The reason why no layout of the tensor has them so.
fn demanded(
    context: &SolverContext<'_, '_>,
    (info, u): (&Tensor, &Use<'_>),
    global: &View,
    (dims, extents): (&[usize], &[i64]),
) -> Result<Constraint, String> {
    let swizzle = Demanded::mode(SwizzleMode::Plain, info.dtype);
    let mut constraint = Constraint { swizzle, ..Constraint::free(&info.shape) };
    let mut stride = 1;
    for (dim, extent) in dims.iter().zip(extents).filter(|(_, extent)| **extent > 1) {
        let Some(at) = global.modes.iter().position(|mode| mode.dim == *dim) else { continue };
        let own = &u.view.modes[at];
        let size = info.shape[own.dim];
        let starts = context.program().facts.divisor(&u.view.offsets[own.dim]) % extent == 0;
        if own.factor.as_const() != Some(1) || !starts || size % extent != 0 {
            return Err(format!("the runs of the tile do not begin where runs of `{}` do", info.name));
        }
        let modes = &mut constraint.dims[own.dim];
        *modes = vec![Mode::known(*extent, stride)];
        if size > *extent {
            modes.push(Mode::free(size / extent));
        }
        stride *= extent;
    }
    Ok(constraint)
}
