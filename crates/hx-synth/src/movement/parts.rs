//! Parts of register tensors, and scans: the layouts that follow, and the route of each element to the thread that holds it.

use hx_target::{Reach, Target};
use hx_tile::{
    Atomic, Op, OpKind, Reason, ScanChoice, ScanLevel, Scratch, SliceChoice, Tensor, TensorId, TileMode,
    TileProgram, View,
};

use crate::distribution::layouts::Layouts;
use crate::distribution::{ThreadValueLayout, at_warps, layout_of_table};
use crate::failure::{Failure, FailureKind};

/// The extent of one dimension of a register tensor that a view shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shown {
    Whole,
    /// A single coordinate.
    Point(i64),
    /// First coordinate and extent.
    Range(i64, i64),
}

/// Returns, for each dimension of the whole tensor, what the view shows of it and the mode of the view that walks it.
fn shown(view: &View, shape: &[i64]) -> Vec<(Shown, Option<usize>)> {
    (0..shape.len())
        .map(|d| {
            let first = view.offsets[d].as_const().unwrap_or(0);
            let mode = view.modes.iter().position(|m| m.dim == d && !m.factor.is_zero());
            let shown = match mode.map(|m| view.modes[m].extent) {
                Some(extent) if extent == shape[d] => Shown::Whole,
                Some(1) | None => Shown::Point(first),
                Some(extent) => Shown::Range(first, extent),
            };
            (shown, mode)
        })
        .collect()
}

/// Returns the layout that a part has if its elements stay in their threads. Threads dealt along a dimension of which the part
/// has one coordinate all hold the part. Returns `None` if a range of a dimension would have to be dealt anew, because it ends
/// between threads that are dealt along the dimension.
pub(crate) fn part(
    target: Target,
    whole: &ThreadValueLayout,
    view: &View,
    shape: &[i64],
) -> Option<ThreadValueLayout> {
    let dims = shown(view, shape);
    let mut thread = at_warps(&whole.thread, target.limits.lanes);
    for mode in &mut thread {
        for (d, (shown, _)) in dims.iter().enumerate() {
            match shown {
                Shown::Point(_) => mode.strides[d] = 0,
                Shown::Range(first, extent) if mode.strides[d] != 0 && mode.extent > 1 => {
                    let all = mode.strides[d] * mode.extent;
                    if first % all != 0 || extent % all != 0 {
                        return None;
                    }
                }
                Shown::Whole | Shown::Range(..) => {}
            }
        }
    }
    let mut value = shown_values(whole, &dims)?;
    value.retain(|mode| mode.extent != 1);
    // If the range crosses a carry between two modes, no single mode describes it: give up.
    for (d, (shown, _)) in dims.iter().enumerate() {
        if let Shown::Range(_, extent) = shown {
            let walks = thread.iter().chain(&value).filter(|m| m.strides[d] != 0);
            let count: i64 = walks.map(|m| m.extent).product();
            if count != *extent {
                return None;
            }
        }
    }
    let moved = |mode: &TileMode| {
        let strides = view.modes.iter().map(|m| if m.factor.is_zero() { 0 } else { mode.strides[m.dim] });
        TileMode::new(mode.extent, strides.collect())
    };
    let tile =
        view.modes
            .iter()
            .map(|m| {
                if m.factor.is_zero() || dims[m.dim].0 != Shown::Whole { m.extent } else { whole.tile[m.dim] }
            })
            .collect();
    Some(ThreadValueLayout {
        tile,
        thread: thread.iter().map(moved).collect(),
        value: value.iter().map(moved).collect(),
    })
}

/// Returns the layout of a part whose elements each thread can set in the whole tensor. `None` if no layout of the part lies in the
/// same threads: the part begins or ends between threads, or has one coordinate of a dimension that is dealt to several.
pub(crate) fn in_place(
    target: Target,
    whole: &ThreadValueLayout,
    view: &View,
    shape: &[i64],
) -> Option<ThreadValueLayout> {
    let dims = shown(view, shape);
    let is_dealt = |d: usize| whole.thread.iter().any(|mode| mode.strides[d] != 0 && mode.extent > 1);
    let is_apart = |(d, (shown, _)): (usize, &(Shown, Option<usize>))| {
        matches!(shown, Shown::Point(_)) && shape[d] > 1 && is_dealt(d)
    };
    if dims.iter().enumerate().any(is_apart) {
        return None;
    }
    part(target, whole, view, shape)
}

/// Returns a layout of the whole tensor in which each thread holds the same coordinates of every segment, one segment after
/// the other. The length of a segment is the greatest common divisor of the part's first coordinate, the part's extent and
/// the tensor's extent along the dimension that the view cuts. Returns `None` if the view does not cut exactly one dimension,
/// or exchanges some, or if the part's layout deals no whole segments: a segment ends between threads, or within a step of a
/// thread's elements.
pub(crate) fn grown(
    target: Target,
    part_layout: &ThreadValueLayout,
    view: &View,
    shape: &[i64],
    part_shape: &[i64],
) -> Option<ThreadValueLayout> {
    let in_order = view.modes.len() == shape.len() && view.modes.iter().enumerate().all(|(d, m)| m.dim == d);
    let mut cut = (0..shape.len()).filter(|d| part_shape.get(*d) != Some(&shape[*d]));
    let (Some(axis), None, true) = (cut.next(), cut.next(), in_order) else { return None };
    let first = view.offsets[axis].as_const()?;
    let step = hx_index::gcd(hx_index::gcd(part_shape[axis], first), shape[axis]);
    let mut begin = View::whole(view.base, part_shape);
    begin.modes[axis].extent = step;
    let mut whole = in_place(target, part_layout, &begin, part_shape)?;
    if whole.tile[axis] != step {
        return None;
    }
    let mut strides = vec![0; shape.len()];
    strides[axis] = step;
    whole.tile[axis] = shape[axis];
    whole.value.push(TileMode::new(shape[axis] / step, strides));
    // Drop modes of extent 1: they reach no further element, and the readers of layouts expect none.
    whole.value.retain(|mode| mode.extent != 1);
    Some(whole)
}

/// Returns the value modes that walk what the view shows; `None` if a range begins or ends inside of a step.
fn shown_values(whole: &ThreadValueLayout, dims: &[(Shown, Option<usize>)]) -> Option<Vec<TileMode>> {
    let mut value = Vec::new();
    for mode in &whole.value {
        let Some((d, stride)) = mode.along() else {
            // The mode walks no dimension, or several dimensions that the view shows as a whole.
            let walks = |d: usize| mode.strides[d] != 0;
            if (0..dims.len()).any(|d| walks(d) && dims[d].0 != Shown::Whole) {
                return None;
            }
            value.push(mode.clone());
            continue;
        };
        match dims[d].0 {
            Shown::Whole => value.push(mode.clone()),
            Shown::Point(_) => {}
            Shown::Range(first, extent) => {
                // Keep the digits below the range's extent, cut the digit in which the extent ends, and drop the digits above:
                // they are constant.
                if extent <= stride {
                    continue;
                }
                let steps = extent / stride;
                let aligned = extent % stride == 0 && first % stride == 0;
                let digit = first / stride % mode.extent;
                if steps >= mode.extent && steps % mode.extent == 0 && digit == 0 {
                    value.push(mode.clone());
                } else if aligned && digit + steps <= mode.extent {
                    value.push(TileMode::new(steps, mode.strides.clone()));
                } else {
                    return None;
                }
            }
        }
    }
    Some(value)
}

/// Returns the layout of the whole tensor if the part is all of it, under other dimensions; otherwise `None`.
pub(crate) fn whole(part: &ThreadValueLayout, view: &View, shape: &[i64]) -> Option<ThreadValueLayout> {
    let dims = shown(view, shape);
    let all = dims.iter().zip(shape).all(|((shown, _), extent)| *shown == Shown::Whole || *extent == 1);
    if !all {
        return None;
    }
    let back = |mode: &TileMode| {
        let strides = dims.iter().map(|(_, m)| m.map_or(0, |m| mode.strides[m])).collect();
        TileMode::new(mode.extent, strides)
    };
    let tile = dims.iter().map(|(_, m)| m.map_or(1, |m| part.tile[m])).collect();
    Some(ThreadValueLayout {
        tile,
        thread: part.thread.iter().map(back).collect(),
        value: part.value.iter().map(back).collect(),
    })
}

/// Returns the layout of the tensor that `narrow` is broadcast to: every thread walks the new axes itself. Thread steps along
/// such an axis are dropped, so threads past its single element repeat the elements of other threads.
pub(crate) fn lifted(
    target: Target,
    narrow: &ThreadValueLayout,
    shape: &[i64],
    axes: &[usize],
) -> ThreadValueLayout {
    let mut wide = narrow.project(axes, target.limits.lanes);
    for &axis in axes {
        let mut strides = vec![0; shape.len()];
        strides[axis] = 1;
        wide.tile[axis] = shape[axis];
        wide.value.push(TileMode::new(shape[axis], strides));
    }
    wide
}

/// The source of each element of a part: value `v` lies at position `first + table[v]` of another thread. The number of that
/// thread is the number of the reading thread with the digits `lanes`, each `(unit, extent, digit)`, set, and the bits `mirrored`
/// inverted.
struct Places {
    first: i64,
    table: Vec<i64>,
    lanes: Vec<(i64, i64, i64)>,
    mirrored: i64,
}

fn places(
    target: Target,
    part: &ThreadValueLayout,
    whole: &ThreadValueLayout,
    view: &View,
    shape: &[i64],
    threads: u32,
) -> Option<Places> {
    let Sources { lanes, mirrored } = sources(target, whole, view, shape);
    let warp = i64::from(target.limits.lanes);
    let within =
        |unit: i64, extent: i64| unit.count_ones() == 1 && extent.count_ones() == 1 && unit * extent <= warp;
    let set = || lanes.iter().map(|(unit, extent, _)| (*unit, *extent));
    if !set().chain(mirrored.iter().copied()).all(|(unit, extent)| within(unit, extent)) {
        return None;
    }
    let stays = lanes.is_empty() && mirrored.is_empty();
    // An exchange either names a lane or inverts bits of the own number.
    if !lanes.is_empty() && !mirrored.is_empty() || !stays && !threads.is_multiple_of(target.limits.lanes) {
        return None;
    }
    // The digits are powers of two, so the reverse of a digit inverts its bits.
    let mirrored = mirrored.iter().map(|(unit, extent)| unit * (extent - 1)).sum::<i64>();
    let owner = |t: i64| {
        lanes.iter().fold(t, |o, (unit, extent, digit)| o + (digit - t / unit % extent) * unit) ^ mirrored
    };
    let along = |d: usize| view.modes.iter().position(|m| m.dim == d && !m.factor.is_zero());
    let walked: Vec<(i64, Option<usize>, i64)> = (0..shape.len())
        .map(|d| {
            let mode = along(d);
            let step = mode.and_then(|m| view.modes[m].factor.as_const()).unwrap_or(1);
            (view.offsets[d].as_const().unwrap_or(0), mode, step)
        })
        .collect();
    let wanted = |t: i64, v: i64| -> Vec<i64> {
        let at = part.coordinate(t, v);
        walked.iter().map(|(first, mode, step)| first + mode.map_or(0, |m| step * at[m])).collect()
    };
    let held: std::collections::BTreeMap<Vec<i64>, i64> =
        (0..whole.values()).rev().map(|p| (whole.coordinate(owner(0), p), p)).collect();
    let table: Option<Vec<i64>> = (0..part.values()).map(|v| held.get(&wanted(0, v)).copied()).collect();
    let table = table?;
    let first = *table.first()?;
    // The offset of a value does not depend on the thread, so checking the first value of every thread suffices.
    let same = (0..i64::from(threads)).all(|t| whole.coordinate(owner(t), first) == wanted(t, 0));
    same.then(|| Places { first, table: table.iter().map(|p| p - first).collect(), lanes, mirrored })
}

/// The digits of a thread's number by which a thread that needs elements of a part and one that holds them may differ.
struct Sources {
    /// Digits of a dimension of which the part has one coordinate, each `(unit, extent, digit)`.
    lanes: Vec<(i64, i64, i64)>,
    /// Digits of a dimension that the view reverses, each `(unit, extent)`.
    mirrored: Vec<(i64, i64)>,
}

/// Returns the digits by which the threads that hold the elements of a part differ from those that need them.
fn sources(target: Target, whole: &ThreadValueLayout, view: &View, shape: &[i64]) -> Sources {
    let dims = shown(view, shape);
    let (mut lanes, mut mirrored) = (Vec::new(), Vec::new());
    let mut unit = 1;
    for mode in at_warps(&whole.thread, target.limits.lanes) {
        for (d, (shown, walker)) in dims.iter().enumerate() {
            if mode.strides[d] == 0 || mode.extent == 1 || shape[d] == 1 {
                continue;
            }
            match shown {
                Shown::Point(at) => lanes.push((unit, mode.extent, at / mode.strides[d] % mode.extent)),
                Shown::Whole if walker.is_some_and(|m| view.modes[m].is_reversed()) => {
                    mirrored.push((unit, mode.extent));
                }
                Shown::Whole | Shown::Range(..) => {}
            }
        }
        unit *= mode.extent;
    }
    Sources { lanes, mirrored }
}

/// Returns the bytes of shared memory through which `elements` elements of a tensor move.
fn scratch_bytes(tensor: &Tensor, elements: i64) -> u32 {
    (elements * i64::from(tensor.dtype.bits()).max(8) / 8) as u32
}

/// Returns the shared memory through which threads get the results of an atomic access: if several threads hold an element, one of them
/// accesses memory. `None` if each element has one thread, or if no operation uses the results.
pub(crate) fn spread(
    program: &TileProgram,
    op: &Op,
    atomic: &Atomic,
    known: &Layouts,
    offset: u32,
) -> Option<Scratch> {
    let tensor = program.tensor(atomic.results().next()?);
    let shares = known[atomic.value].layout.thread.iter().any(|mode| mode.is_still() && mode.extent > 1);
    let bytes = scratch_bytes(tensor, tensor.size()) * program.groups_of(op);
    shares.then_some(Scratch { offset, bytes })
}

/// Chooses how the elements of a part that is taken or inserted reach their threads; `None` for another operation. Scratch memory
/// starts at byte `offset`.
///
/// # Errors
/// If other threads hold elements below a byte, which do not go through shared memory.
pub(crate) fn chosen(
    program: &TileProgram,
    op: &Op,
    known: &Layouts,
    offset: u32,
) -> Result<Option<SliceChoice>, Failure> {
    if let OpKind::Slice { dst, src } = &op.kind {
        return slice(program, op, *dst, src, known, offset).map(Some);
    }
    let OpKind::Insert { dst, src } = &op.kind else { return Ok(None) };
    insert(program, op, dst, *src, known, offset).map(Some)
}

fn slice(
    program: &TileProgram,
    op: &Op,
    dst: TensorId,
    src: &View,
    known: &Layouts,
    offset: u32,
) -> Result<SliceChoice, Failure> {
    let id = src.register().ok_or_else(|| no_register(op))?;
    let (part, whole) = (&known[dst].layout, &known[id].layout);
    let found = places(program.target, part, whole, src, &program.tensor(id).shape, program.threads_of(op));
    if let Some(choice) = found.and_then(|found| in_registers(part, found)) {
        return Ok(choice);
    }
    let name = &program.tensor(id).name;
    let refused = format!("a part of `{name}` is held by other threads");
    through_shared(program, op, dst, offset, "other threads have it", refused)
}

fn insert(
    program: &TileProgram,
    op: &Op,
    dst: &View,
    src: TensorId,
    known: &Layouts,
    offset: u32,
) -> Result<SliceChoice, Failure> {
    let id = dst.register().ok_or_else(|| no_register(op))?;
    let (part, whole) = (&known[src].layout, &known[id].layout);
    let shape = &program.tensor(id).shape;
    // Each thread has to hold exactly the elements of its places.
    let agrees = |wanted: &ThreadValueLayout| {
        part.positions_of(wanted).is_some() && wanted.positions_of(part).is_some()
    };
    let found = in_place(program.target, whole, dst, shape)
        .filter(agrees)
        .and_then(|_| places(program.target, part, whole, dst, shape, program.threads_of(op)))
        .filter(|found| found.lanes.is_empty() && found.mirrored == 0);
    if let Some(choice) = found.and_then(|found| in_registers(part, found)) {
        return Ok(choice);
    }
    let (name, whole) = (&program.tensor(src).name, &program.tensor(id).name);
    let refused = format!("`{name}` is held by other threads than its place in `{whole}`");
    through_shared(program, op, src, offset, "other threads have its place", refused)
}

fn no_register(op: &Op) -> Failure {
    Failure::new(FailureKind::Conflict, "a part of what is not a register tensor").at(op.id)
}

/// Returns the choice of a part whose elements have these places in the registers of each thread, or of one lane for others. `None`
/// if no layout describes the places.
fn in_registers(part: &ThreadValueLayout, found: Places) -> Option<SliceChoice> {
    let extents: Vec<i64> = part.value.iter().map(|m| m.extent).collect();
    let positions = layout_of_table(&extents, &found.table)?;
    let text = if found.mirrored != 0 {
        "a lane of the same warp has it"
    } else if found.lanes.is_empty() {
        "each thread has its part"
    } else {
        "one lane has it for others"
    };
    Some(SliceChoice {
        positions: Some(positions),
        first: found.first,
        lanes: found.lanes,
        mirrored: found.mirrored as u32,
        through: None,
        reason: Reason { text: text.into(), from: vec![] },
    })
}

/// Returns the choice of a part that goes through shared memory, for the reason `why`.
///
/// # Errors
/// `refused`, if the elements are below a byte.
fn through_shared(
    program: &TileProgram,
    op: &Op,
    part: TensorId,
    offset: u32,
    why: &str,
    refused: String,
) -> Result<SliceChoice, Failure> {
    let tensor = program.tensor(part);
    if tensor.dtype.bits() < 8 {
        let message = format!("{refused}, and elements below a byte do not go through shared memory");
        return Err(Failure::new(FailureKind::Conflict, message).at(op.id));
    }
    let bytes = scratch_bytes(tensor, tensor.size()) * program.groups_of(op);
    Ok(SliceChoice {
        positions: None,
        first: 0,
        lanes: vec![],
        mirrored: 0,
        through: Some(Scratch { offset, bytes }),
        reason: Reason { text: why.into(), from: vec![] },
    })
}

/// Returns the digits of the coordinate along an axis, in ascending order of their step. Returns `None` if the digits do not
/// enumerate the axis.
pub(crate) fn levels(
    threads: u32,
    layout: &ThreadValueLayout,
    axis: usize,
    target: Target,
) -> Option<Vec<ScanLevel>> {
    let exchanges = |reach| target.rows().exchanges.iter().any(|r| r.reach == reach);
    let warps = threads.is_multiple_of(target.limits.lanes) && exchanges(Reach::Up) && exchanges(Reach::Lane);
    let mut out = Vec::new();
    let mut unit = 1;
    for mode in &layout.value {
        if mode.strides[axis] != 0 {
            mode.along()?;
            out.push(ScanLevel::Values { unit, extent: mode.extent, step: mode.strides[axis] });
        }
        unit *= mode.extent;
    }
    unit = 1;
    for mode in at_warps(&layout.thread, target.limits.lanes) {
        let (extent, step) = (mode.extent, mode.strides[axis]);
        if step != 0 && extent > 1 {
            mode.along()?;
            let powers = unit.count_ones() == 1 && extent.count_ones() == 1;
            let lanes = warps && powers && unit * extent <= i64::from(target.limits.lanes);
            out.push(if lanes {
                ScanLevel::Lanes { unit, extent, step }
            } else {
                ScanLevel::Across { unit, extent, step }
            });
        }
        unit *= extent;
    }
    out.sort_by_key(|level| digit(level).1);
    let mut next = 1;
    for level in &out {
        let (extent, step) = digit(level);
        if step != next {
            return None;
        }
        next *= extent;
    }
    (next >= layout.tile[axis]).then_some(out)
}

fn digit(level: &ScanLevel) -> (i64, i64) {
    match *level {
        ScanLevel::Values { extent, step, .. }
        | ScanLevel::Lanes { extent, step, .. }
        | ScanLevel::Across { extent, step, .. } => (extent, step),
    }
}

/// Chooses how a scan runs. Scratch memory starts at byte `offset`; the second result is the byte at which it ends.
///
/// # Errors
/// `Conflict` if the tensors of the scan lie in no common regular order.
pub(crate) fn scan(
    program: &TileProgram,
    op: &Op,
    (dst, src): (&[TensorId], &[TensorId]),
    axis: usize,
    known: &Layouts,
    offset: u32,
) -> Result<(ScanChoice, u32), Failure> {
    let target = program.target;
    let irregular = || {
        let message = "the tensors of a scan lie in no common regular order";
        Failure::new(FailureKind::Conflict, message).at(op.id)
    };
    let layout = &known[*dst.first().ok_or_else(irregular)?].layout;
    let levels = levels(program.threads_of(op), layout, axis, target).ok_or_else(irregular)?;
    let extents: Vec<i64> = layout.value.iter().map(|m| m.extent).collect();
    let positions = |t: &TensorId| {
        known[*t]
            .layout
            .positions_of(layout)
            .and_then(|table| layout_of_table(&extents, &table))
            .ok_or_else(irregular)
    };
    let src = src.iter().map(positions).collect::<Result<Vec<_>, _>>()?;
    let others: i64 = layout.tile.iter().enumerate().filter(|(d, _)| *d != axis).map(|(_, e)| e).product();
    let across = levels.iter().filter_map(|level| match *level {
        ScanLevel::Across { extent, step, .. } => {
            Some(extent * others * (layout.tile[axis] / (step * extent)).max(1))
        }
        _ => None,
    });
    let (mut end, mut scratch) = (offset, Vec::new());
    if let Some(elements) = across.max() {
        for tensor in dst {
            let bytes = scratch_bytes(program.tensor(*tensor), elements) * program.groups_of(op);
            scratch.push(Scratch { offset: end, bytes });
            end = (end + bytes).next_multiple_of(16);
        }
    }
    let lies = |level: &ScanLevel| matches!(level, ScanLevel::Values { .. });
    let text = if levels.iter().all(lies) {
        "the axis lies within threads"
    } else if scratch.is_empty() {
        "the axis lies within warps"
    } else {
        "the axis is dealt to several warps"
    };
    let reason = Reason { text: text.into(), from: vec![] };
    Ok((ScanChoice { src, levels, scratch, reason }, end))
}
