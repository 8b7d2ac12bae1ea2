//! Anchors a component without matrix products at the copy that moves most, coalesced (paper, algorithm 1, lines 14 to 16).

use hx_dtype::DType;
use hx_target::{Space, Target};
use hx_tile::{TileMode, TileProgram};

use crate::access::alignment::Widest;
use crate::access::{Run, Transfer, global};
use crate::anchor::gemm::ceil_div;
use crate::distribution::{ThreadValueLayout, at_warps};
use crate::search::pool::Pool;

/// Returns coalesced layouts of the transfer's register tensor, and the reason to report.
///
/// Each thread holds vectors along the contiguous dimension, and neighbouring threads hold neighbouring vectors. The first
/// layouts use the widest vector; they are the best results of [`deal`], so those with more threads along the dimension come
/// first. If the widest vector leaves threads idle, layouts of the widest vector that keeps every thread busy follow. Vectors
/// have at least `least` elements if `least` divides the tile's extent.
pub(crate) fn coalesced(
    (program, pool): (&TileProgram, &Pool),
    transfer: &Transfer<'_>,
    dtype: DType,
    least: i64,
) -> (Vec<ThreadValueLayout>, String) {
    let target = program.target;
    let shape = &program.tensor(transfer.register).shape;
    let (run, limit, reason) = contiguous(program, pool, transfer);
    let dim = run.dim();
    let (from, to) =
        if transfer.is_load { (Space::Global, Space::Register) } else { (Space::Register, Space::Global) };
    let widths = target.rows().copies_between(from, to).filter(|r| !r.is_collective());
    let mut widths: Vec<i64> = widths.filter_map(|r| r.atom(dtype)).map(|a| a.values).collect();
    widths.push(1);
    let threads = i64::from(program.threads_of(transfer.op));
    let bits = i64::from(dtype.bits());
    let fits = |w: &i64| limit % w == 0 && pieces(target, shape, (&run, *w), threads, bits).is_some();
    let least = if shape[dim] % least == 0 { least } else { 1 };
    let dealt = |width: i64| {
        let plain = || deal(target, shape, &Run::plain(dim, width), threads, bits);
        pieces(target, shape, (&run, width), threads, bits).unwrap_or_else(plain)
    };
    let all_busy = |width: &i64| shape.iter().product::<i64>() >= threads * width;
    let mut widths = widths.into_iter().filter(fits).map(|width| width.max(least));
    let widest = widths.next().unwrap_or(least);
    let mut layouts = dealt(widest);
    if !all_busy(&widest) {
        layouts.extend(widths.find(all_busy).map(dealt).unwrap_or_default());
    }
    (layouts, reason)
}

/// Returns the run to coalesce along, the widest aligned access in elements, and the reason to report.
fn contiguous(program: &TileProgram, pool: &Pool, transfer: &Transfer<'_>) -> (Run, i64, String) {
    match global::param_of(program, transfer.memory) {
        Some(param) => {
            let find = || global::alignment(program, transfer.memory, param);
            let aligned = pool.alignment(transfer.op.id, find);
            let run = aligned.run.clone().unwrap_or(Run::plain(0, 1));
            let reason = format!("coalesced along dimension {} of `{}`", run.dim(), param.name);
            (run, aligned.elements, reason)
        }
        // The order of a shared tensor is still free and follows the registers, so any dimension can be contiguous: take the
        // last.
        None => {
            let (view, dtype) = (transfer.memory, program.tensor(transfer.register).dtype);
            let dim = view.modes.len().saturating_sub(1);
            let mut widest = Widest::any();
            if dim < view.modes.len() {
                widest.narrow_by_start(&program.facts, view, dim, "", dtype);
            }
            (Run::plain(dim, ANY), widest.elements, "dealt to the threads row by row".into())
        }
    }
}

/// Length of a run in shared memory, in elements: longer than any vector, because nothing limits the run yet.
const ANY: i64 = 1 << 20;

/// Deals pieces of `width` elements of a run. Pieces that are boxes are dealt by [`deal`], others in the order of the run, so that
/// neighbouring threads hold neighbouring pieces. `None` if pieces do not fill the tile.
pub(crate) fn pieces(
    target: Target,
    shape: &[i64],
    (run, width): (&Run, i64),
    threads: i64,
    bits: i64,
) -> Option<Vec<ThreadValueLayout>> {
    let piece = run.piece(width)?;
    if piece.is_box() {
        return piece.divides(shape).then(|| deal(target, shape, &piece, threads, bits));
    }
    let filled = run.longest_box();
    let fills =
        filled.width() % width == 0 && filled.piece(width).as_ref() == Some(&piece) && filled.divides(shape);
    fills.then(|| vec![dealt_in_order(shape, &filled, width, threads)])
}

/// Deals the pieces of a run that fills a box, and then such boxes, to the threads in order. What is left when all threads have a piece, each
/// thread holds.
fn dealt_in_order(shape: &[i64], run: &Run, width: i64, threads: i64) -> ThreadValueLayout {
    let rank = shape.len();
    let along = |dim: usize, stride: i64, extent: i64| {
        let mut strides = vec![0; rank];
        strides[dim] = stride;
        TileMode::new(extent, strides)
    };
    let (mut thread, mut value) = (Vec::new(), Vec::new());
    let (mut piece, mut left) = (width, threads);
    let boxes = (0..rank).rev().map(|dim| (dim, run.period(dim), shape[dim] / run.period(dim)));
    let digits = run.steps.iter().map(|step| (step.dim, step.by, step.extent)).chain(boxes);
    let mut later = Vec::new();
    for (dim, by, extent) in digits {
        let own = if piece % extent == 0 { extent } else { piece };
        piece /= own;
        let rest = extent / own;
        let take = (1..=rest).rev().find(|take| rest % take == 0 && left % take == 0).unwrap_or(1);
        left /= take;
        let modes = [(by, own), (by * own, take), (by * own * take, rest / take)];
        let [own, dealt, held] =
            modes.map(|(stride, extent)| (extent > 1).then(|| along(dim, stride, extent)));
        value.extend(own);
        thread.extend(dealt);
        later.extend(held);
    }
    if left > 1 {
        thread.push(TileMode::new(left, vec![0; rank]));
    }
    value.extend(later);
    ThreadValueLayout::covering(shape, thread, value)
}

/// Deals runs, which are boxes, one after the other along their dimension to `threads` threads, and returns the layouts with
/// the best score, those with more threads along the dimension first. `bits` is the width of an element.
pub(crate) fn deal(
    target: Target,
    shape: &[i64],
    run: &Run,
    threads: i64,
    bits: i64,
) -> Vec<ThreadValueLayout> {
    let (dim, width) = (run.dim(), run.width());
    let vectors = shape[dim] / run.period(dim);
    let others = shape.iter().enumerate().filter(|(d, _)| *d != dim);
    let other: i64 = others.map(|(d, extent)| extent / run.period(d)).product();
    // Instructions of each thread, weighted by up to 2 if the threads along `dim` cover less than a line of the cache.
    let score = |along: i64| {
        let issues = ceil_div(vectors, along) * ceil_div(other, threads / along);
        // Bytes that neighbouring threads cover, up to a line of the cache.
        let full = i64::from(target.limits.line_bytes);
        let line = (along * width * bits / 8).min(full);
        issues * full * 2 / (line + full)
    };
    let divisors = || (1..=threads).filter(|d| threads % d == 0);
    let best = divisors().map(score).min().unwrap_or(0);
    let best: Vec<i64> = divisors().filter(|along| score(*along) == best).collect();
    best.into_iter().rev().map(|along| dealt(shape, run, threads, along)).collect()
}

/// Deals runs so that each warp holds the elements that it holds in `held`. Returns `None` if warps share elements, or if the
/// elements of a warp are not a box.
pub(crate) fn deal_as_held(
    target: Target,
    shape: &[i64],
    run: &Run,
    held: &ThreadValueLayout,
    bits: i64,
) -> Option<ThreadValueLayout> {
    let warp = i64::from(target.limits.lanes);
    let (mut lanes, mut warps) = (Vec::new(), Vec::new());
    let mut unit = 1;
    for mode in at_warps(&held.thread, target.limits.lanes) {
        let modes = if unit < warp { &mut lanes } else { &mut warps };
        unit *= mode.extent;
        modes.push(mode);
    }
    let reach =
        |d: usize| 1 + lanes.iter().chain(&held.value).map(|m| m.strides[d] * (m.extent - 1)).sum::<i64>();
    let part: Vec<i64> = (0..shape.len()).map(reach).collect();
    let count = |modes: &[TileMode]| modes.iter().map(|m| m.extent).product::<i64>();
    let elements = |extents: &[i64]| extents.iter().product::<i64>();
    let divided = count(&lanes) == warp && elements(&part) * count(&warps) == elements(shape);
    if !divided || !held.is_exact(shape) || !run.divides(&part) {
        return None;
    }
    let own = deal(target, &part, run, warp, bits)
        .into_iter()
        .find(|layout| layout.is_exact(&part) && layout.threads() == warp)?;
    Some(ThreadValueLayout::covering(shape, own.thread.into_iter().chain(warps).collect(), own.value))
}

/// Deals runs to `along` threads along the run's dimension, then to the remaining threads along the other dimensions. If the
/// threads do not divide the tile, some of them hold elements outside of the tensor.
fn dealt(shape: &[i64], run: &Run, threads: i64, along: i64) -> ThreadValueLayout {
    let dim = run.dim();
    let rank = shape.len();
    let mut order: Vec<usize> = vec![dim];
    order.extend((0..rank).rev().filter(|d| *d != dim));
    let unit = |d: usize, stride: i64, extent: i64| {
        let mut strides = vec![0; rank];
        strides[d] = stride;
        TileMode::new(extent, strides)
    };
    let mut thread = Vec::new();
    let mut value = run.modes(rank);
    let mut left = threads;
    for (i, &d) in order.iter().enumerate() {
        let (step, count) = (run.period(d), shape[d] / run.period(d));
        let last = i + 1 == order.len();
        let take = if d == dim {
            along
        } else if last {
            left
        } else {
            (1..=left).rev().find(|t| left % t == 0 && *t <= count).unwrap_or(1)
        };
        thread.push(unit(d, step, take));
        value.push(unit(d, step * take, ceil_div(count, take)));
        left /= take;
    }
    if left > 1 {
        thread.push(TileMode::new(left, vec![0; rank]));
    }
    ThreadValueLayout::covering(shape, thread, value)
}

/// Deals single elements along the last dimension: a layout that exists for every shape.
pub(crate) fn deal_plain(shape: &[i64], threads: i64) -> ThreadValueLayout {
    dealt(shape, &Run::plain(shape.len().saturating_sub(1), 1), threads, threads)
}
