//! The parts of a protocol that no launch decided.

use hx_base::{Diagnostic, codes};
use hx_lower::Lowered;
use hx_sync::protocol::{Open, Why};

use super::Places;
use super::sync::statement_of;

/// The longest expression that a message shows, in bytes.
const LONGEST: usize = 80;

/// Returns the warning that a kernel was not checked, with all reasons; `None` if everything was decided.
pub(super) fn pipelines(places: &Places<'_>, lowered: &Lowered, open: &[Open]) -> Option<Diagnostic> {
    let (first, others) = open.split_first()?;
    let (file, range) = place(places, lowered, first).unwrap_or_else(|| places.kernel());
    let message =
        format!("the {} of this kernel were not checked: {}", subject(lowered), reason(lowered, &first.why));
    let mut found = Diagnostic::new(&codes::UNCHECKED_PIPELINES, file, range, message);
    for open in others {
        let (file, range) = place(places, lowered, open).unwrap_or_else(|| places.kernel());
        found = found.also(file, range, reason(lowered, &open.why));
    }
    if let Why::Rounds { count, seen, .. } = &first.why
        && count.len() <= LONGEST
    {
        let rounds = if *seen == 1 { "round" } else { "rounds" };
        found = found.note(format!("the launches that were tried have at most {seen} {rounds} (`{count}`)"));
    }
    if open.iter().any(|open| matches!(open.why, Why::Case { .. })) {
        found = found.help(
            "if all roles have the same bound, no such launch is needed; a `where` clause can rule it out, too",
        );
    }
    Some(found.note("a fault in them would be seen by the simulator, in a launch that shows it"))
}

/// Returns the words for what the kernel orders its threads with.
fn subject(lowered: &Lowered) -> &'static str {
    let program = &lowered.program;
    let barriers = program.named_barrier_ids().next().is_some();
    match (program.pipes.is_empty(), program.turns.is_empty(), barriers) {
        (false, true, false) => "pipelines",
        (true, false, false) => "turns",
        (true, true, true) => "barriers",
        (false, false, false) => "pipelines and turns",
        (false, true, true) => "pipelines and barriers",
        (true, false, true) => "turns and barriers",
        (false, false, true) => "pipelines, turns and barriers",
        (true, true, false) => "asynchronous operations",
    }
}

/// Returns the place of the loop or condition; `None` if it has no operation with a place in the source.
fn place(
    places: &Places<'_>,
    lowered: &Lowered,
    open: &Open,
) -> Option<(hx_base::SourceFile, hx_base::TextRange)> {
    let op = open.op?;
    let stmt = statement_of(places, lowered, op).and_then(|stmt| places.statement_around(stmt));
    stmt.map(|range| (places.kernel().0, range)).or_else(|| places.op(lowered, op))
}

fn reason(lowered: &Lowered, why: &Why) -> String {
    let quoted = |text: &str, otherwise: &str| match text.len() <= LONGEST {
        true => format!("`{text}`"),
        false => otherwise.to_owned(),
    };
    match why {
        Why::NoLaunch => {
            let clauses: Vec<String> =
                lowered.program.requires.iter().map(|clause| format!("`{}`", clause.text)).collect();
            match clauses.is_empty() {
                true => "no launch was found".to_owned(),
                false => format!("no launch was found that satisfies {}", clauses.join(" and ")),
            }
        }
        Why::Rounds { wanted, .. } => {
            format!("no launch was found in which this loop has {wanted} rounds")
        }
        Why::Branch { cond, always } => {
            let cond = quoted(cond, "this condition");
            let truth = if *always { "fails" } else { "holds" };
            format!("no launch was found in which {cond} {truth}")
        }
        Why::Case { cond, of } => {
            let (cond, of) = (quoted(cond, "a comparison"), quoted(of, "an expression here"));
            match cond == of {
                true => format!("no launch that was followed has {cond}"),
                false => format!("no launch that was followed has {cond}, which decides {of}"),
            }
        }
        Why::Unknown { text } => {
            let text = quoted(text, "a number here");
            format!("{text} is known only when the kernel runs")
        }
        Why::Flag => "several writes may end this wait for a flag".to_owned(),
        Why::Long => "the smallest launch has more than 60000 operations on them".to_owned(),
        Why::Endless => "this loop ends with no data that was tried".to_owned(),
    }
}
