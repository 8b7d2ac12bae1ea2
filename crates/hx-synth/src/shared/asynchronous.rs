//! Asynchronous copies from global memory bypass the registers, so the choice of the thread that moves each vector is free.

use hx_dtype::DType;
use hx_target::Space;
use hx_tile::{OpId, OpKind, SyncOp, TileMode, TileProgram, View};

use super::buffer::{End, Use};
use crate::access::alignment::amount;
use crate::access::{Access, Run, global, vector};
use crate::anchor::copy::{deal_as_held, pieces};
use crate::distribution::ThreadValueLayout;
use crate::failure::{Failure, FailureKind};
use crate::search::pool::Pool;

/// Returns the accesses of a copy from global memory that bypasses the registers. Any thread may move any vector, so the copy is
/// dealt for the best access to global memory, or to the warps that read the vectors.
///
/// # Errors
/// `NoInstruction` if the addresses are not multiples of the narrowest instruction's elements, or if no instruction moves the
/// elements in their order in memory.
pub(super) fn accesses(
    (program, pool): (&TileProgram, &Pool),
    (u, view): (&Use<'_>, &View),
    uses: &[Use<'_>],
    dtype: DType,
) -> Result<Vec<Access>, Failure> {
    let target = program.target;
    let Some(param) = global::param_of(program, view) else { return Ok(vec![]) };
    let aligned = pool.alignment(u.op.id, || global::alignment(program, view, param));
    let run = aligned.run.clone().unwrap_or(Run::plain(0, 1));
    let reader = reader(program, u, uses);
    let mut out = Vec::new();
    let mut narrowest = i64::MAX;
    let rows = target.rows().copies_between(Space::Global, Space::Shared);
    for row in rows.filter(|row| pool.wish.allows(u.op.id, &row.name)) {
        let Some(atom) = row.atom(dtype) else { continue };
        narrowest = narrowest.min(atom.values);
        if aligned.elements % atom.values != 0 {
            continue;
        }
        let Some(piece) = run.piece(atom.values) else { continue };
        let (threads, bits) = (i64::from(program.threads_of(u.op)), i64::from(dtype.bits()));
        let is_box = piece.is_box() && piece.divides(&u.shape);
        let as_held = reader.as_ref().filter(|_| is_box);
        let own = as_held.and_then(|held| deal_as_held(target, &u.shape, &piece, held, bits));
        let dealt = || pieces(target, &u.shape, (&run, atom.values), threads, bits)?.into_iter().next();
        let Some(layout) = own.or_else(dealt) else { continue };
        let Some(access) = vector::vector(target, &layout, row, piece) else { continue };
        out.push(access);
    }
    if out.is_empty() {
        // If addresses are aligned enough, no instruction follows the order of the elements in memory.
        let known = (aligned.elements % narrowest != 0).then(|| amount(aligned.elements, dtype));
        return Err(unaligned(u.op.id, &param.name, dtype, narrowest, known.as_deref(), &aligned.limit));
    }
    Ok(out)
}

/// Explains which rounds of a copy are partly filled: those in which some threads find no vector of the tile. `None` if no round is.
pub(super) fn last_round(access: &Access, threads: u32, shape: &[i64]) -> Option<String> {
    let busy = &access.busy(threads, shape).threads;
    let (rounds, all) = (busy.len(), i64::from(threads));
    let (last, before) = busy.split_last()?;
    if busy.iter().all(|count| *count == all) {
        return None;
    }
    Some(if rounds == 1 {
        format!("{last} of {all} threads copy")
    } else if before.iter().all(|count| *count == all) {
        format!("the last of {rounds} rounds is partly filled: {last} of {all} threads copy")
    } else {
        let moved = busy.iter().sum::<i64>();
        format!("{rounds} rounds of {all} threads are partly filled with {moved} accesses")
    })
}

/// Returns the failure of an asynchronous copy whose addresses in `memory` are not multiples of `narrowest`, the elements that
/// its narrowest instruction moves. `known` is the known alignment, `why` its cause.
pub(super) fn unaligned(
    op: OpId,
    memory: &str,
    dtype: DType,
    narrowest: i64,
    known: Option<&str>,
    why: &str,
) -> Failure {
    let moved = amount(narrowest, dtype);
    let message = match known {
        Some(known) => format!(
            "an asynchronous copy moves {moved} or more from multiples of as many on, and addresses in `{memory}` are known to be multiples of {known} only"
        ),
        None => {
            format!("an asynchronous copy moves {moved} or more, which `{memory}` does not keep side by side")
        }
    };
    let failure = Failure::new(FailureKind::NoInstruction, message).at(op);
    failure.help(why).help("`copy` goes through registers and takes any alignment")
}

/// Returns the layout in which readers hold the tile of an asynchronous copy, if the program synchronizes single warps. Each
/// warp must then copy the elements that it reads. `None` if the program does not, or if no read holds the copied tile in
/// registers.
fn reader(program: &TileProgram, u: &Use<'_>, uses: &[Use<'_>]) -> Option<ThreadValueLayout> {
    if !program.ops(1.0).iter().any(|(op, _)| op.kind == OpKind::Sync(SyncOp::Warp)) {
        return None;
    }
    uses.iter().filter(|other| other.reads).find_map(|other| held_by(u, other))
}

/// Returns the tile of a copy as another use of the tensor holds it. Threads hold all of every mode that the other use does
/// not walk. `None` if the other use holds no register tensor, or walks a mode that the copy lacks.
fn held_by(u: &Use<'_>, other: &Use<'_>) -> Option<ThreadValueLayout> {
    let End::Register(layout) = &other.end else { return None };
    let modes = &u.view.modes;
    // The index, among the modes of the copy, of each mode of the other use.
    let stands = |mode| modes.iter().position(|own| own == mode);
    let places: Vec<usize> = other.view.modes.iter().map(stands).collect::<Option<_>>()?;
    let spread = |mode: &TileMode| {
        let mut strides = vec![0; modes.len()];
        places.iter().zip(&mode.strides).for_each(|(place, stride)| strides[*place] = *stride);
        TileMode::new(mode.extent, strides)
    };
    let thread = layout.thread.iter().map(spread).collect();
    let whole = |d: usize| {
        let mut strides = vec![0; modes.len()];
        strides[d] = 1;
        TileMode::new(u.shape[d], strides)
    };
    let others = (0..modes.len()).filter(|d| !places.contains(d)).map(whole);
    Some(ThreadValueLayout::covering(
        &u.shape,
        thread,
        layout.value.iter().map(spread).chain(others).collect(),
    ))
}
