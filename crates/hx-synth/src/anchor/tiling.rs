//! Tiles a matrix product with one instruction in one arrangement of warps.

use std::rc::Rc;

use hx_target::{Fragment, GemmRow, Target};
use hx_tile::{TileMode, tile_modes};

use super::gemm::{OperandLayout, Shape, Tiling, ceil_div};
use super::paired::{self, PAIRED};
use crate::distribution::{ThreadValueLayout, key, layout_of_table};
use crate::search::pool::Pool;

/// Returns the ways to arrange units along M, N and a batch, in increasing order. Units left over repeat the work.
pub(crate) fn arrangements(units: i64, batch: Option<i64>) -> impl Iterator<Item = [i64; 3]> {
    divisors(units).flat_map(move |m| {
        divisors(units / m).flat_map(move |n| {
            divisors(units / m / n).filter(move |l| *l <= batch.unwrap_or(1)).map(move |l| [m, n, l])
        })
    })
}

/// Reports whether an arrangement of units is the arrangement of warps that the user pinned. A unit of several warps counts as
/// the arrangement of its warps in the instruction's tile. For an instruction of one thread, several units share a warp, so
/// multiples match.
pub(crate) fn arranged(target: Target, [m, n, batch]: [i64; 3], warps: [i64; 3], row: &GemmRow) -> bool {
    if row.threads >= target.limits.lanes {
        let [along_m, along_n] = row.warps(target.limits.lanes);
        [m * along_m, n * along_n, batch] == warps
    } else {
        [m, n, batch].iter().zip(warps).all(|(unit, warp)| unit % warp == 0)
    }
}

/// Returns the factors by which a thread may lengthen the instruction's own runs of neighbours along K; 1 is always among them.
pub(crate) fn runs(target: Target, row: &GemmRow, k: i64, packed: Option<u32>) -> Vec<i64> {
    let mut out = vec![1];
    let k_modes = row.a.fragment().and_then(|a| KModes::of(a, [row.shape[0], row.shape[2]]));
    let (Some(bits), Some(k_modes)) = (packed, k_modes) else {
        return out;
    };
    let mut run = k_modes.registers;
    while run > 1
        && k_modes.neighbours * run * i64::from(bits) <= 8 * i64::from(target.limits.access_bytes)
        && k % (k_modes.threads * k_modes.neighbours * run) == 0
    {
        out.push(run);
        run *= 2;
    }
    out
}

/// The extents along K of a fragment of an operand, in the order in which it walks K: neighbours in one register, then
/// threads, then further registers.
#[derive(Clone, Copy, Debug)]
struct KModes {
    neighbours: i64,
    threads: i64,
    registers: i64,
}

impl KModes {
    fn of(fragment: &Fragment, atom: [i64; 2]) -> Option<KModes> {
        let threads = tile_modes(&fragment.layout.mode(0), &atom)?;
        let mut along = threads.iter().filter(|m| m.strides[1] != 0 && m.extent > 1);
        let (mode, None) = (along.next()?, along.next()) else { return None };
        let (neighbours, threads) = (mode.strides[1], mode.extent);
        let registers = atom[1] / (neighbours * threads);
        (mode.strides[0] == 0 && registers * neighbours * threads == atom[1]).then_some(KModes {
            neighbours,
            threads,
            registers,
        })
    }
}

fn divisors(n: i64) -> impl Iterator<Item = i64> {
    (1..=n).filter(move |d| n % d == 0)
}

/// How the rows, the columns and the steps along K are dealt to the lanes of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dealing {
    /// The factor by which a thread lengthens the instruction's own runs of neighbours along K.
    pub(crate) run: i64,
    /// Whether a lane holds neighbouring rows of A and columns of B in pairs.
    pub(crate) paired: [bool; 2],
}

impl Dealing {
    /// As the instruction itself deals them.
    pub(crate) const OWN: Dealing = Dealing { run: 1, paired: [false; 2] };
}

/// Tiles `C` as [`tile_with`] does, with an instruction that reads both operands from registers. Returns `None` also if the
/// instruction reads an operand from shared memory.
pub(crate) fn tile(
    row: &'static GemmRow,
    arrangement: [i64; 3],
    units: i64,
    shape: &Shape,
    dealing: Dealing,
    pool: &Pool,
) -> Option<Tiling> {
    let [a, b] = row.fragments()?;
    tile_with(row, arrangement, units, shape, (dealing, [Some(a), Some(b)]), pool)
}

/// Tiles `C` with the instruction: lanes first, then warps along M, N and the batch, then issues. If the warps do not divide a
/// row or column of tiles, the tiling covers more than the tensor. `fragments` are those of the operands in registers. Returns
/// `None` if a fragment's layout is not made of steps along the tile.
pub(crate) fn tile_with(
    row: &'static GemmRow,
    [wm, wn, wl]: [i64; 3],
    units: i64,
    shape: &Shape,
    (dealing, [a_fragment, b_fragment]): (Dealing, [Option<&Fragment>; 2]),
    pool: &Pool,
) -> Option<Tiling> {
    let [im, i_n, ik] = row.shape;
    let batch = shape.batch.unwrap_or(1);
    // Rows or columns in pairs alternate between two instructions that have too few of them.
    let alternating = |atom: i64, paired: bool| if paired { ceil_div(PAIRED, atom) } else { 1 };
    let alternating = [alternating(im, dealing.paired[0]), alternating(i_n, dealing.paired[1])];
    let [own_m, own_n] = [im * alternating[0], i_n * alternating[1]];
    let [rounds_m, rounds_n] = [ceil_div(shape.m, own_m * wm), ceil_div(shape.n, own_n * wn)];
    let issues = [rounds_m * alternating[0], rounds_n * alternating[1], shape.k / ik, ceil_div(batch, wl)];
    let copies = units / (wm * wn * wl);
    let (warps_m, warps_n) = (shape.step(wm, 0, own_m), shape.step(wn, 0, own_n));
    let others = [shape.step(wl, 2, 1), shape.still(copies)];
    let along_batch = shape.step(issues[3], 2, wl);
    let warps =
        |first: TileMode, second: TileMode| [first, second].into_iter().chain(others.clone()).collect();
    // The instructions along M or N, as modes along mode `along` of a tensor.
    let issue_m = |along| [shape.step(alternating[0], along, im), shape.step(rounds_m, along, own_m * wm)];
    let issue_n = |along| [shape.step(alternating[1], along, i_n), shape.step(rounds_n, along, own_n * wn)];
    // Deals the rows of A or the columns of B: `atom` of them to one instruction, `extent` of them in all. `warps` and `issue`
    // are the modes along them.
    let operand_layout = |fragment, (atom, extent): (i64, i64), warps, issue: [TileMode; 2], paired: bool| {
        let (layout, by_issue) = factor(
            fragment,
            shape.tile([atom, ik], 1),
            shape.tile([extent, shape.k], batch),
            warps,
            (issue, along_batch.clone()),
            (issues[2], dealing.run),
        )?;
        let dealt = |layout| Some(pool.keep(in_pairs(layout, [paired, false])?));
        Some(OperandLayout { layout: dealt(layout)?, by_issue: dealt(by_issue)? })
    };
    let a = match a_fragment {
        Some(fragment) => {
            let warps = warps(warps_m.clone(), shape.still(wn));
            Some(operand_layout(fragment, (im, shape.m), warps, issue_m(0), dealing.paired[0])?)
        }
        None => None,
    };
    let b = match b_fragment {
        Some(fragment) => {
            let warps = warps(shape.still(wm), warps_n);
            Some(operand_layout(fragment, (i_n, shape.n), warps, issue_n(0), dealing.paired[1])?)
        }
        None => None,
    };
    let c = |issues: [[TileMode; 2]; 2]| {
        let layout = operand(
            &row.c,
            &shape.tile([im, i_n], 1),
            &shape.tile([shape.m, shape.n], batch),
            warps(warps_m.clone(), shape.step(wn, 1, own_n)),
            issues.into_iter().flatten().chain([along_batch.clone()]),
        )?;
        in_pairs(layout, dealing.paired)
    };
    // Issues along N come first: two neighbours along N then form one fragment of the A operand of a following gemm.
    let [held, by_issue] = [c([issue_n(1), issue_m(0)])?, c([issue_m(0), issue_n(1)])?];
    let c = pool.keep(if dealing.paired[1] { neighbours_first(held, 1) } else { held });
    let c_by_issue = pool.keep(by_issue);
    Some(Tiling { row, arrangement: [wm, wn, wl], copies, issues, c, c_by_issue, operands: [a, b] })
}

/// Moves the values that are neighbours along a dimension to the front: a conversion to narrower elements then packs neighbours.
fn neighbours_first(layout: ThreadValueLayout, dim: usize) -> ThreadValueLayout {
    let ThreadValueLayout { tile, thread, mut value } = layout;
    let (mut first, mut unit) = (Vec::new(), 1);
    while let Some(at) = value.iter().position(|mode| mode.along() == Some((dim, unit))) {
        unit *= value[at].extent;
        first.push(value.remove(at));
    }
    first.append(&mut value);
    ThreadValueLayout { tile, thread, value: first }
}

/// Deals the rows and the columns of a tile in pairs, as far as `paired` asks for it.
fn in_pairs(layout: ThreadValueLayout, paired: [bool; 2]) -> Option<ThreadValueLayout> {
    let ThreadValueLayout { tile, mut thread, mut value } = layout;
    for dim in (0..2).filter(|dim| paired[*dim]) {
        (thread, value) = (paired::dealt(thread, dim)?, paired::dealt(value, dim)?);
    }
    Some(ThreadValueLayout { tile, thread, value })
}

/// Returns the layout of operand A or B, and the same layout with the values in the order in which the instructions read them.
/// `None` if the fragment is not made of steps along the tile.
///
/// `steps` are the instructions along K. With `run > 1`, the values that one thread holds along K come first and contiguously:
/// its neighbours in a register, then its registers of one instruction, then the registers of the next instruction.
fn factor(
    fragment: &Fragment,
    atom: Vec<i64>,
    shape: Vec<i64>,
    warps: Vec<TileMode>,
    (issue, along_batch): ([TileMode; 2], TileMode),
    (steps, run): (i64, i64),
) -> Option<(ThreadValueLayout, ThreadValueLayout)> {
    let along = |extent: i64, stride: i64| {
        let mut strides = vec![0; shape.len()];
        strides[1] = stride;
        TileMode::new(extent, strides)
    };
    if run == 1 {
        let issues = issue.into_iter().chain([along(steps, atom[1]), along_batch]);
        let layout = operand(fragment, &atom, &shape, warps, issues)?;
        return Some((layout.clone(), layout));
    }
    let k = KModes::of(fragment, [atom[0], atom[1]])?;
    let (held, instructions) = (k.neighbours * run, run / k.registers);
    let with_stride = |mode: &TileMode, stride: i64| {
        let mut mode = mode.clone();
        mode.strides[1] = stride;
        mode
    };
    let spread = |mode: &TileMode| with_stride(mode, mode.strides[1] * run);
    let gathered = |mode: &TileMode| match mode.strides[1] {
        stride if stride == k.neighbours * k.threads => with_stride(mode, k.neighbours),
        _ => mode.clone(),
    };
    let thread = tile_modes(&fragment.layout.mode(0), &atom)?;
    let thread: Vec<TileMode> = thread.iter().map(spread).chain(warps).collect();
    let value = tile_modes(&fragment.layout.mode(1), &atom)?;
    let mut value: Vec<TileMode> = value.iter().map(gathered).collect();
    let rounds =
        [along(instructions, k.neighbours * k.registers), along(steps / instructions, held * k.threads)];
    value.extend(issue.into_iter().chain(rounds).chain([along_batch]));
    let by_issue = ThreadValueLayout::covering(&shape, thread.clone(), value.clone());
    let inside = |mode: &TileMode| mode.strides[0] == 0 && (1..held).contains(&mode.strides[1]);
    let rest = value.into_iter().filter(|mode| !inside(mode));
    let value = std::iter::once(along(held, 1)).chain(rest).collect();
    Some((ThreadValueLayout::covering(&shape, thread, value), by_issue))
}

fn operand(
    fragment: &Fragment,
    atom: &[i64],
    shape: &[i64],
    warps: Vec<TileMode>,
    issues: impl Iterator<Item = TileMode>,
) -> Option<ThreadValueLayout> {
    let thread = tile_modes(&fragment.layout.mode(0), atom)?.into_iter().chain(warps).collect();
    let value = tile_modes(&fragment.layout.mode(1), atom)?.into_iter().chain(issues).collect();
    Some(ThreadValueLayout::covering(shape, thread, value))
}

impl Tiling {
    /// Reports whether the instructions can read operand C, A or B (`operand` 0, 1 or 2) from the layout `held`. `own` is the
    /// layout that the instructions are made for. Every thread must hold the values that it holds in `own`, at positions that a
    /// layout describes.
    pub(crate) fn reads(
        &self,
        pool: &Pool,
        held: &Rc<ThreadValueLayout>,
        own: &Rc<ThreadValueLayout>,
        operand: usize,
    ) -> bool {
        if Rc::ptr_eq(held, own) {
            return true;
        }
        if pool.positions(held, own).is_none() {
            return false;
        }
        let [im, i_n, ik, il] = self.issues;
        let [a, b] = &self.operands;
        match operand {
            0 => is_regular(pool, held, &self.c_by_issue, self.c_extents()),
            1 => a
                .as_ref()
                .is_some_and(|a| is_regular(pool, held, &a.by_issue, [self.row.a.values(), im, ik, il])),
            _ => b
                .as_ref()
                .is_some_and(|b| is_regular(pool, held, &b.by_issue, [self.row.b.values(), i_n, ik, il])),
        }
    }
}

/// Reports whether the values of `wanted` lie in `held` at positions that a layout of these extents describes, computed once.
fn is_regular(
    pool: &Pool,
    held: &Rc<ThreadValueLayout>,
    wanted: &Rc<ThreadValueLayout>,
    extents: [i64; 4],
) -> bool {
    let entry = ([key(held), key(wanted)], extents);
    if let Some(known) = pool.read.borrow().get(&entry) {
        return *known;
    }
    let table = pool.positions(held, wanted);
    let regular = table.is_some_and(|table| layout_of_table(&extents, &table).is_some());
    pool.read.borrow_mut().insert(entry, regular);
    regular
}
