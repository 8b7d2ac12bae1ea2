//! The anchor of a component with matrix products: instruction and arrangement of warps (paper, algorithm 1, lines 7 to 11).

use std::rc::Rc;

use hx_target::{Arch, Fragment, GemmRow, WARP, catalogue};
use hx_tile::{Op, OpKind, TensorId, TileMode, TileProgram, tile_modes};

use crate::distribution::{Tv, layout_of_table};
use crate::failure::{Failure, FailureKind};
use crate::pool::Pool;

/// One way to make a gemm of one instruction.
#[derive(Clone, Debug)]
pub(crate) struct Tiling {
    pub(crate) row: &'static GemmRow,
    /// Warps (threads, for an instruction of one thread) along M, N and the batch; the others repeat the work.
    pub(crate) arrangement: [i64; 3],
    /// Threads that do the same work.
    pub(crate) copies: i64,
    /// Issues along M, N, K and the batch.
    pub(crate) issues: [i64; 4],
    pub(crate) a: Rc<Tv>,
    pub(crate) b: Rc<Tv>,
    pub(crate) c: Rc<Tv>,
    /// `a` and `b` with the values in the order in which instructions read them: `[value, m issue, k issue, batch issue]` and
    /// `[value, n issue, k issue, batch issue]`.
    pub(crate) by_issue: [Rc<Tv>; 2],
}

/// The tensors of a gemm and its shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gemm<'p> {
    pub(crate) op: &'p Op,
    pub(crate) c: TensorId,
    pub(crate) a: TensorId,
    pub(crate) b: TensorId,
    pub(crate) pinned: Option<[i64; 3]>,
    pub(crate) shape: Shape,
}

/// The extents of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) m: i64,
    pub(crate) n: i64,
    pub(crate) k: i64,
    /// Products side by side, where the tensors have a third mode.
    pub(crate) batch: Option<i64>,
}

impl Shape {
    /// A tile of an operand: its own two extents, and `batch` of the third mode if there is one.
    fn tile(&self, extents: [i64; 2], batch: i64) -> Vec<i64> {
        extents.into_iter().chain(self.batch.map(|_| batch)).collect()
    }

    fn still(&self, extent: i64) -> TileMode {
        TileMode::new(extent, self.tile([0, 0], 0))
    }

    /// `extent` steps of `stride` along a mode. Along a third mode that is not there, there is one step.
    fn step(&self, extent: i64, mode: usize, stride: i64) -> TileMode {
        let mut strides = self.tile([0, 0], 0);
        if let Some(along) = strides.get_mut(mode) {
            *along = stride;
        }
        TileMode::new(extent, strides)
    }
}

impl<'p> Gemm<'p> {
    pub(crate) fn of(program: &TileProgram, op: &'p Op) -> Option<Gemm<'p>> {
        let OpKind::Gemm { c, a, b, warps } = op.kind else { return None };
        let (sc, sa) = (&program.tensor(c).shape, &program.tensor(a).shape);
        let shape = Shape { m: sc[0], n: sc[1], k: sa[1], batch: sc.get(2).copied() };
        Some(Gemm { op, c, a, b, pinned: warps, shape })
    }
}

/// All ways to tile the gemm, in the order of the catalogue and of the arrangement. Where an operand is widened from elements of `packed`
/// bits, threads may also hold longer runs along K than the instruction's: a sum does not depend on which steps come first.
///
/// # Errors
/// Where no instruction of the target does this product with these threads.
pub(crate) fn tilings(
    program: &TileProgram,
    gemm: &Gemm<'_>,
    arch: Arch,
    pool: &Pool,
    packed: Option<u32>,
) -> Result<Vec<Tiling>, Failure> {
    let dtypes = [gemm.a, gemm.b, gemm.c].map(|t| program.tensor(t).dtype);
    let threads = i64::from(program.threads);
    let Shape { k, batch, .. } = gemm.shape;
    if let Some(pin) = gemm.pinned {
        let (count, warps) = (pin.iter().product::<i64>(), threads / i64::from(WARP));
        if count < 1 || warps % count != 0 {
            let s = if count == 1 { "" } else { "s" };
            let pin = program.warps_text(gemm.c, pin);
            let message =
                format!("`warps: {pin}` are {count} warp{s}, which do not divide the block's {warps}");
            return Err(Failure::new(FailureKind::NoInstruction, message).at(gemm.op.id));
        }
    }
    let mut out = Vec::new();
    let mut refused = Vec::new();
    for row in catalogue().gemms_of(dtypes[0], dtypes[1], dtypes[2], arch) {
        if let Some(why) = refusal(row, k, threads) {
            refused.push(why);
            continue;
        }
        let lanes = i64::from(row.threads);
        let units = threads / lanes;
        for arrangement in arrangements(units, batch) {
            if gemm.pinned.is_some_and(|pin| !arranged(arrangement, pin, lanes)) {
                continue;
            }
            let made = |run: i64| tile(row, arrangement, units, &gemm.shape, run, pool);
            out.extend(runs(row, k, packed).into_iter().filter_map(made));
        }
        if let (Some(pin), true) = (gemm.pinned, out.is_empty()) {
            let pin = program.warps_text(gemm.c, pin);
            refused.push(format!("`warps: {pin}` does not divide the {units} warps of the block"));
        }
    }
    if out.is_empty() {
        let [a, b, c] = dtypes;
        let message = if refused.is_empty() {
            format!("no instruction of {arch} multiplies {a} and {b} into {c}")
        } else {
            format!(
                "no instruction of {arch} multiplies {a} and {b} into {c} with K = {k} and {threads} threads"
            )
        };
        let failure = Failure::new(FailureKind::NoInstruction, message).at(gemm.op.id);
        return Err(refused.into_iter().fold(failure, Failure::help));
    }
    Ok(out)
}

/// Why an instruction does not do a product of `k` steps with so many threads, whatever the arrangement.
fn refusal(row: &GemmRow, k: i64, threads: i64) -> Option<String> {
    let (lanes, steps) = (i64::from(row.threads), row.shape[2]);
    if threads % lanes != 0 {
        let text =
            format!("`{}` is executed by {lanes} threads together, and {threads} is no multiple", row.name);
        return Some(text);
    }
    (k % steps != 0)
        .then(|| format!("`{}` takes {steps} steps of K at once, and {k} is no multiple", row.name))
}

/// Why none of the matrix instructions that there are for the types of a product does it: one reason each. Nothing where there
/// are none, or where one of them does.
pub fn unfit_matrix_instructions(program: &TileProgram, op: &Op, arch: Arch) -> Vec<String> {
    let Some(gemm) = Gemm::of(program, op) else { return Vec::new() };
    let [a, b, c] = [gemm.a, gemm.b, gemm.c].map(|tensor| program.tensor(tensor).dtype);
    let rows = catalogue().gemms_of(a, b, c, arch).filter(|row| row.threads > 1);
    let refused = rows.map(|row| refusal(row, gemm.shape.k, i64::from(program.threads)));
    refused.collect::<Option<Vec<String>>>().unwrap_or_default()
}

/// The ways to arrange units along M, N and a batch, in order; those left over repeat the work.
pub(crate) fn arrangements(units: i64, batch: Option<i64>) -> impl Iterator<Item = [i64; 3]> {
    divisors(units).flat_map(move |m| {
        divisors(units / m).flat_map(move |n| {
            divisors(units / m / n).filter(move |l| *l <= batch.unwrap_or(1)).map(move |l| [m, n, l])
        })
    })
}

/// Whether units of so many lanes are arranged as the user wants the warps: threads that multiply alone stand several along a warp.
fn arranged(units: [i64; 3], warps: [i64; 3], lanes: i64) -> bool {
    if lanes >= i64::from(WARP) {
        units == warps
    } else {
        units.iter().zip(warps).all(|(unit, warp)| unit % warp == 0)
    }
}

/// Bits of the widest access.
const ACCESS_BITS: i64 = 128;

/// How many times the instruction's own neighbours along K a thread may hold side by side.
fn runs(row: &GemmRow, k: i64, packed: Option<u32>) -> Vec<i64> {
    let mut out = vec![1];
    let (Some(bits), Some(k_modes)) = (packed, KModes::of(&row.a, [row.shape[0], row.shape[2]])) else {
        return out;
    };
    let mut run = k_modes.registers;
    while run > 1
        && k_modes.neighbours * run * i64::from(bits) <= ACCESS_BITS
        && k % (k_modes.threads * k_modes.neighbours * run) == 0
    {
        out.push(run);
        run *= 2;
    }
    out
}

/// How a fragment of an operand walks along K: neighbours in one register, then threads, then further registers.
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

/// Tiles `C` with the instruction: lanes first, then warps along M, N and the batch, then issues. A row or column of tiles that the
/// warps do not divide is covered beyond the tensor.
pub(crate) fn tile(
    row: &'static GemmRow,
    [wm, wn, wl]: [i64; 3],
    units: i64,
    shape: &Shape,
    run: i64,
    pool: &Pool,
) -> Option<Tiling> {
    let [im, i_n, ik] = row.shape;
    let batch = shape.batch.unwrap_or(1);
    let issues = [ceil_div(shape.m, im * wm), ceil_div(shape.n, i_n * wn), shape.k / ik, ceil_div(batch, wl)];
    let copies = units / (wm * wn * wl);
    let (warps_m, warps_n) = (shape.step(wm, 0, im), shape.step(wn, 0, i_n));
    let others = [shape.step(wl, 2, 1), shape.still(copies)];
    let along_batch = shape.step(issues[3], 2, wl);
    let warps =
        |first: TileMode, second: TileMode| [first, second].into_iter().chain(others.clone()).collect();
    let (a, a_by_issue) = factor(
        &row.a,
        shape.tile([im, ik], 1),
        shape.tile([shape.m, shape.k], batch),
        warps(warps_m.clone(), shape.still(wn)),
        [shape.step(issues[0], 0, im * wm), along_batch.clone()],
        (issues[2], run),
    )?;
    let (b, b_by_issue) = factor(
        &row.b,
        shape.tile([i_n, ik], 1),
        shape.tile([shape.n, shape.k], batch),
        warps(shape.still(wm), warps_n),
        [shape.step(issues[1], 0, i_n * wn), along_batch.clone()],
        (issues[2], run),
    )?;
    // Issues along N first: two neighbours then are one fragment of the A operand of a following gemm.
    let c = operand(
        &row.c,
        &shape.tile([im, i_n], 1),
        &shape.tile([shape.m, shape.n], batch),
        warps(warps_m, shape.step(wn, 1, i_n)),
        [shape.step(issues[1], 1, i_n * wn), shape.step(issues[0], 0, im * wm), along_batch],
    )?;
    let [a, b, c, a_by_issue, b_by_issue] = [a, b, c, a_by_issue, b_by_issue].map(|tv| pool.keep(tv));
    let by_issue = [a_by_issue, b_by_issue];
    Some(Tiling { row, arrangement: [wm, wn, wl], copies, issues, a, b, c, by_issue })
}

/// The layout of an operand A or B, and the same with the values in the order of the instructions.
///
/// With `run` above 1, what one thread holds of K comes first and side by side: its neighbours in a register, then its registers of one
/// instruction, then those of the next.
fn factor(
    fragment: &Fragment,
    atom: Vec<i64>,
    shape: Vec<i64>,
    warps: Vec<TileMode>,
    [issue, along_batch]: [TileMode; 2],
    (steps, run): (i64, i64),
) -> Option<(Tv, Tv)> {
    let along = |extent: i64, stride: i64| {
        let mut strides = vec![0; shape.len()];
        strides[1] = stride;
        TileMode::new(extent, strides)
    };
    if run == 1 {
        let tv = operand(fragment, &atom, &shape, warps, [issue, along(steps, atom[1]), along_batch])?;
        return Some((tv.clone(), tv));
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
    value.extend(std::iter::once(issue).chain(rounds).chain([along_batch]));
    let by_issue = Tv::covering(&shape, thread.clone(), value.clone());
    let inside = |mode: &TileMode| mode.strides[0] == 0 && (1..held).contains(&mode.strides[1]);
    let rest = value.into_iter().filter(|mode| !inside(mode));
    let value = std::iter::once(along(held, 1)).chain(rest).collect();
    Some((Tv::covering(&shape, thread, value), by_issue))
}

fn operand(
    fragment: &Fragment,
    atom: &[i64],
    shape: &[i64],
    warps: Vec<TileMode>,
    issues: [TileMode; 3],
) -> Option<Tv> {
    let thread = tile_modes(&fragment.layout.mode(0), atom)?.into_iter().chain(warps).collect();
    let value = tile_modes(&fragment.layout.mode(1), atom)?.into_iter().chain(issues).collect();
    Some(Tv::covering(shape, thread, value))
}

impl Tiling {
    /// The accumulator with the values in the order `[value, m issue, n issue, batch issue]`, in which the instructions read them.
    pub(crate) fn c_by_issue(&self) -> (Tv, [i64; 4]) {
        let [m, n, _, batch] = self.issues;
        let [along_m, along_n, along_batch] = [m, n, batch].map(|issues| usize::from(issues > 1));
        let (rest, batches) = self.c.value.split_at(self.c.value.len() - along_batch);
        let (atom, issues) = rest.split_at(rest.len() - along_m - along_n);
        let value = atom.iter().chain(issues.iter().rev()).chain(batches).cloned().collect();
        let tv = Tv { tile: self.c.tile.clone(), thread: self.c.thread.clone(), value };
        (tv, [self.row.c.values(), m, n, batch])
    }

    /// Whether the instructions can read operand C, A or B (0, 1, 2) of this layout, `own` being the one that they are made for: every
    /// thread has its values, in a regular order.
    pub(crate) fn reads(&self, pool: &Pool, held: &Rc<Tv>, own: &Rc<Tv>, operand: usize) -> bool {
        if Rc::ptr_eq(held, own) {
            return true;
        }
        if pool.positions(held, own).is_none() {
            return false;
        }
        let [im, i_n, ik, il] = self.issues;
        let regular = |wanted: &Tv, extents: &[i64]| {
            held.positions_of(wanted).is_some_and(|table| layout_of_table(extents, &table).is_some())
        };
        match operand {
            0 => {
                let (order, extents) = self.c_by_issue();
                regular(&order, &extents)
            }
            1 => regular(&self.by_issue[0], &[self.row.a.values(), im, ik, il]),
            _ => regular(&self.by_issue[1], &[self.row.b.values(), i_n, ik, il]),
        }
    }

    /// Instructions that one warp issues.
    pub(crate) fn count(&self) -> i64 {
        self.issues.iter().product()
    }
}

pub(crate) fn ceil_div(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}
