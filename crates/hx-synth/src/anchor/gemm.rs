//! The anchor of a component with matrix products: instruction and arrangement of warps (paper, algorithm 1, lines 7 to 11).

use std::rc::Rc;

use hx_target::{Arch, Fragment, GemmRow, catalogue};
use hx_tile::{Op, OpKind, TensorId, TileMode, TileProgram, tile_modes};

use crate::distribution::Tv;
use crate::failure::{Failure, FailureKind};
use crate::pool::Pool;

/// One way to make a gemm of one instruction.
#[derive(Clone, Debug)]
pub(crate) struct Tiling {
    pub(crate) row: &'static GemmRow,
    /// Warps (threads, for an instruction of one thread) along M and N; the others repeat the work.
    pub(crate) arrangement: [i64; 2],
    /// Threads that do the same work.
    pub(crate) copies: i64,
    /// Issues along M, N and K.
    pub(crate) issues: [i64; 3],
    pub(crate) a: Rc<Tv>,
    pub(crate) b: Rc<Tv>,
    pub(crate) c: Rc<Tv>,
}

/// The tensors of a gemm and its shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gemm<'p> {
    pub(crate) op: &'p Op,
    pub(crate) c: TensorId,
    pub(crate) a: TensorId,
    pub(crate) b: TensorId,
    pub(crate) pinned: Option<[i64; 2]>,
    pub(crate) shape: [i64; 3],
}

impl<'p> Gemm<'p> {
    pub(crate) fn of(program: &TileProgram, op: &'p Op) -> Option<Gemm<'p>> {
        let OpKind::Gemm { c, a, b, warps } = op.kind else { return None };
        let (sc, sa) = (&program.tensor(c).shape, &program.tensor(a).shape);
        Some(Gemm { op, c, a, b, pinned: warps, shape: [sc[0], sc[1], sa[1]] })
    }
}

/// All ways to tile the gemm, in the order of the catalogue and of the arrangement.
///
/// # Errors
/// Where no instruction of the target does this product with these threads.
pub(crate) fn tilings(
    program: &TileProgram,
    gemm: &Gemm<'_>,
    arch: Arch,
    pool: &Pool,
) -> Result<Vec<Tiling>, Failure> {
    let dtypes = [gemm.a, gemm.b, gemm.c].map(|t| program.tensor(t).dtype);
    let threads = i64::from(program.threads);
    let [m, n, k] = gemm.shape;
    let mut out = Vec::new();
    let mut refused = Vec::new();
    for row in catalogue().gemms_of(dtypes[0], dtypes[1], dtypes[2], arch) {
        let lanes = i64::from(row.threads);
        if threads % lanes != 0 {
            refused.push(format!(
                "`{}` is executed by {lanes} threads together, and {threads} is no multiple",
                row.name
            ));
            continue;
        }
        if k % row.shape[2] != 0 {
            refused.push(format!(
                "`{}` takes {} steps of K at once, and {k} is no multiple",
                row.name, row.shape[2]
            ));
            continue;
        }
        let units = threads / lanes;
        for along_m in divisors(units) {
            for along_n in divisors(units / along_m) {
                if gemm.pinned.is_none_or(|p| p == [along_m, along_n])
                    && let Some(tiling) = tile(row, [along_m, along_n], units, [m, n, k], pool)
                {
                    out.push(tiling);
                }
            }
        }
        if let (Some([pm, pn]), true) = (gemm.pinned, out.is_empty()) {
            refused.push(format!("`warps: [{pm}, {pn}]` does not divide the {units} warps of the block"));
        }
    }
    if out.is_empty() {
        let [a, b, c] = dtypes;
        let message = format!(
            "no matrix instruction of {arch} does a gemm of {a} and {b} into {c} with {threads} threads, K = {k}"
        );
        let failure = Failure::new(FailureKind::NoInstruction, message).at(gemm.op.id);
        return Err(refused.into_iter().fold(failure, Failure::help));
    }
    Ok(out)
}

fn divisors(n: i64) -> impl Iterator<Item = i64> {
    (1..=n).filter(move |d| n % d == 0)
}

/// Tiles `C` with the instruction: lanes first, then warps along M and N, then issues. A row or column of tiles that the warps do
/// not divide is covered beyond the tensor.
fn tile(
    row: &'static GemmRow,
    [wm, wn]: [i64; 2],
    units: i64,
    [m, n, k]: [i64; 3],
    pool: &Pool,
) -> Option<Tiling> {
    let [im, i_n, ik] = row.shape;
    let issues = [ceil_div(m, im * wm), ceil_div(n, i_n * wn), k / ik];
    let copies = units / (wm * wn);
    let still = |extent: i64| TileMode::new(extent, vec![0, 0]);
    let step = |extent: i64, d: usize, stride: i64| {
        let mut strides = vec![0, 0];
        strides[d] = stride;
        TileMode::new(extent, strides)
    };
    let (warps_m, warps_n) = (step(wm, 0, im), step(wn, 0, i_n));
    let a = operand(
        &row.a,
        [im, ik],
        [m, k],
        [warps_m.clone(), still(wn), still(copies)],
        [step(issues[0], 0, im * wm), step(issues[2], 1, ik)],
    )?;
    let b = operand(
        &row.b,
        [i_n, ik],
        [n, k],
        [still(wm), warps_n, still(copies)],
        [step(issues[1], 0, i_n * wn), step(issues[2], 1, ik)],
    )?;
    // Issues along N first: two neighbours then are one fragment of the A operand of a following gemm.
    let c = operand(
        &row.c,
        [im, i_n],
        [m, n],
        [warps_m, step(wn, 1, i_n), still(copies)],
        [step(issues[1], 1, i_n * wn), step(issues[0], 0, im * wm)],
    )?;
    let [a, b, c] = [a, b, c].map(|tv| pool.keep(tv));
    Some(Tiling { row, arrangement: [wm, wn], copies, issues, a, b, c })
}

fn operand(
    fragment: &Fragment,
    atom: [i64; 2],
    shape: [i64; 2],
    warps: [TileMode; 3],
    issues: [TileMode; 2],
) -> Option<Tv> {
    let thread = tile_modes(&fragment.layout.mode(0), &atom)?.into_iter().chain(warps).collect();
    let value = tile_modes(&fragment.layout.mode(1), &atom)?.into_iter().chain(issues).collect();
    Some(Tv::covering(&shape, thread, value))
}

impl Tiling {
    /// The same layouts with the values in the order `[value, m issue, k issue]`, `[value, n issue, k issue]` and
    /// `[value, m issue, n issue]`, for the positions that the instructions read.
    pub(crate) fn c_by_issue(&self) -> (Tv, [i64; 3]) {
        let atom_modes =
            self.c.value.len() - usize::from(self.issues[1] > 1) - usize::from(self.issues[0] > 1);
        let (atom, issues) = self.c.value.split_at(atom_modes);
        let value = atom.iter().chain(issues.iter().rev()).cloned().collect();
        let tv = Tv { tile: self.c.tile.clone(), thread: self.c.thread.clone(), value };
        (tv, [self.row.c.values(), self.issues[0], self.issues[1]])
    }

    /// Instructions that one warp issues.
    pub(crate) fn count(&self) -> i64 {
        self.issues.iter().product()
    }
}

pub(crate) fn ceil_div(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}
