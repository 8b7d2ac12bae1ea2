//! Diagnostics about pipelines, turns and asynchronous operations: what the protocol machine finds.

mod joined;

use hx_base::{Applicability, Code, Diagnostic, Edit, Fix, Severity, SourceFile, TextRange, codes};
use hx_lower::Lowered;
use hx_sync::protocol::{
    Blocked, Cause, Fault, Fix as Change, FixAt, FixWith, Kind, LEVEL, RaceAccess, Rounds, Want,
};
use hx_target::Mode;
use hx_tile::{OpId, OpKind, ParamId, SyncOp, TensorId};

use super::Places;
use super::calls::leaves;
use super::stores::{completing, in_flight};
use super::sync::{apart, indentation, lines_before, statement_of, unsignalled, with_space_before};

/// The most loop counts that a note names, and the longest expression of one, in bytes.
const COUNTS: usize = 3;
const LONGEST: usize = 40;

/// Turns the faults into diagnostics with places and fixes.
pub(super) fn faults(places: &Places<'_>, lowered: &Lowered, faults: &[Fault]) -> Vec<Diagnostic> {
    faults.iter().map(|fault| Teller { places, lowered }.fault(fault)).collect()
}

#[derive(Clone, Copy)]
struct Teller<'a> {
    places: &'a Places<'a>,
    lowered: &'a Lowered,
}

impl Teller<'_> {
    fn fault(self, fault: &Fault) -> Diagnostic {
        if let Kind::Race { earlier, cause: Cause::Copy, .. } = &fault.kind
            && let Some(found) = unsignalled(self.places, self.lowered, earlier.op)
        {
            return found;
        }
        let mut found = match &fault.kind {
            Kind::Stuck(blocked) => self.stuck(blocked),
            Kind::Slip { wait, pipe, other } => self.slip(*wait, *pipe, *other),
            Kind::Crowded { release, pipe, readers } => {
                let pipe = self.pipe(*pipe);
                let groups = if *readers == 1 {
                    "one group of a block gives".to_owned()
                } else {
                    format!("{readers} groups of a block give")
                };
                let message = format!("more than {groups} back the same stage of `{pipe}`");
                self.at(&codes::WRONG_PHASE, *release, message)
                    .note(format!("each stage of `{pipe}` has as many readers as groups that give it back"))
                    .help("leave the stages of other groups to them with `skip`, or change `readers`")
            }
            Kind::Doubled { acquire, pipe, other } => {
                let pipe = self.pipe(*pipe);
                let message =
                    format!("two roles or groups fill the same stage of `{pipe}`, which they take in turns");
                let found = self.at(&codes::WRONG_PHASE, *acquire, message);
                self.also(found, *other, "the stage is also acquired here")
                    .note(format!("one of them skips stages of `{pipe}`, or acquires under a condition, so each stage belongs to one of them"))
                    .help("leave the stages of others to them with `skip`; without any `skip` and condition, all fill each stage together")
            }
            Kind::Repassed { pass, turns } => {
                let turns = self.turns(*turns);
                let message = format!("`{turns}` is passed on before the next group has taken its last turn");
                self.at(&codes::WRONG_PHASE, *pass, message)
                    .help(format!("a group passes only the turn that it took: `{turns}.take()` before it"))
            }
            Kind::Hurried { come, barrier } => self.hurried(*come, *barrier),
            Kind::Unmet { arrive, barrier, missing, comings } => {
                self.unmet(*arrive, *barrier, missing, comings)
            }
            Kind::Race { tensor, earlier, later, cause, pipe } => {
                self.race(*tensor, *earlier, *later, *cause, *pipe)
            }
            Kind::Unstored { store, access, param, mode, complete } => {
                self.unstored(*store, *access, (*param, *mode), *complete)
            }
            Kind::InFlight { product, later, tensor, write, release } => {
                self.in_flight(*product, *later, *tensor, *write, *release)
            }
            Kind::Unequal { pipe, acquire, bytes, other, expected } => {
                let pipe = self.pipe(*pipe);
                let message =
                    format!("{bytes} bytes are copied to this stage of `{pipe}`, {expected} to another");
                let found = self.at(&codes::CONDITIONAL_SIGNAL, *acquire, message);
                self.also(found, *other, &format!("the other stage gets {expected} bytes"))
                    .help("make the same copies in every round: outside of its bounds a tile is empty")
            }
            Kind::Divided { copy } => {
                let message = "the blocks of the cluster read different tiles with this copy";
                self.at(&codes::DIVIDED_MULTICAST, *copy, message)
                    .help("the source may not depend on the position of the block in its cluster")
            }
            Kind::Unwaited { copy, pipe, rounds } => self.unwaited(*copy, *pipe, rounds),
            Kind::Gone { copy } => {
                let message = "a block can end while another block of its cluster still copies to it";
                self.at(&codes::SHARED_RACE, *copy, message).help("wait for every stage that the copy fills")
            }
        };
        if let Some(note) = counts(fault) {
            found = found.note(note);
        }
        match fault.fix.as_ref().and_then(|change| self.fix(change)) {
            Some(fix) => {
                // The title of the fix says what to do, so the general advice is redundant.
                found.help.clear();
                found.with_fix(fix)
            }
            None => found,
        }
    }

    fn pipe(self, pipe: u32) -> String {
        self.lowered.program.pipes[pipe as usize].name.clone()
    }

    fn turns(self, turns: u32) -> String {
        self.lowered.program.turns[turns as usize].name.clone()
    }

    fn tensor(self, tensor: TensorId) -> String {
        self.lowered.program.tensor(tensor).name.clone()
    }

    /// Begins a diagnostic at an operation, with the calls that led there.
    fn at(self, code: &'static Code, op: OpId, message: impl Into<String>) -> Diagnostic {
        let (file, range) = self.places.op(self.lowered, op).unwrap_or_else(|| self.places.kernel());
        let found = Diagnostic::new(code, file, range, message);
        let calls = self.places.calls(self.lowered, op).into_iter();
        calls.fold(found, |found, (file, range)| found.also(file, range, "called from here"))
    }

    /// As [`Teller::at`], at the place where the operation names a shared tensor.
    fn at_operand(self, code: &'static Code, op: OpId, tensor: TensorId, message: String) -> Diagnostic {
        let mut found = self.at(code, op, message);
        if let Some((file, range)) = self.places.touched(self.lowered, op, tensor) {
            (found.primary.file, found.primary.range) = (file, range);
        }
        found
    }

    fn also(self, found: Diagnostic, op: OpId, message: &str) -> Diagnostic {
        match self.places.op(self.lowered, op) {
            Some((file, range)) => found.also(file, range, message),
            None => found,
        }
    }

    /// As [`Teller::also`], at the place where the operation names a shared tensor.
    fn also_operand(self, found: Diagnostic, op: OpId, tensor: TensorId, message: &str) -> Diagnostic {
        match self.places.touched(self.lowered, op, tensor) {
            Some((file, range)) => found.also(file, range, message),
            None => found,
        }
    }

    fn stuck(self, blocked: &[Blocked]) -> Diagnostic {
        let Some(Blocked { who, op, wants }) = blocked.first() else {
            let (file, range) = self.places.kernel();
            return Diagnostic::new(&codes::ENDLESS_WAIT, file, range, "the kernel never ends");
        };
        let mut found = match wants {
            Want::Release { pipe, readers, waited, given, needed, rounds } => {
                let message =
                    format!("{who} waits for ever: no stage of `{}` is given back", self.pipe(*pipe));
                let found = self.at(&codes::ENDLESS_WAIT, *op, message);
                match waited.filter(|_| !readers.is_empty()) {
                    Some(wait) => self.held(found, *pipe, readers, wait),
                    None => self.unread(found, who, *pipe, rounds, [*given, *needed]),
                }
            }
            Want::Fill { pipe, acquire, number, acquired } => {
                let message =
                    format!("{who} waits for ever: its stage of `{}` is never filled", self.pipe(*pipe));
                let found = self.at(&codes::ENDLESS_WAIT, *op, message);
                self.unfilled(found, *pipe, *acquire, [*number, *acquired])
            }
            Want::Turn { turns, from, taken } => {
                let name = self.turns(*turns);
                let message = format!("{who} waits for ever: {from} does not pass `{name}` on");
                let found = self.at(&codes::ENDLESS_WAIT, *op, message);
                let found = match taken {
                    Some(take) => self.also(found, *take, &format!("{from} took its turn here")),
                    None => found,
                };
                found.help(format!("every `{name}.take()` needs a `{name}.pass()` behind it"))
            }
            Want::Flag { tensor } => {
                let flag = self.tensor(*tensor);
                let message = format!("{who} waits for ever: no other scope writes `{flag}`");
                self.at(&codes::ENDLESS_WAIT, *op, message)
                    .help(format!("`atomic_store({flag}, …, order: \"release\")` raises it"))
            }
            Want::Sum { own } => {
                let others = if *own { "the rest of its scope" } else { "another block of its cluster" };
                let message = format!("{who} waits for ever: {others} does not come to this sum");
                self.at(&codes::ENDLESS_WAIT, *op, message).help(
                    "every block of the cluster adds its part: no condition on `block_idx` around the sum",
                )
            }
            Want::All { barrier, missing, hopeless, comings } => {
                self.wants_all((who, *op), *barrier, (missing, *hopeless), comings)
            }
            Want::Barrier { missing } => {
                let (do_, missing) = (if missing.len() == 1 { "does" } else { "do" }, missing.join(" and "));
                let message = format!("{who} waits for ever: {missing} {do_} not come to this barrier");
                self.at(&codes::ENDLESS_WAIT, *op, message)
            }
        };
        for Blocked { who, op, .. } in &blocked[1..] {
            found = self.also(found, *op, &format!("{who} waits here meanwhile"));
        }
        found
    }

    /// Explains that groups keep the stage that another one waits for.
    fn held(self, found: Diagnostic, pipe: u32, readers: &[String], wait: OpId) -> Diagnostic {
        let hold = if readers.len() == 1 { "holds" } else { "hold" };
        let readers = readers.join(" and ");
        self.also(found, wait, &format!("{readers} waited for it here, and still {hold} it"))
            .help(format!("`{}.release()` behind the last use of a stage gives it back", self.pipe(pipe)))
    }

    /// Explains that too few groups give back a stage, although no group keeps it: they never wait for it, or more groups are
    /// expected than read it.
    fn unread(
        self,
        found: Diagnostic,
        who: &str,
        pipe: u32,
        rounds: &Rounds,
        [given, needed]: [u32; 2],
    ) -> Diagnostic {
        let (name, stages) = (self.pipe(pipe), self.lowered.program.pipes[pipe as usize].stages);
        let Some(wait) = rounds.wait else {
            return found.note(format!("nothing waits for a stage of `{name}`")).help(format!(
                "a role that reads the stages: `{name}.wait()` before the use, `{name}.release()` behind it"
            ));
        };
        // A group that fills the ring by itself and reads it cannot wait for another one to read.
        if given == 0 && rounds.waits.iter().any(|(group, _)| group == who) {
            let all = if stages == 1 {
                "its only stage is".to_owned()
            } else {
                format!("all its {stages} stages are")
            };
            return found.note(format!("{all} acquired")).help(format!(
                "give a stage back before the next one is acquired: `{name}.release()` behind its last use"
            ));
        }
        if rounds.agree() {
            let note = format!("{needed} groups have to give back each stage, and {given} do");
            return found.note(note).help(format!(
                "every group that waits for a stage gives it back: `{name}.release()` behind the last use"
            ));
        }
        let found = self.also(found, wait, &format!("the stages of `{name}` are waited for here"));
        match rounds.per_stage().filter(|groups| (1..rounds.readers).contains(groups)) {
            Some(groups) => {
                let stages = self.lowered.program.pipes[pipe as usize].stages;
                let waits =
                    if groups == 1 { "1 group waits".to_owned() } else { format!("{groups} groups wait") };
                found
                    .note(format!("{} groups have to give back each stage, and {waits} for it", rounds.readers))
                    .help(format!(
                        "`pipeline({stages}, readers: {groups})`, or let the other groups wait for every stage too"
                    ))
            }
            None => found.note(self.rounds(pipe, rounds)).help(as_many_rounds(&name)),
        }
    }

    /// Says how many stages of a pipe are acquired and waited for.
    fn rounds(self, pipe: u32, rounds: &Rounds) -> String {
        let name = self.pipe(pipe);
        let stages = match rounds.acquired {
            1 => format!("1 stage of `{name}` is acquired"),
            n => format!("{n} stages of `{name}` are acquired"),
        };
        let same = |waits: u32| rounds.waits.iter().all(|(_, other)| *other == waits);
        let waits = match rounds.waits.as_slice() {
            [] => "nothing waits for one".to_owned(),
            [(_, waits), _, ..] if same(*waits) => {
                format!("each of its readers waits for {}", or_none(*waits))
            }
            each => {
                let waits = |(group, waits): &(String, u32)| format!("{group} waits for {}", or_none(*waits));
                each.iter().map(waits).collect::<Vec<_>>().join(" and ")
            }
        };
        format!("{stages}, and {waits}")
    }

    fn unwaited(self, copy: OpId, pipe: u32, rounds: &Rounds) -> Diagnostic {
        let name = self.pipe(pipe);
        let message = format!("the block can end before this copy into a stage of `{name}` arrives");
        let found = self.at(&codes::UNWAITED_COPY, copy, message).with_severity(Severity::Error);
        let found = match rounds.wait {
            Some(wait) => self
                .also(found, wait, &format!("the stages of `{name}` are waited for here"))
                .note(self.rounds(pipe, rounds))
                .help(as_many_rounds(&name)),
            None => found.help(format!("`{name}.wait()` for every stage that is acquired")),
        };
        found.note("the memory belongs to another block then")
    }

    /// Explains why the stage with this number is never filled, if only `acquired` stages are acquired.
    fn unfilled(
        self,
        found: Diagnostic,
        pipe: u32,
        acquire: Option<OpId>,
        [number, acquired]: [u32; 2],
    ) -> Diagnostic {
        let name = self.pipe(pipe);
        match acquire {
            Some(acquire) if number <= acquired => {
                self.also(found, acquire, &format!("the stage of `{name}` is acquired here, too late"))
            }
            Some(acquire) => {
                let acquired = match acquired {
                    0 => "none is acquired".to_owned(),
                    1 => "1 is acquired".to_owned(),
                    n => format!("{n} are acquired"),
                };
                let skips =
                    |op: &OpKind| matches!(op, OpKind::Sync(SyncOp::Skip { pipe: of, .. }) if of.0 == pipe);
                let skips = self.lowered.program.ops(1.0).iter().any(|(op, _)| skips(&op.kind));
                self.also(found, acquire, &format!("stages of `{name}` are acquired here"))
                    .note(format!("it waits for stage number {number}, and {acquired}"))
                    .help(match skips {
                        true => "the stages that a group waits for and those that it skips are all that are acquired".to_owned(),
                        false => as_many_rounds(&name),
                    })
            }
            None => found.help(format!(
                "`{name}.acquire()`, then copies with `signal: {name}`, or writes and `{name}.publish()`"
            )),
        }
    }

    fn slip(self, wait: OpId, pipe: u32, other: Option<OpId>) -> Diagnostic {
        let name = self.pipe(pipe);
        let message =
            format!("this wait can take another round of `{name}` for the one that it is meant for");
        let found = self.at(&codes::WRONG_PHASE, wait, message);
        match other {
            Some(acquire) => {
                let message = "the stage can be acquired again before the wait has seen it";
                self.also(found, acquire, message)
                    .help("every group that waits for a stage has to give it back, or `readers` is too small")
            }
            None => found
                .note("the group need not know that the round before is complete when it begins to wait")
                .help("groups that share a ring take turns: `take()` before the first wait, `pass()` behind the last"),
        }
    }

    fn race(
        self,
        tensor: TensorId,
        earlier: RaceAccess,
        later: RaceAccess,
        cause: Cause,
        pipe: Option<u32>,
    ) -> Diagnostic {
        let name = self.tensor(tensor);
        let verb = |race_access: RaceAccess| if race_access.write { "written" } else { "read" };
        let pipe = pipe.map(|pipe| self.pipe(pipe)).unwrap_or_default();
        // The operation at which the mistake is made comes first.
        let used = RaceAccess::used(earlier, later);
        let fill = if used == later { earlier } else { later };
        // The earlier operation is still under way when the later one accesses the tensor.
        let under_way = |code, when: &str, begun: &str| {
            let message = format!("`{name}` is {} {when}", verb(later));
            let found = self.at_operand(code, later.op, tensor, message);
            self.also_operand(found, earlier.op, tensor, begun)
        };
        match cause {
            Cause::BeforeWait => {
                let is_copy = self
                    .lowered
                    .program
                    .op(fill.op)
                    .is_some_and(|op| matches!(op.kind, OpKind::CopyAsync { .. }));
                let (awaited, full) = match is_copy {
                    true => ("its copies", "whose copies have arrived"),
                    false => ("its publication", "that was published"),
                };
                let message = format!("a stage of `{pipe}` is {} before a wait for {awaited}", verb(used));
                let found = self.at_operand(&codes::SHARED_RACE, used.op, tensor, message);
                self.also(found, fill.op, &format!("`{name}` is filled here"))
                    .help(format!("`{pipe}.wait()` returns the stage {full}"))
            }
            Cause::AfterRelease(release) => {
                let message = format!("a stage of `{pipe}` is {} after it was given back", verb(used));
                let found = self.at_operand(&codes::SHARED_RACE, used.op, tensor, message);
                let found = self.also(found, release, "it was given back here");
                self.also(found, fill.op, "and can be filled again here").help(format!(
                    "give it back behind its last use, and index `{name}` by the stage that `{pipe}.wait()` returned"
                ))
            }
            Cause::AfterPublish(publish) => {
                let written = if earlier.write { earlier } else { later };
                let message = format!("a stage of `{pipe}` is written after it was published");
                let found = self.at_operand(&codes::SHARED_RACE, written.op, tensor, message);
                let found = self.also(found, publish, "it was published here");
                let other = if written == earlier { later } else { earlier };
                self.also_operand(found, other.op, tensor, &format!("and can be {} here", verb(other)))
                    .help(format!("publish it behind the last write: `{pipe}.publish()`"))
            }
            Cause::BeforeRelease => {
                let message = format!("a stage of `{pipe}` is filled before its readers gave it back");
                let found = self.at(&codes::SHARED_RACE, fill.op, message);
                self.also_operand(found, used.op, tensor, &format!("`{name}` is {} here", verb(used)))
                    .help(format!("copy to the stage that `{pipe}.acquire()` returned"))
            }
            Cause::Store => {
                let tells = self.tells(earlier.op, later.op);
                under_way(&codes::SHARED_RACE, "while a store still reads it", "the store begins here").help(
                    format!(
                        "`wait_stores(0)` returns when no store reads shared memory; {tells} all threads"
                    ),
                )
            }
            Cause::Product => {
                let tells = self.tells(earlier.op, later.op);
                under_way(&codes::SHARED_RACE, "while a product still reads it", "the product reads it here")
                    .help(format!("`gemm_wait(0)` returns when the product has read it; {tells} all threads"))
            }
            Cause::Copy => {
                let when = "before anything waited for the copy into it";
                under_way(&codes::MISSING_WAIT, when, "the copy begins here")
                    .help("close the group with `commit()`, then `wait(0)` and `sync()` before the use")
            }
            Cause::NoBarrier => {
                let message = format!("threads race on `{name}`: nothing orders the accesses");
                let found = self.at_operand(&codes::SHARED_RACE, later.op, tensor, message);
                let found = found.label(format!("`{name}` is {} here", verb(later)));
                self.also_operand(found, earlier.op, tensor, &format!("`{name}` is {} here", verb(earlier)))
                    .help(match apart(self.lowered, earlier.op, later.op) {
                        Some(why) => why,
                        None => "put a `sync()` between the two".to_owned(),
                    })
            }
        }
    }

    /// Describes an access to elements that a store of another role writes.
    fn unstored(
        self,
        store: OpId,
        access: OpId,
        (param, mode): (ParamId, Mode),
        complete: bool,
    ) -> Diagnostic {
        let message = in_flight(self.lowered, param, mode, complete);
        let found = self.at(&codes::STORE_IN_FLIGHT, access, message);
        let found = self.also(found, store, "another role begins the store here");
        found.help(match complete {
            false => "the role that stores waits with `wait_stores(0, read: false)`, and then comes to a barrier of both roles; `sync()` is a barrier of one role only",
            true => "both roles come to a barrier between the two, in every round: the one that stores behind its `wait_stores`, and again before its next store; `sync()` is a barrier of one role only",
        })
    }

    /// Says what tells all threads of two operations something.
    fn tells(self, earlier: OpId, later: OpId) -> &'static str {
        match apart(self.lowered, earlier, later) {
            Some(_) => "a barrier of both roles, `let free = barrier();`, tells",
            None => "`sync()` tells",
        }
    }

    fn in_flight(
        self,
        product: OpId,
        later: OpId,
        tensor: TensorId,
        write: bool,
        release: bool,
    ) -> Diagnostic {
        let name = self.tensor(tensor);
        let message = match (release, write) {
            (true, _) => format!("a stage is given back while a product still reads `{name}` in it"),
            (false, true) => format!("`{name}` is written while a product uses it"),
            (false, false) => format!("`{name}` is read before its product is complete"),
        };
        let found = self.at(&codes::OPERAND_IN_FLIGHT, later, message);
        let found = self.also(found, product, "the product begins here");
        let found = match write && !release && self.is_register_operand(product, tensor) {
            true => found.note(
                "every round writes the same registers: two tensors in turns, of two names, keep a product in flight while the next operand is made",
            ),
            false => found,
        };
        found.help("`gemm_wait(0)` returns when all products are complete")
    }

    /// Reports whether a tensor in registers is multiplied by a product, and is not its sum.
    fn is_register_operand(self, product: OpId, tensor: TensorId) -> bool {
        let Some(OpKind::Gemm { a, b, .. }) = self.lowered.program.op(product).map(|op| &op.kind) else {
            return false;
        };
        [a, b].into_iter().any(|operand| operand.view.register() == Some(tensor))
    }

    /// Returns the change as edits; `None` if it is not in the text of the kernel itself.
    fn fix(self, change: &Change) -> Option<Fix> {
        let Teller { places, lowered } = self;
        let file = places.kernel().0;
        let calls: Vec<String> = change.with.iter().map(|with| self.call(*with)).collect();
        let told = calls.iter().map(|call| format!("`{call}`")).collect::<Vec<_>>().join(", ");
        let statement = |op: OpId| statement_of(places, lowered, op);
        let (title, edits) = match change.at {
            FixAt::Before(op) => {
                (format!("insert {told}"), vec![lines_before(places, statement(op)?, &calls)?])
            }
            FixAt::After(op) => {
                (format!("insert {told}"), vec![lines_after(places, statement(op)?, &calls)?])
            }
            FixAt::Behind(op) => {
                let around = places.statement_around(statement(op)?)?;
                (format!("insert {told}"), vec![lines_after(places, around, &calls)?])
            }
            FixAt::Move { op, after } => {
                let (moved, after) = (statement(op)?, statement(after)?);
                let call = file.text(places.db).get(std::ops::Range::<usize>::from(moved))?;
                let call = call.trim_end_matches(';').to_owned();
                let range = with_space_before(places, file, moved);
                let removed = Edit { file, range, text: String::new() };
                let what = if call.ends_with(".publish()") { "write" } else { "use" };
                let title = format!("move `{call}` behind the {what}");
                (title, vec![removed, lines_after(places, after, &[call])?])
            }
            FixAt::Join { earlier, later, outside, joint } => self.joins([earlier, later], outside, joint)?,
            FixAt::Complete(wait) => {
                let (edit, call) = completing(places, lowered, wait)?;
                (format!("wait for the writes, too: `{call}`"), vec![edit])
            }
            FixAt::Leave { op, leave } => {
                let (wait, edit) = leaves(places, lowered, op, leave)?;
                (format!("`{wait}({leave})`"), vec![edit])
            }
        };
        Some(Fix { title, edits, applicability: Applicability::Verified })
    }

    /// Returns the call that a change inserts.
    fn call(self, with: FixWith) -> String {
        match with {
            FixWith::Release(pipe) => format!("{}.release()", self.pipe(pipe)),
            FixWith::ReleasePrevious(pipe) => format!("{}.release_previous()", self.pipe(pipe)),
            FixWith::WaitProducts(leave) => format!("gemm_wait({leave})"),
            FixWith::WaitCopies(leave) => format!("wait({leave})"),
            FixWith::WaitStores(leave) => format!("wait_stores({leave})"),
            FixWith::WaitWrites(leave) => format!("wait_stores({leave}, read: false)"),
            FixWith::Sync => "sync()".to_owned(),
            FixWith::Pass(turns) => format!("{}.pass()", self.turns(turns)),
        }
    }
}

/// Returns the advice for loops whose numbers of rounds differ.
fn as_many_rounds(pipe: &str) -> String {
    format!("the loops that wait for `{pipe}` need as many rounds as those that acquire it")
}

fn or_none(count: u32) -> String {
    if count == 0 { "none".to_owned() } else { count.to_string() }
}

/// Says for which loop counts the fault was seen, if these can be told in a line; otherwise `None`.
fn counts(fault: &Fault) -> Option<String> {
    let short = fault.counts.iter().filter(|(count, _)| count.len() <= LONGEST);
    let told: Vec<String> =
        short.take(COUNTS).map(|(count, value)| format!("`{}` = {value}", in_source(count))).collect();
    (!told.is_empty()).then(|| format!("this is so with {}", told.join(", ")))
}

/// Writes a loop count as a kernel does: the numbers of a tensor as `lengths[…]`, those that came through registers as `data`.
fn in_source(count: &str) -> String {
    let mut parts = count.split(LEVEL);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
        match part.split_at(end) {
            ("registers", rest) => format!("{text}data{rest}"),
            (tensor, rest) => format!("{text}{tensor}[…]{rest}"),
        }
    })
}

/// Returns the edit that inserts calls, on lines of their own, behind a statement of the kernel; `None` if the statement does
/// not begin its line.
fn lines_after(places: &Places<'_>, stmt: TextRange, calls: &[String]) -> Option<Edit> {
    let file: SourceFile = places.kernel().0;
    let indent = indentation(places, file, stmt)?;
    let text = calls.iter().map(|call| format!("\n{indent}{call};")).collect();
    Some(Edit { file, range: TextRange::empty(stmt.end()), text })
}
