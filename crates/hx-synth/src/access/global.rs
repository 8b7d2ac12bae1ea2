//! Accesses to global memory: bounds their width by strides, offsets and alignment.

use std::collections::BTreeSet;

use hx_dtype::DType;
use hx_index::{Expr, Facts, gcd};
use hx_layout::Layout;
use hx_target::{Space, Target};
use hx_tile::{TensorParam, TileProgram, View, ViewMode};

use super::alignment::{Alignment, Widest, because_of, by_way_of_bytes, parts_bytes};
use super::{Access, Run, Transfer, vector};
use crate::distribution::ThreadValueLayout;
use crate::failure::{Failure, FailureKind};
use crate::search::pool::Pool;

/// Returns the tensor parameter of a view of global memory; `None` for a view of another memory.
pub(crate) fn param_of<'p>(program: &'p TileProgram, view: &View) -> Option<&'p TensorParam> {
    program.tensor_param(view.base.param()?)
}

/// Returns the stride in memory of each mode of the view, in elements.
pub(crate) fn strides(param: &TensorParam, view: &View) -> Vec<Expr> {
    view.modes.iter().map(|m| &m.factor * &param.stride[m.dim]).collect()
}

/// Returns which dimension is contiguous, and how many of its elements one access may move at every offset of the view.
pub(crate) fn alignment(program: &TileProgram, view: &View, param: &TensorParam) -> Alignment {
    let facts = &program.facts;
    if !view.picks().is_empty() {
        return Alignment { run: None, elements: 1, limit: "index tensors pick single elements".into() };
    }
    if let Some(block) = &param.block {
        return in_blocks(program, view, param, block);
    }
    let strides = strides(param, view);
    let picked = |dim: usize| view.is_picked(dim);
    let contiguous = strides
        .iter()
        .enumerate()
        .find(|(d, s)| s.as_const() == Some(1) && view.modes[*d].extent > 1 && !picked(view.modes[*d].dim));
    let Some((dim, _)) = contiguous else {
        return Alignment {
            run: None,
            elements: 1,
            limit: "no dimension of the tile is contiguous in memory".into(),
        };
    };
    let mut widest = Widest::of_pointer(&param.name, param.align, param.dtype);
    // Of several facts that set the same limit, the first is reported. The order is: a stride of the tile, which limits every
    // start; the start in a dimension with a stride, which a better divisor of the stride could excuse; the start along the
    // contiguous dimension.
    let other = |d: usize, mode: &ViewMode| d != dim && mode.extent > 1 && !picked(mode.dim);
    for (_, stride) in strides.iter().enumerate().filter(|(d, _)| other(*d, &view.modes[*d])) {
        widest.narrow(facts.divisor(stride), |n| steps(param, stride, n));
    }
    let is_unit = |i: &usize| param.stride[*i].as_const() == Some(1);
    let dims = 0..param.stride.len();
    for i in dims.clone().filter(|i| !is_unit(i)).chain(dims.filter(is_unit)) {
        let stride = &param.stride[i];
        if picked(i) {
            widest.narrow(facts.divisor(stride), |n| {
                format!("rows of `{}` are picked, `{stride}` apart, a multiple of {n}", param.name)
            });
            continue;
        }
        let start = &view.offsets[i];
        widest.narrow(facts.divisor(&(start * stride)), |n| starts(facts, param, (start, i), n));
    }
    // An access must be inside of the bounds as a whole or outside as a whole.
    let along = view.modes[dim].dim;
    let last = view.coordinate(along, &last_coordinate(view));
    let own = view.ends.iter().filter(|(dim, _)| *dim == along).map(|(_, end)| end);
    for extent in std::iter::once(&param.shape[along]).chain(own) {
        if facts.proves_lt(&last, extent) {
            continue;
        }
        widest.narrow(facts.divisor(extent), |n| match n {
            1 => format!("the edge `{extent}` of `{}` is not known to be {}", param.name, wanted(param)),
            _ => format!("the edge `{extent}` of `{}` is known to be divisible by {n} only", param.name),
        });
    }
    let Widest { elements, limit } = widest;
    Alignment { run: Some(Run::plain(dim, elements)), elements, limit }
}

/// Explains the limit of a stride that is known to be a multiple of `n` only.
fn steps(param: &TensorParam, stride: &Expr, n: i64) -> String {
    match n {
        1 if stride.as_const().is_some() => format!("the stride `{stride}` of `{}` is odd", param.name),
        1 => format!("the stride `{stride}` of `{}` is not known to be {}", param.name, wanted(param)),
        _ => format!("the stride `{stride}` of `{}` is known to be divisible by {n} only", param.name),
    }
}

/// Returns, as text, the property that a number of elements needs so that an access moves several: `even`, or `divisible by 4`
/// for elements of 2 bits.
fn wanted(param: &TensorParam) -> String {
    match param.dtype.bits() {
        bits if bits < 4 => format!("divisible by {}", 8 / bits),
        _ => "even".to_owned(),
    }
}

/// Explains why a tile is known to start at a multiple of `n` elements only: its start along a dimension, or the stride of that
/// dimension. A stride that is a multiple of more elements would allow any start.
fn starts(facts: &Facts, param: &TensorParam, (start, dim): (&Expr, usize), n: i64) -> String {
    let stride = &param.stride[dim];
    let starts = format!("the tile starts at `{start}` in dimension {dim} of `{}`", param.name);
    if stride.as_const() == Some(1) {
        return format!("{starts}, a multiple of {n}{}", because_of(facts, start, n));
    }
    let own = gcd(facts.divisor(stride), n);
    if own == n {
        return steps(param, stride, n);
    }
    format!("{}, and {starts}: together a multiple of {n}", steps(param, stride, own))
}

/// Returns the [`alignment`] for a tensor whose elements lie in blocks. The neighbours of an element in memory follow from its
/// block.
fn in_blocks(program: &TileProgram, view: &View, param: &TensorParam, block: &Layout) -> Alignment {
    let facts = &program.facts;
    let modes: Vec<Layout> = block.modes().iter().map(Layout::coalesce).collect();
    // Rows that a table picks are not contiguous.
    let picked = |dim: usize| view.is_picked(dim);
    let walks = |m: &ViewMode| m.extent > 1 && m.factor.as_const() == Some(1) && !picked(m.dim);
    let walked = view.modes.iter().enumerate().filter(|(_, m)| walks(m));
    let walked: Vec<(usize, &[(i64, i64)])> = walked.map(|(i, m)| (i, modes[m.dim].leaves())).collect();
    let alone = walked.iter().map(|dim| Run::in_block(&[*dim])).find(|run| run.width() > 1);
    let Some(alone) = alone else {
        let limit =
            format!("no dimension of the tile is contiguous in the blocks `{block}` of `{}`", param.name);
        return Alignment { run: None, elements: 1, limit };
    };
    // A run along one dimension that fills the widest access, and leaves no gaps, needs no other dimension.
    let is_wide =
        alone.width() * i64::from(param.dtype.bits()) >= 8 * i64::from(program.target.limits.access_bytes);
    let run = if is_wide && alone.is_box() { alone } else { Run::in_block(&walked) };
    let owns = |dim: usize| run.dims().iter().any(|mode| view.modes[*mode].dim == dim);
    let mut widest = Widest::of_pointer(&param.name, param.align, param.dtype);
    let narrow = |widest: &mut Widest, divisor: i64, text: String| widest.narrow(divisor, |_| text);
    let neighbours = run.width();
    narrow(
        &mut widest,
        neighbours,
        format!("neighbours in the blocks `{block}` of `{}` are {neighbours}", param.name),
    );
    for (d, mode) in modes.iter().enumerate() {
        let outside = |stride: i64| !owns(d) || stride >= neighbours;
        for (_, stride) in mode.leaves().iter().filter(|(extent, stride)| *extent > 1 && outside(*stride)) {
            narrow(
                &mut widest,
                *stride,
                format!("the blocks `{block}` of `{}` step by {stride}", param.name),
            );
        }
    }
    for mode in run.dims() {
        let own = view.modes[mode].dim;
        let others = view.modes.iter().enumerate();
        for (_, other) in others.filter(|(d, m)| *d != mode && m.dim == own && m.extent > 1) {
            let step = &other.factor;
            narrow(
                &mut widest,
                first_from(&run, mode, facts.divisor(step)),
                format!("the tile steps by `{step}` in dimension {own} of `{}`", param.name),
            );
        }
        let start = &view.offsets[own];
        let divisor = facts.divisor(start);
        let alone = run.dims().len() == 1;
        widest.narrow(first_from(&run, mode, divisor), |n| {
            let because = because_of(facts, start, if alone { n } else { divisor });
            format!("the tile starts at `{start}` in dimension {own} of `{}`{because}", param.name)
        });
    }
    let Widest { elements, limit } = widest;
    Alignment { run: Some(run), elements, limit }
}

/// Returns the largest divisor `n` of the run's width such that, at every multiple of `divisor` along a dimension, a piece of `n` elements
/// begins; 1 if there is none.
fn first_from(run: &Run, dim: usize, divisor: i64) -> i64 {
    let fits = |width: &i64| run.piece(*width).is_some_and(|piece| divisor % piece.period(dim) == 0);
    let width = run.width();
    (1..=width).rev().filter(|n| width % n == 0).find(fits).unwrap_or(1)
}

fn last_coordinate(view: &View) -> Vec<Expr> {
    view.modes.iter().map(|m| Expr::constant(m.extent - 1)).collect()
}

/// Returns the widest access to global memory for a register tensor with this layout, and the reason why it is not wider.
///
/// # Errors
/// `NoInstruction` if no instruction makes the transfer, or if elements narrower than a byte do not move by whole bytes.
pub(crate) fn best(
    (program, pool): (&TileProgram, &Pool),
    transfer: &Transfer<'_>,
    layout: &ThreadValueLayout,
    dtype: DType,
) -> Result<(Access, String), Failure> {
    let target = program.target;
    let no_row = || no_row(transfer, dtype, target);
    let param = param_of(program, transfer.memory).ok_or_else(no_row)?;
    let aligned = pool.alignment(transfer.op.id, || alignment(program, transfer.memory, param));
    let shape = &program.tensor(transfer.register).shape;
    let dim = aligned.run.as_ref().map_or(0, Run::dim);
    let held = aligned.run.as_ref().map_or(1, |run| vector::held(layout, run, Run::piece));
    let inside = if layout.tile[dim] == shape[dim] { shape[dim] } else { gcd(shape[dim], held) };
    let rows = transfer.rows(dtype, target).into_iter();
    for row in rows.filter(|row| pool.wish.allows(transfer.op.id, &row.name)) {
        let Some(atom) = row.atom(dtype) else { continue };
        if row.is_collective() || aligned.elements % atom.values != 0 || held % atom.values != 0 {
            continue;
        }
        let run = match &aligned.run {
            Some(run) => run.piece(atom.values),
            None => Some(Run::plain(dim, 1)),
        };
        // No vector may cross the tensor's edge.
        let run = run.filter(|run| run.divides(shape));
        let Some(access) = run.and_then(|run| vector::vector(target, layout, row, run)) else { continue };
        if !vector::fills_words(&access.values, &access.issue, dtype.bits(), row.bytes) {
            continue;
        }
        let bytes = row.access;
        let why = if program.pins.contains_key(&transfer.op.id) {
            format!("{bytes} B an access")
        } else if bytes >= 16 {
            "the widest access".to_string()
        } else if held < aligned.elements {
            format!(
                "{bytes} B: each thread holds {held} neighbour{} along the contiguous dimension",
                plural(held)
            )
        } else {
            format!("{bytes} B: {}", aligned.limit)
        };
        return Ok((access, why));
    }
    let restricted = pool.wish.rows.get(&transfer.op.id);
    Err(if let Some(rows) = restricted {
        unwished(transfer, rows, &aligned, held)
    } else if dtype.bits() >= 8 {
        no_row()
    } else {
        in_bytes(no_row(), &aligned, dtype, &param.name, [held, inside])
    })
}

/// Returns the failure of a transfer that none of the rows makes to which the run restricts it. A thread holds `held` neighbours
/// along the contiguous dimension.
fn unwished(transfer: &Transfer<'_>, rows: &BTreeSet<String>, aligned: &Alignment, held: i64) -> Failure {
    let why = if held < aligned.elements {
        format!("each thread holds {held} neighbour{} along the contiguous dimension", plural(held))
    } else {
        aligned.limit.clone()
    };
    let names: Vec<String> = rows.iter().map(|row| format!("`{row}`")).collect();
    Failure::new(FailureKind::NoInstruction, format!("not {}: {why}", names.join(", "))).at(transfer.op.id)
}

/// Returns the failure of a transfer that no instruction makes.
fn no_row(transfer: &Transfer<'_>, dtype: DType, target: Target) -> Failure {
    let form = transfer.atomic(dtype);
    let (what, place) = match (transfer.is_load, form) {
        (_, Some(form)) => (form.op.verb(), "in"),
        (true, None) => ("loads", "from"),
        (false, None) => ("stores", "to"),
    };
    let message =
        format!("no instruction of {target} {what} single elements of type `{dtype}` {place} global memory");
    let failure = Failure::new(FailureKind::NoInstruction, message).at(transfer.op.id);
    let Some(form) = form else { return failure };
    let can = |target: Target| target.rows().atomics_of(form, Space::Global).next().is_some();
    failure.or_later(target, can)
}

/// Adds to a failure why elements narrower than a byte do not move by whole bytes. A thread holds `held` neighbours along the
/// contiguous dimension of `name`, and `inside` is the width that no vector may cross.
fn in_bytes(
    failure: Failure,
    aligned: &Alignment,
    dtype: DType,
    name: &str,
    [held, inside]: [i64; 2],
) -> Failure {
    // If the addresses are aligned to whole bytes, the layout or the tile is the cause: it separates elements that share a byte.
    let whole = i64::from(8 / dtype.bits());
    if aligned.elements % whole != 0 {
        return failure.help(parts_bytes(dtype, &aligned.limit));
    }
    let count = |n: i64| if n == 1 { "single elements".to_owned() } else { format!("{n} elements") };
    let why = if held % whole != 0 {
        format!("each thread holds {}", count(held))
    } else {
        format!("the tile has {}", count(inside))
    };
    let why = format!("{why} along the contiguous dimension of `{name}`");
    failure.help(parts_bytes(dtype, &why)).help(by_way_of_bytes(dtype))
}

fn plural(n: i64) -> &'static str {
    if n == 1 { "" } else { "s" }
}
