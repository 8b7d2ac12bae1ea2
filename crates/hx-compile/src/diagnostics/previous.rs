//! Diagnostics about launches that overlap the ones before them: accesses to global memory before the wait, and waits that a
//! launch may leave out.

use hx_base::{Applicability, Diagnostic, Edit, Fix, SourceFile, TextRange, codes};
use hx_lower::Lowered;
use hx_sync::previous::{Early, Fault, faults};
use hx_tile::{OpId, Origin, Param, ScopeId};

use super::Places;
use super::sync::{indentation, removable, statement_of, whole_line};

/// The most accesses of a scope that are shown besides the first.
const SHOWN: usize = 3;

/// Returns the findings about the waits of a kernel for the launches before it.
pub(super) fn findings(places: &Places<'_>, lowered: &Lowered) -> Vec<Diagnostic> {
    let found = faults(&lowered.program);
    found.iter().map(|fault| Teller { places, lowered }.fault(fault)).collect()
}

#[derive(Clone, Copy)]
struct Teller<'a> {
    places: &'a Places<'a>,
    lowered: &'a Lowered,
}

impl<'a> Teller<'a> {
    fn fault(self, fault: &Fault) -> Diagnostic {
        match fault {
            Fault::Early { scope, accesses, wait, own } => self.early(*scope, accesses, *wait, *own),
            Fault::Uncertain { wait, looped } => {
                let (file, range) = self.at(*wait);
                let around = if *looped { "in a loop" } else { "under a condition" };
                let message = format!("found `wait_for_previous()` {around}: a launch may end without it");
                Diagnostic::new(&codes::UNCERTAIN_LAUNCH_WAIT, file, range, message)
                    .note(
                        "later launches take a launch that has ended for one that waited for those before it",
                    )
                    .help(
                        "wait before the loops and conditions, in the statements of the kernel or of a role",
                    )
            }
            Fault::Idle { wait, first } => {
                let (file, range) = self.at(*wait);
                let found = Diagnostic::new(&codes::IDLE_WAIT, file, range, "this wait waits for nothing");
                let (file, range) = self.at(*first);
                let found = found.also(file, range, "the launches before are complete from here on");
                removable(self.places, self.lowered, *wait, found)
            }
        }
    }

    fn at(self, op: OpId) -> (SourceFile, TextRange) {
        self.places.op(self.lowered, op).unwrap_or_else(|| self.places.kernel())
    }

    fn place(self, origin: Origin) -> (SourceFile, TextRange) {
        self.places.origin(self.lowered, origin).unwrap_or_else(|| self.places.kernel())
    }

    fn name(self, early: &Early) -> &'a str {
        match self.lowered.program.param(early.param) {
            Param::Tensor(t) => &t.name,
            Param::Int { name, .. } | Param::Float { name, .. } => name,
        }
    }

    fn early(self, scope: ScopeId, accesses: &[Early], wait: OpId, own: bool) -> Diagnostic {
        let first = &accesses[0];
        let (file, range) = self.place(first.origin);
        let does = |early: &Early| if early.writes { "written" } else { "read" };
        let when = match (own, scope == ScopeId::BLOCK) {
            (true, true) => "before the kernel waits",
            (true, false) => "before its role waits",
            (false, true) => "before a role waits",
            (false, false) => "in a role that does not wait",
        };
        let message =
            format!("`{}` is {} {when} for the launches before this one", self.name(first), does(first));
        let found = Diagnostic::new(&codes::EARLY_ACCESS, file, range, message).label(format!(
            "an earlier launch may still {} `{}`",
            if first.writes { "use" } else { "write" },
            self.name(first)
        ));
        let (file, range) = self.at(wait);
        let label =
            if own { "the wait comes only here" } else { "only the threads of another role wait here" };
        let mut found = found.also(file, range, label);
        let mut told = vec![first.origin];
        for early in &accesses[1..] {
            if told.len() > SHOWN || told.contains(&early.origin) {
                continue;
            }
            told.push(early.origin);
            let (file, range) = self.place(early.origin);
            found =
                found.also(file, range, format!("`{}` is {} here likewise", self.name(early), does(early)));
        }
        match self.moved(first.origin, own.then_some(wait), scope) {
            Some(fix) => found.with_fix(fix),
            None => {
                found.help("call `wait_for_previous()` before the first access to a tensor of the parameters")
            }
        }
    }

    /// Returns the fix that waits before the statement of an access, instead of at `wait`. The statement has to be one of the
    /// scope itself, outside of loops and conditions, and in the text of the kernel; otherwise there is no fix.
    fn moved(self, access: Origin, wait: Option<OpId>, scope: ScopeId) -> Option<Fix> {
        let file = self.places.kernel().0;
        let at = self.outermost(self.places.statement(self.places.own(self.lowered, access)?)?, scope)?;
        let indent = indentation(self.places, file, at)?;
        let text = format!("wait_for_previous();\n{indent}");
        let mut edits = vec![Edit { file, range: TextRange::empty(at.start()), text }];
        if let Some(wait) = wait {
            let from = statement_of(self.places, self.lowered, wait)?;
            if self.outermost(from, scope)? != from {
                return None;
            }
            edits.push(Edit { file, range: whole_line(self.places, file, from), text: String::new() });
        }
        let title =
            if wait.is_some() { "wait before the first access" } else { "insert `wait_for_previous()`" };
        Some(Fix { title: title.to_owned(), edits, applicability: Applicability::Verified })
    }

    /// Returns the outermost statement around a statement that belongs to the scope itself, to the block or to its role; `None`
    /// if there is none.
    fn outermost(self, stmt: TextRange, scope: ScopeId) -> Option<TextRange> {
        let mut around = vec![stmt];
        while let Some(next) = self.places.statement_around(*around.last()?) {
            around.push(next);
        }
        // The roles are in one statement of the block.
        let depth = if scope == ScopeId::BLOCK { 1 } else { 2 };
        around.len().checked_sub(depth).map(|at| around[at])
    }
}
