//! Barriers of several roles: `barrier()`, and `sync` and `arrive` behind it.

use hx_base::codes;
use hx_hir::Method;
use hx_tile::{NamedBarrier, NamedBarrierId, OpKind, Origin, ScopeId, SyncOp, TileProgram, TurnsId};

use crate::builtin_call::BuiltinCall;
use crate::diagnostics::Diagnostics;
use crate::error::{Lower, LowerError};
use crate::lowering::Lowering;
use crate::origins::Origins;
use crate::value::Value;

impl Lowering<'_> {
    /// Lowers `barrier()`. The roles that come to the barrier are known once all of them are lowered.
    pub(crate) fn make_barrier(&mut self, given: &BuiltinCall<'_, '_>) -> Lower<Value> {
        let word = given.hint.unwrap_or("barrier").to_owned();
        let name = self.output.unique_name(&word);
        let origin = self.origin(given.id);
        Ok(Value::Barrier(self.output.add_barrier(NamedBarrier { name, word, origin })))
    }

    /// Lowers `.sync()` and `.arrive()`.
    pub(crate) fn come(
        &mut self,
        barrier: NamedBarrierId,
        method: Method,
        given: &BuiltinCall<'_, '_>,
    ) -> Lower<Value> {
        if self.scopes.here() == ScopeId::BLOCK {
            let message = format!("found `{}` of a barrier in the statements of the block", given.name);
            let error = self.error(&codes::MISPLACED_ROLES, given.id, message).help(
                "a barrier joins roles of `warp_groups`: `sync()` alone waits for all threads of the block",
            );
            return Err(self.report(error));
        }
        match method {
            Method::SyncAt => self.unit(OpKind::Sync(SyncOp::SyncAt { barrier }), given.id),
            Method::ArriveAt => self.unit(OpKind::Sync(SyncOp::ArriveAt { barrier }), given.id),
            Method::Acquire
            | Method::Publish
            | Method::WaitStage
            | Method::Release
            | Method::ReleasePrevious
            | Method::Skip
            | Method::Take
            | Method::Pass => self.meaningless(given.id),
        }
    }
}

/// Checks that each barrier joins several groups, that some of them wait there, and that a block has enough barriers.
pub(crate) fn check(program: &TileProgram, origins: &Origins, diagnostics: &mut Diagnostics) {
    // A statement with an error emits no operation, so a role that comes to the barrier may be missing.
    let is_clean = diagnostics.is_clean();
    let mut check = Check { program, origins, diagnostics };
    for id in program.named_barrier_ids().filter(|_| is_clean) {
        if check.joins(id) {
            check.is_waited_for(id);
        }
    }
    check.are_enough();
}

struct Check<'a> {
    program: &'a TileProgram,
    origins: &'a Origins,
    diagnostics: &'a mut Diagnostics,
}

impl Check<'_> {
    /// Reports a barrier to which a single group comes, and returns false for it.
    fn joins(&mut self, id: NamedBarrierId) -> bool {
        let scopes = self.program.scopes_at(id);
        let groups: u32 = scopes.iter().map(|scope| self.program.scope(*scope).groups).sum();
        let (1, Some(scope)) = (groups, scopes.first()) else { return true };
        let name = &self.program.named_barrier(id).word;
        let scope = self.program.scope(*scope);
        let message = format!("only the {scope} comes to `{name}`, expected several roles or groups");
        let help = format!(
            "come to it in another role, too: `{name}.sync()`, or `{name}.arrive()` if that role does not wait; `sync()` alone is a barrier of this role"
        );
        let first = self.first(id, |_| true);
        self.report(first, message, |error| error.help(help));
        false
    }

    fn is_waited_for(&mut self, id: NamedBarrierId) {
        let waits = self.first(id, |op| matches!(op, SyncOp::SyncAt { .. }));
        let (None, arrival @ Some(_)) = (waits, self.first(id, |_| true)) else { return };
        let name = &self.program.named_barrier(id).word;
        let message = format!("every role arrives at `{name}` and none waits there");
        let help = format!("the role that needs what the others did waits for them: `{name}.sync()`");
        self.report(arrival, message, |error| error.help(help));
    }

    /// Returns the place of the first operation at a barrier that `is` accepts; `None` if there is none.
    fn first(&self, id: NamedBarrierId, is: impl Fn(&SyncOp) -> bool) -> Option<Origin> {
        self.program.ops(1.0).into_iter().find_map(|(op, _)| {
            let OpKind::Sync(sync) = &op.kind else { return None };
            (sync.named_barrier() == Some(id) && is(sync)).then_some(op.origin)
        })
    }

    fn are_enough(&mut self) {
        let program = self.program;
        let most = program.target.limits.named_barriers;
        let Some(over) = program.named_barrier_ids().find(|id| program.number_of(*id) >= most) else {
            return;
        };
        let of_scopes: u32 = program.scopes.iter().map(|scope| scope.groups).sum();
        let turns = (0..program.turns.len() as u32).map(TurnsId);
        let of_turns: u32 = turns.map(|id| program.barriers_of_turns(id).len() as u32).sum();
        // Without barriers of the source the error is one about turns.
        if of_scopes + of_turns > most {
            return;
        }
        let declared = program.named_barriers.len();
        let message = format!(
            "found {} named barriers, expected at most {most}",
            of_scopes + of_turns + declared as u32
        );
        let note = format!(
            "the block and the groups need {of_scopes}, the turns {of_turns}, and `barrier()` {declared}"
        );
        let at = program.named_barrier(over).origin;
        let origin = self.origins.get(at);
        let mut error = LowerError::new(&codes::TOO_MANY_BARRIERS, origin.place.clone(), message)
            .note(note)
            .help("a barrier may serve several hand-overs in one round, if the same roles come to it");
        error.calls.extend(self.origins.calls(origin.call));
        self.diagnostics.add(error);
    }

    fn report(
        &mut self,
        at: Option<Origin>,
        message: String,
        complete: impl FnOnce(LowerError) -> LowerError,
    ) {
        let Some(at) = at else { return };
        let origin = self.origins.get(at);
        let error = LowerError::new(&codes::DIVERGENT_BARRIER, origin.place.clone(), message);
        let mut error = complete(error);
        error.calls.extend(self.origins.calls(origin.call));
        self.diagnostics.add(error);
    }
}
