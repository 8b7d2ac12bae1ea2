//! Diagnostics about accesses to global memory that a bulk store is still writing.

use hx_base::{Applicability, Diagnostic, Edit, Fix, TextRange, TextSize, codes};
use hx_lower::Lowered;
use hx_sync::stores::{Fault, Fix as Change};
use hx_target::Mode;
use hx_tile::{OpId, Param, ParamId};

use super::Places;
use super::sync::{lines_before, statement_of};
use crate::store_faults;

/// The most accesses that are shown besides the first.
const SHOWN: usize = 3;

/// Returns the findings about the stores of a kernel.
pub(super) fn findings(places: &Places<'_>, lowered: &Lowered) -> Vec<Diagnostic> {
    let found = store_faults(places.db, places.instance);
    found.iter().map(|fault| finding(places, lowered, fault)).collect()
}

/// Returns the message about an access to elements that a store writes. `complete`: the store is complete, and the threads do not know.
pub(super) fn in_flight(lowered: &Lowered, param: ParamId, mode: Mode, complete: bool) -> String {
    let name = match lowered.program.param(param) {
        Param::Tensor(t) => &t.name,
        Param::Int { name, .. } | Param::Float { name, .. } => name,
    };
    let verb = match mode {
        Mode::Read => "read",
        Mode::Write => "written",
        Mode::Update | Mode::Add => "updated",
    };
    match complete {
        false => format!("`{name}` is {verb} while a store to it is in flight"),
        true => format!("`{name}` is {verb} by threads that do not know whether the store to it is complete"),
    }
}

fn finding(places: &Places<'_>, lowered: &Lowered, fault: &Fault) -> Diagnostic {
    let message = in_flight(lowered, fault.param, fault.mode, fault.complete);
    let (file, range) = places.op(lowered, fault.access).unwrap_or_else(|| places.kernel());
    let mut found = Diagnostic::new(&codes::STORE_IN_FLIGHT, file, range, message);
    if let Some((file, range)) = places.op(lowered, fault.store) {
        found = found.also(file, range, "the store begins here");
    }
    for (file, range) in places.calls(lowered, fault.access) {
        found = found.also(file, range, "called from here");
    }
    for other in fault.others.iter().take(SHOWN) {
        if let Some((file, range)) = places.op(lowered, *other) {
            found = found.also(file, range, "likewise here");
        }
    }
    match fault.fix.and_then(|change| fix(places, lowered, change)) {
        Some(fix) => found.with_fix(fix),
        None if fault.complete => found.help("put a `sync()` behind the `wait_stores` that waits for its writes"),
        None => found.help(
            "`wait_stores(0, read: false)` returns when all writes are in memory, and a `sync()` behind it tells all threads",
        ),
    }
}

/// Returns the change as edits; `None` if it is not in the text of the kernel itself.
fn fix(places: &Places<'_>, lowered: &Lowered, change: Change) -> Option<Fix> {
    let (title, edits) = match change {
        Change::Complete(wait) => {
            let (edit, call) = completing(places, lowered, wait)?;
            (format!("wait for the writes, too: `{call}`"), vec![edit])
        }
        Change::Before { op, wait, barrier } => {
            let wait = wait.map(|leave| format!("wait_stores({leave}, read: false)"));
            let calls: Vec<String> = wait.into_iter().chain(barrier.then(|| "sync()".to_owned())).collect();
            let told = calls.iter().map(|call| format!("`{call}`")).collect::<Vec<_>>().join(", ");
            let edit = lines_before(places, statement_of(places, lowered, op)?, &calls)?;
            (format!("insert {told}"), vec![edit])
        }
    };
    Some(Fix { title, edits, applicability: Applicability::Verified })
}

/// Returns the edit after which a wait also waits for the writes of stores, and the text of the edited call; `None` if the
/// kernel itself does not write the call.
pub(super) fn completing(places: &Places<'_>, lowered: &Lowered, wait: OpId) -> Option<(Edit, String)> {
    statement_of(places, lowered, wait)?;
    let (file, range) = places.op(lowered, wait)?;
    let call = file.text(places.db).get(std::ops::Range::<usize>::from(range))?;
    let open = call.find('(')?;
    let inner = call.strip_suffix(')')?.get(open + 1..)?;
    let (leave, _) = inner.split_once(',').unwrap_or((inner, ""));
    let text = format!("{}, read: false", leave.trim());
    let start = range.start() + TextSize::from(open as u32 + 1);
    let edit = Edit { file, range: TextRange::at(start, TextSize::of(inner)), text: text.clone() };
    Some((edit, format!("{}({text})", &call[..open])))
}
