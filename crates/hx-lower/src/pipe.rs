//! Pipelines: their making, their methods, and the copies that signal them.
//!
//! A copy that signals a pipeline belongs to the stage acquired last. [`check_signals`] checks this on every path through the
//! program: the bytes of a stage must be a constant, so that its barrier knows when they have arrived.

use std::collections::BTreeMap;

use hx_base::codes;
use hx_hir::{Arg, Builtin, ExprId, Method, Name, Ty, builtin_params};
use hx_index::{Expr, Symbol};
use hx_tile::{
    Control, Leaf, Op, OpKind, Origin, Pipe, PipeId, ScopeId, Stmt, SyncOp, TileProgram, stages_held,
};

use crate::builtin_call::BuiltinCall;
use crate::diagnostics::Diagnostics;
use crate::error::{Lower, LowerError};
use crate::lowering::Lowering;
use crate::origins::Origins;
use crate::value::Value;

/// The most stages of a pipeline: shared memory has no room for more stages with data.
const MAX_STAGES: i64 = 1024;

/// The most stages that one `skip` leaves to other scopes. A count that only a launch knows is not checked.
const MAX_SKIPPED: i64 = 65_536;

impl<'db> Lowering<'db> {
    /// Lowers `pipeline(stages, readers: n)`.
    pub(crate) fn pipeline(&mut self, call: &BuiltinCall<'_, 'db>) -> Lower<Value> {
        let [stages] = self.first(call)?;
        let stages = self.positive(stages, "stages")?;
        let readers = call.slot(1).map(|readers| self.positive(readers, "readers")).transpose()?;
        if self.depth > 0 {
            let what = "a pipeline made inside of a loop or `if`";
            return self.unsupported(call.id, what);
        }
        let name = self.output.unique_name(call.hint.unwrap_or("pipeline"));
        let origin = self.origin(call.id);
        Ok(Value::Pipe(self.output.add_pipe(Pipe { name, stages, readers, is_drained: false, origin })))
    }

    fn positive(&mut self, id: ExprId, what: &str) -> Lower<u32> {
        let count = self.const_int(id, &format!("the number of {what}"))?;
        match u32::try_from(count) {
            Ok(count) if (1..=MAX_STAGES).contains(&i64::from(count)) => Ok(count),
            _ => {
                let message = format!("found {count} {what}, expected 1 to {MAX_STAGES}");
                self.fail(&codes::LITERAL_OUT_OF_RANGE, id, message)
            }
        }
    }

    /// Lowers a call of a method, `value.name(args)`.
    pub(crate) fn method_call(
        &mut self,
        id: ExprId,
        receiver: ExprId,
        name: &Name,
        args: &'db [Arg],
        hint: Option<&str>,
    ) -> Lower<Value> {
        let value = self.eval(receiver)?;
        let ty = match &value {
            Value::Pipe(_) => Ty::Pipeline,
            Value::Turns(_) => Ty::Turns,
            Value::Barrier(_) => Ty::Barrier,
            _ => Ty::Unknown,
        };
        let Some(method) = Method::of(&ty, name) else {
            return self.fail(
                &codes::UNKNOWN_MEMBER,
                id,
                format!("{} has nothing called `{name}`", value.what()),
            );
        };
        let params = builtin_params(Builtin::Method(method).params().unwrap_or_default());
        let slots = self.args(id, method.name(), &params, args)?;
        let slots = slots.iter().map(|slot| slot.map(|i| args[i].value)).collect();
        let call = BuiltinCall { id, name: method.name(), slots, args, hint };
        match value {
            Value::Pipe(pipe) => self.pipe_method(method, pipe, &call),
            Value::Turns(turns) => self.turn(turns, method, &call),
            Value::Barrier(barrier) => self.come(barrier, method, &call),
            _ => self.not_compiled(&call),
        }
    }

    fn pipe_method(&mut self, method: Method, pipe: PipeId, call: &BuiltinCall<'_, 'db>) -> Lower<Value> {
        let id = call.id;
        match method {
            Method::Acquire => {
                let (var, stage) = self.stage(pipe, call.hint);
                self.emit(OpKind::Sync(SyncOp::Acquire { pipe, var }), id);
                Ok(stage)
            }
            Method::WaitStage => {
                let (var, stage) = self.stage(pipe, call.hint);
                self.emit(OpKind::Sync(SyncOp::WaitStage { pipe, var }), id);
                Ok(stage)
            }
            Method::Publish => self.unit(OpKind::Sync(SyncOp::Publish { pipe }), id),
            Method::Release => self.unit(OpKind::Sync(SyncOp::Release { pipe, keep: 0 }), id),
            Method::ReleasePrevious => self.unit(OpKind::Sync(SyncOp::Release { pipe, keep: 1 }), id),
            Method::Skip => {
                let [count] = self.first(call)?;
                let at = count;
                let count = self.int(count)?;
                let most = Expr::constant(MAX_SKIPPED);
                if self.facts.proves_lt(&count, &Expr::default()) || self.facts.proves_lt(&most, &count) {
                    let message = format!("found {count} stages, expected 0 to {MAX_SKIPPED}");
                    return self.fail(&codes::LITERAL_OUT_OF_RANGE, at, message);
                }
                self.unit(OpKind::Sync(SyncOp::Skip { pipe, count }), id)
            }
            // Turns and barriers have these methods.
            Method::Take | Method::Pass | Method::SyncAt | Method::ArriveAt => self.meaningless(id),
        }
    }

    /// Makes the number of a stage, which is 0 in a pipeline of one stage. Only the operation that sets it decides its value.
    fn stage(&mut self, pipe: PipeId, hint: Option<&str>) -> (Symbol, Value) {
        let stages = i64::from(self.output.pipe(pipe).stages);
        let var = self.output.new_var(hint.unwrap_or("stage").into());
        self.facts.at_least(var.clone(), 0);
        self.facts.at_most(var.clone(), Expr::constant(stages - 1));
        self.stages.insert(var.clone(), pipe);
        let stage = if stages == 1 { Expr::default() } else { Expr::symbol(var.clone()) };
        (var, Value::Int(stage))
    }

    /// Returns the pipeline that an argument means.
    pub(crate) fn pipe(&mut self, id: ExprId) -> Lower<PipeId> {
        match self.eval(id)? {
            Value::Pipe(pipe) => Ok(pipe),
            other => {
                let message = format!("expected a pipeline, found {}", other.what());
                self.fail(&codes::TYPE_MISMATCH, id, message)
            }
        }
    }
}

/// The stage of a pipeline that a scope acquired last.
#[derive(Clone)]
struct Acquired {
    scope: ScopeId,
    origin: Origin,
    var: Symbol,
    /// The reason why a copy at this place is not executed exactly once for each acquired stage; `None` if it is.
    unequal: Option<&'static str>,
    /// Whether a copy has signalled the stage.
    signalled: bool,
    /// The place where the scope has published the stage; `None` before.
    published: Option<Origin>,
}

/// Checks that every copy that signals a pipeline fills the stage acquired last, that the threads publish this stage only, and that
/// every path through the program makes the same copies and publications for a stage. If a statement could not be lowered, a missing
/// operation is no finding.
pub(crate) fn check_signals(program: &TileProgram, origins: &Origins, diagnostics: &mut Diagnostics) {
    let whole = diagnostics.is_clean();
    let mut check = Check { program, origins, whole, left: Vec::new(), diagnostics };
    let mut acquired = BTreeMap::new();
    check.body(&program.body, &mut acquired);
    acquired.into_iter().for_each(|(pipe, stage)| check.leave(pipe, stage));
    check.skips();
    check.fills_alike();
}

struct Check<'a> {
    program: &'a TileProgram,
    origins: &'a Origins,
    whole: bool,
    /// The stages after their last copy or publication.
    left: Vec<(PipeId, Acquired)>,
    diagnostics: &'a mut Diagnostics,
}

impl Check<'_> {
    /// Checks statements that are entered with these stages acquired. On return, `acquired` has the stages at their end.
    fn body(&mut self, body: &[Stmt], acquired: &mut BTreeMap<PipeId, Acquired>) {
        for stmt in body {
            match stmt {
                Stmt::Leaf(Leaf::Op(op)) => self.op(op, acquired),
                Stmt::Control(Control::For { rounds, body, .. }) => {
                    let why = match rounds.count() {
                        Some(1..) => None,
                        Some(_) | None => Some("in a loop whose number of rounds a launch decides"),
                    };
                    self.nested(&[body], why, acquired);
                }
                Stmt::Control(Control::While { body, .. }) => {
                    self.nested(&[body], Some("in a `while`"), acquired)
                }
                Stmt::Control(Control::If { then, otherwise, .. }) => {
                    self.nested(&[then, otherwise], Some("under a condition"), acquired);
                }
                Stmt::Control(Control::Roles(roles)) => {
                    for role in roles {
                        self.nested(&[&role.body], None, &mut BTreeMap::new());
                    }
                }
                Stmt::Leaf(_) => {}
            }
        }
    }

    /// Checks the bodies of a statement. A stage that is acquired inside ends there.
    fn nested(
        &mut self,
        bodies: &[&[Stmt]],
        unequal: Option<&'static str>,
        acquired: &mut BTreeMap<PipeId, Acquired>,
    ) {
        let mut after = acquired.clone();
        for body in bodies {
            let mut inside = acquired.clone();
            inside.values_mut().for_each(|stage| stage.unequal = stage.unequal.or(unequal));
            self.body(body, &mut inside);
            for (pipe, stage) in inside {
                match after.get_mut(&pipe) {
                    Some(outer) if outer.origin == stage.origin => {
                        outer.signalled |= stage.signalled;
                        outer.published = outer.published.or(stage.published);
                    }
                    _ => {
                        self.leave(pipe, stage);
                        after.remove(&pipe);
                    }
                }
            }
        }
        *acquired = after;
    }

    fn op(&mut self, op: &Op, acquired: &mut BTreeMap<PipeId, Acquired>) {
        if let OpKind::Sync(SyncOp::Acquire { pipe, var }) = &op.kind {
            let stage = Acquired {
                scope: op.scope,
                origin: op.origin,
                var: var.clone(),
                unequal: None,
                signalled: false,
                published: None,
            };
            if let Some(before) = acquired.insert(*pipe, stage) {
                self.leave(*pipe, before);
            }
        } else if let OpKind::Sync(SyncOp::Publish { pipe }) = op.kind {
            self.publish(op, pipe, acquired);
        } else if let OpKind::CopyAsync { signal: Some(pipe), .. } = &op.kind {
            self.signal(op, *pipe, acquired);
        }
    }

    fn signal(&mut self, op: &Op, id: PipeId, acquired: &mut BTreeMap<PipeId, Acquired>) {
        let OpKind::CopyAsync { dst, .. } = &op.kind else { return };
        let pipe = self.program.pipe(id);
        let name = &pipe.name;
        let Some(stage) = acquired.get_mut(&id) else {
            if !self.whole {
                return;
            }
            let message = format!("no stage of `{name}` is acquired where this copy signals it");
            let help =
                format!("`let s = {name}.acquire();` before the copy acquires the stage that it fills");
            return self.report(&codes::FOREIGN_STAGE, op.origin, message, |error| error.help(help));
        };
        stage.signalled = true;
        let stage = stage.clone();
        if let Some(why) = stage.unequal {
            let message = format!(
                "a copy that signals `{name}` stands {why}, so the bytes of a stage are not constant"
            );
            let help = "copy always, and let bounds make the tile empty; or acquire the stage there as well";
            let acquired = self.origins.get(stage.origin).place.clone();
            return self.report(&codes::CONDITIONAL_SIGNAL, op.origin, message, |error| {
                error.also(acquired, "the stage is acquired here").help(help)
            });
        }
        let is_stage = |dim: usize, offset: &Expr| {
            *offset == Expr::symbol(stage.var.clone()) && dst.modes.iter().all(|mode| mode.dim != dim)
        };
        let indexed = dst.offsets.iter().enumerate().any(|(dim, offset)| is_stage(dim, offset));
        if pipe.stages > 1 && !indexed {
            let message =
                format!("the destination of a copy that signals `{name}` is not the stage acquired last");
            let help = format!("index it by the result of `{name}.acquire()`, as in `s[.., .., stage]`");
            let acquired = self.origins.get(stage.origin).place.clone();
            self.report(&codes::FOREIGN_STAGE, op.origin, message, |error| {
                error.also(acquired, "the stage is acquired here").help(help)
            });
        }
    }

    /// Refuses to skip stages while the scope holds others: releases go in order, and the held stages precede the skipped ones.
    fn skips(&mut self) {
        for (id, [_, most]) in stages_held(self.program) {
            let Some(op) = self.program.op(id) else { continue };
            let OpKind::Sync(SyncOp::Skip { pipe, .. }) = op.kind else { continue };
            if most > 0 {
                let name = &self.program.pipe(pipe).name;
                let message =
                    format!("`{name}.skip` while a stage of `{name}` may be held cannot be compiled yet");
                let help = format!("`{name}.release();` before it gives all stages back");
                self.report(&codes::UNSUPPORTED, op.origin, message, |error| error.help(help));
            }
        }
    }

    /// Follows `publish`: the scope hands on the stage that it acquired last, once.
    fn publish(&mut self, op: &Op, id: PipeId, acquired: &mut BTreeMap<PipeId, Acquired>) {
        let name = &self.program.pipe(id).name;
        let Some(stage) = acquired.get_mut(&id) else {
            if !self.whole {
                return;
            }
            let message = format!("no stage of `{name}` is acquired where `publish` hands it on");
            let help = format!(
                "`let s = {name}.acquire();` before the threads write the stage waits until its readers have released it"
            );
            return self.report(&codes::FOREIGN_STAGE, op.origin, message, |error| error.help(help));
        };
        let before = stage.published.replace(op.origin);
        let stage = stage.clone();
        let acquired = self.origins.get(stage.origin).place.clone();
        if let Some(before) = before {
            let message = format!("the stage of `{name}` that is acquired last is published twice");
            let first = self.origins.get(before).place.clone();
            let help = "publish a stage once, after the last write to it; or acquire the next one before";
            self.report(&codes::CONDITIONAL_SIGNAL, op.origin, message, |error| {
                error
                    .also(acquired, "the stage is acquired here")
                    .also(first, "and published here")
                    .help(help)
            });
        } else if let Some(why) = stage.unequal {
            let message = format!(
                "`{name}.publish()` stands {why}, so the number of arrivals at a stage is not constant"
            );
            let help = "publish always, and write under the condition; or acquire the stage there as well";
            self.report(&codes::CONDITIONAL_SIGNAL, op.origin, message, |error| {
                error.also(acquired, "the stage is acquired here").help(help)
            });
        }
    }

    /// Reports a stage that is neither filled by a copy nor published by the time the next one is acquired.
    fn leave(&mut self, pipe: PipeId, stage: Acquired) {
        if !stage.signalled && stage.published.is_none() && self.whole {
            let name = &self.program.pipe(pipe).name;
            let message = format!(
                "no copy signals the stage of `{name}` that is acquired here and nothing publishes it, so it is never full"
            );
            let help = format!("`copy_async(…, signal: {name})` fills a stage");
            let other =
                format!("`{name}.publish();` hands on a stage that the threads of the role have written");
            self.report(&codes::ENDLESS_WAIT, stage.origin, message, |error| error.help(help).help(other));
        }
        self.left.push((pipe, stage));
    }

    /// Checks that the stages of a pipeline get the same arrivals: all that a scope acquires are published, or none is. Scopes that
    /// fill the stages of a pipeline in turns fill them in the same way.
    fn fills_alike(&mut self) {
        let left = std::mem::take(&mut self.left);
        for pipe in self.program.pipe_ids() {
            let of_pipe = |(of, stage): &(PipeId, Acquired)| (*of == pipe).then(|| stage.clone());
            let stages: Vec<Acquired> = left.iter().filter_map(of_pipe).collect();
            let in_turns = self.program.fillers_of_stage(pipe) == 1;
            let Some(published) = stages.iter().find(|stage| stage.published.is_some()) else { continue };
            let differs = |stage: &&Acquired| {
                let alike = stage.published.is_some() && stage.signalled == published.signalled;
                !alike && (in_turns || stage.scope == published.scope)
            };
            let Some(other) = stages.iter().find(differs).filter(|_| self.whole) else { continue };
            let name = &self.program.pipe(pipe).name;
            let differs = match (other.published, published.signalled) {
                (None, _) => "is not published, and another one is",
                (Some(_), true) => "is filled by no copies, and another one is",
                (Some(_), false) => "is also filled by copies, and another one is not",
            };
            let message = format!(
                "the stage of `{name}` acquired here {differs}, so the number of arrivals at a stage is not constant"
            );
            let help = format!(
                "fill each stage of `{name}` in the same way; another pipeline may be filled in another way"
            );
            let elsewhere = self.origins.get(published.origin).place.clone();
            self.report(&codes::CONDITIONAL_SIGNAL, other.origin, message, |error| {
                error.also(elsewhere, "the other stage is acquired here").help(help)
            });
        }
    }

    fn report(
        &mut self,
        code: &'static hx_base::Code,
        at: Origin,
        message: String,
        complete: impl FnOnce(LowerError) -> LowerError,
    ) {
        let origin = self.origins.get(at);
        let mut error = complete(LowerError::new(code, origin.place.clone(), message));
        error.calls.extend(self.origins.calls(origin.call));
        self.diagnostics.add(error);
    }
}
