//! Anchors a component with matrix products at an instruction and an arrangement of warps (paper, algorithm 1, lines 7 to 11).

use hx_target::GemmRow;
use hx_tile::{Op, TileProgram};

use super::descriptor;
use super::gemm::{Gemm, Shape, Tiling};
use super::paired;
use super::tiling::{Dealing, arranged, arrangements, runs, tile};
use crate::failure::{Failure, FailureKind, Help};
use crate::search::pool::{Pool, Tilings};

/// Returns all ways to tile the gemm, in the order of the catalogue and of the arrangements. If B lies in shared memory,
/// returns those by descriptor, cheapest first. They are computed once.
///
/// If an operand is widened from elements of `packed` bits, threads may also hold longer runs along K than the instruction's own.
/// This is correct because a sum does not depend on the order of its steps.
///
/// # Errors
/// `NoInstruction` if no instruction of the target computes this product with these threads, or if the pinned warps do not divide
/// those of its scope.
pub(crate) fn tilings(
    program: &TileProgram,
    gemm: &Gemm<'_>,
    pool: &Pool,
    packed: Option<u32>,
) -> Result<Tilings, Failure> {
    pool.tilings(gemm, packed, || match gemm.views[1].register() {
        None => descriptor::tilings(program, gemm, pool),
        Some(_) => from_registers(program, gemm, pool, packed),
    })
}

/// Returns the ways to tile a product of operands in registers.
///
/// # Errors
/// As [`tilings`].
fn from_registers(
    program: &TileProgram,
    gemm: &Gemm<'_>,
    pool: &Pool,
    packed: Option<u32>,
) -> Result<Vec<Tiling>, Failure> {
    let target = program.target;
    let Some(dtypes) = gemm.types(program) else { return Ok(vec![]) };
    let scope = program.scope(gemm.op.scope);
    let (threads, kind) = (i64::from(scope.threads), scope.kind.name());
    let Shape { m, n, k, batch } = gemm.shape;
    if let Some(pin) = gemm.pinned {
        let (count, warps) = (pin.iter().product::<i64>(), threads / i64::from(target.limits.lanes));
        if count < 1 || warps % count != 0 {
            let s = if count == 1 { "" } else { "s" };
            let pin = program.warps_text(gemm.c, pin);
            let message =
                format!("`warps: {pin}` are {count} warp{s}, which do not divide the {kind}'s {warps}");
            return Err(Failure::new(FailureKind::NoInstruction, message).at(gemm.op.id));
        }
    }
    let mut out = Vec::new();
    let mut refused = Vec::new();
    let paired = paired::ways(paired::offered(program, gemm, pool));
    let rows = target.rows().gemms_of(dtypes[0], dtypes[1], dtypes[2]);
    let is_allowed = |row: &GemmRow| pool.wish.allows(gemm.op.id, &row.name);
    for row in rows.filter(|row| row.suits([m, n]) && gemm.accumulates(program, row) && is_allowed(row)) {
        if let Some(why) = refusal(row, k, threads) {
            refused.push(Help { text: why, of_warps: false });
            continue;
        }
        let lanes = i64::from(row.threads);
        let units = threads / lanes;
        for arrangement in arrangements(units, batch) {
            if gemm.pinned.is_some_and(|pin| !arranged(target, arrangement, pin, row)) {
                continue;
            }
            let made = |dealing| tile(row, arrangement, units, &gemm.shape, dealing, pool);
            let runs = runs(target, row, k, packed).into_iter();
            let dealings =
                runs.flat_map(|run| paired.iter().map(move |paired| Dealing { run, paired: *paired }));
            out.extend(dealings.filter_map(made));
        }
        if let (Some(pin), true) = (gemm.pinned, out.is_empty()) {
            let pin = program.warps_text(gemm.c, pin);
            let text = format!("`warps: {pin}` does not divide the {units} warps of the {kind}");
            refused.push(Help { text, of_warps: true });
        }
    }
    if out.is_empty() {
        let [a, b, c] = dtypes;
        let message = if refused.is_empty() {
            format!("no instruction of {target} multiplies {a} and {b} into {c}")
        } else {
            format!(
                "no instruction of {target} multiplies {a} and {b} into {c} with K = {k} and {threads} threads"
            )
        };
        let mut failure = Failure::new(FailureKind::NoInstruction, message).at(gemm.op.id);
        failure.help = refused;
        return Err(failure);
    }
    Ok(out)
}

/// Returns why an instruction cannot compute a product of `k` steps with `threads` threads under any arrangement, or `None` if it
/// can.
fn refusal(row: &GemmRow, k: i64, threads: i64) -> Option<String> {
    let (lanes, steps) = (i64::from(row.threads), row.shape[2]);
    if threads % lanes != 0 {
        let text = format!(
            "`{}` is executed by {lanes} threads together, and {threads} is not a multiple",
            row.name
        );
        return Some(text);
    }
    (k % steps != 0)
        .then(|| format!("`{}` takes {steps} steps of K at once, and {k} is not a multiple", row.name))
}

/// Returns one reason for each matrix instruction of the product's types, if none of them can compute it. Returns an empty list
/// if the types have no matrix instruction, or if one of them can.
pub fn unfit_matrix_instructions(program: &TileProgram, op: &Op) -> Vec<String> {
    let Some(gemm) = Gemm::of(program, op) else { return Vec::new() };
    let Some([a, b, c]) = gemm.types(program) else { return Vec::new() };
    let rows = program.target.rows().gemms_of(a, b, c);
    let rows = rows.filter(|row| row.threads > 1 && !row.is_swapped && gemm.accumulates(program, row));
    let refused = rows.map(|row| refusal(row, gemm.shape.k, i64::from(program.threads_of(op))));
    refused.collect::<Option<Vec<String>>>().unwrap_or_default()
}
