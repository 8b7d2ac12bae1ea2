//! Notes on copies and products that would take less time in the other order.

use std::collections::BTreeSet;

use hx_base::{Applicability, Diagnostic, Edit, Fix, TextRange, codes};
use hx_lower::Lowered;
use hx_synth::UNKNOWN_TRIPS;
use hx_tile::{Exchange, OpId};

use super::Places;
use super::sync::{indentation, statement_of, whole_line};
use crate::reorder::{Reordering, reorderings};
use crate::tile_program;

/// Returns a note for each group of copies in a loop that should move to the other side of the products next to it.
pub(super) fn slower(places: &Places<'_>) -> Vec<Diagnostic> {
    // A solution may add loads of operands. Without them, every statement has its own operations only.
    let Ok(lowered) = tile_program(places.db, places.instance) else { return Vec::new() };
    let found = reorderings(places.db, places.instance);
    found.iter().filter_map(|found| note(places, lowered, found)).collect()
}

fn note(places: &Places<'_>, lowered: &Lowered, found: &Reordering) -> Option<Diagnostic> {
    let Reordering { exchange, cycles: [now, then] } = found;
    let (file, range) = places.op(lowered, *exchange.copies.first()?)?;
    let side = if exchange.ahead { "behind" } else { "ahead of" };
    let estimate = format!("estimate {:.2}×", then / now);
    let message = format!("the copies would cost less time {side} the products: {estimate}");
    let mut note = Diagnostic::new(&codes::SLOWER_ORDER, file, range, message).label("the copies");
    if let Some((file, range)) = places.op(lowered, *exchange.products.first()?) {
        note = note.also(file, range, "the products");
    }
    let note = note.note(format!(
        "the blocks of a multiprocessor are estimated to take {then:.0} instead of {now:.0} cycles, where a loop of unknown length counts as {UNKNOWN_TRIPS:.0} rounds"
    ));
    let title = format!("move the copies {side} the products ({estimate})");
    Some(match moved(places, lowered, exchange) {
        Some(edits) => note.with_fix(Fix { title, edits, applicability: Applicability::Verified }),
        None => note.help(title),
    })
}

/// Returns the edits that move the statements of the products to the other side of the copies. `None` if the statements are not
/// neighbours in the text of one body, or if a name between them means something else on the other side.
fn moved(places: &Places<'_>, lowered: &Lowered, exchange: &Exchange) -> Option<Vec<Edit>> {
    let copies = statements(places, lowered, &exchange.copies)?;
    let products = statements(places, lowered, &exchange.products)?;
    let (first, last) = match exchange.ahead {
        true => (copies.first()?, products.last()?),
        false => (products.first()?, copies.last()?),
    };
    let all = TextRange::new(first.start(), last.end());
    let around = places.statement_around(*first);
    let beside = |stmt: &TextRange| places.statement_around(*stmt) == around;
    if !copies.iter().chain(&products).all(beside) {
        return None;
    }
    let file = places.kernel().0;
    let text = |range: TextRange| file.text(places.db).get(std::ops::Range::<usize>::from(range));
    // Only the names of `let`s stand between the statements.
    let mut bound = BTreeSet::new();
    for stmt in places.statements_in(all).into_iter().filter(beside) {
        if copies.contains(&stmt) || products.contains(&stmt) {
            continue;
        }
        bound.extend(places.bound_names(stmt)?);
    }
    let mut lines = String::new();
    let mut edits = Vec::new();
    let indent = indentation(places, file, *products.first()?)?;
    for stmt in &products {
        let own = text(*stmt)?;
        let is_captured = !places.mentioned_names(*stmt).is_disjoint(&bound);
        if is_captured || indentation(places, file, *stmt)? != indent {
            return None;
        }
        let line = whole_line(places, file, *stmt);
        if line == *stmt {
            return None;
        }
        edits.push(Edit { file, range: line, text: String::new() });
        lines += &if exchange.ahead { format!("{own}\n{indent}") } else { format!("\n{indent}{own}") };
    }
    let at = if exchange.ahead { copies.first()?.start() } else { copies.last()?.end() };
    edits.push(Edit { file, range: TextRange::empty(at), text: lines });
    Some(edits)
}

/// Returns the statements of operations, in the order of the text. `None` if one of them is not in the text of the kernel, or makes
/// further operations.
fn statements(places: &Places<'_>, lowered: &Lowered, ops: &[OpId]) -> Option<Vec<TextRange>> {
    let found: BTreeSet<(u32, u32)> = ops
        .iter()
        .map(|op| statement_of(places, lowered, *op).map(|at| (at.start().into(), at.end().into())))
        .collect::<Option<_>>()?;
    let found: Vec<TextRange> =
        found.into_iter().map(|(start, end)| TextRange::new(start.into(), end.into())).collect();
    let others = lowered.program.ops(1.0).into_iter().map(|(op, _)| op.id);
    let mut others = others.filter(|op| !ops.contains(op));
    let is_there = |op: OpId| statement_of(places, lowered, op).is_some_and(|at| found.contains(&at));
    (!others.any(is_there)).then_some(found)
}
