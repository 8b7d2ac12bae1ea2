//! Diagnostics about races on shared memory, copies without a wait, and barriers that order nothing.

use std::collections::BTreeSet;

use hx_base::{Applicability, Diagnostic, Edit, Fix, SourceFile, TextRange, TextSize, codes};
use hx_index::{Expr, Symbol};
use hx_lower::Lowered;
use hx_tile::{OpId, OpKind, ScopeId, SharedLayout, Solution, SyncOp, TensorId, TileProgram};

use super::Places;
use super::calls::leaves;
use hx_sync::protocol::{Fault, FixAt, FixWith, Kind};
use hx_sync::{Barrier, Findings, Hazard, Mend, Remedy, Run, Touch, Unwaited};

/// Turns the findings of [`synchronization`](crate::synchronization) into diagnostics with places and fixes.
pub(super) fn findings(
    places: &Places<'_>,
    lowered: &Lowered,
    solution: &Solution,
    found: &Findings,
    faults: &[Fault],
) -> Vec<Diagnostic> {
    // A fault in the protocol of a pipeline also makes the elements of its stages race: report only the fault.
    let is_reported = |hazard: &&Hazard| {
        !faults.is_empty()
            && [hazard.earlier.op, hazard.later.op].iter().any(|op| pipe_of(lowered, *op).is_some())
            || faults.iter().any(|fault| is_race_of(fault, hazard) || needs_barrier(lowered, fault, hazard))
    };
    let hazards = found.hazards.iter().filter(|hazard| !is_reported(hazard)).map(|found| {
        let unsignalled = found.in_flight.then(|| unsignalled(places, lowered, found.earlier.op)).flatten();
        unsignalled.unwrap_or_else(|| hazard(places, lowered, solution, found))
    });
    let unwritten = found.unwritten.iter().map(|&(tensor, op)| unwritten(places, lowered, tensor, op));
    let unwaited = found.unwaited.iter().map(|copy| unwaited(places, lowered, copy));
    let idle = found.idle.iter().filter_map(|&op| idle(places, lowered, op));
    let waits = found.idle_waits.iter().filter_map(|&op| idle_wait(places, lowered, op));
    hazards.chain(unwritten).chain(unwaited).chain(idle).chain(waits).collect()
}

/// Adds to the fixes of faults the barriers that the trace found missing: the wait for a product tells a warp of its own part only.
pub(super) fn with_barriers(lowered: &Lowered, faults: &[Fault], found: &Findings) -> Vec<Fault> {
    let mut faults = faults.to_vec();
    for fault in &mut faults {
        if found.hazards.iter().any(|hazard| needs_barrier(lowered, fault, hazard))
            && let Some(fix) = &mut fault.fix
        {
            fix.with.push(FixWith::Sync);
        }
    }
    faults
}

/// Reports whether a hazard is the other half of a fault, and a barrier behind the wait of the fault's fix removes it: a shared
/// operand of a product in flight is written.
fn needs_barrier(lowered: &Lowered, fault: &Fault, hazard: &Hazard) -> bool {
    let Kind::InFlight { product, later, write: true, release: false, .. } = &fault.kind else {
        return false;
    };
    let Some(FixAt::Before(at)) = fault.fix.as_ref().map(|fix| fix.at) else { return false };
    let barrier = Mend { before: at, commit: false, wait: None, barrier: Some(Barrier::Block) };
    let (a, b) = (hazard.earlier.op, hazard.later.op);
    let is_pair = |a: OpId, b: OpId| b == *later && reads_for(&lowered.program, a, *product);
    (is_pair(a, b) || is_pair(b, a))
        && hazard.remedy == Some(Remedy::Insert(barrier))
        && hazard.others.is_empty()
}

/// Reports whether an operation is a product, or the load of one of its operands.
fn reads_for(program: &TileProgram, op: OpId, product: OpId) -> bool {
    let Some(OpKind::Gemm { a, b, .. }) = program.op(product).map(|op| &op.kind) else { return false };
    let loaded = program.op(op).and_then(|op| {
        let OpKind::Copy { dst, .. } = &op.kind else { return None };
        dst.register()
    });
    op == product || loaded.is_some() && [a, b].into_iter().any(|operand| operand.view.register() == loaded)
}

/// Returns the name of the pipeline whose stage an operation fills, if it is such a copy; otherwise `None`.
fn pipe_of(lowered: &Lowered, op: OpId) -> Option<&str> {
    let OpKind::CopyAsync { signal: Some(pipe), .. } = lowered.program.op(op)?.kind else { return None };
    Some(&lowered.program.pipes[pipe.0 as usize].name)
}

/// Reports whether a fault is about the two accesses of a hazard.
fn is_race_of(fault: &Fault, hazard: &Hazard) -> bool {
    let Kind::Race { earlier, later, .. } = &fault.kind else { return false };
    let mut ops = [earlier.op, later.op];
    let mut others = [hazard.earlier.op, hazard.later.op];
    ops.sort();
    others.sort();
    ops == others
}

fn hazard(places: &Places<'_>, lowered: &Lowered, solution: &Solution, hazard: &Hazard) -> Diagnostic {
    let program = &lowered.program;
    let name = &program.tensor(hazard.tensor).name;
    let at = |touch: Touch| places.touched(lowered, touch.op, hazard.tensor);
    let (file, range) = at(hazard.later).unwrap_or_else(|| places.kernel());
    let (code, message) = if hazard.in_flight {
        (
            &codes::MISSING_WAIT,
            format!("`{name}` is {} before anything waited for the copy into it", verb(hazard.later)),
        )
    } else {
        (&codes::SHARED_RACE, format!("threads race on `{name}`: nothing orders the accesses"))
    };
    let label = |touch: Touch| {
        let is_group = program.op(touch.op).is_some_and(|op| matches!(op.kind, OpKind::Gemm { .. }));
        let who = match touch.collective {
            true if is_group => "the group of thread",
            true => "the warp of thread",
            false => "thread",
        };
        let does = if touch.write { "writes" } else { "reads" };
        format!("{who} {} {does} `{name}` here", touch.thread)
    };
    let mut found = Diagnostic::new(code, file, range, message).label(label(hazard.later));
    if let Some((file, range)) = at(hazard.earlier) {
        found = found.also(file, range, label(hazard.earlier));
    }
    for (file, range) in places.calls(lowered, hazard.later.op) {
        found = found.also(file, range, "called from here");
    }
    if let Some(element) = coordinate(program, solution, hazard) {
        found = found.note(format!("both touch `{name}[{element}]`"));
    }
    if let Some(run) = hazard.run {
        found = found.note(supposed(run));
    }
    found = elsewhere(places, lowered, hazard, found);
    let fix = match hazard.remedy {
        Some(Remedy::Insert(mend)) => insert(places, lowered, mend),
        Some(Remedy::Commit(op)) => commit(places, lowered, op),
        Some(Remedy::WaitFor(op, groups)) => other_wait(places, lowered, op, groups),
        Some(Remedy::CommitAfter(op)) => commit_after(places, lowered, op),
        None => None,
    };
    match fix {
        Some(fix) => found.with_fix(fix),
        None => found.help(advice(lowered, hazard)),
    }
}

/// Returns the finding about a copy that fills a stage of a pipeline and does not signal it: no wait for the stage waits for
/// the copy. The finding names the copy alone, so all accesses that show the fault give the same one, which is reported once.
/// `None` if the copy is none such.
pub(super) fn unsignalled(places: &Places<'_>, lowered: &Lowered, copy: OpId) -> Option<Diagnostic> {
    let program = &lowered.program;
    let OpKind::CopyAsync { dst, signal: None, .. } = &program.op(copy)?.kind else { return None };
    let is_stage = |var: &Symbol| dst.offsets.contains(&Expr::symbol(var.clone()));
    let ops = program.ops(1.0);
    let (acquire, pipe) = ops.iter().find_map(|(op, _)| {
        let OpKind::Sync(SyncOp::Acquire { pipe, var }) = &op.kind else { return None };
        is_stage(var).then_some((op.id, *pipe))
    })?;
    let pipe = &program.pipe(pipe).name;
    let (file, range) = places.op(lowered, copy)?;
    let message = format!("this copy fills a stage of `{pipe}` and does not signal it");
    let mut found = Diagnostic::new(&codes::MISSING_WAIT, file, range, message)
        .note(format!("`{pipe}.wait()` waits for the copies that signal the stage"));
    if let Some((file, range)) = places.op(lowered, acquire) {
        found = found.also(file, range, "the stage is acquired here");
    }
    let own = places.own(lowered, program.op(copy)?.origin);
    let is_call =
        file.text(places.db).get(std::ops::Range::<usize>::from(range)).is_some_and(|c| c.ends_with(')'));
    let title = format!("add `signal: {pipe}`");
    Some(match own.filter(|_| is_call) {
        Some(call) => {
            let at = TextRange::empty(call.end() - TextSize::of(')'));
            found.fix(title, at, format!(", signal: {pipe}"), Applicability::Maybe)
        }
        None => found.help(title),
    })
}

/// Returns the advice for a hazard that no tried change removes.
fn advice(lowered: &Lowered, hazard: &Hazard) -> String {
    if !hazard.in_flight {
        let (earlier, later) = (hazard.earlier.op, hazard.later.op);
        return apart(lowered, earlier, later).unwrap_or_else(|| "put a `sync()` between the two".to_owned());
    }
    match pipe_of(lowered, hazard.earlier.op) {
        Some(pipe) => format!("`{pipe}.wait()` returns the stage whose copies have arrived"),
        None => "close the group with `commit()`, then `wait(0)` and `sync()` before the use".to_owned(),
    }
}

/// Returns advice on ordering two accesses of different scopes, which no `sync()` between them can order; `None` if a `sync()` can.
pub(super) fn apart(lowered: &Lowered, earlier: OpId, later: OpId) -> Option<String> {
    let program = &lowered.program;
    let [first, second] = [earlier, later].map(|op| program.op(op).map_or(ScopeId::BLOCK, |op| op.scope));
    let is_block = |scope: ScopeId| scope == ScopeId::BLOCK;
    let advice = match (is_block(first), is_block(second)) {
        (true, true) => return None,
        (true, false) | (false, true) => {
            "put a `sync()` before `warp_groups`: one in a role waits for that role only"
        }
        (false, false) if first == second && program.scope(first).groups == 1 => return None,
        (false, false) if first == second => {
            "`sync()` waits for one group here, so it does not order two groups: let them take turns (`turns()`, `take()` before the first use, `pass()` behind the last), let all of them come to a barrier (`barrier()`, made before `warp_groups`, and its `sync()` between the two), or give each group a part of its own"
        }
        (false, false) => {
            "`sync()` waits for one role here, so it does not order two roles. A barrier of both does: `let ready = barrier();` before `warp_groups`, and `ready.sync()` in each role, behind the earlier use and before the later one. So does a stage of a pipeline: one role writes it between `pipe.acquire()` and `pipe.publish()`, the other reads it between `pipe.wait()` and `pipe.release()`"
        }
    };
    Some(advice.to_owned())
}

/// Adds the places of other hazards that the same remedy removes.
fn elsewhere(places: &Places<'_>, lowered: &Lowered, hazard: &Hazard, mut found: Diagnostic) -> Diagnostic {
    if hazard.others.is_empty() {
        return found;
    }
    let program = &lowered.program;
    let mut told = BTreeSet::from([hazard.later.op, hazard.earlier.op]);
    let elsewhere = hazard.others.iter().filter(|(_, later)| told.insert(later.op));
    for (tensor, later) in elsewhere.take(SHOWN) {
        if let Some((file, range)) = places.op(lowered, later.op) {
            let name = &program.tensor(*tensor).name;
            found = found.also(file, range, format!("`{name}` is {} here likewise", verb(*later)));
        }
    }
    found = found.note(others(program, &hazard.others));
    found
}

/// The most places that are shown of hazards with the same remedy.
const SHOWN: usize = 3;

/// Describes the other hazards that the same remedy removes.
fn others(program: &TileProgram, hazards: &[(TensorId, Touch)]) -> String {
    let names: BTreeSet<&str> = hazards.iter().map(|(t, _)| program.tensor(*t).name.as_str()).collect();
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    let pairs = match hazards.len() {
        1 => "another pair of accesses".to_owned(),
        n => format!("{n} more pairs of accesses"),
    };
    format!("{pairs} to {} will be ordered by the same", names.join(", "))
}

/// Describes the launches for which a hazard was found.
fn supposed(run: Run) -> String {
    let mut so = Vec::new();
    if run.ends {
        so.push(match run.trips {
            Some(1) => "where a loop whose length a launch decides has one round".to_owned(),
            Some(trips) => format!("where a loop whose length a launch decides has {trips} rounds"),
            None => "in the last rounds of a loop whose length a launch decides".to_owned(),
        });
    }
    if run.places {
        so.push(format!("where an index that is known at run time only is {}", run.number));
    }
    format!("this is so {}", so.join(" and "))
}

/// Returns the fix that inserts a `commit` after a copy; `None` if the kernel itself does not write it at the beginning of a
/// line.
fn commit(places: &Places<'_>, lowered: &Lowered, op: OpId) -> Option<Fix> {
    let copy = statement_of(places, lowered, op)?;
    let file = places.kernel().0;
    let indent = indentation(places, file, copy)?;
    let edit = Edit { file, range: TextRange::empty(copy.end()), text: format!("\n{indent}commit();") };
    let title = "`commit()` after the copies: it closes their group".to_owned();
    Some(Fix { title, edits: vec![edit], applicability: Applicability::Verified })
}

/// Returns the fix that moves a `commit` behind the condition that contains it; `None` if the kernel itself does not write
/// them.
fn commit_after(places: &Places<'_>, lowered: &Lowered, op: OpId) -> Option<Fix> {
    let commit = statement_of(places, lowered, op)?;
    let around = places.statement_around(commit)?;
    let file = places.kernel().0;
    let indent = indentation(places, file, around)?;
    let removed = Edit { file, range: with_space_before(places, file, commit), text: String::new() };
    let text = format!("\n{indent}commit();");
    let added = Edit { file, range: TextRange::empty(around.end()), text };
    let title = "`commit()` after the condition: where it fails, the group is empty".to_owned();
    Some(Fix { title, edits: vec![removed, added], applicability: Applicability::Verified })
}

/// Returns the fix that changes the number of groups that a `wait` leaves in flight; `None` if its place in the source is no
/// call.
fn other_wait(places: &Places<'_>, lowered: &Lowered, op: OpId, groups: u32) -> Option<Fix> {
    let (_, edit) = leaves(places, lowered, op, groups)?;
    let noun = if groups == 1 { "group is" } else { "groups are" };
    let title = format!("wait until at most {groups} {noun} in flight");
    Some(Fix { title, edits: vec![edit], applicability: Applicability::Verified })
}

fn verb(touch: Touch) -> &'static str {
    if touch.write { "written" } else { "read" }
}

/// Returns the coordinate of the element, as the program indexes it; `None` if no element of the tensor lies there.
fn coordinate(program: &TileProgram, solution: &Solution, hazard: &Hazard) -> Option<String> {
    let SharedLayout { layout, swizzle, .. } = solution.shared.get(&hazard.tensor)?;
    let tensor = program.tensor(hazard.tensor);
    let mut index = (0..tensor.size()).find(|&i| swizzle.apply(layout.eval(i)) == hazard.element)?;
    let mut parts = Vec::new();
    for extent in &tensor.shape {
        parts.push((index % extent).to_string());
        index /= extent;
    }
    Some(parts.join(", "))
}

/// Returns the fix that inserts statements, on lines of their own, before the statement of an operation; `None` if that is
/// not in the kernel itself.
fn insert(places: &Places<'_>, lowered: &Lowered, mend: Mend) -> Option<Fix> {
    let stmt = statement_of(places, lowered, mend.before)?;
    let wait = mend.wait.map(|groups| format!("wait({groups})"));
    let barrier = mend.barrier.map(|barrier| match barrier {
        Barrier::Warp => "sync_warp()".to_owned(),
        Barrier::Block => "sync()".to_owned(),
    });
    let calls = [mend.commit.then(|| "commit()".to_owned()), wait, barrier];
    let calls: Vec<String> = calls.into_iter().flatten().collect();
    let title = calls.iter().map(|call| format!("`{call}`")).collect::<Vec<_>>().join(", ");
    let edits = vec![lines_before(places, stmt, &calls)?];
    Some(Fix { title: format!("insert {title}"), edits, applicability: Applicability::Verified })
}

/// Returns the edit that inserts calls, on lines of their own, before a statement of the kernel; `None` if the statement does
/// not begin its line.
pub(super) fn lines_before(places: &Places<'_>, stmt: TextRange, calls: &[String]) -> Option<Edit> {
    let (file, range) = (places.kernel().0, TextRange::empty(stmt.start()));
    let indent = indentation(places, file, range)?;
    Some(Edit { file, range, text: calls.iter().map(|call| format!("{call};\n{indent}")).collect() })
}

fn idle(places: &Places<'_>, lowered: &Lowered, op: OpId) -> Option<Diagnostic> {
    // Barriers that lowering adds may order what this one would order without them.
    if lowered.program.ops(1.0).into_iter().any(|(op, _)| lowered.is_added(op)) {
        return None;
    }
    let (file, range) = places.op(lowered, op)?;
    let found = Diagnostic::new(&codes::IDLE_BARRIER, file, range, "this barrier orders nothing");
    let found =
        found.note("no write to a shared tensor and other use of it have only this barrier between them");
    Some(removable(places, lowered, op, found))
}

fn idle_wait(places: &Places<'_>, lowered: &Lowered, op: OpId) -> Option<Diagnostic> {
    let waits = lowered.program.op(op).filter(|op| !lowered.is_added(op))?;
    let OpKind::Sync(SyncOp::Wait { groups }) = waits.kind else { return None };
    let (file, range) = places.op(lowered, op)?;
    let note = match groups {
        0 => "no group of copies is ever in flight here".to_owned(),
        1 => "more than one group of copies is never in flight here".to_owned(),
        _ => format!("more than {groups} groups of copies are never in flight here"),
    };
    let found = Diagnostic::new(&codes::IDLE_WAIT, file, range, "this wait waits for nothing").note(note);
    Some(removable(places, lowered, op, found))
}

/// Adds the fix that removes an operation.
pub(super) fn removable(places: &Places<'_>, lowered: &Lowered, op: OpId, found: Diagnostic) -> Diagnostic {
    let Some(stmt) = statement_of(places, lowered, op) else { return found };
    found.fix("remove it", whole_line(places, places.kernel().0, stmt), "", Applicability::Verified)
}

fn unwaited(places: &Places<'_>, lowered: &Lowered, copy: &Unwaited) -> Diagnostic {
    if let Some(found) = unsignalled(places, lowered, copy.op) {
        return found;
    }
    let name = &lowered.program.tensor(copy.tensor).name;
    let (file, range) = places.op(lowered, copy.op).unwrap_or_else(|| places.kernel());
    let message = format!("nothing waits for this copy into `{name}`");
    let found = Diagnostic::new(&codes::UNWAITED_COPY, file, range, message);
    let found = if copy.open { found.note("nothing closes its group") } else { found };
    if !copy.read {
        return removable(places, lowered, copy.op, found.note(format!("nothing reads `{name}`")));
    }
    let calls: &[&str] = if copy.open { &["commit()", "wait(0)"] } else { &["wait(0)"] };
    let at_end = places.last_statement().and_then(|last| {
        let indent = indentation(places, places.kernel().0, last)?;
        let text: String = calls.iter().map(|call| format!("\n{indent}{call};")).collect();
        Some((TextRange::empty(last.end()), text))
    });
    let called = calls.iter().map(|call| format!("`{call}`")).collect::<Vec<_>>().join(", ");
    match at_end {
        Some((range, text)) => {
            let edit = Edit { file: places.kernel().0, range, text };
            let title = format!("{called} before the kernel ends");
            found.with_fix(Fix { title, edits: vec![edit], applicability: Applicability::Verified })
        }
        None => found.help(format!("{called} before the kernel ends")),
    }
}

fn unwritten(places: &Places<'_>, lowered: &Lowered, tensor: TensorId, op: OpId) -> Diagnostic {
    let name = &lowered.program.tensor(tensor).name;
    let (file, range) = places.op(lowered, op).unwrap_or_else(|| places.kernel());
    let found = Diagnostic::new(
        &codes::UNWRITTEN_SHARED,
        file,
        range,
        format!("`{name}` is read, and nothing writes it"),
    );
    let found = match places.tensor(lowered, tensor) {
        Some((file, range)) => found.also(file, range, format!("`{name}` begins undefined")),
        None => found,
    };
    found.help(format!("`copy` into `{name}`, or `fill` it, before it is read"))
}

/// Returns the statement of an operation in its file, if it is in the kernel's own body; otherwise `None`.
pub(super) fn statement_of(places: &Places<'_>, lowered: &Lowered, op: OpId) -> Option<TextRange> {
    places.statement(places.own(lowered, lowered.program.op(op)?.origin)?)
}

/// Returns the text before a range in its line, if it is only space; otherwise `None`.
pub(super) fn indentation<'db>(places: &Places<'db>, file: SourceFile, range: TextRange) -> Option<&'db str> {
    let before = &file.text(places.db)[..usize::from(range.start())];
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let indent = &before[line..];
    indent.chars().all(char::is_whitespace).then_some(indent)
}

/// Extends a range by the space before it, and by the line break if it begins its line.
pub(super) fn with_space_before(places: &Places<'_>, file: SourceFile, range: TextRange) -> TextRange {
    let before = &file.text(places.db)[..usize::from(range.start())];
    TextRange::new((before.trim_end().len() as u32).into(), range.end())
}

/// Extends a range by the indentation before it and the line break after it, if it fills its lines.
pub(super) fn whole_line(places: &Places<'_>, file: SourceFile, range: TextRange) -> TextRange {
    let text = file.text(places.db);
    let (start, end) = (usize::from(range.start()), usize::from(range.end()));
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[end..];
    match rest.find('\n') {
        Some(len) if rest[..len].trim().is_empty() && text[line..start].trim().is_empty() => {
            TextRange::new((line as u32).into(), ((end + len + 1) as u32).into())
        }
        _ => range,
    }
}
