//! The instructions of prefetches. They touch no tensor whose layout is open, so they follow from the tile and the target alone.

use hx_tile::{Choice, OpKind, PrefetchChoice, Reason, Solution, View};

use crate::search::context::SolverContext;
use crate::shared;

/// Adds the instruction of each prefetch to the solution.
pub(crate) fn prefetches(context: &SolverContext<'_, '_>, solution: &mut Solution) {
    for (op, _) in context.program().ops(1.0) {
        if let OpKind::Prefetch { view } = &op.kind
            && let Some(choice) = choice(context, view)
        {
            solution.choices.insert(op.id, Choice::Prefetch(choice));
        }
    }
}

/// Returns boxes by one thread if they fit, otherwise the lines that all threads fetch.
fn choice(context: &SolverContext<'_, '_>, view: &View) -> Option<PrefetchChoice> {
    let mut refused = String::new();
    for row in &context.target().rows().prefetches {
        let (dims, extents, text) = match row.boxes {
            true => match shared::fetched(context, view) {
                Ok((dims, extents)) => (dims, extents, "whole boxes by one thread".to_owned()),
                Err(why) => {
                    refused = format!("; not `{}`: {why}", row.name);
                    continue;
                }
            },
            false => (Vec::new(), Vec::new(), format!("each line by one of the threads{refused}")),
        };
        let reason = Reason { text, from: vec![] };
        return Some(PrefetchChoice { row: row.into(), dims, extents, reason });
    }
    None
}
