//! Operands of matrix instructions that are read from shared memory by descriptor: a layout with some known and some free strides
//! under a named swizzle.

use hx_layout::{ComposedLayout, Layout};
use hx_target::{ReachRow, Reached, ReachedStride};
use hx_tile::{Tensor, TensorId, TileProgram, View};

use super::buffer::{Barred, By, Candidate, Options, Use};
use super::constraint::Constraint;
use super::demanded::Demanded;
use super::issued::Issued;
use super::mode::Mode;
use super::{pin_of, swizzle};

/// Reports whether some layout of a shared tensor lets instructions read an operand through a view.
pub(crate) fn is_reached(program: &TileProgram, tensor: TensorId, view: &View, issued: &Issued) -> bool {
    issued.reaches().any(|reach| {
        match (constraint(program, tensor, view, issued, reach), pin_of(program, tensor)) {
            (Ok(constraint), Some(pin)) => is_met(&constraint, view, pin),
            (met, _) => met.is_ok(),
        }
    })
}

/// Returns why no layout of a shared tensor lets instructions read an operand through a view; `None` if some layout does.
pub(crate) fn unreached(
    program: &TileProgram,
    tensor: TensorId,
    view: &View,
    issued: &Issued,
) -> Option<String> {
    if is_reached(program, tensor, view, issued) {
        return None;
    }
    let of = |reach: &ReachRow| constraint(program, tensor, view, issued, reach).err();
    let pinned = || format!("the layout pinned to `{}` has another form", program.tensor(tensor).name);
    Some(issued.reaches().find_map(of).unwrap_or_else(pinned))
}

/// Returns the ways in which instructions can read an operand, and those that only another layout or view would allow.
pub(super) fn options(program: &TileProgram, tensor: TensorId, u: &Use<'_>, issued: &Issued) -> Options {
    let mut options = Options::default();
    for reach in issued.reaches() {
        let by = By::Reach(issued.operand, reach);
        match constraint(program, tensor, &u.view, issued, reach) {
            Err(why) => options.barred.push(Barred { by, constraint: None, why }),
            Ok(constraint) => {
                match pin_of(program, tensor).filter(|pin| !is_met(&constraint, &u.view, pin)) {
                    Some(_) => {
                        let why = format!(
                            "the layout pinned to `{}` has another form",
                            program.tensor(tensor).name
                        );
                        options.barred.push(Barred { by, constraint: Some(constraint), why });
                    }
                    // The product's own cycles cover the reads: no reach has bank conflicts.
                    None => options.usable.push(Candidate::new(by, constraint, [0.0; 3])),
                }
            }
        }
    }
    options
}

/// Returns the constraint of an operand on its tensor: the modes of the reach along the rows or columns and along K, and the
/// swizzle of the reach. Nothing else is demanded, because each instruction has a start of its own.
///
/// # Errors
/// The reason why no layout can meet it.
fn constraint(
    program: &TileProgram,
    tensor: TensorId,
    view: &View,
    issued: &Issued,
    reach: &ReachRow,
) -> Result<Constraint, String> {
    let info = program.tensor(tensor);
    let other = || format!("{} does not reach elements of type `{}`", reach.name, info.dtype);
    let modes = reach.modes(info.dtype.bits()).ok_or_else(other)?;
    let swizzle = Demanded::mode(reach.swizzle, info.dtype).ok_or_else(other)?;
    let [x, k] = view.modes.as_slice() else {
        return Err(format!("the view of `{}` has {} dimensions", info.name, view.modes.len()));
    };
    if x.dim == k.dim || view.picked.is_some() {
        return Err(format!("the view of `{}` is not a tile of it", info.name));
    }
    let mut constraint = Constraint { swizzle: Some(swizzle), ..Constraint::free(&info.shape) };
    for ((mode, modes), extent) in [x, k].into_iter().zip(&modes).zip(issued.extents) {
        if mode.factor.as_const() != Some(1) {
            let (name, factor, dim) = (&info.name, &mode.factor, mode.dim);
            return Err(format!("the view of `{name}` steps by `{factor}` in dimension {dim}"));
        }
        let step = program.facts.divisor(&view.offsets[mode.dim]);
        constraint.dims[mode.dim] = along(info, mode.dim, modes, extent, step)?;
    }
    Ok(constraint)
}

/// Returns the modes of one dimension. An instruction takes `extent` elements along it and starts at multiples of `extent` from
/// the start of the view, which is a multiple of `step`.
///
/// # Errors
/// The reason why no layout of the dimension serves the instruction.
fn along(
    info: &Tensor,
    dim: usize,
    reached: &[Reached],
    extent: i64,
    step: i64,
) -> Result<Vec<Mode>, String> {
    let (name, all) = (&info.name, info.shape[dim]);
    let [Reached { extent: Some(inner), stride: ReachedStride::Known(stride) }, outer @ ..] = reached else {
        return Err(format!("dimension {dim} of `{name}` has no known stride"));
    };
    if all % inner != 0 {
        return Err(format!("dimension {dim} of `{name}` has {all} elements, no multiple of {inner}"));
    }
    // An instruction takes whole pieces, or lies within one.
    let whole = extent % inner == 0 && (extent == *inner || !outer.is_empty());
    let part = inner % extent == 0;
    let from = if whole { *inner } else { extent };
    if !whole && !part || step % from != 0 {
        return Err(format!(
            "the view of `{name}` does not start at a multiple of {from} in dimension {dim}"
        ));
    }
    let mut modes = vec![Mode::known(*inner, *stride)];
    if all > *inner {
        let rest = all / inner;
        modes.push(if outer.is_empty() { Mode::free(rest) } else { Mode::single(rest) });
    }
    Ok(modes)
}

/// Reports whether a pinned layout meets the constraint of an operand or of boxes, and begins the blocks of its swizzle at each index of
/// the dimensions that the view does not walk.
pub(super) fn is_met(constraint: &Constraint, view: &View, pin: &ComposedLayout) -> bool {
    let is_swizzled = constraint.swizzle.is_some_and(|demanded| demanded.swizzle().permutes_as(pin.swizzle));
    let block = swizzle::block(pin.swizzle);
    let is_block = |(dim, mode): (usize, &Layout)| {
        view.modes.iter().any(|m| m.dim == dim) || (0..mode.size()).all(|at| mode.eval(at) % block == 0)
    };
    is_swizzled
        && pin.offset == 0
        && constraint.is_met_by(&pin.layout)
        && pin.layout.modes().iter().enumerate().all(is_block)
}
