//! Products whose instructions read B from shared memory by descriptor, and A from there or from registers. All threads of a
//! group execute one instruction together.

use hx_target::{Addressing, GemmRow};
use hx_tile::{TileProgram, View};

use super::gemm::{Gemm, Tiling};
use super::paired;
use super::tiling::{Dealing, arranged, arrangements, tile_with};
use crate::cost;
use crate::failure::{Failure, FailureKind};
use crate::search::pool::Pool;
use crate::shared::{Issued, is_reached};

/// Limit on the sizes along N that are tried for an arrangement, largest first.
const SIZES: usize = 3;
/// Limit on the tilings of one product.
const TILINGS: usize = 8;
/// Registers of a thread that an instruction of a group needs beside its accumulator; with fewer, the assembler refuses it.
pub(crate) const BESIDE: i64 = 26;
/// Registers are allotted to threads in multiples of this number.
const PORTION: i64 = 8;

/// Returns the ways to tile a product by descriptor, cheapest first.
///
/// # Errors
/// `NoInstruction` if there is none.
pub(crate) fn tilings(program: &TileProgram, gemm: &Gemm<'_>, pool: &Pool) -> Result<Vec<Tiling>, Failure> {
    let target = program.target;
    let threads = program.threads_of(gemm.op);
    let mut out: Vec<([f64; 2], Vec<Tiling>)> = Vec::new();
    let paired = paired::ways(paired::offered(program, gemm, pool));
    for (row, arrangement, groups) in arranged_rows(program, gemm, pool, false) {
        let fragments = [gemm.views[0].register().and(row.a.fragment()), None];
        let dealt = |paired: &[bool; 2]| {
            let dealing = Dealing { paired: *paired, ..Dealing::OWN };
            tile_with(row, arrangement, groups, &gemm.shape, (dealing, fragments), pool)
        };
        let made: Vec<Tiling> = paired.iter().filter_map(dealt).collect();
        // Of equal cycles, the fewest bytes of shared memory win: they leave it to the copies.
        let costs =
            |tiling: &Tiling| [cost::gemm(target, tiling, threads), (groups * read_bytes(tiling)) as f64];
        out.extend(made.first().map(costs).map(|costs| (costs, made)));
    }
    if out.is_empty() {
        let message = "no instruction of a group of warps computes this product";
        return Err(Failure::new(FailureKind::NoInstruction, message).at(gemm.op.id));
    }
    // The sort is stable: of equal costs, the largest size along N comes first.
    out.sort_by(|(a, _), (b, _)| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    out.truncate(TILINGS);
    Ok(out.into_iter().flat_map(|(_, tilings)| tilings).collect())
}

/// Returns the bytes that the instructions of one group read from shared memory.
fn read_bytes(tiling: &Tiling) -> i64 {
    tiling.count() * cost::shared_operand_bytes(tiling)
}

/// Reports whether some instruction can compute a product with B read by descriptor. If `loads_a`, A is loaded into registers.
pub(crate) fn is_possible(program: &TileProgram, gemm: &Gemm<'_>, pool: &Pool, loads_a: bool) -> bool {
    let is_staged = |view: &View| view.register().is_none();
    is_staged(gemm.views[1])
        && (!loads_a || is_staged(gemm.views[0]))
        && !arranged_rows(program, gemm, pool, loads_a).is_empty()
}

/// Returns, for each way to compute the product, the instruction, its arrangement of groups along M, N and the batch, and the
/// number of groups. With `loads_a`, A comes from registers, so its place in shared memory does not matter. Of one
/// arrangement the list has at most [`SIZES`] instructions.
fn arranged_rows(
    program: &TileProgram,
    gemm: &Gemm<'_>,
    pool: &Pool,
    loads_a: bool,
) -> Vec<(&'static GemmRow, [i64; 3], i64)> {
    let target = program.target;
    let (Some(types), None) = (gemm.types(program), gemm.shape.batch) else { return Vec::new() };
    let threads = i64::from(program.threads_of(gemm.op));
    let rows = target.rows().gemms_by_descriptor(types);
    let mut rows: Vec<&'static GemmRow> = rows
        .filter(|row| gemm.accumulates(program, row) && pool.wish.allows(gemm.op.id, &row.name))
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.shape[1]));
    let Some(first) = rows.first() else { return Vec::new() };
    let (lanes, [im, _, ik]) = (i64::from(first.threads), first.shape);
    if threads % lanes != 0 || gemm.shape.k % ik != 0 {
        return Vec::new();
    }
    let groups = threads / lanes;
    let most = registers(program);
    let mut out = Vec::new();
    for arrangement in arrangements(groups, None) {
        let [along_m, along_n, _] = arrangement;
        if gemm.shape.m % (im * along_m) != 0 || gemm.shape.n % along_n != 0 {
            continue;
        }
        let fits = |row: &&&'static GemmRow| {
            (gemm.shape.n / along_n) % row.shape[1] == 0
                && row.c.values() + BESIDE <= most
                && gemm.pinned.is_none_or(|pin| arranged(target, arrangement, pin, row))
                && (loads_a || is_read(program, gemm, row, 0))
                && is_read(program, gemm, row, 1)
        };
        out.extend(rows.iter().filter(fits).take(SIZES).map(|row| (*row, arrangement, groups)));
    }
    out
}

/// Returns the registers of a thread when the block begins.
pub(crate) fn registers(program: &TileProgram) -> i64 {
    let limits = program.limits();
    let each = i64::from(limits.registers) / i64::from(program.block_threads().max(1));
    (each / PORTION * PORTION).min(i64::from(limits.registers_per_thread))
}

/// Reports whether the instruction can read an operand where it is: from registers, or from shared memory under some layout.
fn is_read(program: &TileProgram, gemm: &Gemm<'_>, row: &'static GemmRow, operand: usize) -> bool {
    let view = gemm.views[operand];
    let space = view.base.space();
    match view.base.tensor() {
        Some(tensor) if space.row().addressed.contains(&Addressing::Descriptor) => {
            is_reached(program, tensor, view, &Issued::of(program.target, row, operand))
        }
        Some(_) | None => space.is_held() && operand == 0,
    }
}
