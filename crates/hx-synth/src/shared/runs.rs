//! Bulk copies without a tensor map: one thread moves a tile in runs that are contiguous in both memories.
//!
//! Unlike a box, a run has no limit on its length or on the strides of its tensor. But the hardware does not stop a run at the
//! end of the tensor: the whole tile must be known to lie inside.

use hx_index::Expr;
use hx_target::{BulkRow, SwizzleMode};
use hx_tile::{Tensor, TensorParam, View};

use super::buffer::{Boxes, Use};
use super::constraint::Constraint;
use super::demanded::Demanded;
use super::mode::Mode;
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
    let (name, bytes) = (&param.name, i64::from(param.dtype.bits()) / 8);
    if bytes == 0 {
        return Err(format!("elements of type `{}` are narrower than a byte", param.dtype));
    }
    if param.block.is_some() || global.picked.is_some() {
        return Err(format!("the rows of `{name}` are picked, or its elements lie in blocks"));
    }
    let (dims, extents) = longest(param, global)
        .ok_or_else(|| format!("the tile of `{name}` does not consist of neighbours"))?;
    is_inside(context, param, global)?;
    let elements: i64 = extents.iter().product();
    let count = u.shape.iter().product::<i64>() / elements;
    if count > MOST {
        return Err(format!("the tile of `{name}` is made of {count} runs, more than {MOST}"));
    }
    check_alignment(context, (param, global), (&dims, &extents), i64::from(unit))?;
    let constraint = demanded(context, (info, u), global, (&dims, &extents))?;
    let extents = extents.into_iter().map(u32::try_from).collect::<Result<_, _>>();
    let extents = extents.map_err(|error| error.to_string())?;
    // A run goes to one block.
    let alone = (context.program().blocks_of(u.op) > 1).then(|| format!("`{}` goes to one block", row.name));
    Ok((Boxes { row, dims, extents, align: unit, share: None, alone }, constraint))
}

/// Reports whether a tile is one run.
pub(super) fn is_one(param: &TensorParam, global: &View) -> bool {
    let all: i64 = global.modes.iter().map(|mode| mode.extent).product();
    longest(param, global).is_some_and(|(_, extents)| extents.iter().product::<i64>() == all)
}

/// Returns the dimensions of a tensor, the contiguous one first, and the extents of the longest runs of a tile along them. Returns
/// `None` if the tile does not walk the dimensions one by one, or if its neighbours lie apart.
fn longest(param: &TensorParam, global: &View) -> Option<(Vec<usize>, Vec<i64>)> {
    let walked = |dim: usize| global.modes.iter().find(|mode| mode.dim == dim);
    let is_plain = |(at, mode): (usize, &hx_tile::ViewMode)| {
        mode.factor.as_const() == Some(1) && global.modes[..at].iter().all(|other| other.dim != mode.dim)
    };
    if !global.modes.iter().enumerate().all(is_plain) {
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
    let (facts, name, bytes) = (&context.program().facts, &param.name, i64::from(param.dtype.bits()) / 8);
    let length = extents.iter().product::<i64>() * bytes;
    if length % unit != 0 {
        return Err(format!("a run of `{name}` has {length} B, no multiple of {unit} B"));
    }
    // A run begins at the tile's first element, or some steps along the dimensions that the runs do not cover.
    let walked = |dim: usize| global.modes.iter().any(|mode| mode.dim == dim && mode.extent > 1);
    let apart = dims.iter().zip(extents).filter(|(dim, extent)| **extent == 1 && walked(**dim));
    let steps = apart.map(|(dim, _)| facts.divisor(&param.stride[*dim]) * bytes);
    let first = facts.divisor(&param.offset(&global.offsets, facts)) * bytes;
    let known = steps.chain([first, i64::from(param.align)]).find(|known| known % unit != 0);
    match known {
        Some(known) => Err(format!("the runs of `{name}` begin at multiples of {known} B, not of {unit} B")),
        None => Ok(()),
    }
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
