//! Copies by one thread, in boxes or in runs: which a copy can have, and the reasons for them.

use hx_target::BulkRow;
use hx_tile::{OpKind, Tensor, View};

use super::boxes;
use super::buffer::{Boxes, By, Candidate, Options, Use};
use super::runs;
use crate::access::global;
use crate::failure::{Failure, FailureKind};
use crate::search::context::SolverContext;

/// Adds the ways in which one thread makes a copy in boxes or runs, or the reasons why there are none.
///
/// # Errors
/// `NoInstruction` for a store that can be made in neither.
pub(super) fn offer(
    context: &SolverContext<'_, '_>,
    info: &Tensor,
    u: &Use<'_>,
    view: &View,
    options: &mut Options,
) -> Result<(), Failure> {
    let mut refused: Vec<(&BulkRow, String)> = Vec::new();
    for row in boxes::rows_of(context, info.dtype, u) {
        match boxes::candidates(context, info, u, view, row) {
            Ok(found) => options.usable.extend(found),
            Err(why) => refused.push((row, why)),
        }
    }
    // If the tile is not contiguous, do not mention runs in the reasons.
    let is_run = global::param_of(context.program(), view).is_some_and(|param| runs::is_one(param, view));
    refused.retain(|(row, _)| row.run.is_none() || is_run);
    if options.usable.is_empty() && u.reads {
        return Err(unboxed(context, u, info, refused));
    }
    // If boxes are usable, the reasons against runs do not matter to the user.
    if options.usable.is_empty() || refused.iter().any(|(row, _)| row.run.is_none()) {
        let reasons = refused.iter().map(|(row, why)| format!("not `{}`: {why}", row.name));
        let reasons: Vec<String> = reasons.collect();
        options.unboxed = Some(reasons.join("; ")).filter(|text| !text.is_empty());
    }
    Ok(())
}

/// Returns the failure of a store that cannot be made in boxes or runs.
fn unboxed(
    context: &SolverContext<'_, '_>,
    u: &Use<'_>,
    info: &Tensor,
    refused: Vec<(&BulkRow, String)>,
) -> Failure {
    let failure = |message| Failure::new(FailureKind::NoInstruction, message).at(u.op.id);
    let mut refused = refused.into_iter();
    let adds = matches!(u.op.kind, OpKind::Store { adds: true, .. });
    let (verb, other) = if adds { ("add", "atomic_add") } else { ("store", "copy") };
    let Some((first, why)) = refused.next() else {
        if let Some(pin) = context.program().pins.get(&u.op.id) {
            // Another instruction of the target does what the named one does not.
            let rows = context
                .target()
                .rows()
                .bulks
                .iter()
                .filter(|row| !row.is_load() && row.moves(info.dtype, adds));
            let others: Vec<String> = rows.map(|row| format!("`{}`", row.name)).collect();
            let failure =
                failure(format!("`{}` does not {verb} elements of type `{}`", pin.text, info.dtype));
            return match others.is_empty() {
                true => failure,
                false => failure.help(format!("{} {verb}s them", others.join(" or "))),
            };
        }
        return failure(format!("no bulk copy {verb}s elements of type `{}`", info.dtype));
    };
    let message = format!("`{}` does not {verb} `{}` in boxes", first.name, info.name);
    let failure = failure(message).help(why);
    let failure = refused.fold(failure, |f, (row, why)| f.help(format!("not `{}`: {why}", row.name)));
    failure.help(format!("`{other}` goes through registers and takes any tile"))
}

/// Describes a copy by one thread. Runs are compared with the boxes that would have done.
pub(super) fn text(boxes: &Boxes, shape: &[i64], usable: &[Candidate]) -> String {
    let size = |boxes: &Boxes| boxes.extents.iter().map(|extent| i64::from(*extent)).product::<i64>();
    let all: i64 = shape.iter().product();
    if boxes.row.run.is_none() {
        return "whole boxes by one thread".to_owned();
    }
    let number = |n: i64, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let in_boxes = usable.iter().filter_map(|candidate| match &candidate.by {
        By::Boxes(other) if other.row.run.is_none() => Some(all / size(other)),
        By::Boxes(_) | By::Access(_) | By::Reach(..) => None,
    });
    let instead = in_boxes
        .min()
        .map(|n| format!(", instead of {}", if n == 1 { "1 box".to_owned() } else { format!("{n} boxes") }));
    let runs = number(all / size(boxes), "run");
    let elements = number(size(boxes), "contiguous element");
    format!("{runs} of {elements} by one thread, without a tensor map{}", instead.unwrap_or_default())
}
