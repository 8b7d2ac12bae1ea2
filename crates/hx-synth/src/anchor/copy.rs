//! The anchor of a component without matrix products: the copy that moves most, coalesced (paper, algorithm 1, lines 14 to 16).

use hx_dtype::DType;
use hx_target::{Arch, Space, WARP, catalogue};
use hx_tile::{TileMode, TileProgram};

use crate::access::alignment::Widest;
use crate::access::{Run, Transfer, global};
use crate::anchor::gemm::ceil_div;
use crate::distribution::{Tv, at_warps};

/// Bytes that a warp should touch side by side: a full line of the cache.
const LINE_BYTES: i64 = 128;

/// Layouts in which each thread holds vectors along the contiguous dimension and neighbouring threads hold neighbouring vectors, all
/// of the same number of instructions; those with more threads along the dimension first. Where the tile allows, vectors have at least
/// `least` elements. Where the widest leave threads without elements, the widest of which every thread has some come after them.
pub(crate) fn coalesced(
    program: &TileProgram,
    transfer: &Transfer<'_>,
    dtype: DType,
    arch: Arch,
    least: i64,
) -> (Vec<Tv>, String) {
    let shape = &program.tensor(transfer.register).shape;
    let (run, limit, reason) = contiguous(program, transfer);
    let dim = run.dim;
    let (from, to) =
        if transfer.is_load { (Space::Global, Space::Register) } else { (Space::Register, Space::Global) };
    let widths = catalogue().copies_between(from, to, arch).filter(|r| !r.is_collective());
    let mut widths: Vec<i64> = widths.filter_map(|r| r.atom(dtype)).map(|a| a.values).collect();
    widths.push(1);
    let threads = i64::from(program.threads);
    let fits = |w: &i64| limit % w == 0 && shape[dim] % w == 0 && run.first(*w).is_some();
    let least = if shape[dim] % least == 0 { least } else { 1 };
    let dealt = |width: i64| {
        let run = run.first(width).unwrap_or(Run::plain(dim, width));
        deal(shape, &run, threads, i64::from(dtype.bits()))
    };
    let all_busy = |width: &i64| shape.iter().product::<i64>() >= threads * width;
    let mut widths = widths.into_iter().filter(fits).map(|width| width.max(least));
    let widest = widths.next().unwrap_or(least);
    let mut ways = dealt(widest);
    if !all_busy(&widest) {
        ways.extend(widths.find(all_busy).map(dealt).unwrap_or_default());
    }
    (ways, reason)
}

/// The run to coalesce along, the widest aligned access in elements, and the reason to give.
fn contiguous(program: &TileProgram, transfer: &Transfer<'_>) -> (Run, i64, String) {
    match global::param_of(program, transfer.memory) {
        Some(param) => {
            let aligned = global::alignment(program, transfer.memory, param);
            let run = aligned.run.unwrap_or(Run::plain(0, 1));
            let reason = format!("coalesced along dimension {} of `{}`", run.dim, param.name);
            (run, aligned.elements, reason)
        }
        // Shared memory takes the order that the registers ask for.
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

/// Elements of the longest run of shared memory.
const ANY: i64 = 1 << 20;

/// The best ways to deal runs to the threads, one after the other along their dimension.
pub(crate) fn deal(shape: &[i64], run: &Run, threads: i64, bits: i64) -> Vec<Tv> {
    let (dim, width) = (run.dim, run.width());
    let vectors = shape[dim] / width;
    let other: i64 = shape.iter().enumerate().filter(|(d, _)| *d != dim).map(|(_, e)| *e).product();
    // Instructions for each thread count first, then lines that are only partly used.
    let score = |along: i64| {
        let issues = ceil_div(vectors, along) * ceil_div(other, threads / along);
        let line = (along * width * bits / 8).min(LINE_BYTES);
        issues * LINE_BYTES * 2 / (line + LINE_BYTES)
    };
    let ways = || (1..=threads).filter(|d| threads % d == 0);
    let best = ways().map(score).min().unwrap_or(0);
    let ways: Vec<i64> = ways().filter(|along| score(*along) == best).collect();
    ways.into_iter().rev().map(|along| dealt(shape, run, threads, along)).collect()
}

/// Deals runs so that each warp has the elements that it has in `held`; nothing where warps share elements, or where one's elements
/// are no box.
pub(crate) fn deal_as_held(shape: &[i64], run: &Run, held: &Tv, bits: i64) -> Option<Tv> {
    let warp = i64::from(WARP);
    let (mut lanes, mut warps) = (Vec::new(), Vec::new());
    let mut unit = 1;
    for mode in at_warps(&held.thread) {
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
    if !divided || !held.is_exact(shape) || part[run.dim] % run.width() != 0 {
        return None;
    }
    let own =
        deal(&part, run, warp, bits).into_iter().find(|tv| tv.is_exact(&part) && tv.threads() == warp)?;
    Some(Tv::covering(shape, own.thread.into_iter().chain(warps).collect(), own.value))
}

/// Deals runs to `along` threads along `dim`, then to the others along the other dimensions. Threads that the tile does not divide
/// hold elements outside of it.
fn dealt(shape: &[i64], run: &Run, threads: i64, along: i64) -> Tv {
    let (dim, width) = (run.dim, run.width());
    let vectors = shape[dim] / width;
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
        let (step, count) = if d == dim { (width, vectors) } else { (1, shape[d]) };
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
    Tv::covering(shape, thread, value)
}

/// Any layout: elements dealt one by one.
pub(crate) fn deal_plain(shape: &[i64], threads: i64) -> Tv {
    dealt(shape, &Run::plain(shape.len().saturating_sub(1), 1), threads, threads)
}
